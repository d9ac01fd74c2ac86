/**
 * How a file that is read stands.
 *
 * @since 0.1.0
 */
import type { ResourceFileError } from "./ResourceFile.js"

/**
 * One file.
 *
 * @since 0.1.0
 */
export interface FileStatus {
  readonly path: string
  /** `Missing`: it was never there, or went away and what it held stays. */
  readonly state: "Accepted" | "Rejected" | "Missing"
  /** Of its resources that are in force: of its content, or of the last good one. */
  readonly resources: number
  /** Why it is rejected. */
  readonly error: ResourceFileError | undefined
}
