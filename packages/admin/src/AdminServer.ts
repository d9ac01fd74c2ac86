/**
 * The admin port: what operators and their tools want to know of a control plane, over HTTP. Off unless it is asked for;
 * it listens for itself ({@link layer}), or is mounted in an HTTP application of one's own ({@link makeApp}).
 *
 * | path | answer |
 * | --- | --- |
 * | `/healthz` | 200: the process is alive |
 * | `/readyz` | 200: it serves; else 503 and why, also while a limit is reached and newcomers are refused |
 * | `/metrics` | all of Effect's metrics, as Prometheus reads them |
 * | `/status` | JSON: every client with what it was sent, accepted and rejected; `?group=NAME` for one group; `?format=text`: a table of the same, problems first |
 * | `/config_dump` | JSON: what each group holds; `?group=NAME`, `?type=CDS`, `?name=NAME`. Private keys and passwords are left out |
 *
 * Nothing can be changed here. Who reaches the port can read all that is served, so it listens on this machine only
 * unless it is told otherwise, and answers only requests that name it by `localhost`, by the address that they came to or
 * by a name that it was given: else a web page could have its visitor's browser read the port under a name of its own.
 *
 * @since 0.1.0
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { ResourceSet } from "@effect-xds/core"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Client } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import * as ListenAddress from "@effect-xds/transport/ListenAddress"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Http from "node:http"
import { setImmediate } from "node:timers/promises"
import * as ConfigDump from "./internal/ConfigDump.js"
import * as EventLoopDelay from "./EventLoopDelay.js"
import * as PrometheusText from "./PrometheusText.js"
import type { GroupStatus } from "./StatusReport.js"
import * as StatusReport from "./StatusReport.js"
import * as StatusTable from "./StatusTable.js"

/**
 * What is answered. Everything has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Why the control plane is not ready; empty if it is. Default: it is ready as soon as it serves. */
  readonly notReady?: Effect.Effect<ReadonlyArray<string>> | undefined
  /** Members of a program's own for `/status`, to be written as JSON. Default: none. */
  readonly details?: Effect.Effect<Readonly<Record<string, unknown>>> | undefined
  /** Answers that are written at a time; more are refused with 503. Default 16. */
  readonly maxRequests?: number | undefined
}

/**
 * How to listen.
 *
 * @since 0.1.0
 */
export interface ListenOptions extends Options {
  /** Default `127.0.0.1`. */
  readonly host?: string | undefined
  /** Default 0: any free one. */
  readonly port?: number | undefined
  /**
   * Names by which clients may ask for this port beside `localhost`, `host` and the address that they reach, such as the
   * name of a service. Requests with another `Host` are refused with 421.
   */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /** Connections at a time; more are closed at once. Default 256. */
  readonly maxConnections?: number | undefined
  /** Milliseconds without a byte read or written after which a connection is closed. Default 30 000. */
  readonly idleTimeout?: number | undefined
  /** Milliseconds that clients have to read their answers when the server shuts down. Default 1000. */
  readonly shutdownGrace?: number | undefined
}

/**
 * Why the admin port cannot be served: it is in use or not allowed.
 *
 * @since 0.1.0
 */
export class AdminServerError extends Data.TaggedError("AdminServerError")<{
  readonly address: string
  readonly reason: string
  readonly cause: unknown
}> {
  override get message(): string {
    return `cannot serve the admin port on ${this.address}: ${this.reason}`
  }
}

/**
 * An admin port that is served.
 *
 * @since 0.1.0
 */
export class AdminServer extends Context.Tag("@effect-xds/admin/AdminServer")<
  AdminServer,
  {
    /** Where: `127.0.0.1:9090`. */
    readonly address: string
  }
>() {}

const paths = ["/healthz", "/readyz", "/metrics", "/status", "/config_dump"]

/** Characters of a path that are repeated in an answer. */
const longest = 200

const text = (status: number, body: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(`${body}\n`, { status })

/** Pieces are put together: a chunk of HTTP for each resource would cost more than the resource. */
const pieceSize = 16_384

async function* inPieces(parts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let piece = ""
  for await (const part of parts) {
    piece += part
    if (piece.length < pieceSize) continue
    yield piece
    piece = ""
    // The clients of the control plane must not wait for a large answer.
    await setImmediate()
  }
  if (piece !== "") yield piece
}

const json = (parts: AsyncIterable<string> | Iterable<string>): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.stream(Stream.fromAsyncIterable(inPieces(parts), (cause) => cause).pipe(Stream.encodeText), {
    contentType: "application/json"
  })

const groupsOf = (store: SnapshotStore.Service, names: ReadonlyArray<string>): ReadonlyArray<GroupStatus> =>
  names.map((group) => ({
    group,
    resources: Object.fromEntries(
      Array.from(store.unsafeGet(group)?.sets ?? [], ([typeUrl, set]) => [
        ResourceType.shortNameOf(typeUrl),
        ResourceSet.size(set)
      ])
    )
  }))

/** The limits of transports that are reached, so that newcomers are refused. */
const refused: Effect.Effect<ReadonlyArray<string>> = Effect.map(Metric.snapshot, (pairs) =>
  pairs.flatMap(({ metricKey, metricState }) => {
    if (metricKey.name !== TransportMetrics.refusingName || !MetricState.isGaugeState(metricState)) return []
    if (Number(metricState.value) <= 0) return []
    const limit = metricKey.tags.find(({ key }) => key === "limit")?.value ?? "a limit"
    return [`newcomers are refused, ${limit} is reached`]
  })
)

/**
 * The HTTP application. It answers every request, those for other paths with 404.
 *
 * @since 0.1.0
 */
export const makeApp = (
  options: Options = {}
): Effect.Effect<HttpApp.Default<never, Scope.Scope>, never, XdsServer.XdsServer | SnapshotStore.SnapshotStore> =>
  Effect.gen(function* () {
    const server = yield* XdsServer.XdsServer
    const store = yield* SnapshotStore.SnapshotStore
    const clock = yield* Effect.clock
    const { details = Effect.succeed({}), maxRequests = 16, notReady = Effect.succeed([]) } = options
    let requests = 0

    const status = (group: string | undefined, format: string) =>
      Effect.gen(function* () {
        if (format !== "json" && format !== "text") {
          return text(400, `format=${format.slice(0, longest)} is not known; it is json or text`)
        }
        const all = yield* server.status
        const clients = group === undefined ? all : all.filter((client) => client.group === group)
        const names = Array.from(yield* store.groups).sort()
        const reasons = yield* notReady
        const extra = yield* details
        const monotonic = Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
        const wallClock = clock.unsafeCurrentTimeMillis()
        const ofClient = (client: Client.ClientStatus): StatusReport.ClientStatus =>
          StatusReport.ofClient(client, (millis) => millis + wallClock - monotonic)
        const at = new Date(wallClock).toISOString()
        if (format === "text") {
          return text(200, StatusTable.lines({ at, not_ready: reasons, clients: clients.map(ofClient) }).join("\n"))
        }
        const groups = groupsOf(store, group === undefined ? names : names.filter((name) => name === group))
        const head = JSON.stringify({ ...extra, at, not_ready: reasons, groups }).slice(0, -1)
        function* parts(): Generator<string> {
          yield `${head},"clients":[`
          let comma = ""
          for (const client of clients) {
            yield `${comma}\n${JSON.stringify(ofClient(client))}`
            comma = ","
          }
          yield "]}\n"
        }
        return json(parts())
      })

    const answer = (path: string, query: URLSearchParams): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
      const valueOf = (name: string): string | undefined => query.get(name) ?? undefined
      switch (path) {
        case "/healthz":
          return Effect.succeed(text(200, "ok"))
        case "/readyz":
          return Effect.zipWith(notReady, refused, (own, refusals) => [...own, ...refusals]).pipe(
            Effect.map((reasons) =>
              reasons.length === 0 ? text(200, "ready") : text(503, `not ready: ${reasons.join("; ")}`)
            )
          )
        case "/metrics":
          return Effect.map(Metric.snapshot, (pairs) =>
            HttpServerResponse.text(PrometheusText.format(pairs), { contentType: PrometheusText.contentType })
          )
        case "/status":
          return status(valueOf("group"), valueOf("format") ?? "json")
        case "/config_dump": {
          const filter = { group: valueOf("group"), type: valueOf("type"), name: valueOf("name") }
          return Effect.sync(() => json(ConfigDump.dump(store, filter)))
        }
        default:
          return Effect.succeed(text(404, `${path.slice(0, longest)} is not served; these are: ${paths.join(", ")}`))
      }
    }

    return Effect.gen(function* () {
      const { method, url } = yield* HttpServerRequest.HttpServerRequest
      if (method !== "GET" && method !== "HEAD") {
        const refusal = text(405, `the admin port is read with GET, not with ${method}`)
        return HttpServerResponse.setHeader(refusal, "allow", "GET, HEAD")
      }
      if (requests >= maxRequests) return text(503, `${maxRequests} requests are being answered, the limit`)
      requests++
      yield* Effect.addFinalizer(() => Effect.sync(() => requests--))
      const mark = url.indexOf("?")
      const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1))
      return yield* answer(mark < 0 ? url : url.slice(0, mark), query)
    })
  })

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host)

/** `[::1]:18090`, `Localhost.`: without the port, the brackets and the last dot, in lower case. */
const hostnameOf = (header: string): string =>
  header
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase()

/** What a browser is told to ask under a name that is not this server's (DNS rebinding) is refused. */
const forOwnNames = (
  app: HttpApp.Default<never, Scope.Scope>,
  names: ReadonlySet<string>
): HttpApp.Default<never, Scope.Scope> =>
  Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers, source }) => {
    const header = headers["host"]
    // Only HTTP/1.0 has none, and no browser speaks that.
    if (header === undefined) return app
    const name = hostnameOf(header)
    const local =
      source instanceof Http.IncomingMessage ? source.socket.localAddress?.replace(/^::ffff:/, "") : undefined
    if (isLoopback(name) || names.has(name) || name === local) return app
    const shown = JSON.stringify(Redaction.text(name.slice(0, longest)))
    return Effect.succeed(
      text(421, `this admin port is not known as ${shown}; ask for localhost, or name that host in allowedHosts`)
    )
  })

/**
 * Serves the admin port until the scope closes.
 *
 * @since 0.1.0
 */
export const make = (
  options: ListenOptions = {}
): Effect.Effect<
  Context.Tag.Service<AdminServer>,
  AdminServerError,
  XdsServer.XdsServer | SnapshotStore.SnapshotStore | Scope.Scope
> =>
  Effect.gen(function* () {
    const { host = "127.0.0.1", idleTimeout = 30_000, maxConnections = 256, port = 0, shutdownGrace = 1000 } = options
    yield* EventLoopDelay.measure
    const names = [...(options.allowedHosts ?? []), ...(host === "0.0.0.0" || host === "::" ? [] : [host])]
    const app = forOwnNames(yield* makeApp(options), new Set(names.map((name) => hostnameOf(name))))
    if (!isLoopback(host)) {
      const who = `everyone who reaches ${host} can read all that is served, without a password`
      yield* Effect.logWarning(`the admin port listens on ${host}: ${who}; keep the network away from it`)
    }
    const node = Http.createServer({ headersTimeout: 10_000, requestTimeout: 10_000 })
    node.maxConnections = maxConnections
    node.setTimeout(idleTimeout)
    const server = yield* Effect.mapError(
      NodeHttpServer.make(() => node, { host, port }),
      ({ cause }) =>
        new AdminServerError({
          address: ListenAddress.format(host, port),
          reason: ListenAddress.reasonOf(cause),
          cause
        })
    )
    // Errors from here on are of single connections that could not be accepted.
    node.on("error", () => undefined)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        node.closeIdleConnections()
        const timer = setTimeout(() => node.closeAllConnections(), shutdownGrace)
        node.once("close", () => clearTimeout(timer))
      })
    )
    yield* server.serve(app)
    return { address: ListenAddress.format(host, server.address._tag === "TcpAddress" ? server.address.port : port) }
  })

/**
 * The admin port as a layer.
 *
 * @since 0.1.0
 */
export const layer = (
  options: ListenOptions = {}
): Layer.Layer<AdminServer, AdminServerError, XdsServer.XdsServer | SnapshotStore.SnapshotStore> =>
  Layer.scoped(AdminServer, make(options))
