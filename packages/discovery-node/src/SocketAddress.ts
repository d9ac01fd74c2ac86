/**
 * Where a host is, as `node:net` takes it.
 *
 * @since 0.1.0
 */
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import * as SocketPath from "@effect-xds/transport-node/SocketPath"
import type * as Net from "node:net"

/**
 * How `node:net` is told where to connect to: an IP address and a port, or the path of a pipe.
 *
 * @param address `10.0.0.1:80`, `[::1]:80`, or the path of a pipe
 * @since 0.1.0
 */
export const make = (address: string): Net.NetConnectOpts => {
  const [, v6, v4, port] = /^(?:\[([^\]]*)\]|([\d.]+)):(\d+)$/.exec(address) ?? []
  const host = v6 ?? v4
  if (host !== undefined && IpAddress.isValid(host)) return { host, port: Number(port) }
  // One that begins with @ is in no directory.
  return { path: address.startsWith("@") ? `\0${address.slice(1)}` : address }
}

/**
 * Why `node:net` must not be asked to connect there, in words; `undefined`: it may be. It cuts a path that is too long for the system,
 * and connects to whoever listens on what is left.
 *
 * @since 0.1.0
 */
export const problemOf = (to: Net.NetConnectOpts): string | undefined =>
  "path" in to ? SocketPath.problemOf(to.path.replace("\0", "@")) : undefined
