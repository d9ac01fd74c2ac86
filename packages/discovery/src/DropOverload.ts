/**
 * Calls that are dropped on purpose: `drop_overloads` of an assignment.
 *
 * @since 0.1.0
 */
import { million } from "./Fraction.js"

/**
 * A category, and how many of the calls that come to it are dropped.
 *
 * @since 0.1.0
 */
export interface DropOverload {
  readonly category: string
  /** Millionths, at most a million. */
  readonly numerator: number
}

/**
 * The category that drops a call; `undefined`: it is not dropped. ★ Each category draws for itself, in order: two of 60 %
 * and 50 % let 20 % pass.
 *
 * @param draw the n-th number of the call in [0, 1)
 * @since 0.1.0
 */
export const choose = (drops: ReadonlyArray<DropOverload>, draw: (n: number) => number): string | undefined =>
  drops.find(({ numerator }, index) => draw(index) * million < numerator)?.category
