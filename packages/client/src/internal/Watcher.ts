/**
 * One watch: what it is yet to be told, in bounded memory, and whether it is done with what it was told.
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"

/** What is waiting for one name: the state of the resource, and what was said about it since. */
interface Pending<A> {
  state: A | undefined
  ambient: A | undefined
}

/** What an event says: of the resource itself, that something is wrong, or that it is over. */
export type Bearing = "State" | "Ambient" | "Recovered"

export class Watcher<in out A> {
  #pending = new Map<string, Pending<A>>()
  #resume: (() => void) | undefined
  #busy = false

  constructor(
    readonly id: number,
    /** Called when it comes back for more and everything so far was taken. */
    private readonly onIdle: (watcher: Watcher<A>) => void
  ) {}

  /** Whether it has something to take, or is at work on what it took. */
  get busy(): boolean {
    return this.#busy || this.#pending.size > 0
  }

  /** Tells an event. For each name, of several only the last matters, and what is ambient only beside its state. */
  offer(name: string, bearing: Bearing, event: A): void {
    const before = this.#pending.get(name)
    if (bearing === "State") this.#pending.set(name, { state: event, ambient: undefined })
    else if (before === undefined) this.#pending.set(name, { state: undefined, ambient: event })
    else before.ambient = bearing === "Recovered" && before.state !== undefined ? undefined : event
    this.#resume?.()
  }

  /** Everything there is, when there is something. Its caller is done with what it was given before. */
  readonly pull: Effect.Effect<Chunk.Chunk<A>> = Effect.suspend(() => {
    if (this.#pending.size > 0) return Effect.succeed(this.#take())
    this.#busy = false
    this.onIdle(this)
    return Effect.async((resume) => {
      // What came in the meantime, told by `onIdle` perhaps.
      if (this.#pending.size > 0) {
        resume(Effect.succeed(this.#take()))
        return
      }
      this.#resume = () => {
        this.#resume = undefined
        resume(Effect.sync(() => this.#take()))
      }
      return Effect.sync(() => {
        this.#resume = undefined
      })
    })
  })

  #take(): Chunk.Chunk<A> {
    const events: Array<A> = []
    for (const { ambient, state } of this.#pending.values()) {
      if (state !== undefined) events.push(state)
      if (ambient !== undefined) events.push(ambient)
    }
    this.#pending = new Map()
    this.#busy = true
    return Chunk.unsafeFromArray(events)
  }
}
