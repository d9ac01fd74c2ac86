/** A client's stream of polls for one type: the driver of {@link PollLoop}. */
import * as Request from "@effect-xds/core/wire/Request"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as PollLoop from "./PollLoop.js"

/** What a stream uses of its channel. */
export interface Environment {
  readonly loop: PollLoop.Options
  /** One poll; `undefined` for 304. */
  readonly poll: (
    request: Request.StateOfTheWorldRequest,
    fresh: boolean
  ) => Effect.Effect<PollLoop.Received | undefined, Status.Status>
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  readonly random: () => number
  /** Runs an effect; the result interrupts it. */
  readonly run: <A, E>(effect: Effect.Effect<A, E>, onExit: (exit: Exit.Exit<A, E>) => void) => () => void
  /** Reports a defect of the client behind the port, which must not end the process. */
  readonly onDefect: (defect: unknown) => void
  readonly onDone: (stream: RestClientStream) => void
}

const nothing = (): void => undefined

/** Timers of another clock may fire a little early: then the timer is set again. */
const least = 1

export class RestClientStream implements ClientTransport.ClientStream {
  #loop: PollLoop.PollLoop
  #open = false
  #done = false
  #stopPoll = nothing
  #stopTimer = nothing
  /** When the timer is due. */
  #timerAt = Number.POSITIVE_INFINITY

  constructor(
    private readonly handler: ClientTransport.StreamHandler,
    private readonly environment: Environment
  ) {
    this.#loop = PollLoop.make(environment.loop)
  }

  readonly send = (message: Uint8Array): void => {
    if (!this.#open) return
    const request = Request.decode("StateOfTheWorld", message)
    // An XdsClient sends what its method needs; anything else is a bug of the client.
    if (Either.isLeft(request)) return this.environment.onDefect(request.left)
    if (request.right._tag === "StateOfTheWorld") this.#step({ _tag: "Send", request: request.right })
  }

  readonly next = (): void => this.#step({ _tag: "Next" })

  readonly end = (): void => {
    if (this.#done) return
    this.#done = true
    this.#open = false
    this.#stopPoll()
    this.#stopTimer()
    this.environment.onDone(this)
  }

  /** There is no connection before the first poll, which shows whether the server can be reached. */
  start(): void {
    if (this.#done) return
    this.#open = true
    this.#tell(() => this.handler.onOpen())
  }

  fail(status: Status.Status): void {
    if (this.#done) return
    this.end()
    this.#tell(() => this.handler.onEnd(status))
  }

  /** Calls the client's handler, whose defects must not end the process. */
  #tell(run: () => void): void {
    try {
      run()
    } catch (defect) {
      this.environment.onDefect(defect)
      this.end()
    }
  }

  #step(input: PollLoop.Input): void {
    if (this.#done) return
    const [loop, outputs] = PollLoop.step(this.#loop, input, this.environment.now())
    this.#loop = loop
    for (const output of outputs) this.#handle(output)
    this.#setTimer()
  }

  #handle(output: PollLoop.Output): void {
    switch (output._tag) {
      case "Poll":
        return this.#poll(output.request, output.fresh)
      case "Abort":
        return this.#stopPoll()
      case "Deliver":
        return this.#tell(() => this.handler.onMessage(output.message))
      case "End":
        return this.fail(output.status)
    }
  }

  #poll(request: Request.StateOfTheWorldRequest, fresh: boolean): void {
    const { environment } = this
    let current = true
    const stop = environment.run(environment.poll(request, fresh), (exit) => {
      if (!current) return
      if (Exit.isSuccess(exit)) {
        const random = environment.random()
        return exit.value === undefined
          ? this.#step({ _tag: "Unchanged", random })
          : this.#step({ _tag: "Changed", response: exit.value, random })
      }
      const failure = Cause.failureOrCause(exit.cause)
      if (Either.isLeft(failure)) return this.#step({ _tag: "Failed", status: failure.left })
      environment.onDefect(Cause.squash(failure.right))
      this.#step({ _tag: "Failed", status: Status.make("INTERNAL", "the poll failed; the log says why") })
    })
    this.#stopPoll = () => {
      current = false
      stop()
    }
  }

  #setTimer(): void {
    if (this.#done) return
    const at = PollLoop.deadline(this.#loop)
    if (at === this.#timerAt) return
    this.#timerAt = at
    this.#stopTimer()
    this.#stopTimer = nothing
    if (at === Number.POSITIVE_INFINITY) return
    // Even a poll that is due at once waits for a turn, so that consecutive requests become one poll.
    const delay = Math.max(least, at - this.environment.now())
    let current = true
    const stop = this.environment.run(Effect.sleep(delay), () => {
      if (!current) return
      this.#timerAt = Number.POSITIVE_INFINITY
      this.#step({ _tag: "Deadline" })
    })
    this.#stopTimer = () => {
      current = false
      stop()
    }
  }
}
