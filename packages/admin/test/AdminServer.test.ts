import { create, fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { AdminServer } from "@effect-xds/admin"
import { Request } from "@effect-xds/core"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ConfigSourceSchema } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { Snapshot, SnapshotStore, XdsServer } from "@effect-xds/server"
import { AutoYield, MemoryClient, MemoryTransport } from "@effect-xds/testing"
import * as LargeAssignment from "@effect-xds/testing/input/LargeAssignment"
import { until } from "@effect-xds/testing/Waiting"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, LogLevel } from "effect"
import { once } from "node:events"
import * as Http from "node:http"
import * as Answers from "../src/internal/Answers.js"
import * as ConfigDump from "../src/internal/ConfigDump.js"

const CDS = ResourceType.Cluster.typeUrl

const cluster = (name: string) => create(ClusterSchema, { name })

const edsConfig = fromJson(ConfigSourceSchema, { ads: {} })

const edsCluster = (name: string) =>
  create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS },
    edsClusterConfig: { edsConfig }
  })

const hidden = { inline_string: "hidden-key" }
const hiddenBytes = Buffer.from("hidden-key").toString("base64")

const environment = XdsServer.layer({ group: ({ cluster }) => cluster }).pipe(
  Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
  Layer.provideMerge(Logger.minimumLogLevel(LogLevel.None))
)

const serve = (options: AdminServer.ListenOptions = {}) =>
  Effect.map(AdminServer.make(options), ({ address }) => ({
    get: (path: string, init: RequestInit = {}) =>
      Effect.promise(async () => {
        const response = await fetch(`http://${address}${path}`, init)
        return { status: response.status, type: response.headers.get("content-type"), body: await response.text() }
      }),
    /** Asks for something and reads none of it; the function it gives ends the connection. */
    open: (path: string) =>
      Effect.promise(async () => {
        const request = Http.get(`http://${address}${path}`, { agent: false })
        request.on("error", () => undefined)
        await once(request, "response")
        return () => void request.destroy()
      }),
    json: (path: string) =>
      Effect.promise(async (): Promise<unknown> => (await fetch(`http://${address}${path}`)).json())
  }))

const node = (group: string) =>
  toBinary(
    NodeSchema,
    create(NodeSchema, {
      id: "n1",
      cluster: group,
      userAgentName: "envoy",
      userAgentVersionType: { case: "userAgentVersion", value: "1.40.0" }
    })
  )

const ask = (group: string) => Request.incremental({ typeUrl: CDS, node: node(group) })

/** The turns of the event loop that others have meanwhile. */
const turnsOf = (work: () => Promise<void>) =>
  Effect.promise(async () => {
    let turns = 0
    let next = setImmediate(function count() {
      turns++
      next = setImmediate(count)
    })
    await work()
    clearImmediate(next)
    return turns
  })

describe("AdminServer", () => {
  it.scopedLive("is alive, and ready when nothing stands in the way", () =>
    Effect.gen(function* () {
      const reasons: Array<string> = ["the files were not read", "it rains"]
      const { get } = yield* serve({ notReady: Effect.sync(() => reasons) })
      expect(yield* get("/healthz")).toMatchObject({ status: 200, body: "ok\n" })
      expect(yield* get("/readyz")).toMatchObject({
        status: 503,
        body: "not ready: the files were not read; it rains\n"
      })
      reasons.length = 0
      expect(yield* get("/readyz")).toMatchObject({ status: 200, body: "ready\n" })
      const limit = new TransportMetrics.Refusing("maxConnections")
      limit.set(true)
      expect(yield* get("/readyz")).toMatchObject({
        status: 503,
        body: "not ready: newcomers are refused, the limit of connections is reached\n"
      })
      limit.set(false)
      expect(yield* get("/readyz")).toMatchObject({ status: 200 })
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("answers only who asks for it by a name of its own", () =>
    Effect.gen(function* () {
      const { address } = yield* AdminServer.make({
        allowedHosts: ["xds-admin.corp"],
        allowedHostsName: "--admin-allow-host"
      })
      const ask = (host: string) =>
        Effect.promise(
          () =>
            new Promise<{ readonly status: number; readonly body: string }>((resolve, reject) => {
              const request = Http.get(
                `http://${address}/config_dump`,
                { headers: { host }, agent: false },
                (response) => {
                  let body = ""
                  response.on("data", (chunk: Buffer) => (body += chunk.toString()))
                  response.on("end", () => resolve({ status: response.statusCode ?? 0, body }))
                }
              )
              request.on("error", reject)
            })
        )
      for (const host of [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1:18090",
        "[::1]:18090",
        "xds-admin.corp",
        "XDS-admin.corp.:80"
      ]) {
        expect((yield* ask(host)).status, host).toBe(200)
      }
      for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "10.1.2.3", "[::2]:80"]) {
        const { body, status } = yield* ask(host)
        expect(status, host).toBe(421)
        expect(body, host).toContain("name that host in --admin-allow-host")
      }
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("warns where others than this machine can read it", () =>
    Effect.gen(function* () {
      const lines: Array<string> = []
      const logger = Logger.make(({ message }) => void lines.push(String(message)))
      const listen = (host: string) =>
        AdminServer.make({ host }).pipe(
          Effect.provide(
            Layer.merge(Logger.replace(Logger.defaultLogger, logger), Logger.minimumLogLevel(LogLevel.Info))
          )
        )
      yield* listen("127.0.0.1")
      expect(lines).toEqual([])
      yield* listen("0.0.0.0")
      expect(lines).toEqual([expect.stringContaining("everyone who reaches 0.0.0.0 can read all that is served")])
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("says which paths and methods there are", () =>
    Effect.gen(function* () {
      const { get } = yield* serve()
      const unknown = yield* get("/nothing?here")
      expect(unknown.status).toBe(404)
      expect(unknown.body).toContain("/nothing is not served; these are: /healthz, /readyz, /metrics")
      expect((yield* get("/status", { method: "POST" })).status).toBe(405)
      expect((yield* get("/status", { method: "HEAD" })).status).toBe(200)
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("gives the metrics", () =>
    Effect.gen(function* () {
      const { get } = yield* serve()
      yield* MemoryClient.open()
      const { body, type } = yield* get("/metrics")
      expect(type).toBe("text/plain; version=0.0.4; charset=utf-8")
      expect(body).toContain(
        "# HELP xds_server_streams Open streams\n# TYPE xds_server_streams gauge\nxds_server_streams 1\n"
      )
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("measures how late the event loop is", () =>
    Effect.gen(function* () {
      const { get } = yield* serve()
      const late = Effect.map(get("/metrics"), ({ body }) => {
        const value = (pattern: RegExp) => Number(pattern.exec(body)?.[1] ?? Number.NaN)
        const within = value(/^xds_event_loop_delay_seconds_bucket\{le="0.25"\} (\d+)$/m)
        return {
          late: value(/^xds_event_loop_delay_seconds_count (\d+)$/m) - within,
          sum: value(/_delay_seconds_sum (\S+)$/m)
        }
      })
      const before = yield* until("the first measure", late, ({ sum }) => !Number.isNaN(sum))
      const end = performance.now() + 400
      while (performance.now() < end);
      const after = yield* until("a late turn", late, ({ late }) => late > before.late)
      expect(after.sum - before.sum).toBeGreaterThan(0.25)
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("shows each client: sent, accepted, rejected, waiting", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* store.set("edge", { clusters: [cluster("a")] })
      const { get, json } = yield* serve({ details: Effect.succeed({ mine: 1 }) })
      const client = yield* MemoryClient.open({ method: { protocol: "Incremental", typeUrl: undefined, unary: false } })
      client.send(ask("edge"))
      const first = yield* client.receive
      client.send(Request.incremental({ typeUrl: CDS, responseNonce: first.nonce }))
      yield* store.update("edge", { upsert: { clusters: [cluster("b")] } })
      const second = yield* client.receive
      const errorDetail = { code: 13, message: "no, thanks" }
      client.send(Request.incremental({ typeUrl: CDS, responseNonce: second.nonce, errorDetail }))
      const other = yield* MemoryClient.open({ method: { protocol: "Incremental", typeUrl: CDS, unary: false } })
      other.send(ask("nowhere"))
      const status = yield* until("a client that waits", json("/status"), (found) =>
        JSON.stringify(found).includes('"waiting":true')
      )
      expect(JSON.stringify(status)).toContain("no, thanks")
      expect(status).toMatchObject({
        mine: 1,
        not_ready: [],
        groups: [{ group: "edge", resources: { CDS: 2 } }],
        clients: [
          {
            node: { id: "n1", cluster: "edge", user_agent: "envoy 1.40.0" },
            group: "edge",
            identity: null,
            protocol: "incremental",
            service: "ADS",
            waiting: false,
            types: [
              {
                type: "CDS",
                type_url: CDS,
                state: "nacked",
                wildcard: true,
                names: 0,
                sent: { version: second.version, nonce: second.nonce },
                acked: { version: first.version, nonce: first.nonce },
                nacked: { version: second.version, nonce: second.nonce, error: { code: 13, message: "no, thanks" } }
              }
            ]
          },
          { group: "nowhere", service: "CDS", waiting: true, types: [{ sent: null, acked: null, nacked: null }] }
        ]
      })
      const at = JSON.stringify(status).match(/"at":"([^"]+)"/)?.[1] ?? ""
      expect(Math.abs(Date.now() - Date.parse(at))).toBeLessThan(60_000)
      expect(yield* json("/status?group=nowhere")).toMatchObject({ groups: [], clients: [{ group: "nowhere" }] })

      const table = yield* get("/status?format=text")
      expect(table.type).toContain("text/plain")
      expect(
        table.body
          .trimEnd()
          .split("\n")
          .map((line) => line.trim().replace(/ {2,}/g, "|"))
      ).toEqual([
        "2 clients: 1 nacked, 1 waiting",
        "",
        "STATE|SINCE|NODE|GROUP|ADDRESS|TYPE|VERSION|DETAIL",
        expect.stringMatching(
          new RegExp(
            `^nacked\\|\\d+s\\|n1\\|edge\\|memory\\|CDS\\|${second.version}\\|no, thanks; accepted is ${first.version}$`
          )
        ),
        expect.stringMatching(/^waiting\|\d+s\|n1\|nowhere\|memory\|CDS\|-\|its group is not set$/)
      ])
      expect((yield* get("/status?format=text&group=nowhere")).body).toContain("1 client: 1 waiting\n")
      expect(yield* get("/status?format=xml")).toMatchObject({
        status: 400,
        body: "format=xml is not known; it is json or text\n"
      })
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("shows the rules that a group breaks, while it does", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const check = store.broken?.("edge") ?? Effect.void
      yield* store.set("edge", { clusters: Array.from({ length: 101 }, (_, index) => edsCluster(`c${index}`)) })
      yield* check
      const { json } = yield* serve()
      const words = (index: number) =>
        `clusters "c${index}": name names endpoints "c${index}", which is not there (endpoints-reference)`
      expect(yield* json("/status")).toHaveProperty("groups.0.broken", [
        ...Array.from({ length: 100 }, (_, index) => words(index)),
        "and 1 more"
      ])
      yield* store.set("edge", { clusters: [edsCluster("c7")] })
      yield* check
      expect(yield* json("/status")).toHaveProperty("groups.0.broken", [words(7)])
      yield* store.set("edge", { clusters: [cluster("c7")] })
      yield* check
      expect(yield* json("/status")).not.toHaveProperty("groups.0.broken")
    }).pipe(Effect.provide(environment))
  )

  it.effect("lets others run while it lists the groups", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      yield* Effect.forEach(Array.from({ length: 5_000 }), (_, index) => store.set(`group-${index}`, {}))
      const respond = yield* Answers.make()
      const { body } = yield* respond({ method: "GET", url: "/status" })
      let text = ""
      const turns = yield* turnsOf(async () => {
        for await (const piece of body ?? []) text += String(piece)
      })
      expect(text.split('"group":')).toHaveLength(5_001)
      expect(turns).toBeGreaterThan(5)
    }).pipe(Effect.scoped, Effect.provide(environment))
  )

  it.effect("lets others run while it sorts what a large group holds", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: "off" })
      const resources = Array.from({ length: 50_000 }, (_, at) => ({
        typeUrl: "type.googleapis.com/x",
        name: `${(at * 7_919) % 50_021}`,
        value: new Uint8Array()
      }))
      yield* store.set("edge", { resources: resources.map((each) => Snapshot.resource(each, { isUnknownType: true })) })
      const dump = ConfigDump.dump(store, { group: undefined, type: undefined, name: undefined })
      const turns = yield* turnsOf(async () => {
        for await (const part of dump) if (part.includes('"name"')) return
      })
      expect(turns).toBeGreaterThan(1)
    })
  )

  it.effect("lets others run while it writes one large resource", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.makeMemory({ validate: "off" })
      yield* store.set("edge", { endpoints: [LargeAssignment.make(10_000)] })
      const dump = ConfigDump.dump(store, { group: undefined, type: undefined, name: undefined })
      let text = ""
      let longest = 0
      const turns = yield* turnsOf(async () => {
        for await (const part of dump) {
          text += part
          longest = Math.max(longest, part.length)
        }
      })
      expect(text.split('"portValue":')).toHaveLength(10_001)
      expect(longest).toBeLessThan(20_000)
      expect(turns).toBeGreaterThan(10)
    })
  )

  it.scopedLive("dumps what the groups hold, in part if asked", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const names = Array.from("abcdefghijkl")
      yield* store.set("one", { clusters: names.toReversed().map(cluster) })
      yield* store.set("two", { clusters: [Snapshot.resource(cluster("c"), { ttl: 5000 })] })
      yield* store.set("none", {})
      const { json } = yield* serve()
      const shown = (name: string) => ({ name, resource: { "@type": CDS, name } })
      expect(yield* json("/config_dump")).toMatchObject({
        groups: [
          { group: "none", types: [] },
          { group: "one", types: [{ type: "CDS", type_url: CDS, resources: names.map(shown) }] },
          { group: "two", types: [{ resources: [{ ...shown("c"), ttl_ms: 5000 }] }] }
        ]
      })
      expect(yield* json("/config_dump?group=two")).toMatchObject({ groups: [{ group: "two" }] })
      expect(yield* json("/config_dump?group=one&name=b")).toMatchObject({
        groups: [{ types: [{ resources: [shown("b")] }] }]
      })
      const only = (value: string) => ({ constraints: { _tag: "Value", key: "env", value } as const })
      const variants = [Snapshot.resource(cluster("v"), only("prod")), Snapshot.resource(cluster("v"), only("test"))]
      const error = { code: 14, message: "no database" }
      yield* store.set("two", { clusters: [...variants, Snapshot.unavailable({ typeUrl: CDS, name: "w" }, error)] })
      const resource = { "@type": CDS, name: "v" }
      expect(yield* json("/config_dump?group=two&type=CDS")).toMatchObject({
        groups: [
          {
            types: [
              {
                resources: [
                  {
                    name: "v",
                    variants: [
                      { constraints: "env=prod", resource },
                      { constraints: "env=test", resource }
                    ]
                  },
                  { name: "w", error }
                ]
              }
            ]
          }
        ]
      })
      expect(yield* json("/config_dump?group=one&type=EDS")).toEqual({ groups: [{ group: "one", types: [] }] })
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("leaves out private keys and passwords, also inside of other messages", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const tlsCertificate = { certificate_chain: { inline_string: "a certificate" }, private_key: hidden }
      const secret = (json: JsonObject) => fromJson(SecretSchema, json)
      const transportSocket = {
        name: "tls",
        typed_config: {
          "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
          common_tls_context: { tls_certificates: [tlsCertificate] }
        }
      }
      const registry = yield* Effect.promise(() => TypeRegistry.forJson(transportSocket))
      yield* store.set("edge", {
        clusters: [fromJson(ClusterSchema, { name: "a", transport_socket: transportSocket }, { registry })],
        secrets: [
          secret({ name: "certificate", tls_certificate: tlsCertificate }),
          secret({ name: "tickets", session_ticket_keys: { keys: [{ inline_bytes: hiddenBytes }] } }),
          secret({ name: "generic", generic_secret: { secret: hidden } })
        ]
      })
      const { get } = yield* serve()
      const { body } = yield* get("/config_dump")
      expect(body).not.toContain("hidden")
      expect(body).not.toContain(hiddenBytes)
      expect(body.match(/\[redacted\]/g)?.length).toBe(3)
      expect(body).toContain(Buffer.from("[redacted]").toString("base64"))
      expect(body.match(/a certificate/g)?.length).toBe(2)
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("bounds what it does at a time, and says so", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const details = Deferred.succeed(entered, undefined).pipe(Effect.zipRight(Deferred.await(release)), Effect.as({}))
      const { get } = yield* serve({ maxRequests: 1, details })
      const first = yield* Effect.fork(get("/status"))
      yield* Deferred.await(entered)
      for (const path of ["/status", "/config_dump", "/metrics"]) {
        expect(yield* get(path)).toMatchObject({ status: 503, body: "1 requests are being answered, the limit\n" })
      }
      // Probes get through, and are not counted.
      expect(yield* Effect.forEach(["/healthz", "/readyz", "/nothing"], (path) => get(path))).toMatchObject([
        { status: 200, body: "ok\n" },
        { status: 200, body: "ready\n" },
        { status: 404 }
      ])
      yield* Deferred.succeed(release, undefined)
      expect((yield* Fiber.join(first)).status).toBe(200)
      expect((yield* get("/status")).status).toBe(200)
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("answers other requests while a probe waits", () =>
    Effect.gen(function* () {
      const entered = yield* Deferred.make<void>()
      const notReady = Effect.zipRight(Deferred.succeed(entered, undefined), Effect.never)
      const { get } = yield* serve({ maxRequests: 1, notReady, shutdownGrace: 1 })
      yield* Effect.forkScoped(get("/readyz"))
      yield* Deferred.await(entered)
      expect((yield* get("/config_dump")).status).toBe(200)
    }).pipe(Effect.provide(environment))
  )

  it.effect("a request that is interrupted wherever it lets others run counts no more", () =>
    Effect.gen(function* () {
      const respond = yield* Answers.make({ maxRequests: 1 })
      const ask = Effect.scoped(respond({ method: "GET", url: "/config_dump" }))
      for (const place of AutoYield.places) {
        yield* Fiber.interrupt(yield* AutoYield.fork(ask, place))
        expect([place, (yield* ask).status]).toEqual([place, 200])
      }
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("forgets a client that does not read to the end", () =>
    Effect.gen(function* () {
      const store = yield* SnapshotStore.SnapshotStore
      const clusters = Array.from({ length: 5_000 }, (_, index) => cluster(`${index}`.padStart(1_000, "x")))
      yield* store.set("edge", { clusters })
      for (const idleTimeout of [30_000, 1_000]) {
        const { get, open } = yield* serve({ maxRequests: 1, idleTimeout })
        const abort = yield* open("/config_dump")
        expect((yield* get("/metrics")).status).toBe(503)
        // The first leaves, the second stays and reads nothing.
        if (idleTimeout > 1_000) abort()
        yield* until("metrics", get("/metrics"), ({ status }) => status === 200)
        abort()
      }
    }).pipe(Effect.provide(environment))
  )

  it.effect("fails with limits that are none: NaN would let everything in", () =>
    Effect.gen(function* () {
      for (const name of ["maxRequests", "maxConnections", "idleTimeout", "shutdownGrace"] as const) {
        const error = yield* Effect.flip(Effect.scoped(AdminServer.make({ port: 0, [name]: Number.NaN })))
        expect(error.reason).toBe(`${name} must be 0 or more, not NaN`)
      }
    }).pipe(Effect.provide(environment))
  )

  it.scopedLive("fails with a line that says where when its port is in use", () =>
    Effect.gen(function* () {
      const { address } = yield* AdminServer.make()
      const port = Number(address.split(":")[1])
      const error = yield* Effect.flip(AdminServer.make({ port }))
      expect(error.message).toMatch(/^cannot serve the admin port on 127\.0\.0\.1:\d+: the port is in use/)
    }).pipe(Effect.provide(environment))
  )
})
