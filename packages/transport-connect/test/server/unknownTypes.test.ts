/** Types that no table knows: bytes go in, and the same bytes come out. */
import { fromBinary, create, toBinary } from "@bufbuild/protobuf"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Snapshot } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as GrpcClient from "../GrpcClient.js"
import { deltaPath } from "../RecordingServer.js"
import { serve } from "./ControlPlane.js"

const typeUrl = "type.googleapis.com/acme.v1.Widget"
const value = (content: number) => Uint8Array.of(0x0a, 1, content)
const widget = (name: string, content: number) =>
  Snapshot.resource({ typeUrl, name, value: value(content) }, { isUnknownType: true })

describe("a type that no table knows", () => {
  it.scopedLive("★ is served as bytes to a real gRPC client, in both protocols, and changes", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      yield* server.store.set("edge", { resources: [widget("w", 1)] })
      const client = yield* GrpcClient.connect(`127.0.0.1:${server.port}`)
      const node = { id: "n", cluster: "edge" }

      const sotw = GrpcClient.open(client)
      const ask = { node, typeUrl, resourceNames: ["w"] }
      sotw.stream.write(Buffer.from(toBinary(DiscoveryRequestSchema, create(DiscoveryRequestSchema, ask))))
      const delta = GrpcClient.open(client, deltaPath)
      const subscribe = { node, typeUrl, resourceNamesSubscribe: ["w"] }
      delta.stream.write(
        Buffer.from(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, subscribe)))
      )
      yield* eventually(() => expect([sotw.messages.length, delta.messages.length]).toEqual([1, 1]))

      const whole = fromBinary(DiscoveryResponseSchema, sotw.messages[0] ?? Buffer.alloc(0))
      expect([whole.typeUrl, whole.resources.map((any) => [any.typeUrl, [...any.value]])]).toEqual([
        typeUrl,
        [[typeUrl, [...value(1)]]]
      ])
      const part = fromBinary(DeltaDiscoveryResponseSchema, delta.messages[0] ?? Buffer.alloc(0))
      expect(part.resources.map(({ name, resource }) => [name, [...(resource?.value ?? [])]])).toEqual([
        ["w", [...value(1)]]
      ])
      const ack = { typeUrl, responseNonce: part.nonce }
      delta.stream.write(Buffer.from(toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, ack))))
      yield* server.store.set("edge", { resources: [widget("w", 2)] })
      yield* eventually(() => expect(delta.messages.length).toBe(2))
      const changed = fromBinary(DeltaDiscoveryResponseSchema, delta.messages[1] ?? Buffer.alloc(0))
      expect(changed.resources.map(({ resource }) => [...(resource?.value ?? [])])).toEqual([[...value(2)]])
    })
  )

  it.scopedLive("is refused where nobody says that it is one", () =>
    Effect.gen(function* () {
      const server = yield* serve()
      const resources = [{ typeUrl, name: "w", value: value(1) }]
      const error = yield* Effect.flip(server.store.set("edge", { resources }))
      expect(error.message).toContain("acme.v1.Widget is not a type of the Envoy v3 API")
    })
  )
})
