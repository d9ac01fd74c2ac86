/** Our transport without the server behind it. */
import { ConnectServer } from "@effect-xds/transport-connect"
import { Deferred, Effect, Fiber, Logger } from "effect"
import { serve } from "./Commands.js"
import * as WriteLoop from "./WriteLoop.js"

serve(
  WriteLoop.make((accept) =>
    Effect.gen(function* () {
      const address = yield* Deferred.make<string>()
      const serving = yield* ConnectServer.make()
        .serve((stream) => {
          const onRequest = accept((body, suffix) => void stream.write({ body, suffix }))
          return {
            onRequest: (request) =>
              onRequest(request._tag === "Incremental" && request.initialResourceVersions.size > 0),
            onWritable: () => undefined,
            onEnd: () => undefined
          }
        })
        .pipe(
          Effect.tap((served) => Deferred.succeed(address, served)),
          Effect.zipRight(Effect.never),
          Effect.scoped,
          Effect.provide(Logger.remove(Logger.defaultLogger)),
          Effect.forkDaemon
        )
      return yield* Effect.raceFirst(Deferred.await(address), Fiber.join(serving))
    }).pipe(Effect.runPromise)
  )
)
