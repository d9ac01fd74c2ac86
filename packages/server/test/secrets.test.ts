import { create, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { UpstreamTlsContextSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/tls"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport, SpanTracer } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Inspectable, Layer, Logger, Metric, Stream } from "effect"
import { generateKeyPairSync } from "node:crypto"

const SDS = ResourceType.Secret.typeUrl
const CDS = ResourceType.Cluster.typeUrl

const keyOf = () =>
  generateKeyPairSync("ec", {
    namedCurve: "P-256",
    privateKeyEncoding: { type: "sec1", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" }
  }).privateKey

const planted = {
  key: keyOf(),
  replacedKey: keyOf(),
  password: "pa55word-of-the-cluster",
  ticketKey: "ticket-key-of-forty-eight-bytes-in-an-inline-str",
  header: "Bearer 7f3c-bearer-of-the-caller-91d2",
  cookie: "session=session-in-the-cookie-header",
  metadata: "-----BEGIN PRIVATE KEY-----\nkeyInTheNodesMetadataOrItsName\n-----END PRIVATE KEY-----"
} as const

/** Lets the event loop turn once. */
const turn = Effect.async<void>((resume) => {
  setImmediate(() => resume(Effect.void))
})

const inline = (value: string) => ({ specifier: { case: "inlineString" as const, value } })

const certificate = (key: string) =>
  create(SecretSchema, {
    name: "edge",
    type: { case: "tlsCertificate", value: { privateKey: inline(key) } }
  })

const resources = (key: string) => ({
  clusters: [
    create(ClusterSchema, {
      name: "backend",
      transportSocket: {
        name: "tls",
        configType: {
          case: "typedConfig",
          value: anyPack(
            UpstreamTlsContextSchema,
            create(UpstreamTlsContextSchema, {
              commonTlsContext: { tlsCertificates: [{ password: inline(planted.password) }] }
            })
          )
        }
      }
    })
  ],
  secrets: [
    certificate(key),
    create(SecretSchema, {
      name: "tickets",
      type: { case: "sessionTicketKeys", value: { keys: [inline(planted.ticketKey)] } }
    })
  ]
})

const node = (group: string, id = "envoy-1") => toBinary(NodeSchema, create(NodeSchema, { id, cluster: group }))

/** Everything that a server tells, as text. */
const outputs = () => {
  const said: Array<string> = []
  const tell = (value: unknown): void => {
    said.push(Inspectable.toStringUnknown(value))
    said.push(value instanceof Error ? `${value.message} ${value.stack ?? ""}` : JSON.stringify(value))
  }
  const logger = Logger.make((entry) => {
    tell(entry.message)
    said.push(Logger.stringLogger.log(entry))
  })
  const tracer = SpanTracer.make(() => ({
    end: (_, exit) => tell(exit),
    attribute: (key, value) => tell({ key, value }),
    event: (event, _, attributes) => tell({ event, attributes })
  }))
  return { said, tell, layer: Layer.merge(Logger.replace(Logger.defaultLogger, logger), Layer.setTracer(tracer)) }
}

/** Secrets of which a piece of eight characters is in the text. */
const leaks = (text: string): ReadonlyArray<string> => {
  const low = text.toLowerCase().replace(/\\+[nrt]|\s/g, "")
  return Object.entries(planted).flatMap(([name, secret]) => {
    const plain = secret.replace(/-----[^-]*-----|^Bearer |^session=/g, "").replace(/\s/g, "")
    for (const form of [plain, Buffer.from(plain).toString("hex"), Buffer.from(secret).toString("base64").slice(30)]) {
      for (let at = 0; at + 8 <= form.length; at++) {
        const piece = form.slice(at, at + 8).toLowerCase()
        if (low.includes(piece)) return [`${name}: ${piece}`]
      }
    }
    return []
  })
}

const quotes: ReadonlyArray<readonly [string, (secret: string) => string]> = [
  ["as it is", (secret) => secret],
  ["as JSON", (secret) => JSON.stringify({ inline_string: secret })],
  ["as JSON in JSON", (secret) => JSON.stringify(JSON.stringify(secret))],
  ["in the text format", (secret) => secret.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"')],
  ["in base64", (secret) => Buffer.from(secret).toString("base64")],
  ["in hexadecimal", (secret) => Buffer.from(secret).toString("hex")],
  ["cut", (secret) => secret.slice(0, Math.floor(secret.length / 2))]
]

describe("what a server tells", () => {
  it.effect("holds none of the secrets that its clients quote", () =>
    Effect.gen(function* () {
      const { layer, said, tell } = outputs()
      yield* Effect.gen(function* () {
        const store = yield* SnapshotStore.SnapshotStore
        const server = yield* XdsServer.XdsServer
        yield* store.set("edge", resources(planted.replacedKey))
        const watching = yield* Effect.fork(Stream.runForEach(server.events, (event) => Effect.sync(() => tell(event))))
        yield* turn
        const client = yield* MemoryClient.open()
        client.send(Request.incremental({ typeUrl: SDS, node: node("edge"), resourceNamesSubscribe: ["*"] }))
        const first = yield* client.receive
        // The key is replaced while the answer to the old one is on its way.
        yield* store.set("edge", resources(planted.key))
        const nack = (typeUrl: string, responseNonce: string, message: string) =>
          client.send(Request.incremental({ typeUrl, responseNonce, errorDetail: { code: 13, message } }))
        nack(SDS, first.nonce, `Failed to load private key: ${planted.replacedKey}`)
        tell(yield* server.status)
        client.send(Request.incremental({ typeUrl: CDS }))
        let response = yield* client.receive
        const secrets = [planted.key, planted.password, planted.ticketKey]
        for (const [name, encode] of quotes) {
          for (const secret of secrets) {
            yield* store.set("edge", resources(planted.key))
            nack(response.typeUrl, response.nonce, `Error (${name}): bad value ${encode(secret)} in resource edge`)
            nack(response.typeUrl, "", `Without a nonce (${name}): ${encode(secret)} in resource edge`)
            nack(response.typeUrl, first.nonce, `Of an older one (${name}): ${encode(secret)} in resource edge`)
            tell(yield* server.status)
          }
        }
        while (client.unread() > 0) response = yield* client.receive
        client.end()

        // A NACK that comes with the first request of a stream.
        const second = yield* MemoryClient.open()
        second.send(
          Request.incremental({
            typeUrl: SDS,
            node: node("edge", planted.metadata),
            errorDetail: { code: 13, message: `still: ${planted.key}` }
          })
        )
        tell(yield* server.status)
        second.end()

        // Functions of the user's that quote what they were given.
        const third = yield* MemoryClient.open({
          headers: { authorization: planted.header, cookie: planted.cookie, "x-request-id": "17" }
        })
        third.send(Request.incremental({ typeUrl: SDS, node: node("throws") }))
        tell(yield* Metric.snapshot)
        // Lets the subscriber take what it was told.
        for (let turns = 0; turns < 10; turns++) yield* turn
        yield* Fiber.interrupt(watching)
      }).pipe(
        Effect.provide(
          XdsServer.layer({
            group: ({ cluster }, { headers }) => {
              if (cluster === "throws") throw new Error(`no group for ${JSON.stringify(headers)}`)
              return cluster
            }
          }).pipe(Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)))
        ),
        Effect.provide(layer)
      )
      const all = said.join("\n")
      expect(all).toContain("in resource edge")
      expect(all).toContain("Without a nonce")
      expect(all).toContain("Failed to load private key: [redacted]")
      expect(all).toContain("the group function failed")
      expect(all).toContain("x-request-id")
      expect(leaks(all)).toEqual([])
    })
  )

  it.effect(
    "holds none that a client quotes of an older response, which others came after and the group has no more",
    () =>
      Effect.gen(function* () {
        const { layer, said, tell } = outputs()
        yield* Effect.gen(function* () {
          const store = yield* SnapshotStore.SnapshotStore
          const server = yield* XdsServer.XdsServer
          yield* store.set("edge", resources(planted.replacedKey))
          const client = yield* MemoryClient.open({ credit: 2 })
          client.send(Request.incremental({ typeUrl: SDS, node: node("edge"), resourceNamesSubscribe: ["*"] }))
          client.send(Request.incremental({ typeUrl: CDS }))
          const received = [yield* client.receive, yield* client.receive]
          yield* store.set("edge", resources(planted.key))
          const old = received.find(({ typeUrl }) => typeUrl === SDS)
          client.send(
            Request.incremental({
              typeUrl: SDS,
              responseNonce: old?.nonce ?? "",
              errorDetail: { code: 13, message: `Failed to load private key: ${planted.replacedKey}` }
            })
          )
          tell(yield* server.status)
        }).pipe(
          Effect.provide(
            XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
              Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer))
            )
          ),
          Effect.provide(layer)
        )
        const all = said.join("\n")
        expect(all).toContain("Failed to load private key: [redacted]")
        expect(leaks(all)).toEqual([])
      })
  )

  it("would be seen to hold them", () => {
    expect(leaks(`bad value ${planted.key}`)).not.toEqual([])
    expect(leaks(Buffer.from(planted.password).toString("hex"))).not.toEqual([])
  })
})
