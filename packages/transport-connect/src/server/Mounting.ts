/**
 * Takes the calls of this transport from an existing HTTP server, before the server's own handlers. Other calls are
 * left to these, also to handlers added later: so `emit` is replaced, and no listener is added.
 */
import * as Http1 from "node:http"
import type * as Http2 from "node:http2"
import type * as Https from "node:https"

/** A server of `node:http2`, with or without TLS, or of `node:http` and `node:https`. */
export type HttpServer = Http2.Http2Server | Http2.Http2SecureServer | Http1.Server | Https.Server

/** Each serves a call of this transport, and returns whether it was one. */
export interface Handlers {
  readonly onStream: (
    stream: Http2.ServerHttp2Stream,
    headers: Http2.IncomingHttpHeaders,
    flags: number,
    rawHeaders: ReadonlyArray<string>
  ) => boolean
  readonly onRequest: (request: Http1.IncomingMessage, response: Http1.ServerResponse) => boolean
}

const isStream = (value: unknown): value is Http2.ServerHttp2Stream =>
  typeof value === "object" && value !== null && "respond" in value && "session" in value

const isHeaders = (value: unknown): value is Http2.IncomingHttpHeaders => typeof value === "object" && value !== null

const isResponse = (value: unknown): value is Http1.ServerResponse => value instanceof Http1.ServerResponse

const isTexts = (value: unknown): value is ReadonlyArray<string> => Array.isArray(value)

/** Takes calls until the result is called. */
export const mount = (server: HttpServer, { onRequest, onStream }: Handlers): (() => void) => {
  const emit: unknown = Reflect.get(server, "emit")
  if (typeof emit !== "function") throw new Error("this is no HTTP server of Node")
  let isMounted = true
  const taken = (event: unknown, one: unknown, other: unknown, flags: unknown, raw: unknown): boolean => {
    if (event === "stream" && isStream(one) && isHeaders(other))
      return onStream(one, other, Number(flags), isTexts(raw) ? raw : [])
    // HTTP/2 requests were seen as streams.
    if (event === "request" && one instanceof Http1.IncomingMessage && isResponse(other)) return onRequest(one, other)
    return false
  }
  const mounted = function (this: unknown, ...args: ReadonlyArray<unknown>): unknown {
    return (isMounted && taken(args[0], args[1], args[2], args[3], args[4])) || Reflect.apply(emit, this, args)
  }
  Reflect.set(server, "emit", mounted)
  return () => {
    isMounted = false
    // If `emit` was replaced again meanwhile, ours stays and passes everything on.
    if (Reflect.get(server, "emit") === mounted) Reflect.set(server, "emit", emit)
  }
}
