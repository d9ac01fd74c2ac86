/** The addresses of `host:port`, asked for again when connections to them fail or end, and every 30 seconds at most. */
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import type { Resolver } from "@effect-xds/discovery-node/Resolver"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"
import * as Effect from "effect/Effect"

/** Milliseconds between queries, at least. */
const least = 30_000

/** Milliseconds before a query that follows a failure: 1 s, 1.6 times more each time, 2 minutes at most (A61). */
const backoff = (failures: number): number => Math.min(1_000 * 1.6 ** (failures - 1), 120_000)

/** Tells the addresses until it is interrupted. `again` is open when they may be old. */
export const watch = (
  resolver: Resolver,
  name: string,
  again: Effect.Latch,
  tell: (known: XdsConfig.Known<ReadonlyArray<string>>) => void
): Effect.Effect<void> => {
  const colon = name.lastIndexOf(":")
  const host = name.slice(0, colon).replace(/^\[(.*)\]$/, "$1")
  const port = Number(name.slice(colon + 1))
  const literal = IpAddress.withPort(host, port)
  if (literal !== undefined) return Effect.sync(() => tell({ _tag: "Value", value: [literal] }))
  const query = Effect.all([resolver.resolve(host, 6), resolver.resolve(host, 4)], {
    concurrency: 2,
    mode: "either"
  }).pipe(
    Effect.map((answers) => {
      const found: Array<string> = []
      let failure = ""
      for (const answer of answers) {
        if (answer._tag === "Left") failure = answer.left.message
        else {
          for (const { address } of answer.right) {
            const withPort = IpAddress.withPort(address, port)
            if (withPort !== undefined) found.push(withPort)
          }
        }
      }
      return found.length > 0
        ? { _tag: "Value" as const, value: found }
        : { _tag: "Failed" as const, message: failure === "" ? "it has no address" : failure }
    })
  )
  const look = (failures: number, isKnown: boolean): Effect.Effect<void> =>
    Effect.flatMap(query, (known) => {
      // ★ What is known stays while nothing better is.
      if (known._tag === "Value" || !isKnown) tell(known)
      if (known._tag === "Failed") {
        return Effect.zipRight(
          Effect.sleep(backoff(failures + 1)),
          Effect.suspend(() => look(failures + 1, isKnown))
        )
      }
      again.unsafeClose()
      return Effect.sleep(least).pipe(
        Effect.zipRight(again.await),
        Effect.zipRight(Effect.suspend(() => look(0, true)))
      )
    })
  return Effect.suspend(() => look(0, false))
}
