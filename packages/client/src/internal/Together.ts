/** A watch of many resources whose events are taken together: all those of one response at once. */
import type { DecoderConflict } from "@effect-xds/core/client/ResourceDecoder"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type { ResourceEvent } from "../ResourceEvent.js"
import type { WatchableType } from "../WatchableType.js"
import type { Driver } from "./Driver.js"

type Pull<A> = Effect.Effect<ReadonlyArray<ResourceEvent<A>>, Option.Option<never>>

export class Together<A> {
  /** Events of what is told now: there may be more of them. */
  private events: Array<ResourceEvent<A>> = []
  /** By name, the last events of what was told in whole, and whether they are to be taken. */
  private told = new Map<string, ResourceEvent<A>>()
  private isDue = false
  private isAsked = false
  private isEnded = false
  private resume: ((next: Pull<A>) => void) | undefined
  private readonly ends: Array<() => void> = []

  constructor(private readonly driver: Driver) {}

  /** @param name `*`, or a collection */
  begin(type: WatchableType<A>, name: string): Either.Either<this, DecoderConflict> {
    const { driver } = this
    const begun = driver.listen(type, name, (event) => {
      if (event._tag === "AmbientError" || event._tag === "Recovered") return
      this.events.push(event)
      this.ask()
    })
    return Either.map(begun, (id) => {
      this.ends.push(() => driver.unwatch(id))
      if (name === "*") {
        const answers = driver.listenForAnswers(type.typeUrl, () => this.ask())
        this.ends.push(() => driver.unwatch(answers))
      }
      this.ends.push(
        driver.listenForEnd(() => {
          this.isEnded = true
          this.wake()
        })
      )
      return this
    })
  }

  end(): void {
    for (const end of this.ends) end()
  }

  readonly pull: Pull<A> = Effect.suspend(() => {
    if (this.isReady) return this.take
    return Effect.async((resume) => {
      this.resume = resume
      return Effect.sync(() => {
        this.resume = undefined
      })
    })
  })

  private get isReady(): boolean {
    return this.isDue || this.isEnded
  }

  private readonly take: Pull<A> = Effect.suspend(() => {
    if (!this.isDue) return Effect.fail(Option.none())
    const events = Array.from(this.told.values())
    this.told = new Map()
    this.isDue = false
    return Effect.succeed(events)
  })

  /** What is told now is to be taken when all of it was told. */
  private ask(): void {
    if (this.isAsked) return
    this.isAsked = true
    this.driver.aside(() => {
      this.isAsked = false
      for (const event of this.events) this.told.set(event.name, event)
      this.events = []
      this.isDue = true
      this.wake()
    })
  }

  private wake(): void {
    const { resume } = this
    this.resume = undefined
    resume?.(this.take)
  }
}
