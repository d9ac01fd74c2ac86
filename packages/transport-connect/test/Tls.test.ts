import { eventually } from "@effect-xds/testing/Waiting"
import { splitSubjectAltNames } from "@effect-xds/transport-node/SocketPeer"
import * as Certificates from "@effect-xds/testing/Certificates"
import { ConnectServer } from "@effect-xds/transport-connect"
import { describe, expect, it } from "@effect/vitest"
import * as Grpc from "@grpc/grpc-js"
import { Effect } from "effect"
import { X509Certificate } from "node:crypto"
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import * as Https from "node:https"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Tls from "node:tls"
import * as GrpcClient from "./GrpcClient.js"
import * as Http2Client from "./Http2Client.js"
import { answering, request, serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)
const { authority, client, server, stranger } = await Effect.runPromise(Certificates.mutual)
const tls = { ...server, ca: authority.cert }
/** gRPC warns of addresses as names. */
const named = { "grpc.ssl_target_name_override": "localhost" }
const credentials = (own?: Certificates.Certificate) =>
  own === undefined
    ? Grpc.credentials.createSsl(Buffer.from(authority.cert))
    : Grpc.credentials.createSsl(Buffer.from(authority.cert), Buffer.from(own.key), Buffer.from(own.cert))

describe("TLS", () => {
  it.scopedLive("gives the identity of a client whose certificate verifies", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({ tls: { ...tls, requireClientCertificate: true } }, answering)
      const grpc = yield* GrpcClient.connect(address, credentials(client), named)
      const call = GrpcClient.open(grpc)
      call.stream.write(request("a"))
      yield* eventually(() => expect(call.messages.length).toBe(1))
      expect(streams[0]?.stream.peer.identity).toEqual({
        commonName: "node one",
        subjectAltNames: ["URI:spiffe://test/node-1", "DNS:node-1.test"],
        fingerprint: new X509Certificate(client.cert).fingerprint256
      })
    })
  )

  it.scopedLive("gives no identity without one, or with one of another authority", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve({ tls }, answering)
      for (const own of [undefined, stranger]) {
        const grpc = yield* GrpcClient.connect(address, credentials(own), named)
        const call = GrpcClient.open(grpc)
        yield* wait(call.metadata)
      }
      expect(streams.map(({ stream }) => stream.peer.identity)).toEqual([undefined, undefined])
    })
  )

  it.scopedLive("lets nobody in without a certificate when one is required", () =>
    Effect.gen(function* () {
      const { address, logs, streams } = yield* serve({ tls: { ...tls, requireClientCertificate: true } })
      for (const own of [undefined, stranger]) {
        const grpc = yield* GrpcClient.connect(address, credentials(own), named)
        expect((yield* wait(GrpcClient.open(grpc).status)).code).toBe(14)
      }
      expect(streams).toEqual([])
      expect(logs.filter(({ level }) => level === "WARN").map(({ message }) => message)).toContain(
        "TLS handshake failed"
      )
    })
  )

  it.scopedLive("says of each client why it was not let in, and from where it came", () =>
    Effect.gen(function* () {
      const { logs, port } = yield* serve({ tls: { ...tls, requireClientCertificate: true }, http1: false })
      const end = (options: Tls.ConnectionOptions) =>
        Effect.async<string>((resume) => {
          const socket = Tls.connect({ port, host: "127.0.0.1", ALPNProtocols: ["h2"], ...options })
          let from = ""
          socket.on("connect", () => (from = `127.0.0.1:${socket.localPort}`))
          socket.on("error", () => undefined)
          socket.on("close", () => resume(Effect.succeed(from)))
          socket.resume()
        })
      const hosts = { ca: authority.cert }
      const seen: Array<Record<string, unknown>> = []
      for (const [options, reason] of [
        [hosts, "peer did not return a certificate"],
        [{ ...hosts, ...stranger }, "the client's certificate is not accepted: DEPTH_ZERO_SELF_SIGNED_CERT"],
        [
          { ...hosts, ...client, servername: "other.example" },
          "the client went away; it may not trust the certificate of this server"
        ]
      ] as const) {
        seen.push({ peer: yield* end(options), reason })
        yield* eventually(() =>
          expect(logs.filter(({ level }) => level === "WARN").map(({ annotations }) => annotations)).toEqual(seen)
        )
      }
    })
  )

  it.effect("does not take the authorities of the system for those of clients", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Effect.scoped(serve({ tls: { ...server, requireClientCertificate: true } })))
      expect(error.message).toBe(
        "cannot serve on 127.0.0.1:0: tls.requireClientCertificate needs tls.ca, the authorities that sign the certificates of clients"
      )
    })
  )

  it.scopedLive("gives the identity of a client that resumes its session", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ tls: { ...tls, requireClientCertificate: true } }, answering)
      const options = {
        port,
        host: "127.0.0.1",
        ca: authority.cert,
        key: client.key,
        cert: client.cert,
        ALPNProtocols: ["http/1.1"]
      }
      const post = (session: Buffer | undefined) =>
        Effect.async<{ readonly session: Buffer | undefined; readonly resumed: boolean }>((resume) => {
          const socket = Tls.connect({ ...options, ...(session === undefined ? {} : { session }) })
          let ticket: Buffer | undefined
          let resumed = false
          socket.on("session", (bytes) => (ticket = bytes))
          socket.on("data", () => {
            resumed = socket.isSessionReused()
            socket.destroy()
          })
          socket.on("close", () => resume(Effect.succeed({ session: ticket, resumed })))
          socket.write(
            "POST /envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}"
          )
        })
      const first = yield* post(undefined)
      const second = yield* post(first.session)
      expect([first.resumed, second.resumed]).toEqual([false, true])
      expect(streams.map(({ stream }) => stream.peer.identity?.commonName)).toEqual(["node one", "node one"])
    })
  )

  it.scopedLive("serves HTTP/1.1 too", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ tls }, answering)
      const status = yield* Effect.async<number | undefined>((resume) => {
        const path = "/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters"
        const headers = { "content-type": "application/json" }
        Https.request(
          { port, host: "127.0.0.1", ca: authority.cert, method: "POST", path, headers, agent: false },
          (reply) => {
            reply.resume()
            resume(Effect.succeed(reply.statusCode))
          }
        ).end("{}")
      })
      expect(status).toBe(200)
    })
  )

  /** Connects from this port of the client's, or any. */
  const from = (port: number, localPort: number | undefined, host = "127.0.0.1") =>
    Effect.acquireRelease(
      Effect.async<Net.Socket>((resume) => {
        const socket = Net.connect({ host, port, localAddress: "127.0.0.1", localPort })
        socket.on("error", () => undefined)
        socket.once("connect", () => resume(Effect.succeed(socket)))
      }),
      (socket) => Effect.sync(() => socket.destroy())
    )

  /** Opens a stream on a connection, and waits for the server's headers. */
  const streamOn = (socket: Net.Socket) =>
    Effect.gen(function* () {
      const options = { socket, servername: "localhost", ca: authority.cert, ALPNProtocols: ["h2"] }
      const session = yield* Http2Client.connect(0, { createConnection: () => Tls.connect(options) })
      const call = Http2Client.open(session)
      yield* wait(call.headers)
      return call.stream
    })

  /** Waits until a connection that comes now is dropped, in its handshake or after it: the time of earlier ones is over, too. */
  const dropped = (port: number, ALPNProtocols: ReadonlyArray<string> | undefined) =>
    Effect.gen(function* () {
      const raw = yield* from(port, undefined)
      if (ALPNProtocols === undefined) raw.resume()
      else {
        const socket = Tls.connect({
          socket: raw,
          servername: "localhost",
          ca: authority.cert,
          ALPNProtocols: [...ALPNProtocols]
        })
        socket.on("error", () => undefined)
        yield* Effect.async<void>((resume) => void socket.once("secureConnect", () => resume(Effect.void)))
        socket.resume()
      }
      yield* eventually(() => expect(raw.closed).toBe(true))
    })

  it.scopedLive("drops who says nothing, in the handshake or after it", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ tls, handshakeTimeout: 300 })
      const stream = yield* streamOn(yield* from(port, undefined))
      for (const protocols of [undefined, ["h2"], ["http/1.1"]]) yield* dropped(port, protocols)
      expect(stream.closed).toBe(false)
      expect(streams[0]?.ends).toEqual([])
    })
  )

  it.scopedLive("tells connections from one port of a client to two addresses apart", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ tls, host: "0.0.0.0", handshakeTimeout: 500 })
      const first = yield* from(port, undefined)
      // Both before either handshake.
      const second = yield* from(port, first.localPort, "127.0.0.2")
      yield* streamOn(first)
      yield* streamOn(second)
      yield* dropped(port, undefined)
      expect(streams.map(({ ends }) => ends)).toEqual([[], []])
    })
  )

  it.scopedLive("does not take the end of a connection for that of a later one from the same port", () =>
    Effect.gen(function* () {
      const { port, streams } = yield* serve({ tls, handshakeTimeout: 500 })
      const first = yield* from(port, undefined)
      yield* streamOn(first)
      const { localPort } = first
      // The server sees the end and the newcomer in one turn.
      first.resetAndDestroy()
      yield* streamOn(yield* from(port, localPort))
      yield* eventually(() => expect(streams.map(({ ends }) => ends.length)).toEqual([1, 0]))
      yield* dropped(port, undefined)
      expect(streams[1]?.ends).toEqual([])
    })
  )

  it.scopedLive("reads files, and says which one it cannot use", () =>
    Effect.gen(function* () {
      const directory = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "tls-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const key = join(directory, "key.pem")
      writeFileSync(key, server.key)
      const { address } = yield* serve({ tls: { ...tls, key } })
      const grpc = yield* GrpcClient.connect(address, credentials(), named)
      yield* wait(GrpcClient.open(grpc).metadata)
      const fail = (options: ConnectServer.TlsOptions) =>
        Effect.map(
          Effect.flip(ConnectServer.make({ tls: options }).serve(() => expect.unreachable())),
          ({ reason }) => reason
        )
      expect(yield* fail({ ...tls, cert: join(directory, "none.pem") })).toMatch(
        /^tls\.cert cannot be read: ENOENT.*none\.pem/
      )
      expect(yield* fail({ ...tls, key: stranger.key })).toBe(
        "tls cannot be used: tls.key: it does not fit the certificate in tls.cert"
      )
      // Node would take it for no key, and every handshake would fail.
      const begins = "a PEM file begins with -----BEGIN PRIVATE KEY-----"
      const empty = join(directory, "empty.key")
      writeFileSync(empty, "")
      expect(yield* fail({ ...tls, key: empty })).toBe(`tls.key ${empty}: it is empty; ${begins}`)
      expect(yield* fail({ ...tls, key: tls.cert })).toBe(`tls.key: there is no private key in it; ${begins}`)
      expect(yield* fail({ ...tls, key: tls.key.replace(/PRIVATE KEY/g, "ENCRYPTED PRIVATE KEY") })).toContain(
        "tls.key: it is encrypted, and there is no passphrase"
      )
    })
  )

  it.scopedLive(
    "takes changed files into use without a restart, also by a link, and keeps the old ones if they are bad",
    () =>
      Effect.gen(function* () {
        const directory = yield* Effect.acquireRelease(
          Effect.sync(() => mkdtempSync(join(tmpdir(), "tls-"))),
          (path) => Effect.sync(() => rmSync(path, { recursive: true }))
        )
        // As a Kubernetes secret is mounted: files that lead through a link, which is exchanged.
        const put = (version: string, own: Certificates.Certificate) => {
          mkdirSync(join(directory, version))
          writeFileSync(join(directory, version, "key.pem"), own.key)
          writeFileSync(join(directory, version, "cert.pem"), own.cert)
          symlinkSync(version, join(directory, "new"))
          renameSync(join(directory, "new"), join(directory, "..data"))
        }
        put("one", server)
        for (const name of ["key.pem", "cert.pem"]) symlinkSync(join("..data", name), join(directory, name))
        const key = join(directory, "key.pem")
        const cert = join(directory, "cert.pem")
        const { address, logs, port, streams } = yield* serve({ tls: { ...tls, key, cert } }, answering)
        const served = () =>
          new Promise<string>((resolve, reject) => {
            const socket = Tls.connect({ host: "127.0.0.1", port, rejectUnauthorized: false }, () => {
              resolve(String(socket.getPeerCertificate().subject.CN))
              socket.destroy()
            })
            socket.on("error", reject)
          })
        const serves = (name: string) => eventually(async () => expect(await served()).toBe(name))
        yield* serves("xds")
        const grpc = yield* GrpcClient.connect(address, credentials(), named)
        const open = GrpcClient.open(grpc)
        yield* wait(open.metadata)

        const next = yield* authority.sign("xds two", { dns: ["localhost"] })
        put("two", next)
        yield* serves("xds two")
        // A key of another certificate is of no use; what was good stays.
        put("three", { key: stranger.key, cert: next.cert })
        yield* eventually(() => expect(logs.map(({ message }) => message).join()).toContain("cannot be used"))
        const last = yield* authority.sign("xds four", { dns: ["localhost"] })
        expect(yield* wait(served())).toBe("xds two")
        put("four", last)
        yield* serves("xds four")
        // The stream that was open before is still served.
        expect(streams[0]?.ends).toEqual([])
        open.stream.write(request("late"))
        yield* eventually(() => expect(open.messages).toHaveLength(1))
      })
  )

  it("takes alternative names apart", () => {
    expect(splitSubjectAltNames('DNS:a, IP Address:127.0.0.1, URI:"http://a/?b, DNS:evil", email:x@y')).toEqual([
      "DNS:a",
      "IP Address:127.0.0.1",
      "URI:http://a/?b, DNS:evil",
      "email:x@y"
    ])
    expect(splitSubjectAltNames(undefined)).toEqual([])
  })
})
