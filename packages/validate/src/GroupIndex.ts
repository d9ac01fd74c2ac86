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
import type * as Effect from "effect/Effect"
import type { GroupFault } from "./GroupFault.js"
import * as GroupRule from "./GroupRule.js"
import type { Claim, Facts, Found } from "./internal/group/Facts.js"
import { FactsCache, load } from "./internal/group/FactsReader.js"

/**
 * An encoded resource.
 *
 * @since 0.1.0
 */
export interface Resource {
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
}

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
 * @since 0.1.0
 */
export const cache = (): Cache => new FactsOfBytes()

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

/** Of one resource. */
interface Entry {
  readonly resource: Resource
  readonly facts: Facts
  /** Its place among those that claim the same: the first one may have it. */
  readonly order: number
  faults: ReadonlyArray<GroupFault>
}

interface Claimed {
  readonly claim: Claim
  readonly entry: Entry
}

const keyOf = ({ name, typeUrl }: Key): string => `${typeUrl} ${name}`

const noFaults: ReadonlyArray<GroupFault> = []

/** Resources that are settled between two yields: what they say is compared by name, some µs each. */
const atOnce = 64

/** Rules of gRPC alone, which count for what a listener for gRPC leads to. */
const ofGrpcAlone: ReadonlySet<string> = new Set(
  GroupRule.all.filter(({ peers }) => !peers.includes("Envoy")).map(({ name }) => name)
)

/** A fault but for its places in lists, which shift when something comes before it. */
const identityOf = ({ path, problem, rule }: GroupFault): string =>
  `${rule} ${path.replace(/\[\d+\]/g, "[]")} ${problem}`

/** The faults that were not there before. */
const freshOf = (before: ReadonlyArray<GroupFault>, now: ReadonlyArray<GroupFault>): ReadonlyArray<GroupFault> => {
  if (now.length === 0 || before.length === 0) return now
  const known = new Map<string, number>()
  for (const fault of before) known.set(identityOf(fault), (known.get(identityOf(fault)) ?? 0) + 1)
  return now.filter((fault) => {
    const left = known.get(identityOf(fault)) ?? 0
    known.set(identityOf(fault), left - 1)
    return left <= 0
  })
}

/**
 * The index of one group.
 *
 * @since 0.1.0
 */
export class GroupIndex {
  readonly #off: ReadonlySet<string>
  readonly #options: Options
  readonly #cache: FactsCache
  readonly #entries = new Map<string, Entry>()
  /** Key → keys of the resources that refer to it, whether it is there or not. */
  readonly #referrers = new Map<string, Set<string>>()
  readonly #claims = new Map<string, Array<Claimed>>()
  /** Keys of resources with faults. */
  readonly #broken = new Set<string>()
  /** Keys of resources that gRPC begins with. */
  readonly #roots = new Set<string>()
  /** Keys of resources that break a rule of gRPC alone, if gRPC is led to them. */
  readonly #forGrpc = new Set<string>()
  /** Keys of resources whose faults may be others now. */
  #touched = new Set<string>()
  #reached: ReadonlySet<string> = new Set()
  #order = 0

  constructor(options: Options = {}) {
    this.#options = options
    this.#off = new Set(options.off)
    this.#cache = options.cache instanceof FactsCache ? options.cache : new FactsCache()
  }

  /** The number of resources. */
  get size(): number {
    return this.#entries.size
  }

  /**
   * Reads a resource before it is put: how many messages were read, 0 if it was read before; or the names of types to load first,
   * with {@link loadTypes}: then read it again.
   */
  read(resource: Resource): number | ReadonlySet<string> {
    if (this.#cache.get(resource) !== undefined) return 0
    const facts = this.#cache.read(resource, this.#options.registry)
    return "has" in facts ? facts : facts.messages
  }

  /** Adds or replaces a resource that was read; one that was not says nothing. */
  put(resource: Resource): void {
    const facts = this.#cache.get(resource)
    const key = keyOf(resource)
    const before = this.#entries.get(key)
    if (facts === undefined || (before !== undefined && before.resource.value === resource.value)) return
    this.#place(key, { resource, facts, order: before?.order ?? this.#order++, faults: before?.faults ?? noFaults })
  }

  /** Removes a resource. */
  remove(resource: Key): void {
    this.#place(keyOf(resource), undefined)
  }

  /** A resource that is not in the index came or went. */
  touch(resource: Key): void {
    for (const key of this.#referrers.get(keyOf(resource)) ?? []) this.#touched.add(key)
  }

  /** Finds out what is broken after changes. The result: what is, and was not before. */
  *settling(most = 100): Generator<undefined, Faults> {
    const faults: Array<GroupFault> = []
    let omitted = 0
    let looked = 0
    if (this.#forGrpc.size > 0 && this.#touched.size > 0) {
      this.#reached = yield* this.#reaching()
      for (const key of this.#forGrpc) this.#touched.add(key)
    }
    // What is touched meanwhile is for the next time.
    const touched = this.#touched
    this.#touched = new Set()
    for (const key of touched) {
      if (++looked % atOnce === 0) yield
      const entry = this.#entries.get(key)
      if (entry === undefined) continue
      const before = entry.faults
      entry.faults = this.#faultsOf(key, entry)
      if (entry.faults.length > 0) this.#broken.add(key)
      else this.#broken.delete(key)
      for (const fault of freshOf(before, entry.faults)) {
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
  *trying({ put, remove }: Change, most = 100): Generator<undefined, Faults> {
    const before = new Map<string, Entry | undefined>()
    const keep = (resource: Key): void => {
      const key = keyOf(resource)
      if (!before.has(key)) before.set(key, this.#entries.get(key))
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
    const found = yield* this.settling(most)
    for (const [key, entry] of before) {
      if (++looked % atOnce === 0) yield
      this.#place(key, entry)
    }
    yield* this.settling(0)
    return found
  }

  /** What is broken, in the order in which the resources came. */
  *listing(most = 100): Generator<undefined, Faults> {
    const faults: Array<GroupFault> = []
    let omitted = 0
    let looked = 0
    const broken = Array.from(this.#broken, (key) => this.#entries.get(key)).filter((entry) => entry !== undefined)
    broken.sort((one, other) => one.order - other.order)
    for (const entry of broken) {
      if (++looked % atOnce === 0) yield
      for (const fault of entry.faults) {
        if (faults.length < most) faults.push(fault)
        else omitted++
      }
    }
    return { faults, omitted }
  }

  /** Puts an entry in the place of another. Those that it, or the other one, concerns are touched. */
  #place(key: string, next: Entry | undefined): void {
    const before = this.#entries.get(key)
    if (before === next) return
    if (before !== undefined) this.#unlink(key, before)
    if (next === undefined) {
      this.#entries.delete(key)
      this.#broken.delete(key)
      this.#forGrpc.delete(key)
      this.#roots.delete(key)
    } else {
      this.#entries.set(key, next)
      this.#link(key, next)
      this.#touched.add(key)
    }
    if (before === undefined || next === undefined)
      for (const each of this.#referrers.get(key) ?? []) this.#touched.add(each)
  }

  #link(key: string, entry: Entry): void {
    const { claims, faults, isForGrpc, references } = entry.facts
    for (const reference of references) {
      const to = keyOf(reference)
      const known = this.#referrers.get(to)
      if (known === undefined) this.#referrers.set(to, new Set([key]))
      else known.add(key)
    }
    for (const claim of claims) {
      const claimed = this.#claims.get(claim.key)
      if (claimed === undefined) this.#claims.set(claim.key, [{ claim, entry }])
      else {
        claimed.push({ claim, entry })
        claimed.sort((one, other) => one.entry.order - other.entry.order)
        this.#touchClaimed(claimed)
      }
    }
    if (isForGrpc) this.#roots.add(key)
    else this.#roots.delete(key)
    if (faults.some(({ rule }) => ofGrpcAlone.has(rule))) this.#forGrpc.add(key)
    else this.#forGrpc.delete(key)
  }

  #unlink(key: string, { facts }: Entry): void {
    for (const reference of facts.references) {
      const to = keyOf(reference)
      const known = this.#referrers.get(to)
      known?.delete(key)
      if (known?.size === 0) this.#referrers.delete(to)
    }
    for (const claim of facts.claims) {
      const claimed = this.#claims.get(claim.key)
      const place = claimed?.findIndex((each) => each.claim === claim && keyOf(each.entry.resource) === key) ?? -1
      if (claimed === undefined || place < 0) continue
      claimed.splice(place, 1)
      if (claimed.length === 0) this.#claims.delete(claim.key)
      else this.#touchClaimed(claimed)
    }
  }

  #touchClaimed(claimed: ReadonlyArray<Claimed>): void {
    for (const { entry } of claimed) this.#touched.add(keyOf(entry.resource))
  }

  #faultsOf(key: string, entry: Entry): ReadonlyArray<GroupFault> {
    const { facts, resource } = entry
    const { name, typeUrl } = resource
    let found: Array<GroupFault> | undefined
    const add = ({ path, problem, rule: ruleName }: Found): void => {
      const rule = GroupRule.find(ruleName)
      if (rule === undefined || this.#off.has(ruleName)) return
      if (ofGrpcAlone.has(ruleName) && !this.#reached.has(key)) return
      found ??= []
      found.push({ rule: ruleName, severity: rule.severity, typeUrl, name, path, problem })
    }
    facts.faults.forEach(add)
    for (const reference of facts.references) if (!this.#isThere(reference)) add(reference)
    for (const claim of facts.claims) {
      const first = this.#claims.get(claim.key)?.[0]
      if (first !== undefined && first.claim !== claim) add(claim)
    }
    return found ?? noFaults
  }

  #isThere(key: Key): boolean {
    return this.#entries.has(keyOf(key)) || this.#options.isElsewhere?.(key) === true
  }

  /** What listeners for gRPC lead to, however often it leads back. */
  *#reaching(): Generator<undefined, ReadonlySet<string>> {
    const reached = new Set(this.#roots)
    let looked = 0
    // A set may grow while it is gone through.
    for (const key of reached) {
      if (++looked % atOnce === 0) yield
      for (const each of this.#entries.get(key)?.facts.references ?? []) reached.add(keyOf(each))
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
