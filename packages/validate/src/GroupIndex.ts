/**
 * What the resources of a group say of each other, kept beside the group, so that a change costs what it changes and not what
 * the group holds: who defines, who refers, who has something that only one may have. {@link GroupRules.check} makes one, and asks
 * it once; a store keeps one for each group.
 *
 * All of it is synchronous; what may be long is a generator, which lets others run at each `yield`.
 *
 * @since 0.1.0
 */
import type { Registry } from "@bufbuild/protobuf"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import type * as Effect from "effect/Effect"
import type { GroupFault } from "./GroupFault.js"
import * as GroupRule from "./GroupRule.js"
import * as ResourceFacts from "./internal/group/Facts.js"
import type { Claim, Facts, Wrong } from "./internal/group/Facts.js"
import { FactsCache, FactsReader, load, nothing } from "./internal/group/FactsReader.js"
import { FirstInOrder } from "./internal/group/FirstInOrder.js"

/**
 * An encoded resource.
 *
 * @since 0.1.0
 */
export interface Resource {
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
  /** In place of the value: those of its variants (TP2), of which each client gets one. */
  readonly contents?: ReadonlyArray<Uint8Array> | undefined
}

/**
 * Whether a resource is so large that it is read in steps.
 *
 * @since 0.1.0
 */
export const isLarge = ({ contents = [], value }: Resource): boolean =>
  contents.reduce((size, each) => size + each.byteLength, value.byteLength) >= MessageSteps.least

/**
 * By which one resource names another.
 *
 * @since 0.1.0
 */
export type Key = Pick<Resource, "typeUrl" | "name">

/**
 * Options of an index.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Names of rules that are not asked for. */
  readonly off?: Iterable<string> | undefined
  /** Whether a resource that is not in the index is there all the same. Say with `touch` when that changes. */
  readonly isElsewhere?: ((key: Key) => boolean) | undefined
  /** Types in an `Any` that are not Envoy's; they are asked first. */
  readonly registry?: Registry | undefined
  /** What was read of resources before; see {@link cache}. */
  readonly cache?: Cache | undefined
}

/**
 * What was read of resources, by the array of their bytes: who keeps the same array while a resource does not change, as a store
 * does, has only changed resources read again. It holds nothing that is not held elsewhere.
 *
 * @since 0.1.0
 */
export interface Cache {
  readonly _: unique symbol
}

class FactsOfBytes extends FactsCache implements Cache {
  declare readonly _: Cache["_"]
}

/**
 * An empty cache.
 *
 * @param options `plain`: whether clusters and assignments that say nothing but a name are in it, too. They are read from their bytes
 * within a microsecond, and a cache of a hundred thousand costs V8's collector a sixth of all that it does. Without them, one that was
 * read has to be put before the next `settling`, or read again. Default: they are.
 * @since 0.1.0
 */
export const cache = ({ plain = true }: { readonly plain?: boolean | undefined } = {}): Cache => new FactsOfBytes(plain)

/**
 * Faults of a group.
 *
 * @since 0.1.0
 */
export interface Faults {
  readonly faults: ReadonlyArray<GroupFault>
  /** How many there are beside them. */
  readonly omitted: number
}

/**
 * A resource that has to be removed or put.
 *
 * @since 0.1.0
 */
export interface Change {
  readonly put: ReadonlyArray<Resource>
  readonly remove: ReadonlyArray<Key>
}

/** A resource that says something; without its bytes: they may be others when it says the same again. */
interface Entry extends Key {
  readonly facts: Facts
  /** Its place among those that claim the same: the first one may have it. */
  readonly order: number
  wrong: ReadonlyArray<Wrong>
  /** The faults of what is wrong, once they were listed: a list has a few of those that a large group may have. */
  listed: ReadonlyArray<GroupFault> | undefined
}

/** In place of the entry of a resource that is there, and says nothing: most do. */
const silent = Symbol("silent")

type Held = Entry | typeof silent | undefined

/** Those that refer to one resource: most often one, which takes no set. */
type Referrers = Entry | Set<Entry>

interface Claimed {
  readonly claim: Claim
  readonly entry: Entry
}

/** A map by keys, which takes no text of its own. */
class ByKey<A> {
  readonly #types = new Map<string, Map<string, A>>()
  size = 0

  get({ name, typeUrl }: Key): A | undefined {
    return this.#types.get(typeUrl)?.get(name)
  }

  set({ name, typeUrl }: Key, value: A): void {
    const named = this.#types.get(typeUrl) ?? new Map<string, A>()
    if (named.size === 0) this.#types.set(typeUrl, named)
    if (!named.has(name)) this.size++
    named.set(name, value)
  }

  delete({ name, typeUrl }: Key): void {
    const named = this.#types.get(typeUrl)
    if (named?.delete(name) !== true) return
    this.size--
    if (named.size === 0) this.#types.delete(typeUrl)
  }

  *values(): Generator<A> {
    for (const named of this.#types.values()) yield* named.values()
  }
}

const nothingWrong: ReadonlyArray<Wrong> = []

const always = (): boolean => true

/** Resources, and what they say, that are looked at between two yields: they are compared by name, some µs each. */
const atOnce = 64

/** Rules of gRPC alone, which count for what a listener for gRPC leads to. */
const ofGrpcAlone: ReadonlySet<string> = new Set(
  GroupRule.all.filter(({ peers }) => !peers.includes("Envoy")).map(({ name }) => name)
)

/** What is wrong but for its places in lists, which shift when something comes before it. */
const identityOf = (wrong: Wrong): string =>
  `${wrong.rule} ${wrong.path.replace(/\[\d+\]/g, "[]")} ${ResourceFacts.problemOf(wrong)}`

/** What was not wrong before, where something was: it is compared by its text. */
const freshOf = function* (
  before: ReadonlyArray<Wrong>,
  now: ReadonlyArray<Wrong>
): Generator<undefined, ReadonlyArray<Wrong>> {
  let looked = 0
  const known = new Map<string, number>()
  for (const wrong of before) {
    if (++looked % atOnce === 0) yield
    const identity = identityOf(wrong)
    known.set(identity, (known.get(identity) ?? 0) + 1)
  }
  const fresh: Array<Wrong> = []
  for (const wrong of now) {
    if (++looked % atOnce === 0) yield
    const identity = identityOf(wrong)
    const left = known.get(identity) ?? 0
    known.set(identity, left - 1)
    if (left <= 0) fresh.push(wrong)
  }
  return fresh
}

/** A fault for who reads it. It is not kept for each resource: where all refer to what is not there, it is more than they are. */
const faultOf = ({ name, typeUrl }: Key, wrong: Wrong): GroupFault => {
  const { path, rule } = wrong
  const severity = GroupRule.find(rule)?.severity ?? "error"
  const problem = ResourceFacts.problemOf(wrong)
  // Field by field: in Node 20 each copy of a spread object may have a shape of its own, which takes more than the object.
  return "problem" in wrong
    ? { rule, severity, typeUrl, name, path, problem }
    : { rule, severity, typeUrl, name, path, problem, to: { typeUrl: wrong.typeUrl, name: wrong.name } }
}

/**
 * The index of one group.
 *
 * @since 0.1.0
 */
export class GroupIndex {
  readonly #off: ReadonlySet<string>
  readonly #isElsewhere: ((key: Key) => boolean) | undefined
  readonly #registry: Registry | undefined
  readonly #reader: FactsReader
  readonly #held = new ByKey<Entry | typeof silent>()
  /** The resources that refer to one, whether it is there or not. */
  #referrers: ByKey<Referrers> | undefined
  #claims: Map<string, Array<Claimed>> | undefined
  /** Resources with faults. */
  readonly #broken = new FirstInOrder<Entry>()
  /** Resources that gRPC begins with. */
  #roots: Set<Entry> | undefined
  /** Resources that break a rule of gRPC alone, if gRPC is led to them. */
  #forGrpc: Set<Entry> | undefined
  /** Resources whose faults may be others now. */
  #touched: Set<Entry> | undefined
  /** What gRPC is led to. */
  #reached: ReadonlySet<Entry> | undefined
  /** Whether something changed since that was found. */
  #isMoved = false
  #order = 0
  #faults = 0

  constructor({ cache, isElsewhere, off, registry }: Options = {}) {
    this.#off = off instanceof Set ? off : new Set(off)
    this.#isElsewhere = isElsewhere
    this.#registry = registry
    this.#reader = new FactsReader(cache instanceof FactsCache ? cache : new FactsCache())
  }

  /** The number of resources. */
  get size(): number {
    return this.#held.size
  }

  /** The number of faults, as of the last `settling`. */
  get faults(): number {
    return this.#faults
  }

  /**
   * Reads a resource before it is put: how many messages were read, 0 if it was read before; or the names of types to load first,
   * with {@link loadTypes}: then read it again.
   */
  read(resource: Resource): number | ReadonlySet<string> {
    if (this.#reader.get(resource) !== undefined) return 0
    const facts = this.#reader.read(resource, this.#registry)
    return "has" in facts ? facts : facts.messages
  }

  /** {@link read} in steps, for what is large. */
  *readInSteps(resource: Resource): MessageSteps.Steps<{ readonly messages: number } | ReadonlySet<string>> {
    return this.#reader.get(resource) === undefined
      ? yield* this.#reader.readInSteps(resource, this.#registry)
      : { messages: 0 }
  }

  /** Adds or replaces a resource that was read; one that was not says nothing. */
  put(resource: Resource): void {
    const facts = this.#reader.get(resource)
    const before = this.#held.get(resource)
    if (facts === undefined || facts === nothing) return this.#place(resource, silent)
    if (before === undefined || before === silent) {
      const { name, typeUrl } = resource
      const order = this.#order++
      return this.#place(resource, { typeUrl, name, facts, order, wrong: nothingWrong, listed: undefined })
    }
    const { facts: known, name, order, typeUrl, wrong } = before
    if (known === facts) return
    if (!ResourceFacts.isSame(known, facts))
      return this.#place(resource, { typeUrl, name, facts, order, wrong, listed: undefined })
    this.#reader.share(resource, known)
  }

  /** Removes a resource. */
  remove(resource: Key): void {
    this.#place(resource, undefined)
  }

  /** A resource that is not in the index came or went. */
  touch(resource: Key): void {
    const known = this.#referrers?.get(resource)
    if (known instanceof Set) for (const entry of known) this.#touch(entry)
    else if (known !== undefined) this.#touch(known)
  }

  /** What is elsewhere is other than before in ways that are not known. */
  touchAll(): void {
    for (const held of this.#held.values()) {
      if (held !== silent && held.facts.references.length > 0) this.#touch(held)
    }
  }

  /** Finds out what is broken after changes. The result: what is, and was not before, of that which is wanted. */
  *settling(most = 100, isWanted: (fault: GroupFault) => boolean = always): Generator<undefined, Faults> {
    const found = yield* this.#settling(most, isWanted)
    this.#reader.forget()
    return found
  }

  *#settling(most: number, isWanted: (fault: GroupFault) => boolean): Generator<undefined, Faults> {
    const faults: Array<GroupFault> = []
    let omitted = 0
    let looked = 0
    if (this.#forGrpc !== undefined && this.#isMoved) {
      this.#isMoved = false
      this.#reached = yield* this.#reaching()
      for (const entry of this.#forGrpc) this.#touch(entry)
    }
    // What is touched meanwhile is for the next time.
    const touched = this.#touched ?? []
    this.#touched = undefined
    for (const entry of touched) {
      if (++looked % atOnce === 0) yield
      if (this.#held.get(entry) !== entry) continue
      let missing: Array<Wrong> | undefined
      for (const reference of entry.facts.references) {
        if (++looked % atOnce === 0) yield
        if (this.#isThere(reference)) continue
        // Most have one. A list that grows from nothing has room for seventeen.
        if (missing === undefined) missing = [reference]
        else missing.push(reference)
      }
      // It may have gone meanwhile.
      if (this.#held.get(entry) !== entry) continue
      const before = entry.wrong
      entry.wrong = this.#wrongIn(entry, missing ?? nothingWrong)
      entry.listed = undefined
      this.#faults += entry.wrong.length - before.length
      if (entry.wrong.length > 0) this.#broken.add(entry)
      else this.#broken.delete(entry)
      const isAllNew = before.length === 0 || entry.wrong.length === 0
      for (const wrong of isAllNew ? entry.wrong : yield* freshOf(before, entry.wrong)) {
        if (++looked % atOnce === 0) yield
        const fault = faultOf(entry, wrong)
        if (!isWanted(fault)) continue
        if (faults.length < most) faults.push(fault)
        else omitted++
      }
    }
    return { faults, omitted }
  }

  /**
   * What a change would break that is not broken now; nothing is changed. Whoever does not go to the end must drop the index. What
   * is put must have been read.
   */
  *trying(
    { put, remove }: Change,
    most = 100,
    isWanted: (fault: GroupFault) => boolean = always
  ): Generator<undefined, Faults> {
    const before = new Map<Key, Held>()
    // What comes twice is what it was the first time.
    const keep = (key: Key): void => {
      if (!before.has(key)) before.set(key, this.#held.get(key))
    }
    let looked = 0
    for (const resource of remove) {
      if (++looked % atOnce === 0) yield
      keep(resource)
      this.remove(resource)
    }
    for (const resource of put) {
      if (++looked % atOnce === 0) yield
      keep(resource)
      this.put(resource)
    }
    const found = yield* this.#settling(most, isWanted)
    // The last change first: a resource may have been removed and put.
    for (const [resource, held] of Array.from(before).reverse()) {
      if (++looked % atOnce === 0) yield
      this.#place(resource, held)
    }
    yield* this.#settling(0, always)
    return found
  }

  /** What is broken, in the order in which the resources came. */
  *listing(most = 100): Generator<undefined, Faults> {
    const faults: Array<GroupFault> = []
    let looked = 0
    for (const entry of yield* this.#broken.first(most)) {
      if (faults.length >= most) break
      if (++looked % atOnce === 0) yield
      entry.listed ??= entry.wrong.map((wrong) => faultOf(entry, wrong))
      for (const fault of entry.listed) if (faults.length < most) faults.push(fault)
    }
    return { faults, omitted: this.#faults - faults.length }
  }

  #touch(entry: Entry): void {
    this.#touched ??= new Set()
    this.#touched.add(entry)
  }

  /** Puts what is held in the place of what was. Those that it, or the other one, concerns are touched. */
  #place(key: Key, next: Held): void {
    const before = this.#held.get(key)
    if (before === next) return
    this.#isMoved = true
    if (before !== undefined && before !== silent) this.#unlink(before)
    if (next === undefined) this.#held.delete(key)
    else this.#held.set(key, next)
    if (next !== undefined && next !== silent) this.#link(next)
    if (before === undefined || next === undefined) this.touch(key)
  }

  #link(entry: Entry): void {
    const { claims, faults, isForGrpc, references } = entry.facts
    for (const reference of references) {
      this.#referrers ??= new ByKey()
      const known = this.#referrers.get(reference)
      if (known instanceof Set) known.add(entry)
      else if (known !== entry) this.#referrers.set(reference, known === undefined ? entry : new Set([known, entry]))
    }
    for (const claim of claims) {
      this.#claims ??= new Map()
      const claimed = this.#claims.get(claim.key)
      if (claimed === undefined) this.#claims.set(claim.key, [{ claim, entry }])
      else {
        claimed.push({ claim, entry })
        claimed.sort((one, other) => one.entry.order - other.entry.order)
        for (const each of claimed) this.#touch(each.entry)
      }
    }
    if (isForGrpc) (this.#roots ??= new Set()).add(entry)
    if (faults.some(({ rule }) => ofGrpcAlone.has(rule))) (this.#forGrpc ??= new Set()).add(entry)
    this.#touch(entry)
    // What is put back has been broken before.
    if (entry.wrong.length > 0) this.#broken.add(entry)
    this.#faults += entry.wrong.length
  }

  #unlink(entry: Entry): void {
    for (const reference of entry.facts.references) {
      const known = this.#referrers?.get(reference)
      if (known === entry || (known instanceof Set && known.delete(entry) && known.size === 0))
        this.#referrers?.delete(reference)
    }
    for (const { key } of entry.facts.claims) {
      const claimed = this.#claims?.get(key)
      const place = claimed?.findIndex((each) => each.entry === entry) ?? -1
      if (claimed === undefined || place < 0) continue
      claimed.splice(place, 1)
      if (claimed.length === 0) this.#claims?.delete(key)
      else for (const each of claimed) this.#touch(each.entry)
    }
    this.#roots?.delete(entry)
    this.#forGrpc?.delete(entry)
    if (this.#forGrpc?.size === 0) this.#forGrpc = undefined
    this.#touched?.delete(entry)
    this.#broken.delete(entry)
    this.#faults -= entry.wrong.length
  }

  /** @param missing those of its references that are not there */
  #wrongIn(entry: Entry, missing: ReadonlyArray<Wrong>): ReadonlyArray<Wrong> {
    const { claims, faults, references } = entry.facts
    let found: Array<Wrong> | undefined
    const add = (wrong: Wrong): void => {
      const { rule } = wrong
      if (GroupRule.find(rule) === undefined || this.#off.has(rule)) return
      if (ofGrpcAlone.has(rule) && this.#reached?.has(entry) !== true) return
      // Most have one. A list that grows from nothing has room for seventeen.
      if (found === undefined) found = [wrong]
      else found.push(wrong)
    }
    for (const each of faults) add(each)
    for (const reference of missing) add(reference)
    for (const claim of claims) {
      const first = this.#claims?.get(claim.key)?.[0]
      if (first !== undefined && first.claim !== claim) add(claim)
    }
    if (found === undefined) return nothingWrong
    // Where nothing is there, as the endpoints of another server, one list is enough.
    const isAll = found.length === references.length && found.every((wrong, place) => wrong === references[place])
    return isAll ? references : found
  }

  #isThere(key: Key): boolean {
    return this.#held.get(key) !== undefined || this.#isElsewhere?.(key) === true
  }

  /** What listeners for gRPC lead to, however often it leads back. */
  *#reaching(): Generator<undefined, ReadonlySet<Entry>> {
    const reached = new Set(this.#roots)
    let looked = 0
    // A set may grow while it is gone through.
    for (const entry of reached) {
      for (const reference of entry.facts.references) {
        if (++looked % atOnce === 0) yield
        const held = this.#held.get(reference)
        if (held !== undefined && held !== silent) reached.add(held)
      }
    }
    return reached
  }
}

/**
 * Loads what `read` says is missing: once for each type in a process.
 *
 * @since 0.1.0
 */
export const loadTypes = (names: Iterable<string>): Effect.Effect<void> => load(names)
