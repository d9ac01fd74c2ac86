/**
 * What happens with files that are read.
 *
 * @since 0.1.0
 */
import type { ResourceFileError } from "./ResourceFile.js"

/**
 * - `Accepted`: its content is in force
 * - `Rejected`: its content is not. `inForce` is how many resources stay of what it held before, `undefined` if it was
 *   never good. Once for each error
 * - `Removed`: it was taken away, and its resources with it
 * - `Missing`: it is not there; what it held stays
 * - `Returned`: it was missing and is there again
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
