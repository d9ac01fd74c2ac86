/**
 * A bare HTTP/2 client, for what a gRPC library would not send.
 */
import { Effect } from "effect"
import * as Http2 from "node:http2"
import { adsPath } from "./RecordingServer.js"

export const connect = (port: number, options: Http2.ClientSessionOptions = {}) =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const session = Http2.connect(`http://127.0.0.1:${port}`, options)
      session.on("error", () => undefined)
      return session
    }),
    // Not from within an event of a stream: Node 20 then never comes back from destroy().
    (session) =>
      Effect.async<void>((resume) => {
        setImmediate(() => {
          session.destroy()
          resume(Effect.void)
        })
      })
  )

export interface Call {
  readonly stream: Http2.ClientHttp2Stream
  readonly chunks: Array<Buffer>
  readonly headers: Promise<Http2.IncomingHttpHeaders>
  /** Headers and trailers, when the stream is closed. */
  readonly closed: Promise<Http2.IncomingHttpHeaders>
}

export const open = (
  session: Http2.ClientHttp2Session,
  headers: Http2.OutgoingHttpHeaders = {},
  options: Http2.ClientSessionRequestOptions & { readonly read?: boolean } = {}
): Call => {
  const stream = session.request(
    { ":method": "POST", ":path": adsPath, "content-type": "application/grpc", te: "trailers", ...headers },
    options
  )
  const chunks: Array<Buffer> = []
  const received: Http2.IncomingHttpHeaders = {}
  stream.on("error", () => undefined)
  if (options.read !== false) stream.on("data", (chunk: Buffer) => chunks.push(chunk))
  stream.on("trailers", (trailers) => void Object.assign(received, trailers))
  const first = new Promise<Http2.IncomingHttpHeaders>((resolve) => {
    stream.on("response", (responseHeaders) => {
      Object.assign(received, responseHeaders)
      resolve(responseHeaders)
    })
  })
  // In a turn of its own: Node 20 may never come back when streams are reset within an event of another one.
  const closed = new Promise<Http2.IncomingHttpHeaders>((resolve) => {
    stream.on("close", () => setImmediate(() => resolve(received)))
  })
  return { stream, chunks, headers: first, closed }
}

const literal = (name: string, value: string): Buffer =>
  Buffer.concat([Buffer.from([0, name.length]), Buffer.from(name), Buffer.from([value.length]), Buffer.from(value)])

const frame = (type: number, flags: number, stream: number, payload: Uint8Array): Buffer => {
  const head = Buffer.alloc(9)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** HTTP/2 by hand, for what node:http2 does not send as a client. */
export const bytes = {
  frame,
  /** The preface and empty settings. */
  preface: Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), frame(4, 0, 0, Buffer.alloc(0))]),
  /** The headers of an aggregated stream. */
  open: (stream: number): Buffer =>
    frame(
      1,
      4,
      stream,
      Buffer.concat([
        literal(":method", "POST"),
        literal(":scheme", "http"),
        literal(":path", adsPath),
        literal(":authority", "xds"),
        literal("content-type", "application/grpc")
      ])
    ),
  reset: (stream: number, code: number): Buffer => frame(3, 0, stream, Buffer.from([0, 0, 0, code]))
}
