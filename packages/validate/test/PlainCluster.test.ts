/** What is seen from the bytes of a cluster, beside what is read of its message. */
import { create, createRegistry, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { isWrapperDesc } from "@bufbuild/protobuf/wkt"
import { CircuitBreakers_ThresholdsSchema } from "@effect-xds/proto/envoy/config/cluster/v3/circuit_breaker"
import {
  type Cluster,
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { OutlierDetectionSchema } from "@effect-xds/proto/envoy/config/cluster/v3/outlier_detection"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import { describe, expect, it } from "vitest"
import { FactsCache, FactsReader } from "../src/internal/group/FactsReader.js"
import { read } from "../src/internal/group/PlainCluster.js"
import * as RandomMessage from "./RandomMessage.js"

const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
const registry = createRegistry(ClusterSchema)

/** With a registry of its own each message is read. `undefined`: its types are not loaded. */
const wholeFacts = (value: Uint8Array) => {
  const facts = new FactsReader(new FactsCache()).read({ typeUrl, name: "a", value }, registry)
  if ("has" in facts) return undefined
  const { claims, faults, isForGrpc, references } = facts
  return { claims, faults, isForGrpc, references }
}

/** What is seen from the bytes; `undefined`: it is not plain. */
const plainFacts = (value: Uint8Array, name = "a") => {
  const facts = read(name, value)
  if (facts === undefined) return undefined
  const { claims, faults, isForGrpc, references } = facts
  return { claims, faults, isForGrpc, references }
}

type Init = MessageInitShape<typeof ClusterSchema>
type Random = RandomMessage.Random

const maybe = <A extends object>(random: Random, one: number, value: () => A): A | Record<string, never> =>
  random.below(one) === 0 ? value() : {}

const duration = (random: Random) => ({
  seconds: random.pick([0n, 5n, 300n, 2n ** 31n - 1n, 2n ** 31n, -1n]),
  nanos: random.pick([0, 0, 5, 250_000_000, 999_999_999, 1_000_000_000, -1])
})

const usualDuration = (random: Random) => (random.below(12) === 0 ? duration(random) : { seconds: 5n, nanos: 0 })

const source = (random: Random): NonNullable<Cluster["edsClusterConfig"]>["edsConfig"] | object => ({
  configSourceSpecifier: random.pick([
    ...Array.from({ length: 6 }, () => ({ case: "ads", value: {} })),
    { case: "self", value: { transportApiVersion: 2 } },
    { case: "path", value: "eds.yaml" },
    { case: undefined }
  ]),
  ...maybe(random, 3, () => ({ resourceApiVersion: 2 })),
  ...maybe(random, 4, () => ({ initialFetchTimeout: usualDuration(random) })),
  ...maybe(random, 20, () => ({ authorities: [{ name: "a" }] }))
})

const { EDS, LOGICAL_DNS, ORIGINAL_DST, STATIC } = Cluster_DiscoveryType
const discoveryTypes = [EDS, EDS, EDS, EDS, EDS, EDS, STATIC, LOGICAL_DNS, ORIGINAL_DST]
const policies = Object.values(Cluster_LbPolicy).filter((policy) => typeof policy !== "string")

const cluster = (random: Random): Init =>
  // What is random in it has no type.
  Object.assign(create(ClusterSchema), {
    ...create(ClusterSchema, {
      name: random.pick(["a", "a", "b", "ä", "x".repeat(300)]),
      altStatName: random.pick(["", "s", "ä"]),
      clusterDiscoveryType: { case: "type", value: random.pick(discoveryTypes) },
      lbPolicy: random.pick(policies),
      connectTimeout: usualDuration(random),
      ...maybe(random, 20, () => ({ cleanupInterval: duration(random) })),
      ...maybe(random, 4, () => ({ perConnectionBufferLimitBytes: 32_768, waitForWarmOnInit: true })),
      ...maybe(random, 4, () => ({ closeConnectionsOnHostHealthFailure: true, dnsLookupFamily: 1 })),
      ...maybe(random, 2, () => ({
        circuitBreakers: {
          thresholds: [
            {
              priority: random.below(2),
              maxRequests: 4_294_967_295,
              trackRemaining: true,
              ...maybe(random, 6, () => ({ retryBudget: { budgetInterval: duration(random) } }))
            }
          ],
          perHostThresholds: [{ maxConnections: 1 }]
        }
      })),
      ...maybe(random, 2, () => ({
        outlierDetection: {
          consecutive5xx: 5,
          splitExternalLocalOriginErrors: true,
          alwaysEjectOneHost: true,
          interval: usualDuration(random),
          baseEjectionTime: usualDuration(random),
          ...maybe(random, 6, () => ({ maxEjectionTime: duration(random) })),
          ...maybe(random, 10, () => ({ monitors: [{ name: "m" }] }))
        }
      })),
      ...maybe(random, 3, () => ({
        metadata: {
          filterMetadata: { a: { b: "c" } },
          ...maybe(random, 6, () => ({
            typedFilterMetadata: { a: { typeUrl: "type.googleapis.com/a.B", value: new Uint8Array() } }
          }))
        }
      })),
      ...maybe(random, 20, () => ({ http2ProtocolOptions: {} })),
      ...maybe(random, 20, () => ({ loadBalancingPolicy: { policies: [] } })),
      ...maybe(random, 20, () => ({
        healthChecks: [{ healthChecker: { case: "grpcHealthCheck" as const, value: {} } }]
      }))
    }),
    ...maybe(random, 1, () => ({
      edsClusterConfig: create(ClusterSchema, {
        edsClusterConfig: {
          serviceName: random.pick(["", "a", "service", "ä"]),
          ...maybe(random, 1, () => ({ edsConfig: source(random) }))
        }
      }).edsClusterConfig
    }))
  })

const encode = (message: Init): Uint8Array => toBinary(ClusterSchema, create(ClusterSchema, message))

const isMessage = (bytes: Uint8Array): boolean => MessageBytes.fault(ClusterSchema, bytes) === undefined

describe("PlainCluster", () => {
  it("of a cluster that is plain the bytes say what its message says, and many that name endpoints are plain", () => {
    const random = RandomMessage.random(1)
    const count = { plain: 0, naming: 0, telling: 0, spoiled: 0 }
    for (let run = 0; run < 6_000; run++) {
      const bytes = encode(cluster(random))
      const whole = wholeFacts(bytes)
      const plain = plainFacts(bytes)
      if (plain !== undefined) expect(plain, Buffer.from(bytes).toString("hex")).toEqual(whole)
      if (plain !== undefined) count.plain++
      if (whole !== undefined && whole.faults.length > 0) count.telling++
      else if (whole?.references.length === 1) count.naming++
      for (let times = plain === undefined ? 1 : 6; times > 0; times--) {
        const other = RandomMessage.spoiled(random, bytes)
        const seen = plainFacts(other)
        // What is malformed is for the rules of the fields.
        if (seen === undefined || !isMessage(other)) continue
        expect(seen, Buffer.from(other).toString("hex")).toEqual(wholeFacts(other))
        count.spoiled++
      }
    }
    expect(count.telling).toBeGreaterThan(1_000)
    expect(count.spoiled).toBeGreaterThan(300)
    expect(count.plain / count.naming).toBeGreaterThan(0.3)
  })

  it("of random messages of the type", () => {
    const random = RandomMessage.random(2)
    for (let run = 0; run < 300; run++) {
      const type: DescMessage = ClusterSchema
      const bytes = toBinary(type, RandomMessage.message(random, type))
      const plain = plainFacts(bytes)
      if (plain !== undefined) expect(plain, Buffer.from(bytes).toString("hex")).toEqual(wholeFacts(bytes))
    }
  })

  const here = { edsConfig: { configSourceSpecifier: { case: "ads", value: {} } } } as const
  const plain = {
    name: "a",
    clusterDiscoveryType: { case: "type", value: EDS },
    edsClusterConfig: here
  } as const

  /** Every field by itself in a message of a plain cluster: none is taken as plain that a rule may be about. */
  const eachField = (type: DescMessage, within: (message: Uint8Array) => Uint8Array) => {
    const taken: Array<string> = []
    for (const field of type.fields) {
      for (const bytes of [
        // As a number, and as an empty message, list or text.
        [...varint(field.number * 8), 0],
        [...varint(field.number * 8 + 2), 0]
      ]) {
        const value = within(new Uint8Array(bytes))
        if (isMessage(value) && plainFacts(value) !== undefined) taken.push(field.name)
      }
    }
    return Array.from(new Set(taken)).sort()
  }

  const varint = (value: number): ReadonlyArray<number> =>
    value < 128 ? [value] : [(value & 127) | 128, ...varint(value >>> 7)]

  /** Scalars, enums and wrappers lead to nothing. */
  const silentOf = (type: DescMessage): ReadonlyArray<string> =>
    type.fields.flatMap(({ fieldKind, message, name }) =>
      fieldKind === "scalar" || fieldKind === "enum" || (message !== undefined && isWrapperDesc(message)) ? [name] : []
    )

  it("only fields that hold no message are passed over, and those that are looked into", () => {
    const base = encode(plain)
    const inCluster = eachField(ClusterSchema, (field) => Buffer.concat([base, field]))
    const looked = ["cleanup_interval", "connect_timeout", "per_connection_buffer_high_watermark_timeout"]
    const silent = new Set([...silentOf(ClusterSchema), "circuit_breakers", "metadata", "outlier_detection", ...looked])
    expect(inCluster.filter((name) => !silent.has(name))).toEqual([])
    expect(inCluster).toContain("alt_stat_name")
    const wrapped = (field: number, value: Uint8Array) =>
      Buffer.concat([new Uint8Array([...varint(field * 8 + 2), ...varint(value.length)]), value])
    const inThresholds = eachField(CircuitBreakers_ThresholdsSchema, (field) =>
      Buffer.concat([base, wrapped(10, wrapped(1, field))])
    )
    expect(inThresholds).toEqual(silentOf(CircuitBreakers_ThresholdsSchema).toSorted())
    const inOutliers = eachField(OutlierDetectionSchema, (field) => Buffer.concat([base, wrapped(19, field)]))
    const durations = ["base_ejection_time", "interval", "max_ejection_time_jitter"]
    expect(inOutliers.filter((name) => !durations.includes(name))).toEqual(silentOf(OutlierDetectionSchema).toSorted())
  })

  it("names its endpoints by the name in the bytes, not by the one that it probably has", () => {
    const names = (bytes: Uint8Array) => plainFacts(bytes, "probable")?.references.map(({ name, path }) => [name, path])
    expect(names(encode(plain))).toEqual([["a", "name"]])
    const other = { ...plain, edsClusterConfig: { ...here, serviceName: "s" } }
    expect(names(encode(other))).toEqual([["s", "eds_cluster_config.service_name"]])
    expect(names(encode({ ...plain, name: "probable" }))).toEqual([["probable", "name"]])
  })

  it("one whose configuration of endpoints comes again is not plain: it is merged", () => {
    const named = encode({ ...plain, edsClusterConfig: { ...here, serviceName: "s" } })
    const bytes = Buffer.concat([named, encode({ name: "a", edsClusterConfig: here })])
    expect(wholeFacts(bytes)?.references).toMatchObject([{ name: "s" }])
    expect(plainFacts(bytes)).toBeUndefined()
  })

  it("a cluster without endpoints of its server is not plain", () => {
    expect(plainFacts(encode({ ...plain, edsClusterConfig: { serviceName: "s" } }))).toBeUndefined()
    expect(plainFacts(encode({ name: "a", edsClusterConfig: here }))).toBeUndefined()
    const { clusterDiscoveryType, name } = plain
    expect(plainFacts(encode({ name, clusterDiscoveryType }))).toBeUndefined()
  })
})
