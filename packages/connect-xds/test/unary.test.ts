import { create, toBinary } from "@bufbuild/protobuf"
import type { CallOptions, Interceptor, Transport } from "@connectrpc/connect"
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { compressionGzip, createGrpcTransport } from "@connectrpc/connect-node"
import { encodeEnvelope } from "@connectrpc/connect/protocol"
import { setTrailerStatus } from "@connectrpc/connect/protocol-grpc"
import { XdsTransport } from "@effect-xds/connect-xds"
import {
  Health,
  HealthCheckResponse_ServingStatus,
  HealthCheckResponseSchema
} from "@effect-xds/proto/grpc/health/v1/health"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as Http2 from "node:http2"
import { gzipSync } from "node:zlib"
import * as Mesh from "./Mesh.js"

type Stream = Http2.ServerHttp2Stream

const status = HealthCheckResponse_ServingStatus.SERVING
const message = toBinary(HealthCheckResponseSchema, create(HealthCheckResponseSchema, { status }))
const frame = encodeEnvelope(0, message)
const json = encodeEnvelope(0, Buffer.from('{"status":"SERVING"}'))

const head = { ":status": 200, "content-type": "application/grpc+proto" }
const ok = { "grpc-status": "0" }

/** Answers with headers, pieces of a body, and trailers; without trailers the stream ends with the body. */
const answer =
  (headers: Http2.OutgoingHttpHeaders, pieces: ReadonlyArray<Uint8Array> = [], trailers?: Http2.OutgoingHttpHeaders) =>
  async (stream: Stream): Promise<void> => {
    stream.respond({ ...headers }, { waitForTrailers: trailers !== undefined })
    if (trailers !== undefined) stream.once("wantTrailers", () => stream.sendTrailers({ ...trailers }))
    for (const piece of pieces) {
      stream.write(piece)
      await new Promise((resolve) => setImmediate(resolve))
    }
    stream.end()
  }

const details = Object.fromEntries(
  setTrailerStatus(
    new Headers(),
    new ConnectError("no such thing", Code.NotFound, undefined, [
      { desc: HealthCheckResponseSchema, value: { status } }
    ])
  )
)

/** What the server does at a call. */
const answers: Readonly<Record<string, (stream: Stream) => Promise<void> | void>> = {
  "one piece": answer(head, [frame], ok),
  "its own headers and trailers": answer({ ...head, shop: ["a", "b"], "shop-bin": "AAEC" }, [frame], {
    ...ok,
    till: "7",
    "till-bin": "AAEC"
  }),
  "byte by byte": answer(
    head,
    Array.from(frame, (byte) => Uint8Array.of(byte)),
    ok
  ),
  "a message in JSON": answer({ ...head, "content-type": "application/grpc+json" }, [json], ok),
  "an empty message": answer(head, [encodeEnvelope(0, new Uint8Array())], ok),
  "no suffix in its type": answer({ ...head, "content-type": "application/grpc" }, [frame], ok),
  "gzip, compressed": answer(
    { ...head, "grpc-encoding": "gzip" },
    [encodeEnvelope(1, new Uint8Array(gzipSync(message)))],
    ok
  ),
  "gzip, not compressed": answer({ ...head, "grpc-encoding": "gzip" }, [frame], ok),
  "gzip, broken": answer({ ...head, "grpc-encoding": "gzip" }, [encodeEnvelope(1, message)], ok),
  "compressed without an encoding": answer(head, [encodeEnvelope(1, new Uint8Array(gzipSync(message)))], ok),
  "an unknown encoding": answer({ ...head, "grpc-encoding": "zip" }, [frame], ok),
  "the encoding identity": answer({ ...head, "grpc-encoding": "identity" }, [frame], ok),
  "an error in its headers": answer({ ...head, "grpc-status": "5", "grpc-message": "no %C3%B6l", why: "x" }),
  "an error in its trailers": answer(head, [], { "grpc-status": "9", "grpc-message": "not now", why: "x" }),
  "an error behind its message": answer(head, [frame], { "grpc-status": "13", "grpc-message": "oh" }),
  "an error with details": answer(head, [], details),
  "an unknown status": answer(head, [frame], { "grpc-status": "99" }),
  "a status that is none": answer(head, [frame], { "grpc-status": "abc" }),
  "no trailers": answer(head, [frame]),
  "no status": answer(head, [frame], { till: "7" }),
  "no message": answer(head, [], ok),
  "nothing but headers": answer(head),
  "success in its headers": answer({ ...head, "grpc-status": "0" }),
  "an error in its headers and a message": answer({ ...head, "grpc-status": "5" }, [frame], ok),
  "two messages": answer(head, [frame, frame], ok),
  "two messages in one piece": answer(head, [Buffer.concat([frame, frame])], ok),
  "a part of a message": answer(head, [frame.subarray(0, 6)], ok),
  "a part of a prefix": answer(head, [frame.subarray(0, 3)], ok),
  "a message that is none": answer(head, [encodeEnvelope(0, Uint8Array.of(0x08))], ok),
  "HTTP 503": answer({ ":status": 503, "content-type": "text/plain" }, [Buffer.from("away")]),
  "HTTP 404 of gRPC": answer({ ...head, ":status": 404 }, [], ok),
  "HTTP 404 of gRPC and a message": answer({ ...head, ":status": 404 }, [frame], ok),
  "a page": answer({ ":status": 200, "content-type": "text/html" }, [Buffer.from("<html>")]),
  "a reset with CANCEL": (stream) => stream.close(Http2.constants.NGHTTP2_CANCEL),
  "a reset with INTERNAL_ERROR": (stream) => stream.close(Http2.constants.NGHTTP2_INTERNAL_ERROR),
  "a reset in its message": async (stream) => {
    stream.respond({ ...head })
    await new Promise((resolve) => stream.write(frame.subarray(0, 6), resolve))
    stream.close(Http2.constants.NGHTTP2_INTERNAL_ERROR)
  }
}

/** The client has read what was sent. */
const read = (stream: Stream): Promise<void> => new Promise((resolve) => void stream.session?.ping(() => resolve()))

/** Where the connection is lost in a call. */
const losses: Readonly<Record<string, (stream: Stream) => Promise<void> | void>> = {
  "before the headers": (stream) => stream.session?.destroy(),
  "behind the headers": async (stream) => {
    stream.respond({ ...head })
    await read(stream)
    stream.session?.destroy()
  },
  "in the message": async (stream) => {
    stream.respond({ ...head })
    await new Promise((resolve) => stream.write(frame.subarray(0, 6), resolve))
    await read(stream)
    stream.session?.destroy()
  },
  "behind the message": async (stream) => {
    stream.respond({ ...head })
    await new Promise((resolve) => stream.write(frame, resolve))
    await read(stream)
    stream.session?.destroy()
  }
}

interface Heard {
  readonly headers: Http2.IncomingHttpHeaders
  readonly body: Buffer
}

/** A server that does at each call what it is told to. */
const scripted = Effect.acquireRelease(
  Effect.promise(async () => {
    const heard: Array<Heard> = []
    const server = Http2.createServer()
    const script = { answer: answers["one piece"] }
    server.on("stream", (stream: Stream, headers) => {
      const chunks: Array<Buffer> = []
      stream.on("error", () => undefined)
      stream.on("data", (chunk: Buffer) => chunks.push(chunk))
      stream.on("end", () => {
        heard.push({ headers, body: Buffer.concat(chunks) })
        void script.answer?.(stream)
      })
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const address = server.address()
    return { server, script, heard, port: typeof address === "object" && address !== null ? address.port : 0 }
  }),
  ({ server }) => Effect.sync(() => server.close())
)

/** Without the date, which may differ by a second. */
const told = (headers: Headers): ReadonlyArray<string> =>
  Array.from(headers, ([name, value]) => `${name}: ${value}`)
    .filter((line) => !line.startsWith("date: "))
    .sort()

/** All that a caller learns. */
const outcome = async (transport: Transport, options: CallOptions = {}, service = "a") => {
  const seen: Array<unknown> = []
  const client = createClient(Health, transport)
  try {
    const answered = await client.check(
      { service },
      {
        ...options,
        onHeader: (header) => seen.push(["header", told(header)]),
        onTrailer: (trailer) => seen.push(["trailer", told(trailer)])
      }
    )
    return { seen, status: answered.status }
  } catch (cause) {
    const error = ConnectError.from(cause)
    return {
      seen,
      code: Code[error.code],
      words: error.rawMessage,
      details: error.details,
      metadata: told(error.metadata)
    }
  }
}

type Options = Omit<XdsTransport.Options, "target" | "authority" | "protocol">

/** Our transport, Connect's, and what the server is to do. */
const both = (options: Options = {}) =>
  Effect.gen(function* () {
    const { heard, port, script } = yield* scripted
    const plane = yield* Mesh.ControlPlane
    yield* plane.set(Mesh.service("shop", port))
    const ours = yield* XdsTransport.make({ target: "xds:///shop", ...options })
    const theirs = createGrpcTransport({ baseUrl: `http://127.0.0.1:${port}`, ...options })
    return {
      heard,
      ours: (does: (stream: Stream) => Promise<void> | void) =>
        Effect.promise(() => {
          script.answer = does
          return outcome(ours)
        }),
      compare: (name: string, call: CallOptions = {}, service?: string) =>
        Effect.promise(async () => {
          script.answer = answers[name]
          const expected = await outcome(theirs, call, service)
          return { name, expected, found: await outcome(ours, call, service) }
        })
    }
  })

const isReset = (name: string): boolean => name.startsWith("a reset")

describe("a unary call of gRPC ends as with Connect's own transport", () => {
  const passed: Interceptor = (next) => next
  const variants: Readonly<Record<string, Options>> = {
    "by default": {},
    "with limits of 3 bytes": { readMaxBytes: 3, writeMaxBytes: 3 },
    "with a limit of 2 bytes for requests": { writeMaxBytes: 2 },
    "with a limit of 1 byte": { readMaxBytes: 1 },
    "without compression": { acceptCompression: [] },
    "with a compressed request": { sendCompression: compressionGzip, compressMinBytes: 1 },
    "with an interceptor": { interceptors: [passed] }
  }
  for (const [title, options] of Object.entries(variants)) {
    it.scopedLive(title, () =>
      Effect.gen(function* () {
        const { compare } = yield* both(options)
        for (const name of Object.keys(answers)) {
          const { expected, found } = yield* compare(name)
          // How a reset is told is each client's own.
          if (isReset(name)) expect([name, found.code]).toEqual([name, expected.code])
          else expect([name, found]).toEqual([name, expected])
        }
      }).pipe(Effect.provide(Mesh.meshOf()))
    )
  }

  it.scopedLive("in JSON, and sends the same", () =>
    Effect.gen(function* () {
      const { compare, heard } = yield* both({ useBinaryFormat: false })
      for (const name of ["a message in JSON", "one piece", "an error in its trailers"]) {
        const { expected, found } = yield* compare(name)
        expect([name, found]).toEqual([name, expected])
      }
      expect(heard[1]?.body).toEqual(heard[0]?.body)
      expect(heard[1]?.headers["content-type"]).toBe("application/grpc+json")
    }).pipe(Effect.provide(Mesh.meshOf()))
  )

  it.scopedLive("with the headers of the caller and of interceptors, and sends the same", () =>
    Effect.gen(function* () {
      const order: Array<string> = []
      const adding =
        (name: string): Interceptor =>
        (next) =>
        async (request) => {
          order.push(name)
          request.header.append("by", name)
          const response = await next(request)
          response.header.append("seen-by", name)
          return { ...response }
        }
      const { compare, heard } = yield* both({
        interceptors: [adding("outer"), adding("inner")],
        sendCompression: compressionGzip
      })
      const call: CallOptions = { headers: { shop: "a", "shop-bin": "AAEC", "user-agent": "mine" }, timeoutMs: 60_000 }
      const { expected, found } = yield* compare("its own headers and trailers", call, "x".repeat(3_000))
      expect(found).toEqual(expected)
      expect(found.seen[0]).toEqual(["header", expect.arrayContaining(["seen-by: inner, outer"])])
      expect(order).toEqual(["outer", "inner", "outer", "inner"])
      const [theirs, ours] = heard
      expect(ours?.body).toEqual(theirs?.body)
      const fieldsOf = (headers: Http2.IncomingHttpHeaders = {}) => ({
        ...headers,
        ":authority": "",
        "grpc-timeout": /^\d+m$/.test(String(headers["grpc-timeout"]))
      })
      expect(fieldsOf(ours?.headers)).toEqual(fieldsOf(theirs?.headers))
    }).pipe(Effect.provide(Mesh.meshOf()))
  )

  it.scopedLive("when the caller gives up: before, while it waits, and by the deadline", () =>
    Effect.gen(function* () {
      const { compare } = yield* both()
      const gone = yield* compare("one piece", { signal: AbortSignal.abort(new Error("enough")) })
      expect(gone.found).toEqual(gone.expected)
      expect(gone.found.code).toBe("Canceled")
      const late = yield* compare("silence", { timeoutMs: 100 })
      expect([late.found.code, late.expected.code]).toEqual(["DeadlineExceeded", "DeadlineExceeded"])
      const tired = yield* compare("silence", { signal: AbortSignal.timeout(100) })
      expect(tired.found.code).toBe(tired.expected.code)
    }).pipe(Effect.provide(Mesh.meshOf()))
  )
})

describe("a unary call of gRPC whose connection is lost", () => {
  for (const [where, lose] of Object.entries(losses)) {
    it.scopedLive(`${where} is UNAVAILABLE`, () =>
      Effect.gen(function* () {
        const { ours } = yield* both()
        const { code, words } = yield* ours(lose)
        expect([code, words]).toEqual(["Unavailable", expect.stringMatching(/^the connection to .* was lost: /)])
      }).pipe(Effect.provide(Mesh.meshOf()))
    )
  }
})
