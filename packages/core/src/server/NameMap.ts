/**
 * A map by names that grows in small steps. A `Map` doubles by copying all entries at once: for a million names, which clients
 * may subscribe to, that takes 60 ms. So names beyond the first 65 536 are spread over small maps by a hash. Its seed is
 * secret, so that clients cannot choose names that all belong into one map.
 * @since 0.1.0
 */

/** Most names in the first map. Doubling it takes some milliseconds, and a lookup needs no hash. */
const mostInFirst = 65_536

/**
 * Most names in any other map before it is divided, which takes tenths of a millisecond. Many are divided at about the same
 * time.
 */
const most = 1_024

/** Bits of the hash that select a part, at each level. */
const bits = 4
const parts = 1 << bits
const deepest = 32 / bits

/** Characters that are hashed at each end of a long name. */
const looked = 64

const hash = (name: string, seed: number): number => {
  let hash = seed ^ name.length
  const add = (from: number, to: number): void => {
    for (let at = from; at < to; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  }
  if (name.length <= 2 * looked) add(0, name.length)
  else {
    add(0, looked)
    add(name.length - looked, name.length)
  }
  // The lower bits are used first, and are those that the last characters change least.
  return (hash ^ (hash >>> 15)) >>> 0
}

type Node<V> = Map<string, V> | Array<Node<V>>

interface Place<V> {
  readonly map: Map<string, V>
  /** The node that has this map at place `at`; `undefined`: none. */
  readonly above: Array<Node<V>> | undefined
  readonly at: number
  readonly depth: number
}

/**
 * The map. It is mutable.
 *
 * @since 0.1.0
 */
export class NameMap<V> {
  readonly #seed: number
  readonly #first = new Map<string, V>()
  #others: Node<V> = new Map<string, V>()
  /** Number of names outside the first map. */
  #left = 0

  /** @param seed of the hash: a 32-bit number that clients cannot guess. Only the order of entries depends on it */
  constructor(seed: number) {
    this.#seed = seed
  }

  get size(): number {
    return this.#first.size + this.#left
  }

  get(name: string): V | undefined {
    const found = this.#first.get(name)
    return found !== undefined || this.#left === 0 ? found : this.#find(name).map.get(name)
  }

  set(name: string, value: V): void {
    const isFirst = this.#left === 0 && this.#first.size < mostInFirst
    if (isFirst || this.#first.has(name)) return void this.#first.set(name, value)
    const { above, at, depth, map } = this.#find(name)
    const before = map.size
    map.set(name, value)
    if (map.size === before) return
    this.#left++
    if (map.size <= most || depth >= deepest) return
    const divided = divide(map, depth, this.#seed)
    if (above === undefined) this.#others = divided
    else above[at] = divided
  }

  delete(name: string): void {
    if (this.#first.delete(name) || this.#left === 0 || !this.#find(name).map.delete(name)) return
    this.#left--
    if (this.#left === 0) this.#others = new Map()
  }

  /** The map for a name, and its place. */
  #find(name: string): Place<V> {
    let node = this.#others
    let above: Array<Node<V>> | undefined
    let at = 0
    let depth = 0
    for (let rest = node instanceof Map ? 0 : hash(name, this.#seed); !(node instanceof Map); rest >>>= bits) {
      above = node
      at = rest % parts
      depth++
      node = above[at] ?? new Map<string, V>()
    }
    return { above, at, depth, map: node }
  }

  *[Symbol.iterator](): Generator<readonly [string, V], void> {
    const left: Array<Node<V>> = [this.#first, this.#others]
    for (let node = left.pop(); node !== undefined; node = left.pop()) {
      if (node instanceof Map) yield* node
      else for (const each of node) left.push(each)
    }
  }
}

/** The entries of a map, spread over its parts. */
const divide = <V>(map: ReadonlyMap<string, V>, depth: number, seed: number): Array<Node<V>> => {
  const divided = Array.from({ length: parts }, () => new Map<string, V>())
  for (const [name, value] of map) divided[(hash(name, seed) >>> (depth * bits)) % parts]?.set(name, value)
  return divided
}
