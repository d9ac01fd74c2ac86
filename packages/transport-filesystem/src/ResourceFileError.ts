/**
 * Why a file is rejected.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * Why a file is rejected.
 *
 * - `Unreadable`: it is not a regular file, or cannot be read
 * - `TooLarge`: over the limit of bytes
 * - `UnknownFormat`: the extension of its name has no format
 * - `Empty`: it has no content, which counts as a mistake and never as an empty response
 * - `Syntax`: it is malformed
 * - `Schema`: a message has no such field, or the field has another type
 * - `UnknownType`: a type that is not in the Envoy v3 API, or no resource type
 * - `WrongType`: a resource of another type than its response
 * - `BadName`: a resource without a name, or with one that clients could not subscribe to
 * - `DuplicateName`: another resource of the type has the same name
 * - `Refused`: the client rejected the content
 *
 * @since 0.1.0
 */
export class ResourceFileError extends Data.TaggedError("ResourceFileError")<{
  readonly reason:
    | "Unreadable"
    | "TooLarge"
    | "UnknownFormat"
    | "Empty"
    | "Syntax"
    | "Schema"
    | "UnknownType"
    | "WrongType"
    | "BadName"
    | "DuplicateName"
    | "Refused"
  readonly file: string
  /** From 1; `undefined` if the format has no lines. */
  readonly line: number | undefined
  /** From 1, in UTF-16 units. */
  readonly column: number | undefined
  /** The path inside the document: `resources[2].load_assignment`. Empty: the whole document, or unknown. */
  readonly path: string
  /** What is wrong and what to do. It never contains a string value, which may be a secret. */
  readonly detail: string
  /** Further mistakes in the file, in order. If the list is incomplete, the last one says so. */
  readonly others?: ReadonlyArray<ResourceFileError> | undefined
}> {
  override get message(): string {
    const place = this.line === undefined ? this.file : `${this.file}:${this.line}:${this.column ?? 1}`
    return `${place}: ${this.path === "" ? "" : `${this.path}: `}${this.detail}`
  }

  /** This error and the others. */
  get all(): ReadonlyArray<ResourceFileError> {
    return [this, ...(this.others ?? [])]
  }
}

/**
 * Whether two errors have the same content.
 *
 * @since 0.1.0
 */
export const isSame = (one: ResourceFileError | undefined, other: ResourceFileError | undefined): boolean => {
  const [all = [], rest = []] = [one?.all, other?.all]
  return all.length === rest.length && all.every(({ message }, index) => message === rest[index]?.message)
}
