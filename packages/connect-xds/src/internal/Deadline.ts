/**
 * The deadline of a call whose interceptors take time, too: it counts from when the call was asked for, however often they
 * pass it on.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import type { Environment } from "./Environment.js"

export class Deadline {
  /** What is said when it comes: by who has the call then. `undefined`: the interceptors have it. */
  says: (() => ConnectError) | undefined
  /** Whether it has come. */
  hasCome = false
  private readonly at: number
  private readonly controller = new AbortController()
  private readonly stopTimer: () => void

  /**
   * @param timeout milliseconds
   * @param outer aborts when the caller gives the call up, and when it is over
   */
  constructor(
    private readonly environment: Environment,
    readonly timeout: number,
    private readonly outer: AbortSignal
  ) {
    this.at = environment.now() + timeout
    this.stopTimer = environment.after(timeout, () => this.come())
    if (outer.aborted) this.onAbort()
    else outer.addEventListener("abort", this.onAbort, { once: true })
  }

  /** Aborts when the deadline comes, and when the caller gives the call up. */
  get signal(): AbortSignal {
    return this.controller.signal
  }

  /** Milliseconds until then, at least 1: where there are none the signal aborts. */
  remaining(): number {
    const left = this.at - this.environment.now()
    if (left <= 0) this.come()
    return Math.max(1, left)
  }

  come(): void {
    if (this.controller.signal.aborted) return
    this.hasCome = true
    const message = `the deadline of ${this.timeout} ms came while an interceptor had the call`
    this.end(this.says?.() ?? new ConnectError(message, Code.DeadlineExceeded))
  }

  private readonly onAbort = (): void => this.end(this.outer.reason)

  private end(reason: unknown): void {
    this.stopTimer()
    this.outer.removeEventListener("abort", this.onAbort)
    this.controller.abort(reason)
  }
}
