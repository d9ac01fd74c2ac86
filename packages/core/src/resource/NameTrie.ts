/**
 * Name trie: an immutable map from many names. A change copies the few nodes on the way to a name, and shares all others with the
 * trie before.
 *
 * The resources of a set are in one, and so is what a cursor remembers of them: for each change of a resource both are changed.
 * Names and values lie side by side in the nodes, without an object for each of them, which is less to allocate, to find and to go
 * through for a garbage collector than in a trie with one. Who replaces a value shares the names, too.
 *
 * @since 0.1.0
 */
import * as Hash from "effect/Hash"

/** Bits of a hash that choose the place in one node. */
const bits = 5
const mask = (1 << bits) - 1

/** Depth, in bits of the hash, at which none is left: the names in a node there have the same hash. */
const deepest = 35

/** Number of bits that are set. */
const count = (set: number): number => {
  const pairs = set - ((set >>> 1) & 0x55555555)
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333)
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** Who may change a node in place: one draft, until it ends. */
class Owner {}

/** Of the 32 places of a node those with a name, and those with a node below; both in the order of the places. */
class Node<V> {
  constructor(
    /** Values and nodes are its own; the list of names is shared with earlier nodes. */
    readonly owner: Owner,
    /** One bit for each place with a name. 0 at the {@link deepest}: names are in the order of their characters there. */
    public named: number,
    public names: ReadonlyArray<string>,
    public values: Array<V>,
    /** One bit for each place with a node below. */
    public branched: number,
    public nodes: Array<Node<V>>
  ) {}
}

/** Its list of nodes, of which there are none, is that of most nodes. */
const blank = new Node<never>(new Owner(), 0, [], [], 0, [])

const find = <V>(root: Node<V>, name: string, hash: number): V | undefined => {
  let node = root
  for (let depth = 0; depth < deepest; depth += bits) {
    const bit = 1 << ((hash >>> depth) & mask)
    if ((node.named & bit) !== 0) {
      const at = count(node.named & (bit - 1))
      return node.names[at] === name ? node.values[at] : undefined
    }
    const next = (node.branched & bit) === 0 ? undefined : node.nodes[count(node.branched & (bit - 1))]
    if (next === undefined) return undefined
    node = next
  }
  const at = node.names.indexOf(name)
  return at < 0 ? undefined : node.values[at]
}

/** The names of a trie with their values, in its order: by place, and within a place those of the node below. */
class Walk<V, A> implements IterableIterator<A> {
  readonly #nodes: Array<Node<V>>
  /** For each of the nodes: the places that are left; at the {@link deepest} the number of names that are. */
  readonly #left: Array<number>

  constructor(
    root: Node<V>,
    private readonly pick: (name: string, value: V) => A
  ) {
    this.#nodes = [root]
    this.#left = [root.named | root.branched]
  }

  next(): IteratorResult<A, undefined> {
    for (let top = this.#nodes.length - 1; top >= 0; top = this.#nodes.length - 1) {
      const node = this.#nodes[top]
      const left = this.#left[top]
      if (node === undefined || left === undefined || left === 0) {
        this.#nodes.pop()
        this.#left.pop()
      } else if (top * bits === deepest) {
        this.#left[top] = left - 1
        return this.#at(node, node.names.length - left)
      } else {
        const bit = left & -left
        this.#left[top] = left ^ bit
        if ((node.named & bit) !== 0) return this.#at(node, count(node.named & (bit - 1)))
        this.#enter(node.nodes[count(node.branched & (bit - 1))], top + 1)
      }
    }
    return { done: true, value: undefined }
  }

  [Symbol.iterator](): this {
    return this
  }

  #enter(node: Node<V> | undefined, level: number): void {
    if (node === undefined) return
    this.#nodes.push(node)
    this.#left.push(level * bits === deepest ? node.names.length : node.named | node.branched)
  }

  #at({ names, values }: Node<V>, at: number): IteratorResult<A, undefined> {
    const name = names[at]
    const value = values[at]
    // Neither happens: there is a value for each name, and none is `undefined`.
    if (name === undefined || value === undefined) return { done: true, value: undefined }
    return { done: false, value: this.pick(name, value) }
  }
}

const nameOf = (name: string): string => name

const valueOf = <V>(_: string, value: V): V => value

const entryOf = <V>(name: string, value: V): readonly [string, V] => [name, value]

/**
 * The map. No value is `undefined`. Its order depends on the names alone.
 *
 * @since 0.1.0
 */
export class NameTrie<out V> implements Iterable<readonly [string, V]> {
  readonly #root: Node<V>

  /** Made by {@link empty}, {@link fromIterable} and {@link NameTrieDraft}. */
  constructor(
    root: Node<V>,
    /** Number of names. */
    readonly size: number
  ) {
    this.#root = root
  }

  get(name: string): V | undefined {
    return find(this.#root, name, Hash.string(name))
  }

  /** @param hash of the name, as `Hash.string` makes it */
  getHash(name: string, hash: number): V | undefined {
    return find(this.#root, name, hash)
  }

  has(name: string): boolean {
    return find(this.#root, name, Hash.string(name)) !== undefined
  }

  keys(): IterableIterator<string> {
    return new Walk(this.#root, nameOf)
  }

  values(): IterableIterator<V> {
    return new Walk<V, V>(this.#root, valueOf)
  }

  [Symbol.iterator](): IterableIterator<readonly [string, V]> {
    return new Walk<V, readonly [string, V]>(this.#root, entryOf)
  }

  /** The entries. */
  toJSON(): ReadonlyArray<readonly [string, V]> {
    return Array.from(this)
  }

  /** For {@link NameTrieDraft}. */
  static rootOf<V>(trie: NameTrie<V>): Node<V> {
    return trie.#root
  }
}

const nothing: NameTrie<never> = new NameTrie(blank, 0)

/**
 * A trie without names.
 *
 * @since 0.1.0
 */
export const empty = <V>(): NameTrie<V> => nothing

/**
 * A trie of these entries.
 *
 * @since 0.1.0
 */
export const fromIterable = <V>(entries: Iterable<readonly [string, V]>): NameTrie<V> => {
  const draft = new NameTrieDraft<V>(nothing)
  for (const [name, value] of entries) draft.set(name, value)
  return draft.end()
}

/**
 * The trie with another value under a name.
 *
 * @since 0.1.0
 */
export const set = <V>(self: NameTrie<V>, name: string, value: V): NameTrie<V> => {
  const draft = new NameTrieDraft(self)
  draft.set(name, value)
  return draft.end()
}

/**
 * The trie without a name.
 *
 * @since 0.1.0
 */
export const remove = <V>(self: NameTrie<V>, name: string): NameTrie<V> => {
  const draft = new NameTrieDraft(self)
  draft.remove(name)
  return draft.end()
}

/**
 * Changes of a trie. A node is copied with the first change below it; further changes are made in place. It is not changed while it
 * is gone through.
 *
 * @since 0.1.0
 */
export class NameTrieDraft<V> implements Iterable<readonly [string, V]> {
  #from: NameTrie<V>
  #root: Node<V>
  #size: number
  #owner = new Owner()

  constructor(from: NameTrie<V>) {
    this.#from = from
    this.#root = NameTrie.rootOf(from)
    this.#size = from.size
  }

  get size(): number {
    return this.#size
  }

  get(name: string): V | undefined {
    return find(this.#root, name, Hash.string(name))
  }

  has(name: string): boolean {
    return find(this.#root, name, Hash.string(name)) !== undefined
  }

  [Symbol.iterator](): IterableIterator<readonly [string, V]> {
    return new Walk<V, readonly [string, V]>(this.#root, entryOf)
  }

  set(name: string, value: V): void {
    this.setHash(name, Hash.string(name), value)
  }

  /** @param hash of the name, as `Hash.string` makes it */
  setHash(name: string, hash: number, value: V): void {
    this.#root = this.#set(this.#root, 0, name, hash, value)
  }

  /** {@link set} for a name that is not there; the value of one that is stays. */
  setNew(name: string, value: V): void {
    const hash = Hash.string(name)
    if (find(this.#root, name, hash) === undefined) this.setHash(name, hash, value)
  }

  remove(name: string): void {
    const hash = Hash.string(name)
    if (find(this.#root, name, hash) === undefined) return
    this.#size--
    this.#root = this.#remove(this.#root, 0, name, hash)
  }

  /** The trie with the changes so far; the one that the draft began with if there were none. */
  end(): NameTrie<V> {
    if (this.#root === NameTrie.rootOf(this.#from)) return this.#from
    this.#owner = new Owner()
    this.#from = this.#size === 0 ? nothing : new NameTrie(this.#root, this.#size)
    this.#root = NameTrie.rootOf(this.#from)
    return this.#from
  }

  /** A node that may be changed in place. */
  #owned(node: Node<V>): Node<V> {
    if (node.owner === this.#owner) return node
    // Most nodes have names or nodes below, not both. A list that is empty is never written into.
    const values = node.values.length === 0 ? node.values : node.values.slice()
    const nodes = node.branched === 0 ? node.nodes : node.nodes.slice()
    return new Node(this.#owner, node.named, node.names, values, node.branched, nodes)
  }

  #set(node: Node<V>, depth: number, name: string, hash: number, value: V): Node<V> {
    if (depth === deepest) return this.#setAmong(node, name, value)
    const bit = 1 << ((hash >>> depth) & mask)
    if ((node.branched & bit) !== 0) {
      const at = count(node.branched & (bit - 1))
      const below = node.nodes[at]
      if (below === undefined) return node
      const next = this.#set(below, depth + bits, name, hash, value)
      return next === below ? node : this.#withNode(node, at, next)
    }
    const at = count(node.named & (bit - 1))
    if ((node.named & bit) === 0) return this.#withName(node, bit, at, name, value)
    const other = node.names[at]
    const otherValue = node.values[at]
    if (other === name || other === undefined || otherValue === undefined) return this.#withValue(node, at, value)
    const below = this.#set(this.#alone(depth + bits, other, otherValue), depth + bits, name, hash, value)
    return this.#branched(node, bit, at, below)
  }

  /** Among names with the same hash. */
  #setAmong(node: Node<V>, name: string, value: V): Node<V> {
    const at = node.names.findIndex((each) => each >= name)
    const place = at < 0 ? node.names.length : at
    return node.names[place] === name
      ? this.#withValue(node, place, value)
      : this.#withName(node, 0, place, name, value)
  }

  /** A node with one name. */
  #alone(depth: number, name: string, value: V): Node<V> {
    const named = depth === deepest ? 0 : 1 << ((Hash.string(name) >>> depth) & mask)
    return new Node(this.#owner, named, [name], [value], 0, blank.nodes)
  }

  #withNode(node: Node<V>, at: number, below: Node<V>): Node<V> {
    const next = this.#owned(node)
    next.nodes[at] = below
    return next
  }

  #withValue(node: Node<V>, at: number, value: V): Node<V> {
    if (node.values[at] === value) return node
    const next = this.#owned(node)
    next.values[at] = value
    return next
  }

  #withName(node: Node<V>, bit: number, at: number, name: string, value: V): Node<V> {
    this.#size++
    const next = this.#owned(node)
    next.named |= bit
    next.names = next.names.toSpliced(at, 0, name)
    next.values = next.values.toSpliced(at, 0, value)
    return next
  }

  /** With a node in the place of a name. */
  #branched(node: Node<V>, bit: number, at: number, below: Node<V>): Node<V> {
    const next = this.#owned(node)
    next.named ^= bit
    next.names = next.names.toSpliced(at, 1)
    next.values = next.values.toSpliced(at, 1)
    next.nodes = next.nodes.toSpliced(count(next.branched & (bit - 1)), 0, below)
    next.branched |= bit
    return next
  }

  /** Without a name that is there. */
  #remove(node: Node<V>, depth: number, name: string, hash: number): Node<V> {
    if (depth === deepest) return this.#withoutName(node, 0, node.names.indexOf(name))
    const bit = 1 << ((hash >>> depth) & mask)
    if ((node.named & bit) !== 0) return this.#withoutName(node, bit, count(node.named & (bit - 1)))
    const at = count(node.branched & (bit - 1))
    const below = node.nodes[at]
    if (below === undefined) return node
    const next = this.#remove(below, depth + bits, name, hash)
    // One name needs no node: tries of the same names are the same, whatever was in them before.
    const [left] = next.names
    const [value] = next.values
    const isOne = next.branched === 0 && next.names.length === 1
    return isOne && left !== undefined && value !== undefined
      ? this.#joined(node, bit, at, left, value)
      : this.#withNode(node, at, next)
  }

  #withoutName(node: Node<V>, bit: number, at: number): Node<V> {
    const next = this.#owned(node)
    next.named ^= bit
    next.names = next.names.toSpliced(at, 1)
    next.values = next.values.toSpliced(at, 1)
    return next
  }

  /** With a name in the place of a node. */
  #joined(node: Node<V>, bit: number, at: number, name: string, value: V): Node<V> {
    const next = this.#owned(node)
    next.branched ^= bit
    next.nodes = next.nodes.toSpliced(at, 1)
    const place = count(next.named & (bit - 1))
    next.named |= bit
    next.names = next.names.toSpliced(place, 0, name)
    next.values = next.values.toSpliced(place, 0, value)
    return next
  }
}
