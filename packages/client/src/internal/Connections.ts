/** How it stands with the connections to the servers, for people. */
import type { ServerConnection } from "../ServerConnection.js"

interface Known {
  isConnected: boolean
  /** Milliseconds. */
  since: number
  lastError: string | undefined
}

export class Connections {
  private readonly known = new Map<string, Known>()

  constructor(private readonly now: () => number) {}

  /** A stream is to be opened. */
  connecting(server: string): void {
    if (!this.known.has(server)) this.known.set(server, { isConnected: false, since: this.now(), lastError: undefined })
  }

  /** A stream is open, or was answered. */
  connected(server: string): void {
    const known = this.known.get(server)
    if (known?.isConnected === true) return
    this.known.set(server, { isConnected: true, since: this.now(), lastError: undefined })
  }

  /** A stream has ended. ★ A server that cannot be reached is being connected to from the first try on. */
  ended(server: string, error: string): void {
    const known = this.known.get(server)
    const since = known === undefined || known.isConnected ? this.now() : known.since
    this.known.set(server, { isConnected: false, since, lastError: error })
  }

  get all(): ReadonlyArray<ServerConnection> {
    const now = this.now()
    return Array.from(this.known, ([server, { isConnected, lastError, since }]) => ({
      server,
      state: isConnected ? "Connected" : "Connecting",
      milliseconds: now - since,
      lastError
    }))
  }
}
