/**
 * One type on one stream, on the client's side: the subscription, the part of it that the server does not know yet, answers
 * that are due, and resource timers.
 *
 * Requests are not queued: a request is made when it can be sent. So a hundred new names behind a slow connection share one
 * request, and an ACK carries the names as they are when it leaves.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import type { ErrorDetail, Protocol } from "../wire/Request.js"
import * as Backoff from "./Backoff.js"
import type { ResourceTimers } from "./ResourceTimer.js"
import * as ResourceTimer from "./ResourceTimer.js"

/**
 * An ACK or NACK that is not sent yet.
 *
 * @since 0.1.0
 */
export interface Answer {
  readonly nonce: string
  /** The error of a NACK; `undefined` for an ACK. */
  readonly error: ErrorDetail | undefined
  /** Whether the application has processed the response. Before that it is not answered. */
  readonly applied: boolean
}

/**
 * The state of one type on successive streams to one server.
 *
 * @since 0.1.0
 */
export interface ClientSubscription extends ResourceTimers {
  readonly typeUrl: string
  /** Subscribed names, without `*`. */
  readonly names: HashSet.HashSet<string>
  /** Whether the wildcard is subscribed. */
  readonly wildcard: boolean
  /** Whether a name was ever subscribed: then the wildcard is requested as `*`, not by an empty list. */
  readonly named: boolean
  /** Whether an `xdstp` name was ever subscribed: a wildcard does not cover those. */
  readonly federated: boolean
  /** Whether a glob collection was ever subscribed. */
  readonly collected: boolean
  /** State of the world: the last accepted version, of any stream. */
  readonly version: string
  /**
   * ★ State of the world: whether requests quote {@link version}. Some servers answer with nothing if it is theirs, so it is not
   * quoted if the client lacks resources of it.
   *
   * - `Yes`: it has all that it wants of that version
   * - `UntilSubscribed`: it gave some up, and quotes it until it wants something that it does not have
   * - `No`: it lacks some, has fallen back from this server, or the wildcard is new
   * - `NotYet`: the wildcard is new, and the last response may have crossed its request, which servers ignore then
   */
  readonly quoting: "Yes" | "UntilSubscribed" | "No" | "NotYet"
  /** Names that are requested again and have not come since. A stream may end before the answer. */
  readonly refreshing: HashSet.HashSet<string>

  // The fields below belong to the present stream.

  /** Whether a request was sent. Before that the server does not know the type. */
  readonly hasRequested: boolean
  /** Whether a request listed names. Before that an empty list is the legacy wildcard. */
  readonly explicit: boolean
  /** State of the world: how many more responses may count as a sign that the server saw no names; see {@link receive}. */
  readonly ambiguous: number
  /** The nonce of the last response. */
  readonly nonce: string
  /** Whether the subscription changed since the last request. */
  readonly changed: boolean
  /** Names that no request of this stream listed yet, or that are requested again. */
  readonly fresh: HashSet.HashSet<string>
  /** Names unsubscribed since a request listed them. A name subscribed again is in `fresh`, too. */
  readonly dropped: HashSet.HashSet<string>
  /** State of the world: whether a requested name was given up since the last accepted response. The next one may still have it. */
  readonly gaveUp: boolean
  /** Names that were first requested after the stream's first request: a response may answer an earlier one. */
  readonly late: HashSet.HashSet<string>
  /** When a request with such names was last written, in milliseconds; Infinity if none was. */
  readonly lateAt: number
  /** Incremental: whether another server changed held resources since this stream began. */
  readonly undeclared: boolean
  /** In the order of the responses. In state of the world only the last response is answered. Bounded. */
  readonly answers: ReadonlyArray<Answer>
  /** The last NACK, while the server repeats the response. */
  readonly rejection: Rejection | undefined
  /** End of the delay of an answer, in milliseconds; Infinity if none is delayed. */
  readonly heldBackUntil: number
  /** {@link names} as an array for requests, until they change. */
  readonly listed: ReadonlyArray<string> | undefined
}

/**
 * A response and the verdict of the client.
 *
 * @since 0.1.0
 */
export interface Judged {
  readonly nonce: string
  readonly version: string
  /** The error of the NACK; `undefined` for an ACK. */
  readonly error: ErrorDetail | undefined
  /** Whether an equal response was NACKed before, and this one has nothing new. */
  readonly isRepeat: boolean
  /** Whether it has a resource that was not requested by name: the wildcard brought it. */
  readonly isWild: boolean
}

/**
 * A NACK, and how often the server repeated the response.
 *
 * @since 0.1.0
 */
export interface Rejection {
  readonly version: string
  readonly message: string
  readonly repeats: number
  /** Until then the same error in another version counts as a repetition, too; in milliseconds. */
  readonly until: number
}

const never = Number.POSITIVE_INFINITY

/**
 * Most attempts to leave a legacy wildcard. More would be a loop with a server that answers each.
 *
 * @since 0.1.0
 */
export const maxAmbiguous = 3

/** Most unanswered incremental responses. Only a server that ignores flow control sends more. */
const maxAnswers = 64

const noNames = HashSet.empty<string>()

/**
 * A type without subscription.
 *
 * @since 0.1.0
 */
export const make = (typeUrl: string): ClientSubscription => ({
  typeUrl,
  names: HashSet.empty(),
  wildcard: false,
  named: false,
  federated: false,
  collected: false,
  waiting: HashMap.empty(),
  dueAt: never,
  version: "",
  quoting: "Yes",
  refreshing: noNames,
  hasRequested: false,
  explicit: false,
  ambiguous: 0,
  nonce: "",
  changed: false,
  fresh: noNames,
  dropped: noNames,
  gaveUp: false,
  late: noNames,
  lateAt: never,
  undeclared: false,
  answers: [],
  rejection: undefined,
  heldBackUntil: never,
  listed: undefined
})

/**
 * Whether anything is subscribed.
 *
 * @since 0.1.0
 */
export const isWanted = (self: ClientSubscription): boolean => self.wildcard || HashSet.size(self.names) > 0

/**
 * Whether a subscribed collection brings a name.
 *
 * @since 0.1.0
 */
export const isMember = ({ collected, names }: ClientSubscription, name: string): boolean => {
  const glob = collected ? Collection.of(name) : undefined
  return glob !== undefined && HashSet.has(names, glob)
}

/**
 * Whether the subscription covers a resource. A wildcard does not cover all names; see `Authority.isInWildcard`.
 *
 * @since 0.1.0
 */
export const brings = (self: ClientSubscription, name: string): boolean =>
  HashSet.has(self.names, name) || (self.wildcard && Authority.isInWildcard(name)) || isMember(self, name)

/**
 * Whether a response answers a request for a resource: only then does its absence mean something.
 *
 * @param crossed requests written up to this time, in milliseconds, count as answered
 * @since 0.1.0
 */
export const isAnswered = (self: ClientSubscription, name: string, crossed: number): boolean => {
  const isLate = (asked: string) => HashSet.has(self.late, asked) && self.lateAt > crossed
  if (HashSet.has(self.names, name)) return !isLate(name)
  if (isMember(self, name)) return !isLate(Collection.of(name) ?? name)
  return self.wildcard && Authority.isInWildcard(name) && !isLate("*")
}

/**
 * The subscription after a request with these names was written.
 *
 * @since 0.1.0
 */
export const written = (self: ClientSubscription, names: ReadonlyArray<string>, now: number): ClientSubscription =>
  names.some((name) => HashSet.has(self.late, name)) ? { ...self, lateAt: now } : self

/**
 * Subscribes to names; `*` is the wildcard. Names in `cached` get no timer: the client has their resources already.
 *
 * @since 0.1.0
 */
export const subscribe = (
  self: ClientSubscription,
  names: Iterable<string>,
  cached: ReadonlySet<string>
): ClientSubscription => {
  let { collected, federated, named, quoting, wildcard } = self
  let changed = false
  const wanted = HashSet.beginMutation(self.names)
  const waiting = HashMap.beginMutation(self.waiting)
  const fresh = HashSet.beginMutation(self.fresh)
  const late = HashSet.beginMutation(self.late)
  for (const name of names) {
    if (name === "*") {
      if (wildcard) continue
      wildcard = true
      // If the server does not know yet that it ended, its resources are still there.
      if (!HashSet.has(self.dropped, name)) quoting = "No"
    } else {
      if (HashSet.has(wanted, name)) continue
      HashSet.add(wanted, name)
      named = true
      federated ||= Authority.ofName(name) !== undefined
      collected ||= Collection.isGlob(name)
      if (!cached.has(name)) {
        HashMap.set(waiting, name, never)
        if (quoting === "UntilSubscribed") quoting = "No"
      }
    }
    HashSet.add(fresh, name)
    if (self.hasRequested) HashSet.add(late, name)
    changed = true
  }
  HashSet.endMutation(wanted)
  HashMap.endMutation(waiting)
  HashSet.endMutation(fresh)
  HashSet.endMutation(late)
  return changed
    ? {
        ...self,
        names: wanted,
        wildcard,
        named,
        quoting,
        federated,
        collected,
        waiting,
        fresh,
        late,
        changed,
        listed: undefined
      }
    : self
}

/**
 * Unsubscribes from names. ★ Their timers are cancelled.
 *
 * @since 0.1.0
 */
export const unsubscribe = (self: ClientSubscription, names: Iterable<string>): ClientSubscription => {
  let { gaveUp, refreshing, wildcard } = self
  let changed = false
  // A legacy wildcard brings what no request has named: as long as it is there, no server counts such a name as given up.
  const isNamed = !isSilent(self)
  const wanted = HashSet.beginMutation(self.names)
  const waiting = HashMap.beginMutation(self.waiting)
  const fresh = HashSet.beginMutation(self.fresh)
  const dropped = HashSet.beginMutation(self.dropped)
  const late = HashSet.beginMutation(self.late)
  for (const name of names) {
    if (name === "*") {
      if (!wildcard) continue
      wildcard = false
    } else {
      if (!HashSet.has(wanted, name)) continue
      HashSet.remove(wanted, name)
      HashMap.remove(waiting, name)
      refreshing = HashSet.remove(refreshing, name)
    }
    if (HashSet.has(fresh, name)) HashSet.remove(fresh, name)
    else if (self.hasRequested) {
      HashSet.add(dropped, name)
      gaveUp ||= isNamed || name === "*"
    }
    HashSet.remove(late, name)
    changed = true
  }
  HashSet.endMutation(wanted)
  HashMap.endMutation(waiting)
  HashSet.endMutation(fresh)
  HashSet.endMutation(dropped)
  HashSet.endMutation(late)
  if (!changed) return self
  const quoting = self.quoting === "Yes" ? "UntilSubscribed" : self.quoting
  return ResourceTimer.withWaiting(
    { ...self, quoting, refreshing, names: wanted, wildcard, fresh, dropped, gaveUp, late, changed, listed: undefined },
    waiting
  )
}

/**
 * Requests subscribed names once more, so that the server sends their resources again.
 *
 * @since 0.1.0
 */
export const refresh = (self: ClientSubscription, names: Iterable<string>): ClientSubscription => {
  let { dropped, fresh, refreshing } = self
  for (const name of names) {
    if (!HashSet.has(self.names, name)) continue
    refreshing = HashSet.add(refreshing, name)
    if (HashSet.has(fresh, name)) continue
    fresh = HashSet.add(fresh, name)
    if (self.hasRequested) dropped = HashSet.add(dropped, name)
  }
  if (fresh !== self.fresh) return { ...self, refreshing, fresh, dropped, changed: true }
  return refreshing === self.refreshing ? self : { ...self, refreshing }
}

/**
 * Records that names came, or that the server said something else of them: they need no timer, and are not requested again.
 *
 * @since 0.1.0
 */
export const resolve = (self: ClientSubscription, names: ReadonlyArray<string>): ClientSubscription => {
  const next = ResourceTimer.resolve(self, names)
  if (HashSet.size(next.refreshing) === 0) return next
  return { ...next, refreshing: HashSet.difference(next.refreshing, names) }
}

/**
 * Whether something is waited for: a timer may run, or a resource is requested again.
 *
 * @since 0.1.0
 */
export const isWaiting = ({ refreshing, waiting }: ClientSubscription): boolean =>
  !HashMap.isEmpty(waiting) || HashSet.size(refreshing) > 0

/**
 * Marks that held resources of this server are not in use any more and still wanted: their TTL is over, or another server is asked.
 *
 * @since 0.1.0
 */
export const lose = (self: ClientSubscription): ClientSubscription =>
  isWanted(self) && self.quoting !== "No" ? { ...self, quoting: "No" } : self

/**
 * Marks that another server changed held resources. This stream's server knows only what was declared when the stream began.
 *
 * @since 0.1.0
 */
export const markUndeclared = (self: ClientSubscription): ClientSubscription =>
  self.hasRequested && !self.undeclared ? { ...self, undeclared: true } : self

/**
 * The state after the end of a stream: the version stays, the rest of the stream is forgotten. ★ Armed timers are disarmed: an
 * outage does not mean that a resource is missing.
 *
 * @since 0.1.0
 */
export const end = (self: ClientSubscription): ClientSubscription => {
  return {
    ...self,
    waiting: HashMap.map(self.waiting, () => never),
    dueAt: never,
    hasRequested: false,
    explicit: false,
    ambiguous: 0,
    nonce: "",
    changed: isWanted(self),
    fresh: HashMap.keySet(self.waiting),
    dropped: noNames,
    gaveUp: false,
    late: noNames,
    lateAt: never,
    undeclared: false,
    answers: [],
    rejection: undefined,
    heldBackUntil: never
  }
}

/**
 * Whether an equal response was NACKed before. ★ Or one of another version with the same error, a moment ago: some servers give
 * each repetition a new version.
 *
 * @since 0.1.0
 */
export const isRejected = (
  { rejection }: ClientSubscription,
  version: string,
  error: ErrorDetail,
  now: number
): boolean => rejection?.message === error.message && (rejection.version === version || now < rejection.until)

/**
 * State of the world: whether the wildcard is legacy, that is, requested by an empty list. Then no request lists names: a name
 * would end the legacy wildcard for good, and some servers take names beside `*` for the whole subscription. The wildcard
 * covers them.
 *
 * @since 0.1.0
 */
export const isSilent = (self: ClientSubscription): boolean =>
  // After a doubtful response (see `receive`) the server may take an empty list for no subscription.
  self.wildcard && !self.federated && (!self.hasRequested || (!self.explicit && self.ambiguous === maxAmbiguous))

/**
 * Records a response. ★ Its nonce counts from now on; its version only if all resources were accepted.
 *
 * ★ Some servers ignore NACKs and send the rejected response again, at once and for ever. So the NACK of a repeated response is
 * delayed, longer each time. A different response ends the delay.
 *
 * @since 0.1.0
 */
export const receive = (
  self: ClientSubscription,
  protocol: Protocol,
  response: Judged,
  backoff: Backoff.Options,
  now: number
): ClientSubscription => {
  const { error } = response
  const version = error === undefined ? response.version : self.version
  const accepted = {
    ...self,
    version,
    quoting: quotingAfter(self, response),
    gaveUp: self.gaveUp && error !== undefined,
    ...holdBack(self, response, backoff, now)
  }
  // No answer: an ACK without a nonce would be a new request, and its answer the next response, for ever.
  if (response.nonce === "") return accepted
  const { nonce } = response
  const answer = { nonce, error, applied: false }
  if (protocol === "Incremental") {
    return { ...accepted, nonce, answers: [...self.answers.slice(-maxAnswers + 1), answer] }
  }
  // ★ The server ignored requests that crossed this response. If only those listed names, an empty list still means everything.
  const isAmbiguous = self.ambiguous > 0 && !isWanted(self)
  const explicit = self.explicit && !isAmbiguous
  const ambiguous = isAmbiguous ? self.ambiguous - 1 : self.ambiguous
  return { ...accepted, nonce, answers: [answer], explicit, ambiguous }
}

const quotingAfter = (
  { fresh, gaveUp, late, quoting }: ClientSubscription,
  { error, isWild }: Judged
): ClientSubscription["quoting"] => {
  // ★ The server may have made the response before it heard what was given up: then it counts that as sent.
  if (error !== undefined || quoting === "UntilSubscribed") return quoting
  // A wildcard that was not requested yet is not in the response.
  if (HashSet.has(fresh, "*")) return quoting
  // ★ One whose request crossed the response is not either. In doubt the answer asks once more.
  if (quoting === "No" && HashSet.has(late, "*") && !isWild) return "NotYet"
  return gaveUp ? "UntilSubscribed" : "Yes"
}

const holdBack = (
  { heldBackUntil, rejection }: ClientSubscription,
  { error, isRepeat, version }: Judged,
  backoff: Backoff.Options,
  now: number
): Pick<ClientSubscription, "rejection" | "heldBackUntil"> => {
  if (error === undefined) return { rejection: undefined, heldBackUntil: never }
  const after = (from: number, repeats: number) => from + Math.round(Backoff.delay(backoff, repeats))
  if (!isRepeat) {
    return { rejection: { version, message: error.message, repeats: 0, until: after(now, 0) }, heldBackUntil: never }
  }
  // A server that does not wait for the NACK does not extend the delay.
  if (rejection === undefined || heldBackUntil !== never) return { rejection, heldBackUntil }
  const heldUntil = after(now, rejection.repeats)
  const repeats = rejection.repeats + 1
  return { rejection: { ...rejection, version, repeats, until: after(heldUntil, repeats) }, heldBackUntil: heldUntil }
}

/**
 * Ends the delay of an answer, if its time has come.
 *
 * @since 0.1.0
 */
export const release = (self: ClientSubscription, now: number): ClientSubscription =>
  now < self.heldBackUntil ? self : { ...self, heldBackUntil: never }

/**
 * The next time at which a timer or {@link release} is due, in milliseconds; Infinity if none.
 *
 * @since 0.1.0
 */
export const deadline = (self: ClientSubscription): number => Math.min(self.dueAt, self.heldBackUntil)

/**
 * Marks a response and those before it as processed: they may be answered.
 *
 * @since 0.1.0
 */
export const apply = (self: ClientSubscription, nonce: string): ClientSubscription => {
  const last = self.answers.findLastIndex((answer) => answer.nonce === nonce)
  if (last < 0) return self
  return {
    ...self,
    answers: self.answers.map((answer, index) => (index <= last ? { ...answer, applied: true } : answer))
  }
}
