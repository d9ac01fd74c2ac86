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
  { address, noAnswer }: Target.Connected,
  type: ResourceType.ResourceType,
  event: ResourceEvent.ResourceEvent<Message>
): CommandFailure | undefined => {
  if (event._tag === "DoesNotExist") {
    const message = `${type.shortName} ${JSON.stringify(event.name)} on ${address}: ${event.error.message}`
    return new CommandFailure({ kind: "found", message })
  }
  if (event._tag !== "Error") return undefined
  const { code, message } = event.error
  if (code === Status.codes.UNAVAILABLE || event.name === "*") return noAnswer(message)
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
  /** Types of which nothing came, not even that there is nothing. Files have none. */
  readonly unanswered: ReadonlyArray<ResourceType.ResourceType>
}

/**
 * Fails where what came is not all that there is.
 *
 * @since 0.1.0
 */
export const whole = ({ notTaken }: Pick<Collected, "notTaken">): Effect.Effect<void, CommandFailure> =>
  notTaken.length === 0
    ? Effect.void
    : Effect.fail(new CommandFailure({ kind: "failed", message: notTaken.join("\n") }))

const one = (
  connected: Target.Connected,
  type: ResourceType.ResourceType,
  watched: WatchableType.WatchableType<Message>,
  name: string,
  timeout: number
): Effect.Effect<Found, CommandFailure> => {
  const { answered, client, isFiles, noAnswer } = connected
  const late = Effect.delay(answered([type]), timeout * 1000)
  return Stream.orDie(client.watch(watched, name)).pipe(
    Stream.mapEffect((event) => {
      const refusal = refusalOf(connected, type, event)
      // Silence of the server is no word about the resource.
      const ask = event._tag === "DoesNotExist" && !isFiles ? answered([type]) : Effect.void
      if (refusal !== undefined) return Effect.zipRight(ask, Effect.fail(refusal))
      return event._tag === "Updated"
        ? Effect.succeedSome({ type, name: event.name, version: event.version, value: event.value })
        : Effect.succeedNone
    }),
    Stream.filterMap((found) => found),
    Stream.runHead,
    Effect.flatten,
    Effect.catchTag("NoSuchElementException", () => Effect.fail(noAnswer("the watch ended"))),
    // The client begins to count when it is connected.
    Effect.raceFirst(Effect.zipRight(isFiles ? Effect.void : late, Effect.never))
  )
}

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
    return { found, notTaken: yield* connected.notTaken, unanswered: [] }
  })

/**
 * Everything of some types: when a server has answered for each of them, and then nothing more came, or after `timeout` seconds.
 * Of files there is nobody to say that there is nothing: with them it is when something came, and then nothing more.
 *
 * @since 0.1.0
 */
export const all = (
  { client, isFiles, noAnswer, notTaken }: Target.Connected,
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
            return Deferred.fail(failed, noAnswer(event.error.message))
          })
        yield* Effect.forkScoped(Stream.runForEach(client.watchAll(yield* watchable(type)), take))
      }
      let unanswered = types
      const settled = Effect.gen(function* () {
        for (let waited = 0; waited < timeout * 1000; waited += quiet) {
          const before = events
          const answered = yield* client.answered
          unanswered = isFiles ? [] : types.filter(({ typeUrl }) => !answered.has(typeUrl))
          const isWhole = isFiles ? events > 0 || (yield* notTaken).length > 0 : unanswered.length === 0
          // What is in an answer is told after it.
          yield* Effect.sleep(quiet)
          if (isWhole && events === before) return
        }
      })
      yield* Effect.raceFirst(settled, Deferred.await(failed))
      const order = (each: Found): string => `${each.type.order} ${each.type.shortName} ${each.name}`
      return {
        found: Array.from(found.values()).sort((one, other) => (order(one) < order(other) ? -1 : 1)),
        notTaken: yield* notTaken,
        unanswered
      }
    })
  )
