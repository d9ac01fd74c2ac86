/**
 * The servers of a simulation: `XdsServer`s that start, are killed and start again, and the stores that the script fills.
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { FanOuts } from "@effect-xds/server/FanOuts"
import * as Snapshot from "@effect-xds/server/Snapshot"
import * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import * as XdsServer from "@effect-xds/server/XdsServer"
import { ServerTransport } from "@effect-xds/transport/ServerTransport"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { keyOf } from "../invariants/trace/TraceInvariant.js"
import type { TracedResource } from "../invariants/Trace.js"
import type { Fault } from "../network/Fault.js"
import * as Directory from "../simulation/Directory.js"
import type { ServerPlan } from "../simulation/Plan.js"
import type { ResourceSpec } from "../simulation/ResourceSpec.js"
import { toResource } from "../simulation/ResourceSpec.js"
import type { Action } from "../simulation/Script.js"
import type { HostClock } from "../simulation/SimulatedTime.js"
import { withMovedAliases } from "../simulation/StoreChange.js"
import type { Surroundings } from "./Surroundings.js"

/** Loads the schemas of all types, so that no module is loaded once time runs. */
export const loadTypes = Effect.flatMap(
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

interface RunningServer {
  readonly plan: ServerPlan
  readonly clock: HostClock
  store: SnapshotStore.Store
  service: XdsServer.Service | undefined
  /** `undefined` if it is down. */
  scope: Scope.CloseableScope | undefined
}

const isUp = ({ scope }: RunningServer): boolean => scope !== undefined

const diff = (
  before: ResourceGroup | undefined,
  after: ResourceGroup,
  traced: (resource: Resource) => TracedResource
) => {
  const upserted: Record<string, Array<TracedResource>> = {}
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

/** The servers by name, and what happens to them. */
export interface SimulatedServers {
  /** Throws if the plan has no such server. */
  readonly get: (name: string) => RunningServer
  /** Changes the stores of all servers that are up; the others get everything later. */
  readonly publish: (action: Extract<Action, { readonly _tag: "Publish" }>) => Effect.Effect<void>
  readonly clear: (group: string) => Effect.Effect<void>
  readonly crash: (fault: Extract<Fault, { readonly _tag: "Crash" }>) => Effect.Effect<void>
  readonly stopAll: Effect.Effect<void>
}

/** Starts the servers of the plan. Only where the script moves clients do they follow the directory. */
export const make = (
  { asHost, failed, network, plan, time }: Surroundings,
  directory: Directory.Directory,
  isMoving: boolean
): Effect.Effect<SimulatedServers> =>
  Effect.gen(function* () {
    const record = network.record
    const servers = new Map<string, RunningServer>()
    /** Group → type and name → resource that the script published. */
    const published = new Map<string, Map<string, ResourceSpec>>()
    const fanOuts = Directory.noting(yield* FanOuts, (owner, group) => {
      const stream = isMoving ? network.streamOf(owner) : undefined
      if (stream !== undefined) record({ _tag: "Joined", stream, group })
    })

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

    const get = (name: string): RunningServer => {
      const server = servers.get(name)
      if (server === undefined) throw new Error(`there is no server ${JSON.stringify(name)} in this simulation`)
      return server
    }

    const publish = (action: Extract<Action, { readonly _tag: "Publish" }>) =>
      Effect.gen(function* () {
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
      })

    const clear = (group: string) =>
      Effect.gen(function* () {
        published.delete(group)
        for (const server of servers.values()) {
          if (isUp(server)) yield* Effect.orDie(server.store.clear(group))
        }
      })

    const crash = (fault: Extract<Fault, { readonly _tag: "Crash" }>) =>
      Effect.gen(function* () {
        const server = get(fault.server)
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
    const stopAll = Effect.suspend(() => Effect.forEach(servers.values(), stop, { discard: true }))
    return { get, publish, clear, crash, stopAll }
  })
