/** The types of resources that a channel watches. A client has one decoder for each, which all channels share. */
import type { ResourceEvent } from "@effect-xds/client/ResourceEvent"
import * as WatchableType from "@effect-xds/client/WatchableType"
import type * as XdsClient from "@effect-xds/client/XdsClient"
import { codes } from "@effect-xds/core/protocol/StatusCode"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import * as NodeProber from "@effect-xds/discovery-node/NodeProber"
import type { Prober } from "@effect-xds/discovery-node/Prober"
import type { Resolver } from "@effect-xds/discovery-node/Resolver"
import type { Cluster, Profile } from "@effect-xds/routing/Cluster"
import * as Decoder from "@effect-xds/routing/Decoder"
import type { RouteTable } from "@effect-xds/routing/RouteTable"
import * as RouteScopes from "@effect-xds/routing/RouteScope"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type * as Steps from "@effect-xds/core/Steps"
import * as Effect from "effect/Effect"
import * as FiberHandle from "effect/FiberHandle"
import type * as Scope from "effect/Scope"
import * as ScopedRef from "effect/ScopedRef"
import * as Stream from "effect/Stream"
import * as Addresses from "./Addresses.js"
import * as ClusterResource from "./ClusterResource.js"
import { HostStatistics } from "./HostStatistics.js"
import type { LookedAfter } from "./LookedAfter.js"
import * as Looked from "./LookedAfter.js"

/** Tells changed scopes, of which many may be in use. */
const telling = function* (
  scopes: RouteScopes.RouteScopes,
  tell: (known: XdsConfig.Known<RouteScopes.RouteScopes>) => void
): Steps.Steps<RouteScopes.RouteScopes> {
  for (const value of RouteScopes.parts(scopes)) {
    tell({ _tag: "Value", value })
    yield
  }
  return scopes
}

type News = Exclude<XdsConfig.Input, { readonly _tag: "Start" | "Subscribe" | "Unsubscribe" | "Scope" }>

/** A channel that watches. */
export interface Watcher {
  /** Is open when the addresses of names may be old. */
  readonly again: Effect.Latch
  readonly tell: (news: News) => void
  /** Ends the connections to an address at once. */
  readonly cut: (address: string) => void
}

export interface Resources {
  /** Tells what is known of a resource, and what becomes of it, until it is interrupted. */
  readonly watch: (kind: XdsConfig.Kind, name: string, watcher: Watcher) => Effect.Effect<void>
  /** Asks for a resource that is watched again. Only virtual hosts are. */
  readonly refresh: (kind: XdsConfig.Kind, name: string) => Effect.Effect<void>
  readonly members: LookedAfter
  readonly hosts: HostStatistics
}

export interface Options {
  readonly profile?: Profile | undefined
  readonly prober?: Prober | undefined
  /** Names of certificate providers of the bootstrap. */
  readonly providers?: ReadonlySet<string> | undefined
}

export const make = (
  client: XdsClient.Service,
  resolver: Resolver,
  { profile = "grpc", prober = NodeProber.make, providers = new Set() }: Options = {}
): Effect.Effect<Resources, never, Scope.Scope> =>
  Effect.gen(function* () {
    const listeners = WatchableType.make(Decoder.listener())
    const routes = WatchableType.make(Decoder.routeConfiguration())
    const virtualHosts = WatchableType.make(Decoder.virtualHost())
    const clusters = WatchableType.make(ClusterResource.clusters(profile, providers))
    const scopes = WatchableType.make(Decoder.routeScope())
    const loop = yield* EventLoop.guarded
    const assignments = WatchableType.make(ClusterResource.assignments(profile))
    const events = <A>(type: WatchableType.WatchableType<A>, name: string): Stream.Stream<ResourceEvent<A>> =>
      Stream.catchAll(client.watch(type, name), ({ message }) =>
        Stream.succeed<ResourceEvent<A>>({ _tag: "Error", name, error: { code: codes.FAILED_PRECONDITION, message } })
      )
    const follow = <A>(
      type: WatchableType.WatchableType<A>,
      name: string,
      tell: (known: XdsConfig.Known<A>) => void
    ): Effect.Effect<void> =>
      Stream.runForEach(events(type, name), (event) =>
        Effect.sync(() => {
          const known = XdsConfig.knownAfter(event)
          if (known !== undefined) tell(known)
        })
      )
    const members = yield* Looked.make({
      profile,
      resolver,
      prober,
      cluster: (name) => events(clusters, name),
      assignment: (name) => events(assignments, name)
    })
    /** ★ By the rules of gRPC members are looked after only while the cluster has checks; it may get them, and lose them. */
    const cluster = (
      name: string,
      tell: (known: XdsConfig.Known<Cluster>) => void,
      cut: Watcher["cut"]
    ): Effect.Effect<void> =>
      Effect.gen(function* () {
        const looking = yield* FiberHandle.make()
        yield* Stream.runForEach(events(clusters, name), (event) => {
          const known = XdsConfig.knownAfter(event)
          if (known === undefined) return Effect.void
          if (known._tag === "Value" && known.value.members !== undefined) {
            return FiberHandle.run(looking, members.watch(name, tell, cut), { onlyIfMissing: true })
          }
          const plain = Effect.sync(() =>
            tell(known._tag === "Value" ? { _tag: "Value", value: known.value.cluster } : known)
          )
          const warning = known._tag === "Value" ? known.value.warning : ""
          return FiberHandle.clear(looking).pipe(
            Effect.zipRight(plain),
            Effect.zipRight(warning === "" ? Effect.void : Effect.logWarning(warning))
          )
        })
      }).pipe(Effect.scoped)
    /** ★ A server is told (NACK) if a virtual host that it sends has a domain of the route configuration. */
    const routeTable = (name: string, tell: (known: XdsConfig.Known<RouteTable>) => void): Effect.Effect<void> =>
      Effect.gen(function* () {
        const claim = yield* ScopedRef.make<void>(() => undefined)
        yield* Stream.runForEach(events(routes, name), (event) => {
          const known = XdsConfig.knownAfter(event)
          if (known === undefined) return Effect.void
          const table = known._tag === "Value" ? known.value : undefined
          const domains = table?.vhds === undefined ? [] : table.virtualHosts.flatMap((host) => host?.domains ?? [])
          const owned = domains.map((domain) => VirtualHostDiscovery.nameOf(name, domain.toLowerCase()))
          return ScopedRef.set(claim, Effect.ignore(client.claim(virtualHosts, name, owned))).pipe(
            Effect.zipRight(Effect.sync(() => tell(known)))
          )
        })
      }).pipe(Effect.scoped)
    /** ★ All that a response brings is one change, which takes several turns if it is much. */
    const routeScopes = (name: string, tell: (known: XdsConfig.Known<RouteScopes.RouteScopes>) => void) =>
      Effect.gen(function* () {
        let known: RouteScopes.RouteScopes | undefined
        yield* client.watchTogether(scopes, name).pipe(
          Stream.runForEach((events) =>
            Effect.gen(function* () {
              const whole = events.find((event) => event.name === name && event._tag === "Error")
              if (whole?._tag === "Error" && known === undefined) {
                return tell({ _tag: "Failed", message: whole.error.message })
              }
              const changes = events.flatMap((event): ReadonlyArray<RouteScopes.Change> => {
                if (event.name === name) return []
                return [[event.name, event._tag === "Updated" ? event.value : undefined]]
              })
              if (known !== undefined && changes.length === 0) return
              const value = yield* Slices.steps(loop, RouteScopes.changeInSteps(known ?? RouteScopes.none, changes))
              const isFirst = known === undefined
              known = value
              // What calls need that wait for all of them; later, calls go on between the parts.
              if (isFirst) return tell({ _tag: "Value", value })
              yield* Slices.steps(loop, telling(value, tell))
            })
          ),
          Effect.catchAll(({ message }) => Effect.sync(() => tell({ _tag: "Failed", message })))
        )
      })
    const hosts = new HostStatistics()
    const host = (name: string, tell: Watcher["tell"]): Effect.Effect<void> =>
      Effect.acquireUseRelease(
        Effect.sync(() => hosts.watched(name)),
        () =>
          Stream.runForEach(events(virtualHosts, name), (event) =>
            Effect.sync(() => {
              if (event._tag === "Updated") hosts.tell(name, event.value)
              if (event._tag === "DoesNotExist") hosts.tell(name, undefined)
              const known = XdsConfig.knownAfter(event)
              if (known !== undefined) tell({ _tag: "VirtualHost", name, known })
            })
          ),
        () => Effect.sync(() => hosts.unwatched(name))
      )
    return {
      members,
      hosts,
      refresh: (kind, name) =>
        kind === "VirtualHost" ? Effect.ignore(client.refresh(virtualHosts, [name])) : Effect.void,
      watch: (kind, name, { again, cut, tell }) => {
        switch (kind) {
          case "Listener":
            return follow(listeners, name, (known) => tell({ _tag: kind, name, known }))
          case "Scopes":
            return routeScopes(name, (known) => tell({ _tag: kind, name, known }))
          case "RouteConfiguration":
            return routeTable(name, (known) => tell({ _tag: kind, name, known }))
          case "VirtualHost":
            return host(name, tell)
          case "Cluster": {
            const tellCluster = (known: XdsConfig.Known<Cluster>) => tell({ _tag: kind, name, known })
            return profile === "envoy" ? members.watch(name, tellCluster, cut) : cluster(name, tellCluster, cut)
          }
          case "Assignment":
            return follow(assignments, name, (known) => {
              if (known._tag === "Failed") return tell({ _tag: kind, name, known })
              const { assignment } = known.value
              if (assignment !== undefined) tell({ _tag: kind, name, known: { _tag: "Value", value: assignment } })
            })
          case "Dns":
            return Addresses.watch(resolver, name, again, (known) => tell({ _tag: kind, name, known }))
        }
      }
    }
  })
