/** What an error text of a client costs: who quotes is a stranger, and all others wait meanwhile. */
import { create, toBinary } from "@bufbuild/protobuf"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Either, Fiber, Layer, Stream } from "effect"
import { Secrets } from "../src/internal/Secrets.js"

const { typeUrl } = ResourceType.Secret

/** A group of so many keys, and the names of those that were looked into. */
const groupOf = (count: number, keyOf: (index: number) => string) => {
  const looked = new Set<string>()
  const secret = (name: string, key: string): Resource.Resource => {
    const privateKey = { specifier: { case: "inlineString" as const, value: key } }
    const message = create(SecretSchema, { name, type: { case: "tlsCertificate", value: { privateKey } } })
    const resource = Either.getOrThrow(Resource.make({ typeUrl, name, value: toBinary(SecretSchema, message) }))
    const { byteLength } = resource.value
    Object.defineProperty(resource.value, "byteLength", { get: () => (looked.add(name), byteLength) })
    return resource
  }
  const upsert = Array.from({ length: count }, (_, index) => secret(`s${index}`, keyOf(index)))
  const group = Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert }))
  looked.clear()
  return { group, looked, secret }
}

describe("an error text that may quote secrets", () => {
  it("after a change costs a look at what changed", () => {
    const { group, looked, secret } = groupOf(1_000, (index) => `key-number-${index}-`)
    const secrets = new Secrets()
    const said = (of: ResourceGroup.ResourceGroup) =>
      secrets
        .redacted("cannot read key-number-7- and not even the-new-key-of-it", { typeUrl, sent: [], group: of })
        .toEnd().text
    expect(said(group)).toBe("cannot read [redacted] and not even the-new-key-of-it")
    expect(looked.size).toBe(1_000)
    const changed = Either.getOrThrow(ResourceGroup.update(group, { upsert: [secret("s8", "the-new-key-of-it")] }))
    looked.clear()
    expect(said(changed)).toBe("cannot read [redacted] and not even [redacted]")
    expect(Array.from(looked)).toEqual(["s8"])
  })

  it("of more than can be looked for costs no more than a look at so many: only words are left of it", () => {
    const { group, looked } = groupOf(5_000, (index) => `key-${index}-`.padEnd(1_700, "x"))
    const secrets = new Secrets()
    const quoted = { typeUrl, sent: [ResourceGroup.all(group)], group }
    expect(secrets.redacted("cannot read key-4999-xxxxx of it", quoted).toEnd().text).toBe(
      "cannot read [redacted] of it"
    )
    expect(looked.size).toBeLessThan(200)
    expect(secrets.redacted("cannot read key-4998-xxxxx of it", quoted).toEnd().text).toBe(
      "cannot read [redacted] of it"
    )
    expect(looked.size).toBeLessThan(200)
  })

  it.effect("★ among thousands of secrets: others have turns of the event loop, and requests behind it wait", () => {
    let [milliseconds, laps] = [0, 0]
    const { process } = EventLoop
    // Every slice is over as soon as it began.
    const loop: EventLoop.Service = {
      ...process,
      elapsed: () => (milliseconds += 100),
      later: (work) => {
        laps++
        return process.later(work)
      }
    }
    const turns = Effect.repeatN(
      Effect.promise(() => new Promise(setImmediate)),
      500
    )
    const request = (about: { readonly typeUrl: string } & Partial<Request.IncrementalRequest>) =>
      Request.incremental({ node: toBinary(NodeSchema, create(NodeSchema, { cluster: "edge" })), ...about })
    const subscription = request({ typeUrl, resourceNamesSubscribe: ["s7"] })
    const clusters = request({ typeUrl: ResourceType.Cluster.typeUrl, resourceNamesSubscribe: ["*"] })
    return Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const { events, status } = yield* XdsServer.XdsServer
      const secrets = Array.from({ length: 2_000 }, (_, index) => {
        const value = { specifier: { case: "inlineString" as const, value: `key-number-${index}-` } }
        return create(SecretSchema, { name: `s${index}`, type: { case: "genericSecret", value: { secret: value } } })
      })
      const set = yield* Effect.fork(
        store.set("edge", { secrets, clusters: [create(ClusterSchema, { name: "other" })] })
      )
      yield* turns
      yield* Fiber.join(set)
      const client = yield* MemoryClient.open()
      client.send(subscription)
      const first = yield* Effect.fork(client.receive)
      yield* turns
      const { nonce: responseNonce } = yield* Fiber.join(first)
      const errorDetail = { code: 13, message: "cannot read key-number-7- of s7" }
      const heard: Array<string> = []
      const listening = yield* Effect.fork(
        Stream.runForEach(events, (event) =>
          Effect.sync(() => {
            if (event._tag === "Nacked") heard.push(event.error.message)
            if (event._tag === "Subscribed") heard.push(`${event.client.id} asks for ${event.typeUrl}`)
          })
        )
      )
      yield* turns
      laps = 0
      client.send(request({ typeUrl, responseNonce, errorDetail }))
      client.send(request({ typeUrl, responseNonce, errorDetail: { code: 13, message: "nor key-number-9- of s9" } }))
      client.send(clusters)
      const other = yield* MemoryClient.open()
      other.send(clusters)
      const answered = yield* Effect.fork(other.receive)
      yield* Fiber.join(answered)
      expect(client.unread()).toBe(0)
      expect(laps).toBeLessThan(20)
      yield* turns
      expect(client.unread()).toBe(1)
      // Of 2 000 secrets 16 are looked into at a time, and 64 are searched for.
      expect(laps).toBeGreaterThan(150)
      const told = yield* Effect.fork(status)
      yield* turns
      const errors = (yield* Fiber.join(told)).flatMap(({ types }) => types.map(({ nacked }) => nacked?.error.message))
      expect(errors).toContain("nor [redacted] of s9")
      expect(heard.filter((each) => !each.startsWith("2 "))).toEqual([
        "cannot read [redacted] of s7",
        "nor [redacted] of s9",
        `1 asks for ${ResourceType.Cluster.typeUrl}`
      ])
      yield* Fiber.interrupt(listening)
      // A stream that ends meanwhile leaves nothing behind.
      client.send(request({ typeUrl, responseNonce: "", errorDetail: { code: 13, message: "another key-number-8-" } }))
      client.end()
      yield* turns
      const left = yield* Effect.fork(status)
      yield* turns
      expect(yield* Fiber.join(left)).toHaveLength(1)
    }).pipe(
      Effect.provide(
        XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
          Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
          Layer.provide(Layer.succeed(EventLoop.EventLoop, loop))
        )
      ),
      Effect.provideService(EventLoop.EventLoop, loop)
    )
  })
})
