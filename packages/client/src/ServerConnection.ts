/**
 * How it stands with the connection to a server.
 *
 * @since 0.1.0
 */

/**
 * The connection to a server, for people.
 *
 * @since 0.1.0
 */
export interface ServerConnection {
  readonly server: string
  /** "Connecting": there is none, also between two tries. */
  readonly state: "Connecting" | "Connected"
  /** How long it has been so, in milliseconds. */
  readonly milliseconds: number
  /** Why the last try failed; `undefined`: none has. */
  readonly lastError: string | undefined
}
