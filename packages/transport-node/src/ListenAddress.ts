/**
 * Where a server listens, in words, and why it cannot. For servers on Node.
 *
 * @since 0.1.0
 */

/**
 * An address with its port, as people write it: `127.0.0.1:18000`, `[::1]:18000`.
 *
 * @since 0.1.0
 */
export const format = (host: string, port: number): string =>
  host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`

/**
 * What an error of `listen` means, and what to do.
 *
 * @since 0.1.0
 */
export const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause)
  switch (Reflect.get(cause, "code")) {
    case "EADDRINUSE":
      return "the port is in use by another server; choose another one or end that server"
    case "EADDRNOTAVAIL":
      return "this machine has no such address"
    case "EACCES":
      return "this user may not listen on that port"
    case "ENOTFOUND":
      return "the host name is not known"
    default:
      return cause.message
  }
}
