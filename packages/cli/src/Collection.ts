/**
 * Resources that a server has now, all of a type or some by name.
 *
 * @since 0.1.0
 */
import type { Message } from "@bufbuild/protobuf"
import type { ResourceEvent } from "@effect-xds/client"
import * as WatchableType from "@effect-xds/client/WatchableType"
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Status from "@effect-xds/transport/Status"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { CommandFailure } from "./CommandFailure.js"
import type { Found } from "./ResourceText.js"
import type * as Target from "./Target.js"

/** A server may answer in parts: after this many milliseconds without one, what came is all. */
const quiet = 300

const unreachable = (address: string, reason: string): CommandFailure =>
  new CommandFailure({ kind: "failed", message: `${address} gives no answer: ${reason}` })

/**
 * A type as a client watches it.
 *
 * @since 0.1.0
 */
export const watchable = (type: ResourceType.ResourceType): Effect.Effect<WatchableType.WatchableType<Message>> =>
  Effect.map(
    Effect.promise(() => type.load()),
    // What a server gives is to be seen, also what clients would refuse.
    (schema) => WatchableType.fromSchema(schema, { rules: false })
  )

/**
 * Fails where an event says that the server cannot be reached, or gives no resource for another reason.
 *
 * @since 0.1.0
 */
const refusalOf = (
  address: string,
  type: ResourceType.ResourceType,
  event: ResourceEvent.ResourceEvent<Message>
): CommandFailure | undefined => {
  if (event._tag === "DoesNotExist") {
    const message = `${type.shortName} ${JSON.stringify(event.name)} on ${address}: ${event.error.message}`
    return new CommandFailure({ kind: "found", message })
  }
  if (event._tag !== "Error") return undefined
  const { code, message } = event.error
  if (code === Status.codes.UNAVAILABLE || event.name === "*") return unreachable(address, message)
  const text = `${type.shortName} ${JSON.stringify(event.name)} cannot be had from ${address}: ${message}`
  return new CommandFailure({ kind: "failed", message: text })
}

/**
 * What came, and why that is not all: a line for each thing that was not taken.
 *
 * @since 0.1.0
 */
export interface Collected {
  readonly found: ReadonlyArray<Found>
  readonly notTaken: ReadonlyArray<string>
}

/**
 * Fails where what came is not all that there is.
 *
 * @since 0.1.0
 */
export const whole = ({ notTaken }: Collected): Effect.Effect<void, CommandFailure> =>
  notTaken.length === 0
    ? Effect.void
    : Effect.fail(new CommandFailure({ kind: "failed", message: notTaken.join("\n") }))

const one = (
  { address, answered, client, isFiles }: Target.Connected,
  type: ResourceType.ResourceType,
  watched: WatchableType.WatchableType<Message>,
  name: string,
  timeout: number
): Effect.Effect<Found, CommandFailure> =>
  Stream.orDie(client.watch(watched, name)).pipe(
    Stream.mapEffect((event) => {
      const refusal = refusalOf(address, type, event)
      // Silence of the server is no word about the resource.
      const ask = event._tag === "DoesNotExist" && !isFiles ? answered : Effect.void
      if (refusal !== undefined) return Effect.zipRight(ask, Effect.fail(refusal))
      return event._tag === "Updated"
        ? Effect.succeedSome({ type, name: event.name, version: event.version, value: event.value })
        : Effect.succeedNone
    }),
    Stream.filterMap((found) => found),
    Stream.runHead,
    Effect.flatten,
    Effect.catchTag("NoSuchElementException", () => Effect.fail(unreachable(address, "the watch ended"))),
    // The client begins to count when it is connected.
    Effect.raceFirst(Effect.zipRight(isFiles ? Effect.void : Effect.delay(answered, timeout * 1000), Effect.never))
  )

/**
 * Resources by their names; fails if there is none of one, or the server gives no answer within `timeout` seconds.
 *
 * @since 0.1.0
 */
export const some = (
  connected: Target.Connected,
  type: ResourceType.ResourceType,
  names: ReadonlyArray<string>,
  timeout: number
): Effect.Effect<Collected, CommandFailure> =>
  Effect.gen(function* () {
    const watched = yield* watchable(type)
    const found = yield* Effect.forEach(names, (name) => one(connected, type, watched, name, timeout), {
      concurrency: "unbounded"
    })
    return { found, notTaken: yield* connected.notTaken }
  })

/**
 * Everything of some types. Which of them are empty is known when others came and then nothing more; if nothing comes at
 * all, that is so after `timeout` seconds.
 *
 * @since 0.1.0
 */
export const all = (
  { address, client, notTaken }: Target.Connected,
  types: ReadonlyArray<ResourceType.ResourceType>,
  timeout: number
): Effect.Effect<Collected, CommandFailure> =>
  Effect.scoped(
    Effect.gen(function* () {
      const found = new Map<string, Found>()
      const failed = yield* Deferred.make<never, CommandFailure>()
      let events = 0
      for (const type of types) {
        const take = (event: ResourceEvent.ResourceEvent<Message>) =>
          Effect.suspend(() => {
            events++
            const key = `${type.typeUrl} ${event.name}`
            if (event._tag === "Updated") {
              found.set(key, { type, name: event.name, version: event.version, value: event.value })
              return Effect.void
            }
            if (event._tag === "DoesNotExist") found.delete(key)
            // Of one resource that is bad the others come all the same.
            if (event._tag !== "Error" || (event.name !== "*" && event.error.code !== Status.codes.UNAVAILABLE)) {
              return Effect.void
            }
            return Deferred.fail(failed, unreachable(address, event.error.message))
          })
        yield* Effect.forkScoped(Stream.runForEach(client.watchAll(yield* watchable(type)), take))
      }
      const settled = Effect.gen(function* () {
        for (let waited = 0; waited < timeout * 1000; waited += quiet) {
          const before = events
          yield* Effect.sleep(quiet)
          if (events === before && (events > 0 || (yield* notTaken).length > 0)) return
        }
      })
      yield* Effect.raceFirst(settled, Deferred.await(failed))
      const order = (each: Found): string => `${each.type.order} ${each.type.shortName} ${each.name}`
      return {
        found: Array.from(found.values()).sort((one, other) => (order(one) < order(other) ? -1 : 1)),
        notTaken: yield* notTaken
      }
    })
  )
