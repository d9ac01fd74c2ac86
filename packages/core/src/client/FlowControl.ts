/**
 * A client with flow control: a response is answered, and the next one of its stream read, when its watchers have processed it.
 * The driver holds sockets and watchers, and decides nothing.
 *
 * A watcher has processed a response when it asks for more, or when its watch ends. A stuck watcher delays a stream by at most
 * {@link Options.watcherTimeout}.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "ACK/NACK and resource type instance version"
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Client from "./Client.js"
import * as Steps from "../Steps.js"
import type { DecoderConflict, ResourceDecoder } from "./ResourceDecoder.js"

/**
 * The options of the client, and the time limit for watchers.
 *
 * @since 0.1.0
 */
export interface Options extends Client.Options {
  /** Most milliseconds per response that watchers may take. Default: 10 000. */
  readonly watcherTimeout: number
}

/**
 * A response that is not answered yet, because watchers are processing it.
 *
 * @since 0.1.0
 */
export interface Delivery {
  readonly stream: string
  readonly typeUrl: string
  readonly nonce: string
  /** Watchers that received its results and have not asked for more. */
  readonly watchers: HashSet.HashSet<number>
  /** When it is answered without them, in milliseconds. */
  readonly until: number
}

/**
 * The state. Made by {@link make}, changed by {@link step}; its fields are private.
 *
 * @since 0.1.0
 */
export interface FlowControl {
  readonly client: Client.Client
  readonly watcherTimeout: number
  /** At most one per stream and type. */
  readonly deliveries: ReadonlyArray<Delivery>
}

/**
 * An event for the client. `Taken` of watchers replaces `Processed`.
 *
 * @since 0.1.0
 */
export type Input =
  | Exclude<Client.Input, { readonly _tag: "Processed" }>
  /** A watcher has processed all its results and waits for more. */
  | { readonly _tag: "Taken"; readonly watcher: number }

/**
 * An instruction or event for the driver.
 *
 * @since 0.1.0
 */
export type Output =
  | Client.Output
  /** Read the next response of the stream. A new stream starts with credit for one response. */
  | { readonly _tag: "Read"; readonly stream: string }
  /** A response is answered although watchers have not finished in time. */
  | {
      readonly _tag: "Stuck"
      readonly stream: string
      readonly typeUrl: string
      /** The watched name of each such watcher. */
      readonly names: ReadonlyArray<string>
    }

type Step = readonly [FlowControl, ReadonlyArray<Output>]

const nothing: ReadonlyArray<Output> = []

/**
 * A client without watches.
 *
 * @since 0.1.0
 */
export const make = ({
  watcherTimeout = 10_000,
  ...options
}: Client.OptionsInput & { readonly watcherTimeout?: number | undefined }): FlowControl => ({
  client: Client.make(options),
  watcherTimeout,
  deliveries: []
})

/**
 * The client with one more watchable type. Left: the type already has another decoder.
 *
 * @since 0.1.0
 */
export const withDecoder = (self: FlowControl, decoder: ResourceDecoder): Either.Either<FlowControl, DecoderConflict> =>
  Either.map(Client.withDecoder(self.client, decoder), (client) =>
    client === self.client ? self : { ...self, client }
  )

/**
 * Time of the next `Deadline` input in milliseconds; Infinity if none is due. May be too early.
 *
 * @since 0.1.0
 */
export const deadline = (self: FlowControl): number => {
  let at = Client.deadline(self.client)
  for (const { until } of self.deliveries) at = Math.min(at, until)
  return at
}

/**
 * The state of every resource that is watched, by name or by wildcard.
 *
 * @since 0.1.0
 */
export const dump = (self: FlowControl): ReadonlyArray<Client.ResourceStatus> => Client.dump(self.client)

/**
 * How many resources {@link dump} lists, at most.
 *
 * @since 0.1.0
 */
export const size = (self: FlowControl): number => Client.size(self.client)

/**
 * Applies one input. Total, like {@link Client.step}.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = (self: FlowControl, input: Input, now: number): Step => {
  switch (input._tag) {
    case "Taken":
      return take(self, input.watcher, now)
    case "Unwatch":
      // The answer first, as long as the name is subscribed; then the unsubscription.
      return then(take(self, input.watcher, now), (next) => pass(next, input, now))
    case "Deadline":
      return then(giveUp(self, now), (next) => pass(next, input, now))
    case "Response":
      return receive(self, input, pass(self, input, now), now)
    case "Ended": {
      const deliveries = without(self.deliveries, input.stream)
      return pass(deliveries === self.deliveries ? self : { ...self, deliveries }, input, now)
    }
    default:
      return pass(self, input, now)
  }
}

/**
 * {@link step} for a response, in steps; `undefined`: it is not much work. No other input may be stepped before the result; types
 * may be added meanwhile, see {@link withDecodersOf}.
 *
 * @since 0.1.0
 */
export const stepInSteps = (
  self: FlowControl,
  input: Client.Input & { readonly _tag: "Response" },
  now: number
): Steps.Steps<Step> | undefined => {
  const work = Client.stepInSteps(self.client, input, now)
  return work && delivering(self, input, work, now)
}

const delivering = function* (
  self: FlowControl,
  input: Client.Input & { readonly _tag: "Response" },
  work: Steps.Steps<readonly [Client.Client, ReadonlyArray<Client.Output>]>,
  now: number
): Steps.Steps<Step> {
  const step = passed(self, yield* work)
  const told = HashSet.beginMutation(HashSet.empty<number>())
  yield* Steps.each(toldBy(step[1]), (watcher) => HashSet.add(told, watcher))
  return deliver(self, input, step, HashSet.endMutation(told), now)
}

/**
 * The state with the types of another state of it.
 *
 * @since 0.1.0
 */
export const withDecodersOf = (self: FlowControl, { client }: FlowControl): FlowControl => {
  const next = Client.withDecodersOf(self.client, client)
  return next === self.client ? self : { ...self, client: next }
}

const then = ([self, outputs]: Step, next: (self: FlowControl) => Step): Step => {
  const [after, more] = next(self)
  return outputs.length === 0 ? [after, more] : [after, [...outputs, ...more]]
}

/** Steps the client. */
const pass = (self: FlowControl, input: Client.Input, now: number): Step =>
  passed(self, Client.step(self.client, input, now))

const passed = (self: FlowControl, [client, outputs]: readonly [Client.Client, ReadonlyArray<Client.Output>]): Step => {
  let { deliveries } = self
  for (const output of outputs) if (output._tag === "Close") deliveries = without(deliveries, output.stream)
  return [{ ...self, client, deliveries }, outputs]
}

const without = (deliveries: ReadonlyArray<Delivery>, stream: string): ReadonlyArray<Delivery> =>
  deliveries.some((each) => each.stream === stream) ? deliveries.filter((each) => each.stream !== stream) : deliveries

/** Who receives a result. */
const toldBy = (outputs: ReadonlyArray<Output>): ReadonlySet<number> => {
  const told = new Set<number>()
  for (const output of outputs) if (output._tag === "Notify") for (const watcher of output.watchers) told.add(watcher)
  return told
}

const receive = (
  self: FlowControl,
  input: Client.Input & { readonly _tag: "Response" },
  step: Step,
  now: number
): Step => deliver(self, input, step, HashSet.fromIterable(toldBy(step[1])), now)

/** Handles a response. It is answered at once if no watcher receives a result. */
const deliver = (
  self: FlowControl,
  input: Client.Input & { readonly _tag: "Response" },
  [next, outputs]: Step,
  told: HashSet.HashSet<number>,
  now: number
): Step => {
  let received: (Client.Output & { readonly _tag: "Received" }) | undefined
  let isClosed = false
  for (const output of outputs) {
    if (output._tag === "Received") received = output
    else if (output._tag === "Close") isClosed ||= output.stream === input.stream
  }
  if (isClosed) return [next, outputs]
  // ★ A response of an unknown type is not answered; reading must go on all the same.
  if (received === undefined) return [next, [...outputs, { _tag: "Read", stream: input.stream }]]
  const { nonce, stream, typeUrl } = received
  const isSame = (each: Delivery) => each.stream === stream && each.typeUrl === typeUrl
  // Only a server that ignores flow control sends another one before the answer: one answer covers both.
  const before = self.deliveries.find(isSame)
  const watchers = before === undefined ? told : HashSet.union(told, before.watchers)
  const until = before?.until ?? now + self.watcherTimeout
  const delivery: Delivery = { stream, typeUrl, nonce, watchers, until }
  const deliveries = [...next.deliveries.filter((each) => !isSame(each)), delivery]
  return then([{ ...next, deliveries }, outputs], (after) => answer(after, [delivery], now))
}

/** Removes a watcher from the deliveries. */
const take = (self: FlowControl, watcher: number, now: number): Step => {
  if (!self.deliveries.some(({ watchers }) => HashSet.has(watchers, watcher))) return [self, nothing]
  const deliveries = self.deliveries.map((each) =>
    HashSet.has(each.watchers, watcher) ? { ...each, watchers: HashSet.remove(each.watchers, watcher) } : each
  )
  return answer({ ...self, deliveries }, deliveries, now)
}

/** Ends the wait for watchers whose time is over. */
const giveUp = (self: FlowControl, now: number): Step => {
  if (self.deliveries.every(({ until }) => now < until)) return [self, nothing]
  const outputs: Array<Output> = []
  const deliveries = self.deliveries.map((each) => {
    if (now < each.until) return each
    const names = Array.from(each.watchers, (watcher) =>
      Option.match(HashMap.get(self.client.watches, watcher), { onNone: () => "", onSome: ({ name }) => name })
    )
    outputs.push({ _tag: "Stuck", stream: each.stream, typeUrl: each.typeUrl, names })
    return { ...each, watchers: HashSet.empty<number>() }
  })
  return then([{ ...self, deliveries }, outputs], (next) => answer(next, deliveries, now))
}

/** Answers the deliveries without watchers, and reads on. */
const answer = (self: FlowControl, deliveries: ReadonlyArray<Delivery>, now: number): Step => {
  let result: Step = [self, nothing]
  for (const delivery of deliveries) {
    const { nonce, stream, typeUrl } = delivery
    if (HashSet.size(delivery.watchers) > 0) continue
    result = then(result, (next) => {
      const left = next.deliveries.filter((each) => each !== delivery)
      return pass({ ...next, deliveries: left }, { _tag: "Processed", stream, typeUrl, nonce }, now)
    })
    // An answer never closes a stream.
    if (!result[0].deliveries.some((each) => each.stream === stream)) {
      result = [result[0], [...result[1], { _tag: "Read", stream }]]
    }
  }
  return result
}
