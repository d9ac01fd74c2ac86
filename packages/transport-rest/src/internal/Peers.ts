/** Who sends a request, as far as the HTTP server knows. */
import type * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as ListenAddress from "@effect-xds/transport/ListenAddress"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as SocketPeer from "@effect-xds/transport/SocketPeer"
import * as Option from "effect/Option"
import { IncomingMessage } from "node:http"
import { isIP } from "node:net"

/** An address without its port, which is another one for each connection. */
export const hostOf = (address: string): string => {
  const colon = address.lastIndexOf(":")
  return isIP(address) !== 0 || colon < 0 ? address : address.slice(0, colon)
}

/** The peer of a request. Its identity is known only where Node's HTTPS server took the connection. */
export const ofRequest = (request: HttpServerRequest.HttpServerRequest): ServerTransport.Peer => {
  const { source } = request
  const address = Option.getOrElse(request.remoteAddress, () => "unknown")
  if (!(source instanceof IncomingMessage)) return { address, identity: undefined }
  const { identity } = SocketPeer.ofSocket(source.socket)
  return { address: ListenAddress.format(address, source.socket.remotePort ?? 0), identity }
}
