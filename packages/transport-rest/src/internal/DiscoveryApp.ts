/** The HTTP application: makes a poll of a request, and an answer of the poll's outcome. */
import * as Redaction from "@effect-xds/proto/Redaction"
import { ByteBudget } from "@effect-xds/transport-node/ByteBudget"
import { reasonOf } from "@effect-xds/transport-node/JsonText"
import type * as HttpListener from "@effect-xds/transport-node/HttpListener"
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import * as Effect from "effect/Effect"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"
import * as RestServerMetrics from "../RestServerMetrics.js"
import * as ServedTypes from "./ServedTypes.js"
import * as SessionTimers from "./SessionTimers.js"
import * as DiscoveryRequest from "./DiscoveryRequest.js"
import * as DiscoveryResponse from "./DiscoveryResponse.js"
import type { HttpRequest } from "./HttpRequest.js"
import * as Negotiation from "./Negotiation.js"
import * as Peers from "./Peers.js"
import * as Refusal from "./Refusal.js"
import * as RequestBody from "./RequestBody.js"
import type { Answer } from "./Session.js"
import * as Sessions from "./Sessions.js"
import type * as Settings from "./Settings.js"

/** The part of the client's timeout that a poll may take: the answer must still reach the client. */
const shareOfTimeout = 0.75

/** Characters of a URL that messages repeat. */
const longest = 200

interface Target {
  readonly type: ServedTypes.Served
  readonly path: string
  readonly query: URLSearchParams
}

/** A decoded poll. */
interface Asked {
  readonly key: Sessions.Key
  readonly incoming: Sessions.Incoming
  readonly node: Uint8Array | undefined
}

const targetOf = (
  types: ReadonlyMap<string, ServedTypes.Served>,
  { method, url }: HttpRequest
): Effect.Effect<Target, Refusal.Refusal> => {
  const mark = url.indexOf("?")
  const path = mark < 0 ? url : url.slice(0, mark)
  const type = types.get(path)
  if (type === undefined) {
    const message = `${path.slice(0, longest)} is not served; these are: ${Array.from(types.keys()).join(", ")}`
    return Effect.fail(new Refusal.Refusal({ status: 404, code: "NOT_FOUND", message }))
  }
  if (method !== "POST") {
    const message = `${path} is served with POST, not with ${method}`
    return Effect.fail(new Refusal.Refusal({ status: 405, code: "UNIMPLEMENTED", message, headers: { allow: "POST" } }))
  }
  return Effect.succeed({ type, path, query: new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1)) })
}

const formatOf = ({ headers }: HttpRequest): Effect.Effect<DiscoveryResponse.Format, Refusal.Refusal> => {
  const unsupported = (message: string) =>
    Effect.fail(new Refusal.Refusal({ status: 415, code: "INVALID_ARGUMENT", message }))
  const encoding = headers["content-encoding"]
  if (encoding !== undefined && encoding !== "identity") {
    return unsupported(`a body with content-encoding ${encoding} is not taken; send it as it is`)
  }
  const contentType = headers["content-type"]
  const format = Negotiation.formatOf(contentType)
  return format === undefined
    ? unsupported(`content-type ${contentType ?? ""} is not taken; application/json and application/x-protobuf are`)
    : Effect.succeed(format)
}

/** How long a poll may be held: as the client asks, else as the option says; never longer than the client waits. */
const waitOf = (
  settings: Settings.Settings,
  { headers }: HttpRequest,
  { query }: Target
): Effect.Effect<number, Refusal.Refusal> => {
  const asked = query.get("wait")
  const seconds = asked === null ? undefined : Number(asked)
  if (seconds !== undefined && !(seconds >= 0)) {
    return Effect.fail(Refusal.badRequest(`the query parameter wait is a number of seconds, not ${asked ?? ""}`))
  }
  const wait = seconds === undefined ? (Negotiation.waitPreferred(headers["prefer"]) ?? settings.wait) : seconds * 1000
  return Effect.succeed(Math.min(wait, settings.maxWait, timeLeft(headers)))
}

const timeLeft = (headers: HttpRequest["headers"]): number => {
  const timeout = Negotiation.expectedTimeout(headers["x-envoy-expected-rq-timeout-ms"])
  return timeout === undefined ? Number.POSITIVE_INFINITY : timeout * shareOfTimeout
}

/** Answers a request. */
export type Respond = (request: HttpRequest) => Effect.Effect<HttpListener.WholeAnswer>

/** Answers requests until the scope closes; then held polls are refused. */
export const make = (
  settings: Settings.Settings,
  accept: (stream: ServerTransport.AcceptedStream) => ServerTransport.StreamHandler
): Effect.Effect<Respond, never, Scope.Scope> =>
  Effect.gen(function* () {
    const types = ServedTypes.byPath(settings.types)
    const deadlines = yield* SessionTimers.make
    const budget = new ByteBudget(settings.maxClientBytes, "REST")
    const slices = new TimeSlices.TimeSlices()
    const sessions = yield* Effect.acquireRelease(
      Effect.sync(() => new Sessions.Sessions(settings, deadlines, budget, accept, DiscoveryResponse.shared(slices))),
      (sessions) => Effect.sync(() => sessions.close())
    )
    const log = LogThrottle.make(yield* Effect.runtime(), deadlines.now)
    const decode = DiscoveryRequest.decoder(settings, slices)
    const refusing = new TransportMetrics.Refusing("maxRequests")
    yield* Effect.addFinalizer(() => Effect.sync(() => refusing.set(false)))
    let requests = 0

    /** Decodes a body. An effect of its own, so that a held poll does not keep its body in memory. */
    const read = (
      request: HttpRequest,
      target: Target,
      wait: number,
      body: Uint8Array,
      format: DiscoveryResponse.Format
    ): Effect.Effect<Asked, Refusal.Refusal> =>
      Effect.gen(function* () {
        const { headers } = request
        const { path, type } = target
        const { node, ...decoded } = yield* decode(format, body)
        const { typeUrl } = decoded.request
        if (typeUrl !== "" && typeUrl !== type.typeUrl) {
          return yield* Refusal.badRequest(`type_url is ${typeUrl}, but ${path} serves ${type.typeUrl}`)
        }
        const incoming = {
          type,
          decoded,
          peer: request.peer(),
          headers,
          credentials: settings.identityHeaders.map((name) => headers[name.toLowerCase()] ?? ""),
          wait,
          patience: Math.min(settings.answerTimeout, timeLeft(headers))
        }
        const key = yield* Effect.orDie(TimeSlices.inSlices(slices, Sessions.keyOf(incoming)))
        return { incoming, key, node: sessions.isNew(key) ? yield* node : undefined }
      })

    const answerTo = ({ incoming, key, node }: Asked): Effect.Effect<Answer, Refusal.Refusal> =>
      Effect.async((resume) => {
        const takeBack = sessions.poll(key, incoming, node, resume)
        return Effect.sync(takeBack)
      })

    const toAnswer = (
      request: HttpRequest,
      { path }: Target,
      response: DiscoveryResponse.DiscoveryResponse,
      requested: DiscoveryResponse.Format
    ) =>
      Effect.gen(function* () {
        const { headers } = request
        const { contentType, format } = Negotiation.contentTypeFor(headers["accept"], requested)
        const plain = yield* Effect.tryPromise({
          try: () => response.bytes(format),
          catch: (cause) => {
            const reason = reasonOf(cause)
            const hint = "a client that accepts application/x-protobuf can be given it"
            const message = `version ${response.version} on ${path} cannot be written as JSON: ${reason}; ${hint}`
            return new Refusal.Refusal({ status: 500, code: "INTERNAL", message })
          }
        })
        const gzip = plain.length >= settings.compressFrom && Negotiation.acceptsGzip(headers["accept-encoding"])
        const body = gzip ? yield* Effect.promise(() => response.gzipped(format)) : plain
        const vary = { "content-type": contentType, vary: "accept, accept-encoding" }
        return { status: 200, headers: gzip ? { ...vary, "content-encoding": "gzip" } : vary, body }
      })

    const enter = Effect.suspend(() => {
      if (requests < settings.maxRequests) return Effect.sync(() => ++requests)
      refusing.set(true)
      const message = `${settings.maxRequests} requests are being answered already, the limit of this server`
      return Effect.fail(new Refusal.Refusal({ status: 503, code: "RESOURCE_EXHAUSTED", message }))
    })
    const leave = () =>
      Effect.sync(() => {
        requests--
        refusing.set(false)
      })

    const respond = (request: HttpRequest, target: Target, wait: number, format: DiscoveryResponse.Format) =>
      Effect.gen(function* () {
        const asked = RequestBody.use(request, settings, deadlines, budget, (body) =>
          read(request, target, wait, body, format)
        )
        const answer = yield* Effect.flatMap(asked, (asked) =>
          Effect.zipRight(TimeSlices.ready(slices), answerTo(asked))
        )
        switch (answer._tag) {
          case "Response":
            return yield* toAnswer(request, target, answer.response, format)
          case "Unchanged":
            return { status: 304, headers: {}, body: undefined }
          case "Refused":
            // The server has logged it.
            return Refusal.toAnswer(Refusal.ofStatus(answer.status))
        }
      })

    return (request) =>
      Effect.gen(function* () {
        slices.begin()
        const target = yield* targetOf(types, request)
        const format = yield* formatOf(request)
        const wait = yield* waitOf(settings, request, target)
        return yield* Effect.acquireUseRelease(enter, () => respond(request, target, wait, format), leave)
      }).pipe(
        Effect.catchTag("Refusal", (refusal) => {
          const { address } = request.peer()
          const what = `${request.method} ${request.url.slice(0, longest)} of ${address} was refused with ${refusal.status}`
          const subject = `${refusal.status} ${Peers.hostOf(address)}`
          log(LogLevel.Warning, subject, Redaction.text(`${what}: ${refusal.message}`))
          return Effect.succeed(Refusal.toAnswer(refusal))
        }),
        Effect.map((answer): HttpListener.WholeAnswer => {
          RestServerMetrics.requests(answer.status).unsafeUpdate(1, [])
          // A client that polls without a pause would keep the HTTP server from closing.
          return sessions.closed ? { ...answer, headers: { ...answer.headers, connection: "close" } } : answer
        })
      )
  })
