import type { MessageInitShape } from "@bufbuild/protobuf"
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import * as Checker from "@effect-xds/discovery/Checker"
import * as StringMatcher from "@effect-xds/discovery/StringMatcher"
import type { HealthCheck } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { HealthCheckSchema } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import {
  HeaderValueOption_HeaderAppendAction as Action,
  RequestMethod
} from "@effect-xds/proto/envoy/config/core/v3/base"
import { CodecClientType } from "@effect-xds/proto/envoy/type/v3/http"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"

type Init = Exclude<MessageInitShape<typeof HealthCheckSchema>, HealthCheck>
type Of<Case extends string> = Extract<Init["healthChecker"], { readonly case: Case }>["value"]
type Http = Of<"httpHealthCheck">
type Tcp = Of<"tcpHealthCheck">
type Grpc = Of<"grpcHealthCheck">

const seconds = (value: number) => ({ seconds: BigInt(Math.floor(value)), nanos: (value % 1) * 1_000_000_000 })
const schedule = { timeout: seconds(1), interval: seconds(10), unhealthyThreshold: 2, healthyThreshold: 3 }

const message = (given: Init): HealthCheck => create(HealthCheckSchema, { ...schedule, ...given })
const http = (value: Http = {}): HealthCheck =>
  message({ healthChecker: { case: "httpHealthCheck", value: { path: "/health", ...value } } })
const tcp = (value: Tcp = {}): HealthCheck => message({ healthChecker: { case: "tcpHealthCheck", value } })
const grpc = (value: Grpc = {}): HealthCheck => message({ healthChecker: { case: "grpcHealthCheck", value } })

/** With a name behind it in the bytes. */
const called = (name: string, before: HealthCheck = tcp()): HealthCheck => {
  const text = new TextEncoder().encode(name)
  const length = text.length < 128 ? [text.length] : [(text.length & 127) | 128, text.length >> 7]
  const tag = [(27 << 3) | 2 | 128, 27 >> 4]
  return fromBinary(
    HealthCheckSchema,
    Uint8Array.of(...toBinary(HealthCheckSchema, before), ...tag, ...length, ...text)
  )
}

const read = (...messages: ReadonlyArray<HealthCheck>) => Either.getOrThrowWith(Checker.make(messages), JSON.stringify)
const probe = (each: HealthCheck) => read(each)[0]?.probe

/** The path of each mistake, without what all have in common. */
const mistakes = (...messages: ReadonlyArray<HealthCheck>) =>
  Either.match(Checker.make(messages), {
    onLeft: (errors) => errors.map(({ path, reason }) => `${reason} ${path.replace("health_checks[0]", "")}`),
    onRight: () => []
  })

const option = (key: string, value: string, more: object = {}) => ({ header: { key, value }, ...more })

describe("the schedule", () => {
  it("every field", () => {
    const [checker] = read(
      message({
        timeout: seconds(0.25),
        interval: seconds(7),
        unhealthyInterval: seconds(8),
        unhealthyEdgeInterval: seconds(9),
        healthyEdgeInterval: seconds(10),
        noTrafficInterval: seconds(11),
        noTrafficHealthyInterval: seconds(12),
        initialJitter: seconds(13),
        intervalJitter: seconds(14),
        intervalJitterPercent: 15,
        unhealthyThreshold: 16,
        healthyThreshold: 17,
        reuseConnection: false,
        alwaysLogHealthCheckFailures: true,
        alwaysLogHealthCheckSuccess: true,
        healthChecker: { case: "tcpHealthCheck", value: {} }
      })
    )
    expect(checker).toEqual({
      name: "",
      settings: {
        timeout: 250,
        interval: 7_000,
        unhealthyInterval: 8_000,
        unhealthyEdgeInterval: 9_000,
        healthyEdgeInterval: 10_000,
        noTrafficInterval: 11_000,
        noTrafficHealthyInterval: 12_000,
        initialJitter: 13_000,
        intervalJitter: 14_000,
        intervalJitterPercent: 15,
        unhealthyThreshold: 16,
        healthyThreshold: 17,
        reuseConnection: false,
        alwaysLogHealthCheckFailures: true,
        alwaysLogHealthCheckSuccess: true
      },
      probe: { _tag: "Tcp", send: Uint8Array.of(), receive: [] }
    })
  })

  it("what is required; durations that are none; a checker of its own", () => {
    expect(mistakes(create(HealthCheckSchema))).toEqual([
      "HealthCheckSettings .timeout",
      "HealthCheckSettings .interval",
      "HealthCheckSettings .unhealthy_threshold",
      "HealthCheckSettings .healthy_threshold",
      "HealthChecker "
    ])
    const custom = { case: "customHealthCheck", value: { name: "envoy.health_checkers.redis" } } as const
    const wrong = { timeout: { seconds: 1n, nanos: -1 }, intervalJitter: seconds(-1), healthChecker: custom }
    expect(mistakes(message(wrong))).toEqual([
      "HealthCheckSettings .timeout",
      "HealthCheckSettings .interval_jitter",
      "HealthChecker .custom_health_check"
    ])
    expect(
      mistakes(message({ healthChecker: custom, tlsOptions: {}, transportSocketMatchCriteria: { tls: true } }))
    ).toEqual([
      "HealthCheckTls .tls_options",
      "HealthCheckTls .transport_socket_match_criteria",
      "HealthChecker .custom_health_check"
    ])
  })
})

describe("names", () => {
  it("one checker needs none; of several each has its own", () => {
    expect(read().length).toBe(0)
    expect(read(tcp()).map(({ name }) => name)).toEqual([""])
    const long = "x".repeat(200)
    expect(read(called("a"), called(long), called("é")).map(({ name }) => name)).toEqual(["a", long, "é"])
    expect(mistakes(called("a"), tcp())).toEqual(["HealthCheckName health_checks[1].name"])
    expect(mistakes(called("a"), called("a"))).toEqual(["HealthCheckName health_checks[1].name"])
    expect(mistakes(tcp(), tcp())).toEqual(["HealthCheckName .name", "HealthCheckName health_checks[1].name"])
  })

  it("of a field that comes twice the last one counts", () => {
    expect(read(called("b", called("a")))[0]?.name).toBe("b")
  })
})

describe("HTTP", () => {
  it("defaults", () => {
    expect(probe(http())).toEqual({
      _tag: "Http",
      codec: "HTTP1",
      method: "GET",
      path: "/health",
      host: "",
      headers: [["user-agent", "effect-xds/HC"]],
      send: Uint8Array.of(),
      expected: [{ start: 200, end: 201 }],
      retriable: [],
      receive: [],
      responseBufferSize: 1024,
      serviceName: undefined
    })
  })

  it("every field", () => {
    expect(
      probe(
        http({
          host: "here",
          path: "/?a",
          method: RequestMethod.PUT,
          codecClientType: CodecClientType.HTTP2,
          send: { payload: { case: "binary", value: Uint8Array.of(1) } },
          receive: [
            { payload: { case: "text", value: "0a" } },
            { payload: { case: "binary", value: Uint8Array.of(2) } }
          ],
          responseBufferSize: 0n,
          expectedStatuses: [{ start: 100n, end: 600n }],
          retriableStatuses: [{ start: 500n, end: 501n }],
          serviceNameMatcher: { matchPattern: { case: "prefix", value: "Cart" }, ignoreCase: true }
        })
      )
    ).toMatchObject({
      codec: "HTTP2",
      method: "PUT",
      path: "/?a",
      host: "here",
      send: Uint8Array.of(1),
      expected: [{ start: 100, end: 600 }],
      retriable: [{ start: 500, end: 501 }],
      receive: [Uint8Array.of(10), Uint8Array.of(2)],
      responseBufferSize: Number.POSITIVE_INFINITY,
      serviceName: StringMatcher.literal("Prefix", "Cart", true)
    })
  })

  it("what cannot be", () => {
    expect(
      mistakes(
        http({
          path: "/a b",
          host: "a\nb",
          method: RequestMethod.CONNECT,
          codecClientType: CodecClientType.HTTP3,
          expectedStatuses: [
            { start: 99n, end: 200n },
            { start: 200n, end: 200n },
            { start: 200n, end: 601n }
          ],
          retriableStatuses: [{ start: -1n, end: 1n }],
          serviceNameMatcher: { matchPattern: { case: "suffix", value: "" } }
        })
      ).map((each) => each.replace(".http_health_check", ""))
    ).toEqual([
      "HealthChecker .method",
      "HealthChecker .path",
      "RequestHeader .host",
      "HealthChecker .codec_client_type",
      "StatusRange .expected_statuses[0]",
      "StatusRange .expected_statuses[1]",
      "StatusRange .expected_statuses[2]",
      "ServiceName .service_name_matcher.suffix",
      "StatusRange .retriable_statuses[0]"
    ])
    const none = { payload: { case: undefined } } as const
    const long = { payload: { case: "binary", value: new Uint8Array(1_025) } } as const
    const paths = (value: Http) => mistakes(http(value)).map((each) => each.replace(".http_health_check", ""))
    expect(paths({ path: "", send: none })).toEqual(["HealthChecker .path", "Payload .send", "Payload .send"])
    const newer = Uint8Array.of(...toBinary(HealthCheckSchema, http()), 0x42, 2, 13 << 3, 99)
    expect(mistakes(fromBinary(HealthCheckSchema, newer))).toEqual(["HealthChecker .http_health_check.method"])
    expect(paths({ method: RequestMethod.CONNECT, receive: [none, long] })).toEqual([
      "HealthChecker .method",
      "Payload .receive[0]",
      "Payload .response_buffer_size"
    ])
    expect(paths({ receive: [long], responseBufferSize: 1_025n })).toEqual([])
    expect(paths({ serviceNameMatcher: {} })).toEqual(["ServiceName .service_name_matcher"])
  })
})

describe("headers", () => {
  const headers = (value: Http) => {
    const read = probe(http(value))
    return read?._tag === "Http" ? Object.fromEntries(read.headers) : undefined
  }

  it("are removed, then added as their actions say", () => {
    expect(headers({ requestHeadersToRemove: ["User-Agent"] })).toEqual({})
    const added = (...options: ReadonlyArray<object>) => headers({ requestHeadersToAdd: [...options] })
    const agent = "effect-xds/HC"
    expect(added(option("X-A", "1"), option("x-a", "2"), option("x-b", "100%%"))).toEqual({
      "user-agent": agent,
      "x-a": "1,2",
      "x-b": "100%"
    })
    const { ADD_IF_ABSENT, OVERWRITE_IF_EXISTS, OVERWRITE_IF_EXISTS_OR_ADD } = Action
    const both = (appendAction: Action) =>
      added(option("user-agent", "mine", { appendAction }), option("x-a", "1", { appendAction }))
    expect(both(ADD_IF_ABSENT)).toEqual({ "user-agent": agent, "x-a": "1" })
    expect(both(OVERWRITE_IF_EXISTS)).toEqual({ "user-agent": "mine" })
    expect(both(OVERWRITE_IF_EXISTS_OR_ADD)).toEqual({ "user-agent": "mine", "x-a": "1" })
    expect(added(option("user-agent", "mine", { append: false }))).toEqual({ "user-agent": "mine" })
    expect(added(option("user-agent", "mine", { append: true }))).toEqual({ "user-agent": `${agent},mine` })
    expect(
      headers({ requestHeadersToRemove: ["user-agent"], requestHeadersToAdd: [option("user-agent", "x")] })
    ).toEqual({ "user-agent": "x" })
  })

  it("empty ones only if they are to be kept; bytes", () => {
    const raw = { header: { key: "x-raw", rawValue: Uint8Array.of(97, 233) } }
    expect(
      headers({ requestHeadersToAdd: [option("x-a", ""), option("x-b", "", { keepEmptyValue: true }), raw] })
    ).toMatchObject({ "x-b": "", "x-raw": "aé" })
    expect(headers({ requestHeadersToAdd: [option("x-a", "")] })).toEqual({ "user-agent": "effect-xds/HC" })
  })

  it("what cannot be", () => {
    const path = ".http_health_check.request_headers_to_"
    const of = (value: Http) => mistakes(http(value)).map((each) => each.replace(path, ""))
    expect(
      of({
        requestHeadersToRemove: [":path", "Host", "x-fine"],
        requestHeadersToAdd: [
          {},
          option("", "x"),
          option("host", "x"),
          option("Transfer-Encoding", "x"),
          option("x-a", "%HOSTNAME%"),
          option("x-a", "a\r\nb"),
          { header: { key: "x-a", value: "1", rawValue: Uint8Array.of(1) } },
          option("x-a", "1", { append: false, appendAction: Action.ADD_IF_ABSENT })
        ]
      })
    ).toEqual([
      "RequestHeader remove[0]",
      "RequestHeader remove[1]",
      "RequestHeader add[0].header",
      "RequestHeader add[1].header.key",
      "RequestHeader add[2].header.key",
      "RequestHeader add[3].header.key",
      "RequestHeader add[4].header.value",
      "RequestHeader add[5].header.value",
      "RequestHeader add[6].header",
      "RequestHeader add[6].header.value",
      "RequestHeader add[7].append"
    ])
    const many = Array.from({ length: 1_001 }, () => option("x-a", "1"))
    expect(of({ requestHeadersToAdd: many })).toEqual(["RequestHeader add"])
  })
})

describe("TCP and gRPC", () => {
  it("TCP: text and bytes are sent", () => {
    const payload = (value: string) => ({ payload: { case: "text", value } as const })
    expect(probe(tcp({ send: payload("00FF"), receive: [payload("01"), payload("0203")] }))).toEqual({
      _tag: "Tcp",
      send: Uint8Array.of(0, 255),
      receive: [Uint8Array.of(1), Uint8Array.of(2, 3)]
    })
    const binary = { payload: { case: "binary", value: Uint8Array.of(7) } } as const
    expect(probe(tcp({ send: binary }))).toMatchObject({ send: Uint8Array.of(7) })
    expect(mistakes(tcp({ send: payload("0"), receive: [payload("")], proxyProtocolConfig: {} }))).toEqual([
      "HealthChecker .tcp_health_check.proxy_protocol_config",
      "Payload .tcp_health_check.send.text",
      "Payload .tcp_health_check.receive[0].text"
    ])
  })

  it("gRPC: service, authority and metadata, but none that makes it a call", () => {
    const initialMetadata = [option("x-a", "1")]
    expect(probe(grpc({ serviceName: "cart", authority: "here", initialMetadata }))).toEqual({
      _tag: "Grpc",
      service: "cart",
      host: "here",
      headers: [
        ["user-agent", "effect-xds/HC"],
        ["x-a", "1"]
      ]
    })
    const wrong = [option("grpc-timeout", "1S"), option("content-type", "text/html"), option("te", "gzip")]
    const path = ".grpc_health_check.initial_metadata"
    expect(mistakes(grpc({ authority: "a\u0000", initialMetadata: wrong }))).toEqual([
      "RequestHeader .grpc_health_check.authority",
      `RequestHeader ${path}[0].header.key`,
      `RequestHeader ${path}[1].header.key`,
      `RequestHeader ${path}[2].header.key`
    ])
  })
})
