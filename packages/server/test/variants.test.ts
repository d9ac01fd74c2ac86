import { create, fromBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Layer, Logger, Option } from "effect"

const RDS = ResourceType.RouteConfiguration.typeUrl
const CDS = ResourceType.Cluster.typeUrl

const only = (env: string) => ({ constraints: { _tag: "Value", key: "env", value: env } as const })
const none = { constraints: { _tag: "Not", constraints: { _tag: "Exists", key: "env" } } } as const
const routes = (name: string, cluster = "a") =>
  create(RouteConfigurationSchema, {
    name,
    virtualHosts: [
      {
        name: "all",
        domains: ["*"],
        routes: [
          {
            match: { pathSpecifier: { case: "prefix", value: "/" } },
            action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: cluster } } }
          }
        ]
      }
    ]
  })

const Live = XdsServer.layer({ group: () => "g" }).pipe(
  Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
  Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
)

/** The clusters that the routes in a response lead to, with the names of the routes. */
const leads = ({ message }: MemoryClient.Received): ReadonlyArray<string> =>
  message.$typeName === "envoy.service.discovery.v3.DeltaDiscoveryResponse"
    ? message.resources.map(({ name, resource, resourceName }) => {
        const action = fromBinary(RouteConfigurationSchema, resource?.value ?? new Uint8Array()).virtualHosts[0]
          ?.routes[0]?.action
        const specifier = action?.case === "route" ? action.value.clusterSpecifier : undefined
        return `${resourceName?.name ?? name} to ${specifier?.case === "cluster" ? specifier.value : ""}`
      })
    : []

const asks = (env: string | undefined) =>
  Request.incremental({
    typeUrl: RDS,
    node: new Uint8Array(),
    resourceNamesSubscribe: ["r"],
    ...(env !== undefined && { parameters: new Map([["", new Map([["env", env]])]]) })
  })

describe("variants of a resource", () => {
  it.effect("each client gets the one that is for it, and its changes alone", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const of = (prod: string) => [
        Snapshot.resource(routes("r", prod), only("prod")),
        Snapshot.resource(routes("r", "tests"), only("test")),
        Snapshot.resource(routes("r", "plain"), none)
      ]
      yield* store.set("g", { routes: of("one") })
      const [prod, test, plain] = yield* Effect.all([MemoryClient.open(), MemoryClient.open(), MemoryClient.open()])
      prod.send(asks("prod"))
      test.send(asks("test"))
      plain.send(asks(undefined))
      expect(leads(yield* prod.receive)).toEqual(["r to one"])
      expect(leads(yield* test.receive)).toEqual(["r to tests"])
      expect(leads(yield* plain.receive)).toEqual(["r to plain"])
      yield* store.update("g", { upsert: { routes: of("two") } })
      expect(leads(yield* prod.receive)).toEqual(["r to two"])
      expect([test.unread(), plain.unread()]).toEqual([0, 0])
      yield* store.update("g", { remove: { routes: ["r"] } })
      const { message, removed } = yield* test.receive
      expect(removed).toEqual([])
      expect("removedResourceNames" in message && message.removedResourceNames.map(({ name }) => name)).toEqual(["r"])
    }).pipe(Effect.provide(Live))
  )

  it.effect("those that overlap, stand beside one for all, or have aliases are refused in words", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const why = (...given: ReadonlyArray<Snapshot.Item>) =>
        Effect.map(Effect.either(store.set("g", { resources: given })), (result) =>
          Either.isLeft(result) ? result.left.message : ""
        )
      const route = Snapshot.resource(routes("r"), only("prod"))
      expect(yield* why(route, route)).toBe(
        'RDS: resource "r": its variants do not exclude each other: "env=prod" and "env=prod" both match env=prod'
      )
      expect(yield* why(route, routes("r"))).toContain('the name "r" is given twice')
      expect(yield* why(Snapshot.resource(routes("r"), { ...only("prod"), aliases: ["s"] }))).toBe(
        'RDS: resource "r": a variant has no aliases; leave them out'
      )
    }).pipe(Effect.provide(Live))
  )

  it.effect("★ each is checked by the rules of its fields, and by those over the group", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const bad = create(RouteConfigurationSchema, { name: "r", virtualHosts: [{ name: "", domains: [] }] })
      const refused = yield* Effect.flip(
        store.set("g", {
          routes: [Snapshot.resource(routes("r"), only("prod")), Snapshot.resource(bad, only("test"))]
        })
      )
      expect(refused.message).toContain("virtual_hosts[0]")
      yield* store.set("g", {
        clusters: [create(ClusterSchema, { name: "a" })],
        routes: [Snapshot.resource(routes("r", "a"), only("prod")), Snapshot.resource(routes("r", "b"), only("test"))]
      })
      const dangling = yield* Effect.flip(
        store.update(
          "g",
          { upsert: { routes: [Snapshot.resource(routes("r", "c"), only("prod"))] } },
          { groupRules: "refuse" }
        )
      )
      expect(dangling.message).toContain('names cluster "c", which is not there')
      yield* store.update(
        "g",
        { upsert: { routes: [Snapshot.resource(routes("r", "a"), only("prod"))] } },
        { groupRules: "refuse" }
      )
    }).pipe(Effect.provide(Live))
  )
})

describe("an error in the place of a resource", () => {
  it.effect("is told to who asks for the name, until there is one", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const error = { code: 14, message: "no database" }
      yield* store.set("g", {
        clusters: [create(ClusterSchema, { name: "a" }), Snapshot.unavailable({ typeUrl: CDS, name: "b" }, error)]
      })
      const client = yield* MemoryClient.open()
      const names = { typeUrl: CDS, node: new Uint8Array(), resourceNamesSubscribe: ["a", "b"] }
      client.send(Request.incremental(names))
      const told = yield* client.receive
      expect([told.names, told.removed]).toEqual([["a"], ["b"]])
      expect(
        "resourceErrors" in told.message &&
          told.message.resourceErrors.map(({ errorDetail, resourceName }) => [resourceName?.name, errorDetail?.message])
      ).toEqual([["b", "no database"]])
      yield* store.update("g", { upsert: { clusters: [create(ClusterSchema, { name: "b" })] } })
      expect((yield* client.receive).names).toEqual(["b"])
      const { own } = Option.getOrThrow(yield* store.get("g"))
      expect(own.isVaried).toBe(false)
      const wrong = { listeners: [Snapshot.unavailable({ typeUrl: CDS, name: "b" }, error)] }
      expect((yield* Effect.flip(store.set("g", wrong))).message).toContain("move it to its own property")
      const ok = { resources: [Snapshot.unavailable({ typeUrl: CDS, name: "b" }, { ...error, code: 0 })] }
      expect((yield* Effect.flip(store.set("g", ok))).message).toContain("0 is not the code of an error")
      yield* store.set("g", { listeners: [create(ListenerSchema, { name: "l" })] }, { validate: "off" })
    }).pipe(Effect.provide(Live))
  )
})
