/** The client over REST: against our server in both polling forms, and against servers that do what none should. */
import { create, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ResourceType } from "@effect-xds/proto"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { FreePort, SpanTracer } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ClientTransport } from "@effect-xds/transport"
import * as Certificates from "@effect-xds/testing/Certificates"
import { RestClient, RestClientMetrics } from "@effect-xds/transport-rest"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Logger, Metric, Scope, Stream, type Tracer } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { gzipSync } from "node:zlib"
import { assignment, cluster, held, serve } from "./ControlPlane.js"

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

/** A cluster that some client has no use for. */
const clusters = WatchableType.fromSchema(ClusterSchema, {
  validate: ({ altStatName }) => (altStatName === "bad" ? "no bad names here" : undefined)
})

const connect = (
  server: string | ClientTransport.Server,
  transport: RestClient.Options = {},
  options: Partial<Parameters<typeof XdsClient.make>[0]> = {}
) =>
  Effect.map(
    Layer.build(
      XdsClient.layer({
        aggregated: false,
        resourceTimeout: "2500 millis",
        backoff: { initial: 50, floor: 10 },
        ...options,
        bootstrap: Bootstrap.make({ servers: [server], node: { id: "c1", cluster: "edge" } })
      }).pipe(Layer.provide(RestClient.layer({ refreshDelay: 20, ...transport })), Layer.provide(silent))
    ),
    (context) => Context.get(context, XdsClient.XdsClient)
  )

/** Writes down all that is heard. */
const hear = <A, E>(events: Stream.Stream<ResourceEvent.ResourceEvent<A>, E>, textOf: (value: A) => string) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(events, (event) =>
        Effect.sync(() =>
          heard.push(event._tag === "Updated" ? `${event.name}=${textOf(event.value)}` : `${event.name} ${event._tag}`)
        )
      )
    )
    return heard
  })

const hearClusters = (client: XdsClient.Service) => hear(client.watchAll(clusters), ({ altStatName }) => altStatName)

const factor = ({ policy }: ClusterLoadAssignment) => String(policy?.overprovisioningFactor)

const polls = (outcome: RestClientMetrics.Outcome) =>
  Effect.map(Metric.value(RestClientMetrics.polls(outcome)), ({ count }) => count)

const forms = (["json", "protobuf"] as const).flatMap((format) => [
  { name: `polling with ${format}`, transport: { format, refreshDelay: 20 } },
  { name: `long polling with ${format}`, transport: { format, refreshDelay: 5, wait: 30_000 } }
])

describe.each(forms)("XdsClient and XdsServer over REST, $name", ({ transport }) => {
  it.scopedLive("subscribe, update, delete, reject, lose the server, miss a name", () =>
    Effect.gen(function* () {
      const first = yield* Scope.make()
      const port = yield* FreePort.any()
      const { status, store } = yield* Scope.extend(serve({ port, shutdownGrace: 10 }), first)
      yield* store.set("edge", { clusters: [cluster("a", "1"), cluster("b", "1")], endpoints: [assignment("e", 1)] })
      const client = yield* connect(`127.0.0.1:${port}`, transport)
      const all = yield* hearClusters(client)
      const one = yield* hear(client.watch(ClusterLoadAssignmentSchema, "e"), factor)

      // Subscribe.
      yield* eventually(() => expect(all.toSorted()).toEqual(["a=1", "b=1"]))
      yield* eventually(() => expect(one).toEqual(["e=1"]))

      // Update, and what is not changed is not told.
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "2")] } })
      yield* eventually(() => expect(all.slice(2)).toEqual(["b=2"]))

      // Reject: the server is told by the next poll.
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "bad")] } })
      yield* eventually(() => expect(all.slice(3)).toEqual(["b AmbientError"]))
      yield* eventually(async () => {
        const types = (await Effect.runPromise(status)).flatMap((each) => each.types)
        const cds = types.find(({ typeUrl }) => typeUrl === ResourceType.Cluster.typeUrl)
        expect(cds?.nacked?.error.message).toContain("no bad names here")
      })
      yield* store.update("edge", { upsert: { clusters: [cluster("b", "3")] } })
      yield* eventually(() => expect(all.slice(4)).toEqual(["b=3"]))

      // Delete.
      yield* store.update("edge", { remove: { clusters: ["a"] } })
      yield* eventually(() => expect(all.slice(5)).toEqual(["a DoesNotExist"]))

      // A name that is not there, and comes later; the other one goes on.
      const missing = yield* hear(client.watch(ClusterLoadAssignmentSchema, "none"), () => "here")
      yield* eventually(() => expect(missing).toEqual(["none DoesNotExist"]))
      yield* store.update("edge", { upsert: { endpoints: [assignment("none"), assignment("e", 2)] } })
      yield* eventually(() => expect(missing).toEqual(["none DoesNotExist", "none=here"]))
      yield* eventually(() => expect(one).toEqual(["e=1", "e=2"]))

      // The server goes and comes back with another state; what is held stays.
      yield* Scope.close(first, Exit.void)
      yield* eventually(() => expect(all.slice(6)).toEqual(["b AmbientError"]))
      yield* eventually(() => expect(one.slice(2)).toEqual(["e AmbientError"]))
      const again = yield* serve({ port })
      yield* again.store.set("edge", {
        clusters: [cluster("b", "4"), cluster("c", "4")],
        endpoints: [assignment("e", 2)]
      })
      yield* eventually(() => expect(all.slice(7).toSorted()).toEqual(["b=4", "c=4"]))
      yield* eventually(() => expect(one.slice(2)).toEqual(["e AmbientError", "e Recovered"]))
    })
  )
})

describe("Polls to our server", () => {
  it.scopedLive("an unchanged version is answered with 304, and tells nothing", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { clusters: [cluster("a", "1")] })
      const [changed, unchanged] = [yield* polls("changed"), yield* polls("unchanged")]
      const all = yield* hearClusters(yield* connect(`127.0.0.1:${port}`))
      yield* eventually(async () => expect(await Effect.runPromise(polls("unchanged"))).toBeGreaterThan(unchanged + 3))
      expect((yield* polls("changed")) - changed).toBe(1)
      expect(all).toEqual(["a=1"])
    })
  )

  it.scopedLive("a long poll is held, and given up when another name is asked for", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { endpoints: [assignment("a", 1), assignment("b", 2)] })
      const client = yield* connect(`127.0.0.1:${port}`, { wait: 30_000 })
      const a = yield* hear(client.watch(ClusterLoadAssignmentSchema, "a"), factor)
      yield* held(1)
      const b = yield* hear(client.watch(ClusterLoadAssignmentSchema, "b"), factor)
      yield* eventually(() => expect([a, b]).toEqual([["a=1"], ["b=2"]]))
      yield* held(1)
    })
  )

  it.scopedLive("a client that ends lets its polls go", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { clusters: [cluster("a")] })
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(connect(`127.0.0.1:${port}`, { wait: 30_000 }), scope)
      yield* Scope.extend(hearClusters(client), scope)
      yield* held(1)
      yield* Scope.close(scope, Exit.void)
      yield* held(0)
    })
  )

  it.scopedLive("a group that was never set is told in the server's words", () =>
    Effect.gen(function* () {
      const { port } = yield* serve({ answerTimeout: 20 })
      const client = yield* connect(`127.0.0.1:${port}`)
      const error = yield* Effect.flip(client.get(clusters, "a", { timeout: "1500 millis" }))
      expect(error.message).toContain("HTTP status 503")
      expect(error.message).toContain("its group is not set")
    })
  )

  it.scopedLive("call credentials go with each poll; without them the stream ends", () =>
    Effect.gen(function* () {
      const seen: Array<string | undefined> = []
      const { port, store } = yield* serve(
        {},
        {
          group: ({ cluster }, { headers }) =>
            Effect.sync(() => {
              seen.push(headers["authorization"])
              return cluster
            })
        }
      )
      yield* store.set("edge", { clusters: [cluster("a", "1")] })
      let tokens = 0
      const client = yield* connect(`127.0.0.1:${port}`, {
        headers: () =>
          ++tokens === 1 ? Effect.fail(new Error("no token yet")) : Effect.succeed({ authorization: "t" })
      })
      const all = yield* hearClusters(client)
      yield* eventually(() => expect(all).toEqual(["* Error", "a=1"]))
      expect(seen).toEqual(["t"])
    })
  )

  it.scopedLive("call credentials that never come, and cannot be interrupted, end the poll in time", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", { clusters: [cluster("a", "1")] })
      let tokens = 0
      const client = yield* connect(`127.0.0.1:${port}`, {
        requestTimeout: 150,
        headers: () => (++tokens === 1 ? Effect.uninterruptible(Effect.never) : Effect.succeed({}))
      })
      const all = yield* hearClusters(client)
      yield* eventually(() => expect(all).toEqual(["* Error", "a=1"]))
    })
  )

  it.scopedLive("over mTLS; a certificate that is not trusted is said so", () =>
    Effect.gen(function* () {
      const folder = yield* Effect.acquireRelease(
        Effect.sync(() => mkdtempSync(join(tmpdir(), "rest-client-"))),
        (path) => Effect.sync(() => rmSync(path, { recursive: true }))
      )
      const { authority, client: own, server, stranger } = yield* Certificates.mutual
      const key = join(folder, "key.pem")
      writeFileSync(key, own.key)
      const { port, status, store } = yield* serve({
        tls: {
          ...server,
          ca: authority.cert,
          requireClientCertificate: true
        }
      })
      yield* store.set("edge", { clusters: [cluster("a", "1")] })
      const tls = { _tag: "Tls", ca: authority.cert, cert: own.cert, key } as const
      const client = yield* connect({ address: `https://127.0.0.1:${port}`, credentials: tls })
      expect((yield* client.get(clusters, "a")).altStatName).toBe("1")
      expect((yield* status).map(({ peer }) => peer.identity?.commonName)).toEqual(["node one"])

      const wrongs = [
        { ...tls, ca: stranger.cert },
        { ...tls, serverName: "another.test" }
      ]
      for (const credentials of wrongs) {
        const wrong = yield* connect({ address: `127.0.0.1:${port}`, credentials })
        const error = yield* Effect.flip(wrong.get(clusters, "a", { timeout: "1500 millis" }))
        expect(error.message).toMatch(/certificate|altnames/)
      }
    })
  )
})

/** A server of Node's own, that does as it is told. */
const hostile = (answer: (response: Http.ServerResponse, count: number, body: string) => void) =>
  Effect.acquireRelease(
    Effect.async<{ readonly address: string; readonly close: () => void; readonly bodies: Array<string> }>((resume) => {
      const bodies: Array<string> = []
      const server = Http.createServer((request, response) => {
        let body = ""
        request.setEncoding("utf8")
        request.on("data", (chunk: string) => (body += chunk))
        request.on("end", () => {
          bodies.push(body)
          answer(response, bodies.length, body)
        })
      })
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        const close = (): void => {
          server.close()
          server.closeAllConnections()
        }
        resume(Effect.succeed({ address: `127.0.0.1:${port}`, close, bodies }))
      })
    }),
    ({ close }) => Effect.sync(close)
  )

const CDS = ResourceType.Cluster.typeUrl
const good = JSON.stringify({ version_info: "1", resources: [{ "@type": CDS, name: "a", alt_stat_name: "1" }] })
const json = { "content-type": "application/json" }

const hostilities: Readonly<Record<string, readonly [(response: Http.ServerResponse) => void, string]>> = {
  "bad JSON": [
    (response) => response.writeHead(200, json).end('{\n  "version_info": 1,,\n}'),
    "the answer is not JSON: line 2"
  ],
  "JSON that is no object": [
    (response) => response.writeHead(200, json).end("[]"),
    "the answer is not a DiscoveryResponse: it is an array"
  ],
  "a page for people": [
    (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
    "the answer is not JSON"
  ],
  "a resource of a type that is not known": [
    (response) => response.writeHead(200, json).end('{"resources": [{"@type": "type.googleapis.com/none.Such"}]}'),
    "none.Such"
  ],
  "a response of another type": [
    (response) => response.writeHead(200, json).end(JSON.stringify({ type_url: ResourceType.Listener.typeUrl })),
    `the answer is of type ${ResourceType.Listener.typeUrl}, not of ${CDS}`
  ],
  "protobuf that is none": [
    (response) => response.writeHead(200, { "content-type": "application/x-protobuf" }).end(Buffer.from([0x12, 0xff])),
    "the answer is not a DiscoveryResponse"
  ],
  "an answer that is too large": [
    (response) => response.writeHead(200, json).end(" ".repeat(5000)),
    "larger than this client's limit of 4096 bytes"
  ],
  "an answer that is too large when it is inflated": [
    (response) => response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(gzipSync(" ".repeat(9000))),
    "larger than this client's limit of 4096 bytes"
  ],
  "an answer that says that it is compressed": [
    (response) => response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(good),
    "the answer is not gzip"
  ],
  "an answer that is compressed in another way": [
    (response) => response.writeHead(200, { ...json, "content-encoding": "br" }).end(good),
    "compressed with br"
  ],
  "no answer": [() => undefined, "no answer within 150 ms"],
  "half an answer": [
    (response) => {
      response.writeHead(200, { ...json, "content-length": good.length })
      response.write(good.slice(0, 10), () => response.destroy())
    },
    "the answer was cut off"
  ],
  "a connection that is closed": [
    (response) => void response.destroy(),
    "the server closed the connection without an answer; it may want TLS"
  ],
  "HTTP 500": [(response) => response.writeHead(500).end("oops"), "the server answered with HTTP status 500"],
  "HTTP 503 with a reason": [
    (response) => response.writeHead(503, json).end('{"code": "UNAVAILABLE", "message": "come back later"}'),
    "HTTP status 503: come back later"
  ],
  "another place to go to": [
    (response) => response.writeHead(307, { location: "http://127.0.0.1:1/" }).end(),
    "HTTP status 307"
  ]
}

describe("Servers that do what none should", () => {
  it.scopedLive.each(Object.entries(hostilities))(
    "%s: told, what is held stays, and tried again",
    ([, [harm, words]]) =>
      Effect.gen(function* () {
        let harmful = true
        const { address, bodies } = yield* hostile((response) =>
          harmful ? harm(response) : response.writeHead(200, json).end(good)
        )
        const transport = { requestTimeout: 150, maxResponseBytes: 4096 }
        const client = yield* connect(address, transport)
        const errors: Array<string> = []
        const heard: Array<string> = []
        yield* Effect.forkScoped(
          Stream.runForEach(client.watchAll(clusters), (event) =>
            Effect.sync(() => {
              heard.push(event._tag === "Updated" ? `${event.name}=${event.value.altStatName}` : event._tag)
              if ("error" in event) errors.push(event.error.message)
            })
          )
        )
        // From the beginning, with nothing held.
        yield* eventually(() => expect(errors.join("\n")).toContain(words))
        expect(errors[0]).toContain(`POST /v3/discovery:clusters on ${address}: `)
        // It becomes good.
        harmful = false
        yield* eventually(() => expect(heard.at(-1)).toBe("a=1"))
        // And bad again: what is held stays, and the client comes back.
        harmful = true
        const before = bodies.length
        yield* eventually(() => expect(bodies.length).toBeGreaterThan(before + 3))
        yield* eventually(() => expect(heard.at(-1)).toBe("AmbientError"))
        harmful = false
        yield* eventually(() => expect(heard.at(-1)).toBe("Recovered"))
      })
  )

  it.scopedLive("no server at all", () =>
    Effect.gen(function* () {
      const client = yield* connect(`127.0.0.1:${yield* FreePort.any()}`)
      const error = yield* Effect.flip(client.get(clusters, "a", { timeout: "1500 millis" }))
      expect(error.message).toContain("ECONNREFUSED")
    })
  )

  it.scopedLive("a connection that the server closes when it is used again is no failure", () =>
    Effect.gen(function* () {
      const used = new WeakSet()
      const { address, bodies } = yield* hostile((response, count) => {
        const { socket } = response
        if (socket === null || used.has(socket)) return void response.destroy()
        used.add(socket)
        response.writeHead(200, json).end(good.replace('"1"', `"${count}"`))
      })
      const all = yield* hearClusters(yield* connect(address))
      yield* eventually(() => expect(bodies.length).toBeGreaterThan(10))
      // A new stream would begin without a version.
      expect(bodies.slice(1).filter((body) => !body.includes("versionInfo"))).toEqual([])
      expect(all).toEqual(["a=1"])
    })
  )

  it.scopedLive("a poll that is held takes its time beyond that of other requests", () =>
    Effect.gen(function* () {
      const failed = yield* polls("failed")
      const { address, bodies } = yield* hostile((response, count) => {
        if (count === 1) response.writeHead(200, json).end(good)
        else setTimeout(() => response.writeHead(304).end(), 1500)
      })
      const all = yield* hearClusters(yield* connect(address, { requestTimeout: 1000, wait: 5000 }))
      yield* eventually(() => expect(bodies.length).toBeGreaterThan(2))
      expect(all).toEqual(["a=1"])
      expect(yield* polls("failed")).toBe(failed)
    })
  )

  it.scopedLive("the fields of polls: those that Envoys send, and the error of a rejection", () =>
    Effect.gen(function* () {
      const bad = good.replace('alt_stat_name":"1"', 'alt_stat_name":"bad"').replace('"1"', '"2"')
      const { address, bodies } = yield* hostile((response, count) =>
        count === 1 ? response.writeHead(200, json).end(good) : response.writeHead(200, json).end(bad)
      )
      const all = yield* hearClusters(yield* connect(address))
      yield* eventually(() => expect(all).toEqual(["a=1", "a AmbientError"]))
      yield* eventually(() => expect(bodies.length).toBeGreaterThan(2))
      const sent = bodies.slice(0, 3).map((body): unknown => JSON.parse(body))
      expect(sent).toMatchObject([
        { typeUrl: CDS, node: { id: "c1", cluster: "edge" } },
        { typeUrl: CDS, node: { id: "c1" }, versionInfo: "1" },
        { typeUrl: CDS, node: { id: "c1" }, versionInfo: "1", errorDetail: { code: 3 } }
      ])
      expect(JSON.stringify(sent)).not.toContain("responseNonce")
    })
  )

  it.scopedLive("a server without 304 is polled at its pace", () =>
    Effect.gen(function* () {
      const binary = toBinary(
        DiscoveryResponseSchema,
        create(DiscoveryResponseSchema, { versionInfo: "1", nonce: "n" })
      )
      const { address, bodies } = yield* hostile((response) =>
        response.writeHead(200, { "content-type": "application/protobuf" }).end(binary)
      )
      yield* hearClusters(yield* connect(address, { format: "protobuf", refreshDelay: 40 }))
      const start = performance.now()
      yield* eventually(() => expect(bodies.length).toBeGreaterThan(5))
      expect(performance.now() - start).toBeGreaterThan(5 * 39)
    })
  )
})

describe("A channel", () => {
  const channel = (address: string, credentials: ClientTransport.Credentials = ClientTransport.insecure) =>
    Effect.scoped(RestClient.make().connect({ address, credentials }))

  it.live("fails for what can never be reached", () =>
    Effect.gen(function* () {
      const tls = { _tag: "Tls" } as const
      const reasons = [
        yield* Effect.flip(channel("")),
        yield* Effect.flip(channel("host:port")),
        yield* Effect.flip(channel("https://host")),
        yield* Effect.flip(channel("http://host", tls)),
        yield* Effect.flip(channel("http://user@host")),
        yield* Effect.flip(channel(`unix:/${"s".repeat(107)}`)),
        yield* Effect.flip(channel("host", { ...tls, cert: "/none.pem" })),
        yield* Effect.flip(channel("host", { ...tls, ca: "/none.pem" }))
      ]
      expect(reasons.map(({ reason }) => reason.replace(/;.*/, ""))).toEqual([
        "it is no address",
        "it is no address",
        "https:// needs TLS credentials",
        "http:// is in the clear, but there are TLS credentials",
        "it is to have a host, and no user, query or fragment",
        `the path /${"s".repeat(107)} has 108 bytes, and that of a Unix socket at most 107`,
        "a client certificate needs both cert and key",
        "TLS cannot be used: ENOENT: no such file or directory, open '/none.pem'"
      ])
    })
  )

  it.scopedLive("ends streams that REST does not have", () =>
    Effect.gen(function* () {
      const to = yield* RestClient.make().connect({ address: "127.0.0.1:1", credentials: ClientTransport.insecure })
      const methods: ReadonlyArray<ClientTransport.Method> = [
        { protocol: "StateOfTheWorld", typeUrl: undefined },
        { protocol: "Incremental", typeUrl: CDS },
        { protocol: "StateOfTheWorld", typeUrl: ResourceType.VirtualHost.typeUrl }
      ]
      for (const method of methods) {
        const ends: Array<string> = []
        to.open(method, {
          onOpen: () => ends.push("open"),
          onMessage: () => ends.push("message"),
          onEnd: ({ code }) => ends.push(code)
        })
        expect(ends).toEqual([])
        yield* eventually(() => expect(ends).toEqual(["UNIMPLEMENTED"]))
      }
    })
  )

  it.scopedLive("a client that throws ends its stream, and takes nothing else with it", () =>
    Effect.gen(function* () {
      const { address } = yield* hostile((response) => response.writeHead(200, json).end(good))
      const logs: Array<string> = []
      const logger = Logger.make(({ message }) => logs.push(String(message)))
      const to = yield* RestClient.make()
        .connect({ address, credentials: ClientTransport.insecure })
        .pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      to.open(
        { protocol: "StateOfTheWorld", typeUrl: CDS },
        {
          onOpen: () => {
            throw new Error("a bug")
          },
          onMessage: () => undefined,
          onEnd: () => undefined
        }
      )
      yield* eventually(() => expect(logs.join()).toContain("client failed on a stream"))
    })
  )
})

describe("Each poll", () => {
  it.scopedLive("is a span that says how it was answered", () =>
    Effect.gen(function* () {
      const spans: Array<Tracer.Span> = []
      const tracer = SpanTracer.make((span) => {
        spans.push(span)
        return {}
      })
      const { address } = yield* hostile((response, count) =>
        count === 1 ? response.writeHead(200, json).end(good) : response.writeHead(304).end()
      )
      const all = yield* hearClusters(yield* Effect.withTracer(connect(address), tracer))
      const polls = () =>
        spans
          .filter(({ name, status }) => name === "xds.rest.poll" && status._tag === "Ended")
          .map(({ attributes }) => [attributes.get("xds.version"), attributes.get("http.response.status_code")])
      yield* eventually(() =>
        expect(polls().slice(0, 2)).toEqual([
          ["", 200],
          ["1", 304]
        ])
      )
      expect(all).toEqual(["a=1"])
    })
  )
})
