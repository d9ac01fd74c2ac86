/**
 * One call: it waits for a place, is sent, and perhaps sent again (A44). It is over once, whatever happens: when its
 * answer is whole, it failed, was given up, or its deadline came.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import type { ServerConnection } from "@effect-xds/client/ServerConnection"
import type { CallHeaders } from "@effect-xds/routing/CallHeaders"
import type { CallStatus } from "@effect-xds/routing/CallStatus"
import type { Selected } from "@effect-xds/routing/ConfigSelector"
import * as RetryPolicy from "@effect-xds/routing/RetryPolicy"
import type { Caller, ChannelDriver, Sent } from "./ChannelDriver.js"
import * as ConnectErrors from "./ConnectErrors.js"
import type { Connection } from "./Connection.js"
import type { Deadline } from "./Deadline.js"
import type { Environment } from "./Environment.js"
import type { EndpointConnection } from "./EndpointConnection.js"

export type Outcome = "Succeeded" | "Failed"

export interface Request {
  /** `/package.Service/Method` */
  readonly path: string
  readonly headers: CallHeaders
  readonly waitForReady: boolean
  /** Milliseconds; `undefined`: the caller waits as long as it takes. */
  readonly timeout: number | undefined
  /** What the timeout is left of. */
  readonly deadline?: Deadline | undefined
  readonly signal: AbortSignal | undefined
  readonly onOver?: (() => void) | undefined
}

/** What a failed attempt means for another one. */
export interface Failure {
  readonly code: Code
  /** What was sent cannot be sent again. */
  readonly isCommitted: boolean
  /** It was not sent. */
  readonly isUnsent: boolean
  /** The server did not look at it. */
  readonly isRefused: boolean
  /** `grpc-retry-pushback-ms` */
  readonly pushback: string | undefined
}

const retryCodes: ReadonlyMap<Code, RetryPolicy.RetryCode> = new Map([
  [Code.Canceled, "CANCELLED"],
  [Code.DeadlineExceeded, "DEADLINE_EXCEEDED"],
  [Code.Internal, "INTERNAL"],
  [Code.ResourceExhausted, "RESOURCE_EXHAUSTED"],
  [Code.Unavailable, "UNAVAILABLE"]
])

/** Attempts that were not sent, after which it counts as a failure: so many connections end at once only where all do. */
const maxUnsent = 10

export class Call<C extends Connection = EndpointConnection> implements Caller<C> {
  /** Called when the caller gives up, and at the deadline. */
  onGivenUp: ((error: ConnectError) => void) | undefined
  /** Attempts that count, so far. */
  attempts = 0
  private readonly started: number
  private controller: AbortController | undefined
  private readonly id: number
  /** The random numbers of this attempt, as far as it was asked for them. */
  private drawn: Map<number, number> | undefined
  private deadline = Number.POSITIVE_INFINITY
  private stopTimer = (): void => undefined
  private sent: Sent<C> | undefined
  private failure: ConnectError | undefined
  private waiter: { readonly resolve: () => void; readonly reject: (error: ConnectError) => void } | undefined
  /** Ends the time before another attempt. */
  private endPause = (): void => undefined
  private isBegun = false
  private isOver = false
  private wasGivenUp = false
  private isStreaming = false
  private wasRefused = false
  private unsent = 0
  /** Pauses since the server said how long one is to be. */
  private pauses = 0

  constructor(
    private readonly driver: ChannelDriver<C>,
    private readonly environment: Environment,
    private readonly request: Request,
    private readonly servers: () => ReadonlyArray<ServerConnection>
  ) {
    this.started = environment.now()
    const { deadline, headers, path, signal, timeout, waitForReady } = request
    this.id = driver.call({ path, headers, waitForReady, timeout, draw: this.draw }, this)
    // ★ The route's limit counts from the beginning, over waiting and all attempts (A31).
    this.isBegun = true
    this.setDeadline(this.limit())
    if (deadline !== undefined) deadline.says = () => this.late(deadline.timeout)
    if (signal?.aborted === true) this.onAbort()
    else signal?.addEventListener("abort", this.onAbort, { once: true })
  }

  /** Where it goes. Rejects when the call is over instead. */
  async place(): Promise<Sent<C>> {
    for (;;) {
      if (this.failure !== undefined) throw this.failure
      if (this.sent !== undefined) return this.sent
      await this.waiting()
    }
  }

  /** Whether the caller gave it up, or its deadline came. */
  get isGivenUp(): boolean {
    return this.wasGivenUp
  }

  /** Aborted when it is given up. Made when it is asked for: one for each call costs as much as the call. */
  get signal(): AbortSignal {
    const { signal } = this.request
    if (this.controller === undefined) {
      // Without a deadline nobody but the caller gives it up.
      if (signal !== undefined && this.deadline === Number.POSITIVE_INFINITY && this.sent !== undefined) return signal
      this.controller = new AbortController()
      if (this.wasGivenUp) this.controller.abort(this.failure)
    }
    return this.controller.signal
  }

  /** Why it ended, if that was not by the answer of a server. */
  get ended(): ConnectError | undefined {
    return this.failure
  }

  /** Milliseconds until the deadline; Infinity: there is none. */
  get left(): number {
    return this.deadline - this.environment.now()
  }

  /** Whether to make another attempt after this one, which is then to be placed; it waits for the time that is due. */
  async again({ code, isCommitted, isRefused, isUnsent, pushback }: Failure): Promise<boolean> {
    const selected = this.sent?.selected
    // ★ Also where the channel was closed: else it would sit out its pause first.
    if (this.isOver || isCommitted || this.ended !== undefined || selected === undefined) return false
    if ((isUnsent && this.unsent < maxUnsent) || (isRefused && !this.wasRefused)) {
      // It does not count (A6).
      if (isUnsent) this.unsent++
      else this.wasRefused = true
      this.retry(undefined)
      return true
    }
    this.attempts++
    const { retry } = selected
    const name = retryCodes.get(code)
    if (retry === undefined || name === undefined || !retry.codes.has(name)) return false
    const said = RetryPolicy.pushback(pushback)
    if (this.attempts >= retry.maxAttempts || said === "stop") return false
    // ★ After a pause that the server said, they begin anew (A6).
    this.pauses = said === undefined ? this.pauses + 1 : 0
    await this.pause(said ?? RetryPolicy.delay(retry, this.pauses, this.environment.random()))
    if (this.failure !== undefined) return false
    this.retry("Failed")
    return true
  }

  /** Answers come: no other attempt will be made, and who gives up ends it at once. */
  streams(): void {
    this.isStreaming = true
    if (!this.isOver) this.driver.commit(this.id)
  }

  over(outcome: Outcome | undefined): void {
    if (this.isOver) return
    this.isOver = true
    this.stopTimer()
    const { deadline } = this.request
    if (deadline !== undefined) deadline.says = undefined
    this.request.signal?.removeEventListener("abort", this.onAbort)
    this.driver.over(this.id, outcome)
    this.request.onOver?.()
  }

  onSelect({ timeout }: Selected): void {
    this.setDeadline(timeout)
  }

  onSend(sent: Sent<C>): void {
    this.sent = sent
    if (this.isBegun) this.setDeadline(sent.selected.timeout)
    this.waiter?.resolve()
  }

  onEnd({ code, message }: CallStatus): void {
    this.failure = new ConnectError(message, code === "INTERNAL" ? Code.Internal : Code.Unavailable)
    this.waiter?.reject(this.failure)
    this.endPause()
  }

  private readonly draw = (n: number): number => {
    this.drawn ??= new Map()
    const known = this.drawn.get(n)
    if (known !== undefined) return known
    const drawn = this.environment.random()
    this.drawn.set(n, drawn)
    return drawn
  }

  private retry(outcome: Outcome | undefined): void {
    this.sent = undefined
    // ★ Numbers of its own: with those of the attempt before it would go to the same locality again.
    this.drawn = undefined
    this.driver.retry(this.id, outcome)
  }

  /** Milliseconds for the whole call, as far as is known. */
  private limit(): number {
    const { timeout = Number.POSITIVE_INFINITY } = this.request
    return this.sent?.selected.timeout ?? this.driver.selected(this.id)?.timeout ?? timeout
  }

  private setDeadline(limit: number): void {
    const deadline = this.started + limit
    if (deadline === this.deadline || this.isOver) return
    this.stopTimer()
    this.deadline = deadline
    if (deadline === Number.POSITIVE_INFINITY) return
    this.stopTimer = this.environment.after(Math.max(0, this.left), () => {
      // ★ First: what interceptors do next must see that there is no time.
      if (limit === this.request.timeout) this.request.deadline?.come()
      this.give(this.late(limit))
    })
  }

  private late(limit: number): ConnectError {
    const waits = this.sent === undefined ? `, waited for ${this.driver.waitsFor(this.id, this.servers())}` : ""
    const where = this.sent === undefined ? "" : `, no answer from ${this.sent.address}`
    return new ConnectError(`the deadline of ${limit} ms came${waits}${where}`, Code.DeadlineExceeded)
  }

  private readonly onAbort = (): void => {
    const reason: unknown = this.request.signal?.reason
    this.give(ConnectErrors.of(reason, Code.Canceled))
  }

  /** Ends it with this error. */
  private give(error: ConnectError): void {
    this.failure ??= error
    this.wasGivenUp = true
    this.controller?.abort(error)
    this.onGivenUp?.(error)
    this.waiter?.reject(error)
    this.endPause()
    if (this.isStreaming) this.over(error.code === Code.DeadlineExceeded ? "Failed" : undefined)
  }

  /** Rejects when the call is over. */
  private waiting(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.waiter = { resolve, reject }
    })
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const stop = this.environment.after(milliseconds, resolve)
      this.endPause = () => {
        stop()
        resolve()
      }
    })
  }
}
