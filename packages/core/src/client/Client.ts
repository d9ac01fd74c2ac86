/**
 * An xDS client as one reducer: its watches, its cache, and its streams to the servers of its authorities.
 *
 * The driver executes the outputs and reports what happened as inputs: it opens and closes streams, writes requests, reads
 * responses, delivers notices, and sends a `Deadline` input at the {@link deadline}.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @see https://github.com/grpc/proposal/blob/master/A71-xds-fallback.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import * as Steps from "../Steps.js"
import type { Entry } from "./ClientCache.js"
import * as ClientCache from "./ClientCache.js"
import type { Client } from "./ClientDraft.js"
import { ClientDraft, responseDelay } from "./ClientDraft.js"
import type { Input } from "./ClientInput.js"
import type { OptionsInput } from "./ClientOptions.js"
import { withDefaults } from "./ClientOptions.js"
import type { Output } from "./ClientOutput.js"
import * as ClientStream from "./ClientStream.js"
import * as ClientWatch from "./ClientWatch.js"
import * as Fallback from "./Fallback.js"
import * as ReceivedResponse from "./ReceivedResponse.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"
import { DecoderConflict } from "./ResourceDecoder.js"

export type { Client } from "./ClientDraft.js"
export type { Input } from "./ClientInput.js"
export type { Options, OptionsInput, Server } from "./ClientOptions.js"
export type { Output, ViolationReason } from "./ClientOutput.js"

/**
 * A client without watches. It connects to no server.
 *
 * @since 0.1.0
 */
export const make = (given: OptionsInput): Client => ({
  options: withDefaults(given),
  cache: ClientCache.empty,
  watches: HashMap.empty(),
  serverLists: new Map(),
  streams: new Map(),
  paused: HashSet.empty()
})

/**
 * The client with one more watchable type. Left: the type already has another decoder.
 *
 * @since 0.1.0
 */
export const withDecoder = (self: Client, decoder: ResourceDecoder): Either.Either<Client, DecoderConflict> => {
  const { decoders } = self.options
  const known = decoders.find(({ typeUrl }) => typeUrl === decoder.typeUrl)
  if (known === decoder) return Either.right(self)
  if (known !== undefined) return Either.left(new DecoderConflict({ typeUrl: decoder.typeUrl }))
  return Either.right({ ...self, options: { ...self.options, decoders: [...decoders, decoder] } })
}

/**
 * Time of the next `Deadline` input in milliseconds, on the clock of `now`; Infinity if none is due. May be too early.
 *
 * @since 0.1.0
 */
export const deadline = (self: Client): number => {
  let at = ClientCache.deadline(self.cache)
  for (const { stream } of self.streams.values()) at = Math.min(at, ClientStream.deadline(stream))
  return at
}

/**
 * The state of one resource, as CSDS shows it.
 *
 * @since 0.1.0
 */
export interface ResourceStatus extends Pick<Entry, "status" | "held" | "failure"> {
  readonly typeUrl: string
  readonly name: string
}

/**
 * The state of every resource that is watched, by name or by wildcard.
 *
 * @since 0.1.0
 */
export const dump = (self: Client): ReadonlyArray<ResourceStatus> => {
  const found: Array<ResourceStatus> = []
  for (const typeUrl of ClientCache.typeUrls(self.cache)) {
    for (const [name, { failure, held, status }] of ClientCache.entries(self.cache, typeUrl)) {
      if (!ClientCache.isRetained(self.cache, typeUrl, name)) found.push({ typeUrl, name, status, held, failure })
    }
  }
  return found
}

/**
 * How many resources {@link dump} lists, at most.
 *
 * @since 0.1.0
 */
export const size = (self: Client): number => {
  let count = 0
  for (const typeUrl of ClientCache.typeUrls(self.cache)) count += ClientCache.count(self.cache, typeUrl)
  return count
}

/**
 * Applies one input. Total: every input of a server leads to a state and outputs.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = (self: Client, input: Input, now: number): readonly [Client, ReadonlyArray<Output>] => {
  const draft = new ClientDraft(self, now, Fallback.reports)
  take(draft, input)
  return draft.end()
}

/**
 * {@link step} for a response, in steps; `undefined`: it is not much work. No other input may be stepped before the result; types
 * may be added meanwhile, see {@link withDecodersOf}.
 *
 * @since 0.1.0
 */
export const stepInSteps = (
  self: Client,
  input: Input & { readonly _tag: "Response" },
  now: number
): Steps.Steps<readonly [Client, ReadonlyArray<Output>]> | undefined =>
  isLong(self, input) ? steppingInSteps(self, input, now) : undefined

const steppingInSteps = function* (
  self: Client,
  input: Input & { readonly _tag: "Response" },
  now: number
): Steps.Steps<readonly [Client, ReadonlyArray<Output>]> {
  const draft = new ClientDraft(self, now, Fallback.reports)
  yield* ReceivedResponse.receiveInSteps(draft, input.stream, input.response)
  return draft.end()
}

/** Whether a response is long, or may say something of many held resources: what a full state lacks, or that collections end. */
const isLong = (
  { cache, options, streams }: Client,
  { response, stream }: Input & { readonly _tag: "Response" }
): boolean => {
  const { errors, protocol, removed, resources } = response
  if (resources.length + removed.length + errors.length > Steps.atOnce) return true
  const typeUrl = response.typeUrl === "" ? (streams.get(stream)?.typeUrl ?? "") : response.typeUrl
  if (ClientCache.count(cache, typeUrl) <= Steps.atOnce) return false
  const isMany = (name: string) => name === "*" || Collection.isGlob(name)
  const isFullState = () => options.decoders.some((each) => each.typeUrl === typeUrl && each.isFullState)
  if (protocol === "StateOfTheWorld" && isFullState()) return true
  return removed.some(isMany) || errors.some(({ name }) => isMany(name))
}

/**
 * The client with the types of another state of it.
 *
 * @since 0.1.0
 */
export const withDecodersOf = (self: Client, { options }: Client): Client =>
  self.options.decoders === options.decoders
    ? self
    : { ...self, options: { ...self.options, decoders: options.decoders } }

const take = (draft: ClientDraft, input: Input): void => {
  switch (input._tag) {
    case "Watch":
      return ClientWatch.watch(draft, input.watcher, input.typeUrl, input.name)
    case "Unwatch":
      return ClientWatch.unwatch(draft, input.watcher)
    case "Own": {
      draft.cache = ClientCache.own(draft.cache, input.typeUrl, input.claim, input.owner, input.keys)
      return
    }
    case "Refresh": {
      const { typeUrl } = input
      const names = input.names.map(Authority.normalize)
      for (const key of draft.streams.keys()) draft.drive(key, { _tag: "Refresh", typeUrl, names })
      return
    }
    case "Pause":
    case "Resume": {
      const { typeUrl } = input
      draft.paused = (input._tag === "Pause" ? HashSet.add : HashSet.remove)(draft.paused, typeUrl)
      for (const key of draft.streams.keys()) draft.drive(key, { _tag: input._tag, typeUrl })
      return
    }
    case "Connected":
      return draft.drive(input.stream, { _tag: "Connected" })
    case "Written": {
      const writing = draft.streams.get(input.stream)?.stream.writing
      if (writing !== undefined) {
        draft.cache = ClientCache.retain(draft.cache, writing.typeUrl, input.stream, draft.now + responseDelay)
      }
      return draft.drive(input.stream, { _tag: "Written" })
    }
    case "Processed":
      return draft.drive(input.stream, { _tag: "Processed", typeUrl: input.typeUrl, nonce: input.nonce })
    case "Ended": {
      // Drop what was retained: the next stream starts from the current subscriptions.
      draft.dropRetainedOf(input.stream)
      return draft.drive(input.stream, { _tag: "Ended", error: input.error, random: input.random })
    }
    case "Response":
      return ReceivedResponse.receive(draft, input.stream, input.response)
    case "Deadline": {
      for (const key of Array.from(draft.streams.keys())) draft.drive(key, { _tag: "Deadline" })
      const [cache, notices, lost] = ClientCache.expire(draft.cache, draft.now)
      draft.cache = cache
      for (const typeUrl of lost) for (const key of draft.streams.keys()) draft.drive(key, { _tag: "Lost", typeUrl })
      return draft.notify(notices)
    }
  }
}
