import * as Payload from "@effect-xds/discovery/Payload"
import * as Probe from "@effect-xds/discovery/Probe"
import * as Answer from "@effect-xds/discovery/ProbeAnswer"
import * as StringMatcher from "@effect-xds/discovery/StringMatcher"
import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const http: Probe.Http = {
  _tag: "Http",
  codec: "HTTP1",
  method: "GET",
  path: "/health",
  host: "",
  headers: [],
  send: bytes(""),
  expected: [
    { start: 200, end: 201 },
    { start: 204, end: 206 }
  ],
  retriable: [{ start: 204, end: 504 }],
  receive: [],
  responseBufferSize: 1024,
  serviceName: undefined
}

const named = { ...http, serviceName: StringMatcher.literal("Prefix", "cart", false) }
const fail = "x-envoy-immediate-health-check-fail"
const cluster = "x-envoy-upstream-healthchecked-cluster"

describe("what an answer over HTTP means", () => {
  const looked = { isVerified: true }
  const table: ReadonlyArray<
    readonly [what: string, probe: Probe.Http, status: number, headers: Record<string, string>, means: object]
  > = [
    ["an expected status", http, 200, {}, { _tag: "Success", isDegraded: false }],
    ["the first of a range", http, 204, {}, { _tag: "Success", isDegraded: false }],
    ["the last of a range", http, 205, {}, { _tag: "Success", isDegraded: false }],
    ["the one behind the range", http, 206, {}, { _tag: "Retriable", why: "status 206" }],
    ["the last that may be tried again", http, 503, {}, { _tag: "Retriable", why: "status 503" }],
    ["the one behind", http, 504, {}, { _tag: "Immediate", isExcluded: false, why: "status 504" }],
    ["the one behind the first range", http, 201, {}, { _tag: "Immediate", isExcluded: false, why: "status 201" }],
    ["a failure that excludes", http, 504, { [fail]: "" }, { _tag: "Immediate", isExcluded: true, why: "status 504" }],
    [
      "one that may be tried again excludes nobody",
      http,
      503,
      { [fail]: "true" },
      { _tag: "Retriable", why: "status 503" }
    ],
    ["★ a success excludes nobody", http, 200, { [fail]: "true" }, { _tag: "Success", isDegraded: false }],
    ["a success of a degraded host", http, 200, { "x-envoy-degraded": "" }, { _tag: "Success", isDegraded: true }],
    [
      "a failure of a degraded host",
      http,
      504,
      { "x-envoy-degraded": "" },
      { _tag: "Immediate", isExcluded: false, why: "status 504" }
    ],
    ["its own service", named, 200, { [cluster]: "cart-v2" }, { _tag: "Success", isDegraded: false, ...looked }],
    [
      "another service",
      named,
      200,
      { [cluster]: "shop" },
      { _tag: "Immediate", ...looked, why: `${cluster} is not the service that service_name_matcher wants` }
    ],
    ["no service", named, 200, {}, { _tag: "Immediate", ...looked, why: `${cluster} is missing` }],
    [
      "another service, which excludes nobody",
      named,
      200,
      { [fail]: "true" },
      { _tag: "Immediate", ...looked, why: `${cluster} is missing` }
    ],
    ["the status goes before the service", named, 503, {}, { _tag: "Retriable", why: "status 503" }]
  ]
  it.each(table)("%s", (_what, probe, status, headers, means) => {
    expect(Answer.ofHttp(probe, { status, header: (name) => headers[name], isReceived: true, closes: false })).toEqual({
      ...means,
      closes: false
    })
  })

  it("the wrong body is a no, also with a status that may be tried again", () => {
    for (const status of [200, 503]) {
      const answer = { status, header: () => undefined, isReceived: false, closes: true }
      expect(Answer.ofHttp(http, answer)).toEqual({
        _tag: "Immediate",
        isExcluded: false,
        closes: true,
        why: "what receive wants is not in the body"
      })
    }
    const excluding = { status: 200, header: (name: string) => (name === fail ? "" : undefined), closes: false }
    expect(Answer.ofHttp(http, { ...excluding, isReceived: false })).toMatchObject({ isExcluded: true })
  })
})

describe("what the answer to a call of gRPC means", () => {
  const message = (status: number) => Uint8Array.of(0, 0, 0, 0, 2, 8, status)
  const serving: Answer.GrpcAnswer = {
    status: 200,
    contentType: "application/grpc",
    grpcStatus: "0",
    body: message(1),
    closes: false
  }
  const notOne = "the answer is not one HealthCheckResponse"
  const notGrpc = (status: number) => `the answer is not one of gRPC: status ${status} of HTTP`
  const table: ReadonlyArray<readonly [what: string, answer: Partial<Answer.GrpcAnswer>, why: string | undefined]> = [
    ["SERVING", {}, undefined],
    ["another type of content of gRPC", { contentType: "application/grpc+proto" }, undefined],
    ["with a parameter", { contentType: "application/grpc; charset=utf-8" }, undefined],
    ["UNKNOWN", { body: message(0) }, "the service is UNKNOWN"],
    ["NOT_SERVING", { body: message(2) }, "the service is NOT_SERVING"],
    ["SERVICE_UNKNOWN", { body: message(3) }, "the service is SERVICE_UNKNOWN"],
    ["no status at all", { body: Uint8Array.of(0, 0, 0, 0, 0) }, "the service is UNKNOWN"],
    ["★ OK without a message", { body: Uint8Array.of() }, notOne],
    ["two messages", { body: Uint8Array.of(...message(1), ...message(1)) }, notOne],
    ["half a message", { body: message(1).subarray(0, 6) }, notOne],
    ["a compressed one", { body: Uint8Array.of(1, 0, 0, 0, 2, 8, 1) }, notOne],
    ["no message of protobuf", { body: Uint8Array.of(0, 0, 0, 0, 1, 255) }, notOne],
    ["UNIMPLEMENTED", { grpcStatus: "12" }, "grpc-status 12"],
    ["no status of gRPC", { grpcStatus: undefined }, "there is no grpc-status"],
    ["HTTP without gRPC", { contentType: "text/html" }, notGrpc(200)],
    ["gRPC-Web", { contentType: "application/grpc-web" }, notGrpc(200)],
    ["no type of content", { contentType: undefined }, notGrpc(200)],
    ["★ a status that is no number is not told", { grpcStatus: "9".repeat(60_000) }, "there is no grpc-status"],
    ["a state that is newer than we are", { body: message(9) }, "the service is 9"],
    ["another status of HTTP", { status: 503 }, notGrpc(503)]
  ]
  it.each(table)("%s", (_what, answer, why) => {
    const means = why === undefined ? { _tag: "Success" } : { _tag: "Immediate", why }
    expect(Answer.ofGrpc({ ...serving, ...answer })).toEqual({ ...means, closes: false })
  })

  it("a message that lies within a larger buffer", () => {
    const body = Uint8Array.of(9, 9, ...message(1), 9).subarray(2, 9)
    expect(Answer.ofGrpc({ ...serving, body, closes: true })).toEqual({ _tag: "Success", closes: true })
  })
})

describe("blocks", () => {
  const found = (blocks: ReadonlyArray<string>, said: ReadonlyArray<string>, limit?: number) =>
    Payload.isFound(said.map(bytes).reduce(Payload.push, Payload.make(blocks.map(bytes), limit)))

  it("in order, with gaps, over pieces; each byte for one block", () => {
    expect(found([], [])).toBe(true)
    expect(found(["ok"], ["not o", "k"])).toBe(true)
    expect(found(["a", "b"], ["b a b"])).toBe(true)
    expect(found(["a", "b"], ["b a"])).toBe(false)
    expect(found(["aba", "aba"], ["ababa"])).toBe(false)
    expect(found(["aba", "aba"], ["abaaba"])).toBe(true)
    expect(found(["aab"], ["aa", "ab"])).toBe(true)
    expect(found(["", "a"], ["a"])).toBe(true)
  })

  it("in the first bytes only", () => {
    expect(found(["cd"], ["abcd"], 4)).toBe(true)
    expect(found(["cd"], ["ab", "cd"], 3)).toBe(false)
    expect(found(["cd"], ["abc", "d"], 3)).toBe(false)
  })

  it("as indexOf finds them", () => {
    const text = fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 5 })
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), fc.array(text, { maxLength: 12 }), (blocks, said) => {
        const whole = said.join("")
        let at = 0
        for (const block of blocks) {
          const from = at < 0 ? -1 : whole.indexOf(block, at)
          at = from < 0 ? -1 : from + block.length
        }
        expect(found(blocks, said)).toBe(at >= 0)
      }),
      { numRuns: 500 }
    )
  })

  it("hexadecimal text", () => {
    expect(Payload.fromHex("00fFa0")).toEqual(Uint8Array.of(0, 255, 160))
    expect([Payload.fromHex("0"), Payload.fromHex("0g"), Payload.fromHex("zz")]).toEqual([
      undefined,
      undefined,
      undefined
    ])
  })
})

it("the host: of the endpoint, else of the checker, else the cluster", () => {
  const probe = { ...http, host: "checker" }
  expect([
    Probe.hostOf(probe, "endpoint", "cluster"),
    Probe.hostOf(probe, "", "cluster"),
    Probe.hostOf(http, "", "cluster")
  ]).toEqual(["endpoint", "checker", "cluster"])
})
