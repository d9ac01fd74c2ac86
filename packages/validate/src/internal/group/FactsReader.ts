/** Reads what encoded resources say, once for each array of bytes of a type. */
import type { DescMessage, Registry } from "@bufbuild/protobuf"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Effect from "effect/Effect"
import type { TypeOf } from "../Report.js"
import * as Addresses from "./Addresses.js"
import * as Clusters from "./Clusters.js"
import * as Durations from "./Durations.js"
import * as Endpoints from "./Endpoints.js"
import * as Extensions from "./Extensions.js"
import { type Facts, Site } from "./Facts.js"
import * as HttpManagers from "./HttpManagers.js"
import * as Listeners from "./Listeners.js"
import * as PlainAssignment from "./PlainAssignment.js"
import * as PlainCluster from "./PlainCluster.js"
import * as Reading from "./Reading.js"
import * as RegularExpressions from "./RegularExpressions.js"
import * as Routes from "./Routes.js"
import * as Tls from "./Tls.js"

/** What is read of a resource. */
export interface Content {
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
  /** In place of the value: those of its variants, of which each client gets one. */
  readonly contents?: ReadonlyArray<Uint8Array> | undefined
}

const reader = new Reading.Reader([
  ...Listeners.readings,
  ...Extensions.readings,
  ...HttpManagers.readings,
  ...Routes.readings,
  ...Clusters.readings,
  ...Endpoints.readings,
  ...Addresses.readings,
  ...Tls.readings,
  ...Durations.readings,
  ...RegularExpressions.readings
])

// Only generated types get in here: there are as many as Envoy's API has. `undefined`: it is no message, but an enum or a service.
const loaded = new Map<string, DescMessage | undefined>()

/** Most resources say nothing; they share this. */
export const nothing: Facts = { faults: [], references: [], claims: [], isForGrpc: false, messages: 0 }

/** Bytes that are none of the type say nothing: the rules of fields tell it. */
const read = (type: DescMessage, value: Uint8Array, typeOf: TypeOf): Facts => {
  const site = new Site()
  try {
    reader.read(type, MessageBytes.decode(type, value, Reading.options), site, typeOf)
  } catch {
    return nothing
  }
  return site.facts()
}

/** The same in steps. */
const readInSteps = function* (type: DescMessage, value: Uint8Array, typeOf: TypeOf): MessageSteps.Steps<Facts> {
  const site = new Site()
  try {
    const { large, message } = yield* MessageSteps.decode(type, value)
    yield* reader.readInSteps(type, message, site, typeOf, large)
  } catch {
    return nothing
  }
  return site.facts()
}

/** What is seen from the bytes of a resource that is plain; `undefined`: it has to be read. */
const ofPlain = ({ name, typeUrl, value }: Content): Facts | undefined => {
  if (typeUrl === ResourceType.ClusterLoadAssignment.typeUrl)
    return PlainAssignment.isPlain(value) ? nothing : undefined
  return typeUrl === ResourceType.Cluster.typeUrl ? PlainCluster.read(name, value) : undefined
}

/** What variants say. No two of them come to one client, so what one claims the others may have, too: the first one claims it. */
const joined = (all: ReadonlyArray<Facts>): Facts => ({
  faults: all.flatMap(({ faults }) => faults),
  references: all.flatMap(({ references }) => references),
  claims: all[0]?.claims ?? [],
  isForGrpc: all.some(({ isForGrpc }) => isForGrpc),
  messages: all.reduce((sum, { messages }) => sum + messages, 0)
})

const isNothing = ({ claims, faults, isForGrpc, references }: Facts): boolean =>
  !isForGrpc && faults.length === 0 && references.length === 0 && claims.length === 0

/** What was read of resources, by the array of their bytes: for each type, since resources of several may have the same array. */
class ByType<Known extends WeakMap<Uint8Array, Facts> | Map<Uint8Array, Facts>> {
  // Only types that are known get in here.
  protected readonly types = new Map<string, Known>()

  constructor(private readonly make: () => Known) {}

  get({ typeUrl, value }: Content): Facts | undefined {
    return this.types.get(typeUrl)?.get(value)
  }

  set({ typeUrl, value }: Content, facts: Facts): void {
    let known = this.types.get(typeUrl)
    if (known === undefined) this.types.set(typeUrl, (known = this.make()))
    known.set(value, facts)
  }
}

/** What was read of resources. It holds nothing that is not held elsewhere. */
export class FactsCache extends ByType<WeakMap<Uint8Array, Facts>> {
  /** @param plain whether it has plain resources, too */
  constructor(readonly plain = true) {
    super(() => new WeakMap())
  }
}

/** Plain resources that the cache does not take. */
class Passing extends ByType<Map<Uint8Array, Facts>> {
  constructor() {
    super(() => new Map())
  }

  clear(): void {
    // A map that is cleared takes a new table.
    for (const known of this.types.values()) if (known.size > 0) known.clear()
  }
}

/** Reads resources. What it reads is in its cache; what that does not take, is kept until it is forgotten. */
export class FactsReader {
  private readonly passing = new Passing()

  constructor(private readonly cache: FactsCache) {}

  get(resource: Content): Facts | undefined {
    return this.passing.get(resource) ?? this.cache.get(resource)
  }

  /** What is read of a resource is the same as something else, which is kept in its place. */
  share(resource: Content, facts: Facts): void {
    if (this.cache.get(resource) !== undefined) this.cache.set(resource, facts)
  }

  /** Who reads the resource again reads it anew, unless it is in the cache. */
  forget(): void {
    this.passing.clear()
  }

  /** Reads a resource. The names of types that have to be loaded first: with {@link load}; then it is to be read again. */
  read(resource: Content, registry: Registry | undefined): Facts | ReadonlySet<string> {
    const { contents, value } = resource
    const plain = contents === undefined && registry === undefined ? ofPlain(resource) : undefined
    if (plain !== undefined) return this.keep(this.cache.plain ? this.cache : this.passing, resource, plain)
    const missing = new Set<string>()
    const typeOf = typesOf(registry, missing)
    const type = typeOf(resource.typeUrl)
    if (type === undefined) return missing.size > 0 ? missing : nothing
    const facts =
      contents === undefined ? read(type, value, typeOf) : joined(contents.map((each) => read(type, each, typeOf)))
    return this.take(resource, facts, missing)
  }

  /** The same in steps. */
  *readInSteps(resource: Content, registry: Registry | undefined): MessageSteps.Steps<Facts | ReadonlySet<string>> {
    const missing = new Set<string>()
    const typeOf = typesOf(registry, missing)
    const type = typeOf(resource.typeUrl)
    if (type === undefined) return missing.size > 0 ? missing : nothing
    const { contents, value } = resource
    if (contents === undefined) return this.take(resource, yield* readInSteps(type, value, typeOf), missing)
    const all: Array<Facts> = []
    for (const each of contents) all.push(yield* readInSteps(type, each, typeOf))
    return this.take(resource, joined(all), missing)
  }

  private take(resource: Content, facts: Facts, missing: ReadonlySet<string>): Facts | ReadonlySet<string> {
    return missing.size > 0 ? missing : this.keep(this.cache, resource, facts)
  }

  private keep(known: FactsCache | Passing, resource: Content, facts: Facts): Facts {
    known.set(resource, isNothing(facts) ? nothing : facts)
    return facts
  }
}

/** Types that are known; the names of those that have to be loaded are put into `missing`. */
const typesOf =
  (registry: Registry | undefined, missing: Set<string>): TypeOf =>
  (typeUrl) => {
    const name = TypeRegistry.typeName(typeUrl)
    const type = registry?.getMessage(name) ?? loaded.get(name)
    if (type === undefined && !loaded.has(name) && TypeRegistry.has(name)) missing.add(name)
    return type
  }

/** Loads types: once for each in a process. */
export const load = (names: Iterable<string>): Effect.Effect<void> =>
  Effect.forEach(
    names,
    (name) =>
      Effect.map(
        Effect.promise(() => TypeRegistry.load(name)),
        (type) => void loaded.set(name, type)
      ),
    { discard: true }
  )
