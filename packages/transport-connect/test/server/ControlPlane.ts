/**
 * The whole server on a real socket: store, protocol and transport, with all that it says.
 */
import { create, toBinary } from "@bufbuild/protobuf"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import type { Snapshot } from "@effect-xds/server"
import { type ServerEvent, SnapshotStore, XdsServer, XdsServerMetrics } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectServer, ConnectServerMetrics } from "@effect-xds/transport-connect"
import { Context, Effect, Layer, Logger, Metric, Stream } from "effect"
import { expect } from "vitest"

export const CDS = ResourceType.Cluster.typeUrl
export const EDS = ResourceType.ClusterLoadAssignment.typeUrl

/** The group that every client of these tests belongs to. */
export const group = "edge"

/** What a server counts, as it is now: gauges and counters of the server and of its transport. */
const figures = Effect.gen(function* () {
  const refused = (reason: ConnectServerMetrics.RefusalReason) =>
    Effect.map(Metric.value(ConnectServerMetrics.refusedStreams(reason)), ({ count }) => count)
  return {
    connections: (yield* Metric.value(ConnectServerMetrics.connections)).count,
    calls: (yield* Metric.value(ConnectServerMetrics.streams)).count,
    streams: (yield* Metric.value(XdsServerMetrics.streams)).value,
    deadlines: (yield* Metric.value(XdsServerMetrics.deadlines)).value,
    violations:
      (yield* Metric.value(XdsServerMetrics.violations)).count +
      (yield* refused("malformed message")) +
      (yield* refused("message too large"))
  }
})

export const serve = <R = never>(options: Partial<XdsServer.Options<R>> = {}, transport: ConnectServer.Options = {}) =>
  Effect.gen(function* () {
    const logs: Array<string> = []
    const logger = Logger.make(({ message }) => {
      logs.push(String(Array.isArray(message) ? message[0] : message))
    })
    // Metrics are the process's: what earlier tests left would be counted here.
    yield* eventually(async () =>
      expect(await Effect.runPromise(figures)).toMatchObject({ connections: 0, calls: 0, streams: 0, deadlines: 0 })
    )
    const { violations } = yield* figures
    const context = yield* Layer.build(
      XdsServer.layer<R>({ group: (node) => node.cluster, eventCapacity: 100_000, ...options }).pipe(
        Layer.provideMerge(SnapshotStore.layerMemory()),
        Layer.provide(ConnectServer.layer(transport)),
        Layer.provide(Logger.replace(Logger.defaultLogger, logger))
      )
    )
    const server = Context.get(context, XdsServer.XdsServer)
    const store = Context.get(context, SnapshotStore.SnapshotStore)
    const events: Array<ServerEvent.ServerEvent> = []
    yield* server.events.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkScoped
    )
    // The subscription begins when its fiber runs.
    yield* Effect.yieldNow()
    return {
      ...server,
      store,
      events,
      logs,
      port: Number(server.address.split(":").at(-1)),
      /** What the server counted since it began. */
      figures: Effect.map(figures, (now) => ({ ...now, violations: now.violations - violations })),
      /** The node ids of the streams that are open, sorted. */
      clients: Effect.map(server.status, (status) => status.map(({ node }) => node?.id ?? "").sort())
    }
  })

/** A cluster with something in it that may change. */
export const cluster = (name: string, content = "") => create(ClusterSchema, { name, altStatName: content })

export const clusters = (...names: ReadonlyArray<string>) => ({ clusters: names.map((name) => cluster(name)) })

export const assignment = (clusterName: string, content = 140) =>
  create(ClusterLoadAssignmentSchema, { clusterName, policy: { overprovisioningFactor: content } })

export const endpoints = (...names: ReadonlyArray<string>) => ({ endpoints: names.map((name) => assignment(name)) })

/** A cluster of about so many bytes, encoded. */
export const largeCluster = (name: string, bytes: number, content: number): Snapshot.Encoded => ({
  typeUrl: CDS,
  name,
  value: toBinary(ClusterSchema, cluster(name, String(content).padEnd(bytes, ".")))
})
