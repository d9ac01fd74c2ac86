/**
 * One watcher: its pending events, in bounded memory, and whether it is still processing the last ones.
 */
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"

/** The pending events of one resource: its state, and an ambient error since. */
interface Pending<A> {
  state: A | undefined
  /** Whether the state is that there is no resource. */
  readonly isGone: boolean
  ambient: A | undefined
}

/** The next events; `None`: there are no more. */
export type Pull<A> = Effect.Effect<Chunk.Chunk<A>, Option.Option<never>>

/** The kind of an event: resource state, that there is no resource, ambient error, or recovery from one. */
export type Bearing = "State" | "Gone" | "Ambient" | "Recovered"

const nothingMore = Effect.fail(Option.none())

/** Most resources whose events are taken at once. Those that are left are taken in a later turn of the event loop. */
const most = 256

export class Watcher<in out A> {
  #pending = new Map<string, Pending<A>>()
  /** Resources that it was told of, and not that they are gone. */
  readonly #told = new Set<string>()
  #resume: ((next: Pull<A>) => void) | undefined
  /** Whether the last events that were taken were not all. */
  #isMore = false
  #busy = false
  #ended = false

  constructor(
    readonly id: number,
    /** The name that is watched: `*` and collections stand for many resources. */
    private readonly watched: string,
    /** Called when the watcher pulls again with no events pending. */
    private readonly onIdle: (watcher: Watcher<A>) => void,
    private readonly later: EventLoop.Service["later"]
  ) {}

  /** Whether events are pending or being processed. */
  get busy(): boolean {
    return this.#busy || this.#pending.size > 0
  }

  /**
   * Queues an event. Of several for one name only the last state is kept, with the ambient error after it. Of a resource that came and
   * went, and that it was not told of, it is told nothing: while it takes no events there may be any number of them.
   */
  offer(name: string, bearing: Bearing, event: A): void {
    this.put(name, bearing, event)
    this.wake()
  }

  /** {@link offer}, of which it hears only when it is woken, or pulls. */
  put(name: string, bearing: Bearing, event: A): void {
    const before = this.#pending.get(name)
    if (bearing === "Gone" && before?.state !== undefined && name !== this.watched && !this.#told.has(name)) {
      this.#pending.delete(name)
      return
    }
    if (bearing === "State" || bearing === "Gone")
      this.#pending.set(name, { state: event, isGone: bearing === "Gone", ambient: undefined })
    else if (before === undefined) this.#pending.set(name, { state: undefined, isGone: false, ambient: event })
    else before.ambient = bearing === "Recovered" && before.state !== undefined ? undefined : event
  }

  /** Gives the pending events, if there are any, to who waits for them. */
  wake(): void {
    if (this.#pending.size > 0) this.#resume?.(Effect.sync(() => this.#take()))
  }

  /** Nothing comes any more after what is pending. */
  end(): void {
    this.#ended = true
    this.wake()
    this.#resume?.(nothingMore)
  }

  /** The pending events, or the next. A pull means that the events of the pull before are processed. */
  readonly pull: Pull<A> = Effect.suspend(() => {
    if (this.#pending.size > 0) return this.#isMore ? this.#takeLater : Effect.succeed(this.#take())
    if (this.#ended) return nothingMore
    this.#busy = false
    this.onIdle(this)
    return Effect.async((resume) => {
      // Events that arrived since, for example from within `onIdle`.
      if (this.#pending.size > 0) {
        resume(Effect.succeed(this.#take()))
        return
      }
      this.#resume = (next) => {
        this.#resume = undefined
        resume(next)
      }
      return Effect.sync(() => {
        this.#resume = undefined
      })
    })
  })

  readonly #takeLater: Pull<A> = Effect.async((resume) => {
    const cancel = this.later(() => resume(Effect.sync(() => this.#take())))
    return Effect.sync(cancel)
  })

  #take(): Chunk.Chunk<A> {
    const events: Array<A> = []
    this.#isMore = this.#pending.size > most
    let left = most
    for (const [name, { ambient, isGone, state }] of this.#pending) {
      if (left-- === 0) break
      if (this.#isMore) this.#pending.delete(name)
      if (isGone) this.#told.delete(name)
      else this.#told.add(name)
      if (state !== undefined) events.push(state)
      if (ambient !== undefined) events.push(ambient)
    }
    if (!this.#isMore) this.#pending = new Map()
    this.#busy = true
    return Chunk.unsafeFromArray(events)
  }
}
