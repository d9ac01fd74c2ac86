/**
 * Clusters whose members are looked after: found, checked, and in the profile of Envoy ejected. They are told to channels
 * as clusters that have their endpoints with them; what becomes of calls is told to who looks after them.
 */
import type { ResourceEvent } from "@effect-xds/client/ResourceEvent"
import type * as DiscoveryAssignment from "@effect-xds/discovery/Assignment"
import type * as DiscoveryCluster from "@effect-xds/discovery/Cluster"
import type { AssignmentSource } from "@effect-xds/discovery/ClusterType"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import type * as Outlier from "@effect-xds/discovery/Outlier"
import * as ClusterMembers from "@effect-xds/discovery-node/ClusterMembers"
import * as Members from "@effect-xds/discovery-node/Members"
import type { Prober } from "@effect-xds/discovery-node/Prober"
import * as Probers from "@effect-xds/discovery-node/Prober"
import type { Resolver } from "@effect-xds/discovery-node/Resolver"
import * as Resolvers from "@effect-xds/discovery-node/Resolver"
import { codes } from "@effect-xds/core/protocol/StatusCode"
import type { Assignment } from "@effect-xds/routing/Assignment"
import type { Cluster, Profile } from "@effect-xds/routing/Cluster"
import type { Endpoint, Member } from "@effect-xds/routing/Endpoint"
import * as Endpoints from "@effect-xds/routing/Endpoint"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Iterable from "effect/Iterable"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { AssignmentResource, ClusterResource } from "./ClusterResource.js"

export interface Options {
  readonly profile: Profile
  readonly resolver: Resolver
  readonly prober: Prober
  readonly cluster: (name: string) => Stream.Stream<ResourceEvent<ClusterResource>>
  readonly assignment: (name: string) => Stream.Stream<ResourceEvent<AssignmentResource>>
}

export interface LookedAfter {
  /** Tells a cluster with its endpoints, and which connections are to be cut, until it is interrupted. */
  readonly watch: (
    name: string,
    tell: (known: XdsConfig.Known<Cluster>) => void,
    cut: (address: string) => void
  ) => Effect.Effect<void>
  /** What a cluster waits for that is not told yet, for people; `undefined`: the control plane. */
  readonly waitsFor: (cluster: string) => string | undefined
  /** What became of a call or a connection. */
  readonly report: (member: Member, outcome: Outlier.Outcome) => void
  /** An answer said that its server is to get no more calls. */
  readonly passiveFailure: (member: Member) => void
  /** There is a connection for calls of a cluster. */
  readonly trafficSeen: (cluster: string) => void
}

/** Addresses in a message. */
const maxShown = 3

/** What is not there for the rules of who looks after members is an error of it, and no end of its watch. */
const mapped = <A, B>(
  events: Stream.Stream<ResourceEvent<A>>,
  read: (value: A) => Either.Either<B, string>
): Stream.Stream<ResourceEvent<B>> =>
  Stream.map(events, (event): ResourceEvent<B> => {
    if (event._tag !== "Updated") return event
    return Either.match(read(event.value), {
      onLeft: (message) => ({
        _tag: "Error",
        name: event.name,
        error: { code: codes.FAILED_PRECONDITION, message }
      }),
      onRight: (value) => ({ ...event, value })
    })
  })

export const make = ({
  assignment,
  cluster,
  profile,
  prober,
  resolver
}: Options): Effect.Effect<LookedAfter, never, Scope.Scope> =>
  Effect.gen(function* () {
    /** The same resources, as the policies take them. */
    const routed = new WeakMap<DiscoveryCluster.Cluster, Cluster>()
    const listed = new WeakMap<DiscoveryAssignment.Assignment, Assignment>()
    const watches: ClusterMembers.Watches = {
      cluster: (name) =>
        mapped(cluster(name), (resource) => {
          if (resource.members === undefined) return Either.left("it has no health checks")
          routed.set(resource.members, resource.cluster)
          return Either.right(resource.members)
        }),
      assignment: ({ name, source }: AssignmentSource) =>
        source._tag === "Client"
          ? mapped(assignment(name), (resource) =>
              Either.map(resource.members(), (members) => {
                if (resource.assignment !== undefined) listed.set(members, resource.assignment)
                return members
              })
            )
          : Stream.dieMessage("only ads and self are supported as the source of endpoints")
    }
    const members = yield* ClusterMembers.fromWatches(watches).pipe(
      Effect.provideService(Resolvers.Resolver, resolver),
      Effect.provideService(Probers.Prober, prober)
    )
    const runFork = Runtime.runFork(yield* Effect.runtime())
    /** Those that channels watch, and how many do. */
    const open = new Map<string, { readonly service: ClusterMembers.Service; watchers: number }>()
    const hold = (name: string, service: ClusterMembers.Service) =>
      Effect.acquireRelease(
        Effect.sync(() => {
          const held = open.get(name) ?? { service, watchers: 0 }
          held.watchers++
          open.set(name, held)
          return held
        }),
        (held) =>
          Effect.sync(() => {
            if (--held.watchers === 0) open.delete(name)
          })
      )
    const knownOf = (now: Members.Members): XdsConfig.Known<Cluster> | undefined => {
      if (now.state === "Failed") return { _tag: "Failed", message: now.message }
      const found = now.set === undefined ? undefined : routed.get(now.set.cluster)
      if (now.state === "Warming" || found === undefined) return undefined
      if (found.discovery._tag === "Aggregate") return { _tag: "Value", value: found }
      const given = now.set?.assignment === undefined ? undefined : listed.get(now.set.assignment)
      const endpoints = profile === "envoy" ? now.assignment : passing(now, given)
      const note = now.message === "" ? now.hindrance : now.message
      return { _tag: "Value", value: { ...found, discovery: { _tag: "Members", assignment: endpoints, note } } }
    }
    const watch: LookedAfter["watch"] = (name, tell, cut) =>
      Effect.gen(function* () {
        const service = yield* members.of(name)
        yield* hold(name, service)
        // Those that have just left are cut, too.
        let addresses = new Map<string, ReadonlyArray<string>>()
        let before = addresses
        const cuts = Stream.runForEach(service.events, (event) =>
          Effect.sync(() => {
            if (event._tag !== "Drain" || !event.isCut) return
            for (const address of addresses.get(event.host) ?? before.get(event.host) ?? []) cut(address)
          })
        )
        yield* Effect.forkScoped(cuts)
        yield* Stream.runForEach(service.changes, (now) =>
          Effect.sync(() => {
            if (now.set?.cluster.hosts.closeConnectionsOnHostHealthFailure === true) {
              before = addresses
              addresses = new Map(now.all.map(({ host }) => [host.id, host.addresses]))
            }
            const known = knownOf(now)
            if (known !== undefined) tell(known)
          })
        )
      }).pipe(Effect.scoped)
    const waitsFor: LookedAfter["waitsFor"] = (name) => {
      const held = open.get(name)
      const warming = held === undefined ? undefined : Effect.runSync(held.service.warming)
      if (warming === undefined) return undefined
      const what = `of cluster ${JSON.stringify(name)}`
      // ★ Each call that runs out of time asks: all hosts are too many to look at.
      const unchecked = Array.from(Iterable.take(warming.unchecked, maxShown + 1))
      if (unchecked.length === 0) return `the endpoints ${what}`
      const addresses = unchecked.slice(0, maxShown).join(", ")
      return `the first health check ${what} at ${addresses}${unchecked.length > maxShown ? " and others" : ""}`
    }
    return {
      watch,
      waitsFor,
      report: ({ cluster: name, id }, outcome) => open.get(name)?.service.unsafeReport(id, outcome),
      passiveFailure: ({ cluster: name, id }) => {
        const held = open.get(name)
        if (held !== undefined) runFork(held.service.passiveFailure(id))
      },
      trafficSeen: (name) => {
        const held = open.get(name)
        if (held !== undefined) runFork(held.service.trafficSeen)
      }
    }
  })

/** The endpoints of an assignment by the rules of gRPC, without those whose checks fail; of a name, all of its addresses. */
const passing = (now: Members.Members, listed: Assignment | undefined): Assignment => {
  const ids = new Map<string, string>()
  const found: Array<Endpoint> = []
  for (const { flags, host } of now.all) {
    if (HealthFlags.has(flags, "FAILED_ACTIVE_HC")) continue
    ids.set(host.address, host.id)
    if (listed !== undefined) continue
    found.push(Endpoints.withMember(Members.endpointOf(host), { cluster: now.cluster, id: host.id }))
  }
  if (listed === undefined) {
    const priorities = found.length === 0 ? [] : [[{ name: "", weight: 1, endpoints: found }]]
    return { name: now.cluster, priorities, drops: [] }
  }
  return {
    ...listed,
    priorities: listed.priorities.map((localities) =>
      localities.map((locality) => ({
        ...locality,
        endpoints: locality.endpoints.flatMap((endpoint) => {
          const id = ids.get(endpoint.addresses[0] ?? "")
          return id === undefined ? [] : [Endpoints.withMember(endpoint, { cluster: now.cluster, id })]
        })
      }))
    )
  }
}
