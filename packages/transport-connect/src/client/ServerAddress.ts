/**
 * A server's address, in gRPC's name syntax.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/naming.md
 */
import * as SocketPath from "@effect-xds/transport-node/SocketPath"
import * as Either from "effect/Either"

/** The target of the socket, and the name for `:authority` and the certificate check. */
export type ServerAddress =
  | { readonly _tag: "Tcp"; readonly host: string; readonly port: number; readonly authority: string }
  | { readonly _tag: "Unix"; readonly path: string; readonly authority: string }

/** As in gRPC. */
const defaultPort = 443

const schemes = ["dns", "ipv4", "ipv6", "unix"]

const hostAndPort = (text: string): Either.Either<ServerAddress, string> => {
  const match = /^(?:\[([^\]]+)\]|([^:[\]/]+))(?::(\d+))?$/.exec(text)
  const host = match?.[1] ?? match?.[2]
  if (host === undefined) return Either.left(`${JSON.stringify(text)} is not host:port; IPv6 is written [::1]:18000`)
  const port = match?.[3] === undefined ? defaultPort : Number(match[3])
  if (port < 1 || port > 65_535) return Either.left(`${port} is not a port`)
  // The zone of an IPv6 address (`[fe80::1%eth0]`) says something on this machine only.
  return Either.right({ _tag: "Tcp", host, port, authority: text.replace(/%[^\]]*\]/, "]") })
}

/** Parses an address; or why it is invalid, in words. */
export const parse = (address: string): Either.Either<ServerAddress, string> => {
  if (address === "") return Either.left("the address is empty; give host:port")
  const scheme = /^([a-z][a-z0-9+.-]*):(?=\/|[^0-9])/.exec(address)?.[1] ?? /^(ipv4|dns):/.exec(address)?.[1]
  if (scheme === undefined || (!schemes.includes(scheme) && !address.startsWith(`${scheme}:/`))) {
    return hostAndPort(address)
  }
  const rest = address.slice(scheme.length + 1)
  switch (scheme) {
    case "dns":
      // A DNS server between `//` and `/` is ignored: Node's resolver has its own.
      return hostAndPort(rest.replace(/^\/\/[^/]*\//, ""))
    case "ipv4":
    case "ipv6":
      return rest.includes(",")
        ? Either.left("a list of addresses is not supported; give one, or a name that resolves to them")
        : hostAndPort(rest)
    case "unix": {
      const path = rest.replace(/^\/\//, "")
      // Node would connect to a port of this machine.
      if (path === "") return Either.left(`${JSON.stringify(address)} has no path; give unix:/run/xds.sock`)
      const problem = SocketPath.problemOf(path)
      return problem === undefined ? Either.right({ _tag: "Unix", path, authority: "localhost" }) : Either.left(problem)
    }
    default:
      return Either.left(`names of the scheme ${scheme}: are not supported; ${schemes.join(", ")} are`)
  }
}
