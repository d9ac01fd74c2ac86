import { create } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RuntimeSchema } from "@effect-xds/proto/envoy/service/runtime/v3/rtds"
import { Snapshot } from "@effect-xds/server"
import { FreePort, Waiting } from "@effect-xds/testing"
import { Effect, Exit, Scope } from "effect"
import { performance } from "node:perf_hooks"
import { describe, expect } from "vitest"
import * as Bootstrap from "../src/Bootstrap.js"
import * as Edge from "../src/Edge.js"
import * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as ControlPlane from "./ControlPlane.js"
import { aggregated, path, test } from "./EnvoyTest.js"
import { answered, is } from "./Traffic.js"

/** Milliseconds; heartbeats come at half of it, so a machine may stand still for the other half. */
const ttl = 3_000

const key = "edge.leased"

/** Requests name their cluster. */
const routes = create(RouteConfigurationSchema, {
  name: "main",
  virtualHosts: [
    {
      name: "all",
      domains: ["*"],
      routes: [
        {
          match: { pathSpecifier: { case: "prefix", value: "/" } },
          action: { case: "route", value: { clusterSpecifier: { case: "clusterHeader", value: "x-cluster" } } }
        }
      ]
    }
  ]
})

const manager = Resources.manager(Bootstrap.incremental, "main")

/** The types of what has a TTL: a cluster, a listener and a layer of the runtime. */
const types = [ResourceType.Cluster, ResourceType.Listener, ResourceType.Runtime]

/** What has a TTL is called `leased`; `freed` has one that it loses. Both variants are given the same. */
const snapshot = (one: string, freed: { readonly ttl?: number }): Snapshot.Snapshot => ({
  ...Edge.resources(Bootstrap.incremental, { weights: {}, clusters: { kept: [one], leased: [one] } }),
  clusters: [
    Resources.cluster(Bootstrap.incremental, "kept"),
    Snapshot.resource(Resources.cluster(Bootstrap.incremental, "leased"), { ttl })
  ],
  listeners: [
    Resources.listener("kept", manager),
    Snapshot.resource(Resources.listener("leased", manager), { ttl }),
    Snapshot.resource(Resources.listener("freed", manager), freed)
  ],
  runtimes: [Snapshot.resource(create(RuntimeSchema, { name: "leased", layer: { [key]: true } }), { ttl })],
  routes: [routes]
})

/** An Envoy, with requests to what has a TTL and to what has none. */
const start = (variant: Bootstrap.Variant, address: string) =>
  Effect.gen(function* () {
    const runtime = { layer: "leased", below: { [key]: false } }
    const node = { id: variant.name, cluster: "edge" }
    const envoy = yield* Envoy.start({ path, variant, node, address, runtime })
    const urlOf = (listener: string) => Effect.map(envoy.listenerPort(listener), (port) => `http://127.0.0.1:${port}/`)
    const leased = { headers: { "x-cluster": "leased" } }
    const kept = { headers: { "x-cluster": "kept" } }
    const url = yield* urlOf("kept")
    /** Waits until all that has a TTL is there, and serves. */
    const reachesAll = Effect.gen(function* () {
      yield* answered({ url, ...leased }, is("one"))
      yield* answered({ url: yield* urlOf("leased"), ...kept }, is("one"))
      yield* Waiting.until("the layer", envoy.runtime, (entries) => entries[key]?.final_value === "true")
    })
    yield* reachesAll
    const has = {
      cluster: Effect.map(envoy.configured("dynamic_active_clusters"), (names) => names.includes("leased")),
      listener: Effect.map(envoy.listeners, (names) => names.includes("leased")),
      layer: Effect.map(envoy.runtime, (entries) => entries[key]?.final_value === "true")
    }
    const interval = 20
    return {
      variant,
      has,
      toKept: yield* Http.requests({ url, ...kept, interval }),
      toLeased: [
        yield* Http.requests({ url, ...leased, interval }),
        yield* Http.requests({ url: yield* urlOf("leased"), ...kept, interval })
      ],
      freed: { url: yield* urlOf("freed"), ...kept },
      leasedCluster: { url, ...leased },
      leasedListener: Effect.map(urlOf("leased"), (url) => ({ url, ...kept })),
      reachesAll
    }
  })

type Started = Effect.Effect.Success<ReturnType<typeof start>>

/**
 * Waits until everything was there at every look for twice the TTL, and gives how often it was not. Then it begins anew: on a
 * machine that stands still for long a heartbeat comes too late, and without any nothing comes back.
 */
const holds = ({ has, variant }: Started) =>
  Effect.suspend(() => {
    let since = performance.now()
    let losses = 0
    const look = Effect.map(Effect.all([has.cluster, has.listener, has.layer]), (there) => {
      if (there.includes(false)) {
        since = performance.now()
        losses++
      }
      return performance.now() - since
    })
    // Twenty looks a second: Envoy has other things to do.
    return Waiting.until(
      `everything of ${variant.name} to be there for twice its TTL`,
      Effect.delay(look, "50 millis"),
      (milliseconds) => milliseconds >= 2 * ttl,
      { limit: "90 seconds" }
    ).pipe(Effect.map(() => losses))
  })

/** Waits until all that has a TTL is gone, and gives for each type when that was seen. */
const ends = ({ has, leasedCluster, leasedListener, variant }: Started) =>
  Effect.gen(function* () {
    const listener = yield* leasedListener
    const seen = (what: string, isThere: Effect.Effect<boolean>) =>
      Effect.map(
        Waiting.until(`the ${what} of ${variant.name} to expire`, isThere, (isThere) => !isThere),
        () => performance.now()
      )
    const [cds, lds, rtds] = yield* Effect.all(
      [seen("cluster", has.cluster), seen("listener", has.listener), seen("layer", has.layer)],
      { concurrency: "unbounded" }
    )
    yield* answered(leasedCluster, ({ status }) => status === 503)
    yield* answered(listener, ({ status }) => status === 0)
    return [
      [ResourceType.Cluster, cds],
      [ResourceType.Listener, lds],
      [ResourceType.Runtime, rtds]
    ] as const
  })

describe("Envoy, TTL", () => {
  test(
    "heartbeats keep what has a TTL, without them it expires, and a control plane that is back restores it",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const lived = yield* Scope.make()
      const port = yield* FreePort.any()
      const plane = yield* Scope.extend(ControlPlane.serve({ ttl: "always", port }), lived)
      yield* plane.store.set("edge", snapshot(one, { ttl }))
      const started = yield* Effect.all(
        aggregated.map((variant) => start(variant, plane.address)),
        { concurrency: "unbounded" }
      )
      yield* plane.store.set("edge", snapshot(one, {}))

      const from = plane.events.length
      const losses = yield* Effect.all(started.map(holds), { concurrency: "unbounded" })
      /** The positions of the events of a client and a type. */
      const positions = ({ variant }: Started, tag: "Sent" | "Acked", { typeUrl }: ResourceType.ResourceType) =>
        plane.events.flatMap((event, at) =>
          event._tag === tag && event.typeUrl === typeUrl && event.client.node?.id === variant.name ? [at] : []
        )
      for (const [at, each] of started.entries()) {
        for (const type of types) {
          const sent = positions(each, "Sent", type).filter((position) => position >= from).length
          expect(sent, `heartbeats of ${type.shortName}, ${each.variant.name}`).toBeGreaterThanOrEqual(3)
        }
        if (losses[at] === 0) expect(each.toLeased.map(({ failed }) => failed)).toEqual([0, 0])
      }
      // What was lost is rejected when it is renewed.
      if (losses.every((count) => count === 0)) {
        expect(plane.events.filter(({ _tag }) => _tag === "Nacked")).toEqual([])
      }

      yield* Scope.close(lived, Exit.void)
      const ended = yield* Effect.all(started.map(ends), { concurrency: "unbounded" })
      /** When the last response that Envoy has accepted was sent. */
      const renewed = (each: Started, type: ResourceType.ResourceType) => {
        const acked = plane.events[positions(each, "Acked", type).at(-1) ?? -1]
        const sent = positions(each, "Sent", type).findLast((at) => {
          const event = plane.events[at]
          return event?._tag === "Sent" && acked?._tag === "Acked" && event.nonce === acked.nonce
        })
        return plane.times[sent ?? -1] ?? Number.NaN
      }
      for (const [at, each] of started.entries()) {
        const took = (ended[at] ?? []).map(([type, time]) => [type.shortName, time - renewed(each, type)] as const)
        console.log(
          `TTL of ${ttl} ms, ${each.variant.name}: lost ${losses[at]} times in twice the TTL, with ` +
            `${each.toLeased.map(({ total }) => total).join(" and ")} requests; without them gone, after the last heartbeat that it ACKed, ` +
            took.map(([name, milliseconds]) => `${name} ${milliseconds.toFixed(0)} ms`).join(", ")
        )
        // Not before its time.
        for (const [name, milliseconds] of took) expect(milliseconds, name).toBeGreaterThanOrEqual(ttl - 50)
      }

      // What has no TTL, or has lost it, is not touched.
      for (const { freed } of started) yield* answered(freed, is("one"))
      const again = yield* ControlPlane.serve({ ttl: "always", port })
      yield* again.store.set("edge", snapshot(one, {}))
      yield* Effect.all(
        started.map(({ reachesAll }) => reachesAll),
        { concurrency: "unbounded" }
      )
      expect(again.events.filter(({ _tag }) => _tag === "Nacked")).toEqual([])
      for (const { toKept } of started) expect(toKept.failed, toKept.describe()).toBe(0)
    })
  )
})
