/** Virtual hosts on demand as Effects. */
import * as CoreVirtualHosts from "@effect-xds/core/client/VirtualHosts"
import type { Protocol } from "@effect-xds/core/wire/Request"
import * as Alarm from "@effect-xds/transport-node/Alarm"
import * as BadOption from "@effect-xds/transport/BadOption"
import type { DecoderConflict } from "@effect-xds/core/client/ResourceDecoder"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Options, Types, VirtualHosts } from "../VirtualHosts.js"
import { VirtualHostNotFound, VirtualHostUnavailable } from "../VirtualHosts.js"
import type { Driver } from "./Driver.js"
import { clientClosed, HostDriver } from "./HostDriver.js"

/** What virtual hosts use of their client. */
export interface Client {
  readonly driver: Driver
  readonly protocol: Protocol
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}

/** The least that options may be. */
export const least = { timeout: 0, idleTimeout: 0, unknownIdleTimeout: 0, maxHosts: 0, maxWaiting: 0 } as const

export const optionsOf = (given: Options): CoreVirtualHosts.Options => {
  const { defaults } = CoreVirtualHosts
  const millis = (duration: Duration.DurationInput | undefined, otherwise: number): number =>
    duration === undefined ? otherwise : Duration.toMillis(duration)
  return {
    timeout: millis(given.timeout, defaults.timeout),
    idleTimeout: millis(given.idleTimeout, defaults.idleTimeout),
    unknownIdleTimeout: millis(given.unknownIdleTimeout, defaults.unknownIdleTimeout),
    maxHosts: given.maxHosts ?? defaults.maxHosts,
    maxWaiting: given.maxWaiting ?? defaults.maxWaiting,
    withPort: given.withPort ?? defaults.withPort
  }
}

/** They end with the client, if that ends before their own scope does. */
export const endWith = (
  driver: Driver,
  hosts: { readonly close: (reason: string) => void }
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.asVoid(
    Effect.acquireRelease(
      Effect.sync(() => driver.listenForEnd(() => hosts.close(clientClosed))),
      (stop) => Effect.sync(stop)
    )
  )

export const make = <R, A>(
  { driver, now, protocol }: Client,
  routeConfiguration: string,
  types: Types<R, A>,
  options: Options
): Effect.Effect<VirtualHosts<A>, DecoderConflict, Scope.Scope> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, least)
    const hosts: HostDriver<R, A> = new HostDriver(
      driver,
      types,
      { protocol, now, alarm: (at) => alarm.set(at) },
      routeConfiguration,
      optionsOf(options)
    )
    let lastRequest = 0
    const alarm = yield* Alarm.make(now, () => hosts.onDeadline())
    yield* Effect.acquireRelease(
      Effect.suspend(() => hosts.start()),
      (watcher) =>
        Effect.sync(() => {
          hosts.close("the scope of the virtual hosts has closed")
          driver.unwatch(watcher)
        })
    )
    yield* endWith(driver, hosts)
    return {
      routeConfiguration,
      find: (host, { timeout } = {}) =>
        Effect.async<A, VirtualHostNotFound | VirtualHostUnavailable>((resume) => {
          const wrong = BadOption.find({ timeout }, { timeout: 0 })
          if (wrong !== undefined) return resume(Effect.die(wrong))
          const until = timeout === undefined ? undefined : now() + Duration.toMillis(timeout)
          const request = ++lastRequest
          hosts.request(request, host, until, (outcome) => {
            switch (outcome._tag) {
              case "Found":
                return resume(Effect.succeed(outcome.virtualHost.value))
              case "NotFound":
                return resume(new VirtualHostNotFound({ routeConfiguration, host }))
              case "Unavailable":
                return resume(new VirtualHostUnavailable({ routeConfiguration, host, reason: outcome.reason }))
            }
          })
          return Effect.sync(() => hosts.cancel(request))
        }),
      statistics: (prefix) => Effect.sync(() => hosts.statistics(prefix))
    }
  })
