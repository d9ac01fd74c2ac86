/**
 * Random resources, store changes, requests and whole scripts, for property tests with fast-check.
 *
 * Names come from a small alphabet, so that scripts meet the same name again and again.
 *
 * @since 0.1.0
 */
import type { ErrorDetail, IncrementalRequest, Request, StateOfTheWorldRequest } from "@effect-xds/core/wire/Request"
import { incremental, stateOfTheWorld } from "@effect-xds/core/wire/Request"
import * as Resource from "@effect-xds/core/resource/Resource"
import { fieldOf, fields, utf8 } from "@effect-xds/core/wire/Wire"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { WireType } from "@bufbuild/protobuf/wire"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import type { PlannedFault } from "../network/Fault.js"
import type { Step } from "./Script.js"

/**
 * A resource in a few words. Its content is a number, so that tests can name it.
 *
 * @since 0.1.0
 */
export interface ResourceSpec {
  readonly typeUrl: string
  readonly name: string
  readonly content: number | string
  readonly aliases?: ReadonlyArray<string> | undefined
  /** A Cluster: of type EDS, with this assignment. */
  readonly assignment?: string | undefined
  /** A RouteConfiguration: fetches its virtual hosts by VHDS. */
  readonly onDemandVirtualHosts?: boolean | undefined
  /** A Listener: uses this route configuration, by RDS. */
  readonly route?: string | undefined
  /** A RouteConfiguration: routes to these clusters. */
  readonly clusters?: ReadonlyArray<string> | undefined
  /** The version that clients see. Default: a digest of the content. */
  readonly version?: string | undefined
  /** Milliseconds. */
  readonly ttl?: number | undefined
}

/** A field number that no resource type uses, so that the content is legal in all of them. */
const CONTENT = 1000
/** envoy.config.cluster.v3.Cluster: `type: EDS`, a varint. */
const TYPE_EDS = Uint8Array.of(2 * 8, 3)
const EDS_CLUSTER_CONFIG = 3
const SERVICE_NAME = 2
/** envoy.config.route.v3.RouteConfiguration */
const VHDS = 9

/** Field of envoy.config.listener.v3.Listener, and the message in it that names an RDS route. */
const API_LISTENER = 19
const CONNECTION_MANAGER =
  "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"

/** The content within nested fields of these numbers. */
const nested = (path: ReadonlyArray<number>, content: Uint8Array): Uint8Array =>
  path.reduceRight<Uint8Array>((inner, field) => fieldOf(field, inner), content)

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => Array.from(part)))

/**
 * The resource of a spec. Its bytes parse as a message of its type.
 *
 * @since 0.1.0
 */
export const toResource = (spec: ResourceSpec): Resource.Resource => {
  const { aliases, assignment, clusters = [], content, name, onDemandVirtualHosts, route, ttl, typeUrl, version } = spec
  const parts = [fieldOf(1, utf8(name)), fieldOf(CONTENT, utf8(String(content)))]
  if (assignment !== undefined) {
    parts.push(TYPE_EDS, fieldOf(EDS_CLUSTER_CONFIG, fieldOf(SERVICE_NAME, utf8(assignment))))
  }
  if (route !== undefined) {
    // api_listener.api_listener: an Any of a connection manager with rds.route_config_name.
    const manager = concat([fieldOf(1, utf8(CONNECTION_MANAGER)), nested([2, 3, 2], utf8(route))])
    parts.push(nested([API_LISTENER, 1], manager))
  }
  // virtual_hosts.routes.route.cluster
  for (const cluster of clusters) parts.push(nested([2, 3, 2, 1], utf8(cluster)))
  if (onDemandVirtualHosts === true) parts.push(fieldOf(VHDS, new Uint8Array()))
  return Either.getOrThrow(Resource.make({ typeUrl, name, value: concat(parts), aliases, version, ttl }))
}

/**
 * The content in the bytes of such a resource; empty if it has none.
 *
 * @since 0.1.0
 */
export const contentOf = (bytes: Uint8Array): string => {
  let content = ""
  try {
    fields(bytes, (reader, field, type) => {
      if (field !== CONTENT || type !== WireType.LengthDelimited) return false
      content = reader.string()
      return true
    })
  } catch {
    // Not a message: it has no content.
  }
  return content
}

/**
 * Names of resources.
 *
 * @since 0.1.0
 */
export const names = ["a", "b", "c", "d", "e"] as const

/**
 * The alias of a resource name, if it has one.
 *
 * @since 0.1.0
 */
export const aliasOf = (name: string): string | undefined =>
  name === "a" || name === "c" ? `${name}-alias` : undefined

/**
 * Names and aliases for scripts in which aliases move between resources, come and go, and equal other names.
 *
 * @since 0.1.0
 */
export interface Naming {
  readonly names: ReadonlyArray<string>
  /** Possible aliases, beside the names. */
  readonly aliases: ReadonlyArray<string>
  /** Names that clients request. */
  readonly asked: ReadonlyArray<string>
}

/**
 * For any type: an alias may be a former name of another resource.
 *
 * @since 0.1.0
 */
export const moving: Naming = { names, aliases: ["x", "y", "d", "e"], asked: [...names, "x", "y"] }

/**
 * Virtual hosts that are renamed, get and lose domains, with some wildcard domains.
 *
 * @since 0.1.0
 */
export const hosts: Naming = {
  names: ["r/a", "r/b", "r/c"],
  aliases: ["r/a.com", "r/*.com", "r/*", "r/a.*", "r/c"],
  asked: ["r/a", "r/b", "r/c", "r/a.com", "r/b.com", "r/b.org"]
}

/**
 * Names in glob collections: two members of one, one of a deeper path, and the same with context parameters. An old name beside
 * them.
 *
 * @since 0.1.0
 */
export const collections: Naming = {
  names: ["xdstp://x/t/a/1", "xdstp://x/t/a/2", "xdstp://x/t/a/b/1", "xdstp://x/t/a/1?k=v&l=w", "old"],
  aliases: [],
  asked: [
    "xdstp://x/t/a/*",
    "xdstp://x/t/a/*",
    "xdstp://x/t/a/b/*",
    "xdstp://x/t/a/*?k=v&l=w",
    "xdstp://x/t/a/1",
    "xdstp://x/t/a/2",
    "old"
  ]
}

/** Route configurations of {@link hosts}. */
const routeConfigurations = ["r"]

const namesOf = (typeUrl: string, naming: Naming | undefined): ReadonlyArray<string> =>
  naming === hosts && typeUrl === ResourceType.RouteConfiguration.typeUrl
    ? routeConfigurations
    : (naming?.names ?? names)

const key = ({ name, typeUrl }: Pick<ResourceSpec, "name" | "typeUrl">): string => `${typeUrl} ${name}`

/**
 * Applies a change that takes its aliases from other resources. Returns the content after it, and the resulting change.
 *
 * @since 0.1.0
 */
export const withMovedAliases = (
  before: ReadonlyMap<string, ResourceSpec>,
  { remove, upsert, versions }: StoreChange
): readonly [after: ReadonlyMap<string, ResourceSpec>, change: StoreChange] => {
  const after = new Map(before)
  for (const each of remove) after.delete(key(each))
  for (const spec of upsert) after.set(key(spec), spec)
  const put = new Set(upsert.map(key))
  const owners = new Set<string>()
  // New resources get their aliases first. No alias equals a name.
  const inOrder = [...upsert.toReversed(), ...Array.from(before.values()).filter((spec) => !put.has(key(spec)))]
  for (const spec of inOrder) {
    if (!after.has(key(spec))) continue
    const aliases = (spec.aliases ?? []).filter((alias) => {
      const own = key({ typeUrl: spec.typeUrl, name: alias })
      if (owners.has(own) || after.has(own)) return false
      owners.add(own)
      return true
    })
    after.set(key(spec), { ...spec, aliases })
  }
  const changed = Array.from(after).filter(
    ([at, spec]) => put.has(at) || spec.aliases?.length !== before.get(at)?.aliases?.length
  )
  return [after, { upsert: changed.map(([, spec]) => spec), remove, versions }]
}

/**
 * Specs of one type. Clusters are often of type EDS. Different contents have different labels, if any.
 *
 * @since 0.1.0
 */
export const resourceSpec = (
  typeUrl: string,
  options: {
    readonly ttl?: boolean
    /** Default: {@link aliasOf}. */
    readonly naming?: Naming | undefined
  } = {}
): fc.Arbitrary<ResourceSpec> =>
  fc
    .record({
      name: fc.constantFrom(...namesOf(typeUrl, options.naming)),
      aliases:
        options.naming === undefined || options.naming.aliases.length === 0
          ? fc.constant([])
          : fc.uniqueArray(fc.constantFrom(...options.naming.aliases), { maxLength: 2 }),
      content: fc.integer({ min: 1, max: 4 }),
      isEds: fc.boolean(),
      label: fc.option(fc.integer({ min: 1, max: 2 }), { nil: undefined, freq: 4 }),
      ttl: options.ttl === true ? fc.option(fc.constantFrom(2_500, 10_000), { nil: undefined }) : fc.constant(undefined)
    })
    .map(({ aliases, content, isEds, label, name, ttl }) => {
      const alias = aliasOf(name)
      return {
        typeUrl,
        name,
        content,
        aliases:
          options.naming !== undefined ? aliases.filter((each) => each !== name) : alias === undefined ? [] : [alias],
        onDemandVirtualHosts: options.naming === hosts && isEds,
        assignment: isEds && typeUrl === ResourceType.Cluster.typeUrl ? name : undefined,
        // Different contents have different labels, which fails if aliases move.
        version:
          label === undefined || options.naming !== undefined
            ? undefined
            : `label ${content}${isEds ? "e" : ""}${ttl ?? ""}.${label}`,
        ttl
      }
    })

/**
 * One atomic change of a store.
 *
 * @since 0.1.0
 */
export interface StoreChange {
  readonly upsert: ReadonlyArray<ResourceSpec>
  readonly remove: ReadonlyArray<{ readonly typeUrl: string; readonly name: string }>
  /** Type URL → label of the type. */
  readonly versions: Readonly<Record<string, string>>
}

/**
 * Changes that touch up to four resources and sometimes label a type.
 *
 * @since 0.1.0
 */
export const storeChange = (
  typeUrls: ReadonlyArray<string>,
  options: { readonly ttl?: boolean; readonly naming?: Naming | undefined } = {}
): fc.Arbitrary<StoreChange> => {
  const typeUrl = fc.constantFrom(...typeUrls)
  return fc.record({
    upsert: fc.uniqueArray(
      typeUrl.chain((url) => resourceSpec(url, options)),
      { maxLength: 4, selector: (spec) => `${spec.typeUrl} ${spec.name}` }
    ),
    remove: fc.array(
      options.naming === undefined
        ? fc.record({ typeUrl, name: fc.constantFrom(...names) })
        : typeUrl.chain((url) =>
            fc.record({ typeUrl: fc.constant(url), name: fc.constantFrom(...namesOf(url, options.naming)) })
          ),
      { maxLength: 2 }
    ),
    versions: fc.dictionary(typeUrl, fc.constantFrom("red", "blue"), { maxKeys: 1, noNullPrototype: true })
  })
}

/**
 * An operation of a script. Its details depend on the state of client and stream, so that every script is valid and any
 * operation can be left out.
 *
 * @since 0.1.0
 */
export type Operation =
  /** The client subscribes and unsubscribes. */
  | {
      readonly _tag: "Ask"
      readonly typeUrl: string
      readonly subscribe: ReadonlyArray<string>
      readonly unsubscribe: ReadonlyArray<string>
    }
  /** The client receives the oldest response on its way, and ACKs or NACKs it. */
  | { readonly _tag: "Receive"; readonly nack: boolean }
  /** A request with a nonce that is not the last one. */
  | { readonly _tag: "Stale"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** The client's current list again, with the nonce of another stream or without one. */
  | { readonly _tag: "Repeat"; readonly typeUrl: string; readonly nonce: "" | "foreign" }
  | { readonly _tag: "Change"; readonly change: StoreChange }
  /** Two changes of the same state, one after the other. The second reverts the first. */
  | { readonly _tag: "Branch"; readonly one: StoreChange; readonly other: StoreChange }
  /** The store is cleared. The next change sets it again. */
  | { readonly _tag: "Clear" }
  /** So many changes that the log overflows. */
  | { readonly _tag: "Flood"; readonly typeUrl: string; readonly kind: "many changes" | "many names" }
  | { readonly _tag: "Credit"; readonly given: boolean }
  | { readonly _tag: "Wait"; readonly milliseconds: number }
  | { readonly _tag: "Reconnect"; readonly remembers: boolean }

/**
 * A resource with a TTL that a client is sent. It is removed together with a change of another type, so that its removal waits;
 * often while there is no credit, and often longer than its TTL. It comes back as it was, changed, without its TTL, or not. Any
 * of the operations may be missing.
 */
const returning = (
  typeUrls: ReadonlyArray<string>,
  change: fc.Arbitrary<StoreChange>
): fc.Arbitrary<ReadonlyArray<Operation>> => {
  const wait = fc
    .constantFrom(10, 1_250, 2_500, 5_000, 11_000)
    .map((milliseconds): Operation => ({ _tag: "Wait", milliseconds }))
  const receives = fc
    .nat(4)
    .map((length) => Array.from({ length }, (): Operation => ({ _tag: "Receive", nack: false })))
  const credit = (given: boolean): Operation => ({ _tag: "Credit", given })
  const ask = ({ name, typeUrl }: ResourceSpec): Operation => ({
    _tag: "Ask",
    typeUrl,
    subscribe: [name],
    unsubscribe: []
  })
  return fc
    .record({
      typeUrl: fc.constantFrom(...typeUrls),
      otherTypeUrl: fc.constantFrom(...typeUrls),
      name: fc.constantFrom(...names),
      content: fc.integer({ min: 1, max: 4 }),
      ttl: fc.constantFrom(2_500, 10_000),
      comesBack: fc.constantFrom("asItWas" as const, "asItWas" as const, "changed" as const, "withoutTtl" as const),
      isBack: fc.nat(4).map((n) => n > 0),
      changes: fc.tuple(change, change),
      waits: fc.tuple(wait, wait, wait),
      received: fc.tuple(receives, receives, receives)
    })
    .chain(({ changes, comesBack, content, isBack, name, otherTypeUrl, received, ttl, typeUrl, waits }) => {
      const alias = aliasOf(name)
      const spec = { typeUrl, name, content, ttl, aliases: alias === undefined ? [] : [alias] }
      const other = { ...spec, typeUrl: otherTypeUrl, ttl: undefined }
      const changed = { ...spec, content: content + 1 }
      const back = { asItWas: spec, changed, withoutTtl: { ...spec, ttl: undefined } }[comesBack]
      const put = (upsert: ReadonlyArray<ResourceSpec>, remove: StoreChange["remove"] = []): Operation => ({
        _tag: "Change",
        change: { upsert, remove, versions: {} }
      })
      const operations: Array<ReadonlyArray<Operation>> = [
        [credit(true)],
        [ask(spec), ask(other)],
        [put(otherTypeUrl === typeUrl ? [spec] : [spec, other])],
        received[0],
        [credit(false)],
        [put(otherTypeUrl === typeUrl ? [] : [{ ...other, content: content + 1 }], [{ typeUrl, name }])],
        [credit(true), credit(false)],
        [waits[0]],
        [{ _tag: "Change", change: changes[0] }],
        received[1],
        isBack ? [put([back])] : [],
        [waits[1]],
        [{ _tag: "Change", change: changes[1] }],
        received[2],
        [credit(true)],
        [waits[2]]
      ]
      return fc.subarray(operations, { minLength: operations.length - 3 }).map((parts) => parts.flat())
    })
}

/**
 * Scripts of operations on these types.
 *
 * @since 0.1.0
 */
export const script = (options: {
  readonly typeUrls: ReadonlyArray<string>
  /** Further types that the store has and no client requests. */
  readonly stored?: ReadonlyArray<string> | undefined
  readonly minLength?: number
  readonly maxLength?: number
  /** Whether clients request by alias, too: incremental only. */
  readonly aliases?: boolean
  /** Names and moving aliases, all of which clients request: incremental only. */
  readonly naming?: Naming | undefined
  readonly ttl?: boolean
  readonly floods?: boolean
  /** Whether clients request the wildcard. Default: true. */
  readonly wildcard?: boolean
  /** Whether credit is missing at times. Default: true. */
  readonly credit?: boolean
  /** Whether the store is also cleared, or continued from an earlier state. Default: true. */
  readonly unrelated?: boolean
  /** Whether many resources are removed and come back, one such sequence for eight operations. Default: false. */
  readonly returns?: boolean
}): fc.Arbitrary<ReadonlyArray<Operation>> => {
  const {
    credit = true,
    floods = false,
    maxLength = 240,
    minLength = 200,
    stored = [],
    typeUrls,
    unrelated = true
  } = options
  const typeUrl = fc.constantFrom(...typeUrls)
  const aliases = names.flatMap((name) => aliasOf(name) ?? [])
  // By its name or by its alias, not by both: to unsubscribe from one of two names of a resource has no defined meaning.
  const either = options.naming?.asked
  const known =
    either ?? (options.aliases === true ? [...names.filter((each) => aliasOf(each) === undefined), ...aliases] : names)
  const name = fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...known) },
    { weight: 1, arbitrary: fc.constant("unknown") },
    { weight: options.wildcard === false ? 0 : 2, arbitrary: fc.constant("*") }
  )
  const change = storeChange([...typeUrls, ...stored], options)
  const ask = fc
    .record({
      typeUrl,
      // A first request without names would be a wildcard, too.
      subscribe: fc.uniqueArray(name, { minLength: options.wildcard === false ? 1 : 0, maxLength: 3 }),
      unsubscribe: fc.uniqueArray(name, { maxLength: 3 })
    })
    .map(({ subscribe, typeUrl, unsubscribe }): Operation => ({
      _tag: "Ask",
      typeUrl,
      subscribe,
      unsubscribe: unsubscribe.filter((each) => !subscribe.includes(each))
    }))
  const operation: fc.Arbitrary<Operation> = fc.oneof(
    { weight: 20, arbitrary: ask },
    {
      weight: 30,
      arbitrary: fc.record({ _tag: fc.constant("Receive" as const), nack: fc.nat(9).map((n) => n === 0) })
    },
    {
      weight: 2,
      arbitrary: fc.record({
        _tag: fc.constant("Stale" as const),
        typeUrl,
        names: fc.uniqueArray(name, { maxLength: 3 })
      })
    },
    {
      weight: 2,
      arbitrary: fc.record({
        _tag: fc.constant("Repeat" as const),
        typeUrl,
        nonce: fc.constantFrom("" as const, "foreign" as const)
      })
    },
    { weight: 30, arbitrary: fc.record({ _tag: fc.constant("Change" as const), change }) },
    {
      weight: unrelated ? 2 : 0,
      arbitrary: fc.record({ _tag: fc.constant("Branch" as const), one: change, other: change })
    },
    { weight: unrelated ? 1 : 0, arbitrary: fc.constant<Operation>({ _tag: "Clear" }) },
    {
      weight: floods ? 1 : 0,
      arbitrary: fc.record({
        _tag: fc.constant("Flood" as const),
        typeUrl,
        kind: fc.constantFrom("many changes" as const, "many names" as const)
      })
    },
    { weight: credit ? 10 : 0, arbitrary: fc.record({ _tag: fc.constant("Credit" as const), given: fc.boolean() }) },
    {
      weight: 5,
      arbitrary: fc.record({
        _tag: fc.constant("Wait" as const),
        milliseconds: fc.constantFrom(10, 1_000, 5_000, 11_000)
      })
    },
    { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Reconnect" as const), remembers: fc.boolean() }) }
  )
  if (options.returns !== true) return fc.array(operation, { minLength, maxLength, size: "max" })
  const one = operation.map((each): ReadonlyArray<Operation> => [each])
  const part = fc.oneof({ weight: 8, arbitrary: one }, { weight: 1, arbitrary: returning(typeUrls, change) })
  return fc
    .array(part, { minLength: minLength >> 1, maxLength: maxLength >> 1, size: "max" })
    .map((parts) => parts.flat())
}

const text = fc.string({ unit: "grapheme", maxLength: 12 })
const errorDetail: fc.Arbitrary<ErrorDetail | undefined> = fc.option(fc.record({ code: fc.integer(), message: text }), {
  nil: undefined
})
const node = fc.option(fc.uint8Array({ maxLength: 20 }), { nil: undefined })

/**
 * A random state-of-the-world request; the node is random bytes.
 *
 * @since 0.1.0
 */
export const stateOfTheWorldRequest: fc.Arbitrary<StateOfTheWorldRequest> = fc
  .record({ typeUrl: text, versionInfo: text, responseNonce: text, resourceNames: fc.array(text), errorDetail, node })
  .map((request) => stateOfTheWorld(request))

/**
 * A random incremental request; the node is random bytes.
 *
 * @since 0.1.0
 */
export const incrementalRequest: fc.Arbitrary<IncrementalRequest> = fc
  .record({
    typeUrl: text,
    responseNonce: text,
    resourceNamesSubscribe: fc.array(text),
    resourceNamesUnsubscribe: fc.array(text),
    initialResourceVersions: fc.array(fc.tuple(text, text)).map((entries) => new Map(entries)),
    errorDetail,
    node
  })
  .map((request) => incremental(request))

/**
 * A random request.
 *
 * @since 0.1.0
 */
export const request: fc.Arbitrary<Request> = fc.oneof(stateOfTheWorldRequest, incrementalRequest)

/**
 * Resources that refer to one another: listeners to routes, routes to clusters, clusters to assignments. Watches of simulations
 * reject the content `bad`.
 *
 * @since 0.1.0
 */
export const connectedResource = (options: {
  readonly typeUrls: ReadonlyArray<string>
  /** Whether some have the content `bad`. Default: true. */
  readonly bad?: boolean | undefined
}): fc.Arbitrary<ResourceSpec> =>
  fc
    .record({
      typeUrl: fc.constantFrom(...options.typeUrls),
      name: fc.constantFrom(...names),
      content: fc.integer({ min: options.bad === false ? 1 : 0, max: 9 }),
      others: fc.uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 })
    })
    .map(({ content, name, others, typeUrl }) => ({
      typeUrl,
      name,
      content: content === 0 ? "bad" : content % 4,
      ...(typeUrl === ResourceType.Cluster.typeUrl && content % 2 === 0 ? { assignment: name } : {}),
      ...(typeUrl === ResourceType.RouteConfiguration.typeUrl ? { clusters: others } : {}),
      ...(typeUrl === ResourceType.Listener.typeUrl ? { route: others[0] } : {})
    }))

/**
 * Scripts for simulations: watches start and end, and stores change.
 *
 * @since 0.1.0
 */
export const simulationScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly groups?: ReadonlyArray<string> | undefined
  /** Default: CDS, EDS, LDS and RDS. */
  readonly typeUrls?: ReadonlyArray<string> | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 20 to 60. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
  /** Whether some resources are rejected. Default: true. */
  readonly bad?: boolean | undefined
  /** Whether there are wildcard watches. Default: true. */
  readonly wildcard?: boolean | undefined
  /** Whether groups are cleared. Default: false. */
  readonly clear?: boolean | undefined
  /** Whether clients are moved from one group to another. Default: false. */
  readonly move?: boolean | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { maxLength = 60, minLength = 20, within = 60_000 } = options
  const typeUrls = options.typeUrls ?? [
    ResourceType.Cluster.typeUrl,
    ResourceType.ClusterLoadAssignment.typeUrl,
    ResourceType.Listener.typeUrl,
    ResourceType.RouteConfiguration.typeUrl
  ]
  const at = fc.nat(within)
  const typeUrl = fc.constantFrom(...typeUrls)
  const client = fc.constantFrom(...options.clients)
  const group = fc.constantFrom(...(options.groups ?? ["group"]))
  const name = fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(...names) },
    { weight: 1, arbitrary: fc.constant("unknown") },
    { weight: options.wildcard === false ? 0 : 2, arbitrary: fc.constant("*") }
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    { weight: 8, arbitrary: fc.record({ at, _tag: fc.constant("Watch" as const), client, typeUrl, name }) },
    { weight: 3, arbitrary: fc.record({ at, _tag: fc.constant("Unwatch" as const), client, typeUrl, name }) },
    {
      weight: 8,
      arbitrary: fc.record({
        at,
        _tag: fc.constant("Publish" as const),
        group,
        upsert: fc.array(connectedResource({ typeUrls, bad: options.bad }), { maxLength: 4 }),
        remove: fc.array(fc.record({ typeUrl, name: fc.constantFrom(...names) }), { maxLength: 2 })
      })
    },
    {
      weight: options.clear === true ? 1 : 0,
      arbitrary: fc.record({ at, _tag: fc.constant("Clear" as const), group })
    },
    {
      weight: options.move === true ? 4 : 0,
      arbitrary: fc.record({ at, _tag: fc.constant("Move" as const), client, group })
    }
  )
  return fc
    .array(step, { minLength, maxLength, size: "max" })
    .map((steps) => steps.toSorted((one, other) => one.at - other.at))
}

/**
 * Scripts of replacements, for simulations. Every client watches listeners, routes, clusters and assignments. Each change leads
 * a listener to another route, or a route to another cluster; resources without a reference are removed in the same step.
 *
 * @since 0.1.0
 */
export const replacementScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly group?: string | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 5 to 30. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { clients, group = "group", maxLength = 30, minLength = 5, within = 60_000 } = options
  const { Cluster, ClusterLoadAssignment, Listener, RouteConfiguration } = ResourceType
  const types = [Cluster, ClusterLoadAssignment, Listener, RouteConfiguration]
  const name = fc.constantFrom(...names)
  const move = fc.record({
    at: fc.integer({ min: 1_000, max: within }),
    listener: fc.constantFrom("a", "b"),
    route: name,
    cluster: name,
    /** Content of the cluster. */
    content: fc.nat(3)
  })
  const watches = fc.tuple(
    ...clients.flatMap((client) =>
      types.map(({ typeUrl }) =>
        fc
          .boolean()
          .map((isWildcard) =>
            (isWildcard ? ["*"] : names).map((name): Step => ({ at: 0, _tag: "Watch", client, typeUrl, name }))
          )
      )
    )
  )
  return fc.tuple(watches, fc.array(move, { minLength, maxLength, size: "max" })).map(([watched, moves]) => {
    const chains = new Map<string, { readonly route: string; readonly cluster: string; readonly content: number }>()
    let before: ReadonlyMap<string, ResourceSpec> = new Map()
    const publishes = moves
      .toSorted((one, other) => one.at - other.at)
      .map(({ at, listener, ...chain }): Step => {
        chains.set(listener, chain)
        const after = new Map<string, ResourceSpec>()
        const put = (spec: ResourceSpec) => after.set(`${spec.typeUrl} ${spec.name}`, spec)
        for (const [name, { cluster, content, route }] of chains) {
          const all = Array.from(chains.values()).filter((each) => each.route === route)
          const clusters = Array.from(new Set(all.map((each) => each.cluster)))
          put({ typeUrl: Listener.typeUrl, name, content: 1, route })
          put({ typeUrl: RouteConfiguration.typeUrl, name: route, content: 1, clusters })
          put({ typeUrl: Cluster.typeUrl, name: cluster, content, assignment: cluster })
          put({ typeUrl: ClusterLoadAssignment.typeUrl, name: cluster, content: 1 })
        }
        const isNew = (spec: ResourceSpec, key: string) => JSON.stringify(spec) !== JSON.stringify(before.get(key))
        const upsert = Array.from(after).flatMap(([key, spec]) => (isNew(spec, key) ? [spec] : []))
        const remove = Array.from(before).flatMap(([key, { name, typeUrl }]) =>
          after.has(key) ? [] : [{ name, typeUrl }]
        )
        before = after
        return { at, _tag: "Publish", group, upsert, remove }
      })
    return [...watched.flat(), ...publishes]
  })
}

/**
 * Scripts of virtual hosts that are renamed, get and lose domains, some with a TTL, for simulations of incremental clients.
 * Clients watch hosts by name and by domain, and route configurations. The last step removes all TTLs, so that everything comes
 * to rest.
 *
 * @since 0.1.0
 */
export const hostScript = (options: {
  readonly clients: ReadonlyArray<string>
  /** Default: `group`. */
  readonly group?: string | undefined
  /** Milliseconds of the script. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 15 to 50. */
  readonly minLength?: number | undefined
  readonly maxLength?: number | undefined
}): fc.Arbitrary<ReadonlyArray<Step>> => {
  const { clients, group = "group", maxLength = 50, minLength = 15, within = 60_000 } = options
  const { RouteConfiguration, VirtualHost } = ResourceType
  const at = fc.nat(within)
  const client = fc.constantFrom(...clients)
  const watched = fc.oneof(
    fc.constantFrom(...hosts.asked).map((name) => ({ typeUrl: VirtualHost.typeUrl, name })),
    fc.constantFrom(...routeConfigurations).map((name) => ({ typeUrl: RouteConfiguration.typeUrl, name }))
  )
  const typeUrl = fc.constantFrom(VirtualHost.typeUrl, VirtualHost.typeUrl, RouteConfiguration.typeUrl)
  const spec = typeUrl.chain((url) => resourceSpec(url, { ttl: true, naming: hosts }))
  const removed = typeUrl.chain((url) =>
    fc.record({ typeUrl: fc.constant(url), name: fc.constantFrom(...namesOf(url, hosts)) })
  )
  const step: fc.Arbitrary<Step> = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(at, client, watched).map(([at, client, of]): Step => ({ at, _tag: "Watch", client, ...of }))
    },
    {
      weight: 3,
      arbitrary: fc.tuple(at, client, watched).map(([at, client, of]): Step => ({ at, _tag: "Unwatch", client, ...of }))
    },
    {
      weight: 8,
      arbitrary: fc.record({
        at,
        _tag: fc.constant("Publish" as const),
        group: fc.constant(group),
        upsert: fc.uniqueArray(spec, { minLength: 1, maxLength: 3, selector: key }),
        remove: fc.array(removed, { maxLength: 1 })
      })
    }
  )
  return fc.array(step, { minLength, maxLength, size: "max" }).map((steps) => {
    const inOrder = steps.toSorted((one, other) => one.at - other.at)
    let specs: ReadonlyMap<string, ResourceSpec> = new Map()
    for (const each of inOrder)
      if (each._tag === "Publish") specs = withMovedAliases(specs, { ...each, versions: {} })[0]
    const upsert = Array.from(specs.values()).flatMap((each) =>
      each.ttl === undefined ? [] : [{ ...each, ttl: undefined }]
    )
    return [...inOrder, { at: within + 1, _tag: "Publish", group, upsert, remove: [] }]
  })
}

/**
 * Fault plans for simulations: any fault for any machine. Each fault ends.
 *
 * @since 0.1.0
 */
export const faults = (options: {
  readonly clients: ReadonlyArray<string>
  readonly servers: ReadonlyArray<string>
  /** Milliseconds within which faults start. Default: 60 000. */
  readonly within?: number | undefined
  /** Default: 8. */
  readonly maxLength?: number | undefined
  /** Whether clients die. Default: false. */
  readonly clientCrashes?: boolean | undefined
}): fc.Arbitrary<ReadonlyArray<PlannedFault>> => {
  const { maxLength = 8, within = 60_000 } = options
  const at = fc.nat(within)
  const client = fc.constantFrom(...options.clients)
  const server = fc.constantFrom(...options.servers)
  const duration = fc.constantFrom(100, 1_000, 5_000, 20_000, 60_000)
  const fault: fc.Arbitrary<PlannedFault> = fc.oneof(
    fc.record({
      at,
      _tag: fc.constant("Slow" as const),
      client,
      latency: fc.constantFrom(50, 500, 5_000),
      jitter: fc.constantFrom(0, 100, 5_000),
      for: duration
    }),
    fc.record({
      at,
      _tag: fc.constant("Reset" as const),
      client,
      server,
      delivery: fc.constantFrom("before" as const, "after" as const)
    }),
    fc.record({
      at,
      _tag: fc.constant("HalfOpen" as const),
      client,
      server,
      believes: fc.constantFrom("client" as const, "server" as const)
    }),
    fc.record({ at, _tag: fc.constant("SlowReader" as const), client, for: duration }),
    fc.record({
      at,
      _tag: fc.constant("Partition" as const),
      clients: fc.uniqueArray(client, { minLength: 1 }),
      server,
      for: duration
    }),
    fc.record({
      at,
      _tag: fc.constant("Crash" as const),
      server,
      state: fc.constantFrom("kept" as const, "lost" as const),
      for: duration
    }),
    fc.record({
      at,
      _tag: fc.constant("ClockJump" as const),
      host: fc.oneof(client, server),
      by: fc.constantFrom(-3_600_000, -1_000, 1_000, 60_000, 3_600_000)
    }),
    ...(options.clientCrashes === true
      ? [fc.record({ at, _tag: fc.constant("ClientCrash" as const), client, for: duration })]
      : [])
  )
  return fc.array(fault, { maxLength, size: "max" }).map((faults) => faults.toSorted((one, other) => one.at - other.at))
}
