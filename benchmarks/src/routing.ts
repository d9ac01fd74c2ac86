/**
 * `node benchmarks/dist/routing.js`: what a match, a pick and a ring cost, beside a linear scan, and the matcher and the
 * picker of grpc-js-xds. CPU time of this process; medians of many batches.
 */
import { create } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import {
  CallCounters,
  CallHeaders,
  CompiledPicker,
  Endpoint,
  PathMatcher,
  Picker,
  Ring,
  RouteTable,
  VirtualHost
} from "@effect-xds/routing"
import { Metadata, status } from "@grpc/grpc-js"
import { FullMatcher, PathExactValueMatcher } from "@grpc/grpc-js-xds/build/src/matcher.js"
import * as Either from "effect/Either"
import { createRequire } from "node:module"
import * as GrpcJsPicker from "./GrpcJsPicker.js"

const require = createRequire(import.meta.url)

/** A function of a module that says nothing about its types. */
const functionOf = (path: string, name: string): ((...args: ReadonlyArray<unknown>) => unknown) => {
  const module: unknown = require(path)
  const found: unknown = typeof module === "object" && module !== null ? Reflect.get(module, name) : undefined
  if (typeof found !== "function") throw new Error(`${path} has no ${name}`)
  return (...args) => {
    const result: unknown = Reflect.apply(found, undefined, args)
    return result
  }
}

const cpu = (): number => {
  const { system, user } = process.cpuUsage()
  return system + user
}

type Action = (n: number) => unknown

/** Microseconds of CPU for one call. */
const batchOf = (action: Action, batch: number, n: number): number => {
  let kept: unknown
  const start = cpu()
  for (let each = 0; each < batch; each++) kept = action(n * batch + each)
  const microseconds = (cpu() - start) / batch
  if (kept === undefined) throw new Error("nothing came of it")
  return microseconds
}

const median = (numbers: ReadonlyArray<number>): number =>
  Array.from(numbers).sort((a, b) => a - b)[numbers.length >> 1] ?? 0

/** The median of batches. */
const cost = (action: Action, batch: number, batches = 31): number =>
  median(Array.from({ length: batches }, (_, n) => batchOf(action, batch, n)))

/** Several things by turns, so that what else the machine does is no difference between them: medians of batches. */
const costOfEach = (actions: ReadonlyArray<Action>, batch: number, batches = 61): ReadonlyArray<number> => {
  const costs = Array.from({ length: batches }, (_, n) => actions.map((action) => batchOf(action, batch, n)))
  return actions.map((_, at) => median(costs.map((each) => each[at] ?? 0)))
}

const print = (what: string, microseconds: number, note = ""): void =>
  void process.stdout.write(`${what.padEnd(58)} ${microseconds.toFixed(3).padStart(12)} µs  ${note}\n`)

const routesOfEach = 20
const pathOf = (route: number) => `/shop.Service${route}/Method${route}`

const configurationOf = (hosts: number) =>
  create(RouteConfigurationSchema, {
    virtualHosts: Array.from({ length: hosts }, (_, host) => ({
      name: `host-${host}`,
      domains: [`host-${host}.test`],
      routes: Array.from({ length: routesOfEach }, (_, route) => ({
        match: { pathSpecifier: { case: "path" as const, value: pathOf(route) } },
        action: {
          case: "route" as const,
          value: { clusterSpecifier: { case: "cluster" as const, value: `c${route}` } }
        }
      }))
    }))
  })

const headers = CallHeaders.empty
const draw = () => 0.5

interface Asked {
  readonly host: string
  readonly call: { readonly path: string; readonly headers: CallHeaders.CallHeaders; readonly draw: () => number }
}

/** Hosts that calls go to: as many as are said, spread over all. `busy` fits into the caches of the machine. */
const patterns = { busy: 10, spread: 1_000 } as const

/** Calls in the order they are made, each with texts of its own; made before, so that nobody's time goes into that. */
const callsOf = (hosts: number, called: number): ReadonlyArray<Asked> =>
  Array.from({ length: 1_000 }, (_, n) => ({
    host: `host-${((n % called) * 7_919 * Math.max(1, Math.floor(hosts / called))) % hosts}.test`,
    call: { path: pathOf((n * 7) % routesOfEach), headers, draw }
  }))

/** A look-up for each of the calls in turn. All that is compared is measured by this. */
const inTurn =
  (calls: ReadonlyArray<Asked>, lookUp: (asked: Asked) => unknown): Action =>
  (n) => {
    const asked = calls[n % calls.length]
    return asked === undefined ? undefined : lookUp(asked)
  }

const costOf = (calls: ReadonlyArray<Asked>, lookUp: (asked: Asked) => unknown, batch: number): number =>
  cost(inTurn(calls, lookUp), batch)

const printBoth = (what: string, whatOfTheirs: string, [own = 0, their = 0]: ReadonlyArray<number>): void => {
  print(what, own)
  print(whatOfTheirs, their, `${(their / own).toFixed(1)} × ours`)
}

const tableOf = (hosts: number) => Either.getOrThrow(RouteTable.make(configurationOf(hosts)))

const matchIn = (table: RouteTable.RouteTable) => (asked: Asked) => {
  const match = RouteTable.match(table, asked.host, asked.call)
  if (match._tag !== "Route") throw new Error(match._tag)
  return match
}

/** Host after host and route after route, with the same matchers. */
const scanIn =
  ({ virtualHosts }: RouteTable.RouteTable) =>
  ({ call: { path }, host }: Asked) => {
    const found = virtualHosts.find((virtualHost) => virtualHost?.domains.includes(host))
    return found?.routes.find((route) => route._tag === "Route" && PathMatcher.matches(route.matcher.path, path))
  }

/** What grpc-js-xds does: the virtual host once for a configuration, the routes one by one for each call. */
const theirsOf = (hosts: number) => {
  const find = functionOf("@grpc/grpc-js-xds/build/src/xds-dependency-manager.js", "findVirtualHostForDomain")
  const list = Array.from({ length: hosts }, (_, host) => ({ domains: [`host-${host}.test`] }))
  const matchers = Array.from(
    { length: routesOfEach },
    (_, route) => new FullMatcher(new PathExactValueMatcher(pathOf(route), false), [], null)
  )
  const metadata = new Metadata()
  return {
    route: ({ call }: Asked) => matchers.find((matcher) => matcher.apply(call.path, metadata)),
    host: ({ host }: Asked) => find(list, host)
  }
}

/** Nanoseconds of one load from a place of memory that the one before names, among objects without an order. */
const loadAmong = (count: number): number => {
  interface Place {
    next: Place | undefined
    readonly filler: ReadonlyArray<number>
  }
  const places = Array.from({ length: count }, (_, at): Place => ({ next: undefined, filler: [at] }))
  // A prime: it visits every place, and none near the last one.
  const step = 123_457
  for (const [at, place] of places.entries()) place.next = places[(at + step) % count]
  let place = places[0]
  return 1_000 * cost(() => (place = place?.next), 200_000, 11)
}

const sizes = [10, 1_000, 10_000]
for (const [pattern, called] of Object.entries(patterns)) {
  const costs = costOfEach(
    sizes.map((hosts) => inTurn(callsOf(hosts, called), matchIn(tableOf(hosts)))),
    20_000
  )
  for (const [at, hosts] of sizes.entries()) {
    print(`match, ${hosts} virtual hosts × ${routesOfEach} routes, ${pattern}`, costs[at] ?? 0)
  }
  const [least = 0, ours = 0, most = 0] = costs
  print(`from 10 to 10 000 virtual hosts, ${pattern}`, most - least, `${(most / least).toFixed(2)} ×`)
  print(`from 1 000 to 10 000 virtual hosts, ${pattern}`, most - ours, `${(most / ours).toFixed(2)} ×`)
  const calls = callsOf(1_000, called)
  const compare = (what: string, microseconds: number) =>
    print(`${what}, ${pattern}`, microseconds, `${(microseconds / ours).toFixed(1)} × ours`)
  compare("linear scan, 1000 virtual hosts", costOf(calls, scanIn(tableOf(1_000)), 200))
  const theirs = theirsOf(1_000)
  // A channel of either knows its virtual host before it calls.
  const known = tableOf(1).virtualHosts[0]
  if (known === undefined) throw new Error("there is no virtual host")
  printBoth(
    `match, 20 routes of a virtual host that is known, ${pattern}`,
    `grpc-js-xds, 20 routes of a virtual host, ${pattern}`,
    costOfEach([inTurn(calls, ({ call }) => VirtualHost.match(known, call)), inTurn(calls, theirs.route)], 20_000)
  )
  compare("grpc-js-xds, the virtual host of 1000", costOf(calls, theirs.host, 200))
}
for (const count of [1_000, 200_000, 2_000_000]) print(`one load among ${count} objects`, loadAmong(count) / 1_000)

const connected = (address: string): Picker.Picker => ({
  _tag: "Connected",
  address,
  endpoint: Endpoint.make([address])
})
const localities = Array.from({ length: 4 }, (_, locality): readonly [number, Picker.Picker] => [
  1 + locality,
  { _tag: "RoundRobin", children: Array.from({ length: 25 }, (_, at) => connected(`10.0.${locality}.${at}:80`)) }
])
const limited: Picker.Picker = {
  _tag: "Limited",
  cluster: "c0",
  drops: [],
  inFlight: "c0",
  maxRequests: 1_024,
  child: Picker.weighted(localities)
}
const counters = new CallCounters.CallCounters()
/** As a tree of policies gives it, and as calls use it. */
const tree = CompiledPicker.make({ _tag: "ByName", children: new Map([["c0", limited]]) }, counters)
const pickCall = { path: "/s/m", headers, draw, cluster: "c0", hash: undefined }
const ourPick = () => tree.pick(pickCall)
/** With all that is counted of a call from its pick to its end. */
const ourCall = () => {
  const pick = ourPick()
  if (pick._tag !== "Complete") throw new Error(pick._tag)
  counters.hold(pick.holds)
  counters.release(pick.holds)
  return pick
}
const theirPicker = GrpcJsPicker.make("c0", [1, 2, 3, 4], 25)
const pickArguments = { metadata: new Metadata(), extraPickInfo: { cluster: "c0" } }
const theirPick = () => theirPicker.pick(pickArguments)
const theirCall = () => {
  const pick = theirPick()
  if (pick.subchannel === null) throw new Error(pick.status?.details)
  pick.onCallStarted?.()
  pick.onCallEnded?.(status.OK, "", pickArguments.metadata)
  return pick
}
for (const [what, ours, theirs] of [
  ["pick: cluster manager, limits, weighted_target, round_robin", ourPick, theirPick],
  ["the same, and the call begun and ended", ourCall, theirCall]
] as const) {
  printBoth(what, "the same of grpc-js-xds", costOfEach([ours, theirs], 20_000))
}

const members = Array.from({ length: 1_000 }, (_, at) => ({ key: `10.0.${at >> 8}.${at & 255}:80`, weight: 1 }))
const ring = Ring.make(members, 1_024, 8_388_608)
print(
  `ring of 1000 endpoints, ${ring.hashes.length} entries`,
  cost(() => Ring.make(members, 1_024, 8_388_608), 2)
)
const largest = members.slice(0, 1_000).map(({ key }) => ({ key, weight: 1 + (key.length % 3) }))
print(
  "ring of 1000 endpoints, the largest",
  cost(() => Ring.make(largest, 8_388_608, 8_388_608), 2)
)
