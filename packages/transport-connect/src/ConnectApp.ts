/**
 * xDS over gRPC, gRPC-Web and Connect, mounted in an existing HTTP server.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Http1 from "node:http"
import type * as Http2 from "node:http2"

/**
 * The transport without a port. It takes requests of a Node HTTP server, serves those of xDS, health checking,
 * reflection and further services, and returns whether it did. Before an xDS server is attached, it answers
 * UNAVAILABLE.
 *
 * @since 0.1.0
 */
export class ConnectApp extends Context.Tag("@effect-xds/transport-connect/ConnectApp")<
  ConnectApp,
  {
    /** For the `stream` event of a `node:http2` server; gRPC streams are fastest here. */
    readonly onStream: (
      stream: Http2.ServerHttp2Stream,
      headers: Http2.IncomingHttpHeaders,
      flags: number,
      rawHeaders: ReadonlyArray<string>
    ) => boolean
    /** For the `request` event of a `node:http` or `node:http2` server. */
    readonly onRequest: (
      request: Http1.IncomingMessage | Http2.Http2ServerRequest,
      response: Http1.ServerResponse | Http2.Http2ServerResponse
    ) => boolean
  }
>() {}
