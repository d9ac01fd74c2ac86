/** An HTTP request, from any HTTP server. */
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import type * as Effect from "effect/Effect"
import type { IncomingMessage } from "node:http"
import * as Peers from "./Peers.js"
import type { Refusal } from "./Refusal.js"
import * as RequestBody from "./RequestBody.js"

export interface HttpRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  readonly peer: () => ServerTransport.Peer
  /** Reads the body within the limits. `onSize` gets the bytes received so far. */
  readonly body: (limits: RequestBody.Limits, onSize: (size: number) => void) => Effect.Effect<Uint8Array, Refusal>
}

const headersOf = ({ headers }: IncomingMessage): Readonly<Record<string, string>> => {
  const given: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) given[name] = Array.isArray(value) ? value.join(", ") : value
  }
  return given
}

/** A request of Node's HTTP server. `path`: of the listener's Unix socket, if it is one. */
export const ofNode = (source: IncomingMessage, path: string | undefined): HttpRequest => ({
  method: source.method ?? "",
  url: source.url ?? "",
  headers: headersOf(source),
  peer: () =>
    path === undefined
      ? Peers.ofSocket(source.socket, source.socket.remoteAddress)
      : { address: `unix:${path}`, identity: undefined },
  body: (limits, onSize) => RequestBody.ofNode(source, limits, onSize)
})
