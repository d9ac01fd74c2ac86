/** Sends events to subscribers, in bounded memory. Events are created only if there is a subscriber. */
import * as Effect from "effect/Effect"
import * as Mailbox from "effect/Mailbox"
import * as Stream from "effect/Stream"
import type { ServerEvent } from "../ServerEvent.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"

interface Subscriber {
  readonly mailbox: Mailbox.Mailbox<ServerEvent>
  lost: number
}

export interface Subscribers {
  /** `make` runs only if there is a subscriber. */
  readonly publish: (make: () => ServerEvent) => void
  readonly stream: Stream.Stream<ServerEvent>
}

/** `capacity`: events kept per subscriber. Further ones are counted, and reported as `Lost`. */
export const make = (capacity: number): Subscribers => {
  const subscribers = new Set<Subscriber>()
  const offer = (subscriber: Subscriber, event: ServerEvent): void => {
    if (subscriber.lost > 0 && subscriber.mailbox.unsafeOffer({ _tag: "Lost", count: subscriber.lost })) {
      subscriber.lost = 0
    }
    if (subscriber.lost > 0 || !subscriber.mailbox.unsafeOffer(event)) {
      subscriber.lost++
      XdsServerMetrics.eventsLost.unsafeUpdate(1, [])
    }
  }
  return {
    publish: (makeEvent) => {
      if (subscribers.size === 0) return
      const event = makeEvent()
      for (const subscriber of subscribers) offer(subscriber, event)
    },
    stream: Stream.unwrapScoped(
      Effect.gen(function* () {
        const mailbox = yield* Mailbox.make<ServerEvent>({ capacity, strategy: "dropping" })
        const subscriber: Subscriber = { mailbox, lost: 0 }
        yield* Effect.acquireRelease(
          Effect.sync(() => subscribers.add(subscriber)),
          () => Effect.sync(() => subscribers.delete(subscriber))
        )
        return Mailbox.toStream(mailbox)
      })
    )
  }
}
