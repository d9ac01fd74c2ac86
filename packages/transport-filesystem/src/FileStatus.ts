/**
 * The status of files that are read.
 *
 * @since 0.1.0
 */
import type { ResourceFileError } from "./ResourceFileError.js"

/**
 * The status of one file.
 *
 * @since 0.1.0
 */
export interface FileStatus {
  readonly path: string
  /**
   * `Missing`: the file was never there in one piece (it is not there, or was written to when it was read), or was removed
   * and its resources stay in force.
   */
  readonly state: "Accepted" | "Rejected" | "Missing"
  /** The number of its resources in force: of its content, or of the last accepted one. */
  readonly resources: number
  /** Why it was rejected. */
  readonly error: ResourceFileError | undefined
}
