import { create, createRegistry, type DescMessage, fromBinary, toBinary } from "@bufbuild/protobuf"
import { type Any, anyPack, AnySchema, DurationSchema } from "@bufbuild/protobuf/wkt"
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import {
  type Cluster,
  Cluster_CommonLbConfigSchema,
  Cluster_DiscoveryType,
  ClusterSchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { HeaderValueSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { TypedExtensionConfigSchema } from "@effect-xds/proto/envoy/config/core/v3/extension"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Fault, type InvalidMessage, Rules } from "@effect-xds/validate"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, TestClock } from "effect"
import { own, ownType } from "./ownType.js"

const clusterOf = (endpoints: number, port = 8080): Cluster =>
  create(ClusterSchema, {
    name: "web",
    connectTimeout: { seconds: 5n },
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.STATIC },
    loadAssignment: {
      clusterName: "web",
      endpoints: [
        {
          locality: { region: "a", zone: "b" },
          loadBalancingWeight: 1,
          lbEndpoints: Array.from({ length: endpoints }, (_, index) => ({
            hostIdentifier: {
              case: "endpoint" as const,
              value: {
                address: {
                  address: {
                    case: "socketAddress" as const,
                    value: {
                      address: `10.0.0.${index % 256}`,
                      portSpecifier: { case: "portValue" as const, value: port }
                    }
                  }
                }
              }
            },
            loadBalancingWeight: 1
          }))
        }
      ]
    }
  })

const listenerWith = (typedConfig: Any) =>
  create(ListenerSchema, {
    name: "l",
    address: {
      address: { case: "socketAddress", value: { address: "::", portSpecifier: { case: "portValue", value: 80 } } }
    },
    filterChains: [{ filters: [{ name: "hcm", configType: { case: "typedConfig", value: typedConfig } }] }]
  })

const bad = anyPack(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema))
const name = HttpConnectionManagerSchema.typeName

const faultsOf = <A>(effect: Effect.Effect<A, InvalidMessage.InvalidMessage>) =>
  Effect.map(Effect.either(effect), (result) => (Either.isLeft(result) ? result.left.faults : []))

const pathsOf = <A>(effect: Effect.Effect<A, InvalidMessage.InvalidMessage>) =>
  Effect.map(faultsOf(effect), (faults) => faults.map(({ path }) => path))

describe("a message", () => {
  it("that keeps its rules has no faults", () => {
    expect(Rules.check(ClusterSchema, clusterOf(12)).faults).toEqual([])
  })

  it("has paths through lists, maps and oneofs, in the order of the fields", () => {
    const cluster = clusterOf(2, 70_000)
    cluster.name = ""
    cluster.commonLbConfig = create(Cluster_CommonLbConfigSchema, {
      healthyPanicThreshold: { value: 101 }
    })
    expect(Rules.check(ClusterSchema, cluster).faults.map(Fault.toText)).toEqual([
      'name must have at least 1 character, is ""',
      "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value must be at most 65535, is 70000",
      "load_assignment.endpoints[0].lb_endpoints[1].endpoint.address.socket_address.port_value must be at most 65535, is 70000",
      "common_lb_config.healthy_panic_threshold.value must be at least 0 and at most 100, is 101"
    ])
  })

  it("is looked at only as far as faults are asked for", () => {
    const result = Rules.check(ClusterSchema, clusterOf(1000, 70_000), { maxFaults: 3 })
    expect(result.faults).toHaveLength(3)
    expect(result.more).toBe(true)
    expect(result.messages).toBeLessThan(40)
    expect(Rules.check(ClusterSchema, clusterOf(3, 70_000), { maxFaults: 3 }).more).toBe(false)
  })

  it("takes steps in proportion to its size", () => {
    const few = Rules.check(ClusterSchema, clusterOf(100)).messages
    const many = Rules.check(ClusterSchema, clusterOf(10_000)).messages
    expect(many / few).toBeGreaterThan(90)
    expect(many / few).toBeLessThan(101)
  })

  it("of a cluster with 12 endpoints takes microseconds", () => {
    const cluster = clusterOf(12)
    const round = (): number => {
      const begin = performance.now()
      for (let index = 0; index < 500; index++) Rules.check(ClusterSchema, cluster)
      return ((performance.now() - begin) / 500) * 1000
    }
    round()
    const best = Math.min(...Array.from({ length: 10 }, round))
    console.log(`a cluster of 12 endpoints: ${best.toFixed(1)} µs`)
    // 60 on a machine with nothing else to do.
    expect(best).toBeLessThan(600)
  })
})

describe("what an Any holds", () => {
  it.effect("is checked, with its type in the path", () =>
    Effect.gen(function* () {
      const inside = `filter_chains[0].filters[0].typed_config[${name}]`
      expect(yield* pathsOf(Rules.message(ListenerSchema, listenerWith(bad)))).toEqual([
        `${inside}.stat_prefix`,
        `${inside}.route_specifier`
      ])
    })
  )

  it.effect("is not checked where nobody wants it, or its type is not known", () =>
    Effect.gen(function* () {
      expect(yield* faultsOf(Rules.message(ListenerSchema, listenerWith(bad), { insideAny: false }))).toEqual([])
      expect(Rules.check(ListenerSchema, listenerWith(bad)).faults).toEqual([])
      // The second is known, and is an enum.
      for (const typeName of ["no.Such", "envoy.config.core.v3.RequestMethod"]) {
        const unknown = create(AnySchema, { typeUrl: `type.googleapis.com/${typeName}`, value: bad.value })
        expect(yield* faultsOf(Rules.message(ListenerSchema, listenerWith(unknown)))).toEqual([])
      }
    })
  )

  it("is checked at once where its type is given", () => {
    const registry = createRegistry(HttpConnectionManagerSchema)
    expect(Rules.check(ListenerSchema, listenerWith(bad), { registry }).faults).toHaveLength(2)
  })

  it.effect("is a fault where it is none of its type", () =>
    Effect.gen(function* () {
      const broken = create(AnySchema, { typeUrl: bad.typeUrl, value: Uint8Array.of(0xff) })
      const [fault] = yield* faultsOf(Rules.message(ListenerSchema, listenerWith(broken)))
      expect(fault?.path).toBe(`filter_chains[0].filters[0].typed_config[${name}]`)
      expect(fault?.rule).toBe("decode")
      expect(fault?.problem).toContain(`must be a ${name}: `)
    })
  )

  it.effect("may be what it is in, again and again: an error with its path, soon", () =>
    Effect.gen(function* () {
      let inner = create(TypedExtensionConfigSchema, { name: "x" })
      for (let depth = 0; depth < 2000; depth++) {
        inner = create(TypedExtensionConfigSchema, {
          name: "x",
          typedConfig: anyPack(TypedExtensionConfigSchema, inner)
        })
      }
      const begin = performance.now()
      const [fault, ...others] = yield* faultsOf(Rules.message(TypedExtensionConfigSchema, inner))
      expect(performance.now() - begin).toBeLessThan(5000)
      expect(others).toEqual([])
      expect(fault?.rule).toBe("depth")
      expect(fault?.problem).toBe("must not be nested more than 100 messages deep")
      expect(fault?.path.split("typed_config")).toHaveLength(101)
    })
  )
})

/** A message of ever the same field. */
const nested = (field: number, depth: number): Uint8Array => {
  let bytes = new Uint8Array()
  for (let level = 0; level < depth; level++) {
    bytes = new BinaryWriter().tag(field, WireType.LengthDelimited).bytes(bytes).finish()
  }
  return bytes
}

describe("a resource", () => {
  const cds = ResourceType.Cluster.typeUrl
  const encoded = (cluster: Cluster) => toBinary(ClusterSchema, cluster)

  it.effect("that breaks a rule is an error in words", () =>
    Effect.gen(function* () {
      const cluster = clusterOf(1)
      cluster.connectTimeout = create(DurationSchema, { seconds: -5n })
      const error = yield* Effect.flip(Rules.resource({ typeUrl: cds, name: "web", value: encoded(cluster) }))
      expect(error._tag).toBe("InvalidMessage")
      expect(error.message).toBe('clusters "web": connect_timeout must be greater than 0s, is -5s')
      expect(error.faults).toEqual([
        { path: "connect_timeout", rule: "duration.gt", problem: "must be greater than 0s", value: "-5s" }
      ])
    })
  )

  it.effect("says few faults in one line, and how many more there are", () =>
    Effect.gen(function* () {
      const value = encoded(clusterOf(8, 70_000))
      const error = yield* Effect.flip(Rules.resource({ typeUrl: cds, name: "web", value }))
      expect(error.message.split("; ")).toHaveLength(6)
      expect(error.message).toMatch(/; and 3 more faults$/)
      const cut = yield* Effect.flip(Rules.resource({ typeUrl: cds, name: "web", value }, { maxFaults: 6 }))
      expect(cut.message).toMatch(/; and at least 2 more faults$/)
    })
  )

  it.effect("that keeps its rules is checked, one of a type that is not known is not", () =>
    Effect.gen(function* () {
      expect(yield* Rules.resource({ typeUrl: cds, name: "web", value: encoded(clusterOf(1)) })).toBe(true)
      expect(
        yield* Rules.resource({ typeUrl: "type.googleapis.com/no.Such", name: "a", value: Uint8Array.of(1) })
      ).toBe(false)
    })
  )

  it.effect("of a type of one's own is checked with its registry", () =>
    Effect.gen(function* () {
      const type = ownType({ kind: "INT32", rules: { type: { case: "int32", value: { gt: 0 } } } })
      const resource = { typeUrl: "x/test.Own", name: "a", value: toBinary(type, own(type, -1)) }
      const error = yield* Effect.flip(Rules.resource(resource, { registry: createRegistry(type) }))
      expect(error.message).toBe('test.Own "a": f must be greater than 0, is -1')
    })
  )

  it.effect("of bytes that are none is an error", () =>
    Effect.gen(function* () {
      for (const value of [
        Uint8Array.of(0xff),
        Uint8Array.of(0x0a, 0x05, 0x61),
        Uint8Array.of(0x0a, 0x02, 0xff, 0xfe)
      ]) {
        const [fault] = yield* faultsOf(Rules.resource({ typeUrl: cds, name: "web", value }))
        expect(fault?.rule).toBe("decode")
      }
    })
  )

  it.effect("of deep nesting is an error", () =>
    Effect.gen(function* () {
      // Matcher.MatcherList.Predicate.not_matcher
      const typeUrl = "type.googleapis.com/xds.type.matcher.v3.Matcher.MatcherList.Predicate"
      for (const depth of [90, 5000]) {
        const faults = yield* faultsOf(Rules.resource({ typeUrl, name: "deep", value: nested(4, depth) }))
        expect(faults.map(({ rule }) => rule)).toEqual([depth < 100 ? "oneof.required" : "decode"])
      }
    })
  )

  it.effect("is checked by the clock where its rules are relative to now", () =>
    Effect.gen(function* () {
      const rules = { type: { case: "timestamp", value: { ltNow: true } } } as const
      const type = ownType({ kind: "google.protobuf.Timestamp", rules })
      const field = type.field["f"]?.message
      if (field === undefined) throw new Error("no f")
      const message = own(type, Object.assign(create(field), { seconds: 100n }))
      yield* TestClock.setTime(99_000)
      expect(yield* pathsOf(Rules.message(type, message))).toEqual(["f"])
      yield* TestClock.setTime(101_000)
      expect(yield* pathsOf(Rules.message(type, message))).toEqual([])
    })
  )

  it("does not say the value of a header: it may be a password", () => {
    const header = create(HeaderValueSchema, { key: "authorization", value: "hunter22hunter22\n" })
    expect(Rules.check(HeaderValueSchema, header).faults.map(Fault.toText)).toEqual([
      "value must be the value of an HTTP header, without NUL, CR and LF, is [redacted]"
    ])
  })
})

it.effect("every type of the API can be checked", () =>
  Effect.gen(function* () {
    const { types } = yield* Effect.promise(() => import("../../proto/gen/index.js"))
    let checked = 0
    for (const typeName of types.keys()) {
      const type = yield* Effect.promise(() => TypeRegistry.load(typeName))
      if (type === undefined) continue
      const { faults } = Rules.check(type, fromBinary(type, new Uint8Array()))
      expect(faults.filter(({ problem, rule }) => rule === "type" || problem.includes("cannot be read"))).toEqual([])
      checked++
    }
    expect(checked).toBeGreaterThan(1400)
  })
)

describe("what is checked at once", () => {
  const manager = anyPack(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema))

  it.effect("says which types have to be loaded, and checks what an Any holds once they are", () =>
    Effect.gen(function* () {
      const config = create(TypedExtensionConfigSchema, { name: "e", typedConfig: manager })
      const bytes = toBinary(TypedExtensionConfigSchema, config)
      const missing = Rules.attempt(TypedExtensionConfigSchema, config, { now: 0 })
      // Another test may have loaded it.
      if (!("faults" in missing)) yield* Rules.loadTypes(missing)
      for (const content of [config, bytes]) {
        const result = Rules.attempt(TypedExtensionConfigSchema, content, { now: 0 })
        expect("faults" in result && result.faults.map(({ path, rule }) => `${path} ${rule}`)).toContain(
          `typed_config[${HttpConnectionManagerSchema.typeName}].stat_prefix string.min_len`
        )
      }
    })
  )

  it.effect("breaks no rule for sure, or is not known to: also where a type is not loaded", () =>
    Effect.gen(function* () {
      // No other test loads it.
      const typeUrl = "type.googleapis.com/envoy.extensions.quic.crypto_stream.v3.CryptoServerStreamConfig"
      const rarely = { typeUrl, value: new Uint8Array() }
      const encoded = (name: string) =>
        toBinary(TypedExtensionConfigSchema, create(TypedExtensionConfigSchema, { name, typedConfig: rarely }))
      const isSure = (type: DescMessage, value: Uint8Array) => Rules.breaksNone(type, value, { now: 0 })
      expect(isSure(TypedExtensionConfigSchema, encoded("e"))).toBe(false)
      const missing = Rules.attempt(TypedExtensionConfigSchema, encoded("e"), { now: 0 })
      expect(missing).toEqual(new Set([typeUrl.slice(typeUrl.indexOf("/") + 1)]))
      yield* Rules.loadTypes("faults" in missing ? [] : missing)
      expect(isSure(TypedExtensionConfigSchema, encoded("e"))).toBe(true)
      expect(isSure(TypedExtensionConfigSchema, encoded(""))).toBe(false)

      const cluster = (seconds: bigint) =>
        toBinary(ClusterSchema, create(ClusterSchema, { name: "a", connectTimeout: { seconds } }))
      expect(isSure(ClusterSchema, cluster(5n))).toBe(true)
      expect(isSure(ClusterSchema, cluster(-5n))).toBe(false)
      expect(isSure(ClusterSchema, new Uint8Array([0xff]))).toBe(false)
    })
  )

  it("is not asked about rules that are off", () => {
    const cluster = create(ClusterSchema, { connectTimeout: { seconds: -5n } })
    const rulesOf = (off: ReadonlySet<string>) =>
      Rules.check(ClusterSchema, cluster, { off }).faults.map(({ rule }) => rule)
    expect(rulesOf(new Set())).toEqual(["string.min_len", "duration.gt"])
    expect(rulesOf(new Set(["duration.gt"]))).toEqual(["string.min_len"])
  })

  it("has paths that are not longer for a long key of a map", () => {
    const cluster = create(ClusterSchema, {
      name: "a",
      typedExtensionProtocolOptions: { ["k".repeat(10_000)]: manager }
    })
    const options = { registry: createRegistry(HttpConnectionManagerSchema) }
    const [fault] = Rules.check(ClusterSchema, cluster, options).faults
    expect(fault?.path).toMatch(/^typed_extension_protocol_options\["k{64}"… \(10000 UTF-16 code units\)\]\[/)
  })
})
