/**
 * What an incremental client says that it holds when it comes back (`initial_resource_versions`), read as far as needed.
 *
 * A client over ten thousand clusters sends 850 KB of names and versions, and after a restart of the server all clients
 * do so at once, and say nearly the same. So an entry is kept once for all of them, and a client holds a set of numbers:
 * its request is read while it comes and while its bytes are in the processor's cache, it takes a kilobyte of memory, and
 * what it means for a set of resources is found out once for all clients that hold the same.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Reconnect"
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import { NumberSet } from "./NumberSet.js"
import type { Resource } from "./Resource.js"
import * as ResourceSet from "./ResourceSet.js"
import * as Steps from "../Steps.js"
import type { VersionDictionary } from "./VersionDictionary.js"

/** The tag of `initial_resource_versions` in a request. */
const ENTRY = 0x2a

/** Room for the beginning of a field: an entry of one byte of length, or the head of another field. */
const tailBytes = 160

/**
 * Takes the entries out of one request that may come in pieces, and passes on the rest, which is a request again.
 *
 * @since 0.1.0
 */
export class Sieve {
  private readonly numbers = new NumberSet()
  private bytes = 0
  /** The beginning of a field. */
  private readonly tail = new Uint8Array(tailBytes)
  private size = 0
  /** Bytes that are left of a field that is passed on. */
  private passing = 0
  private value = 0

  /** `keep`: is given what is passed on, at once: these bytes will soon be others. */
  constructor(
    private readonly dictionary: VersionDictionary,
    private readonly keep: (bytes: Uint8Array, start: number, end: number) => void
  ) {}

  /** Bytes of the entries that were taken. */
  get taken(): number {
    return this.bytes
  }

  /** The next bytes of the request. */
  push(chunk: Uint8Array, start: number, end: number): void {
    const { input } = this.dictionary
    let at = start
    while (at < end) {
      if (this.passing > 0) {
        at = this.pass(chunk, at, end)
        continue
      }
      // What was not whole before goes on here.
      input.set(this.tail.subarray(0, this.size))
      const next = Math.min(end, at + input.length - this.size)
      input.set(chunk.subarray(at, next), this.size)
      const length = this.size + next - at
      const done = this.scan(length)
      this.tail.set(input.subarray(done, length))
      this.size = length - done
      at = next
    }
  }

  /** The request is over. What began and did not go on is passed on: it is malformed. */
  end(): void {
    this.keep(this.tail, 0, this.size)
    this.size = 0
  }

  /** What was taken, and what was not and has come otherwise. */
  versions(others: ReadonlyMap<string, string> | undefined): ReadonlyMap<string, string> | undefined {
    if (this.numbers.size === 0) return others
    return new InternedVersions(this.dictionary, this.numbers, others)
  }

  private pass(bytes: Uint8Array, at: number, end: number): number {
    const next = Math.min(at + this.passing, end)
    this.keep(bytes, at, next)
    this.passing -= next - at
    return next
  }

  /** Deals with so many bytes of the input, but for a field at the end that is not whole; where that begins. */
  private scan(length: number): number {
    const { input } = this.dictionary
    let at = 0
    while (at < length) {
      const next = this.passing > 0 ? this.pass(input, at, length) : this.field(input, at, length)
      if (next === at) return at
      at = next
    }
    return at
  }

  /** Takes entries, or the head of another field; where that ends. `at`: it is not whole. */
  private field(input: Uint8Array, at: number, end: number): number {
    if (input[at] === ENTRY) {
      if (at + 2 > end) return at
      const length = input[at + 1] ?? 0
      if (length < 0x80) {
        const entryEnd = at + 2 + length
        if (entryEnd > end) return at
        const next = this.dictionary.take(at, end, this.numbers)
        this.bytes += next - at
        if (next > at) return next
        this.keep(input, at, entryEnd)
        return entryEnd
      }
    }
    const afterTag = this.varint(input, at, end)
    if (afterTag < 0) return at
    const type = this.value & 7
    let next = afterTag
    if (type === 2 || type === 0) {
      next = this.varint(input, afterTag, end)
      if (next < 0) return at
    }
    // Groups and types that there are not: whoever decodes the rest will say so.
    this.passing = type === 0 ? 0 : type === 1 ? 8 : type === 2 ? this.value : type === 5 ? 4 : Infinity
    this.keep(input, at, next)
    return next
  }

  /** Reads a number into `value`; where it ends, or -1 if it is not whole. */
  private varint(bytes: Uint8Array, at: number, end: number): number {
    let value = 0
    let unit = 1
    for (let next = at; next < end; next++) {
      const byte = bytes[next] ?? 0
      value += (byte & 0x7f) * unit
      unit *= 0x80
      // Ten bytes are the longest there is: more is malformed, which is seen later.
      if (byte < 0x80 || next === at + 9) {
        this.value = value
        return next + 1
      }
    }
    return -1
  }
}

/**
 * A request that went through a sieve, and what of it was passed on.
 *
 * @since 0.1.0
 */
export interface Sifted {
  readonly sieve: Sieve
  readonly rest: Uint8Array
}

/**
 * The same for a request that is there as a whole, some bytes at a time.
 *
 * @since 0.1.0
 */
export class Sifting {
  private readonly rest: Uint8Array
  private readonly sieve: Sieve
  private size = 0
  private at = 0

  constructor(
    dictionary: VersionDictionary,
    private readonly request: Uint8Array
  ) {
    const rest = new Uint8Array(request.length)
    this.rest = rest
    this.sieve = new Sieve(dictionary, (bytes, start, end) => {
      rest.set(bytes.subarray(start, end), this.size)
      this.size += end - start
    })
  }

  /** Takes so many bytes more; `undefined` if there are others. */
  next(count: number): Sifted | undefined {
    const end = Math.min(this.request.length, this.at + count)
    this.sieve.push(this.request, this.at, end)
    this.at = end
    if (end < this.request.length) return undefined
    this.sieve.end()
    return { sieve: this.sieve, rest: this.rest.subarray(0, this.size) }
  }
}

/**
 * The same at once.
 *
 * @since 0.1.0
 */
export const sift = (dictionary: VersionDictionary, request: Uint8Array): Sifted =>
  new Sifting(dictionary, request).next(request.length) ?? {
    sieve: new Sieve(dictionary, () => undefined),
    rest: request
  }

const noBeside: ReadonlyMap<string, string> = new Map()

/**
 * Names and versions as numbers of a dictionary, and beside them those that are in none: a map that is made when somebody asks it
 * for anything but what {@link compare} does.
 *
 * @since 0.1.0
 */
export class InternedVersions implements ReadonlyMap<string, string> {
  private decoded: ReadonlyMap<string, string> | undefined

  constructor(
    readonly dictionary: VersionDictionary,
    readonly numbers: NumberSet,
    readonly beside: ReadonlyMap<string, string> = noBeside
  ) {}

  /** Entries; one name may be in several. */
  get size(): number {
    return this.numbers.size + this.beside.size
  }

  get(name: string): string | undefined {
    return this.map().get(name)
  }

  has(name: string): boolean {
    return this.map().has(name)
  }

  keys(): MapIterator<string> {
    return this.map().keys()
  }

  values(): MapIterator<string> {
    return this.map().values()
  }

  entries(): MapIterator<[string, string]> {
    return this.map().entries()
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.map().entries()
  }

  forEach(visit: (version: string, name: string, map: ReadonlyMap<string, string>) => void): void {
    this.map().forEach(visit)
  }

  private map(): ReadonlyMap<string, string> {
    if (this.decoded !== undefined) return this.decoded
    const decoded = new Map<string, string>()
    this.numbers.forEach((number) => {
      const [name, version] = this.dictionary.textOf(number)
      decoded.set(name, version)
    })
    for (const [name, version] of this.beside) decoded.set(name, version)
    return (this.decoded = decoded)
  }
}

/**
 * What a client holds, beside what a set has.
 *
 * @since 0.1.0
 */
export interface Comparison {
  /** Whether the client holds a resource of the set, as it is. */
  readonly isHeld: (resource: Resource) => boolean
  /** Those it does not, in the order of the set. */
  readonly unheld: () => Steps.Steps<ReadonlyArray<Resource>>
  /** Those it does. */
  readonly held: () => Steps.Steps<ReadonlyArray<Resource>>
  /** What it holds beside those: what is gone, or has another version. */
  readonly others: ReadonlyMap<string, string>
}

/**
 * A client that holds nothing, or was answered already.
 *
 * @since 0.1.0
 */
export const none: Comparison = {
  isHeld: () => false,
  unheld: () => Steps.of([]),
  held: () => Steps.of([]),
  others: new Map()
}

/**
 * Compares what a client holds with a set.
 *
 * @since 0.1.0
 */
export const compare = function* (
  versions: ReadonlyMap<string, string>,
  set: ResourceSet.ResourceSet
): Steps.Steps<Comparison> {
  const interned =
    versions instanceof InternedVersions
      ? yield* (yield* meaningOf(versions.dictionary, set)).compare(versions.numbers)
      : undefined
  const beside = versions instanceof InternedVersions ? versions.beside : versions
  if (interned !== undefined && beside.size === 0) return interned
  const isHeld = (resource: Resource): boolean =>
    beside.get(resource.name) === resource.version || interned?.isHeld(resource) === true
  return {
    isHeld,
    unheld: () => Steps.filter(ResourceSet.all(set), (resource) => !isHeld(resource)),
    held: () => Steps.filter(ResourceSet.all(set), isHeld),
    others: interned === undefined ? beside : new Map([...interned.others, ...beside])
  }
}

/**
 * Who holds it, before its first answer: a subscription.
 *
 * @since 0.1.0
 */
export interface Holder {
  readonly typeUrl: string
  readonly initial: ReadonlyMap<string, string>
  readonly names: HashMap.HashMap<string, unknown>
  readonly resendEvenIfHeld: HashSet.HashSet<string>
  readonly requested: HashSet.HashSet<string>
}

/**
 * What is left of what the client holds, and what the rest of it said.
 *
 * @since 0.1.0
 */
export interface Sorted {
  readonly versions: ReadonlyMap<string, string>
  /** Names that the client must not hold anything by any more, each once. */
  readonly gone: ReadonlyArray<string>
  /** Whether it asked for names, without a wildcard, that it does not hold by that name. */
  readonly mayHaveOthers: boolean
  /** Whether something is not left that the client held. */
  readonly heldMore: boolean
}

/** Entries that are known already cost so many times less. */
const knownPerNew = 16

/**
 * Goes through what a client holds that comes back for names that there is nothing under: of those it need only be told that they are
 * gone, and there may be a hundred thousand of them.
 *
 * @since 0.1.0
 */
export const sort = function* (
  { requested, initial, resendEvenIfHeld, names, typeUrl }: Holder,
  /** Whether it is sent every resource of the type. */
  wild: boolean,
  set: ResourceSet.ResourceSet
): Steps.Steps<Sorted> {
  const isHost = typeUrl === ResourceType.VirtualHost.typeUrl
  const isCounted = !wild && !HashMap.isEmpty(names)
  const isElsewhere = isHost || !HashMap.isEmpty(set.aliases)
  const gone: Array<string> = []
  /** Gone as well, unless the client had them by nothing but that name. */
  const givenUp: Array<string> = []
  /** One name may be in several entries of a dictionary. */
  const seen = new Set<string>()
  let asked = 0
  let heldMore = false
  /** Whether an entry is left. */
  const isLeft = (name: string, version: string, isNumber: boolean): boolean => {
    const isAsked = HashMap.has(names, name)
    if (isAsked) asked++
    if ((isElsewhere ? ResourceSet.find(set, name) : ResourceSet.get(set, name)) !== undefined) return true
    if (version !== "") heldMore = true
    // ★ Envoy quotes also openers and hosts that it was told do not exist: without a version. It holds nothing by them.
    if (isHost && version === "") return false
    if (isNumber) {
      if (seen.has(name)) return false
      seen.add(name)
    }
    // What is to be answered by its name is told so; of a host that is another answer.
    if (HashSet.has(requested, name) && !(isHost && isAsked)) return false
    if (!HashSet.has(resendEvenIfHeld, name)) gone.push(name)
    else if (!isAsked) givenUp.push(name)
    return false
  }
  let effort = 0
  /** The numbers that are left: most often all of them. */
  let left = new NumberSet()
  if (initial instanceof InternedVersions) {
    const { dictionary, numbers } = initial
    const meaning = yield* meaningOf(dictionary, set)
    const all = numbers.toArray()
    let kept = 0
    for (const number of all) {
      const isKnown = meaning.isKnown(number)
      const held = meaning.heldBy(number)
      // Where it is known what it means, there is no need to know what it says.
      if (held !== undefined || (!isCounted && meaning.isNamed(number))) {
        if (isCounted && held !== undefined && HashMap.has(names, held.name)) asked++
        all[kept++] = number
      } else {
        const [name, version] = dictionary.textOf(number)
        if (isLeft(name, version, true)) all[kept++] = number
      }
      effort += isKnown && held !== undefined ? 1 : knownPerNew
      if (effort < knownPerNew * Steps.atOnce) continue
      effort = 0
      yield
    }
    if (kept === all.length) left = numbers
    else left.add(all.subarray(0, kept), dictionary.size)
  }
  const beside = new Map<string, string>()
  for (const [name, version] of initial instanceof InternedVersions ? initial.beside : initial) {
    if (isLeft(name, version, false)) beside.set(name, version)
    effort += knownPerNew
    if (effort < knownPerNew * Steps.atOnce) continue
    effort = 0
    yield
  }
  const mayHaveOthers = !wild && asked < HashMap.size(names)
  if (mayHaveOthers || wild) for (const name of givenUp) gone.push(name)
  const versions =
    left.size + beside.size === initial.size
      ? initial
      : initial instanceof InternedVersions
        ? new InternedVersions(initial.dictionary, left, beside)
        : beside
  return { versions, gone, mayHaveOthers, heldMore }
}

/**
 * Whether what a client holds was compared with a set for another client that holds the same, and has at most so many entries
 * that are not so any more.
 *
 * @since 0.1.0
 */
export const wasCompared = (
  versions: ReadonlyMap<string, string>,
  set: ResourceSet.ResourceSet,
  most: number
): boolean => {
  if (!(versions instanceof InternedVersions) || versions.beside.size > most) return false
  const others = knownMeaning(versions.dictionary, set)?.value?.othersOf(versions.numbers)
  return others !== undefined && others + versions.beside.size <= most
}

/** It was not looked up yet. */
const unknown = -1
/** No resource of the set has this name and version. */
const otherwise = -2
/** No resource of the set has this name. */
const nothing = -3

/** What the entries of a dictionary are in a set of resources: found out once for each, and for all clients. */
class Meaning {
  /** By number: the place of the resource, or that there is none, or that nobody has asked yet. */
  private places = new Int32Array(0)
  private last: { readonly numbers: NumberSet; readonly comparison: Steps.Once<Comparison> } | undefined

  private constructor(
    private readonly dictionary: VersionDictionary,
    private readonly resources: ReadonlyArray<Resource>,
    /** By name. */
    private readonly placeOf: ReadonlyMap<string, number>
  ) {}

  static *make(dictionary: VersionDictionary, set: ResourceSet.ResourceSet): Steps.Steps<Meaning> {
    const resources = yield* ResourceSet.listing(set)
    const placeOf = new Map<string, number>()
    for (const { name } of resources) {
      placeOf.set(name, placeOf.size)
      if (placeOf.size % Steps.atOnce === 0) yield
    }
    return new Meaning(dictionary, resources, placeOf)
  }

  compare(numbers: NumberSet): Steps.Steps<Comparison> {
    // After a restart of the server nearly all clients hold the same.
    if (this.last?.numbers.equals(numbers) !== true) {
      this.last = { numbers, comparison: new Steps.Once(() => this.compared(numbers)) }
    }
    return this.last.comparison.steps()
  }

  /** How many entries of what was compared last are no resources of the set; `undefined`: that was something else. */
  othersOf(numbers: NumberSet): number | undefined {
    return this.last?.numbers.equals(numbers) === true ? this.last.comparison.value?.others.size : undefined
  }

  /** Whether an entry was looked up already. */
  isKnown(number: number): boolean {
    return (this.places[number] ?? unknown) !== unknown
  }

  /** Whether there is a resource of an entry's name, of whichever version. */
  isNamed(number: number): boolean {
    const places = this.placesFor(this.dictionary.size)
    let place = places[number] ?? unknown
    if (place === unknown) place = places[number] = this.find(number)
    return place !== nothing
  }

  /** The resource that an entry names as it is. */
  heldBy(number: number): Resource | undefined {
    return this.isNamed(number) ? this.resources[this.places[number] ?? otherwise] : undefined
  }

  private *compared(numbers: NumberSet): Steps.Steps<Comparison> {
    const { dictionary, placeOf, resources } = this
    const held = new Uint8Array(resources.length)
    const others = new Map<string, string>()
    let count = 0
    for (const number of numbers.toArray()) {
      if (++count % Steps.atOnce === 0) yield
      const places = this.placesFor(dictionary.size)
      let place = places[number] ?? unknown
      if (place === unknown) place = places[number] = this.find(number)
      if (place >= 0) {
        held[place] = 1
      } else {
        const [name, version] = dictionary.textOf(number)
        others.set(name, version)
      }
    }
    const all = (isHeld: number) => () => Steps.filter(resources, (_, place) => held[place] === isHeld)
    const unheld = new Steps.Once(all(0))
    return {
      isHeld: ({ name }) => {
        const place = placeOf.get(name)
        return place !== undefined && held[place] === 1
      },
      unheld: () => unheld.steps(),
      held: all(1),
      others
    }
  }

  private placesFor(size: number): Int32Array {
    if (this.places.length < size) {
      const larger = new Int32Array(Math.max(size, 2 * this.places.length)).fill(unknown)
      larger.set(this.places)
      this.places = larger
    }
    return this.places
  }

  private find(number: number): number {
    const [name, version] = this.dictionary.textOf(number)
    const place = this.placeOf.get(name)
    if (place === undefined) return nothing
    return this.resources[place]?.version === version ? place : otherwise
  }
}

/** They go with the dictionary, which is let go when nobody has said anything for some time; a set may stay for days. */
const meanings = new WeakMap<VersionDictionary, WeakMap<ResourceSet.ResourceSet, Steps.Once<Meaning>>>()

const knownMeaning = (dictionary: VersionDictionary, set: ResourceSet.ResourceSet): Steps.Once<Meaning> | undefined =>
  meanings.get(dictionary)?.get(set)

const meaningOf = (dictionary: VersionDictionary, set: ResourceSet.ResourceSet): Steps.Steps<Meaning> => {
  let ofSets = meanings.get(dictionary)
  if (ofSets === undefined) meanings.set(dictionary, (ofSets = new WeakMap()))
  let meaning = ofSets.get(set)
  if (meaning === undefined) ofSets.set(set, (meaning = new Steps.Once(() => Meaning.make(dictionary, set))))
  return meaning.steps()
}
