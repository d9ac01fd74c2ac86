/** Idle connections, oldest first, and closing them. */
import * as ConnectServerMetrics from "../ConnectServerMetrics.js"

interface Idle {
  readonly host: string
  readonly since: number
  readonly close: () => void
}

export class IdleConnections<A extends object> {
  readonly #idle = new Map<A, Idle>()
  #timer: NodeJS.Timeout | undefined

  /** `timeout`: milliseconds after which an idle connection is closed. */
  constructor(private readonly timeout: number) {}

  get size(): number {
    return this.#idle.size
  }

  /** Marks a connection as idle. */
  add(connection: A, host: string, close: () => void): void {
    this.#idle.set(connection, { host, since: performance.now(), close })
    this.#timer ??= setTimeout(this.#sweep, this.timeout).unref()
  }

  delete(connection: A): void {
    this.#idle.delete(connection)
    if (this.#idle.size > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  /** Closes the connection that has been idle longest, of `host` if given; `false` if there is none. */
  closeOldest(host?: string): boolean {
    for (const [connection, idle] of this.#idle) {
      if (host !== undefined && idle.host !== host) continue
      this.#close(connection, idle)
      return true
    }
    return false
  }

  #close(connection: A, { close }: Idle): void {
    this.delete(connection)
    ConnectServerMetrics.idleConnectionsClosed.unsafeUpdate(1, [])
    close()
  }

  readonly #sweep = (): void => {
    this.#timer = undefined
    const before = performance.now() - this.timeout
    for (const [connection, idle] of this.#idle) {
      if (idle.since > before) {
        this.#timer = setTimeout(this.#sweep, idle.since - before + 1).unref()
        return
      }
      this.#close(connection, idle)
    }
  }
}
