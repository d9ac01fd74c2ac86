/** Watches a listener and everything behind it. */
import { XdsClient } from "@effect-xds/client"
import * as Effect from "effect/Effect"
import * as FiberMap from "effect/FiberMap"
import * as Queue from "effect/Queue"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"
import * as Part from "./Part.js"
import * as Picture from "./Picture.js"

/** The picture now, and again whenever it has changed. A watch begins when a name appears in it and ends when it goes. */
export const pictures = (root: Part.Resource): Stream.Stream<string, never, XdsClient.XdsClient> =>
  Stream.unwrapScoped(
    Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      const current = yield* SubscriptionRef.make(Picture.make(root))
      const watches = yield* FiberMap.make<string, void, never>()
      // Bounded: the client reads from its server no faster than the picture is changed.
      const heard = yield* Queue.bounded<Picture.Heard>(1)

      const watch = (resource: Part.Resource) =>
        // One schema for each type: no two decoders that could be in conflict.
        Stream.runForEach(Stream.orDie(client.watch(Part.types[resource.kind], resource.name)), (event) =>
          Queue.offer(heard, { resource, event })
        )
      const follow = (picture: Picture.Picture) =>
        Effect.gen(function* () {
          const wanted = Picture.resources(picture)
          for (const [key] of Array.from(watches)) if (!wanted.has(key)) yield* FiberMap.remove(watches, key)
          for (const [key, resource] of wanted) {
            yield* FiberMap.run(watches, key, watch(resource), { onlyIfMissing: true })
          }
        })

      const following = Stream.fromQueue(heard).pipe(
        Stream.scan(Picture.make(root), Picture.hear),
        Stream.tap((picture) => Effect.zipRight(follow(picture), SubscriptionRef.set(current, picture)))
      )
      return current.changes.pipe(
        // What comes together is shown together: a moment after a change, and as it is then.
        Stream.buffer({ capacity: 1, strategy: "sliding" }),
        Stream.mapEffect(() => Effect.delay(SubscriptionRef.get(current), "100 millis")),
        Stream.map(Picture.draw),
        Stream.changes,
        Stream.drainFork(following),
        // A watch that fails, fails all.
        Stream.interruptWhen(FiberMap.join(watches))
      )
    })
  )
