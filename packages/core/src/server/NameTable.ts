/**
 * Name table: an immutable map from names, for the state of a stream.
 *
 * A few names, as most clients subscribe to, are in a `Map` of the platform, which tables share until one of them changes. It needs
 * no compiled code of ours, so a herd of clients at a process that has just started is served sooner. Many names are in a `NameTrie`,
 * where a change does not copy all of them.
 *
 * @since 0.1.0
 */
import * as NameTrie from "../resource/NameTrie.js"

/** Most names in a `Map` of the platform. */
const mostFew = 256

/** Most names beside the `Map` that is shared. A `Map` of no more names is copied instead. */
const mostRecent = 8

/**
 * The map. No value is `undefined`.
 *
 * @since 0.1.0
 */
export class NameTable<out V> implements Iterable<readonly [string, V]> {
  /**
   * @param few at most 256 names; never changed
   * @param recent names of `few` that have other values by now, and further names; never changed
   * @param added how many of `recent` are not in `few`
   * @param many all names, if they are more: then `few` is empty
   */
  constructor(
    readonly few: ReadonlyMap<string, V>,
    readonly recent: ReadonlyMap<string, V> | undefined,
    readonly added: number,
    readonly many: NameTrie.NameTrie<V> | undefined
  ) {}

  get size(): number {
    return this.many === undefined ? this.few.size + this.added : this.many.size
  }

  has(name: string): boolean {
    if (this.many !== undefined) return this.many.has(name)
    return this.few.has(name) || (this.added > 0 && this.recent?.has(name) === true)
  }

  get(name: string): V | undefined {
    if (this.many !== undefined) return this.many.get(name)
    return this.recent?.get(name) ?? this.few.get(name)
  }

  /** @param hash of the name, as `Hash.string` makes it */
  getHash(name: string, hash: number): V | undefined {
    return this.many === undefined ? this.get(name) : this.many.getHash(name, hash)
  }

  keys(): IterableIterator<string> {
    if (this.many !== undefined) return this.many.keys()
    return this.recent === undefined || this.added === 0 ? this.few.keys() : names(this.few, this.recent)
  }

  [Symbol.iterator](): Iterator<readonly [string, V]> {
    if (this.many !== undefined) return this.many[Symbol.iterator]()
    return this.recent === undefined ? this.few[Symbol.iterator]() : entries(this.few, this.recent)
  }

  /** The entries. */
  toJSON(): ReadonlyArray<readonly [string, V]> {
    return Array.from(this)
  }
}

const entries = function* <V>(
  few: ReadonlyMap<string, V>,
  recent: ReadonlyMap<string, V>
): Generator<readonly [string, V], void> {
  for (const [name, value] of few) yield [name, recent.get(name) ?? value]
  for (const entry of recent) if (!few.has(entry[0])) yield entry
}

const names = function* (
  few: ReadonlyMap<string, unknown>,
  recent: ReadonlyMap<string, unknown>
): Generator<string, void> {
  for (const [name] of entries(few, recent)) yield name
}

const none: NameTable<never> = new NameTable(new Map<string, never>(), undefined, 0, undefined)

/**
 * A table without names.
 *
 * @since 0.1.0
 */
export const empty = <V>(): NameTable<V> => none

/**
 * A table of what a trie has.
 *
 * @since 0.1.0
 */
export const fromTrie = <V>(trie: NameTrie.NameTrie<V>): NameTable<V> =>
  trie.size === 0 ? none : new NameTable<V>(none.few, undefined, 0, trie)

/**
 * A table of these entries.
 *
 * @since 0.1.0
 */
export const fromIterable = <V>(entries: Iterable<readonly [string, V]>): NameTable<V> => {
  const draft = new NameTableDraft<V>(none)
  for (const [name, value] of entries) draft.set(name, value)
  return draft.end()
}

/**
 * A table with the same value under each of these names.
 *
 * @since 0.1.0
 */
export const ofNames = <V>(names: Iterable<string>, value: V): NameTable<V> => {
  const draft = new NameTableDraft<V>(none)
  for (const name of names) draft.set(name, value)
  return draft.end()
}

/**
 * The table with another value under a name.
 *
 * @since 0.1.0
 */
export const set = <V>(self: NameTable<V>, name: string, value: V): NameTable<V> => {
  const draft = new NameTableDraft(self)
  draft.set(name, value)
  return draft.end()
}

/**
 * The table without a name.
 *
 * @since 0.1.0
 */
export const remove = <V>(self: NameTable<V>, name: string): NameTable<V> => {
  const draft = new NameTableDraft(self)
  draft.delete(name)
  return draft.end()
}

/**
 * Changes of a table. What it is made of is copied with the first change that needs it; further changes are made in place.
 *
 * @since 0.1.0
 */
export class NameTableDraft<V> {
  #from: NameTable<V>
  /** A copy of all names. */
  #few: Map<string, V> | undefined
  /** As long as the `Map` of the table serves: a copy of what is beside it. */
  #recent: Map<string, V> | undefined
  /** How many of `#recent` are not in the `Map` of the table. */
  #added = 0
  #many: NameTrie.NameTrieDraft<V> | undefined

  constructor(from: NameTable<V>) {
    this.#from = from
  }

  has(name: string): boolean {
    if (this.#many !== undefined) return this.#many.has(name)
    if (this.#few !== undefined) return this.#few.has(name)
    return this.#recent === undefined ? this.#from.has(name) : this.#recent.has(name) || this.#from.few.has(name)
  }

  get(name: string): V | undefined {
    if (this.#many !== undefined) return this.#many.get(name)
    if (this.#few !== undefined) return this.#few.get(name)
    return this.#recent === undefined ? this.#from.get(name) : (this.#recent.get(name) ?? this.#from.few.get(name))
  }

  set(name: string, value: V): void {
    if (this.#few !== undefined) {
      this.#few.set(name, value)
      if (this.#few.size > mostFew) this.#spread(this.#few)
    } else if (this.#many !== undefined || this.#from.many !== undefined) {
      this.#among(this.#from.many).set(name, value)
    } else if (this.get(name) !== value && !this.#note(name, value)) {
      this.#copy()
      this.set(name, value)
    }
  }

  /** {@link set} for a name that is not there; the value of one that is stays. */
  setNew(name: string, value: V): void {
    if (this.#many !== undefined || this.#from.many !== undefined) {
      this.#among(this.#from.many).setNew(name, value)
    } else if (!this.has(name)) {
      this.set(name, value)
    }
  }

  delete(name: string): void {
    if (this.#many !== undefined || this.#from.many !== undefined) {
      this.#among(this.#from.many).remove(name)
    } else if (!this.has(name)) {
      return
    } else if (this.#few === undefined && !this.#from.few.has(name)) {
      this.#beside().delete(name)
      this.#added--
    } else {
      if (this.#few === undefined) this.#copy()
      this.#few?.delete(name)
    }
  }

  /** The table with the changes so far; the one that the draft began with if there were none. */
  end(): NameTable<V> {
    this.#from = this.#made()
    this.#few = undefined
    this.#recent = undefined
    this.#many = undefined
    return this.#from
  }

  #made(): NameTable<V> {
    if (this.#many !== undefined) {
      const many = this.#many.end()
      return many === this.#from.many ? this.#from : fromTrie(many)
    }
    if (this.#few !== undefined) return this.#few.size === 0 ? none : new NameTable(this.#few, undefined, 0, undefined)
    const { few } = this.#from
    return this.#recent === undefined ? this.#from : new NameTable(few, this.#recent, this.#added, undefined)
  }

  /** Notes a value beside the `Map` of the table, if there is room for one. */
  #note(name: string, value: V): boolean {
    const { few, recent } = this.#from
    const noted = this.#recent ?? recent
    const isNoted = noted?.has(name) === true
    if (few.size <= mostRecent || (!isNoted && noted !== undefined && noted.size >= mostRecent)) return false
    const beside = this.#beside()
    const isNew = !isNoted && !few.has(name)
    if (isNew && few.size + this.#added >= mostFew) return false
    if (isNew) this.#added++
    beside.set(name, value)
    return true
  }

  /** A copy of what is beside the `Map` of the table, to be changed. */
  #beside(): Map<string, V> {
    if (this.#recent !== undefined) return this.#recent
    this.#added = this.#from.added
    return (this.#recent = new Map(this.#from.recent))
  }

  #copy(): void {
    const copy = new Map(this.#from.few)
    for (const [name, value] of this.#recent ?? this.#from.recent ?? noEntries) copy.set(name, value)
    this.#recent = undefined
    this.#few = copy
  }

  /** The names are many now. */
  #spread(few: ReadonlyMap<string, V>): void {
    const many = this.#among(undefined)
    for (const [name, value] of few) many.set(name, value)
    this.#few = undefined
  }

  #among(from: NameTrie.NameTrie<V> | undefined): NameTrie.NameTrieDraft<V> {
    return (this.#many ??= new NameTrie.NameTrieDraft(from ?? NameTrie.empty<V>()))
  }
}

const noEntries: ReadonlyArray<never> = []
