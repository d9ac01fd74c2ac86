/**
 * The same resources for gRPC clients and for our routing: calls are divided alike. `XDS_CALLS`: how many of a client each
 * distribution is taken from.
 */
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
import type { StringMatcherSchema } from "@effect-xds/proto/envoy/type/matcher/v3/string"
import { Assignment, Cluster, Listener, RouteTable, type XdsConfig } from "@effect-xds/routing"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import * as Waiting from "@effect-xds/testing/Waiting"
import { describe, expect } from "@effect/vitest"
import { Context, Effect, Either, Exit, Layer, Logger, LogLevel, Scope } from "effect"
import * as Asked from "../src/replacements/Asked.js"
import * as Fleet from "../src/replacements/Fleet.js"
import { greet } from "../src/replacements/Service.js"
import * as Clients from "./Clients.js"
import * as Shared from "./Shared.js"
import { OurChannel } from "./OurChannel.js"

const calls = Number(process.env.XDS_CALLS ?? 1_000)

type RouteInit = MessageInitShape<typeof RouteSchema>
type HeaderInit = MessageInitShape<typeof HeaderMatcherSchema>
type Headers = Asked.Request["calls"][number]

/** ★ Its endpoints are of no other cluster: see {@link faults}. */
const ring = ["r1", "r2", "r3", "r4", "r5"]
const names = ["a", "b", "c", "d", "e", ...ring]
/** Nobody listens there. */
const closed = "127.0.0.1:1"

const to = (name: string) => ({
  case: "route" as const,
  value: {
    clusterSpecifier: { case: "cluster" as const, value: name },
    hashPolicy: [{ policySpecifier: { case: "header" as const, value: { headerName: "user" } } }]
  }
})

const user = (specifier: NonNullable<HeaderInit["headerMatchSpecifier"]>, invertMatch = false): HeaderInit => ({
  name: "user",
  headerMatchSpecifier: specifier,
  invertMatch
})
const text = (
  matchPattern: NonNullable<MessageInitShape<typeof StringMatcherSchema>["matchPattern"]>,
  ignoreCase = false
) => ({ case: "stringMatch", value: { matchPattern, ignoreCase } }) as const
const regex = (value: string) => text({ case: "safeRegex", value: { regex: value } })
const present = (value: boolean) => ({ case: "presentMatch", value }) as const
const range = { case: "rangeMatch", value: { start: -5n, end: 10n } } as const

/** Matchers of the header `user`. A call names its matcher; those that match go to `a`, the others to `b`. */
const matchers = {
  exact: user(text({ case: "exact", value: "one,two" })),
  "exact, whatever the case": user(text({ case: "exact", value: "aBc" }, true)),
  prefix: user(text({ case: "prefix", value: "pre-" })),
  suffix: user(text({ case: "suffix", value: "-end" })),
  contains: user(text({ case: "contains", value: "-" })),
  regex: user(regex("[a-c]+")),
  "regex that is empty": user(regex("")),
  "regex with alternatives": user(regex("abc|x-end")),
  range: user(range),
  present: user(present(true)),
  "not present": user(present(false)),
  "exact, inverted": user(text({ case: "exact", value: "other" }), true),
  "range, inverted": user(range, true),
  "present, inverted": user(present(true), true)
} as const satisfies Readonly<Record<string, HeaderInit>>

/** Values of the header, as often as it is there. */
const values: ReadonlyArray<ReadonlyArray<string>> = [
  ...[[], [""], ["pre-x"], ["x-end"], ["pre-x-end"], ["abc"], ["ABC"], ["abcd"], ["ax-end"], ["one,two"], ["other"]],
  ...[["one", "two"], ["two", "one"], ["9"], ["10"], ["-5"], ["-6"], ["+3"], ["007"], ["1.5"], ["0x5"], ["1e0"], ["-"]],
  ...[["5", "5"], ["9223372036854775808"]]
]

/**
 * Where clients differ from what the specification says, and from ours.
 *
 * Besides: in grpc-js the first call to an endpoint of a ring waits, for ever if nothing else happens, where another cluster
 * is connected to the address. `RingHashPicker.pick` lets the endpoint connect, which is done at once, and the picker that
 * says so comes before the call waits for one.
 */
const faults: ReadonlyArray<{
  readonly client: string
  readonly why: string
  readonly matchers: ReadonlyArray<keyof typeof matchers>
  readonly isOf: (header: ReadonlyArray<string>) => boolean
}> = [
  {
    client: "grpc-js",
    why: "a header that is absent matches what is inverted (A28: it matches nothing)",
    matchers: ["exact, inverted", "range, inverted"],
    isOf: (header) => header.length === 0
  },
  {
    client: "grpc-js",
    why: "present_match: false is taken for true",
    matchers: ["not present"],
    isOf: () => true
  },
  {
    client: "grpc-js",
    why: "a number is -?[0-9]+, without a plus",
    matchers: ["range", "range, inverted"],
    isOf: ([value = ""]) => value.startsWith("+")
  },
  {
    client: "grpc-js",
    why: "^a|b$ stands where ^(a|b)$ is meant",
    matchers: ["regex with alternatives"],
    isOf: ([value = ""]) => ["abcd", "ax-end", "pre-x-end"].includes(value)
  },
  {
    client: "grpc-go",
    why: "an empty value is taken for an absent header",
    matchers: ["present", "not present", "present, inverted"],
    isOf: ([value]) => value === ""
  }
]

interface Rule {
  readonly headers?: ReadonlyArray<HeaderInit>
  /** Of a hundred. */
  readonly fraction?: number
  readonly action: NonNullable<RouteInit["action"]>
}

/** Routes of calls that say which case they are, by a header. */
const routesOf = (name: string, ...rules: ReadonlyArray<Rule>): ReadonlyArray<RouteInit> =>
  rules.map(({ action, fraction, headers = [] }) => ({
    match: {
      pathSpecifier: { case: "prefix", value: "" },
      headers: [{ name: "case", headerMatchSpecifier: text({ case: "exact", value: name }) }, ...headers],
      ...(fraction === undefined ? {} : { runtimeFraction: { defaultValue: { numerator: fraction } } })
    },
    action
  }))
const shares = { a: 20, b: 30, c: 50 }
const routes: ReadonlyArray<RouteInit> = [
  ...Object.entries(matchers).flatMap(([name, header]) =>
    routesOf(name, { headers: [header], action: to("a") }, { action: to("b") })
  ),
  ...routesOf("weights", {
    action: {
      case: "route",
      value: {
        clusterSpecifier: {
          case: "weightedClusters",
          value: { clusters: Object.entries(shares).map(([name, weight]) => ({ name, weight })) }
        }
      }
    }
  }),
  ...routesOf("fraction", { fraction: 25, action: to("d") }, { action: to("e") }),
  ...routesOf("ring", { action: to("ring") }),
  ...routesOf("failover", { action: to("failover") })
]

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

const resourcesOf = (at: (name: string) => string, priorities: ReadonlyArray<ReadonlyArray<string>>) => ({
  listeners: [Fleet.listener],
  routes: [
    create(RouteConfigurationSchema, {
      name: "greeter",
      virtualHosts: [{ name: "greeter", domains: ["*"], routes: [...routes] }]
    })
  ],
  clusters: ["a", "b", "c", "d", "e", "ring", "failover"].map(clusterOf),
  endpoints: [
    ...["a", "b", "c", "d", "e"].map((name) => assignmentOf(name, [at(name)])),
    assignmentOf("ring", ring.map(at)),
    assignmentOf("failover", ...priorities)
  ]
})

const known = <A>(made: Either.Either<A, unknown>): XdsConfig.Known<A> => ({
  _tag: "Value",
  value: Either.getOrThrowWith(made, (mistakes) => new Error(JSON.stringify(mistakes)))
})

/** A channel of ours with the resources; its calls give names of backends. */
const oursOf = (nameOf: (address: string) => string | undefined) => {
  const channel = new OurChannel((address) => nameOf(address) !== undefined)
  return {
    lose: (address: string) => channel.lose(address),
    publish: ({ clusters, endpoints, listeners, routes }: ReturnType<typeof resourcesOf>): void => {
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
    call: (headers: Headers): string => {
      const outcome = channel.call(greet.path, headers)
      return nameOf(outcome) ?? outcome
    }
  }
}

type Counts = ReadonlyMap<string, number>

const count = (seen: Iterable<string>): Counts => {
  const counts = new Map<string, number>()
  for (const name of seen) counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}

/** χ² of two samples. */
const chiSquare = (one: Counts, two: Counts): number => {
  const sum = (counts: Counts) => Array.from(counts.values()).reduce((a, b) => a + b, 0)
  const ratio = Math.sqrt(sum(two) / sum(one))
  return Array.from(new Set([...one.keys(), ...two.keys()])).reduce((total, name) => {
    const [a, b] = [one.get(name) ?? 0, two.get(name) ?? 0]
    return total + (a * ratio - b / ratio) ** 2 / (a + b)
  }, 0)
}
/** By the number of backends, what one in a million of equal distributions exceeds. */
const bounds: Readonly<Record<number, number>> = { 2: 23.93, 3: 27.63, 5: 33.38 }

class World extends Context.Tag("World")<World, Effect.Effect.Success<typeof world>>() {}

const world = Effect.gen(function* () {
  const context = yield* Fleet.serve("5 seconds")
  const server = Context.get(context, XdsServer.XdsServer)
  const store = Context.get(context, SnapshotStore.SnapshotStore)
  const { addresses: backends } = yield* Fleet.startBackends(names)
  const addresses = new Map(backends)
  const at = (name: string) => addresses.get(name) ?? closed
  const ours = oursOf((address) => Array.from(addresses).find(([, each]) => each === address)?.[0])
  /** Sets the priorities of the cluster `failover`; the rest stays. */
  const publish = (...priorities: ReadonlyArray<ReadonlyArray<string>>) =>
    Effect.suspend(() => {
      const resources = resourcesOf(at, priorities)
      ours.publish(resources)
      // An empty regular expression, which breaks a rule of Envoy's, is one of the cases.
      return Effect.orDie(store.set(Fleet.group, resources, { validate: "off" }))
    })
  yield* publish([closed])
  const clients = yield* Effect.forEach(
    Asked.names.filter((name) => Clients.present.includes(name)),
    (name) => Asked.start(name, server.address, Fleet.group),
    { concurrency: "unbounded" }
  )
  return { addresses, at, clients, ours, publish }
})
const live = Layer.scoped(World, world).pipe(
  Layer.provideMerge(NodeContext.layer),
  Layer.provideMerge(Logger.minimumLogLevel(LogLevel.Warning))
)

const of = (name: string, ...more: ReadonlyArray<Asked.Header>): Headers => [["case", name], ...more]

/** Asks until all of these backends answer and nobody else does: what was published is in use, and connected. */
const settled = (client: Asked.Client, headers: Headers, backends: ReadonlyArray<string>) =>
  Waiting.until(
    `${client.name} to be answered by ${backends.join()}`,
    client.ask({ calls: [headers], times: 20 * backends.length }),
    ([answers = {}]) => Object.keys(answers).sort().join() === [...backends].sort().join(),
    { limit: "100 seconds" }
  )

/** Who answers calls of each client, beside ours: as often, but for chance. */
const compareShares = (headers: Headers, backends: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { clients, ours } = yield* World
    // Five times as many of ours, which cost little: what differs by chance is theirs, mostly.
    const mine = count(Array.from({ length: 5 * calls }, () => ours.call(headers)))
    expect(Array.from(mine.keys()).sort()).toEqual(backends)
    for (const client of clients) {
      yield* settled(client, headers, backends)
      const [answers = {}] = yield* client.ask({ calls: [headers], times: calls })
      const theirs = new Map(Object.entries(answers))
      const seen = `${client.name}: ${JSON.stringify(answers)}, ours: ${JSON.stringify([...mine])}`
      expect(chiSquare(mine, theirs), seen).toBeLessThan(bounds[backends.length] ?? 0)
    }
    return mine
  })

describe("calls of grpc-js, grpc-go and ours", () => {
  const test = Shared.of(live)

  test(Clients.title("are divided by the weights of clusters"), () =>
    Effect.gen(function* () {
      const mine = yield* compareShares(of("weights"), Object.keys(shares))
      const configured = new Map(Object.entries(shares).map(([name, share]) => [name, share * 10_000]))
      expect(chiSquare(configured, mine)).toBeLessThan(bounds[3] ?? 0)
    })
  )

  test(Clients.title("are divided by the fraction of a route"), () =>
    Effect.gen(function* () {
      const mine = yield* compareShares(of("fraction"), ["d", "e"])
      const configured = new Map([
        ["d", 250_000],
        ["e", 750_000]
      ])
      expect(chiSquare(configured, mine)).toBeLessThan(bounds[2] ?? 0)
    })
  )

  test(Clients.title("match headers alike, but for the faults that are named"), () =>
    Effect.gen(function* () {
      const { clients, ours } = yield* World
      const all = Object.keys(matchers).flatMap((matcher) =>
        values.map((header) => ({
          matcher,
          header,
          headers: of(matcher, ...header.map((value): Asked.Header => ["user", value]))
        }))
      )
      for (const client of clients) {
        const answers = yield* client.ask({ calls: all.map(({ headers }) => headers), times: 1 })
        const named = new Set<string>()
        const differ = all.flatMap(({ header, headers, matcher }, index) => {
          const [theirs, mine] = [Object.keys(answers[index] ?? {}).join(), ours.call(headers)]
          const fault = faults.find(
            (each) => each.client === client.name && each.matchers.some((name) => name === matcher) && each.isOf(header)
          )
          if (fault !== undefined && theirs !== mine) named.add(fault.why)
          return (fault === undefined) === (theirs === mine) ? [] : [{ matcher, header, theirs, mine, fault }]
        })
        expect(differ, client.name).toEqual([])
        const expected = faults.filter((each) => each.client === client.name).map(({ why }) => why)
        expect(Array.from(named).sort(), client.name).toEqual(expected.sort())
      }
      expect(new Set(all.map(({ headers }) => ours.call(headers)))).toEqual(new Set(["a", "b"]))
    })
  )

  test(Clients.title("go to the same endpoint of a ring by their hash"), () =>
    Effect.gen(function* () {
      const { clients, ours } = yield* World
      const keys = Array.from({ length: Math.ceil(calls / 4) }, (_, n) => of("ring", ["user", `key-${n}`]))
      for (const client of clients) {
        const answers = yield* client.ask({ calls: keys, times: 2 })
        const differ = keys.flatMap((headers, index) => {
          const [theirs, mine] = [answers[index], { [ours.call(headers)]: 2 }]
          return JSON.stringify(theirs) === JSON.stringify(mine) ? [] : [{ headers, theirs, mine }]
        })
        expect(differ, client.name).toEqual([])
      }
      expect(Array.from(count(keys.map((headers) => ours.call(headers))).keys()).sort()).toEqual(ring)
    })
  )

  test(Clients.title("are divided by the ring if they have no hash"), () => compareShares(of("ring"), ring))

  test(Clients.title("fail over from a priority to the next one and come back"), () =>
    Effect.gen(function* () {
      const { addresses, at, clients, ours, publish } = yield* World
      const headers = of("failover")
      const expectAll = (backend: string) =>
        Effect.forEach(
          clients,
          (client) =>
            Effect.gen(function* () {
              yield* settled(client, headers, [backend])
              expect([client.name, yield* client.ask({ calls: [headers], times: 100 })]).toEqual([
                client.name,
                [{ [backend]: 100 }]
              ])
            }),
          { concurrency: "unbounded", discard: true }
        ).pipe(Effect.zipLeft(Effect.sync(() => expect(ours.call(headers)).toBe(backend))))
      yield* publish([closed], [at("a")])
      yield* expectAll("a")
      yield* publish([at("b")], [at("a")])
      yield* expectAll("b")
      yield* publish([], [at("a")])
      yield* expectAll("a")
      // A process that ends.
      const scope = yield* Scope.make()
      const { addresses: another } = yield* Scope.extend(Fleet.startBackends(["last"]), scope)
      const last = another.get("last") ?? closed
      addresses.set("last", last)
      yield* publish([last], [at("a")])
      yield* expectAll("last")
      yield* Scope.close(scope, Exit.void)
      addresses.delete("last")
      ours.lose(last)
      yield* expectAll("a")
    })
  )
})
