/** A control plane of a simulation: a store that takes its time, a resolver with moods, and a server that is started again. */
import { OnDemandHosts, SnapshotStore, XdsServer } from "@effect-xds/server"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { VirtualHost } from "@effect-xds/proto/ResourceType"
import type { SimulatedNetwork } from "@effect-xds/testing/network/SimulatedNetwork"
import { ServerTransport } from "@effect-xds/transport/ServerTransport"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Random from "effect/Random"
import * as Scope from "effect/Scope"
import type { Model } from "./OnDemandModel.js"
import { routeConfigurations, scopeNames, vocabulary } from "./OnDemandModel.js"

/** The group of all clients. */
const group = "edge"

/** Hosts that the resolver made, at most. */
export const maxHosts = 6

/** Why the server may have said that a host which the resolver knows does not exist. */
export type Excuse = "unknown" | "slow" | "failed" | "refused" | "removed" | "given up"

/** `well`: only well; `any`: sometimes slow, failing, throwing or hanging. */
type Mood = "well" | "any"

export class ControlPlane {
  mood: Mood = "any"
  server: XdsServer.Service | undefined
  calls = 0
  /** Route configuration and host → reasons, and when each was last there. */
  readonly excuses = new Map<string, Map<Excuse, number>>()
  private store: SnapshotStore.Store | undefined
  private hosts: OnDemandHosts.OnDemandHosts<never> | undefined
  private scope: Scope.CloseableScope | undefined

  constructor(
    private readonly model: Model,
    private readonly network: typeof SimulatedNetwork.Service,
    private readonly now: () => number
  ) {}

  get isUp(): boolean {
    return this.scope !== undefined
  }

  /** Names of the virtual hosts in the store. */
  stored(): ReadonlyArray<string> {
    const found = this.store?.unsafeGet(group)
    if (found === undefined) return []
    return ResourceGroup.all(found).flatMap(({ name, typeUrl }) => (typeUrl === VirtualHost.typeUrl ? [name] : []))
  }

  size(): Effect.Effect<number> {
    return this.hosts?.size ?? Effect.succeed(0)
  }

  /** Changes the store at once, as another writer. A domain may be another virtual host's there, which is refused. */
  change(change: SnapshotStore.Change): Effect.Effect<void> {
    return this.store === undefined ? Effect.void : Effect.ignore(this.store.update(group, change))
  }

  excuse(routes: string, host: string, why: Excuse): void {
    const key = `${routes}/${host}`
    const all = this.excuses.get(key) ?? new Map<Excuse, number>()
    this.excuses.set(key, all.set(why, this.now()))
  }

  /** All hosts of virtual hosts that left the store or changed. */
  excuseAll(routes: string, why: Excuse): void {
    for (const host of vocabulary) this.excuse(routes, host, why)
  }

  /** @param isFresh whether what was in the store and what was made is lost */
  start(isFresh: boolean): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      if (isFresh || this.store === undefined || this.hosts === undefined) {
        const store = yield* SnapshotStore.makeMemory({ validate: "off" })
        this.store = store
        yield* Effect.orDie(
          store.set(group, {
            routes: routeConfigurations.map((name) => this.model.routeConfiguration(name)),
            scopedRoutes: scopeNames.flatMap((name) => this.model.scope(name) ?? [])
          })
        )
        this.hosts = yield* OnDemandHosts.make({
          maxHosts,
          resolve: (_client, routes, host) => this.resolve(routes, host)
        }).pipe(Effect.provideService(SnapshotStore.SnapshotStore, this.slow(store)))
      }
      const { hosts, store } = this
      const scope = yield* Scope.make()
      this.scope = scope
      this.server = yield* XdsServer.make({
        group: () => group,
        maxMissingCalls: 200,
        onMissing: (name, typeUrl, resource, node) =>
          hosts
            .onMissing(name, typeUrl, resource, node)
            // Also when it is interrupted: requests for the name joined it.
            .pipe(Effect.onError((cause) => Effect.sync(() => this.failed(resource, cause))))
      }).pipe(
        Effect.provide(SnapshotStore.layerOf(store)),
        Effect.provideService(ServerTransport, this.network.serverAt("server")),
        Scope.extend(scope),
        Effect.orDie
      )
      yield* hosts.attach(this.server)
    })
  }

  /** @param isKilled whether it ends without a word */
  stop(isKilled: boolean): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const { scope } = this
      if (scope === undefined) return
      this.scope = undefined
      this.server = undefined
      if (isKilled) yield* this.network.kill("server")
      yield* Scope.close(scope, Exit.void)
    })
  }

  private failed(resource: string, cause: Cause.Cause<unknown>): void {
    const [routes = "", host = ""] = resource.split("/")
    const isFull = String(Cause.squash(cause)).includes("the most that are allowed")
    this.excuse(routes, host, isFull ? "refused" : "failed")
  }

  /** Each change takes time before it is there, and until its writer hears of it. */
  private slow(store: SnapshotStore.Store): SnapshotStore.Service {
    /** ★ A client may subscribe to a host while it is given up: it is told that it is gone, and gets it again soon. */
    const givenUp = (change: SnapshotStore.Change): void => {
      for (const name of change.remove?.virtualHosts ?? []) {
        const [routes = "", host = ""] = name.split("/")
        for (const each of vocabulary) {
          if (this.model.find(routes, each) === Number(host.slice(1, -2))) this.excuse(routes, each, "given up")
        }
      }
    }
    const pause = Effect.flatMap(Random.nextIntBetween(0, 60), (milliseconds) => Effect.sleep(milliseconds))
    return {
      ...store,
      update: (name, change, options) =>
        pause.pipe(
          Effect.zipRight(store.update(name, change, options)),
          Effect.zipLeft(Effect.sync(() => givenUp(change))),
          Effect.zipLeft(pause)
        )
    }
  }

  private resolve(routes: string, host: string) {
    return Effect.gen(this, function* () {
      this.calls++
      const chance = this.mood === "well" ? 1 : yield* Random.next
      if (chance < 0.05) {
        this.excuse(routes, host, "failed")
        return yield* Effect.fail(new Error("the resolver fails"))
      }
      if (chance < 0.08) {
        this.excuse(routes, host, "failed")
        throw new Error("the resolver throws")
      }
      if (chance < 0.11) {
        this.excuse(routes, host, "slow")
        return yield* Effect.never
      }
      const isSlow = chance < 0.2
      if (isSlow) this.excuse(routes, host, "slow")
      yield* Effect.sleep(yield* Random.nextIntBetween(isSlow ? 1_500 : 0, isSlow ? 8_000 : 300))
      if (isSlow) this.excuse(routes, host, "slow")
      const number = this.model.find(routes, host)
      if (number === undefined) this.excuse(routes, host, "unknown")
      return number === undefined ? undefined : this.model.virtualHost(routes, number)
    })
  }
}
