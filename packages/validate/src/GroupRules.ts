/**
 * Checks the resources of a group together, against the rules of {@link GroupRule}: what refers to what, what may be there only
 * once, and what a peer refuses in a resource although every field is as its `.proto` file wants it. For the fields themselves
 * there is {@link Rules}.
 *
 * A resource is read once; what it says is compared by name. So the steps are in proportion to the size of the resources, and
 * clusters that refer to each other in a circle are nothing special.
 *
 * @since 0.1.0
 */
import { fromBinary, type DescMessage, type Registry } from "@bufbuild/protobuf"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Effect from "effect/Effect"
import * as GroupRule from "./GroupRule.js"
import * as Addresses from "./internal/group/Addresses.js"
import * as Clusters from "./internal/group/Clusters.js"
import * as Durations from "./internal/group/Durations.js"
import * as Endpoints from "./internal/group/Endpoints.js"
import * as Extensions from "./internal/group/Extensions.js"
import { type Facts, type Found, Site } from "./internal/group/Facts.js"
import * as HttpManagers from "./internal/group/HttpManagers.js"
import * as Listeners from "./internal/group/Listeners.js"
import { Reader } from "./internal/group/Reading.js"
import * as RegularExpressions from "./internal/group/RegularExpressions.js"
import * as Routes from "./internal/group/Routes.js"
import * as Tls from "./internal/group/Tls.js"
import type { TypeOf } from "./internal/Report.js"

/**
 * @since 0.1.0
 */
export interface Resource {
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
}

/**
 * A rule that a resource breaks.
 *
 * @since 0.1.0
 */
export interface GroupFault {
  /** Its name in {@link GroupRule.all}. */
  readonly rule: string
  readonly severity: GroupRule.GroupRule["severity"]
  readonly typeUrl: string
  /** Of the resource. */
  readonly name: string
  /** Inside of the resource, as that of a `Fault`. */
  readonly path: string
  /** What is wrong, as the rest of a sentence that begins with the path: `must be set`. */
  readonly problem: string
}

/**
 * @since 0.1.0
 */
export interface Options {
  /** Names of rules that are not asked for. A name that no rule has counts for nothing. */
  readonly off?: Iterable<string> | undefined
  /** Resources that are there without being in the group: those that the peer was started with. */
  readonly present?: Iterable<{ readonly typeUrl: string; readonly name: string }> | undefined
  /** Most faults that are told. 100 by default. */
  readonly maxFaults?: number | undefined
  /** Types in an `Any` that are not Envoy's; they are asked first. */
  readonly registry?: Registry | undefined
  /** What was read of resources before; see {@link cache}. */
  readonly cache?: Cache | undefined
}

/**
 * What a check found.
 *
 * @since 0.1.0
 */
export interface Result {
  /** Empty: no rule is broken. In the order of the resources. */
  readonly faults: ReadonlyArray<GroupFault>
  /** Whether there are more than `maxFaults`. */
  readonly more: boolean
  /** How many messages were read, for what a check costs; those of resources in the cache were not. */
  readonly messages: number
}

/**
 * In words: `clusters "web": eds_cluster_config.eds_config must say where the endpoints come from`.
 *
 * @since 0.1.0
 */
export const toText = ({
  name,
  path,
  problem,
  typeUrl
}: Pick<GroupFault, "typeUrl" | "name" | "path" | "problem">): string => {
  const kind = ResourceType.byTypeUrl(typeUrl)?.restPath?.replace(/^.*:/, "") ?? TypeRegistry.typeName(typeUrl)
  return `${kind} ${JSON.stringify(name)}: ${path === "" ? "" : `${path} `}${problem}`
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

/**
 * @since 0.1.0
 */
export const cache = (): Cache => new FactsCache()

class FactsCache implements Cache {
  declare readonly _: Cache["_"]
  readonly facts = new WeakMap<Uint8Array, Facts>()
}

const reader = new Reader([
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

const none: Facts = { faults: [], references: [], claims: [], isForGrpc: false, messages: 0 }

/** Bytes that are none of the type say nothing: the rules of fields tell it. */
const read = (type: DescMessage, value: Uint8Array, typeOf: TypeOf): Facts => {
  const site = new Site()
  try {
    reader.read(type, fromBinary(type, value), site, typeOf)
  } catch {
    return none
  }
  return site.facts()
}

/** Reads a resource; where types in `Any`s have not been loaded, loads them and reads it again: once for each in a process. */
const factsOf = (resource: Resource, registry: Registry | undefined): Effect.Effect<Facts> =>
  Effect.gen(function* () {
    for (;;) {
      const missing = new Set<string>()
      const typeOf: TypeOf = (typeUrl) => {
        const name = TypeRegistry.typeName(typeUrl)
        const type = registry?.getMessage(name) ?? loaded.get(name)
        if (type === undefined && !loaded.has(name) && TypeRegistry.has(name)) missing.add(name)
        return type
      }
      const type = typeOf(resource.typeUrl)
      const facts = type === undefined ? none : read(type, resource.value, typeOf)
      if (missing.size === 0) return facts
      for (const name of missing) loaded.set(name, yield* Effect.promise(() => TypeRegistry.load(name)))
    }
  })

/**
 * The faults of all resources of a group. Never fails: what cannot be read, or is of a type that is not known, is passed over.
 *
 * @example
 * import { GroupRules } from "@effect-xds/validate"
 * import { Console, Effect } from "effect"
 *
 * const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
 *
 * const program = Effect.gen(function* () {
 *   const { faults } = yield* GroupRules.check([{ typeUrl, name: "web", value: new Uint8Array() }], {
 *     off: ["endpoints-reference"]
 *   })
 *   for (const fault of faults) yield* Console.log(`${fault.rule}: ${GroupRules.toText(fault)}`)
 * })
 *
 * @since 0.1.0
 */
export const check = (resources: Iterable<Resource>, options?: Options): Effect.Effect<Result> =>
  Effect.gen(function* () {
    const known = options?.cache instanceof FactsCache ? options.cache.facts : undefined
    const pace = new Pace()
    let messages = 0
    const all: Array<Read> = []
    for (const resource of resources) {
      let facts = known?.get(resource.value)
      if (facts === undefined) {
        facts = yield* factsOf(resource, options?.registry)
        messages += facts.messages
        known?.set(resource.value, facts)
        if (pace.isTurnOver(facts.messages)) yield* breathe
      }
      all.push({ resource, facts })
      if (pace.isTurnOver(1)) yield* breathe
    }
    return { ...(yield* join(all, options, pace)), messages }
  })

/** Messages, or resources that are compared, of one turn of the event loop: some milliseconds. */
const perTurn = 2000

/** Counts what is done, so that others come between. */
class Pace {
  private done = 0

  isTurnOver(count: number): boolean {
    this.done += count
    if (this.done < perTurn) return false
    this.done = 0
    return true
  }
}

/** Waits for one turn of the event loop; not by the clock, which a test may hold. */
const breathe = Effect.async<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), 0)
  return Effect.sync(() => clearTimeout(timer))
})

interface Read {
  readonly resource: Resource
  readonly facts: Facts
}

const keyOf = ({ name, typeUrl }: { readonly typeUrl: string; readonly name: string }): string => `${typeUrl} ${name}`

const join = (
  all: ReadonlyArray<Read>,
  options: Options | undefined,
  pace: Pace
): Effect.Effect<Omit<Result, "messages">> =>
  Effect.gen(function* () {
    const off = new Set(options?.off ?? [])
    const most = Math.max(1, options?.maxFaults ?? 100)
    const present = new Set(Array.from(options?.present ?? [], keyOf))
    for (const { resource } of all) present.add(keyOf(resource))
    const ofGrpc = reachableFromGrpc(all)
    const claimed = new Set<string>()
    const faults: Array<GroupFault> = []
    let more = false
    for (const { facts, resource } of all) {
      const key = keyOf(resource)
      const add = ({ path, problem, rule: ruleName }: Found): void => {
        const rule = GroupRule.find(ruleName)
        if (rule === undefined || off.has(ruleName)) return
        if (!rule.peers.includes("Envoy") && !ofGrpc.has(key)) return
        if (faults.length >= most) more = true
        else {
          const { name, typeUrl } = resource
          faults.push({ rule: ruleName, severity: rule.severity, typeUrl, name, path, problem })
        }
      }
      facts.faults.forEach(add)
      for (const reference of facts.references) if (!present.has(keyOf(reference))) add(reference)
      for (const claim of facts.claims) {
        if (claimed.has(claim.key)) add(claim)
        claimed.add(claim.key)
      }
      if (pace.isTurnOver(1)) yield* breathe
    }
    return { faults, more }
  })

/** What listeners for gRPC lead to, however often it leads back. */
const reachableFromGrpc = (all: ReadonlyArray<Read>): ReadonlySet<string> => {
  const reached = new Set(all.filter(({ facts }) => facts.isForGrpc).map(({ resource }) => keyOf(resource)))
  if (reached.size === 0) return reached
  const references = new Map(all.map(({ facts, resource }) => [keyOf(resource), facts.references]))
  // A set may grow while it is gone through.
  for (const key of reached) for (const each of references.get(key) ?? []) reached.add(keyOf(each))
  return reached
}
