/** What a server should not send, over a socket: a NACK that says what and where, and all that is good goes on. */
import { create, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { BadResource, SocketServer } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ConnectClient } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Stream } from "effect"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl

const samples = BadResource.inOneResponse(BadResource.all({ levels: 10_000, size: 65_536 }))

const cluster = (name: string, altStatName: string) => ({
  typeUrl: CDS,
  name,
  value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName }))
})

const assignment = (factor: number) => {
  const message = create(ClusterLoadAssignmentSchema, { clusterName: "e", policy: { overprovisioningFactor: factor } })
  return { typeUrl: EDS, name: "e", value: toBinary(ClusterLoadAssignmentSchema, message) }
}

const clusters = WatchableType.fromSchema(ClusterSchema, { rules: false })

describe.each(["StateOfTheWorld", "Incremental"] as const)("%s", (protocol) => {
  it.scopedLive("★ each resource is refused by name and path; the last good one, other types and the stream stay", () =>
    Effect.gen(function* () {
      const refusals: Array<string> = []
      let streams = 0
      const address = yield* SocketServer.grpc(() => {
        streams++
        return (asked) => {
          const { error, nonce, typeUrl } = asked
          if (typeUrl === EDS) {
            return nonce === "" ? SocketServer.response(asked, "1", [assignment(140)]) : undefined
          }
          if (error !== "") refusals.push(error)
          const good = (content: string) => samples.map(({ name }) => cluster(name, content))
          if (nonce === "") return SocketServer.response(asked, "1", good("first"))
          if (nonce === "1") return SocketServer.response(asked, "2", [...samples, cluster("other", "second")])
          return nonce === "2" ? SocketServer.response(asked, "3", good("last")) : undefined
        }
      })
      const client = yield* XdsClient.XdsClient.pipe(
        Effect.provide(
          yield* Layer.build(
            XdsClient.layer({ protocol, bootstrap: Bootstrap.make({ servers: [address], node: { id: "n" } }) }).pipe(
              Layer.provide(ConnectClient.layer()),
              Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
            )
          )
        )
      )
      const events = new Map<string, Array<ResourceEvent.ResourceEvent<Cluster>>>()
      yield* client.watchAll(clusters).pipe(
        Stream.runForEach((event) =>
          Effect.sync(() => events.set(event.name, [...(events.get(event.name) ?? []), event]))
        ),
        Effect.forkScoped
      )
      const beside: Array<string> = []
      yield* client.watch(ClusterLoadAssignmentSchema, "e").pipe(
        Stream.runForEach(({ _tag }) => Effect.sync(() => beside.push(_tag))),
        Effect.forkScoped
      )
      yield* eventually(() => {
        for (const { isValid, name, path, what } of samples) {
          const own = events.get(name) ?? []
          const contents = own.flatMap((event) => (event._tag === "Updated" ? [event.value.altStatName] : []))
          // Of a valid one the sample came in between.
          expect([what, contents.at(0), contents.at(-1)]).toEqual([what, "first", "last"])
          if (isValid) continue
          const errors = own.flatMap((event) => ("error" in event ? [event] : []))
          // State of the world: without a name that can be read nobody knows what is meant; it counts as absent or not sent.
          if (errors.length === 0) expect([what, protocol]).toEqual([what, "StateOfTheWorld"])
          for (const { _tag, error } of errors) {
            expect([what, _tag]).toEqual([what, "AmbientError"])
            expect(error.message, what).toContain(path)
          }
        }
      })
      expect(refusals).toHaveLength(1)
      for (const { isValid, name, path, what } of samples) {
        if (isValid) continue
        expect(refusals[0], what).toContain(path)
        if (protocol === "Incremental") expect(refusals[0], what).toContain(`resource "${name}": `)
      }
      expect(refusals[0]).not.toMatch(/call stack|RangeError/)
      expect(beside).toEqual(["Updated"])
      expect(streams).toBe(1)
    })
  )
})

it.scopedLive("★ bytes that are no response end the stream with words, and the next stream is served", () =>
  Effect.gen(function* () {
    const logs: Array<string> = []
    let streams = 0
    const address = yield* SocketServer.grpc(() => {
      const at = streams++
      return (asked) => {
        if (asked.nonce !== "") return undefined
        const malformed = [
          Uint8Array.of(0x12, 0x7f),
          Uint8Array.of(0x00, 0x01),
          Uint8Array.of(0x36),
          Uint8Array.of(0xff)
        ]
        return malformed[at] ?? SocketServer.response(asked, "1", [cluster("a", "good")])
      }
    })
    const logger = Logger.make(({ message }) => void logs.push(String(Array.isArray(message) ? message[0] : message)))
    const context = yield* Layer.build(
      XdsClient.layer({
        backoff: { initial: 10, floor: 5 },
        bootstrap: Bootstrap.make({ servers: [address], node: { id: "n" } })
      }).pipe(Layer.provide(ConnectClient.layer()), Layer.provide(Logger.replace(Logger.defaultLogger, logger)))
    )
    const client = yield* Effect.provide(XdsClient.XdsClient, context)
    const found = yield* client.watch(clusters, "a").pipe(
      Stream.filter(({ _tag }) => _tag === "Updated"),
      Stream.runHead
    )
    expect(found._tag).toBe("Some")
    expect(streams).toBe(5)
    expect(logs.filter((line) => line.includes("stream ended")).join("\n")).toMatch(
      /not a DiscoveryResponse: .*premature/
    )
  })
)
