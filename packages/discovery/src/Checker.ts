/**
 * An active health check of a cluster: `envoy.config.core.v3.HealthCheck`, read and checked.
 *
 * What tells of results to elsewhere (`event_log_path`, `event_logger`, `event_service`) and `alt_port`, which Envoy never
 * had, are not looked at.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/health_checking
 * @since 0.1.0
 */
import type { Duration } from "@bufbuild/protobuf/wkt"
import { RequestMethod } from "@effect-xds/proto/envoy/config/core/v3/base"
import type {
  HealthCheck as HealthCheckMessage,
  HealthCheck_GrpcHealthCheck as GrpcMessage,
  HealthCheck_HttpHealthCheck as HttpMessage,
  HealthCheck_Payload as PayloadMessage,
  HealthCheck_TcpHealthCheck as TcpMessage
} from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { CodecClientType } from "@effect-xds/proto/envoy/type/v3/http"
import type { Int64Range } from "@effect-xds/proto/envoy/type/v3/range"
import * as Either from "effect/Either"
import type { HealthCheckSettings } from "./HealthCheckSettings.js"
import * as Settings from "./HealthCheckSettings.js"
import * as Milliseconds from "./Milliseconds.js"
import * as Payload from "./Payload.js"
import type { Grpc, Http, Probe, StatusRange, Tcp } from "./Probe.js"
import * as Headers from "./ProbeHeaders.js"
import type { ResourceError } from "./ResourceError.js"
import { Collector } from "./ResourceError.js"
import * as StringMatchers from "./StringMatcher.js"

/**
 * What kind of mistake it is.
 *
 * @since 0.1.0
 */
export type Reason =
  | "HealthCheckName"
  | "HealthCheckSettings"
  | "HealthChecker"
  | "HealthCheckTls"
  | "Payload"
  | "StatusRange"
  | "RequestHeader"
  | "ServiceName"

/**
 * A checker.
 *
 * @since 0.1.0
 */
export interface Checker {
  /** What tells it from others of its cluster; empty: it is the only one. */
  readonly name: string
  readonly settings: HealthCheckSettings
  readonly probe: Probe
}

type Errors = Collector<Reason>

/**
 * The checkers of a cluster. Left: all mistakes, with paths from the cluster on. ★ Of several each needs a name.
 *
 * @since 0.1.0
 */
export const make = (
  messages: ReadonlyArray<HealthCheckMessage>
): Either.Either<ReadonlyArray<Checker>, ReadonlyArray<ResourceError<Reason>>> => {
  const errors: Errors = new Collector()
  const names = new Set<string>()
  const checkers: Array<Checker> = []
  for (const [index, message] of messages.entries()) {
    const path = `health_checks[${index}]`
    const { name } = message
    if (messages.length > 1 && name === "") {
      errors.add(`${path}.name`, "HealthCheckName", "the name is empty; where there are several, each needs one")
    } else if (names.has(name)) {
      errors.add(`${path}.name`, "HealthCheckName", `another one is called ${JSON.stringify(name)}, too; rename one`)
    }
    names.add(name)
    const settings = settingsOf(message, path, errors)
    const probe = probeOf(message, path, errors)
    if (settings !== undefined && probe !== undefined) checkers.push({ name, settings, probe })
  }
  return errors.count > 0 ? Either.left(errors.errors) : Either.right(checkers)
}

const settingsOf = (message: HealthCheckMessage, path: string, errors: Errors): HealthCheckSettings | undefined => {
  // What is no duration is none of the settings' numbers, either.
  const milliseconds = (duration: Duration | undefined) =>
    duration === undefined ? undefined : (Milliseconds.make(duration) ?? Number.NaN)
  const settings = Settings.make({
    timeout: milliseconds(message.timeout),
    interval: milliseconds(message.interval),
    unhealthyInterval: milliseconds(message.unhealthyInterval),
    unhealthyEdgeInterval: milliseconds(message.unhealthyEdgeInterval),
    healthyEdgeInterval: milliseconds(message.healthyEdgeInterval),
    noTrafficInterval: milliseconds(message.noTrafficInterval),
    noTrafficHealthyInterval: milliseconds(message.noTrafficHealthyInterval),
    initialJitter: milliseconds(message.initialJitter),
    intervalJitter: milliseconds(message.intervalJitter),
    intervalJitterPercent: message.intervalJitterPercent,
    unhealthyThreshold: message.unhealthyThreshold,
    healthyThreshold: message.healthyThreshold,
    reuseConnection: message.reuseConnection,
    alwaysLogHealthCheckFailures: message.alwaysLogHealthCheckFailures,
    alwaysLogHealthCheckSuccess: message.alwaysLogHealthCheckSuccess
  })
  if (Either.isRight(settings)) return settings.right
  for (const { field, message: what } of settings.left) errors.add(`${path}.${field}`, "HealthCheckSettings", what)
  return undefined
}

const probeOf = (message: HealthCheckMessage, path: string, errors: Errors): Probe | undefined => {
  const noTls = "probes have no TLS; leave it out"
  if (message.tlsOptions !== undefined) errors.add(`${path}.tls_options`, "HealthCheckTls", noTls)
  if (message.transportSocketMatchCriteria !== undefined) {
    errors.add(`${path}.transport_socket_match_criteria`, "HealthCheckTls", noTls)
  }
  const { healthChecker: checker } = message
  switch (checker.case) {
    case "httpHealthCheck":
      return httpOf(checker.value, `${path}.http_health_check`, errors)
    case "tcpHealthCheck":
      return tcpOf(checker.value, `${path}.tcp_health_check`, errors)
    case "grpcHealthCheck":
      return grpcOf(checker.value, `${path}.grpc_health_check`, errors)
    case "customHealthCheck": {
      const what = `${JSON.stringify(checker.value.name)} is not supported; use HTTP, TCP or gRPC`
      errors.add(`${path}.custom_health_check`, "HealthChecker", what)
      return undefined
    }
    default:
      errors.add(path, "HealthChecker", "no health_checker that is supported; set HTTP, TCP or gRPC")
      return undefined
  }
}

const userAgent = ["user-agent", "effect-xds/HC"] as const

/** Those whose requests have no body. */
const bodiless: ReadonlySet<RequestMethod> = new Set([
  RequestMethod.GET,
  RequestMethod.HEAD,
  RequestMethod.DELETE,
  RequestMethod.TRACE
])

const httpOf = (message: HttpMessage, path: string, errors: Errors): Http => {
  const { method: given, responseBufferSize: size = 1024n, serviceNameMatcher } = message
  const method = given === RequestMethod.METHOD_UNSPECIFIED ? RequestMethod.GET : given
  // One that is newer than we are has no name.
  const name = method in RequestMethod ? RequestMethod[method] : `method ${method}`
  if (method === RequestMethod.CONNECT || !(method in RequestMethod)) {
    const what = `${name} cannot probe; use another, such as GET`
    errors.add(`${path}.method`, "HealthChecker", what)
  }
  if (!/^[\x21-\x7e\x80-\xff]+$/.test(message.path)) {
    const what = message.path === "" ? "the path is empty; say one, such as /health" : "escape what no path can hold"
    errors.add(`${path}.path`, "HealthChecker", what)
  }
  hostOf(message.host, `${path}.host`, errors)
  if (message.codecClientType !== CodecClientType.HTTP1 && message.codecClientType !== CodecClientType.HTTP2) {
    errors.add(`${path}.codec_client_type`, "HealthChecker", "this codec is not supported; use HTTP1 or HTTP2")
  }
  if (message.send !== undefined && bodiless.has(method)) {
    errors.add(`${path}.send`, "Payload", `${name} has no body; use POST, PUT, PATCH or OPTIONS, or leave it out`)
  }
  const receive = payloadsOf(message.receive, `${path}.receive`, errors)
  const length = receive.reduce((sum, bytes) => sum + bytes.length, 0)
  if (size > 0n && length > size) {
    const what = `receive has ${length} bytes, and ${size} are looked at; make it at least as large`
    errors.add(`${path}.response_buffer_size`, "Payload", what)
  }
  const expected = rangesOf(message.expectedStatuses, `${path}.expected_statuses`, errors)
  const matcher = serviceNameMatcher === undefined ? undefined : StringMatchers.make(serviceNameMatcher)
  if (matcher !== undefined && Either.isLeft(matcher)) {
    const { field, message: what } = matcher.left
    errors.add(`${path}.service_name_matcher${field === "" ? "" : `.${field}`}`, "ServiceName", what)
  }
  const headers = Headers.make(
    [userAgent],
    {
      toAdd: message.requestHeadersToAdd,
      toRemove: message.requestHeadersToRemove,
      isGrpc: false,
      pathToAdd: `${path}.request_headers_to_add`,
      pathToRemove: `${path}.request_headers_to_remove`
    },
    (at, what) => errors.add(at, "RequestHeader", what)
  )
  return {
    _tag: "Http",
    codec: message.codecClientType === CodecClientType.HTTP2 ? "HTTP2" : "HTTP1",
    method: name,
    path: message.path,
    host: message.host,
    headers,
    send: message.send === undefined ? none : payloadOf(message.send, `${path}.send`, errors),
    expected: expected.length > 0 ? expected : [{ start: 200, end: 201 }],
    retriable: rangesOf(message.retriableStatuses, `${path}.retriable_statuses`, errors),
    receive,
    responseBufferSize: size === 0n ? Number.POSITIVE_INFINITY : Number(size),
    serviceName: matcher === undefined ? undefined : Either.getOrUndefined(matcher)
  }
}

const tcpOf = ({ proxyProtocolConfig, receive, send }: TcpMessage, path: string, errors: Errors): Tcp => {
  if (proxyProtocolConfig !== undefined) {
    errors.add(`${path}.proxy_protocol_config`, "HealthChecker", "the PROXY protocol is not supported; leave it out")
  }
  return {
    _tag: "Tcp",
    // ★ Envoy sends hex text alone; its proto has both.
    send: send === undefined ? none : payloadOf(send, `${path}.send`, errors),
    receive: payloadsOf(receive, `${path}.receive`, errors)
  }
}

const grpcOf = ({ authority, initialMetadata, serviceName }: GrpcMessage, path: string, errors: Errors): Grpc => {
  hostOf(authority, `${path}.authority`, errors)
  const headers = Headers.make(
    [userAgent],
    { toAdd: initialMetadata, toRemove: [], isGrpc: true, pathToAdd: `${path}.initial_metadata`, pathToRemove: "" },
    (at, what) => errors.add(at, "RequestHeader", what)
  )
  return { _tag: "Grpc", service: serviceName, host: authority, headers }
}

const hostOf = (host: string, path: string, errors: Errors): void => {
  if (Headers.isValue(host)) return
  errors.add(path, "RequestHeader", "a character in it cannot be in a header; take it out")
}

const none = new Uint8Array()

const payloadsOf = (messages: ReadonlyArray<PayloadMessage>, path: string, errors: Errors): ReadonlyArray<Uint8Array> =>
  messages.map((message, index) => payloadOf(message, `${path}[${index}]`, errors))

const payloadOf = ({ payload }: PayloadMessage, path: string, errors: Errors): Uint8Array => {
  switch (payload.case) {
    case "binary":
      return payload.value
    case "text": {
      const bytes = payload.value === "" ? undefined : Payload.fromHex(payload.value)
      if (bytes !== undefined) return bytes
      errors.add(`${path}.text`, "Payload", "this is no text of hexadecimal digits, two for a byte; write 000000FF")
      return none
    }
    default:
      errors.add(path, "Payload", "the payload is missing; set text or binary")
      return none
  }
}

const rangesOf = (ranges: ReadonlyArray<Int64Range>, path: string, errors: Errors): ReadonlyArray<StatusRange> => {
  for (const [index, { end, start }] of ranges.entries()) {
    if (100n <= start && start < end && end <= 600n) continue
    const what = `[${start}, ${end}) is not a range of statuses; make it one in [100, 600) that is not empty`
    errors.add(`${path}[${index}]`, "StatusRange", what)
  }
  return ranges.map(({ end, start }) => ({ start: Number(start), end: Number(end) }))
}
