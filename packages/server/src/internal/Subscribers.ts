/** Sends events to subscribers, in bounded memory. Events are created only if there is a subscriber. */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { ServerEvent } from "../ServerEvent.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"

interface Subscriber {
  /** Those that it has not taken. */
  events: Array<ServerEvent>
  /** Later ones, which had no place. */
  lost: number
  /** Open: there is something to take, or nothing comes any more. */
  readonly latch: Effect.Latch
}

export interface Subscribers {
  /** `make` runs only if there is a subscriber. */
  readonly publish: (make: () => ServerEvent) => void
  readonly stream: Stream.Stream<ServerEvent>
  /** Ends the streams, each after what is kept for it, and those that begin later at once. */
  readonly end: () => void
}

/** `capacity`: events kept per subscriber, at least one. Further ones are counted; `Lost` comes after those that are kept. */
export const make = (capacity: number): Subscribers => {
  const subscribers = new Set<Subscriber>()
  const most = capacity >= 1 ? capacity : 1
  let ended = false
  const offer = (subscriber: Subscriber, event: ServerEvent): void => {
    if (subscriber.events.length < most) subscriber.events.push(event)
    else {
      subscriber.lost++
      XdsServerMetrics.eventsLost.unsafeUpdate(1, [])
    }
    subscriber.latch.unsafeOpen()
  }
  const take = (subscriber: Subscriber): Effect.Effect<Chunk.Chunk<ServerEvent>, Option.Option<never>> =>
    Effect.flatMap(subscriber.latch.await, () => {
      const { events, lost } = subscriber
      if (ended && events.length === 0) return Effect.fail(Option.none())
      subscriber.events = []
      subscriber.lost = 0
      if (lost > 0) events.push({ _tag: "Lost", count: lost })
      if (!ended) subscriber.latch.unsafeClose()
      return Effect.succeed(Chunk.unsafeFromArray(events))
    })
  return {
    publish: (makeEvent) => {
      if (subscribers.size === 0) return
      const event = makeEvent()
      for (const subscriber of subscribers) offer(subscriber, event)
    },
    stream: Stream.unwrapScoped(
      Effect.map(
        Effect.acquireRelease(
          Effect.sync(() => {
            const subscriber: Subscriber = { events: [], lost: 0, latch: Effect.unsafeMakeLatch(ended) }
            subscribers.add(subscriber)
            return subscriber
          }),
          (subscriber) => Effect.sync(() => subscribers.delete(subscriber))
        ),
        (subscriber) => Stream.repeatEffectChunkOption(take(subscriber))
      )
    ),
    end: () => {
      ended = true
      for (const { latch } of subscribers) latch.unsafeOpen()
    }
  }
}
