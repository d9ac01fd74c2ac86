/** Types that no table knows, over REST: by their path, as JSON with a registry and as bytes without one. */
import { create, createFileRegistry, fromBinary, fromJson, type DescMessage, toBinary } from "@bufbuild/protobuf"
import { reflect } from "@bufbuild/protobuf/reflect"
import { FieldDescriptorProto_Label, FieldDescriptorProto_Type, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { Bootstrap, WatchableType, XdsClient } from "@effect-xds/client"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { DiscoveryRequestSchema, DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Snapshot } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { RestClient } from "@effect-xds/transport-rest"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Either, Exit, Layer, Logger, Stream } from "effect"
import { contentOf, node, request, serve } from "./ControlPlane.js"

const typeUrl = "type.googleapis.com/acme.v1.Widget"
const path = "/v3/discovery:widgets"

const field = (name: string, number: number, type: FieldDescriptorProto_Type) => ({
  name,
  jsonName: name,
  number,
  type,
  label: FieldDescriptorProto_Label.OPTIONAL
})

/** `acme.v1.Widget`: a name and a size. */
const registry = createFileRegistry(
  create(FileDescriptorSetSchema, {
    file: [
      {
        name: "acme/v1/widget.proto",
        package: "acme.v1",
        syntax: "proto3",
        messageType: [
          {
            name: "Widget",
            field: [
              field("name", 1, FieldDescriptorProto_Type.STRING),
              field("size", 2, FieldDescriptorProto_Type.UINT32)
            ]
          }
        ]
      }
    ]
  })
)

const schema = (): DescMessage => {
  const found = registry.getMessage("acme.v1.Widget")
  if (found === undefined) throw new Error("there is no acme.v1.Widget")
  return found
}

const bytesOf = (name: string, size: number): Uint8Array => toBinary(schema(), fromJson(schema(), { name, size }))

const widget = (name: string, size: number) =>
  Snapshot.resource({ typeUrl, name, value: bytesOf(name, size) }, { isUnknownType: true })

/** As an application has it that knows how to read the bytes. */
const widgets = WatchableType.make({
  typeUrl,
  decode: (bytes) => {
    const found = schema().fields.find(({ name }) => name === "size")
    return found === undefined
      ? Either.left("no size")
      : Either.right(reflect(schema(), fromBinary(schema(), bytes)).get(found))
  }
})

const connect = (port: number, options: RestClient.Options) =>
  Effect.map(
    Layer.build(
      XdsClient.layer({
        aggregated: false,
        bootstrap: Bootstrap.make({ servers: [`http://127.0.0.1:${port}`], node: { id: "c1", cluster: "edge" } })
      }).pipe(
        Layer.provide(RestClient.layer({ refreshDelay: 5, ...options })),
        Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
      )
    ),
    (context) => Context.get(context, XdsClient.XdsClient)
  )

describe("a type that no table knows, over REST", () => {
  it.scopedLive("is answered by its path, in JSON with the registry", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ types: [{ typeUrl, path, registry }] })
      yield* store.set("edge", { resources: [widget("w", 7)] })
      const ask = (json: object) => Effect.promise(() => request(port, { path, json: { node: node(), ...json } }))
      const reply = yield* ask({ resource_names: ["w"] })
      expect(reply.status).toBe(200)
      expect(reply.json).toMatchObject({ typeUrl, resources: [{ "@type": typeUrl, name: "w", size: 7 }] })
      expect((yield* ask({ resource_names: ["w"], version_info: contentOf(reply).version })).status).toBe(304)
      expect((yield* ask({ type_url: "type.googleapis.com/acme.v1.Other" })).status).toBe(400)
    })
  )

  it.scopedLive("is answered as bytes without one, and JSON of it is refused with words", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ types: [{ typeUrl, path }] })
      yield* store.set("edge", { resources: [widget("w", 7)] })
      const body = toBinary(
        DiscoveryRequestSchema,
        create(DiscoveryRequestSchema, {
          node: create(NodeSchema, { id: "n2", cluster: "edge" }),
          resourceNames: ["w"]
        })
      )
      const headers = { "content-type": "application/x-protobuf" }
      const reply = yield* Effect.promise(() => request(port, { path, headers, body }))
      const response = fromBinary(DiscoveryResponseSchema, reply.body)
      expect([response.typeUrl, response.resources.map(({ typeUrl, value }) => [typeUrl, [...value]])]).toEqual([
        typeUrl,
        [[typeUrl, [...bytesOf("w", 7)]]]
      ])
      const json = yield* Effect.promise(() => request(port, { path, json: { node: node(), resource_names: ["w"] } }))
      expect(json.status).toBe(500)
      expect(json.body.toString()).toContain("acme.v1.Widget")
    })
  )

  it.scopedLive.each([
    { format: "json" as const, type: { typeUrl, path, registry } },
    { format: "protobuf" as const, type: { typeUrl, path } }
  ])("is watched with RestClient in $format, and changes", ({ format, type }) =>
    Effect.gen(function* () {
      const { port, store } = yield* serve({ types: [type] })
      yield* store.set("edge", { resources: [widget("w", 1)] })
      const client = yield* connect(port, { format, types: [type] })
      const sizes: Array<unknown> = []
      yield* client.watch(widgets, "w").pipe(
        Stream.runForEach((event) =>
          Effect.sync(() => sizes.push(event._tag === "Updated" ? event.value : event._tag))
        ),
        Effect.forkScoped
      )
      yield* eventually(() => expect(sizes).toEqual([1]))
      yield* store.set("edge", { resources: [widget("w", 2)] })
      yield* eventually(() => expect(sizes).toEqual([1, 2]))
    })
  )

  it.scopedLive("needs a path that no other type has", () =>
    Effect.gen(function* () {
      const problems = [
        [{ typeUrl, path: "/v3/discovery:clusters" }, "is that of another type"],
        [{ typeUrl, path: "widgets" }, "is to begin with /"],
        [{ typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster", path }, "has a path already"]
      ] as const
      for (const [type, reason] of problems) {
        const exit = yield* Effect.exit(Layer.build(Layer.scopedDiscard(serve({ types: [type] }))))
        expect(Exit.isFailure(exit) && String(exit.cause)).toContain(reason)
        const channel = RestClient.make({ types: [type] }).connect({
          address: "h:1",
          credentials: { _tag: "Insecure" }
        })
        expect(String(yield* Effect.flip(channel))).toContain(reason)
      }
    })
  )
})
