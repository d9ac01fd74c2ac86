/**
 * The crossing from a cursor to a set: the difference, and the responses that carry it.
 *
 * @since 0.1.0
 */
import type { Once } from "../Steps.js"
import type { Response } from "../wire/Response.js"
import type { Cursor } from "./Cursor.js"
import type { Resource } from "./Resource.js"

/**
 * The difference of a set since a cursor.
 *
 * @since 0.1.0
 */
export interface Difference {
  /** New resources and those with new content, as they are now. */
  readonly changed: ReadonlyArray<Resource>
  /** Removed resources. The value is the last content; `undefined` if the log no longer has it. */
  readonly removed: ReadonlyMap<string, Resource | undefined>
  /**
   * Names and aliases, old and new, by which a client may have requested one of these resources, with their hashes: each is
   * looked up in the names of every stream.
   */
  readonly touched: ReadonlyMap<string, number>
  /** Those of `touched` that match many hosts: a request for a matching host may be concerned, too. */
  readonly domains: ReadonlyArray<string>
  /**
   * Removed resources whose name or alias now belongs to another resource, see `ResourceSet.isReplaced`, and scopes whose key does,
   * see `ScopeKey.takenBy`.
   */
  readonly replaced: ReadonlySet<string>
}

/**
 * Responses by a key of all else in which they differ, for example whether they carry TTLs.
 *
 * @since 0.1.0
 */
export type Responses = Map<string, Once<Response>>

/**
 * The crossing from a cursor to a set.
 *
 * @since 0.1.0
 */
export class Crossing {
  #responses: Responses | undefined
  /** Names that subscribers were compared by, without the difference. */
  #compared = 0
  #all: number | undefined

  constructor(
    readonly since: Cursor,
    readonly difference: Once<Difference>
  ) {}

  /**
   * Whether to find the difference, which looks at `all` names, rather than compare one more subscriber by so many names: then
   * subscribers have looked at as many.
   */
  pays(names: number, all: () => number): boolean {
    this.#compared += names
    this.#all ??= all()
    return this.#compared > this.#all
  }

  /** Responses that carry the difference. */
  get responses(): Responses {
    return (this.#responses ??= new Map())
  }
}
