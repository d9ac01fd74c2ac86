/**
 * Message objects that no decoder makes: with themselves inside, shared a thousand times, or with values of other types. For
 * tests of whatever takes messages from a program.
 *
 * @since 0.1.0
 */
import { create, type JsonObject, type Message } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import { type Any, AnySchema } from "@bufbuild/protobuf/wkt"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  LbEndpointSchema,
  LocalityLbEndpointsSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint_components"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import {
  type Matcher_MatcherList_Predicate,
  Matcher_MatcherList_PredicateSchema
} from "@effect-xds/proto/xds/type/matcher/v3/matcher"
import type { Scale } from "./BadResource.js"

/**
 * A message object, of a type that has a name in it.
 *
 * @since 0.1.0
 */
export interface BadMessage {
  /** What is the matter with it. */
  readonly what: string
  readonly name: string
  readonly message: Message
  /** Whether it is unusual and all the same valid. */
  readonly isValid: boolean
  /** Where the fault is: a part of its path, or what stands for it. Empty if it is valid. */
  readonly path: string
}

/** Sets a property to a value that its type does not have: what a program without types may do. */
const withProperty = <M extends Message>(message: M, path: ReadonlyArray<string>, value: unknown): M => {
  let at: object = message
  for (const key of path.slice(0, -1)) {
    const next: unknown = Reflect.get(at, key)
    if (typeof next !== "object" || next === null) throw new Error(`there is no ${key}`)
    at = next
  }
  Reflect.set(at, path[path.length - 1] ?? "", value)
  return message
}

const cluster = (): Cluster => create(ClusterSchema, { name: "c" })

const withStruct = (struct: unknown): Cluster =>
  withProperty(
    create(ClusterSchema, { name: "c", metadata: { filterMetadata: {} } }),
    ["metadata", "filterMetadata", "x"],
    struct
  )

const withAny = (any: Any): Cluster => create(ClusterSchema, { name: "c", typedExtensionProtocolOptions: { x: any } })

/** A predicate may hold others, and is in a route configuration, five messages deep. */
const withPredicate = (predicate: Matcher_MatcherList_Predicate): Message =>
  create(RouteConfigurationSchema, {
    name: "c",
    virtualHosts: [
      {
        name: "v",
        domains: ["*"],
        matcher: { matcherType: { case: "matcherList", value: { matchers: [{ predicate }] } } }
      }
    ]
  })

/** Each in the one before, `times` over. */
const predicates = (levels: number, times: number): Matcher_MatcherList_Predicate => {
  let predicate = create(Matcher_MatcherList_PredicateSchema)
  for (let level = 0; level < levels; level++) {
    const list = Array.from({ length: times }, () => predicate)
    predicate = create(Matcher_MatcherList_PredicateSchema)
    withProperty(predicate, ["matchType"], {
      case: "orMatcher",
      value: { $typeName: "xds.type.matcher.v3.Matcher.MatcherList.Predicate.PredicateList", predicate: list }
    })
  }
  return predicate
}

const inItself = (): Message => {
  const predicate = create(Matcher_MatcherList_PredicateSchema)
  withProperty(predicate, ["matchType"], { case: "notMatcher", value: predicate })
  return withPredicate(predicate)
}

const structInItself = (): JsonObject => {
  const struct: JsonObject = {}
  struct["a"] = struct
  return struct
}

const listInItself = (): Message => {
  const list: Array<unknown> = []
  list.push(list)
  return withStruct({ k: list })
}

const structs = (levels: number, times: number): JsonObject => {
  let struct: JsonObject = {}
  for (let level = 0; level < levels; level++) {
    const outer: JsonObject = {}
    for (let index = 0; index < times; index++) outer[`k${index}`] = struct
    struct = outer
  }
  return struct
}

const sharedEndpoints = (count: number): Message => {
  const endpoint = create(LbEndpointSchema, {
    hostIdentifier: {
      case: "endpoint",
      value: {
        address: {
          address: {
            case: "socketAddress",
            value: { address: "127.0.0.1", portSpecifier: { case: "portValue", value: 1 } }
          }
        }
      }
    }
  })
  const locality = create(LocalityLbEndpointsSchema, { lbEndpoints: Array.from({ length: count }, () => endpoint) })
  return create(ClusterSchema, {
    name: "c",
    loadAssignment: { clusterName: "c", endpoints: Array.from({ length: count }, () => locality) }
  })
}

const throwing = (): Message =>
  Object.defineProperty(cluster(), "metadata", {
    enumerable: true,
    get: () => {
      throw new Error("a getter that throws")
    }
  })

/**
 * Message objects, each with one thing that is the matter with it.
 *
 * @since 0.1.0
 */
export const all = ({ levels = 10_000, size = 1_048_576 }: Scale = {}): ReadonlyArray<BadMessage> => {
  const bad = (what: string, path: string, message: Message): BadMessage => ({
    what,
    name: "c",
    message,
    isValid: false,
    path
  })
  const good = (what: string, message: Message): BadMessage => ({ what, name: "c", message, isValid: true, path: "" })
  const long = "n".repeat(size)
  return [
    bad("a message in itself", "predicate.not_matcher.not_matcher", inItself()),
    bad("a Struct in itself", 'metadata.filter_metadata["x"]["a"]["a"]', withStruct(structInItself())),
    bad("a list in itself", 'metadata.filter_metadata["x"]["k"][0][0]', listInItself()),
    bad(
      "shared messages, 2 to the power of 40",
      "predicate.or_matcher.predicate[0].or_matcher",
      withPredicate(predicates(40, 2))
    ),
    good("shared messages, 2 to the power of 5", withPredicate(predicates(5, 2))),
    bad("a shared Struct, 2 to the power of 30", 'metadata.filter_metadata["x"]["k0"]', withStruct(structs(30, 2))),
    bad("shared endpoints, 10 000 times 10 000", "load_assignment.endpoints[", sharedEndpoints(10_000)),
    good("shared endpoints, 10 times 10", sharedEndpoints(10)),
    bad("messages in messages", "predicate.or_matcher.predicate[0].or_matcher", withPredicate(predicates(levels, 1))),
    bad("a Struct in a Struct", 'metadata.filter_metadata["x"]["k0"]', withStruct(structs(levels, 1))),
    bad(
      "an Any that holds no bytes",
      "google.protobuf.Any.value",
      withAny(withProperty(create(AnySchema), ["value"], "text"))
    ),
    bad("half a surrogate pair", "alt_stat_name", create(ClusterSchema, { name: "c", altStatName: "\ud800" })),
    bad("half a surrogate pair in a Struct", 'metadata.filter_metadata["x"]["k"]', withStruct({ k: "\udc00" })),
    bad("a text as a list", "envoy.config.core.v3.HealthCheck", withProperty(cluster(), ["healthChecks"], "text")),
    bad("null as a message", "metadata", withProperty(cluster(), ["metadata"], null)),
    bad("a property that throws", "metadata", throwing()),
    bad("a list with a hole", "health_checks[0]", withProperty(cluster(), ["healthChecks"], [undefined])),
    bad("a number that is too large", "lb_policy", withProperty(cluster(), ["lbPolicy"], 2 ** 40)),
    bad(
      "an infinite duration",
      "google.protobuf.Duration.seconds",
      withProperty(create(ClusterSchema, { name: "c", connectTimeout: {} }), ["connectTimeout", "seconds"], Infinity)
    ),
    good("a Struct with a number that is none", withStruct({ k: NaN })),
    bad("a Struct with a function", 'metadata.filter_metadata["x"]["k"]', withStruct({ k: () => 1 })),
    good(
      "unknown fields",
      withProperty(cluster(), ["$unknown"], [{ no: 9_999, wireType: WireType.Varint, data: Uint8Array.of(7) }])
    ),
    bad(
      "unknown fields that are none",
      "field 536870911",
      withProperty(cluster(), ["$unknown"], [{ no: -1, wireType: 9, data: "x" }])
    ),
    { what: "a large name", name: long, message: create(ClusterSchema, { name: long }), isValid: true, path: "" }
  ]
}
