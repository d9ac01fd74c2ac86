import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { DiscoveryRequestSchema, DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { ServerTransport } from "@effect-xds/transport"
import { RestServer, RestServerMetrics } from "@effect-xds/transport-rest"
import { Cause, Effect, Exit, Metric, Scope } from "effect"
import { X509Certificate } from "node:crypto"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import * as Https from "node:https"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Tls from "node:tls"
import { gunzipSync, gzipSync } from "node:zlib"
import {
  CDS,
  client,
  cluster,
  clusters,
  contentOf,
  held,
  node,
  reasonOf,
  request,
  serve,
  type Call
} from "./ControlPlane.js"
import * as Certificates from "@effect-xds/testing/Certificates"

const send = (port: number, call: Call) => Effect.promise(() => request(port, call))

/** A server with a cluster `a`. */
const serving = (...[transport]: Parameters<typeof serve>) =>
  Effect.tap(serve(transport), ({ store }) => store.set("edge", clusters("a")))

const protobuf = { "content-type": "application/x-protobuf" }
const binary = toBinary(
  DiscoveryRequestSchema,
  create(DiscoveryRequestSchema, { node: create(NodeSchema, { id: "n1", cluster: "edge" }) })
)

/** Random, but the same each time. */
const randomBytes = (seed: number, length: number): Buffer => {
  let state = seed
  return Buffer.from(
    Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
      return state >>> 24
    })
  )
}

/** What Node warns of while the scope is open. */
const warnings = Effect.acquireRelease(
  Effect.sync(() => {
    const heard: Array<string> = []
    const hear = ({ message }: Error): void => void heard.push(message)
    process.on("warning", hear)
    return { heard, hear }
  }),
  ({ hear }) => Effect.sync(() => process.off("warning", hear))
)

describe("A request is refused", () => {
  const bad: ReadonlyArray<{
    readonly name: string
    readonly call: Call
    readonly status: number
    readonly reason: string | RegExp
  }> = [
    {
      name: "for another path",
      call: { path: "/v3/discovery:cluster" },
      status: 404,
      reason: /^\/v3\/discovery:cluster is not served; these are: .*\/v3\/discovery:clusters/
    },
    { name: "for the aggregated service", call: { path: "/v3/discovery:ads" }, status: 404, reason: /is not served/ },
    {
      name: "with another method",
      call: { method: "PUT" },
      status: 405,
      reason: "/v3/discovery:clusters is served with POST, not with PUT"
    },
    { name: "with GET", call: { method: "GET", body: "" }, status: 405, reason: /not with GET/ },
    {
      name: "with another content type",
      call: { headers: { "content-type": "application/x-www-form-urlencoded" } },
      status: 415,
      reason: /application\/x-www-form-urlencoded is not taken; application\/json and/
    },
    {
      name: "with a compressed body",
      call: { headers: { "content-encoding": "gzip" }, body: gzipSync("{}") },
      status: 415,
      reason: /content-encoding gzip/
    },
    { name: "without a body", call: { body: "" }, status: 400, reason: /^the body is not JSON: line 1, column 1: / },
    {
      name: "for JSON that is cut off",
      call: { body: '{\n"node": {"id": "n1"' },
      status: 400,
      reason: /^the body is not JSON: line 2, column 20: /
    },
    {
      name: "for JSON with a mistake",
      call: { body: '{"node": {},\n  "type_url" 1}' },
      status: 400,
      reason: /^the body is not JSON: line 2, column 14: /
    },
    { name: "for text", call: { body: "hello" }, status: 400, reason: /^the body is not JSON: line 1/ },
    {
      name: "for bytes that are no text",
      call: { body: Buffer.from([0xff, 0xfe, 0x7b]) },
      status: 400,
      reason: "the body is not JSON: it is not UTF-8"
    },
    {
      name: "for an array",
      call: { json: [] },
      status: 400,
      reason: "the body is not a DiscoveryRequest: it is an array and not an object"
    },
    { name: "for null", call: { json: null }, status: 400, reason: /it is null and not an object/ },
    {
      name: "for an unknown field",
      call: { json: { node: node(), versionInf: "1" } },
      status: 400,
      reason: /^the body is not a DiscoveryRequest: .*"versionInf" is unknown/
    },
    {
      name: "for an unknown field in the node",
      call: { json: { node: { idd: "n1" } } },
      status: 400,
      reason: /^the body is not a DiscoveryRequest: in field node: .*"idd" is unknown/
    },
    {
      name: "for a field of another type",
      call: { json: { node: node(), resource_names: "a" } },
      status: 400,
      reason: /resource_names.*expected Array/
    },
    {
      name: "for a field of another type in the node",
      call: { json: { node: { id: 7 } } },
      status: 400,
      reason: /in field node: .*Node\.id/
    },
    { name: "for a node that is no object", call: { json: { node: "n1" } }, status: 400, reason: /in field node/ },
    {
      name: "for the type URL of another path",
      call: { json: { node: node(), type_url: "type.googleapis.com/x.Y" } },
      status: 400,
      reason: `type_url is type.googleapis.com/x.Y, but /v3/discovery:clusters serves ${CDS}`
    },
    {
      name: "for an unknown @type inside",
      call: {
        json: { node: node(), error_detail: { code: 3, details: [{ "@type": "type.googleapis.com/no.Such", a: 1 }] } }
      },
      status: 400,
      reason: /no\.Such/
    },
    {
      name: "for a wrong value of an @type inside",
      call: { json: { node: node(), error_detail: { details: [{ "@type": CDS, name: 7 }] } } },
      status: 400,
      reason: /Cluster\.name/
    },
    {
      name: "for JSON that is nested too deep",
      call: { body: `{"node":{"metadata":${'{"a":'.repeat(9_000)}1${"}".repeat(9_000)}}}` },
      status: 400,
      reason: /in field node: it is nested too deep/
    },
    {
      name: "for protobuf that is none",
      call: { headers: protobuf, body: Buffer.from([0x0a, 0x05, 0x61]) },
      status: 400,
      reason: /^the body is malformed: 3 bytes are not a DiscoveryRequest/
    },
    {
      name: "for protobuf with a node that is none",
      call: { headers: protobuf, body: Buffer.from([0x12, 0x01, 0x0a]) },
      status: 400,
      reason: /is not an envoy\.config\.core\.v3\.Node/
    }
  ]
  it.scopedLive.each(bad)("$name", ({ call, reason, status }) =>
    Effect.gen(function* () {
      const { port, status: clients } = yield* serving()
      const reply = yield* send(port, call)
      expect(reply.status).toBe(status)
      expect(reply.headers["content-type"]).toBe("application/json")
      if (status === 405) expect(reply.headers["allow"]).toBe("POST")
      if (typeof reason === "string") expect(reasonOf(reply)).toBe(reason)
      else expect(reasonOf(reply)).toMatch(reason)
      expect(yield* clients).toEqual([])
      // And the server goes on.
      expect((yield* client(port).poll()).status).toBe(200)
    })
  )

  it.scopedLive("whatever its bytes are, with 4xx and a reason", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      const whole = JSON.stringify({ node: node(), resource_names: ["a", "b"], type_url: CDS })
      for (let seed = 0; seed < 200; seed++) {
        const bytes = randomBytes(seed, 1 + (seed % 40))
        const answers = [
          yield* send(port, { body: bytes }),
          yield* send(port, { headers: protobuf, body: bytes }),
          yield* send(port, { body: whole.slice(0, seed % whole.length) }),
          yield* send(port, { headers: protobuf, body: Buffer.concat([binary, bytes]) })
        ]
        for (const reply of answers) {
          if (reply.status === 200) continue
          expect(reply.status).toBe(400)
          expect(reasonOf(reply)).not.toBe("")
        }
      }
      expect((yield* client(port).poll()).status).toBe(200)
    })
  )

  it.scopedLive("for a body over the limit, said beforehand or not", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      const body = Buffer.alloc(5_000_000, 32)
      const reason = "the body is larger than 4194304 bytes, the limit of this server"
      const said = yield* send(port, { body, headers: { "content-length": String(body.length) } })
      expect([said.status, reasonOf(said)]).toEqual([413, reason])
      const chunked = yield* send(port, { body, headers: { "transfer-encoding": "chunked" } })
      expect([chunked.status, reasonOf(chunked)]).toEqual([413, reason])
      expect((yield* client(port).poll()).status).toBe(200)
    })
  )

  it.scopedLive("for a body that is too slow", () =>
    Effect.gen(function* () {
      const { port } = yield* serving({ bodyTimeout: 100 })
      let text = ""
      let closed = false
      const socket = Net.connect(port, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
      socket.on("data", (chunk) => (text += chunk.toString())).on("close", () => (closed = true))
      socket.write("POST /v3/discovery:clusters HTTP/1.1\r\nhost: xds\r\ncontent-length: 10\r\n\r\n{")
      yield* eventually(() => expect(closed).toBe(true))
      expect(text).toMatch(/^HTTP\/1\.1 408 /)
      expect(text.split("\r\n\r\n")[0]?.toLowerCase()).toContain("connection: close")
      expect(text).toContain('{"code":"DEADLINE_EXCEEDED","message":"the body did not come within 0.1 s"}')
    })
  )

  it.scopedLive("for too many at a time", () =>
    Effect.gen(function* () {
      const { port } = yield* serving({ maxRequests: 1, wait: 30_000 })
      const envoy = client(port)
      yield* envoy.poll()
      const controller = new AbortController()
      const first = request(port, {
        json: { node: node(), version_info: envoy.version() },
        signal: controller.signal
      }).catch(() => undefined)
      yield* held(1)
      const reply = yield* send(port, { json: { node: node() } })
      expect([reply.status, reasonOf(reply)]).toEqual([
        503,
        "1 requests are being answered already, the limit of this server"
      ])
      controller.abort()
      yield* Effect.promise(() => first)
      yield* held(0)
      expect((yield* send(port, { json: { node: node() } })).status).toBe(200)
    })
  )

  it.scopedLive("and the log says so, once for a client in a minute", () =>
    Effect.gen(function* () {
      const { logs, port } = yield* serving()
      for (let count = 0; count < 3; count++) yield* send(port, { body: "{\u0007\n" })
      yield* eventually(() =>
        expect(logs.filter((line) => line.includes("refused"))).toEqual([
          expect.stringMatching(
            /^POST \/v3\/discovery:clusters of 127\.0\.0\.1:\d+ was refused with 400: the body is not JSON: .*$/
          )
        ])
      )
      expect((yield* Metric.value(RestServerMetrics.requests(400))).count).toBeGreaterThanOrEqual(3)
    })
  )

  it.scopedLive("unless unknown fields are to be ignored", () =>
    Effect.gen(function* () {
      const { port } = yield* serving({ ignoreUnknownFields: true })
      const json = { node: { id: "n1", cluster: "edge", new_in_next_version: 1 }, new_too: {} }
      expect((yield* send(port, { json })).status).toBe(200)
    })
  )
})

describe("Bodies", () => {
  it.scopedLive("may be protobuf, both ways or one", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      const names = (bytes: Uint8Array) => {
        const response = fromBinary(DiscoveryResponseSchema, bytes)
        expect(response.versionInfo).toMatch(/^[0-9a-f]{16}$/)
        expect(response.nonce).toMatch(/^[0-9a-f]{16}$/)
        return response.resources.map(({ typeUrl }) => typeUrl)
      }
      for (const type of ["application/x-protobuf", "application/protobuf"]) {
        const both = yield* send(port, { headers: { "content-type": type, accept: type }, body: binary })
        expect(both.headers["content-type"]).toBe(type)
        expect(names(both.body)).toEqual([CDS])
      }
      const without = yield* send(port, { headers: protobuf, body: binary })
      expect(without.headers["content-type"]).toBe("application/x-protobuf")
      expect(names(without.body)).toEqual([CDS])
      const toJson = yield* send(port, { headers: { ...protobuf, accept: "application/json" }, body: binary })
      expect(contentOf(toJson).names).toEqual(["a"])
      const toBinary = yield* send(port, {
        headers: { accept: "application/x-protobuf, application/json;q=0.5" },
        json: { node: node() }
      })
      expect(names(toBinary.body)).toEqual([CDS])
      const any = yield* send(port, { headers: { accept: "*/*" }, json: { node: node() } })
      expect(contentOf(any).names).toEqual(["a"])
    })
  )

  it.scopedLive("in protobuf are polled with as those in JSON are", () =>
    Effect.gen(function* () {
      const { only, port, store } = yield* serving()
      const poll = (versionInfo: string, error?: string) =>
        send(port, {
          headers: protobuf,
          body: toBinary(
            DiscoveryRequestSchema,
            create(DiscoveryRequestSchema, {
              versionInfo,
              node: create(NodeSchema, { id: "n1", cluster: "edge" }),
              ...(error !== undefined && { errorDetail: { code: 3, message: error } })
            })
          )
        })
      const { versionInfo } = fromBinary(DiscoveryResponseSchema, (yield* poll("")).body)
      expect((yield* poll(versionInfo)).status).toBe(304)
      yield* store.set("edge", clusters("b"))
      expect((yield* poll(versionInfo)).status).toBe(200)
      expect((yield* poll(versionInfo, "no")).status).toBe(304)
      expect((yield* only).type.nacked?.error).toEqual({ code: 3, message: "no" })
    })
  )

  it.scopedLive("are compressed for those who accept it, if that is worth it", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serving()
      const get = (encoding?: string, accept = "application/json") =>
        send(port, {
          headers: { accept, ...(encoding !== undefined && { "accept-encoding": encoding }) },
          json: { node: node() }
        })
      expect((yield* get("gzip")).headers["content-encoding"]).toBe(undefined)
      yield* store.set("edge", { clusters: [cluster("a", "x".repeat(5000))] })
      const plain = yield* get()
      expect(plain.body.length).toBeGreaterThan(5000)
      for (const encoding of ["gzip", "br, gzip;q=0.5", "*"]) {
        const reply = yield* get(encoding)
        expect(reply.headers["content-encoding"]).toBe("gzip")
        expect(reply.headers["vary"]).toContain("accept-encoding")
        expect(reply.body.length).toBeLessThan(500)
        expect(gunzipSync(reply.body)).toEqual(plain.body)
      }
      for (const encoding of ["identity", "gzip;q=0, *", "br"]) {
        expect((yield* get(encoding)).headers["content-encoding"]).toBe(undefined)
      }
      const compressed = yield* get("gzip", "application/x-protobuf")
      expect(fromBinary(DiscoveryResponseSchema, gunzipSync(compressed.body)).resources.length).toBe(1)
      // What fetch makes of it.
      const fetched = yield* Effect.promise(() =>
        fetch(`http://127.0.0.1:${port}/v3/discovery:clusters`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ node: node() })
        }).then((reply) => reply.text())
      )
      expect(fetched).toBe(plain.body.toString())
    })
  )

  it.scopedLive("that cannot be written as JSON are named, and can be had as protobuf", () =>
    Effect.gen(function* () {
      const { logs, port, store } = yield* serving()
      const typeUrl = "type.googleapis.com/example.Unheard"
      yield* store.set("edge", {
        clusters: [
          create(ClusterSchema, {
            name: "a",
            typedExtensionProtocolOptions: {
              x: { $typeName: "google.protobuf.Any", typeUrl, value: new Uint8Array() }
            }
          })
        ]
      })
      const reply = yield* send(port, { json: { node: node() } })
      expect(reply.status).toBe(500)
      expect(reasonOf(reply)).toMatch(/cannot be written as JSON: .*example\.Unheard/)
      expect(logs.join("\n")).toContain("example.Unheard")
      expect((yield* send(port, { headers: { accept: "application/protobuf" }, json: { node: node() } })).status).toBe(
        200
      )
    })
  )
})

describe("The server", () => {
  const start = (options: RestServer.ListenOptions) =>
    Effect.exit(
      RestServer.make(options).serve(() => ({
        onRequest: () => undefined,
        onWritable: () => undefined,
        onEnd: () => undefined
      }))
    )

  it.scopedLive("says why it cannot serve", () =>
    Effect.gen(function* () {
      const { port } = yield* serving()
      for (const [options, reason] of [
        [{ port }, /^cannot serve on 127\.0\.0\.1:\d+: the port is in use/],
        [{ host: "192.0.2.1" }, /^cannot serve on 192\.0\.2\.1:0: this machine has no such address/],
        [{ tls: { key: "no key", cert: "no certificate" } }, /^cannot serve on 127\.0\.0\.1:0: /]
      ] as const) {
        const exit = yield* start(options)
        const failure = Exit.isFailure(exit) ? Cause.squash(exit.cause) : undefined
        expect(failure).toBeInstanceOf(ServerTransport.ServerTransportError)
        expect(failure instanceof Error && failure.message).toMatch(reason)
      }
    })
  )

  it.scopedLive("cuts off who does not read the end in time", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port } = yield* Scope.extend(serving({ shutdownGrace: 50 }), scope)
      let closed = false
      const socket = Net.connect(port, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
      socket.on("error", () => undefined).on("close", () => (closed = true))
      socket.resume()
      yield* Effect.async<void>((resume) => {
        socket.write("POST /v3/discovery:clusters HTTP/1.1\r\nhost: xds\r\ncontent-length: 10\r\n\r\n{", () =>
          resume(Effect.void)
        )
      })
      expect((yield* client(port).poll()).status).toBe(200)
      yield* Scope.close(scope, Exit.void)
      yield* eventually(() => expect(closed).toBe(true))
    })
  )

  it.scopedLive("answers what still comes while it shuts down", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { port } = yield* Scope.extend(serving(), scope)
      let text = ""
      const socket = Net.connect(port, "127.0.0.1")
      yield* Effect.addFinalizer(() => Effect.sync(() => socket.destroy()))
      socket.on("data", (chunk) => (text += chunk.toString()))
      const write = (part: string) => Effect.async<void>((resume) => void socket.write(part, () => resume(Effect.void)))
      yield* write("POST /v3/discovery:clusters HTTP/1.1\r\nhost: xds\r\n")
      expect((yield* client(port).poll()).status).toBe(200)
      const closed = yield* Effect.forkDaemon(Scope.close(scope, Exit.void))
      const connect = () => request(port, { agent: new Http.Agent() }).then(String, String)
      yield* eventually(async () => expect(await connect()).toContain("ECONNREFUSED"))
      yield* write("\r\n")
      yield* eventually(() => expect(text).toMatch(/^HTTP\/1\.1 503 /))
      yield* closed
    })
  )

  it.scopedLive("serves HTTPS, and tells clients apart by their certificates", () =>
    Effect.gen(function* () {
      const { authority, client, server, stranger } = yield* Certificates.mutual
      const { port, status } = yield* serving({
        tls: {
          ...server,
          ca: authority.cert
        }
      })
      const poll = (own?: Certificates.Certificate) =>
        Effect.promise(
          () =>
            new Promise<number | undefined>((resolve, reject) => {
              const certificate = own ?? {}
              const options = { port, method: "POST", path: "/v3/discovery:clusters", ca: authority.cert, agent: false }
              Https.request({ host: "127.0.0.1", ...options, ...certificate }, (response) => {
                response.resume().on("end", () => resolve(response.statusCode))
              })
                .on("error", reject)
                .end(JSON.stringify({ node: node() }))
            })
        )
      for (const own of [client, undefined, stranger, client]) expect(yield* poll(own)).toBe(200)
      expect((yield* status).map(({ peer }) => peer.identity)).toEqual([
        {
          commonName: "node one",
          subjectAltNames: ["URI:spiffe://test/node-1", "DNS:node-1.test"],
          fingerprint: new X509Certificate(client.cert).fingerprint256
        },
        undefined
      ])
    })
  )

  it.scopedLive("says whom it does not let in, and why, once", () =>
    Effect.gen(function* () {
      const { authority, server, stranger } = yield* Certificates.mutual
      const { logs, port } = yield* serving({
        tls: { ...server, ca: authority.cert, requireClientCertificate: true }
      })
      const connect = (own: Tls.ConnectionOptions) =>
        Effect.async<void>((resume) => {
          const socket = Tls.connect({ host: "127.0.0.1", port, ca: authority.cert, ...own })
          socket.resume().on("error", () => undefined)
          socket.on("close", () => resume(Effect.void))
        })
      for (const own of [{}, {}, stranger]) yield* connect(own)
      yield* eventually(() => {
        expect(logs.filter((line) => line.includes("TLS"))).toEqual([
          expect.stringMatching(/^TLS handshake of REST with 127\.0\.0\.1 failed: peer did not return a certificate/),
          expect.stringMatching(
            /^TLS handshake of REST with 127\.0\.0\.1 failed: the client's certificate is not accepted/
          )
        ])
      })
    })
  )

  it.scopedLive("reads TLS files again when they change, and keeps what was good", () =>
    Effect.gen(function* () {
      const { authority, client, server, stranger } = yield* Certificates.mutual
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "tls-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")]
      const put = (own: Certificates.Certificate) => {
        writeFileSync(key, own.key)
        writeFileSync(cert, own.cert)
      }
      put(server)
      const { port } = yield* serving({ tls: { key, cert, ca: authority.cert } })
      const served = () =>
        new Promise<string>((resolve, reject) => {
          const socket = Tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
            resolve(String(socket.getPeerCertificate().subject.CN))
            socket.destroy()
          })
          socket.on("error", reject)
        })
      expect(yield* Effect.promise(served)).toBe("xds")
      // A key of another certificate.
      put({ key: stranger.key, cert: client.cert })
      put(client)
      yield* eventually(async () => expect(await served()).toBe("node one"))
    })
  )
})

it.scopedLive("a connection is kept for as long as a timer of Node can wait, without a warning for each answer", () =>
  Effect.gen(function* () {
    const { heard } = yield* warnings
    const { port } = yield* serving({ keepAliveTimeout: "30 days", bodyTimeout: "30 days", idleTimeout: "30 days" })
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Http.Agent({ keepAlive: true })),
      (made) => Effect.sync(() => made.destroy())
    )
    const call = { agent, json: { node: node() } }
    expect([(yield* send(port, call)).status, (yield* send(port, call)).status]).toEqual([200, 200])
    expect(heard).toEqual([])
  })
)
