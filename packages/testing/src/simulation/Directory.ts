/**
 * Which group each client of a simulation belongs to, where that changes, and the notes of the streams that servers move.
 *
 * @since 0.1.0
 */
import type { FanOut } from "@effect-xds/core/server/FanOut"
import type * as FanOuts from "@effect-xds/server/FanOuts"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as SubscriptionRef from "effect/SubscriptionRef"

/**
 * The groups of clients, by the names of clients.
 *
 * @since 0.1.0
 */
export interface Directory {
  /** The client's group, and whatever it is from then on. */
  readonly groupOf: (client: string) => Stream.Stream<string>
  /** Nobody else is asked: a client that is not there is nobody. */
  readonly move: (client: string, group: string) => Effect.Effect<void>
}

/**
 * Clients with the groups that they begin in.
 *
 * @since 0.1.0
 */
export const make = (clients: Iterable<readonly [client: string, group: string]>): Effect.Effect<Directory> =>
  Effect.gen(function* () {
    const groups = new Map<string, SubscriptionRef.SubscriptionRef<string>>()
    for (const [client, group] of clients) groups.set(client, yield* SubscriptionRef.make(group))
    return {
      groupOf: (client) => groups.get(client)?.changes ?? Stream.never,
      move: (client, group) => {
        const ref = groups.get(client)
        return ref === undefined ? Effect.void : SubscriptionRef.set(ref, group)
      }
    }
  })

/**
 * Fan-outs that say, before it happens, in which group a stream is served from now on.
 *
 * @param onGroup `owner`: what the stream belongs to
 * @since 0.1.0
 */
export const noting = (fanOuts: FanOuts.Service, onGroup: (owner: unknown, group: string) => void): FanOuts.Service => {
  const names = new WeakMap<object, string>()
  return {
    make: <A>(group: string, ...rest: [Parameters<FanOuts.Service["make"]>[1], number]): FanOut<A> => {
      const fanOut = fanOuts.make<A>(group, ...rest)
      names.set(fanOut, group)
      const join = fanOut.join.bind(fanOut)
      const move = fanOut.move.bind(fanOut)
      fanOut.join = (options, owner) => {
        onGroup(owner, group)
        return join(options, owner)
      }
      fanOut.move = (stream, to, phases) => {
        onGroup(stream.owner, names.get(to) ?? group)
        return move(stream, to, phases)
      }
      return fanOut
    }
  }
}
