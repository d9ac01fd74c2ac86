/**
 * The streams of a client to one server, one after another: connection, backoff, the next request, and resource timers.
 * Subscriptions outlive a stream.
 *
 * At most one request is being written. The next one is made after that, from the state at that time.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @since 0.1.0
 */
import * as HashSet from "effect/HashSet"
import * as StatusCode from "../protocol/StatusCode.js"
import type { ErrorDetail, Protocol, Request } from "../wire/Request.js"
import * as Backoff from "./Backoff.js"
import type { ByAuthority } from "../protocol/DynamicParameters.js"
import type { ClientSubscription } from "./ClientSubscription.js"
import * as ClientSubscriptions from "./ClientSubscription.js"
import * as NextRequest from "./NextRequest.js"
import * as ResourceTimer from "./ResourceTimer.js"

/**
 * The options of a stream. Fixed.
 *
 * @since 0.1.0
 */
export interface Options {
  readonly protocol: Protocol
  /** The encoded `Node`, for the first request of a stream. */
  readonly node: Uint8Array | undefined
  /** Milliseconds from a request until a resource that did not come counts as missing. Default: 15 000. */
  readonly resourceTimeout: number
  readonly backoff: Backoff.Options
  /** Beside all names, in locators (TP2). `undefined`: names only. */
  readonly parameters: ByAuthority | undefined
}

/**
 * The state. Made by {@link make}, changed by {@link step}; its fields are private.
 *
 * @since 0.1.0
 */
export interface ClientStream {
  readonly options: Options
  /** `idle`: no subscription. `waiting`: for {@link retryAt}. */
  readonly connection: "idle" | "waiting" | "connecting" | "connected"
  /** The earliest time of the next attempt, in milliseconds. */
  readonly retryAt: number
  readonly backoff: Backoff.Backoff
  /** Whether this stream had a response, or a silence that counts as one. */
  readonly responded: boolean
  /** End of the time for a first response, in milliseconds; Infinity if none runs. */
  readonly responseDueAt: number
  /** The connectivity error; `undefined` while the server answers, and before the first attempt ends. */
  readonly failure: ErrorDetail | undefined
  readonly nodeSent: boolean
  /** The request that is being written. */
  readonly writing: { readonly typeUrl: string; readonly names: ReadonlyArray<string> } | undefined
  /** In the order of the first subscription. */
  readonly subscriptions: ReadonlyArray<ClientSubscription>
  /** Types whose requests wait for `Resume`. */
  readonly paused: HashSet.HashSet<string>
}

/**
 * An event for a stream.
 *
 * @since 0.1.0
 */
export type Input =
  | {
      readonly _tag: "Subscribe"
      readonly typeUrl: string
      /** `*` is the wildcard. */
      readonly names: Iterable<string>
      /** Names of resources that the client has already: they get no timer. */
      readonly cached: ReadonlySet<string>
    }
  | { readonly _tag: "Unsubscribe"; readonly typeUrl: string; readonly names: Iterable<string> }
  | { readonly _tag: "Refresh"; readonly typeUrl: string; readonly names: Iterable<string> }
  | { readonly _tag: "Pause"; readonly typeUrl: string }
  | { readonly _tag: "Resume"; readonly typeUrl: string }
  | { readonly _tag: "Connected" }
  | { readonly _tag: "Written" }
  /** A validated response of a subscribed type. `error`: the error of the NACK, if any. */
  | {
      readonly _tag: "Received"
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly error: ErrorDetail | undefined
      /** Whether an equal response was NACKed before, and this one has nothing new. */
      readonly isRepeat: boolean
      /** Whether it has a resource that was not requested by name. */
      readonly isWild: boolean
    }
  /** The server is alive: it sent a response of an unknown type, or was silent because it had nothing to send. */
  | { readonly _tag: "Responsive" }
  /** Names that came, or that the server said something else of. */
  | { readonly _tag: "Resolved"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  | { readonly _tag: "Processed"; readonly typeUrl: string; readonly nonce: string }
  | { readonly _tag: "Ended"; readonly error: ErrorDetail; readonly random: number }
  /** Another server changed held resources of this type. Only the next stream can declare that to this server. */
  | { readonly _tag: "Undeclared"; readonly typeUrl: string }
  /** The client dropped resources of this type that it still wants, or took them from another server. */
  | { readonly _tag: "Lost"; readonly typeUrl: string }
  /** The client closed the stream, and the next one starts. */
  | { readonly _tag: "Restart" }
  | { readonly _tag: "Deadline" }

/**
 * An instruction or event for the client.
 *
 * @since 0.1.0
 */
export type Output =
  | { readonly _tag: "Connect" }
  | { readonly _tag: "Send"; readonly request: Request }
  /** Requests were written, and no response came within the resource timeout. `Responsive` says that none was due. */
  | { readonly _tag: "Silent" }
  /** The resource timers of these names ended. */
  | { readonly _tag: "TimedOut"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** The stream ended without a response. */
  | { readonly _tag: "Failed"; readonly error: ErrorDetail; readonly retryAt: number }

const never = Number.POSITIVE_INFINITY
const none: ReadonlyArray<Output> = []
const closed: ErrorDetail = { code: StatusCode.codes.OK, message: "" }

/**
 * A stream without subscriptions.
 *
 * @since 0.1.0
 */
export const make = (options: Pick<Options, "protocol"> & Partial<Options>): ClientStream => ({
  options: { node: undefined, resourceTimeout: 15_000, backoff: Backoff.defaults, parameters: undefined, ...options },
  connection: "idle",
  retryAt: Number.NEGATIVE_INFINITY,
  backoff: Backoff.initial,
  responded: false,
  responseDueAt: never,
  failure: undefined,
  nodeSent: false,
  writing: undefined,
  subscriptions: [],
  paused: HashSet.empty()
})

/**
 * Time of the next `Deadline` input in milliseconds; Infinity if none is due. May be too early, never too late.
 *
 * @since 0.1.0
 */
export const deadline = (self: ClientStream): number => {
  let at = self.connection === "waiting" ? self.retryAt : self.responseDueAt
  for (const subscription of self.subscriptions) at = Math.min(at, ClientSubscriptions.deadline(subscription))
  return at
}

/**
 * The subscription of a type; `undefined` if there never was one.
 *
 * @since 0.1.0
 */
export const subscription = (self: ClientStream, typeUrl: string): ClientSubscription | undefined =>
  self.subscriptions.find((each) => each.typeUrl === typeUrl)

const put = (self: ClientStream, next: ClientSubscription): ClientStream => {
  const index = self.subscriptions.findIndex((each) => each.typeUrl === next.typeUrl)
  if (self.subscriptions[index] === next) return self
  const subscriptions = index < 0 ? [...self.subscriptions, next] : self.subscriptions.with(index, next)
  return { ...self, subscriptions }
}

const change = (
  self: ClientStream,
  typeUrl: string,
  f: (subscription: ClientSubscription) => ClientSubscription
): ClientStream => {
  const known = subscription(self, typeUrl)
  return known === undefined ? self : put(self, f(known))
}

/**
 * Applies one input.
 *
 * @param now milliseconds, never less than in the step before
 * @param held incremental: name → version of the resources from this server, for the first request of a subscription
 * @since 0.1.0
 */
export const step = (
  self: ClientStream,
  input: Input,
  now: number,
  held: (subscription: ClientSubscription) => ReadonlyMap<string, string>
): readonly [ClientStream, ReadonlyArray<Output>] => {
  switch (input._tag) {
    case "Subscribe": {
      const before = subscription(self, input.typeUrl) ?? ClientSubscriptions.make(input.typeUrl)
      return flush(put(self, ClientSubscriptions.subscribe(before, input.names, input.cached)), none, now, held)
    }
    case "Unsubscribe":
      return flush(
        change(self, input.typeUrl, (each) => ClientSubscriptions.unsubscribe(each, input.names)),
        none,
        now,
        held
      )
    case "Refresh":
      return flush(
        change(self, input.typeUrl, (each) => ClientSubscriptions.refresh(each, input.names)),
        none,
        now,
        held
      )
    case "Pause":
      return [{ ...self, paused: HashSet.add(self.paused, input.typeUrl) }, none]
    case "Resume":
      return flush({ ...self, paused: HashSet.remove(self.paused, input.typeUrl) }, none, now, held)
    case "Connected":
      if (self.connection !== "connecting") return [self, none]
      return flush({ ...self, connection: "connected" }, none, now, held)
    case "Written": {
      const { options, writing } = self
      if (writing === undefined) return [self, none]
      // ★ Not before the request is written: a request that waits for a connection starts no timer.
      const at = now + options.resourceTimeout
      const armed = change(self, writing.typeUrl, (each) =>
        ResourceTimer.arm(ClientSubscriptions.written(each, writing.names, now), writing.names, at)
      )
      const responseDueAt = self.responded ? never : Math.min(self.responseDueAt, at)
      return flush({ ...armed, responseDueAt, writing: undefined }, none, now, held)
    }
    case "Received":
      return flush(
        change(respond(self), input.typeUrl, (each) =>
          ClientSubscriptions.receive(each, self.options.protocol, input, self.options.backoff, now)
        ),
        none,
        now,
        held
      )
    case "Responsive":
      return [respond(self), none]
    case "Resolved":
      return [change(self, input.typeUrl, (each) => ClientSubscriptions.resolve(each, input.names)), none]
    case "Processed":
      return flush(
        change(self, input.typeUrl, (each) => ClientSubscriptions.apply(each, input.nonce)),
        none,
        now,
        held
      )
    case "Ended":
      return end(self, input.error, input.random, now)
    case "Undeclared":
      return [change(self, input.typeUrl, ClientSubscriptions.markUndeclared), none]
    case "Lost":
      return [change(self, input.typeUrl, ClientSubscriptions.lose), none]
    case "Restart": {
      if (self.connection !== "connected") return [self, none]
      // The client ended the stream, not the server: the connectivity state stays.
      const [ended] = end({ ...self, responded: true }, closed, 0, now)
      return flush(ended, none, now, held)
    }
    case "Deadline": {
      const outputs: Array<Output> = []
      let next = self
      if (now >= self.responseDueAt) {
        outputs.push({ _tag: "Silent" })
        next = { ...next, responseDueAt: never }
      }
      for (const each of self.subscriptions) {
        const [released, expired] = ResourceTimer.expire(ClientSubscriptions.release(each, now), now)
        next = put(next, released)
        if (expired.length > 0) outputs.push({ _tag: "TimedOut", typeUrl: each.typeUrl, names: expired })
      }
      return flush(next, outputs, now, held)
    }
  }
}

/** Marks the server as alive. */
const respond = (self: ClientStream): ClientStream =>
  self.connection !== "connected" || self.responded
    ? self
    : { ...self, responded: true, responseDueAt: never, backoff: Backoff.reset(self.backoff), failure: undefined }

const end = (
  self: ClientStream,
  error: ErrorDetail,
  random: number,
  now: number
): readonly [ClientStream, ReadonlyArray<Output>] => {
  if (self.connection !== "connected" && self.connection !== "connecting") return [self, none]
  const { options, responded } = self
  const [backoff, retryAt] = responded
    ? [self.backoff, Backoff.earliest(self.backoff, options.backoff, now)]
    : Backoff.fail(self.backoff, options.backoff, random, now)
  const subscriptions = self.subscriptions.map(ClientSubscriptions.end)
  const next: ClientStream = {
    ...self,
    connection: "waiting",
    retryAt,
    backoff,
    responded: false,
    responseDueAt: never,
    failure: responded ? self.failure : error,
    nodeSent: false,
    writing: undefined,
    subscriptions
  }
  // After a response, the end of a stream is no error: servers end streams to balance load.
  return [rest(next), responded ? none : [{ _tag: "Failed", error, retryAt }]]
}

/** Without a subscription there is no connection and no failure. */
const rest = (self: ClientStream): ClientStream =>
  self.connection !== "waiting" || self.subscriptions.some(ClientSubscriptions.isWanted)
    ? self
    : { ...self, connection: "idle", failure: undefined }

/** Takes the next possible action: connects, or sends one request. */
const flush = (
  self: ClientStream,
  before: ReadonlyArray<Output>,
  now: number,
  held: (subscription: ClientSubscription) => ReadonlyMap<string, string>
): readonly [ClientStream, ReadonlyArray<Output>] => {
  if (self.connection === "idle" && self.subscriptions.some(ClientSubscriptions.isWanted)) {
    return flush({ ...self, connection: "waiting" }, before, now, held)
  }
  if (self.connection === "waiting") {
    if (!self.subscriptions.some(ClientSubscriptions.isWanted)) return [rest(self), before]
    if (now < self.retryAt) return [self, before]
    const next: ClientStream = { ...self, connection: "connecting", backoff: Backoff.start(self.backoff, now) }
    return [next, [...before, { _tag: "Connect" }]]
  }
  if (self.connection !== "connected" || self.writing !== undefined) return [self, before]
  const next = nextDue(self)
  if (next === undefined) return [self, before]
  const { node, parameters, protocol } = self.options
  const shown = self.nodeSent ? undefined : node
  const isLocated = parameters !== undefined
  const [after, sent] = NextRequest.send(next, protocol, shown, () => held(next), isLocated)
  const { fresh, request } = sent
  if (request === undefined) {
    // The wildcard already covers these names, so no request is due.
    const armed = ResourceTimer.arm(after, fresh, now + self.options.resourceTimeout)
    return flush(put(self, armed), before, now, held)
  }
  return [
    { ...put(self, after), nodeSent: true, writing: { typeUrl: next.typeUrl, names: fresh } },
    [...before, { _tag: "Send", request: parameters === undefined ? request : { ...request, parameters } }]
  ]
}

/**
 * The type with the next request: first requests, then changed subscriptions, then ACKs and NACKs. ★ So requests that a
 * response causes leave before its ACK.
 */
const nextDue = (self: ClientStream): ClientSubscription | undefined => {
  let change: ClientSubscription | undefined
  let answer: ClientSubscription | undefined
  for (const each of self.subscriptions) {
    if (HashSet.has(self.paused, each.typeUrl)) continue
    const due = NextRequest.due(each, self.options.protocol)
    if (due === "first") return each
    if (due === "change") change ??= each
    else if (due === "answer") answer ??= each
  }
  return change ?? answer
}
