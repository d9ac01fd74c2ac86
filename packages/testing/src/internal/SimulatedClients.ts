/**
 * The clients of a simulation: `XdsClient`s with the watches of the script, and the last events of these.
 */
import * as Bootstrap from "@effect-xds/client/Bootstrap"
import * as WatchableType from "@effect-xds/client/WatchableType"
import * as XdsClient from "@effect-xds/client/XdsClient"
import { ClientTransport, insecure } from "@effect-xds/transport/ClientTransport"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { fingerprint } from "../invariants/Trace.js"
import { keyOf } from "../invariants/trace/TraceInvariant.js"
import type { Fault } from "../network/Fault.js"
import * as ScriptedServer from "../memory/ScriptedServer.js"
import * as ReferenceModel from "../reference/ReferenceModel.js"
import type { ClientPlan, WatchState } from "../simulation/Plan.js"
import { contentOf } from "../simulation/ResourceSpec.js"
import type { Action } from "../simulation/Script.js"
import type { HostClock } from "../simulation/SimulatedTime.js"
import type { Surroundings } from "./Surroundings.js"

/** The types that watches of scripts use. The value is the fingerprint of the bytes. */
const watchableTypes = (): ((typeUrl: string) => WatchableType.WatchableType<string>) => {
  const types = new Map<string, WatchableType.WatchableType<string>>()
  return (typeUrl) => {
    const known = types.get(typeUrl)
    if (known !== undefined) return known
    const type = WatchableType.make({
      typeUrl,
      decode: (bytes) =>
        contentOf(bytes) === "bad" ? Either.left("its content is bad") : Either.right(fingerprint(bytes))
    })
    types.set(typeUrl, type)
    return type
  }
}

/** Loads what a client loads when it is first asked for virtual hosts or scopes, so that no module is loaded once time runs. */
export const loadModules = Effect.gen(function* () {
  const bootstrap = Bootstrap.make({ servers: ["nowhere"], node: { id: "nobody" } })
  const client = yield* XdsClient.make({ bootstrap, protocol: "Incremental" })
  yield* client.virtualHosts("none")
  yield* client.scopedRoutes({ name: "none" })
}).pipe(Effect.scoped, Effect.ignore, Effect.provide(ScriptedServer.layer))

interface RunningClient {
  readonly plan: ClientPlan
  readonly clock: HostClock
  service: XdsClient.Service
  /** `undefined` if it is down. */
  scope: Scope.CloseableScope | undefined
  readonly typeOf: (typeUrl: string) => WatchableType.WatchableType<string>
  /** Its watches, present ones or those of its next start. */
  readonly watched: Map<string, { readonly typeUrl: string; readonly name: string }>
  readonly watches: Map<string, Fiber.Fiber<void, XdsClient.DecoderConflict>>
  /** By watch; of `*` and collections by watch and name. */
  readonly states: Map<string, WatchState>
}

/** The clients by name, and what happens to them. */
export interface SimulatedClients {
  /** Throws if the plan has no such client. */
  readonly get: (name: string) => RunningClient
  readonly watch: (action: Extract<Action, { readonly _tag: "Watch" }>) => Effect.Effect<void>
  readonly unwatch: (action: Extract<Action, { readonly _tag: "Unwatch" }>) => Effect.Effect<void>
  readonly crash: (fault: Extract<Fault, { readonly _tag: "ClientCrash" }>) => Effect.Effect<void>
  readonly stopAll: Effect.Effect<void>
}

/** Starts the clients of the plan. */
export const make = ({ asHost, network, plan, time }: Surroundings): Effect.Effect<SimulatedClients> =>
  Effect.gen(function* () {
    const record = network.record
    const clients = new Map<string, RunningClient>()

    const get = (name: string): RunningClient => {
      const client = clients.get(name)
      if (client === undefined) throw new Error(`there is no client ${JSON.stringify(name)} in this simulation`)
      return client
    }

    const start = (own: ClientPlan, clock: HostClock) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        const addresses = own.servers ?? plan.servers.slice(0, 1).map(({ name }) => name)
        const bootstrap = Bootstrap.make({
          servers: addresses.map((address) => ({
            address,
            credentials: insecure,
            failOnDataErrors: own.failOnDataErrors ?? true
          })),
          node: { id: own.name, cluster: own.group ?? "group" },
          // The authority of the names in collections has the same servers.
          authorities: new Map([["x", { servers: [], clientListenerResourceNameTemplate: undefined }]])
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

    const begin = (client: RunningClient, scope: Scope.Scope, typeUrl: string, name: string) => {
      const own = client.plan.name
      const events = Stream.runForEach(client.service.watch(client.typeOf(typeUrl), name), (event) =>
        Effect.sync(() => {
          const key = keyOf(typeUrl, ReferenceModel.isMany(name) ? `${name} ${event.name}` : name)
          const before = client.states.get(key)
          const isState = event._tag === "Updated" || event._tag === "DoesNotExist" || event._tag === "Error"
          client.states.set(key, {
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

    const watch = (action: Extract<Action, { readonly _tag: "Watch" }>) =>
      Effect.gen(function* () {
        const client = get(action.client)
        const key = keyOf(action.typeUrl, action.name)
        if (client.watched.has(key)) return
        client.watched.set(key, action)
        const { scope } = client
        if (scope !== undefined) client.watches.set(key, yield* begin(client, scope, action.typeUrl, action.name))
      })

    const unwatch = (action: Extract<Action, { readonly _tag: "Unwatch" }>) =>
      Effect.gen(function* () {
        const { client: name, typeUrl } = action
        const client = get(name)
        const key = keyOf(typeUrl, action.name)
        client.watched.delete(key)
        const fiber = client.watches.get(key)
        if (fiber === undefined) return
        client.watches.delete(key)
        for (const other of Array.from(client.states.keys())) {
          if (other === key || (ReferenceModel.isMany(action.name) && other.startsWith(`${key} `)))
            client.states.delete(other)
        }
        record({ _tag: "Unwatched", client: name, typeUrl, name: action.name })
        yield* Fiber.interrupt(fiber)
      })

    const crash = (fault: Extract<Fault, { readonly _tag: "ClientCrash" }>) =>
      Effect.gen(function* () {
        const client = get(fault.client)
        const { scope } = client
        // It is down already, and restarts after that fault.
        if (scope === undefined) return
        client.scope = undefined
        yield* network.killClient(fault.client)
        for (const { name, typeUrl } of client.watched.values()) {
          record({ _tag: "Unwatched", client: fault.client, typeUrl, name })
        }
        client.watches.clear()
        client.states.clear()
        yield* Scope.close(scope, Exit.void)
        record({ _tag: "Stopped", host: fault.client })
        yield* Effect.sleep(fault.for)
        const started = yield* start(client.plan, client.clock)
        client.service = started.service
        client.scope = started.scope
        for (const [key, { name, typeUrl }] of client.watched) {
          client.watches.set(key, yield* begin(client, started.scope, typeUrl, name))
        }
      })

    for (const own of plan.clients) {
      const clock = time.makeClock()
      const { scope, service } = yield* start(own, clock)
      const typeOf = watchableTypes()
      const none = { watched: new Map(), watches: new Map(), states: new Map() }
      clients.set(own.name, { plan: own, clock, service, scope, typeOf, ...none })
    }
    const stopAll = Effect.suspend(() =>
      Effect.forEach(
        clients.values(),
        ({ scope }) => (scope === undefined ? Effect.void : Scope.close(scope, Exit.void)),
        {
          discard: true
        }
      )
    )
    return { get, watch, unwatch, crash, stopAll }
  })
