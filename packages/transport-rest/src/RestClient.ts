/**
 * The REST client transport: polls, or long polls if the server holds them. REST has neither an aggregated nor an
 * incremental variant, so its XdsClient needs `aggregated: false`. Each type is a stream of its own: a request of the
 * client is sent with the next poll, and the answer of a poll is a response.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "REST-JSON polling subscriptions"
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as ResourceTypes from "@effect-xds/proto/ResourceType"
import * as Certificates from "@effect-xds/transport-node/Certificates"
import * as ClientTls from "@effect-xds/transport-node/ClientTls"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as Http from "node:http"
import * as Https from "node:https"
import * as DiscoveryBody from "./internal/DiscoveryBody.js"
import * as HttpPoll from "./internal/HttpPoll.js"
import * as RestAddress from "./internal/RestAddress.js"
import { RestClientStream, type Environment } from "./internal/RestClientStream.js"
import { TlsAgent } from "./internal/TlsAgent.js"
import * as RestClientMetrics from "./RestClientMetrics.js"
import * as ServedTypes from "./internal/ServedTypes.js"
import type * as RestType from "./RestType.js"

/**
 * Options of the transport. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * The time from the end of a poll to the next one for the same type. Default: 1 second. A new subscription is polled
   * for at once.
   */
  readonly refreshDelay?: Duration.DurationInput | undefined
  /**
   * The largest random part of `refreshDelay` that is added to it, so that many clients do not poll at once: from 0 to
   * 1. The `Random` service at the place of use decides. Default 0.2.
   */
  readonly jitter?: number | undefined
  /**
   * How long the server is asked to hold a poll while nothing changed (long polling), with the header `Prefer: wait=…`.
   * A server that ignores the header answers at once. Default: 0, the header is not sent.
   */
  readonly wait?: Duration.DurationInput | undefined
  /**
   * How long an answer may take, beyond `wait`. After that the stream ends with UNAVAILABLE. The server gets this limit
   * in `x-envoy-expected-rq-timeout-ms`, as from Envoy. Default: 10 seconds, less than the client's resource timer.
   */
  readonly requestTimeout?: Duration.DurationInput | undefined
  /** The format of bodies. Every server takes JSON; protobuf is cheaper with a {@link RestServer}. Default `json`. */
  readonly format?: "json" | "protobuf" | undefined
  /** The largest answer in bytes, also after decompression. Default 67 108 864 (64 MiB). */
  readonly maxResponseBytes?: number | undefined
  /**
   * Call credentials: headers for each poll (`authorization`). The function is called for each poll, so that a token
   * may be refreshed. If it fails, the stream ends with UNAUTHENTICATED.
   */
  readonly headers?:
    ((server: ClientTransport.Server) => Effect.Effect<Readonly<Record<string, string>>, Error>) | undefined
  /**
   * Further types beside those of the table. A JSON answer needs the registry of its type. Default: none.
   */
  readonly types?: ReadonlyArray<RestType.RestType> | undefined
}

/**
 * The transport. Addresses are `host:port`, `http://host:port`, `https://host:port/prefix`, `unix:/path`, or gRPC's
 * `dns:///host:port`. `connect` fails for an invalid address and for unusable TLS files. Other failures end the stream,
 * and the client keeps its resources:
 *
 * - UNAVAILABLE: no connection, no answer in time, HTTP 429, 502, 503, 504
 * - INTERNAL: an answer that is no DiscoveryResponse or one of another type, or that holds an unknown `@type`
 * - RESOURCE_EXHAUSTED: an answer that is too large
 * - UNIMPLEMENTED: a method that REST does not have, HTTP 404, 405
 * - any other status: the one in the server's JSON body
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): ClientTransport.Service => ({
  connect: (server) =>
    Effect.gen(function* () {
      const fail = (reason: string) => new ClientTransport.ClientTransportError({ address: server.address, reason })
      const wrong = BadOption.find(options, {
        maxResponseBytes: 0,
        jitter: 0,
        refreshDelay: 0,
        wait: 0,
        requestTimeout: 0
      })
      if (wrong !== undefined) return yield* fail(wrong.message)
      const { credentials } = server
      const { types = [] } = options
      const problem = ServedTypes.problemOf(types)
      if (problem !== undefined) return yield* fail(problem)
      const address = yield* Either.mapLeft(RestAddress.parse(server.address, credentials._tag === "Tls"), (reason) =>
        fail(reason)
      )
      if (credentials._tag === "Tls" && (credentials.cert === undefined) !== (credentials.key === undefined)) {
        return yield* fail("a client certificate needs both cert and key")
      }
      const runtime = yield* Effect.runtime()
      const now = yield* monotonic
      const log = LogThrottle.make(runtime, now)
      const warn = (reason: string): void => {
        const subject = `${server.address} tls`
        log(LogLevel.Warning, subject, `${server.address}: TLS files cannot be used, the last ones stay: ${reason}`)
      }
      // A held poll keeps its connection, and each type may have one.
      const kept = { keepAlive: true, maxFreeSockets: ResourceTypes.all.length + types.length }
      const agent = yield* Effect.acquireRelease(
        Effect.try({
          try: () =>
            credentials._tag === "Tls" ? new TlsAgent(credentials, address.host, warn, kept) : new Http.Agent(kept),
          catch: (cause) => fail(`TLS cannot be used: ${Reason.of(cause)}`)
        }),
        (agent) => Effect.sync(() => agent.destroy())
      )
      if (credentials._tag === "Tls") yield* Certificates.watch(() => ClientTls.sources(credentials))
      return yield* Effect.acquireRelease(
        Effect.sync(() => new Channel(server, address, agent, options, runtime, now)),
        (channel) => Effect.sync(() => channel.close())
      )
    })
})

/**
 * The transport as a layer.
 *
 * @example
 * import { Bootstrap, XdsClient } from "@effect-xds/client"
 * import { RestClient } from "@effect-xds/transport-rest"
 * import { Layer } from "effect"
 *
 * const bootstrap = Bootstrap.make({ servers: ["http://127.0.0.1:18001"], node: { id: "app-1", cluster: "edge" } })
 * const layer = XdsClient.layer({ bootstrap, aggregated: false }).pipe(
 *   Layer.provide(RestClient.layer({ wait: "30 seconds", refreshDelay: "100 millis" }))
 * )
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<ClientTransport.ClientTransport> =>
  Layer.succeed(ClientTransport.ClientTransport, make(options))

/**
 * The transport with options from a `ConfigProvider`, by default environment variables.
 *
 * @example
 * import { RestClient } from "@effect-xds/transport-rest"
 * import { Config } from "effect"
 *
 * const transport = RestClient.layerConfig({ wait: Config.duration("XDS_REST_WAIT") })
 *
 * @since 0.1.0
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ClientTransport.ClientTransport, ConfigError> =>
  Layer.effect(ClientTransport.ClientTransport, Effect.map(Config.unwrap(config), make))

const monotonic: Effect.Effect<() => number> = Effect.map(
  Effect.clock,
  (clock) => () => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
)

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): RestClientMetrics.Outcome => {
  if (Exit.isSuccess(exit)) return exit.value === undefined ? "unchanged" : "changed"
  return Exit.isInterrupted(exit) ? "aborted" : "failed"
}

class Channel implements ClientTransport.Channel {
  readonly #streams = new Set<RestClientStream>()
  readonly #encode: DiscoveryBody.Encode
  readonly #scheme: "http" | "https"
  readonly #slices = new TimeSlices()
  #ownNonces = 0

  constructor(
    private readonly server: ClientTransport.Server,
    private readonly address: RestAddress.RestAddress,
    private readonly agent: Http.Agent,
    private readonly options: Options,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly now: () => number
  ) {
    this.#encode = DiscoveryBody.encoder(options.format ?? "json")
    this.#scheme = server.credentials._tag === "Tls" ? "https" : "http"
  }

  readonly open = (
    { protocol, typeUrl }: ClientTransport.Method,
    handler: ClientTransport.StreamHandler
  ): ClientTransport.ClientStream => {
    const own = this.options.types?.find((type) => type.typeUrl === typeUrl)
    const path = typeUrl === undefined ? undefined : (own?.path ?? ResourceTypes.byTypeUrl(typeUrl)?.restPath)
    const { jitter = 0.2 } = this.options
    const refreshDelay = Milliseconds.of(this.options.refreshDelay, "1 second")
    const decoder = new DiscoveryBody.Decoder(this.#slices, own?.registry)
    const environment: Environment = {
      loop: { refreshDelay, jitter: Math.min(1, Math.max(0, jitter)) },
      poll: (request, fresh) => this.#poll({ typeUrl: typeUrl ?? "", path: path ?? "" }, decoder, request, fresh),
      now: this.now,
      random: () => Runtime.runSync(this.runtime)(Random.next),
      run: (effect, onExit) => {
        const cancel = Runtime.runCallback(this.runtime)(effect, { onExit })
        return () => cancel()
      },
      onDefect: this.#onDefect,
      onDone: (stream) => this.#streams.delete(stream)
    }
    const stream = new RestClientStream(handler, environment)
    this.#streams.add(stream)
    // The handler must not be called from within this call.
    setImmediate(() => {
      if (protocol === "Incremental") {
        return stream.fail(Status.make("UNIMPLEMENTED", "REST is state of the world only; choose that protocol"))
      }
      if (typeUrl === undefined) {
        const text = "REST has no aggregated service (ADS); make the client with `aggregated: false`"
        return stream.fail(Status.make("UNIMPLEMENTED", text))
      }
      if (path === undefined)
        return stream.fail(
          Status.make("UNIMPLEMENTED", `${typeUrl} has no path in REST; give it one in the option types`)
        )
      stream.start()
    })
    return stream
  }

  close(): void {
    for (const stream of [...this.#streams]) stream.end()
  }

  readonly #onDefect = (defect: unknown): void => {
    Runtime.runFork(this.runtime)(
      Effect.annotateLogs(Effect.logError("client failed on a stream", Cause.die(defect)), {
        server: this.server.address
      })
    )
  }

  #headers(fresh: boolean, timeout: number): Effect.Effect<Record<string, string>, Status.Status> {
    const type = this.options.format === "protobuf" ? "application/x-protobuf" : "application/json"
    const { headers: credentials } = this.options
    const wait = Milliseconds.of(this.options.wait, 0)
    const headers = {
      "content-type": type,
      accept: type,
      "accept-encoding": "gzip",
      "user-agent": "effect-xds",
      "x-envoy-expected-rq-timeout-ms": String(timeout),
      ...(wait > 0 && { prefer: `wait=${fresh ? 0 : Math.ceil(wait / 1000)}` })
    }
    if (credentials === undefined) return Effect.succeed(headers)
    return Effect.suspend(() => credentials(this.server)).pipe(
      // A poll ends in time, even if what the program gave cannot be interrupted.
      Effect.disconnect,
      Effect.mapBoth({
        onFailure: (error) => Status.make("UNAUTHENTICATED", `no call credentials: ${error.message}`),
        onSuccess: (more) => ({ ...headers, ...more })
      })
    )
  }

  #poll(
    { path, typeUrl }: Pick<RestType.RestType, "path" | "typeUrl">,
    decoder: DiscoveryBody.Decoder,
    request: Parameters<Environment["poll"]>[0],
    fresh: boolean
  ): ReturnType<Environment["poll"]> {
    const { address, agent, options, server } = this
    const { maxResponseBytes = 64 * 1024 * 1024 } = options
    const requestTimeout = Milliseconds.of(options.requestTimeout, "10 seconds")
    const timeout = requestTimeout + (fresh ? 0 : Milliseconds.of(options.wait, 0))
    const target = `${address.prefix}${path}`
    const exchange = Effect.gen(this, function* () {
      const headers = yield* this.#headers(fresh, timeout)
      const body = yield* Effect.promise(() => this.#encode(request))
      const reply = yield* HttpPoll.post({
        request: this.#scheme === "https" ? Https.request : Http.request,
        options: {
          method: "POST",
          path: target,
          agent,
          headers: { ...headers, "content-length": body.length },
          ...(address.socketPath === undefined
            ? { host: address.host, port: address.port }
            : { socketPath: address.socketPath, host: "localhost" })
        },
        body,
        maxResponseBytes,
        credentials: server.credentials
      })
      yield* Effect.annotateCurrentSpan("http.response.status_code", reply.status)
      if (reply.status === 304) return undefined
      if (reply.status !== 200) return yield* Effect.fail(DiscoveryBody.refusalOf(reply))
      return yield* decoder.decode(reply, typeUrl, `own-${++this.#ownNonces}`)
    })
    return exchange.pipe(
      Effect.timeoutFail({
        duration: timeout,
        onTimeout: () => Status.make("UNAVAILABLE", `no answer within ${timeout} ms`)
      }),
      Effect.mapError(({ code, message }) => Status.make(code, `POST ${target} on ${server.address}: ${message}`)),
      Effect.onExit((exit) => Effect.sync(() => RestClientMetrics.polls(outcomeOf(exit)).unsafeUpdate(1, []))),
      Effect.withSpan("xds.rest.poll", {
        root: true,
        kind: "client",
        captureStackTrace: false,
        attributes: {
          "http.request.method": "POST",
          "server.address": server.address,
          "url.path": target,
          "xds.version": request.versionInfo
        }
      })
    )
  }
}
