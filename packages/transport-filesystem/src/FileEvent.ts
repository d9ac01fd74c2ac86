/**
 * The events of files that are read.
 *
 * @since 0.1.0
 */
import type { ResourceFileError } from "./ResourceFileError.js"

/**
 * - `Accepted`: the content is in force
 * - `Rejected`: the content is not in force. `inForce` is the number of earlier resources that stay, `undefined` if the
 *   file was never accepted. Sent once per error
 * - `Removed`: the file and its resources were removed
 * - `Missing`: the file is missing; its resources stay in force
 * - `Returned`: a missing file or directory is back, or a directory that could not be read is read again
 *
 * @since 0.1.0
 */
export type FileEvent =
  | { readonly _tag: "Accepted"; readonly path: string; readonly resources: number }
  | {
      readonly _tag: "Rejected"
      readonly path: string
      readonly error: ResourceFileError
      readonly inForce: number | undefined
    }
  | { readonly _tag: "Removed"; readonly path: string; readonly resources: number }
  | { readonly _tag: "Missing"; readonly path: string }
  | { readonly _tag: "Returned"; readonly path: string }
