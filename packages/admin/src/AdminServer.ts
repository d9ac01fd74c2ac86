/**
 * The admin port of a control plane, for operators and their tools, over HTTP. It is off by default. It listens itself
 * ({@link layer}); module `AdminApp` mounts it in an existing HTTP application.
 *
 * | path | answer |
 * | --- | --- |
 * | `/healthz` | 200: the process is alive |
 * | `/readyz` | 200: it serves; else 503 and why, also while a limit is reached and new clients are refused |
 * | `/metrics` | all of Effect's metrics, in the format of Prometheus |
 * | `/status` | JSON: every client with what it was sent, accepted and rejected; `?group=NAME` for one group; `?format=text`: a table of the same, problems first |
 * | `/config_dump` | JSON: the resources of each group; `?group=NAME`, `?type=CDS`, `?name=NAME`. Private keys and passwords are left out |
 *
 * The port is read-only. Whoever reaches it can read all resources. So by default it listens on the loopback interface.
 * It answers only requests whose `Host` is `localhost`, `host`, the address they came to, or one of `allowedHosts`:
 * otherwise a web page could read the port through its visitor's browser (DNS rebinding).
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import type { SnapshotStore, XdsServer } from "@effect-xds/server"
import * as HttpListener from "@effect-xds/transport-node/HttpListener"
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import * as Http from "node:http"
import * as Answers from "./internal/Answers.js"
import * as EventLoopDelay from "./EventLoopDelay.js"

export type { Options } from "./internal/Answers.js"

/**
 * Options for listening.
 *
 * @since 0.1.0
 */
export interface ListenOptions extends Answers.Options, ListenAddress.Options {
  /**
   * Further names that requests may have as `Host`, beside `localhost`, `host` and the address they reach: the name of
   * a service, for example. Other requests are refused with 421.
   */
  readonly allowedHosts?: ReadonlyArray<string> | undefined
  /** The name of `allowedHosts` in refusals: `--admin-allow-host`. Default: `allowedHosts`. */
  readonly allowedHostsName?: string | undefined
  /** The most open connections; further ones are closed at once. Default 256. */
  readonly maxConnections?: number | undefined
  /** How long a connection may be without traffic before it is closed. Default: 30 seconds. */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /** How long clients may read their answers when the server shuts down. Default: 1 second. */
  readonly shutdownGrace?: Duration.DurationInput | undefined
}

/**
 * The admin port cannot listen: the port is in use or not allowed, or a limit or duration is negative or NaN.
 *
 * @since 0.1.0
 */
export class AdminServerError extends Data.TaggedError("AdminServerError")<{
  readonly address: string
  readonly reason: string
  /** Node's error in words. */
  readonly cause: string
}> {
  override get message(): string {
    return `cannot serve the admin port on ${this.address}: ${this.reason}`
  }
}

/**
 * A running admin port.
 *
 * @since 0.1.0
 */
export class AdminServer extends Context.Tag("@effect-xds/admin/AdminServer")<
  AdminServer,
  {
    /** The address: `127.0.0.1:9090`. */
    readonly address: string
  }
>() {}

const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || /^127\.\d+\.\d+\.\d+$/.test(host)

/**
 * The host name in a `Host` header (`[::1]:18090`, `Localhost.`): without port, brackets and final dot, in lower case.
 */
const hostnameOf = (header: string): string =>
  header
    .replace(/:\d*$/, "")
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase()

/** Refuses requests that a browser was led to send under another name (DNS rebinding). */
const refusalOf = (
  { headers, socket }: Http.IncomingMessage,
  names: ReadonlySet<string>,
  option: string
): HttpListener.Answer | undefined => {
  // Only HTTP/1.0 has no `Host`, and no browser uses that.
  if (headers.host === undefined) return undefined
  const name = hostnameOf(headers.host)
  if (isLoopback(name) || names.has(name) || name === socket.localAddress?.replace(/^::ffff:/, "")) return undefined
  const shown = JSON.stringify(Redaction.text(name.slice(0, Answers.longest)))
  return Answers.text(
    421,
    `this admin port is not known as ${shown}; ask for localhost, or name that host in ${option}`
  )
}

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
    const { maxConnections = 256 } = options
    const listen = ListenAddress.of(options)
    const wrong = BadOption.find(options, { maxConnections: 0, maxRequests: 0, idleTimeout: 0, shutdownGrace: 0 })
    if (wrong !== undefined) {
      const { message } = wrong
      return yield* new AdminServerError({ address: ListenAddress.show(listen), reason: message, cause: message })
    }
    // Browsers cannot reach a Unix socket.
    const host = listen.path === undefined ? listen.host : undefined
    yield* EventLoopDelay.measure
    const given = [
      ...(options.allowedHosts ?? []),
      ...(host === undefined || host === "0.0.0.0" || host === "::" ? [] : [host])
    ]
    const names = new Set(given.map(hostnameOf))
    const respond = yield* Answers.make(options)
    if (host !== undefined && !isLoopback(host)) {
      const who = `everyone who reaches ${host} can read all that is served, without a password`
      yield* Effect.logWarning(`the admin port listens on ${host}: ${who}; keep the network away from it`)
    }
    const node = Http.createServer({ headersTimeout: 10_000, requestTimeout: 10_000 })
    node.maxConnections = maxConnections
    node.setTimeout(Milliseconds.of(options.idleTimeout, "30 seconds"))
    const bound = yield* Effect.mapError(
      HttpListener.listen(node, listen, Milliseconds.of(options.shutdownGrace, "1 second")),
      (cause) =>
        new AdminServerError({
          address: ListenAddress.show(listen),
          reason: ListenAddress.reasonOf(cause),
          cause: Reason.of(cause)
        })
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => node.closeIdleConnections()))
    yield* HttpListener.answer(node, (request) => {
      const refusal =
        host === undefined ? undefined : refusalOf(request, names, options.allowedHostsName ?? "allowedHosts")
      return refusal === undefined
        ? respond({ method: request.method ?? "", url: request.url ?? "" })
        : Effect.succeed(refusal)
    })
    return { address: ListenAddress.show(bound) }
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
