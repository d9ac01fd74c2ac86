/**
 * Everything except gRPC streams over HTTP/2: unary calls, gRPC-Web and Connect, over any HTTP version, through
 * Connect.
 */
import type {
  DescMessage,
  DescMethod,
  DescMethodBiDiStreaming,
  DescMethodUnary,
  DescService,
  Message
} from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { BinaryReader } from "@bufbuild/protobuf/wire"
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect"
import { Code, ConnectError, createConnectRouter, createContextKey, createContextValues } from "@connectrpc/connect"
import { compressionGzip, universalRequestFromNodeRequest } from "@connectrpc/connect-node"
import type { UniversalHandler, UniversalServerRequest, UniversalServerResponse } from "@connectrpc/connect/protocol"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import * as MessageJson from "@effect-xds/proto/MessageJson"
import type { ServerTransport } from "@effect-xds/transport"
import { Status } from "@effect-xds/transport"
import type { Holder } from "@effect-xds/transport-node/ByteBudget"
import * as TimeSlices from "@effect-xds/transport-node/TimeSlices"
import { Buffer } from "node:buffer"
import type * as Http1 from "node:http"
import * as Http2 from "node:http2"
import * as BuiltInCall from "../grpc/BuiltInCall.js"
import * as BuiltInServices from "../grpc/BuiltInServices.js"
import * as CallContext from "./CallContext.js"
import type { Call } from "./ConnectStream.js"
import { ConnectStream, toError } from "./ConnectStream.js"
import * as Deadline from "./Deadline.js"
import type { FurtherServices } from "./FurtherServices.js"
import type { Shared } from "./GrpcStream.js"
import { closeSoon } from "./GrpcStream.js"
import * as WrappedRequests from "./WrappedRequests.js"
import * as JsonResponses from "./JsonResponses.js"

export type HttpRequest = Http1.IncomingMessage | Http2.Http2ServerRequest
export type HttpResponse = Http1.ServerResponse | Http2.Http2ServerResponse

type Handlers = ReadonlyMap<string, UniversalHandler>

/** The JSON responses of a call, in its context. */
const jsonKey = createContextKey<JsonResponses.JsonResponses | undefined>(undefined)

const discoveryCallOf = (context: HandlerContext): Call & { readonly method: ServerTransport.Method } => {
  const { method, ...call } = CallContext.callOf(context.values)
  // Every xDS call has a method.
  if (method === undefined) throw toError(Status.make("INTERNAL", "internal error"))
  return { method, ...call }
}

/** The generated services. Loading each takes a part of a turn. */
const serviceModules: ReadonlyArray<() => Promise<ReadonlyArray<DescService>>> = [
  async () => [(await import("@effect-xds/proto/envoy/service/discovery/v3/ads")).AggregatedDiscoveryService],
  async () => [(await import("@effect-xds/proto/envoy/service/cluster/v3/cds")).ClusterDiscoveryService],
  async () => [(await import("@effect-xds/proto/envoy/service/endpoint/v3/eds")).EndpointDiscoveryService],
  async () => [(await import("@effect-xds/proto/envoy/service/endpoint/v3/leds")).LocalityEndpointDiscoveryService],
  async () => [
    (await import("@effect-xds/proto/envoy/service/extension/v3/config_discovery")).ExtensionConfigDiscoveryService
  ],
  async () => [(await import("@effect-xds/proto/envoy/service/listener/v3/lds")).ListenerDiscoveryService],
  async () => {
    const rds = await import("@effect-xds/proto/envoy/service/route/v3/rds")
    return [rds.RouteDiscoveryService, rds.VirtualHostDiscoveryService]
  },
  async () => [(await import("@effect-xds/proto/envoy/service/route/v3/srds")).ScopedRoutesDiscoveryService],
  async () => [(await import("@effect-xds/proto/envoy/service/runtime/v3/rtds")).RuntimeDiscoveryService],
  async () => [(await import("@effect-xds/proto/envoy/service/secret/v3/sds")).SecretDiscoveryService]
]

const olderOf = new Map<string, string | undefined>(
  ResourceType.v2.map(({ service, shortName }) => [shortName, service])
)

/** The names of services of v2 by their names in v3. */
const older: ReadonlyMap<string | undefined, string | undefined> = new Map([
  [ResourceType.aggregated.service, ResourceType.aggregatedV2.service],
  ...ResourceType.all.map(({ service, shortName }) => [service, olderOf.get(shortName)] as const)
])

/** A service, and what it was in v2: its messages had the same fields, so they need not be loaded. */
const inBothApis = (service: DescService): ReadonlyArray<DescService> => {
  const typeName = older.get(service.typeName)
  if (typeName === undefined) return [service]
  const before: DescService = { ...service, typeName }
  return [service, { ...before, methods: service.methods.map((method) => ({ ...method, parent: before })) }]
}

/** Loads the services at the first call, in time slices: most servers never get one. */
const loadServices = async (slices: TimeSlices.TimeSlices): Promise<ReadonlyArray<DescService>> => {
  let loaded: ReadonlyArray<DescService> = []
  for (const load of serviceModules) {
    loaded = loaded.concat(await load())
    await TimeSlices.next(slices)
  }
  return loaded
}

const concat = ({ body, suffix }: ServerTransport.Outgoing): Uint8Array => {
  const bytes = new Uint8Array(body.length + suffix.length)
  bytes.set(body)
  bytes.set(suffix, body.length)
  return bytes
}

/** A message with only unknown fields, so that it is encoded as exactly these bytes. */
const preEncoded = (schema: DescMessage, bytes: Uint8Array): Message => {
  const message = create(schema)
  if (bytes.length === 0) return message
  const reader = new BinaryReader(bytes)
  const [no, wireType] = reader.tag()
  // The data after the first tag is written unchanged, whether it is one field or all.
  message.$unknown = [{ no, wireType, data: bytes.subarray(reader.pos) }]
  return message
}

/** The field number of `resources` in `DiscoveryResponse` and `DeltaDiscoveryResponse`. */
const resources = 2

/** The message for Connect to write. JSON is written here, in time slices, and put into the answer later. */
const toMessage = async (
  shared: Shared,
  schema: DescMessage,
  response: ServerTransport.Outgoing,
  context: HandlerContext
): Promise<Message> => {
  const bytes = concat(response)
  const json = context.values.get(jsonKey)
  if (json === undefined) return preEncoded(schema, bytes)
  try {
    const pause = TimeSlices.pauses(shared.slices)
    return json.put(Buffer.concat(await MessageJson.encode(schema, resources, bytes, { pause })))
  } catch (cause) {
    throw ConnectError.from(cause, Code.Internal)
  }
}

const isJson = (contentType: string | null): boolean => /^application\/(?:\S+\+)?json/.test(contentType ?? "")

/** The bytes of a request, from the message that Connect read in its place. */
type BytesOf = (schema: DescMessage, wrapped: Message) => Promise<Uint8Array>

async function* unwrapped(
  bytesOf: BytesOf,
  schema: DescMessage,
  messages: AsyncIterable<Message>
): AsyncGenerator<Uint8Array> {
  for await (const message of messages) yield await bytesOf(schema, message)
}

/** The schemas that Connect reads and writes in place of a method's messages. */
interface Forms {
  readonly input: DescMessage
  readonly output: DescMessage
  readonly bytesOf: BytesOf
}

const isStream = (method: DescMethod): method is DescMethodBiDiStreaming => method.methodKind === "bidi_streaming"
const isUnary = (method: DescMethod): method is DescMethodUnary => method.methodKind === "unary"

const addStream = (
  router: ConnectRouter,
  shared: Shared,
  method: DescMethodBiDiStreaming,
  { bytesOf, input, output }: Forms
): void => {
  router.rpc({ ...method, input, output }, async function* (requests: AsyncIterable<Message>, context) {
    const stream = new ConnectStream(shared, discoveryCallOf(context), context.signal)
    stream.start()
    void stream.readAll(unwrapped(bytesOf, method.input, requests))
    for await (const response of stream.responses()) yield await toMessage(shared, method.output, response, context)
  })
}

const addUnary = (
  router: ConnectRouter,
  shared: Shared,
  method: DescMethodUnary,
  { bytesOf, input, output }: Forms
): void => {
  router.rpc({ ...method, input, output }, async (request: Message, context) => {
    const bytes = await bytesOf(method.input, request)
    const stream = new ConnectStream(shared, discoveryCallOf(context), context.signal)
    stream.start()
    void stream.request(bytes)
    for await (const response of stream.responses()) return await toMessage(shared, method.output, response, context)
    throw toError(Status.make("INTERNAL", "the server gave no response"))
  })
}

/** The largest request to a standard gRPC service, in bytes. */
const maxBuiltInBytes = 65_536

/** The largest JSON request to a further service, in bytes: Connect parses it in one go. */
const maxJsonBytes = 65_536

const maxBytesOf = ({ maxRequestBytes, maxWholeRequestBytes }: Shared): number =>
  Math.min(maxRequestBytes, maxWholeRequestBytes)

/** The handlers for protobuf or for JSON requests. */
const load = async (shared: Shared, isJson: boolean): Promise<Handlers> => {
  const { maxJsonValues, slices } = shared
  const maxBytes = maxBytesOf(shared)
  const router = createConnectRouter({
    readMaxBytes: WrappedRequests.wrappedBytes(maxBytes, isJson),
    acceptCompression: [WrappedRequests.gzipOf({ isJson, maxBytes })]
  })
  const options = { registry: await TypeRegistry.forJson(null), ignoreUnknownFields: true }
  const bytesOf: BytesOf = (schema, wrapped) =>
    TimeSlices.promise(slices, WrappedRequests.unwrap(schema, wrapped, { maxJsonValues, options }))
  const services = await loadServices(slices)
  for (const { methods } of services.flatMap(inBothApis)) {
    for (const method of methods) {
      const output = isJson ? JsonResponses.schema : method.output
      const forms = { input: WrappedRequests.schemaOf(isJson), output, bytesOf }
      if (isUnary(method)) addUnary(router, shared, method, forms)
      else if (isStream(method)) addStream(router, shared, method, forms)
    }
  }
  return handlersOf(router)
}

const loadBuiltIns = async (shared: Shared, further: FurtherServices): Promise<Handlers> => {
  const router = createConnectRouter({ readMaxBytes: maxBuiltInBytes, acceptCompression: [compressionGzip] })
  const open = (context: HandlerContext) => BuiltInCall.open(shared, CallContext.callOf(context.values), context.signal)
  const services = [...(await loadServices(shared.slices)), ...further.services]
  await BuiltInServices.add(router, services, shared.reflection, open)
  return handlersOf(router)
}

const handlersOf = ({ handlers }: ConnectRouter): Handlers =>
  new Map(handlers.map((handler) => [handler.requestPath, handler]))

/** Content types of messages without a prefix: Connect's unary calls. */
const isBare = (contentType: string): boolean => /^application\/(?:proto|json)\b/.test(contentType)

const isBytes = (body: UniversalServerRequest["body"]): body is AsyncIterable<Uint8Array> =>
  typeof body === "object" && body !== null && Symbol.asyncIterator in body

/** Streams send headers before the first response, as gRPC streams do. */
const isStreaming = (contentType: string): boolean => /^application\/(?:grpc|connect\+)/.test(contentType)

const compressionHeaders = ["grpc-accept-encoding", "connect-accept-encoding"]

const drained = (response: HttpResponse): Promise<void> =>
  new Promise((resolve) => {
    const done = (): void => {
      response.removeListener("drain", done)
      response.removeListener("close", done)
      resolve()
    }
    response.on("drain", done)
    response.on("close", done)
  })

const send = async (answer: UniversalServerResponse, response: HttpResponse): Promise<void> => {
  if (!response.headersSent) response.writeHead(answer.status, Object.fromEntries(answer.header ?? []))
  for await (const chunk of answer.body ?? []) {
    if (!(response instanceof Http2.Http2ServerResponse ? response.write(chunk) : response.write(chunk)))
      await drained(response)
    if (response.destroyed || response.closed) return
  }
  if (answer.trailer !== undefined) response.addTrailers(Object.fromEntries(answer.trailer))
  response.end()
}

const plain = (response: HttpResponse, status: number, text: string, headers: Record<string, string> = {}): void => {
  response.writeHead(status, { "content-type": "text/plain; charset=utf-8", ...headers })
  if (!(response instanceof Http2.Http2ServerResponse)) return void response.end(`${text}\n`)
  // Further bytes of the client are dropped.
  const { stream } = response
  response.end(`${text}\n`, () => closeSoon(stream, Http2.constants.NGHTTP2_NO_ERROR))
}

/** RESOURCE_EXHAUSTED, in gRPC's form and in Connect's. */
const isTooLarge = ({ status, trailer }: UniversalServerResponse): boolean =>
  trailer?.get("grpc-status") === String(Status.codes.RESOURCE_EXHAUSTED) || status === 429

/** A call: its path, method and peer. */
interface Incoming {
  readonly path: string
  readonly method: ServerTransport.Method | undefined
  /** One request and one response; `undefined` if the method does not exist. */
  readonly unary: boolean | undefined
  readonly peer: ServerTransport.Peer
  readonly headers: Readonly<Record<string, string>>
  /** The status with which an interceptor ended the call. */
  readonly refusal: Status.Status | undefined
}

/** Serves a request of any kind. Never throws. */
export type Serve = (incoming: Incoming, request: HttpRequest, response: HttpResponse) => void

/** Lets the client read the end of a call, within the grace period. */
const lifetime = (
  request: HttpRequest,
  response: HttpResponse,
  grace: number
): { readonly onEnd: () => void; readonly destroy: () => void } => {
  let timer: NodeJS.Timeout | undefined
  let closed = false
  const destroy = (): void => {
    if (response instanceof Http2.Http2ServerResponse) closeSoon(response.stream, Http2.constants.NGHTTP2_CANCEL)
    else request.socket.destroy()
  }
  response.once("close", () => {
    closed = true
    clearTimeout(timer)
  })
  const onEnd = (): void => {
    if (!closed) timer ??= setTimeout(destroy, grace)
  }
  return { onEnd, destroy }
}

export const make = (shared: Shared, further: FurtherServices): Serve => {
  const loaded = new Map<string, Promise<Handlers>>()
  const handlersFor = (method: ServerTransport.Method | undefined, contentType: string): Promise<Handlers> => {
    const kind = method === undefined ? "built-in" : isJson(contentType) ? "JSON" : "protobuf"
    let handlers = loaded.get(kind)
    if (handlers === undefined) {
      handlers = method === undefined ? loadBuiltIns(shared, further) : load(shared, kind === "JSON")
      loaded.set(kind, handlers)
    }
    return handlers
  }

  /** The request for Connect, with its bytes wrapped and counted. */
  const prepared = (
    universal: UniversalServerRequest,
    { method, path }: Incoming,
    onHeld: (bytes: number) => void
  ): UniversalServerRequest => {
    const { body, header } = universal
    const contentType = header.get("content-type") ?? ""
    const isFurther = further.handlers.has(path)
    // Requests to the standard gRPC services are small.
    if ((method === undefined && !isFurther) || !isBytes(body)) return universal
    const bare = isBare(contentType)
    const encoding = header.get("content-encoding") ?? "identity"
    const json = isJson(contentType)
    const reading = {
      isWrapped: !isFurther,
      isBare: bare,
      isJson: json,
      isCompressed: bare && encoding !== "identity",
      maxBytes: isFurther && json ? Math.min(maxJsonBytes, maxBytesOf(shared)) : maxBytesOf(shared),
      onHeld
    }
    // Wrapping changes the length.
    if (bare && !isFurther) header.delete("content-length")
    return { ...universal, body: WrappedRequests.read(body, reading) }
  }

  const call = async (
    incoming: Incoming,
    universal: UniversalServerRequest,
    response: HttpResponse,
    hasStarted: () => boolean,
    answerPlainly: (status: number, text: string) => void
  ): Promise<void> => {
    const { method, path, peer, unary } = incoming
    const contentType = universal.header.get("content-type") ?? ""
    const handler = further.handlers.get(path) ?? (await handlersFor(method, contentType)).get(path)
    if (handler?.supportedContentType(contentType) !== true || /^application\/grpc-web-text/.test(contentType)) {
      const reason = `${path} is not served with content type ${contentType === "" ? "(none)" : contentType}`
      shared.onRefused(path, peer, "unsupported content type", reason)
      return answerPlainly(415, reason)
    }
    if (response instanceof Http2.Http2ServerResponse) {
      if (isStreaming(contentType) && unary !== true) {
        // Compression would have to be named in the headers, which are sent without waiting for the body.
        for (const name of compressionHeaders) universal.header.delete(name)
        response.writeHead(200, { "content-type": contentType })
      }
      // Resets the client's side: it may still be sending a request that is too large.
      const { stream } = response
      stream.once("wantTrailers", () => closeSoon(stream, Http2.constants.NGHTTP2_NO_ERROR))
    }
    const json =
      method !== undefined && isJson(contentType) ? new JsonResponses.JsonResponses(universal.header) : undefined
    universal.contextValues?.set(jsonKey, json)
    const answer = await handler(universal)
    await send(json === undefined ? answer : await json.unwrap(answer, isBare(contentType)), response)
    if (hasStarted() || universal.signal.aborted) return
    // Connect answered by itself: it could not read the request.
    if (isTooLarge(answer)) shared.onRefused(path, peer, "message too large", "the request is too large")
    else shared.onRefused(path, peer, "malformed message", "the request cannot be read")
  }

  return (incoming, request, response) => {
    const ignore = (): void => undefined
    // The abort signal reports connection errors.
    request.on("error", ignore)
    response.on("error", ignore)
    const { method, path, peer, headers, refusal, unary } = incoming
    const { destroy, onEnd } = lifetime(request, response, shared.shutdownGrace)
    // Until it begins, a call is not counted; so that time is limited. One with a single request begins when that has
    // arrived.
    const onTimeout = (): void => {
      const reason = `the request did not arrive within ${shared.requestTimeout} ms`
      shared.onRefused(path, peer, "request timeout", reason)
      destroy()
    }
    const timer = setTimeout(onTimeout, shared.requestTimeout)
    response.once("close", () => clearTimeout(timer))
    /** Answers in place of a call. That is not counted either, so the client has little time to read it. */
    const answerPlainly = (status: number, text: string, headers?: Record<string, string>): void => {
      clearTimeout(timer)
      plain(response, status, text, headers)
      onEnd()
    }
    if (unary === undefined) {
      const reason = `${path} is not a method of this server`
      shared.onRefused(path, peer, "unknown method", reason)
      return answerPlainly(404, reason)
    }
    if (request.method !== "POST") {
      const reason = `${path} is served with POST, not ${request.method ?? "nothing"}`
      shared.onRefused(path, peer, "not POST", reason)
      return answerPlainly(405, reason, { allow: "POST" })
    }
    let started = false
    const onStart = (): void => {
      started = true
      clearTimeout(timer)
    }
    const stop = further.handlers.has(path) ? new AbortController() : undefined
    const abort = stop && ((reason: Error) => stop.abort(reason))
    const values = createContextValues().set(CallContext.callKey, {
      path,
      method,
      peer,
      headers,
      refusal,
      abort,
      onStart,
      onEnd
    })
    let universal: UniversalServerRequest
    try {
      universal = universalRequestFromNodeRequest(request, response, undefined, values)
    } catch {
      shared.onRefused(path, peer, "malformed message", "the host of the request is missing or malformed")
      return answerPlainly(400, "the host of the request is missing or malformed")
    }
    Deadline.dropDistant(universal.header)
    let over = false
    const holder: Holder = {
      evict: () => {
        over = true
        const reason = "this server holds as many bytes of requests that are not complete as it may"
        shared.onRefused(path, peer, "too many unread bytes", reason)
        destroy()
      }
    }
    response.once("close", () => {
      over = true
      shared.held.delete(holder)
    })
    if (stop !== undefined) universal = { ...universal, signal: AbortSignal.any([universal.signal, stop.signal]) }
    const prepare = prepared(universal, incoming, (bytes) => {
      if (!over) shared.held.set(holder, bytes)
    })
    call(incoming, prepare, response, () => started, answerPlainly).catch((cause: unknown) => {
      // An aborted call ends here, too.
      if (!universal.signal.aborted) shared.onDefect(path, peer, cause)
      destroy()
    })
  }
}
