/** Drives clients through scenarios on one control plane with the same hosts, and compares what became of their calls. */
import * as Waiting from "@effect-xds/testing/Waiting"
import { describe, expect } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"
import { performance } from "node:perf_hooks"
import type { LoadBalancerAccumulatedStatsResponse, LoadBalancerStatsResponse, Method } from "../src/Testing.js"
import { nameOf } from "../src/Testing.js"
import type { InteropClient } from "./Clients.js"
import * as Clients from "./Clients.js"
import * as Shared from "../../grpc/test/Shared.js"
import type { ControlPlane } from "./ControlPlanes.js"
import type { Counts } from "./Distribution.js"
import * as Distribution from "./Distribution.js"
import * as Hosts from "./Hosts.js"
import * as Mesh from "./Mesh.js"
import type { Expectation, Scenario, Step } from "./Scenarios.js"
import { scenarios } from "./Scenarios.js"

/** Calls by which it is seen that a client has what was published. */
const glance = 20

/** Calls that are judged: those that are divided by chance, and those that are not. */
const many = 200
const few = 40

/** What differs in counts of hosts that take turns: calls at both ends of a window, of several in flight. */
const inTurn = 3

/** How long a client may take to have what was published: only what never comes is a failure on a busy machine. */
const limit = "100 seconds"

type Shares = Extract<Expectation, { _tag: "Shares" }>
type Statuses = Extract<Expectation, { _tag: "Statuses" }>
type Open = Extract<Expectation, { _tag: "Open" }>

const entries = <A>(of: Readonly<Partial<Record<Method, A>>>): ReadonlyArray<readonly [Method, A]> =>
  (["EmptyCall", "UnaryCall"] as const).flatMap((method) => {
    const value = of[method]
    return value === undefined ? [] : [[method, value] as const]
  })

const answeredBy = ({ rpcsByMethod }: Pick<LoadBalancerStatsResponse, "rpcsByMethod">, method: Method): Counts =>
  rpcsByMethod[method]?.rpcsByPeer ?? {}

const sameNames = (one: Counts, two: Counts): boolean =>
  Object.keys(one).sort().join() === Object.keys(two).sort().join()

/** `s1 61 (20.3 %), l1 119 (39.7 %)` */
const inWords = (counts: Counts): string =>
  Object.entries(counts)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([host, count]) => `${host} ${count} (${((100 * count) / Distribution.total(counts)).toFixed(1)} %)`)
    .join(", ")

/** How calls of a method ended, by status, since another look. */
const resultsSince = (
  before: LoadBalancerAccumulatedStatsResponse,
  after: LoadBalancerAccumulatedStatsResponse,
  method: Method
): Counts => {
  const [old, now] = [before, after].map(({ statsPerMethod }) => statsPerMethod[nameOf[method]]?.result ?? {})
  return Object.fromEntries(
    Object.entries(now ?? {})
      .map(([status, count]) => [status, count - (old?.[Number(status)] ?? 0)] as const)
      .filter(([, count]) => count > 0)
  )
}

const openOf = ({ statsPerMethod }: LoadBalancerAccumulatedStatsResponse, method: Method): number => {
  const { result = {}, rpcsStarted = 0 } = statsPerMethod[nameOf[method]] ?? {}
  return rpcsStarted - Distribution.total(result)
}

/** What a client was seen to do, in words for the report. */
type Lines = ReadonlyArray<string>

interface Measured {
  readonly client: InteropClient["name"]
  readonly byMethod: ReadonlyMap<Method, Counts>
  readonly lines: Lines
}

/** Waits until a client has what was published. */
const routed = (client: InteropClient, what: string, of: Shares["of"]) =>
  Waiting.until(
    `calls of ${client.name} to go where they are to: ${what}`,
    client.next(glance),
    (stats) =>
      stats.numFailures === 0 && entries(of).every(([method, wanted]) => sameNames(answeredBy(stats, method), wanted)),
    { limit }
  )

/** How often a window of calls is taken again that took much longer than it should; then it is judged all the same. */
const tries = 5

/** A window in which the machine was not busy with something else, where there is one. */
const quiet = <A>(calls: number, window: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.gen(function* () {
    const usual = 2 * (calls / Clients.qps) * 1_000 + 2_000
    for (let tried = 1; ; tried++) {
      const began = performance.now()
      const seen = yield* window
      if (tried === tries || performance.now() - began < usual) return seen
    }
  })

/** The next so many calls, none of which fails. */
const answered = (client: InteropClient, what: string, calls: number) =>
  Effect.gen(function* () {
    const { numFailures, ...stats } = yield* quiet(calls, client.next(calls))
    expect(numFailures, `${what}: calls of ${client.name} that failed; ${client.lastWords()}`).toBe(0)
    return stats
  })

const merged = (all: ReadonlyArray<Counts>): Counts => {
  const sum: Record<string, number> = {}
  for (const counts of all) {
    for (const [host, count] of Object.entries(counts)) sum[host] = (sum[host] ?? 0) + count
  }
  return sum
}

const shares = (client: InteropClient, what: string, { of, turns = 0 }: Shares) =>
  Effect.gen(function* () {
    const methods = entries(of)
    yield* routed(client, what, of)
    const isByChance = turns === 0 && methods.some(([, wanted]) => Object.keys(wanted).length > 1)
    const windows = yield* Effect.replicateEffect(answered(client, what, isByChance ? many : few), Math.max(1, turns))
    const byMethod = new Map<Method, Counts>()
    const lines: Array<string> = []
    for (const [method, wanted] of methods) {
      const each = windows.map((stats) => answeredBy(stats, method))
      const counts = merged(each)
      byMethod.set(method, counts)
      const [chi, bound] = [Distribution.fromShares(counts, wanted), Distribution.boundOf(Object.keys(wanted).length)]
      const words = `${client.name} ${method}: ${inWords(counts)}`
      lines.push(bound === 0 ? words : `${words}; χ² ${chi.toFixed(2)}, below ${bound}`)
      expect(Object.keys(counts).sort(), `${what}: ${words}`).toEqual(Object.keys(wanted).sort())
      if (bound > 0) expect(chi, `${what}: χ² of ${words}`).toBeLessThan(bound)
      if (turns === 0) continue
      for (const window of each) {
        const numbers = Object.keys(wanted).map((host) => window[host] ?? 0)
        const spread = Math.max(...numbers) - Math.min(...numbers)
        expect(spread, `${what}: in turn: ${client.name} ${method}: ${inWords(window)}`).toBeLessThanOrEqual(inTurn)
      }
    }
    return { client: client.name, byMethod, lines }
  })

/** Looks until so many more calls of each method have ended. */
const later = (
  client: InteropClient,
  methods: ReadonlyArray<Method>,
  before: LoadBalancerAccumulatedStatsResponse,
  count: number,
  onLook: (look: LoadBalancerAccumulatedStatsResponse) => unknown = () => undefined
) =>
  Waiting.until(
    `${count} calls of ${client.name} to end`,
    Effect.tap(client.accumulated, (look) => Effect.sync(() => onLook(look))),
    (look) => methods.every((method) => Distribution.total(resultsSince(before, look, method)) >= count),
    { limit }
  )

const statuses = (client: InteropClient, what: string, { of }: Statuses) =>
  Effect.gen(function* () {
    const wanted = entries(of)
    const methods = wanted.map(([method]) => method)
    const areSo = (seen: ReadonlyMap<Method, Counts>) =>
      wanted.every(([method, status]) => sameNames(seen.get(method) ?? {}, { [status]: 1 }))
    const next = (count: number) =>
      Effect.gen(function* () {
        const before = yield* client.accumulated
        const after = yield* later(client, methods, before, count)
        return new Map(methods.map((method) => [method, resultsSince(before, after, method)]))
      })
    yield* Waiting.until(`calls of ${client.name} to end as they are to: ${what}`, next(glance / 2), areSo, { limit })
    const byMethod = yield* quiet(few, next(few))
    const lines = methods.map((method) => `${client.name} ${method}: by status ${inWords(byMethod.get(method) ?? {})}`)
    expect(areSo(byMethod), `${what}: ${lines.join("; ")}; ${client.lastWords()}`).toBe(true)
    return { client: client.name, byMethod: new Map<Method, Counts>(), lines }
  })

const open = (client: InteropClient, what: string, { of }: Open) =>
  Effect.gen(function* () {
    const wanted = entries(of)
    const methods = wanted.map(([method]) => method)
    yield* Waiting.until(
      `${client.name} to have as many open calls as it may: ${what}`,
      client.accumulated,
      (look) => wanted.every(([method, most]) => openOf(look, method) >= most),
      { limit }
    )
    // ★ A call that is about to be refused counts as open for a moment in one client, and as ended before it began in
    // another: it is the middle one of many looks that counts.
    const looks: Array<LoadBalancerAccumulatedStatsResponse> = []
    const before = yield* client.accumulated
    const after = yield* later(client, methods, before, few, (look) => looks.push(look))
    const lines = wanted.map(([method, most]) => {
      const refused = resultsSince(before, after, method)
      const middle = looks.map((look) => openOf(look, method)).sort((a, b) => a - b)[looks.length >> 1]
      const words = `${client.name} ${method}: ${middle ?? 0} open of at most ${most}, others by status ${inWords(refused)}`
      expect(middle, `${what}: ${words}`).toBe(most)
      expect(Object.keys(refused), `${what}: ${words}`).toEqual(["14"])
      return words
    })
    return { client: client.name, byMethod: new Map<Method, Counts>(), lines }
  })

const measure = (client: InteropClient, { expect: expected, what }: Step): Effect.Effect<Measured> => {
  switch (expected._tag) {
    case "Shares":
      return shares(client, what, expected)
    case "Routed":
      return Effect.as(routed(client, what, expected.of), { client: client.name, byMethod: new Map(), lines: [] })
    case "Statuses":
      return statuses(client, what, expected)
    case "Open":
      return open(client, what, expected)
  }
}

/** Each client beside each other. */
const compare = ({ what }: Step, measured: ReadonlyArray<Measured>): Lines =>
  measured.flatMap((one, index) =>
    measured.slice(index + 1).flatMap((two) =>
      Array.from(one.byMethod).flatMap(([method, counts]) => {
        const others = two.byMethod.get(method) ?? {}
        const bound = Distribution.boundOf(Object.keys(counts).length)
        if (bound === 0) return []
        const chi = Distribution.fromEachOther(counts, others)
        expect(
          chi,
          `${what}: χ² of ${one.client} and ${two.client}: ${inWords(counts)}; ${inWords(others)}`
        ).toBeLessThan(bound)
        return [`${one.client} and ${two.client}: χ² ${chi.toFixed(2)}, below ${bound}`]
      })
    )
  )

const failuresOf = ({ numRpcsFailedByMethod }: LoadBalancerAccumulatedStatsResponse): number =>
  Distribution.total(numRpcsFailedByMethod)

class World extends Context.Tag("World")<
  World,
  { readonly name: string; readonly controlPlane: ControlPlane; readonly clients: ReadonlyArray<InteropClient> }
>() {}

const judge = ({ name, steps }: Scenario) =>
  Effect.gen(function* () {
    const { clients, controlPlane, name: plane } = yield* World
    const hosts = yield* Hosts.start(Array.from(new Set(steps.flatMap(({ mesh }) => Mesh.hostsOf(mesh)))))
    const failuresOfOurs = Effect.forEach(
      clients.filter((client) => client.name === "ours"),
      ({ accumulated }) => accumulated
    ).pipe(Effect.map((looks) => looks.reduce((sum, look) => sum + failuresOf(look), 0)))
    const report = [`${name} on ${plane}`]
    for (const step of steps) {
      const began = performance.now()
      const before = yield* failuresOfOurs
      yield* hosts.stop(step.stopped ?? [])
      // A machine that stands still for a minute fails no call.
      const { metadata = [], methods = ["UnaryCall"], timeoutSeconds = 120 } = step
      yield* Effect.forEach(clients, ({ configure }) =>
        configure({ metadata, methods, timeoutMillis: timeoutSeconds * 1_000 })
      )
      yield* controlPlane.publish(Mesh.resources(step.mesh, hosts.portOf))
      const measured = yield* Effect.forEach(clients, (client) => measure(client, step), { concurrency: "unbounded" })
      const seconds = ((performance.now() - began) / 1_000).toFixed(1)
      report.push(
        `  ${step.what} (${seconds} s)`,
        ...measured.flatMap(({ lines }) => lines).map((line) => `    ${line}`)
      )
      report.push(...compare(step, measured).map((line) => `    ${line}`))
      if (step.failsNone === true) {
        expect(
          (yield* failuresOfOurs) - before,
          `${step.what}: calls of ours that failed; ${clients.map(({ lastWords }) => lastWords()).join("; ")}`
        ).toBe(0)
      }
    }
    console.log(report.join("\n"))
  }).pipe(Effect.scoped)

class Worlds extends Context.Tag("Worlds")<Worlds, ReadonlyArray<Context.Tag.Service<World>>>() {}

/** Declares a test for each scenario, on all control planes at once: the clients wait more than they compute. */
export const tests = (
  controlPlanes: Readonly<Record<string, Effect.Effect<ControlPlane, never, Scope.Scope>>>
): void => {
  const live = Layer.scoped(
    Worlds,
    Effect.forEach(
      Object.entries(controlPlanes),
      ([name, make]) =>
        Effect.gen(function* () {
          const controlPlane = yield* make
          // The clients find something at their start.
          yield* controlPlane.publish(Mesh.resources({ routes: [], clusters: {} }, () => 0))
          return { name, controlPlane, clients: yield* Clients.startAll(controlPlane.address) }
        }),
      { concurrency: "unbounded" }
    )
  ).pipe(Layer.provideMerge(Logger.minimumLogLevel(LogLevel.Warning)))
  const names = Object.keys(controlPlanes).join(" and ")
  describe(`interop test clients on ${names}`, () => {
    const test = Shared.of(live)
    for (const scenario of scenarios) {
      test(Clients.title(`${scenario.name}: ${scenario.title}`), () =>
        Effect.flatMap(Worlds, (worlds) =>
          Effect.forEach(worlds, (world) => Effect.provideService(judge(scenario), World, world), {
            concurrency: "unbounded",
            discard: true
          })
        )
      )
    }
  })
}
