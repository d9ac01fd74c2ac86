/**
 * The way from a cursor to a set: what is different, and the responses that bring it.
 *
 * @since 0.1.0
 */
import type { Once } from "../Steps.js"
import type { Response } from "../wire/Response.js"
import type { Cursor } from "./Cursor.js"
import type { Resource } from "./Resource.js"

/**
 * What is different in a set since a cursor.
 *
 * @since 0.1.0
 */
export interface Difference {
  /** New or with other content, as they are now. */
  readonly changed: ReadonlyArray<Resource>
  /** Gone. The value is what was there; `undefined` if the log no longer knows. */
  readonly removed: ReadonlyMap<string, Resource | undefined>
  /**
   * Every name and alias, of before and of now, under which somebody may have asked for one of these, and its hash: it
   * is looked up in the names of every stream.
   */
  readonly touched: ReadonlyMap<string, number>
  /** Those of them that stand for many hosts: whoever asked for one of those may be concerned, too. */
  readonly domains: ReadonlyArray<string>
  /** Of what is gone, what left a name or alias to another; see `ResourceSet.isReplaced`. */
  readonly replaced: ReadonlySet<string>
}

/**
 * Responses by what else is different in them: whether TTLs are given, for example.
 *
 * @since 0.1.0
 */
export type Responses = Map<string, Once<Response>>

/**
 * The way from a cursor to a set.
 *
 * @since 0.1.0
 */
export class Crossing {
  #responses: Responses | undefined

  constructor(
    readonly since: Cursor,
    readonly difference: Once<Difference>
  ) {}

  /** Responses that bring what changed. */
  get responses(): Responses {
    return (this.#responses ??= new Map())
  }
}
