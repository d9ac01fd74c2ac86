/**
 * Rules on bytes without the message: what is said to break no rule breaks none, for random messages of every type of the API and
 * for bytes that were bent. `XDS_RUNS` sets how many messages, `XDS_SEED` their seed.
 */
import type { DescMessage } from "@bufbuild/protobuf"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { TypeRegistry } from "@effect-xds/proto"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { Rules } from "@effect-xds/validate"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import * as EncodedRules from "../src/internal/EncodedRules.js"
import { Report } from "../src/internal/Report.js"
import * as Config from "./Config.js"
import { resources } from "./ConfigResources.js"
import * as RandomMessage from "./RandomMessage.js"

const seed = Number(process.env["XDS_SEED"] ?? 1)
const runs = Number(process.env["XDS_RUNS"] ?? 6000)

const types = Effect.promise(async () => {
  const { types: known } = await import("../../proto/gen/index.js")
  const found: Array<DescMessage> = []
  for (const name of known.keys()) {
    if (!/^(envoy|xds)\./.test(name)) continue
    const type = await TypeRegistry.load(name)
    if (type !== undefined) found.push(type)
  }
  return found
})

/** The one type that random `Any`s hold. */
const typeOf = async () => {
  const node = await TypeRegistry.load("envoy.config.core.v3.Node")
  return (typeUrl: string) => (typeUrl.endsWith("/envoy.config.core.v3.Node") ? node : undefined)
}

const now = 1_700_000_000_000

/** The verdict after decoding, and whether it can be decoded. */
const decoded = (type: DescMessage, bytes: Uint8Array): Rules.Result | ReadonlySet<string> => {
  const work = Rules.attemptInSteps(type, bytes, { now })
  for (;;) {
    const next = work.next()
    if (next.done === true) return next.value
  }
}

/** Bytes as a careless or hostile encoder may write them. */
const bent = (random: RandomMessage.Random, bytes: Uint8Array, other: Uint8Array): Uint8Array => {
  const at = random.below(bytes.byteLength + 1)
  switch (random.below(5)) {
    case 0: {
      const copy = Uint8Array.from(bytes)
      if (at < copy.byteLength) copy[at] = random.below(256)
      return copy
    }
    case 1:
      return bytes.subarray(0, at)
    case 2:
      // Merged by who decodes them.
      return Uint8Array.of(...bytes, ...other)
    case 3:
      return Uint8Array.of(...bytes.subarray(0, at), random.below(256), ...bytes.subarray(at))
    default:
      return Uint8Array.of(...bytes.subarray(at), ...bytes.subarray(0, at))
  }
}

describe("encoded rules", () => {
  it.effect("pass no bytes that break a rule, and most that break none", () =>
    Effect.gen(function* () {
      const all = yield* types
      yield* Rules.loadTypes(["envoy.config.core.v3.Node"])
      const known = yield* Effect.promise(typeOf)
      const random = RandomMessage.random(seed)
      const counts = { valid: 0, sure: 0, bent: 0, bentSure: 0 }
      for (let run = 0; run < runs; run++) {
        const type = all[run % all.length]
        if (type === undefined) throw new Error("no types")
        const bytes = toBinary(type, RandomMessage.message(random, type))
        const other = toBinary(type, RandomMessage.message(random, type))
        for (const [kind, each] of [
          ["valid", bytes],
          ["bent", bent(random, bytes, other)]
        ] as const) {
          const report = new Report(1, known, now, undefined)
          const isSure = EncodedRules.pass(type, each, report)
          const words = `seed ${seed}, run ${run}, ${type.typeName}, ${kind}: ${Buffer.from(each).toString("hex")}`
          const result = decoded(type, each)
          if (!("faults" in result)) throw new Error(`${words}: types were not loaded`)
          const isValid = result.faults.length === 0 && !result.more
          if (isSure) {
            expect(result.faults, words).toEqual([])
            // A oneof that is there twice is looked at twice.
            if (kind === "valid") expect(report.messages, words).toBe(result.messages)
            fromBinary(type, each)
          }
          if (isValid) counts[kind]++
          if (isValid && isSure) counts[kind === "valid" ? "sure" : "bentSure"]++
        }
      }
      expect(counts.valid).toBeGreaterThan(runs / 10)
      expect(counts.sure / counts.valid).toBeGreaterThan(0.9)
      expect(counts.bentSure).toBeGreaterThan(0)
    })
  )

  it.effect("pass the resources of a common configuration, with what is in its Anys", () =>
    Effect.gen(function* () {
      const config = {
        listeners: [
          Config.listener(),
          Config.listener({ name: "rds", filter_chains: [Config.chain(Config.rdsManager(), Config.tcpProxy())] })
        ],
        routes: [Config.routes()],
        clusters: [
          Config.cluster("web", { metadata: { filter_metadata: { mesh: { owner: "team", weight: 1 } } } }),
          Config.edsCluster("eds", Config.httpOptions({ explicit_http_config: { http2_protocol_options: {} } })),
          Config.cluster("tls", { transport_socket: Config.upstreamTls({}) })
        ],
        endpoints: [Config.assignment("eds", Config.endpoint(1), Config.endpoint(2))]
      }
      const all = yield* Effect.promise(() => resources(config))
      const known = new Map<string, DescMessage | undefined>()
      for (const { name, typeUrl, value } of all) {
        const type = yield* Effect.promise(() => TypeRegistry.load(typeUrl))
        if (type === undefined) throw new Error(`no ${typeUrl}`)
        const missing = new Set<string>()
        const pass = () => {
          missing.clear()
          const typeOf = (url: string) => known.get(url) ?? void missing.add(url)
          return EncodedRules.pass(type, value, new Report(1, typeOf, now, undefined))
        }
        for (pass(); missing.size > 0; pass()) {
          for (const url of missing) known.set(url, yield* Effect.promise(() => TypeRegistry.load(url)))
        }
        expect(pass(), `${typeUrl} ${name}`).toBe(true)
      }
      expect(known.size).toBeGreaterThan(4)
    })
  )

  it("do not pass a list in pieces that are short enough one by one", () => {
    const requestHeadersToAdd = Array.from({ length: 600 }, () => ({ header: { key: "a", value: "b" } }))
    const host = create(VirtualHostSchema, { name: "all", domains: ["*"], requestHeadersToAdd })
    const bytes = toBinary(VirtualHostSchema, host)
    const pass = (each: Uint8Array) =>
      EncodedRules.pass(VirtualHostSchema, each, new Report(1, () => undefined, now, undefined))
    expect(pass(bytes)).toBe(true)
    expect(pass(Uint8Array.of(...bytes, ...bytes))).toBe(false)
  })
})
