/**
 * Ours against what protoc-gen-validate generated for Go (go-control-plane/envoy): the same verdict, the same first fault and
 * the same faults in the same order, for random messages near the bounds of their rules. `XDS_RUNS` sets how many messages,
 * `XDS_SEED` their seed.
 */
import type { DescMessage } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import { TypeRegistry } from "@effect-xds/proto"
import { PeerProgram } from "@effect-xds/testing"
import { Rules } from "@effect-xds/validate"
import { it } from "@effect/vitest"
import { Effect } from "effect"
import { expect } from "vitest"
import * as Judge from "./Judge.js"
import * as RandomMessage from "./RandomMessage.js"

const peer = PeerProgram.forTest("protoc-gen-validate")

const seed = Number(process.env["XDS_SEED"] ?? 1)
const runs = Number(process.env["XDS_RUNS"] ?? 3000)

/** These reach most of the API, with what is in them. */
const files = [
  "envoy.config.cluster.v3.Cluster",
  "envoy.config.listener.v3.Listener",
  "envoy.config.route.v3.RouteConfiguration",
  "envoy.config.endpoint.v3.ClusterLoadAssignment",
  "envoy.config.bootstrap.v3.Bootstrap",
  "envoy.config.core.v3.Node",
  "envoy.config.rbac.v3.RBAC",
  "envoy.config.trace.v3.Tracing",
  "envoy.config.accesslog.v3.AccessLog",
  "envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
  "envoy.extensions.transport_sockets.quic.v3.QuicUpstreamTransport",
  "envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager",
  "envoy.extensions.filters.http.ext_authz.v3.ExtAuthz",
  "envoy.extensions.filters.http.ratelimit.v3.RateLimit",
  "envoy.extensions.filters.http.jwt_authn.v3.JwtAuthentication",
  "envoy.extensions.filters.http.oauth2.v3.OAuth2",
  "envoy.extensions.filters.network.redis_proxy.v3.RedisProxy",
  "envoy.extensions.filters.network.thrift_proxy.v3.ThriftProxy",
  "envoy.extensions.load_balancing_policies.ring_hash.v3.RingHash",
  "xds.type.matcher.v3.Matcher"
]

/** The types of a file and of the files that it imports. */
const typesOf = async (): Promise<ReadonlyArray<DescMessage>> => {
  const found = new Map<string, DescMessage>()
  const add = (type: DescMessage): void => {
    if (found.has(type.typeName)) return
    found.set(type.typeName, type)
    type.nestedMessages.forEach(add)
  }
  const seen = new Set<string>()
  const names = runs > 10_000 ? await allNames() : files
  for (const name of names) {
    const type = await TypeRegistry.load(name)
    if (type === undefined) throw new Error(`${name} is not known`)
    for (const pending = [type.file]; pending.length > 0;) {
      const file = pending.pop()
      if (file === undefined || seen.has(file.name)) continue
      seen.add(file.name)
      if (/^(envoy|xds)\/.*\/v3\//.test(file.name)) file.messages.forEach(add)
      pending.push(...file.dependencies)
    }
  }
  return Array.from(found.values()).sort((a, b) => (a.typeName < b.typeName ? -1 : 1))
}

/** Every message of the API, for many runs. */
const allNames = async (): Promise<ReadonlyArray<string>> => {
  const { types } = await import("../../proto/gen/index.js")
  const names = Array.from(types.keys()).filter((name) => /^(envoy|xds)\..*\.v3\.[A-Z]\w*$/.test(name))
  const messages: Array<string> = []
  for (const name of names) if ((await TypeRegistry.load(name)) !== undefined) messages.push(name)
  return messages
}

/** `load_assignment.labels["a"]` and `LoadAssignment.Labels[a]` are the same. */
const plain = (path: string): string => path.replaceAll(/["_]/g, "").toLowerCase()

it.scopedLive.skipIf(peer._tag === "Missing")(
  PeerProgram.title("has the verdicts and the faults of protoc-gen-validate", peer),
  () =>
    Effect.gen(function* () {
      const judge = yield* Judge.start(peer._tag === "Present" ? peer.path : "")
      const types = yield* Effect.promise(typesOf)
      const random = RandomMessage.random(seed)
      const judged = new Map<string, number>()
      let valid = 0
      let faults = 0
      const rules = new Map<string, number>()
      for (let done = 0; done < runs;) {
        const batch: Array<Judge.Question> = []
        while (batch.length < 250 && done < runs) {
          // Each type in its turn: all of them are met.
          const type = types[done % types.length]
          if (type === undefined) throw new Error("no types")
          batch.push(Judge.question(type, RandomMessage.message(random, type)))
          done++
        }
        const answers = yield* Effect.promise(() => judge.ask(batch))
        for (const [index, { bytes, type }] of batch.entries()) {
          const answer = answers[index]
          if (answer?.unknown !== undefined) continue
          const about = `${type.typeName}, seed ${seed}, message ${done - batch.length + index}: ${Buffer.from(bytes).toString("base64")}`
          const message = fromBinary(type, bytes)
          const all = Rules.check(type, message, { maxFaults: Number.POSITIVE_INFINITY }).faults
          const first = Rules.check(type, message, { maxFaults: 1 }).faults
          expect(
            { first: plain(first[0]?.path ?? ""), all: all.map(({ path }) => plain(path)), malformed: undefined },
            about
          ).toEqual({
            first: plain(answer?.first ?? ""),
            all: answer?.all.map(plain),
            malformed: answer?.malformed
          })
          judged.set(type.typeName, (judged.get(type.typeName) ?? 0) + 1)
          if (all.length === 0) valid++
          faults += all.length
          for (const { rule } of all) rules.set(rule, (rules.get(rule) ?? 0) + 1)
        }
      }
      console.log(
        `seed ${seed}: ${runs} messages of ${judged.size} types, ${valid} of them valid, ${faults} faults of ${rules.size} rules`
      )
      if (process.env["XDS_RUNS"] !== undefined) console.log(Object.fromEntries(rules))
      expect(judged.size).toBeGreaterThanOrEqual(50)
      // Neither all right nor all wrong: both verdicts are tested.
      expect(valid).toBeGreaterThan(runs / 20)
      expect(valid).toBeLessThan(runs / 1.2)
    }),
  600_000
)
