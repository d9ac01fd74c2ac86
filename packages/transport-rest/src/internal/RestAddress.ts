/** The address of a REST server: a URL, or gRPC's syntax as in every other transport. */
import * as SocketPath from "@effect-xds/transport-node/SocketPath"
import * as Either from "effect/Either"

/** The target of a request. */
export interface RestAddress {
  readonly socketPath: string | undefined
  readonly host: string
  readonly port: number
  /** The path before `/v3/discovery:…`: empty, or `/a/b`. */
  readonly prefix: string
}

const syntax = "give host:port, http://host:port, https://host:port or unix:/path"

/** Parses an address; or why it is invalid, in words. `tls`: whether the server is reached over TLS. */
export const parse = (address: string, tls: boolean): Either.Either<RestAddress, string> => {
  const unix = /^unix:(?:\/\/)?(.+)$/.exec(address)?.[1]
  if (unix !== undefined) {
    const problem = SocketPath.problemOf(unix)
    if (problem !== undefined) return Either.left(problem)
    return Either.right({ socketPath: unix, host: "localhost", port: 0, prefix: "" })
  }
  const given = /^(https?):\/\//.exec(address)?.[1]
  if (given === "https" && !tls) return Either.left("https:// needs TLS credentials; give them, or http://")
  if (given === "http" && tls)
    return Either.left("http:// is in the clear, but there are TLS credentials; give https://")
  const scheme = tls ? "https" : "http"
  const text = address.replace(/^(?:https?:\/\/|dns:(?:\/\/[^/]*\/)?|ipv[46]:)/, "")
  if (!URL.canParse(`${scheme}://${text}`)) return Either.left(`it is no address; ${syntax}`)
  const url = new URL(`${scheme}://${text}`)
  if (url.hostname === "" || url.username !== "" || url.search !== "" || url.hash !== "") {
    return Either.left(`it is to have a host, and no user, query or fragment; ${syntax}`)
  }
  return Either.right({
    socketPath: undefined,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: url.port === "" ? (tls ? 443 : 80) : Number(url.port),
    prefix: url.pathname.replace(/\/+$/, "")
  })
}
