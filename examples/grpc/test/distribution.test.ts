/** The same resources for gRPC clients and for our routing: calls are divided alike. `XDS_CALLS`: how many, of a client. */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import * as NodeContext from "@effect/platform-node/NodeContext"
import {
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { HeaderMatcherSchema, RouteSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { Assignment, Cluster, Listener, RouteTable, type XdsConfig } from "@effect-xds/routing"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Either, Logger, LogLevel, Schema } from "effect"
import * as ChildProcess from "../src/ChildProcess.js"
import * as Fleet from "../src/replacements/Fleet.js"
import * as GrpcClient from "../src/replacements/GrpcClient.js"
import { greet } from "../src/replacements/Service.js"
import * as Wait from "../src/Wait.js"
import * as Clients from "./Clients.js"
import { OurChannel } from "./OurChannel.js"

const calls = Number(process.env.XDS_CALLS ?? 1_000)

type RouteInit = MessageInitShape<typeof RouteSchema>
type HeaderInit = MessageInitShape<typeof HeaderMatcherSchema>

const names = ["a", "b", "c", "d", "e"]
/** Nobody listens there. */
const closed = "127.0.0.1:1"

const to = (name: string) => ({
  case: "route" as const,
  value: {
    clusterSpecifier: { case: "cluster" as const, value: name },
    hashPolicy: [{ policySpecifier: { case: "header" as const, value: { headerName: "user" } } }]
  }
})
const every = { pathSpecifier: { case: "prefix" as const, value: "" } }
const text = (name: string, kind: "exact" | "prefix" | "suffix", value: string): HeaderInit => ({
  name,
  headerMatchSpecifier: { case: "stringMatch", value: { matchPattern: { case: kind, value } } }
})
const caseIs = (value: string) => text("case", "exact", value)
const matching = (cluster: string, header: HeaderInit): RouteInit => ({
  match: { ...every, headers: [caseIs("match"), header] },
  action: to(cluster)
})

/** Routes of calls that say which case they are, by a header. */
const cases: ReadonlyArray<RouteInit> = [
  { match: { ...every, headers: [caseIs("ring")] }, action: to("ring") },
  matching("a", text("user", "prefix", "pre-")),
  matching("b", text("user", "suffix", "-end")),
  matching("c", {
    name: "user",
    headerMatchSpecifier: {
      case: "stringMatch",
      value: { matchPattern: { case: "safeRegex", value: { regex: "[a-c]+" } } }
    }
  }),
  matching("d", { name: "user", headerMatchSpecifier: { case: "rangeMatch", value: { start: -5n, end: 10n } } }),
  matching("e", { name: "other", headerMatchSpecifier: { case: "presentMatch", value: true } }),
  matching("a", text("user", "exact", "one,two")),
  matching("b", { ...text("user", "exact", "other"), invertMatch: true }),
  matching("c", { name: "user", headerMatchSpecifier: { case: "presentMatch", value: true } })
]

const split: ReadonlyArray<RouteInit> = [
  {
    match: every,
    action: {
      case: "route",
      value: {
        clusterSpecifier: {
          case: "weightedClusters",
          value: {
            clusters: [
              { name: "a", weight: 20 },
              { name: "b", weight: 30 },
              { name: "c", weight: 50 }
            ]
          }
        }
      }
    }
  }
]
const fraction: ReadonlyArray<RouteInit> = [
  { match: { ...every, runtimeFraction: { defaultValue: { numerator: 25 } } }, action: to("d") },
  { match: every, action: to("e") }
]
const failover: ReadonlyArray<RouteInit> = [{ match: every, action: to("failover") }]

const clusterOf = (name: string) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig: Fleet.ads },
    ...(name === "ring" ? { lbPolicy: Cluster_LbPolicy.RING_HASH } : {})
  })

/** Localities of a priority each. */
const assignmentOf = (clusterName: string, ...priorities: ReadonlyArray<ReadonlyArray<string>>) =>
  create(ClusterLoadAssignmentSchema, {
    clusterName,
    endpoints: priorities.map((addresses, priority) => ({
      priority,
      locality: { zone: `zone-${priority}` },
      loadBalancingWeight: 1,
      lbEndpoints: addresses.map((hostAndPort) => {
        const [address = "", port = ""] = hostAndPort.split(":")
        const socketAddress = { address, portSpecifier: { case: "portValue" as const, value: Number(port) } }
        return {
          hostIdentifier: {
            case: "endpoint" as const,
            value: { address: { address: { case: "socketAddress" as const, value: socketAddress } } }
          }
        }
      })
    }))
  })

/** For each list of headers who answered. */
const Answers = Schema.parseJson(Schema.Array(Schema.Array(Schema.String)))

type Backends = ReadonlyMap<string, string>

const resourcesOf = (
  backends: Backends,
  routes: ReadonlyArray<RouteInit>,
  priorities: ReadonlyArray<ReadonlyArray<string>>
) => {
  const at = (name: string) => backends.get(name) ?? closed
  return {
    listeners: [Fleet.listener],
    routes: [
      create(RouteConfigurationSchema, {
        name: "greeter",
        virtualHosts: [{ name: "greeter", domains: ["*"], routes: [...cases, ...routes] }]
      })
    ],
    clusters: [...names, "ring", "failover"].map(clusterOf),
    endpoints: [
      ...names.map((name) => assignmentOf(name, [at(name)])),
      assignmentOf("ring", names.map(at)),
      assignmentOf("failover", ...priorities)
    ]
  }
}
type Resources = ReturnType<typeof resourcesOf>

const known = <A>(made: Either.Either<A, unknown>): XdsConfig.Known<A> => ({
  _tag: "Value",
  value: Either.getOrThrowWith(made, (mistakes) => new Error(JSON.stringify(mistakes)))
})

/** A channel of ours with the resources; its calls give names of backends. */
const oursOf = (backends: Backends) => {
  const byAddress = new Map(Array.from(backends, ([name, address]) => [address, name]))
  const channel = new OurChannel((address) => byAddress.has(address))
  return {
    publish: ({ clusters, endpoints, listeners, routes }: Resources): void => {
      for (const each of listeners)
        channel.xds({ _tag: "Listener", name: each.name, known: known(Listener.make(each)) })
      for (const each of routes) {
        channel.xds({ _tag: "RouteConfiguration", name: each.name, known: known(RouteTable.make(each)) })
      }
      for (const each of clusters) channel.xds({ _tag: "Cluster", name: each.name, known: known(Cluster.make(each)) })
      for (const each of endpoints) {
        channel.xds({ _tag: "Assignment", name: each.clusterName, known: known(Assignment.make(each)) })
      }
    },
    call: (headers: Readonly<Record<string, string>> = {}): string => {
      const outcome = channel.call(greet.path, headers)
      return byAddress.get(outcome) ?? outcome
    }
  }
}

/** χ² of two samples, and the value that one in ten thousand of equal distributions exceeds, by degrees of freedom. */
const chiSquare = (one: ReadonlyMap<string, number>, two: ReadonlyMap<string, number>): number => {
  const sum = (counts: ReadonlyMap<string, number>) => Array.from(counts.values()).reduce((a, b) => a + b, 0)
  const ratio = Math.sqrt(sum(two) / sum(one))
  return Array.from(new Set([...one.keys(), ...two.keys()])).reduce((total, name) => {
    const [a, b] = [one.get(name) ?? 0, two.get(name) ?? 0]
    return total + (a * ratio - b / ratio) ** 2 / (a + b)
  }, 0)
}
const bounds: Readonly<Record<number, number>> = { 2: 15.14, 3: 18.42 }

const count = (seen: Iterable<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const name of seen) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

const world = Effect.gen(function* () {
  const context = yield* Fleet.serve("5 seconds")
  const server = Context.get(context, XdsServer.XdsServer)
  const store = Context.get(context, SnapshotStore.SnapshotStore)
  const { addresses, process: backends } = yield* Fleet.startBackends(names)
  const ours = oursOf(addresses)
  const publish = (routes: ReadonlyArray<RouteInit>, ...priorities: ReadonlyArray<ReadonlyArray<string>>) =>
    Effect.suspend(() => {
      const resources = resourcesOf(addresses, routes, priorities.length === 0 ? [[closed]] : priorities)
      ours.publish(resources)
      return Effect.orDie(store.set(Fleet.group, Snapshot.make(resources)))
    })
  return { at: (name: string) => addresses.get(name) ?? closed, crash: backends.crash, ours, publish, server }
})

it.scopedLive(
  Clients.title("weights, fractions and priorities divide the calls of gRPC clients as they divide ours"),
  () =>
    Effect.gen(function* () {
      const { at, crash, ours, publish, server } = yield* world
      yield* publish(split)
      const clients = yield* Effect.forEach(
        Clients.present.filter((name) => name === "grpc-js" || name === "grpc-go"),
        (name) => GrpcClient.start(name, server.address, Fleet.group)
      )
      const crashes = Effect.raceAll([crash, ...clients.map((client) => client.crash)])

      /** Calls of a client that these backends answered from now on. */
      const divided = (among: ReadonlyArray<string>) =>
        Effect.forEach(
          clients,
          ({ calls: theirs, name }) => {
            const now = () => new Map(among.map((backend) => [backend, theirs.answeredBy(backend)]))
            const before = now()
            const news = () => new Map(Array.from(now(), ([backend, n]) => [backend, n - (before.get(backend) ?? 0)]))
            const sum = () => Array.from(news().values()).reduce((a, b) => a + b, 0)
            return Wait.until({
              what: `${calls} answers of ${among.join(", ")} to ${name}`,
              limit: "10 minutes",
              check: () => (sum() >= calls ? news() : undefined),
              seen: () => `${sum()} answers, and ${JSON.stringify(theirs.failures.byServer)}`
            }).pipe(
              Effect.raceFirst(crashes),
              Effect.map((seen) => ({ name, seen }))
            )
          },
          { concurrency: "unbounded" }
        )
      for (const [routes, among] of [
        [split, ["a", "b", "c"]],
        [fraction, ["d", "e"]]
      ] as const) {
        yield* publish(routes)
        const mine = count(Array.from({ length: calls }, () => ours.call()))
        expect(Array.from(mine.keys()).sort()).toEqual(among)
        for (const { name, seen } of yield* divided(among)) {
          const square = chiSquare(mine, seen)
          expect(square, `${name}: ${JSON.stringify([...seen])}, ours: ${JSON.stringify([...mine])}`).toBeLessThan(
            bounds[among.length] ?? 0
          )
        }
      }

      /** Waits until all that is answered is answered by one backend, a hundred times in a row. */
      const all = (backend: string) =>
        Effect.forEach(
          clients,
          ({ calls: theirs, name }) => {
            const now = () => ({ by: theirs.answeredBy(backend), all: theirs.answered })
            let from = now()
            return Wait.until({
              what: `100 answers in a row of ${backend} to ${name}`,
              limit: "60 seconds",
              check: () => {
                const seen = now()
                if (seen.all - from.all > seen.by - from.by) from = seen
                return seen.by - from.by >= 100 ? true : undefined
              },
              seen: () => JSON.stringify(theirs.failures)
            }).pipe(Effect.raceFirst(crashes))
          },
          { concurrency: "unbounded" }
        )
      for (const [backend, ...priorities] of [
        ["a", [closed], [at("a")]],
        ["b", [at("b")], [at("a")]],
        ["a", [], [at("a")]],
        ["c", [at("c")], [at("a")]]
      ] as const) {
        yield* publish(failover, ...priorities)
        expect(ours.call()).toBe(backend)
        yield* all(backend)
      }
      for (const { calls: theirs, name } of clients) expect([name, theirs.failures.byServer]).toEqual([name, {}])
    }).pipe(Effect.provide(NodeContext.layer), Logger.withMinimumLogLevel(LogLevel.Warning)),
  1_200_000
)

it.scopedLive(
  "headers and hashes send each call of grpc-js where they send ours",
  () =>
    Effect.gen(function* () {
      const { crash, ours, publish, server } = yield* world
      yield* publish(split)
      let line: string | undefined
      const compare = (all: ReadonlyArray<Readonly<Record<string, string>>>, times: number) =>
        Effect.gen(function* () {
          line = undefined
          const client = yield* ChildProcess.start({
            name: "grpc-js",
            script: new URL("../dist/replacements/GrpcJsCalls.js", import.meta.url),
            args: [JSON.stringify(all), String(times)],
            env: GrpcClient.environment("grpc-js", server.address, Fleet.group),
            onLine: (each) => {
              line = each
            }
          })
          const text = yield* Wait.until({
            what: `${all.length * times} calls of grpc-js`,
            limit: "10 minutes",
            check: () => line,
            seen: () => "it printed nothing"
          }).pipe(Effect.raceFirst(Effect.raceFirst(client.crash, crash)))
          const answers = yield* Schema.decode(Answers)(text)
          return all.map((headers, at) => ({
            headers,
            theirs: Array.from(new Set(answers[at])),
            ours: Array.from(new Set(Array.from({ length: times }, () => ours.call(headers))))
          }))
        }).pipe(Effect.scoped)
      const users = ["pre-x", "x-end", "pre-x-end", "abc", "abcd", "9", "10", "-5", "1.5", "", "one,two", "other"]
      const matched = yield* compare(
        [
          ...users.map((user) => ({ case: "match", user })),
          ...users.map((user) => ({ case: "match", user, other: "" }))
        ],
        1
      )
      for (const { headers, ours: mine, theirs } of matched) expect([headers, theirs]).toEqual([headers, mine])
      expect(new Set(matched.flatMap(({ ours: mine }) => mine)).size).toBe(names.length)

      const keys = Array.from({ length: Math.min(500, calls / 2) }, (_, n) => ({ case: "ring", user: `key-${n}` }))
      const hashed = yield* compare(keys, Math.ceil(calls / keys.length))
      for (const { headers, ours: mine, theirs } of hashed) expect([headers, theirs]).toEqual([headers, mine])
      expect(hashed.every(({ ours: mine }) => mine.length === 1)).toBe(true)
      expect(new Set(hashed.flatMap(({ ours: mine }) => mine)).size).toBe(names.length)
    }).pipe(Effect.provide(NodeContext.layer), Logger.withMinimumLogLevel(LogLevel.Warning)),
  1_200_000
)
