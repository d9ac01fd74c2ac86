/**
 * Virtual hosts that are made when a client first asks for them (VHDS): a resolver answers for each host, and nothing is loaded up
 * front. So the memory and the cost of a server do not depend on how many hosts there are, only on how many are subscribed to.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Given from "@effect-xds/transport/Given"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { NodeIdentity } from "./ConnectedClient.js"
import * as Snapshot from "./Snapshot.js"
import * as SnapshotStore from "./SnapshotStore.js"
import type * as XdsServer from "./XdsServer.js"

/**
 * Who asks for a virtual host.
 *
 * @since 0.1.0
 */
export interface Client {
  /** ★ The answer is for all nodes of the group: a node that is to get another one needs a group of its own. */
  readonly group: string
  /** Whose request named the host first; `undefined`: its virtual host was removed, and is asked for again. */
  readonly node: NodeIdentity | undefined
}

/**
 * Options of virtual hosts on demand.
 *
 * @since 0.1.0
 */
export interface Options<in out R = never> {
  /**
   * The virtual host of a host, or `undefined` if there is none: the client is told so at once. It may answer for other hosts,
   * too, by its domains. Its name must have no slash, see `Snapshot.virtualHost`. The host is in lower case if the client is Envoy.
   *
   * It may fail, throw, or take too long (`missingTimeout` of the server), and what it gives may be refused by the store, or be
   * for other hosts only: that is logged, and the host counts as unknown until a client asks again.
   */
  readonly resolve: (
    client: Client,
    routeConfiguration: string,
    host: string
  ) => Effect.Effect<VirtualHost | undefined, unknown, R>
  /**
   * The most virtual hosts in the store that the resolver made since this was made, of all groups. Above it, those go that no client subscribes to,
   * the oldest first; if there are none of these among the 16 384 that were looked at longest ago (wildcard domains: among 4), a
   * new one is not added. Default: 10 000.
   */
  readonly maxHosts?: number | undefined
}

/**
 * Virtual hosts on demand.
 *
 * @since 0.1.0
 */
export interface OnDemandHosts<out R> {
  /** For the option `onMissing` of a server. Names of other types are left alone. */
  readonly onMissing: (
    group: string,
    typeUrl: string,
    name: string,
    node?: NodeIdentity
  ) => Effect.Effect<void, unknown, R>
  /** Tells which server has `onMissing`: it knows which hosts are subscribed to. Until then none is given up. */
  readonly attach: (server: XdsServer.Service) => Effect.Effect<void>
  /** The number of virtual hosts in the store. */
  readonly size: Effect.Effect<number>
}

/** A virtual host in the store. */
interface Made {
  readonly group: string
  readonly resource: string
  /** Names and aliases that lead to it, wildcard domains last. */
  readonly names: ReadonlyArray<string>
}

const { typeUrl: VHDS } = ResourceType.VirtualHost

/** How many are looked at for one that nobody subscribes to: a call must not take long. */
const longestLook = 16_384

/** A wildcard domain is compared with every name that is subscribed to: it counts as so many. */
const wildcardLook = 4_096

const namesOf = (routes: string, { domains, name }: VirtualHost): ReadonlyArray<string> => {
  const all = new Set([name, ...domains.map((domain) => domain.toLowerCase())])
  const names = Array.from(all, (each) => VirtualHostDiscovery.nameOf(routes, each))
  return [
    ...names.filter((each) => !VirtualHostDiscovery.isWildcard(each)),
    ...names.filter(VirtualHostDiscovery.isWildcard)
  ]
}

const answers = (routes: string, virtualHost: VirtualHost, asked: string): boolean =>
  namesOf(routes, virtualHost).some(
    (name) =>
      name === asked.toLowerCase() ||
      name === asked ||
      (VirtualHostDiscovery.isWildcard(name) && VirtualHostDiscovery.matches(name, asked))
  )

/**
 * Makes virtual hosts with a resolver and adds them to the store: one in memory, which one server has for itself. ★ It counts what it made
 * itself, and knows the clients of one server. So hosts of an earlier process would stay in a store that outlives it, and hosts would be
 * removed that only clients of other servers use.
 *
 * @example
 * import { OnDemandHosts, XdsServer } from "@effect-xds/server"
 * import { Effect } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const hosts = yield* OnDemandHosts.make({ resolve: () => Effect.succeed(undefined) })
 *   const server = yield* XdsServer.make({ group: (node) => node.cluster, onMissing: hosts.onMissing })
 *   yield* hosts.attach(server)
 * })
 *
 * @since 0.1.0
 */
export const make = <R = never>({
  maxHosts = 10_000,
  resolve
}: Options<R>): Effect.Effect<OnDemandHosts<R>, never, SnapshotStore.SnapshotStore> =>
  Effect.map(Effect.zipRight(BadOption.check({ maxHosts }, { maxHosts: 0 }), SnapshotStore.SnapshotStore), (store) => {
    /** By group and resource name; the oldest first. */
    const made = new Map<string, Made>()
    /** Keys whose hosts are being added or given up: ★ changes of one host must not overtake each other. */
    const changing = new Map<string, Effect.Latch>()
    let server: XdsServer.Service | undefined

    const isSubscribed = ({ group, names }: Made): boolean =>
      server === undefined || names.some((name) => server?.isSubscribed(group, VHDS, name))

    /** The oldest that nobody subscribes to. Those that are subscribed to are younger after that. */
    const unused = (): readonly [key: string, host: Made] | undefined => {
      let looks = 0
      for (const [key, host] of made) {
        const isWide = host.names.some(VirtualHostDiscovery.isWildcard)
        looks += isWide ? wildcardLook : 1
        if (looks > longestLook) return undefined
        if (changing.has(key)) continue
        if (!isSubscribed(host)) return [key, host]
        made.delete(key)
        made.set(key, host)
      }
      return undefined
    }

    /**
     * ★ A client may have subscribed to a host while it was given up: it was sent the host, and then that it is gone. It gets it
     * again at once; the server alone would ask after `missingAgainAfter`.
     */
    const again = ({ group, names }: Made): Effect.Effect<void, unknown, R> =>
      Effect.suspend(() => {
        const wanted = names.find(
          (name) => !VirtualHostDiscovery.isWildcard(name) && server?.isSubscribed(group, VHDS, name) === true
        )
        // ★ Nor is a defect one of the call that this stands in: its own host is there. The server asks, and tells of it.
        return wanted === undefined
          ? Effect.void
          : Effect.asVoid(Effect.exit(Effect.suspend(() => ask(group, wanted, undefined))))
      })

    // ★ It changes as a whole, also if the call has taken too long, or the server ends: else a host that is in the store would not
    // count, or a latch that is closed would stay so.
    const add = (group: string, routes: string, virtualHost: VirtualHost): Effect.Effect<void, unknown, R> =>
      Effect.uninterruptibleMask((restore) => {
        const resource = VirtualHostDiscovery.nameOf(routes, virtualHost.name)
        const key = JSON.stringify([group, resource])
        const before = changing.get(key)
        if (before !== undefined) return restore(Effect.zipRight(before.await, add(group, routes, virtualHost)))
        const known = made.get(key)
        const isFull = known === undefined && made.size >= maxHosts
        const old = isFull ? unused() : undefined
        if (isFull && old === undefined) {
          return Effect.fail(
            new Error(`${maxHosts} hosts are subscribed to, the most that are allowed; it is not added`)
          )
        }
        const added: Made = { group, resource, names: namesOf(routes, virtualHost) }
        const latch = Effect.unsafeMakeLatch()
        const keys = old === undefined ? [key] : [key, old[0]]
        for (const each of keys) changing.set(each, latch)
        if (old !== undefined) made.delete(old[0])
        made.set(key, added)
        // ★ In an effect: a virtual host that cannot be read, or a store that throws, would leave the latch closed.
        const change = Effect.suspend(() => {
          const upsert = { virtualHosts: [Snapshot.virtualHost(routes, virtualHost)] }
          const removal = old === undefined ? {} : { remove: { virtualHosts: [old[1].resource] } }
          const isElsewhere = old !== undefined && old[1].group !== group
          // A group that was cleared has no hosts.
          const giveUp = isElsewhere
            ? Effect.catchTag(store.update(old[1].group, removal), "GroupNotSet", () => Effect.void)
            : Effect.void
          return Effect.zipRight(giveUp, store.update(group, { upsert, ...(isElsewhere ? {} : removal) }))
        })
        return change.pipe(
          Effect.onError(() => Effect.forEach([[key, added] as const, ...(old === undefined ? [] : [old])], count)),
          Effect.ensuring(
            Effect.suspend(() => {
              for (const each of keys) changing.delete(each)
              return latch.open
            })
          ),
          Effect.zipRight(old === undefined ? Effect.void : restore(again(old[1])))
        )
      })

    /** Whether it counts after a change that failed: if it is in the store. */
    const count = ([key, host]: readonly [key: string, host: Made]): Effect.Effect<void> =>
      Effect.map(store.get(host.group), (found) => {
        const isThere = Option.exists(
          found,
          ({ own }) => ResourceSet.get(ResourceGroup.set(own, VHDS), host.resource) !== undefined
        )
        if (isThere) made.set(key, host)
        else made.delete(key)
      })

    const ask = (group: string, name: string, node: NodeIdentity | undefined): Effect.Effect<void, unknown, R> => {
      const { host, routeConfiguration } = VirtualHostDiscovery.split(name) ?? { host: "", routeConfiguration: "" }
      if (host === "") return Effect.void
      const resolved = resolve({ group, node }, routeConfiguration, host)
      if (!Effect.isEffect(resolved))
        return Effect.die(new TypeError(`resolve gave no Effect: ${Given.kindOf(resolved)}`))
      return Effect.flatMap(resolved, (virtualHost) => {
        if (virtualHost === undefined) return Effect.void
        // ★ Each request for such a host would add one that nobody is sent.
        return answers(routeConfiguration, virtualHost, name)
          ? add(group, routeConfiguration, virtualHost)
          : Effect.fail(
              new Error(`virtual host ${JSON.stringify(virtualHost.name)} has no domain for it; it is not added`)
            )
      })
    }

    return {
      onMissing: (group, typeUrl, name, node) => (typeUrl === VHDS ? ask(group, name, node) : Effect.void),
      attach: (given) =>
        Effect.sync(() => {
          server = given
        }),
      size: Effect.sync(() => made.size)
    }
  })
