/** How large responses reach a transport: in pieces, if it takes them. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { DeltaDiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { eventually } from "@effect-xds/testing/Waiting"
import { ServerTransport } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { type Duration, Effect } from "effect"

const CDS = ResourceType.Cluster.typeUrl
const node = toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: "edge" }))
const cluster = (index: number, altStatName: string) => create(ClusterSchema, { name: `c${index}`, altStatName })
const asked = Request.incremental({ typeUrl: CDS, responseNonce: "", node })

/** What a stream was given. */
interface Written {
  readonly pieces: ReadonlyArray<Uint8Array> | undefined
  readonly bytes: Buffer
}

/** A server with so many clusters, with a TTL or none, at a transport whose streams may take pieces. */
const serving = (count: number, ttl?: Duration.DurationInput) =>
  Effect.gen(function* () {
    let accept: ((stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler) | undefined
    const store = yield* SnapshotStore.makeMemory()
    const clusters = Array.from({ length: count }, (_, index) => cluster(index, "x".repeat(400)))
    yield* store.set("edge", { clusters: clusters.map((each) => Snapshot.resource(each, { ttl })) })
    yield* XdsServer.make({ group: () => "edge", ttl: "always" }).pipe(
      Effect.provideService(ServerTransport.ServerTransport, {
        serve: (accepts) => Effect.sync(() => ((accept = accepts), "here"))
      }),
      Effect.provide(SnapshotStore.layerOf(store))
    )
    /** Opens a stream. What it is sent first. */
    const open = (
      { takesPieces }: { readonly takesPieces: boolean },
      decorate = (stream: ServerTransport.AcceptedStream) => stream,
      request = asked
    ) =>
      Effect.gen(function* () {
        const written: Array<Written> = []
        const stream: ServerTransport.AcceptedStream = {
          peer: { address: "here", identity: undefined },
          method: { protocol: "Incremental", typeUrl: undefined, unary: false },
          headers: {},
          write: ({ body, suffix }) => {
            written.push({ pieces: undefined, bytes: Buffer.concat([body, suffix]) })
            return true
          },
          end: () => undefined,
          ...(takesPieces && {
            writePieces: (pieces, suffix) => {
              written.push({ pieces, bytes: Buffer.concat([...pieces, suffix]) })
              return true
            }
          })
        }
        accept?.(decorate(stream)).onRequest(request)
        yield* eventually(() => expect(written).not.toEqual([]))
        return written[0] ?? expect.unreachable()
      })
    return { open, store }
  })

describe("a large response", () => {
  it.scopedLive("is given in pieces to a transport that takes them, and as one body to others: the same bytes", () =>
    Effect.gen(function* () {
      const { open } = yield* serving(5_000)
      const one = yield* open({ takesPieces: true })
      const other = yield* open({ takesPieces: false })
      expect(one.pieces?.length).toBeGreaterThan(5)
      expect(other.pieces).toBe(undefined)
      expect(one.bytes.equals(other.bytes)).toBe(true)
    })
  )

  it.scopedLive("★ is given in pieces, too, if it renews many resources without their bodies", () =>
    Effect.gen(function* () {
      const { open } = yield* serving(2_000, "1 hour")
      const first = fromBinary(DeltaDiscoveryResponseSchema, (yield* open({ takesPieces: true })).bytes)
      const initialResourceVersions = new Map(first.resources.map(({ name, version }) => [name, version]))
      const request = Request.incremental({ ...asked, initialResourceVersions })
      const one = yield* open({ takesPieces: true }, undefined, request)
      const other = yield* open({ takesPieces: false }, undefined, request)
      expect(one.pieces).not.toBe(undefined)
      expect(one.bytes.equals(other.bytes)).toBe(true)
      const renewed = fromBinary(DeltaDiscoveryResponseSchema, one.bytes)
      expect(renewed.resources).toHaveLength(2_000)
      expect(renewed.resources.every(({ resource }) => resource === undefined)).toBe(true)
    })
  )

  it.scopedLive("is one body where a thousand resources are not reached", () =>
    Effect.gen(function* () {
      const { open } = yield* serving(999)
      expect((yield* open({ takesPieces: true })).pieces).toBe(undefined)
    })
  )

  it.scopedLive("★ has the pieces of the one before it, but for one, after a change: the same for all streams", () =>
    Effect.gen(function* () {
      const { open, store } = yield* serving(5_000)
      const first = yield* open({ takesPieces: true })
      const second = yield* open({ takesPieces: true })
      const buffers = new Set(first.pieces?.map(({ buffer }) => buffer))
      expect(second.pieces?.every(({ buffer }) => buffers.has(buffer))).toBe(true)
      yield* store.update("edge", { upsert: { clusters: [cluster(2_500, "other")] } })
      const third = yield* open({ takesPieces: true })
      // The fields before and after the resources are pieces, too.
      expect(third.pieces?.slice(1, -1).filter(({ buffer }) => !buffers.has(buffer))).toHaveLength(1)
      expect(third.bytes.equals((yield* open({ takesPieces: false })).bytes)).toBe(true)
      expect(third.bytes.equals(first.bytes)).toBe(false)
    })
  )

  it.scopedLive("is seen by a decorator that replaces what writes", () =>
    Effect.gen(function* () {
      const { open } = yield* serving(2_000)
      const plain = yield* open({ takesPieces: true })
      const seen: Array<number> = []
      const decorated = yield* open({ takesPieces: true }, (stream) =>
        ServerTransport.override(stream, {
          write: (outgoing) => {
            seen.push(outgoing.body.byteLength + outgoing.suffix.byteLength)
            return stream.write(outgoing)
          }
        })
      )
      expect(seen).toEqual([plain.bytes.length])
      expect(decorated.bytes.equals(plain.bytes)).toBe(true)
      // One that replaces something else leaves the pieces.
      const other = yield* open({ takesPieces: true }, (stream) => ServerTransport.override(stream, { headers: {} }))
      expect(other.pieces).not.toBe(undefined)
    })
  )
})
