/**
 * The address of a server on Node: listening on it, its text form, and the reasons why it fails.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Effect from "effect/Effect"
import { lstatSync, unlinkSync } from "node:fs"
import * as Net from "node:net"
import * as SocketPath from "./SocketPath.js"

/**
 * A host and a port, or a Unix socket.
 *
 * @since 0.1.0
 */
export type ListenAddress =
  { readonly host: string; readonly port: number; readonly path?: undefined } | { readonly path: string }

/**
 * Options for where a server listens.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * The address to listen on. Default `127.0.0.1`: resources may hold secrets, and without TLS everyone who reaches the
   * port can read them. `0.0.0.0` or `::` listens on every interface.
   */
  readonly host?: string | undefined
  /** The port. Default 0: any free one. */
  readonly port?: number | undefined
  /**
   * A Unix socket to listen on instead of host and port: `/run/xds.sock`. Whoever may write to the socket and its
   * folder may connect. A socket that a crashed server left behind is replaced. At most 107 bytes
   * (103 outside of Linux).
   */
  readonly path?: string | undefined
}

/**
 * The listen address of the options, with defaults.
 *
 * @since 0.1.0
 */
export const of = ({ host, path, port }: Options): ListenAddress =>
  path === undefined ? { host: host ?? "127.0.0.1", port: port ?? 0 } : { path }

/**
 * A host and port as text: `127.0.0.1:18000`, `[::1]:18000`.
 *
 * @since 0.1.0
 */
export const format = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

/**
 * A listen address as text, also of a Unix socket: `unix:/run/xds.sock`.
 *
 * @since 0.1.0
 */
export const show = (address: ListenAddress): string =>
  address.path === undefined ? format(address.host, address.port) : `unix:${address.path}`

/**
 * The meaning of an error of `listen`, and what to do.
 *
 * @since 0.1.0
 */
export const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return Reason.of(cause)
  // For a Unix socket Node's error has a path and no port.
  const isPath = (Reflect.get(cause, "port") ?? -1) === -1 && Reflect.get(cause, "address") !== undefined
  switch (Reflect.get(cause, "code")) {
    case "EADDRINUSE":
      return isPath
        ? "there is a file, or a socket that another server listens on; choose another path or end that server"
        : "the port is in use by another server; choose another one or end that server"
    case "EADDRNOTAVAIL":
      return "this machine has no such address"
    case "EACCES":
      // Node reports EACCES for a missing folder, too.
      return isPath
        ? "its folder is not there, or this user may not write to it"
        : "this user may not listen on that port"
    case "ENOTFOUND":
      return "the host name is not known"
    case "ERR_SOCKET_BAD_PORT":
      return "a port is a whole number from 0 to 65535"
    default:
      return Reason.of(cause)
  }
}

const begin = (server: Net.Server, address: ListenAddress): Effect.Effect<void, unknown> =>
  Effect.async((resume) => {
    const onError = (cause: Error): void => resume(Effect.fail(cause))
    server.once("error", onError)
    const onListening = (): void => {
      server.off("error", onError)
      resume(Effect.void)
    }
    try {
      if (address.path === undefined) server.listen({ host: address.host, port: address.port }, onListening)
      else server.listen({ path: address.path }, onListening)
    } catch (cause) {
      // Of what is no port Node does not tell by the event.
      server.off("error", onError)
      resume(Effect.fail(cause))
    }
  })

/** Whether a socket exists that no process listens on. */
const isLeftBehind = (path: string): Effect.Effect<boolean> =>
  Effect.async((resume) => {
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket() !== true) return resume(Effect.succeed(false))
    const socket = Net.connect({ path })
    socket.once("connect", () => {
      socket.destroy()
      resume(Effect.succeed(false))
    })
    socket.once("error", (cause) => resume(Effect.succeed(Reflect.get(cause, "code") === "ECONNREFUSED")))
  })

/**
 * Listens, and gives the address with the chosen port. Fails with Node's error, and for a socket whose path is too long.
 *
 * @since 0.1.0
 */
export const listen = (server: Net.Server, address: ListenAddress): Effect.Effect<ListenAddress, unknown> => {
  if (address.path === undefined) {
    return Effect.map(begin(server, address), () => {
      const bound = server.address()
      return { host: address.host, port: typeof bound === "object" && bound !== null ? bound.port : address.port }
    })
  }
  const { path } = address
  const problem = SocketPath.problemOf(path)
  if (problem !== undefined) return Effect.fail(new Error(problem))
  const again = Effect.zipRight(
    Effect.try({ try: () => unlinkSync(path), catch: (cause) => cause }),
    begin(server, address)
  )
  return begin(server, address).pipe(
    Effect.catchAll((cause) =>
      cause instanceof Error && Reflect.get(cause, "code") === "EADDRINUSE"
        ? Effect.flatMap(isLeftBehind(path), (isLeft) => (isLeft ? again : Effect.fail(cause)))
        : Effect.fail(cause)
    ),
    Effect.as(address)
  )
}
