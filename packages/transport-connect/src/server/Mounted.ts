/** The calls of a transport in an existing HTTP server: which ones are served, and how they end. */
import * as SocketPeer from "@effect-xds/transport-node/SocketPeer"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Http2 from "node:http2"
import type { ConnectApp } from "../ConnectApp.js"
import type { Application } from "./Application.js"
import type { Handlers } from "./Mounting.js"

/** The path of a request, without its query. */
export const pathOf = ({ url }: { readonly url?: string | undefined }): string => (url ?? "").split("?", 1)[0] ?? ""

/**
 * Whether the client is gone. An application may have looked at a call for a while before it passes it on; then "close"
 * has been, and does not come again.
 */
const isGone = (response: Parameters<Context.Tag.Service<ConnectApp>["onRequest"]>[1]): boolean =>
  response instanceof Http2.Http2ServerResponse
    ? response.stream.destroyed || response.stream.closed
    : response.destroyed

export class Mounted {
  /** Open calls, and how each is destroyed. */
  readonly #open = new Map<object, () => void>()
  #whenEmpty: () => void = () => undefined

  constructor(
    private readonly application: Application,
    private readonly grace: number
  ) {}

  readonly onStream: Handlers["onStream"] = (stream, headers, _flags, rawHeaders) => {
    if (!this.application.has(headers[":path"] ?? "")) return false
    if (stream.destroyed || stream.closed) return true
    this.application.beginTurn()
    this.#open.set(stream, () => stream.close(Http2.constants.NGHTTP2_CANCEL))
    stream.once("close", () => this.#delete(stream))
    this.application.onStream(stream, headers, rawHeaders)
    return true
  }

  readonly onRequest: Context.Tag.Service<ConnectApp>["onRequest"] = (request, response) => {
    if (!this.application.has(pathOf(request))) return false
    if (isGone(response)) return true
    this.application.beginTurn()
    this.#open.set(response, () => {
      if (response instanceof Http2.Http2ServerResponse) response.stream.close(Http2.constants.NGHTTP2_CANCEL)
      else response.destroy()
    })
    response.once("close", () => this.#delete(response))
    const { socket } = request instanceof Http2.Http2ServerRequest ? (request.stream.session ?? request) : request
    this.application.onRequest(request, response, SocketPeer.ofSocket(socket))
    return true
  }

  /** Ends all calls. Those that are unread after the grace period are destroyed. */
  readonly close: Effect.Effect<void> = Effect.suspend(() => {
    this.application.shutdown()
    const closed = Effect.async<void>((resume) => {
      if (this.#open.size === 0) return resume(Effect.void)
      const timer = setTimeout(() => {
        for (const cutOff of this.#open.values()) cutOff()
        resume(Effect.void)
      }, this.grace)
      this.#whenEmpty = () => {
        clearTimeout(timer)
        resume(Effect.void)
      }
    })
    return Effect.ensuring(
      closed,
      Effect.sync(() => this.application.clear())
    )
  })

  #delete(call: object): void {
    this.#open.delete(call)
    if (this.#open.size === 0) this.#whenEmpty()
  }
}
