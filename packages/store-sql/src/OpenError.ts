/**
 * The errors of a store on SQL, beside those of every store.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"

/**
 * A store that cannot be opened. Nothing was written.
 *
 * - `Unreachable`: the database does not answer, or refuses
 * - `Damaged`: it is no database, or its log cannot be read
 * - `LaterSchema`: a later version of this package made its tables
 * - `NoDriver`: no driver for SQLite works here
 * - `BadUrl`: the URL names no database
 * - `BadOption`: an option has a number that it cannot have
 *
 * @since 0.1.0
 */
export class OpenError extends Data.TaggedError("OpenError")<{
  readonly reason: "Unreachable" | "Damaged" | "LaterSchema" | "NoDriver" | "BadUrl" | "BadOption"
  /** The database, without secrets. */
  readonly database: string
  /** What is wrong and what to do. */
  readonly detail: string
}> {
  override get message(): string {
    return `the store ${this.database} cannot be opened: ${this.detail}`
  }
}

/**
 * A revision that a group's history does not have.
 *
 * @since 0.1.0
 */
export class RevisionNotFound extends Data.TaggedError("RevisionNotFound")<{
  readonly group: string
  readonly revision: number
  /** The store's latest revision. */
  readonly latest: number
  /** The first revision at which the group is known; `undefined`: there is none. */
  readonly oldest: number | undefined
}> {
  override get message(): string {
    const { group, latest, oldest, revision } = this
    const why =
      revision > latest
        ? `the store is at revision ${latest}`
        : oldest === undefined
          ? "nothing of the group is kept"
          : revision < oldest
            ? `its history begins with revision ${oldest}`
            : "it was not set then"
    return `group ${JSON.stringify(group)} has no revision ${revision}: ${why}; see its history`
  }
}
