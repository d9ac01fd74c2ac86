/**
 * V8, as a process has it: which one it is, what it was started with, and how it is told more.
 *
 * @since 0.1.0
 */
import { setFlagsFromString } from "node:v8"

/**
 * A V8.
 *
 * @since 0.1.0
 */
export interface Engine {
  readonly version: string
  /** The options that Node was started with, on its command line or in `NODE_OPTIONS`. */
  readonly options: ReadonlyArray<string>
  readonly setFlags: (flags: string) => void
}

/**
 * That of this process.
 *
 * @since 0.1.0
 */
export const ofProcess: Engine = {
  version: process.versions.v8,
  options: [...process.execArgv, ...(process.env["NODE_OPTIONS"] ?? "").split(/\s+/)],
  setFlags: setFlagsFromString
}

const versionPattern = /^\d+\.\d+/

/**
 * Its version, major and minor: its flags and their defaults change with it.
 *
 * @since 0.1.0
 */
export const versionOf = ({ version }: Engine): string => versionPattern.exec(version)?.[0] ?? ""

/** V8 takes underscores for dashes, too. */
const nameOf = (option: string): string => option.replace(/=.*$/s, "").replaceAll("_", "-")

/**
 * Whether Node was given one of these flags.
 *
 * @param flags as `--interrupt-budget`
 * @since 0.1.0
 */
export const wasGiven = ({ options }: Engine, flags: ReadonlyArray<string>): boolean =>
  options.some((option) => flags.includes(nameOf(option)))
