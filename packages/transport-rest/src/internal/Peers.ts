/** The peer of a request, as far as the HTTP server knows it. */
import * as ListenAddress from "@effect-xds/transport-node/ListenAddress"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as SocketPeer from "@effect-xds/transport-node/SocketPeer"
import { isIP, type Socket } from "node:net"

/** An address without its port, which differs per connection. */
export const hostOf = (address: string): string => {
  const colon = address.lastIndexOf(":")
  return isIP(address) !== 0 || colon < 0 ? address : address.slice(0, colon)
}

/**
 * The peer of a request on a connection of Node's HTTP server.
 *
 * @param host the sender, which behind a proxy is not the other end of the connection
 */
export const ofSocket = (socket: Socket, host: string | undefined): ServerTransport.Peer => ({
  address: ListenAddress.format(host ?? "unknown", socket.remotePort ?? 0),
  identity: SocketPeer.ofSocket(socket).identity
})
