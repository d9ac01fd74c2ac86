/**
 * Whole simulations in one process and from one seed: servers, clients, their actions, and faults. The servers are real
 * `XdsServer`s and the clients real `XdsClient`s; only time and the network are simulated.
 *
 * A run ends when its script, faults and body are done and nothing has happened for a while. Then the invariants of the trace
 * are checked, everything is closed, and nothing may be left.
 *
 * @since 0.1.0
 */
import * as Bootstrap from "@effect-xds/client/Bootstrap"
import * as WatchableType from "@effect-xds/client/WatchableType"
import * as XdsClient from "@effect-xds/client/XdsClient"
import type { Protocol } from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { FanOuts } from "@effect-xds/server/FanOuts"
import * as Snapshot from "@effect-xds/server/Snapshot"
import * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import * as XdsServer from "@effect-xds/server/XdsServer"
import { ClientTransport, insecure } from "@effect-xds/transport/ClientTransport"
import { ServerTransport } from "@effect-xds/transport/ServerTransport"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Trace } from "../invariants/Trace.js"
import * as Traces from "../invariants/Trace.js"
import * as TraceInvariants from "../invariants/TraceInvariants.js"
import type { Fault, PlannedFault } from "../network/Fault.js"
import * as Faults from "../network/Fault.js"
import * as SimulatedNetwork from "../network/SimulatedNetwork.js"
import type { ResourceSpec } from "./Arbitraries.js"
import { contentOf, toResource, withMovedAliases } from "./Arbitraries.js"
import * as Directory from "./Directory.js"
import type { Action, Step } from "./Script.js"
import * as SimulatedTime from "./SimulatedTime.js"

/**
 * A server of a simulation.
 *
 * @since 0.1.0
 */
export interface ServerPlan {
  /** Its address, and its name in faults and traces. */
  readonly name: string
  /** Default: the group of a client is the cluster of its node, or that which the script moves it to. */
  readonly options?: Partial<XdsServer.Options> | undefined
  /**
   * Fills its store, beside the script; for example the user's program. Runs from each start of the server until its stop. Its
   * failure is a problem of the run.
   */
  readonly publisher?: Effect.Effect<unknown, unknown, SnapshotStore.SnapshotStore> | undefined
}

/**
 * A client of a simulation.
 *
 * @since 0.1.0
 */
export interface ClientPlan {
  /** The id of its node, and its name in scripts, faults and traces. */
  readonly name: string
  /** The cluster of its node. Default: `group`. */
  readonly group?: string | undefined
  /** Server addresses by rank. Default: the first server. */
  readonly servers?: ReadonlyArray<string> | undefined
  /** Default: `StateOfTheWorld`. */
  readonly protocol?: Protocol | undefined
  /** Default: true. */
  readonly aggregated?: boolean | undefined
  /** `fail_on_data_errors`. Default: true: deleted or rejected resources are not used any more. */
  readonly failOnDataErrors?: boolean | undefined
}

/**
 * The limits of a run.
 *
 * @since 0.1.0
 */
export interface Limits extends SimulatedTime.Limits {
  /**
   * Milliseconds without a message after which a run is quiet: longer than backoff, keepalive and resource timers. Default: 50
   * s.
   */
  readonly quiet: number
  /** Most milliseconds that a run may take to become quiet. Default: 30 minutes. */
  readonly settle: number
  /** Most events in a trace. Default: 1 000 000. */
  readonly events: number
}

/**
 * The default limits.
 *
 * @since 0.1.0
 */
export const defaultLimits: Limits = {
  ...SimulatedTime.defaultLimits,
  quiet: 50_000,
  settle: 1_800_000,
  events: 1_000_000
}

/**
 * The description of a simulation.
 *
 * @since 0.1.0
 */
export interface Plan {
  /** Seed of latencies, backoff and all other randomness. Default: 0. */
  readonly seed?: number | undefined
  readonly servers: ReadonlyArray<ServerPlan>
  readonly clients: ReadonlyArray<ClientPlan>
  readonly faults?: ReadonlyArray<PlannedFault> | undefined
  readonly script?: ReadonlyArray<Step> | undefined
  /** A program with further actions and checks, beside the script. Its failure is a problem of the run. */
  readonly body?: ((world: World) => Effect.Effect<unknown, unknown, Scope.Scope>) | undefined
  readonly network?: Omit<SimulatedNetwork.Options, "seed" | "maxEvents"> | undefined
  /** The invariants of the trace. Default: all of `TraceInvariants`. */
  readonly invariants?: Readonly<Record<string, TraceInvariants.TraceInvariant>> | undefined
  readonly limits?: Partial<Limits> | undefined
  /** Lowest level of log lines that are shown. Default: none are. */
  readonly logLevel?: LogLevel.LogLevel | undefined
}

/**
 * The world of a body. Names that the plan lacks die.
 *
 * @since 0.1.0
 */
export interface World {
  readonly client: (name: string) => XdsClient.Service
  /** The running server, or the last one. */
  readonly server: (name: string) => XdsServer.Service
  readonly store: (server: string) => SnapshotStore.Service
  /** The last events of a watch of the script. */
  readonly told: (client: string, typeUrl: string, name: string) => Told | undefined
  /** Performs an action now, as if it were in the script. */
  readonly perform: (action: Action) => Effect.Effect<void>
  /** Injects a fault now, as if it were planned. */
  readonly inject: (fault: Fault) => Effect.Effect<void>
  /** Waits until nothing has happened for a while. */
  readonly quiet: Effect.Effect<void, SimulationError>
  /** Waits until a condition holds. Checks it every 10 ms. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
  /** Adds a line to the trace. */
  readonly note: (text: string) => Effect.Effect<void>
  readonly trace: () => Trace
}

/**
 * The events of a watch: the last one that says what to use, and the last of all.
 *
 * @since 0.1.0
 */
export interface Told {
  readonly state: "Updated" | "DoesNotExist" | "Error" | undefined
  /** Updated: the fingerprint of the bytes. */
  readonly fingerprint: string | undefined
  readonly last: "Updated" | "DoesNotExist" | "Error" | "AmbientError" | "Recovered"
}

/**
 * The result of a run.
 *
 * @since 0.1.0
 */
export interface Run {
  readonly seed: number
  readonly trace: Trace
  /** Hash of the trace; see `Trace.hash`. */
  readonly hash: string
  /** The problems; empty if there are none. */
  readonly verdict: ReadonlyArray<Problem>
  /** Number of messages sent and received. */
  readonly messages: number
  /** Milliseconds of simulated time. */
  readonly duration: number
}

/**
 * A problem of a run.
 *
 * @since 0.1.0
 */
export interface Problem {
  /** The name of the invariant; `body`, `publisher` or `nothingLeft`. */
  readonly rule: string
  /** The sentence of the rule. */
  readonly sentence: string
  /** What breaks the rule. */
  readonly problem: string
}

/**
 * Error: a simulation that did not end. Its plan is invalid, or it never becomes quiet.
 *
 * @since 0.1.0
 */
export class SimulationError extends Data.TaggedError("SimulationError")<{
  /**
   * - `UnknownHost`: a step, fault or client names a client or server that does not exist; or a name occurs twice
   * - `EndlessFault`: a fault does not end within the limits
   * - `NeverQuiet`: messages continued after everything was over
   * - `TooLong`, `TooManySteps`, `Stuck`: see `SimulatedTime.SimulationAborted`
   * - `TooManyEvents`: the trace is full
   */
  readonly reason:
    "UnknownHost" | "EndlessFault" | "NeverQuiet" | "TooLong" | "TooManySteps" | "Stuck" | "TooManyEvents"
  readonly seed: number
  /** The problem, and what to do. */
  readonly detail: string
  /** The last events before the end. */
  readonly lastEvents: Trace
}> {
  override get message(): string {
    const events = this.lastEvents.length === 0 ? "" : `\nthe last events:\n${Traces.render(this.lastEvents)}`
    return `simulation with seed ${this.seed}: ${this.detail}${events}`
  }
}

const tail = (trace: Trace): Trace => trace.slice(-20)

/** The error of a plan, before it is run. */
const check = (plan: Plan, limits: Limits): SimulationError | undefined => {
  const seed = plan.seed ?? 0
  const fail = (reason: SimulationError["reason"], detail: string) =>
    new SimulationError({ reason, seed, detail, lastEvents: [] })
  const clients = new Set(plan.clients.map(({ name }) => name))
  const servers = new Set(plan.servers.map(({ name }) => name))
  if (plan.servers.length === 0) return fail("UnknownHost", "there is no server; a simulation needs one")
  const twice = [...plan.clients, ...plan.servers].map(({ name }) => name).sort()
  for (const [index, name] of twice.entries()) {
    if (twice[index + 1] === name) return fail("UnknownHost", `two machines are named ${JSON.stringify(name)}`)
  }
  const list = (names: Iterable<string>) => Array.from(names).join(", ") || "none"
  const unknown = (kind: "client" | "server", name: string, where: string): SimulationError | undefined => {
    const known = kind === "client" ? clients : servers
    if (known.has(name)) return undefined
    return fail("UnknownHost", `${where} names the ${kind} ${JSON.stringify(name)}; there are ${list(known)}`)
  }
  for (const client of plan.clients) {
    for (const server of client.servers ?? []) {
      const error = unknown("server", server, `the client ${client.name}`)
      if (error !== undefined) return error
    }
  }
  for (const [index, step] of (plan.script ?? []).entries()) {
    const where = `step ${index} of the script (${step._tag} at ${step.at} ms)`
    const error = "client" in step ? unknown("client", step.client, where) : undefined
    if (error !== undefined) return error
    if (!(step.at >= 0 && step.at <= limits.time)) return fail("TooLong", `${where} is not within limits.time`)
  }
  for (const [index, fault] of (plan.faults ?? []).entries()) {
    const where = `fault ${index} (${fault._tag} at ${fault.at} ms)`
    const named = Faults.hosts(fault)
    for (const name of named.clients) {
      const error = unknown("client", name, where)
      if (error !== undefined) return error
    }
    for (const name of named.servers) {
      const error = unknown("server", name, where)
      if (error !== undefined) return error
    }
    if (fault._tag === "ClockJump" && !clients.has(fault.host) && !servers.has(fault.host)) {
      return fail(
        "UnknownHost",
        `${where} names ${JSON.stringify(fault.host)}; there are ${list([...clients, ...servers])}`
      )
    }
    const end = fault.at + Faults.duration(fault)
    if (!(fault.at >= 0 && end <= limits.time)) {
      return fail("EndlessFault", `${where} does not end within limits.time (${limits.time / 1000} s); give it an end`)
    }
  }
  return undefined
}

const keyOf = (typeUrl: string, name: string): string => `${typeUrl} ${name}`

/** Loads the schemas of all types, so that no module is loaded once time runs. */
const loadTypes = Effect.flatMap(
  Effect.sync(() => ({ resources: ResourceType.all.map(({ typeUrl }) => toResourceOf(typeUrl)) })),
  (snapshot) => Effect.zipRight(Effect.ignore(Snapshot.encode(snapshot)), Snapshot.check(snapshot))
)

/** A store without validation: resources of scripts have only the fields that scripts need, and clients reject the `bad` ones. */
const makeStore = SnapshotStore.makeMemory({ validate: "off" })

const toResourceOf = (typeUrl: string) =>
  toEntry({ typeUrl, name: typeUrl === ResourceType.VirtualHost.typeUrl ? "a/a" : "a", content: 1 })

const toEntry = (spec: ResourceSpec): Snapshot.Entry => {
  const { aliases, name, ttl, typeUrl, value } = toResource(spec)
  return Snapshot.resource({ typeUrl, name, value }, { aliases, ttl, version: spec.version })
}

/** The types that watches of scripts use. The value is the fingerprint of the bytes. */
const watchableTypes = (): ((typeUrl: string) => WatchableType.WatchableType<string>) => {
  const types = new Map<string, WatchableType.WatchableType<string>>()
  return (typeUrl) => {
    const known = types.get(typeUrl)
    if (known !== undefined) return known
    const type = WatchableType.make({
      typeUrl,
      decode: (bytes) =>
        contentOf(bytes) === "bad" ? Either.left("its content is bad") : Either.right(Traces.fingerprint(bytes))
    })
    types.set(typeUrl, type)
    return type
  }
}

interface RunningServer {
  readonly plan: ServerPlan
  readonly clock: SimulatedTime.HostClock
  store: SnapshotStore.Store
  service: XdsServer.Service | undefined
  /** `undefined` if it is down. */
  scope: Scope.CloseableScope | undefined
}

interface RunningClient {
  readonly plan: ClientPlan
  readonly clock: SimulatedTime.HostClock
  service: XdsClient.Service
  /** `undefined` if it is down. */
  scope: Scope.CloseableScope | undefined
  readonly typeOf: (typeUrl: string) => WatchableType.WatchableType<string>
  /** Its watches, present ones or those of its next start. */
  readonly watched: Map<string, { readonly typeUrl: string; readonly name: string }>
  readonly watches: Map<string, Fiber.Fiber<void, XdsClient.DecoderConflict>>
  readonly told: Map<string, Told>
}

const isUp = ({ scope }: RunningServer): boolean => scope !== undefined

const diff = (
  before: ResourceGroup | undefined,
  after: ResourceGroup,
  traced: (resource: Resource) => Traces.TracedResource
) => {
  const upserted: Record<string, Array<Traces.TracedResource>> = {}
  const removed: Record<string, Array<string>> = {}
  const old = before ?? ResourceGroups.empty
  for (const resource of ResourceGroups.all(after)) {
    if (ResourceGroups.get(old, resource)?.fingerprint === resource.fingerprint) continue
    ;(upserted[resource.typeUrl] ??= []).push(traced(resource))
  }
  for (const { name, typeUrl } of ResourceGroups.all(old)) {
    if (ResourceGroups.get(after, { name, typeUrl }) === undefined) (removed[typeUrl] ??= []).push(name)
  }
  return { upserted, removed }
}

/** Milliseconds until a publisher notices that a server is up again, and publishes everything. */
const republishAfter = 1_000

/** Runs a plan. `onNetwork` gets the trace early, for the last events of an aborted run. */
const simulate = (plan: Plan, limits: Limits, onNetwork: (trace: () => Trace) => void) =>
  Effect.gen(function* () {
    const seed = plan.seed ?? 0
    const time = yield* SimulatedTime.SimulatedTime
    const network = yield* SimulatedNetwork.make({ ...plan.network, seed, maxEvents: limits.events })
    onNetwork(network.trace)
    const problems: Array<Problem> = []
    const servers = new Map<string, RunningServer>()
    const clients = new Map<string, RunningClient>()
    /** Group → type and name → resource that the script published. */
    const published = new Map<string, Map<string, ResourceSpec>>()

    const record = network.record
    const groupOf = new Map(plan.clients.map((own) => [own.name, own.group ?? "group"]))
    const isMoving = plan.script?.some(({ _tag }) => _tag === "Move") === true
    const directory = yield* Directory.make(groupOf)
    const fanOuts = Directory.noting(yield* FanOuts, (owner, group) => {
      const stream = isMoving ? network.streamOf(owner) : undefined
      if (stream !== undefined) record({ _tag: "Joined", stream, group })
    })
    const failed = (rule: string, sentence: string, cause: Cause.Cause<unknown>) =>
      problems.push({ rule, sentence, problem: Cause.pretty(cause) })
    const asHost = (name: string, clock: SimulatedTime.HostClock) => {
      const random = Random.make(`${seed} ${name}`)
      return <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
        effect.pipe(Effect.withClock(clock), Effect.withRandom(random))
    }

    // Servers.

    const publishAll = (server: RunningServer) =>
      Effect.forEach(
        published,
        ([group, specs]) => Effect.ignore(server.store.set(group, { resources: Array.from(specs.values(), toEntry) })),
        { discard: true }
      )

    const start = (server: RunningServer) =>
      Effect.gen(function* () {
        const { clock, plan: own, store } = server
        const scope = yield* Scope.make()
        server.scope = scope
        const known = new Map<string, ResourceGroup>()
        const see = (group: string, resources: ResourceGroup | undefined): void => {
          const before = known.get(group)
          if (resources === undefined) known.delete(group)
          else known.set(group, resources)
          const changes =
            resources === undefined
              ? { upserted: {}, removed: {} }
              : diff(before, resources, (resource) => network.traced(resource))
          record({ _tag: "Stored", server: own.name, group, ...changes, cleared: resources === undefined })
        }
        const begin = Effect.gen(function* () {
          // Before the server gets the change, so that the trace has the cause first.
          yield* store.listen(see)
          server.service = yield* XdsServer.make({
            group: (node) => (isMoving ? directory.groupOf(node.id) : node.cluster),
            ...own.options
          }).pipe(
            Effect.provide(SnapshotStore.layerOf(store)),
            Effect.provideService(FanOuts, fanOuts),
            Effect.provideService(ServerTransport, network.serverAt(own.name))
          )
          for (const group of yield* store.groups) see(group, store.unsafeGet(group))
          if (own.publisher !== undefined) {
            const publisher = Effect.provide(own.publisher, SnapshotStore.layerOf(store)).pipe(
              Effect.onExit((exit) =>
                Effect.sync(() => {
                  if (Exit.isFailure(exit) && !Cause.isInterruptedOnly(exit.cause)) {
                    failed("publisher", `the publisher of ${own.name} does not fail`, exit.cause)
                  }
                })
              )
            )
            yield* Effect.forkScoped(Effect.exit(publisher))
          }
        })
        yield* asHost(own.name, clock)(Scope.extend(begin, scope)).pipe(Effect.orDie)
      })

    const stop = (server: RunningServer) =>
      Effect.suspend(() => {
        const { scope } = server
        server.scope = undefined
        return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
      })

    for (const own of plan.servers) {
      const server: RunningServer = {
        plan: own,
        clock: time.makeClock(),
        store: yield* makeStore,
        service: undefined,
        scope: undefined
      }
      servers.set(own.name, server)
      yield* start(server)
    }

    // Clients.

    const startClient = (own: ClientPlan, clock: SimulatedTime.HostClock) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const addresses = own.servers ?? plan.servers.slice(0, 1).map(({ name }) => name)
        const bootstrap = Bootstrap.make({
          servers: addresses.map((address) => ({
            address,
            credentials: insecure,
            failOnDataErrors: own.failOnDataErrors ?? true
          })),
          node: { id: own.name, cluster: own.group ?? "group" }
        })
        const { aggregated, name, protocol } = own
        const service = yield* XdsClient.make({ bootstrap, protocol, aggregated }).pipe(
          Effect.provideService(ClientTransport, network.clientNamed(name)),
          Scope.extend(scope),
          asHost(name, clock),
          Effect.orDie
        )
        record({ _tag: "Started", host: name, group: own.group ?? "group" })
        return { scope, service }
      })

    for (const own of plan.clients) {
      const clock = time.makeClock()
      const { scope, service } = yield* startClient(own, clock)
      const typeOf = watchableTypes()
      const none = { watched: new Map(), watches: new Map(), told: new Map() }
      clients.set(own.name, { plan: own, clock, service, scope, typeOf, ...none })
    }

    const clientOf = (name: string): RunningClient => {
      const client = clients.get(name)
      if (client === undefined) throw new Error(`there is no client ${JSON.stringify(name)} in this simulation`)
      return client
    }
    const serverOf = (name: string): RunningServer => {
      const server = servers.get(name)
      if (server === undefined) throw new Error(`there is no server ${JSON.stringify(name)} in this simulation`)
      return server
    }

    // The script.

    const watch = (client: RunningClient, scope: Scope.Scope, typeUrl: string, name: string) => {
      const own = client.plan.name
      const events = Stream.runForEach(client.service.watch(client.typeOf(typeUrl), name), (event) =>
        Effect.sync(() => {
          const key = keyOf(typeUrl, name === "*" ? `* ${event.name}` : name)
          const before = client.told.get(key)
          const isState = event._tag === "Updated" || event._tag === "DoesNotExist" || event._tag === "Error"
          client.told.set(key, {
            state: isState ? event._tag : before?.state,
            fingerprint: event._tag === "Updated" ? event.value : isState ? undefined : before?.fingerprint,
            last: event._tag
          })
          const detail = event._tag === "Updated" ? event.value : event._tag === "Recovered" ? "" : event.error.message
          record({ _tag: "Told", client: own, typeUrl, name: event.name, watch: name, what: event._tag, detail })
        })
      )
      record({ _tag: "Watched", client: own, typeUrl, name })
      return asHost(own, client.clock)(Effect.forkIn(events, scope))
    }

    const perform = (action: Action): Effect.Effect<void> =>
      Effect.gen(function* () {
        switch (action._tag) {
          case "Watch": {
            const client = clientOf(action.client)
            const key = keyOf(action.typeUrl, action.name)
            if (client.watched.has(key)) return
            client.watched.set(key, action)
            const { scope } = client
            if (scope !== undefined) client.watches.set(key, yield* watch(client, scope, action.typeUrl, action.name))
            return
          }
          case "Unwatch": {
            const { client: name, typeUrl } = action
            const client = clientOf(name)
            const key = keyOf(typeUrl, action.name)
            client.watched.delete(key)
            const fiber = client.watches.get(key)
            if (fiber === undefined) return
            client.watches.delete(key)
            for (const told of Array.from(client.told.keys())) {
              if (told === key || (action.name === "*" && told.startsWith(`${key} `))) client.told.delete(told)
            }
            record({ _tag: "Unwatched", client: name, typeUrl, name: action.name })
            yield* Fiber.interrupt(fiber)
            return
          }
          case "Publish": {
            const specs = published.get(action.group) ?? new Map<string, ResourceSpec>()
            published.set(action.group, specs)
            const put = new Map(action.upsert.map((spec) => [keyOf(spec.typeUrl, spec.name), spec]))
            const asked = {
              upsert: Array.from(put.values()),
              remove: action.remove.filter(({ name, typeUrl }) => !put.has(keyOf(typeUrl, name))),
              versions: {}
            }
            // An alias moves from its former resource to the new one.
            const [after, { remove, upsert }] = withMovedAliases(specs, asked)
            specs.clear()
            for (const [key, spec] of after) specs.set(key, spec)
            const change = {
              upsert: { resources: upsert.map(toEntry) },
              remove: { resources: remove }
            }
            for (const server of servers.values()) {
              if (!isUp(server)) continue
              const whole = { resources: Array.from(specs.values(), toEntry) }
              yield* server.store.update(action.group, change).pipe(
                Effect.catchTag("GroupNotSet", () => server.store.set(action.group, whole)),
                Effect.ignore
              )
            }
            return
          }
          case "Move":
            if (!isMoving) throw new Error("no client is moved in a simulation whose script moves none")
            return yield* directory.move(action.client, action.group)
          case "Clear": {
            published.delete(action.group)
            for (const server of servers.values()) {
              if (isUp(server)) yield* Effect.orDie(server.store.clear(action.group))
            }
            return
          }
        }
      })

    const inject = (fault: Fault): Effect.Effect<void> =>
      Effect.gen(function* () {
        record({ _tag: "Fault", fault: { at: time.now(), ...fault } })
        switch (fault._tag) {
          case "Crash": {
            const server = serverOf(fault.server)
            // It is down already, and restarts after that fault.
            if (!isUp(server)) return
            yield* network.kill(fault.server)
            yield* stop(server)
            if (fault.state === "lost") server.store = yield* makeStore
            yield* Effect.sleep(fault.for)
            yield* start(server)
            yield* Effect.sleep(republishAfter)
            // It may be down again.
            if (isUp(server)) yield* publishAll(server)
            return
          }
          case "ClientCrash": {
            const client = clientOf(fault.client)
            const { scope } = client
            // It is down already, and restarts after that fault.
            if (scope === undefined) return
            client.scope = undefined
            yield* network.killClient(fault.client)
            for (const { name, typeUrl } of client.watched.values()) {
              record({ _tag: "Unwatched", client: fault.client, typeUrl, name })
            }
            client.watches.clear()
            client.told.clear()
            yield* Scope.close(scope, Exit.void)
            record({ _tag: "Stopped", host: fault.client })
            yield* Effect.sleep(fault.for)
            const started = yield* startClient(client.plan, client.clock)
            client.service = started.service
            client.scope = started.scope
            for (const [key, { name, typeUrl }] of client.watched) {
              client.watches.set(key, yield* watch(client, started.scope, typeUrl, name))
            }
            return
          }
          case "ClockJump":
            ;(clients.get(fault.host) ?? serverOf(fault.host)).clock.jump(fault.by)
            return
          case "Slow":
          case "Reset":
          case "HalfOpen":
          case "SlowReader":
          case "Partition":
            yield* network.inject(fault)
            yield* Effect.sleep(Faults.duration(fault))
            return
        }
      })

    const quiet = Effect.gen(function* () {
      const began = time.now()
      for (;;) {
        // Streams that were quiet may continue after a fault.
        const idle = time.now() - Math.max(began, network.lastActivity())
        if (idle >= limits.quiet) return
        if (time.now() - began > limits.settle) {
          const detail = `messages still go on ${limits.settle / 1000} s after everything was over`
          return yield* new SimulationError({ reason: "NeverQuiet", seed, detail, lastEvents: tail(network.trace()) })
        }
        yield* Effect.sleep(limits.quiet - idle)
      }
    })

    const world: World = {
      client: (name) => clientOf(name).service,
      server: (name) => {
        const { service } = serverOf(name)
        if (service === undefined) throw new Error(`the server ${name} was never started`)
        return service
      },
      store: (server) => serverOf(server).store,
      told: (client, typeUrl, name) => clientOf(client).told.get(keyOf(typeUrl, name)),
      perform,
      inject,
      quiet,
      until: (condition) => SimulatedTime.until(condition),
      note: (text) => Effect.sync(() => record({ _tag: "Note", text })),
      trace: network.trace
    }

    const timed = <A extends { readonly at: number }>(
      items: ReadonlyArray<A>,
      act: (item: A) => Effect.Effect<void>
    ): Effect.Effect<void> =>
      Effect.forEach(items, (item) => Effect.delay(act(item), Duration.millis(item.at)), {
        concurrency: "unbounded",
        discard: true
      })
    const inOrder = (plan.script ?? []).toSorted((one, other) => one.at - other.at)
    const script = Effect.forEach(
      inOrder,
      (step) =>
        Effect.zipRight(
          Effect.suspend(() => Effect.sleep(Math.max(0, step.at - time.now()))),
          perform(step)
        ),
      { discard: true }
    )
    const body =
      plan.body === undefined
        ? Effect.void
        : Effect.exit(Effect.scoped(Effect.suspend(() => plan.body?.(world) ?? Effect.void))).pipe(
            Effect.map((exit) => {
              if (Exit.isFailure(exit)) failed("body", "the body does not fail", exit.cause)
            })
          )
    yield* Effect.all([script, timed(plan.faults ?? [], inject), body], { concurrency: "unbounded", discard: true })
    yield* quiet
    if (network.unrecorded() > 0) {
      const detail = `more than ${limits.events} events; shorten the script or raise limits.events`
      return yield* new SimulationError({ reason: "TooManyEvents", seed, detail, lastEvents: tail(network.trace()) })
    }
    const trace = network.trace().slice()
    const duration = time.now()
    const messages = network.messages()

    // Everything that is left after closing is a leak.
    for (const { scope } of clients.values()) if (scope !== undefined) yield* Scope.close(scope, Exit.void)
    for (const server of servers.values()) yield* stop(server)
    yield* Effect.sleep(60_000)
    const left = { streams: network.openStreams(), timers: time.timers(), fibers: time.fibers() }
    if (left.streams + left.timers + left.fibers > 0) {
      problems.push({
        rule: "nothingLeft",
        sentence: "no fibers, timers or streams are left when all is closed",
        problem: `${left.streams} streams, ${left.timers} timers and ${left.fibers} fibers are left`
      })
    }
    for (const [rule, { check, sentence }] of Object.entries(plan.invariants ?? TraceInvariants.all)) {
      for (const problem of check(trace)) problems.push({ rule, sentence, problem })
    }
    return { seed, trace, hash: Traces.hash(trace), verdict: problems, messages, duration } satisfies Run
  })

/**
 * Runs a simulation. Fails with {@link SimulationError} if it does not end; other problems are in the verdict.
 *
 * @example
 * import { Simulation, Trace } from "@effect-xds/testing"
 * import { Effect } from "effect"
 *
 * const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
 *
 * const program = Effect.gen(function* () {
 *   const { trace, verdict } = yield* Simulation.run({
 *     servers: [{ name: "xds" }],
 *     clients: [{ name: "app" }],
 *     script: [
 *       { at: 0, _tag: "Watch", client: "app", typeUrl, name: "web" },
 *       { at: 100, _tag: "Publish", group: "group", upsert: [{ typeUrl, name: "web", content: 1 }], remove: [] }
 *     ],
 *     faults: [{ at: 105, _tag: "Reset", client: "app", server: "xds", delivery: "before" }]
 *   })
 *   console.log(Trace.render(trace), verdict)
 * })
 *
 * @since 0.1.0
 */
export const run = (plan: Plan): Effect.Effect<Run, SimulationError> =>
  Effect.suspend(() => {
    const limits = { ...defaultLimits, ...plan.limits }
    const wrong = check(plan, limits)
    if (wrong !== undefined) return wrong
    const seed = plan.seed ?? 0
    let trace: () => Trace = () => []
    const simulation = simulate(plan, limits, (of) => {
      trace = of
    })
    return Effect.zipRight(loadTypes, SimulatedTime.run({ seed, limits })(simulation)).pipe(
      Effect.catchTag("SimulationAborted", (error) =>
        Effect.fail(
          new SimulationError({ reason: error.reason, seed, detail: error.message, lastEvents: tail(trace()) })
        )
      ),
      Logger.withMinimumLogLevel(plan.logLevel ?? LogLevel.None)
    )
  })

/**
 * A verdict as text, one line per problem.
 *
 * @since 0.1.0
 */
export const formatVerdict = (verdict: ReadonlyArray<Problem>): string =>
  verdict.length === 0
    ? "all is well"
    : verdict.map(({ problem, rule, sentence }) => `${rule} (${sentence}): ${problem}`).join("\n")
