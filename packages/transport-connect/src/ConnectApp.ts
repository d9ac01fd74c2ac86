/**
 * xDS over gRPC, gRPC-Web and Connect to mount in an HTTP server of one's own.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Http1 from "node:http"
import type * as Http2 from "node:http2"

/**
 * The transport without a port: it is given what an HTTP server of Node took, serves what is a call of xDS, of health checking and
 * reflection or of a further service, and says whether it was. While no server serves on it, these are answered with UNAVAILABLE.
 *
 * @since 0.1.0
 */
export class ConnectApp extends Context.Tag("@effect-xds/transport-connect/ConnectApp")<
  ConnectApp,
  {
    /** For the event `stream` of a server of `node:http2`: what gRPC clients are served fastest by. */
    readonly onStream: (
      stream: Http2.ServerHttp2Stream,
      headers: Http2.IncomingHttpHeaders,
      flags: number,
      rawHeaders: ReadonlyArray<string>
    ) => boolean
    /** For the event `request` of a server of `node:http`, or of `node:http2`. */
    readonly onRequest: (
      request: Http1.IncomingMessage | Http2.Http2ServerRequest,
      response: Http1.ServerResponse | Http2.Http2ServerResponse
    ) => boolean
  }
>() {}
