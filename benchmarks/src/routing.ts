/**
 * `node benchmarks/dist/routing.js`: what a match, a pick and a ring cost, beside a linear scan and, for the match, the
 * matcher of grpc-js-xds. CPU time of this process; medians of many batches.
 */
import { create } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { CallCounters, CallHeaders, Endpoint, PathMatcher, Picker, Ring, RouteTable } from "@effect-xds/routing"
import { Metadata } from "@grpc/grpc-js"
import { FullMatcher, PathExactValueMatcher } from "@grpc/grpc-js-xds/build/src/matcher.js"
import * as Either from "effect/Either"
import { createRequire } from "node:module"

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

/** Microseconds of CPU for one call: the median of batches. */
const cost = (action: (n: number) => unknown, batch: number, batches = 31): number => {
  const costs: Array<number> = []
  let kept: unknown
  for (let n = 0; n < batches; n++) {
    const start = cpu()
    for (let each = 0; each < batch; each++) kept = action(n * batch + each)
    costs.push((cpu() - start) / batch)
  }
  if (kept === undefined) throw new Error("nothing came of it")
  return costs.sort((a, b) => a - b)[batches >> 1] ?? 0
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

/** Ten hosts, spread over all, whatever their number: not the caches of the machine are measured. */
const callOf = (n: number, hosts: number) => ({
  host: `host-${(n % 10) * Math.floor(hosts / 10)}.test`,
  path: pathOf((n * 7) % routesOfEach)
})

const matchOf = (hosts: number) => {
  const table = Either.getOrThrow(RouteTable.make(configurationOf(hosts)))
  // The texts are made before: to make them is not what is measured.
  const calls = Array.from({ length: 200 }, (_, n) => {
    const { host, path } = callOf(n, hosts)
    return { host, call: { path, headers, draw } }
  })
  return (n: number) => {
    const each = calls[n % calls.length]
    if (each === undefined) return undefined
    const match = RouteTable.match(table, each.host, each.call)
    if (match._tag !== "Route") throw new Error(match._tag)
    return match
  }
}

/** Host after host and route after route, with the same matchers. */
const scanOf = (hosts: number) => {
  const { virtualHosts } = Either.getOrThrow(RouteTable.make(configurationOf(hosts)))
  return (n: number) => {
    const { host, path } = callOf(n, hosts)
    const found = virtualHosts.find((virtualHost) => virtualHost?.domains.includes(host))
    return found?.routes.find((route) => route._tag === "Route" && PathMatcher.matches(route.matcher.path, path))
  }
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
    route: (n: number) => matchers.find((matcher) => matcher.apply(callOf(n, hosts).path, metadata)),
    host: (n: number) => find(list, callOf(n, hosts).host)
  }
}

const sizes = [10, 1_000, 10_000]
const costs = new Map(sizes.map((hosts) => [hosts, cost(matchOf(hosts), 20_000)]))
for (const [hosts, microseconds] of costs) {
  print(`match, ${hosts} virtual hosts × ${routesOfEach} routes`, microseconds)
}
const [least = 0, ours = 0, most = 0] = costs.values()
print("from 10 to 10 000 virtual hosts", most - least, `${(most / least).toFixed(2)} ×`)
const scan = cost(scanOf(1_000), 200)
print("linear scan, 1000 virtual hosts", scan, `${(scan / ours).toFixed(0)} × ours`)
const theirs = theirsOf(1_000)
const route = cost(theirs.route, 2_000)
print("grpc-js-xds, 20 routes of a virtual host", route, `${(route / ours).toFixed(1)} × ours`)
const host = cost(theirs.host, 200)
print("grpc-js-xds, the virtual host of 1000", host, `${(host / ours).toFixed(0)} × ours`)

const connected = (address: string): Picker.Picker => ({
  _tag: "Connected",
  address,
  endpoint: Endpoint.make([address])
})
const localities = Array.from({ length: 4 }, (_, locality): readonly [number, Picker.Picker] => [
  1 + locality,
  {
    _tag: "RoundRobin",
    turns: `turns-${locality}`,
    children: Array.from({ length: 25 }, (_, at) => connected(`10.0.${locality}.${at}:80`))
  }
])
const tree: Picker.Picker = {
  _tag: "ByName",
  children: new Map([
    [
      "c0",
      {
        _tag: "Limited",
        cluster: "c0",
        drops: [],
        inFlight: "c0",
        maxRequests: 1_024,
        child: Picker.weighted(localities)
      }
    ]
  ])
}
const counters = new CallCounters.CallCounters()
const pickCall = { path: "/s/m", headers, draw, cluster: "c0", hash: undefined }
print(
  "pick: cluster manager, limits, weighted_target, round_robin",
  cost(() => Picker.pick(tree, pickCall, counters), 20_000)
)

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
