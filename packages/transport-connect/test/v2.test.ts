/** The services of Envoy's v2 API: other paths, the same messages. */
import { ResourceType } from "@effect-xds/proto"
import { ClientTransport } from "@effect-xds/transport"
import { ConnectClient } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect } from "effect"
import * as MethodTable from "../src/grpc/MethodTable.js"
import { answering, serve } from "./RecordingServer.js"

describe("v2", () => {
  it("has the paths of its own services", () => {
    expect(
      MethodTable.find("/envoy.service.discovery.v2.AggregatedDiscoveryService/StreamAggregatedResources")
    ).toEqual({ protocol: "StateOfTheWorld", typeUrl: undefined, unary: false })
    expect(MethodTable.find("/envoy.api.v2.ClusterDiscoveryService/DeltaClusters")).toEqual({
      protocol: "Incremental",
      typeUrl: "type.googleapis.com/envoy.api.v2.Cluster",
      unary: false
    })
    expect(MethodTable.find("/envoy.service.discovery.v2.SecretDiscoveryService/FetchSecrets")).toEqual({
      protocol: "StateOfTheWorld",
      typeUrl: "type.googleapis.com/envoy.api.v2.auth.Secret",
      unary: true
    })
    const ads = { protocol: "Incremental", typeUrl: undefined } as const
    expect(MethodTable.pathOf(ads, "v2")).toBe(
      "/envoy.service.discovery.v2.AggregatedDiscoveryService/DeltaAggregatedResources"
    )
    expect(MethodTable.pathOf(ads)).toBe(
      "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
    )
  })

  it.scopedLive("★ the client finds every method of it at the server, which knows what is asked for", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({}, answering)
      const channel = yield* ConnectClient.make({ api: "v2" }).connect({
        address,
        credentials: ClientTransport.insecure
      })
      const methods = [undefined, ...ResourceType.v2.map(({ typeUrl }) => typeUrl)].flatMap((typeUrl) =>
        (["StateOfTheWorld", "Incremental"] as const).map((protocol) => ({ protocol, typeUrl }))
      )
      // VHDS is incremental only.
      const served = methods.filter((method) => MethodTable.pathOf(method, "v2") !== undefined)
      expect(methods.length - served.length).toBe(1)
      for (const method of served) {
        const answered = yield* Deferred.make<string>()
        const stream = channel.open(method, {
          onOpen: () => stream.send(new Uint8Array()),
          onMessage: () => Deferred.unsafeDone(answered, Effect.succeed("answered")),
          onEnd: ({ code }) => Deferred.unsafeDone(answered, Effect.succeed(code))
        })
        expect([method, yield* Deferred.await(answered)]).toEqual([method, "answered"])
        expect(streams.at(-1)?.stream.method).toEqual({ ...method, unary: false })
        stream.end()
      }
    })
  )
})
