/** A configuration with a mistake, or one that looks like it, and what becomes of it. */
import type { Config } from "../Config.js"

export interface Mistake {
  readonly title: string
  /** All rules that it breaks; `field`: those of its messages. */
  readonly rules: ReadonlyArray<string>
  /** What Envoy does with it, as a test sees. */
  readonly envoy: "refuses" | "accepts"
  /** Of Envoy's words. */
  readonly says?: string
  /** Why we see it otherwise than Envoy. */
  readonly differs?: string
  readonly config: Config
}
