/**
 * One type on one stream, as a client has it: what is asked for, what is still to be said to the server, and the timers
 * of resources that were asked for and did not come.
 *
 * Nothing is queued: what the next request says is found when it can be sent. So a hundred new names behind a slow
 * connection are one request, and names that changed before an ACK left go with it.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Authority from "../protocol/Authority.js"
import type { ErrorDetail, Protocol } from "../wire/Request.js"
import * as Backoff from "./Backoff.js"
import type { ResourceTimers } from "./ResourceTimer.js"
import * as ResourceTimer from "./ResourceTimer.js"

/**
 * The answer to a response that has not left yet.
 *
 * @since 0.1.0
 */
export interface Answer {
  readonly nonce: string
  /** Present: a NACK. */
  readonly error: ErrorDetail | undefined
  /** Whether the application has taken the response: before, it is not answered. */
  readonly applied: boolean
}

/**
 * The state of one type on the streams to one server, one after another.
 *
 * @since 0.1.0
 */
export interface ClientSubscription extends ResourceTimers {
  readonly typeUrl: string
  /** The names asked for, without `*`. */
  readonly names: HashSet.HashSet<string>
  /** Whether everything is asked for. */
  readonly wildcard: boolean
  /** Whether a name was ever asked for: then the wildcard is no longer said by silence, but by `*`. */
  readonly named: boolean
  /** Whether a name of an authority was ever asked for (`xdstp`): a wildcard does not bring those. */
  readonly federated: boolean
  /** State of the world: the version that was accepted last, on whatever stream. */
  readonly version: string

  // What follows is of the present stream.

  /** Whether a request was sent. Before, the server knows nothing of this type. */
  readonly opened: boolean
  /** Whether a request had names. Before, a request without names means everything. */
  readonly explicit: boolean
  /** State of the world: how often a response may still be taken as a sign that the server never saw a name. */
  readonly ambiguous: number
  /** The nonce of the last response. */
  readonly nonce: string
  /** Whether the server is to be told what is asked for. */
  readonly changed: boolean
  /** Names that no request of this stream had yet, or that are to be asked for again. */
  readonly fresh: HashSet.HashSet<string>
  /** Names that the server was told and that were given up since. They may be wanted again: then they are `fresh`. */
  readonly dropped: HashSet.HashSet<string>
  /** Names that only a later request of this stream had: a response may be to an earlier one. */
  readonly late: HashSet.HashSet<string>
  /** When a request with such names was written last, in milliseconds; Infinity: none was. */
  readonly lateAt: number
  /** Incremental: whether another server changed what the client holds, and the server of this stream does not know. */
  readonly undeclared: boolean
  /** In the order of the responses; in state of the world only the last one is answered. Bounded. */
  readonly answers: ReadonlyArray<Answer>
  /** What was NACKed last, and how often since the server sent it again. */
  readonly rejection: Rejection | undefined
  /** When an answer that is held back may leave, in milliseconds; Infinity: none is held back. */
  readonly heldBackUntil: number
  /** {@link names} as a request lists them, until they change. */
  readonly listed: ReadonlyArray<string> | undefined
}

/**
 * A response, and what the client thinks of it.
 *
 * @since 0.1.0
 */
export interface Judged {
  readonly nonce: string
  readonly version: string
  /** Present: it is NACKed. */
  readonly error: ErrorDetail | undefined
  /** Whether it {@link isRejected} already, and brought nothing else. */
  readonly isRepeat: boolean
}

/**
 * A NACK, and how often the server sent the same again.
 *
 * @since 0.1.0
 */
export interface Rejection {
  readonly version: string
  readonly message: string
  readonly repeats: number
}

const never = Number.POSITIVE_INFINITY

/**
 * Attempts to leave an implicit wildcard. More would be a loop with a server that answers each.
 *
 * @since 0.1.0
 */
export const maxDoubts = 3

/** Incremental responses that may be without an answer. More come only from a server that ignores flow control. */
const maxAnswers = 64

const noNames = HashSet.empty<string>()

/**
 * A type that nothing is asked for yet.
 *
 * @since 0.1.0
 */
export const make = (typeUrl: string): ClientSubscription => ({
  typeUrl,
  names: HashSet.empty(),
  wildcard: false,
  named: false,
  federated: false,
  waiting: HashMap.empty(),
  dueAt: never,
  version: "",
  opened: false,
  explicit: false,
  ambiguous: 0,
  nonce: "",
  changed: false,
  fresh: noNames,
  dropped: noNames,
  late: noNames,
  lateAt: never,
  undeclared: false,
  answers: [],
  rejection: undefined,
  heldBackUntil: never,
  listed: undefined
})

/**
 * Whether anything is asked for.
 *
 * @since 0.1.0
 */
export const isWanted = (self: ClientSubscription): boolean => self.wildcard || HashSet.size(self.names) > 0

/**
 * Whether a resource is asked for, by name or by the wildcard.
 *
 * @since 0.1.0
 */
export const serves = (self: ClientSubscription, name: string): boolean =>
  self.wildcard || HashSet.has(self.names, name)

/**
 * Whether a resource comes by name or by the wildcard, which does not bring all that there is: see `Authority.isCovered`.
 *
 * @since 0.1.0
 */
export const brings = ({ names, wildcard }: ClientSubscription, name: string): boolean =>
  HashSet.has(names, name) || (wildcard && Authority.isCovered(name))

/**
 * Whether a response is to a request that asked for a resource: so that its absence means something.
 *
 * @param crossed requests that were written until then are answered, in milliseconds
 * @since 0.1.0
 */
export const isAnswered = (self: ClientSubscription, name: string, crossed: number): boolean => {
  const isLate = (asked: string) => HashSet.has(self.late, asked) && self.lateAt > crossed
  return HashSet.has(self.names, name) ? !isLate(name) : self.wildcard && !isLate("*")
}

/**
 * A request with these names was written.
 *
 * @since 0.1.0
 */
export const written = (self: ClientSubscription, names: ReadonlyArray<string>, now: number): ClientSubscription =>
  names.some((name) => HashSet.has(self.late, name)) ? { ...self, lateAt: now } : self

/**
 * Asks for names; `*` is the wildcard. Names of `cached` resources have no timer: the client has them already.
 *
 * @since 0.1.0
 */
export const subscribe = (
  self: ClientSubscription,
  names: Iterable<string>,
  cached: ReadonlySet<string>
): ClientSubscription => {
  let { federated, named, wildcard } = self
  let changed = false
  const wanted = HashSet.beginMutation(self.names)
  const waiting = HashMap.beginMutation(self.waiting)
  const fresh = HashSet.beginMutation(self.fresh)
  const late = HashSet.beginMutation(self.late)
  for (const name of names) {
    if (name === "*") {
      if (wildcard) continue
      wildcard = true
    } else {
      if (HashSet.has(wanted, name)) continue
      HashSet.add(wanted, name)
      named = true
      federated ||= Authority.ofName(name) !== undefined
      if (!cached.has(name)) HashMap.set(waiting, name, never)
    }
    HashSet.add(fresh, name)
    if (self.opened) HashSet.add(late, name)
    changed = true
  }
  HashSet.endMutation(wanted)
  HashMap.endMutation(waiting)
  HashSet.endMutation(fresh)
  HashSet.endMutation(late)
  return changed
    ? { ...self, names: wanted, wildcard, named, federated, waiting, fresh, late, changed, listed: undefined }
    : self
}

/**
 * No longer asks for names. ★ Their timers are gone with them.
 *
 * @since 0.1.0
 */
export const unsubscribe = (self: ClientSubscription, names: Iterable<string>): ClientSubscription => {
  let { wildcard } = self
  let changed = false
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
    }
    if (HashSet.has(fresh, name)) HashSet.remove(fresh, name)
    else if (self.opened) HashSet.add(dropped, name)
    HashSet.remove(late, name)
    changed = true
  }
  HashSet.endMutation(wanted)
  HashMap.endMutation(waiting)
  HashSet.endMutation(fresh)
  HashSet.endMutation(dropped)
  HashSet.endMutation(late)
  if (!changed) return self
  return ResourceTimer.withWaiting(
    { ...self, names: wanted, wildcard, fresh, dropped, late, changed, listed: undefined },
    waiting
  )
}

/**
 * Asks for names again that are asked for already: the client wants them sent once more.
 *
 * @since 0.1.0
 */
export const refresh = (self: ClientSubscription, names: Iterable<string>): ClientSubscription => {
  let { dropped, fresh } = self
  for (const name of names) {
    if (!HashSet.has(self.names, name) || HashSet.has(fresh, name)) continue
    fresh = HashSet.add(fresh, name)
    if (self.opened) dropped = HashSet.add(dropped, name)
  }
  return fresh === self.fresh ? self : { ...self, fresh, dropped, changed: true }
}

/**
 * Another server changed what the client holds: the server of this stream goes by what it was told when the stream began.
 *
 * @since 0.1.0
 */
export const markUndeclared = (self: ClientSubscription): ClientSubscription =>
  self.opened && !self.undeclared ? { ...self, undeclared: true } : self

/**
 * The stream ended: what was said on it is forgotten, the version stays. ★ Armed timers are unarmed: an outage is no
 * sign that a resource does not exist.
 *
 * @since 0.1.0
 */
export const end = (self: ClientSubscription): ClientSubscription => {
  return {
    ...self,
    waiting: HashMap.map(self.waiting, () => never),
    dueAt: never,
    opened: false,
    explicit: false,
    ambiguous: 0,
    nonce: "",
    changed: isWanted(self),
    fresh: HashMap.keySet(self.waiting),
    dropped: noNames,
    late: noNames,
    lateAt: never,
    undeclared: false,
    answers: [],
    rejection: undefined,
    heldBackUntil: never
  }
}

/**
 * Whether a response was NACKed with this error already, and comes again.
 *
 * @since 0.1.0
 */
export const isRejected = (self: ClientSubscription, version: string, error: ErrorDetail): boolean =>
  self.rejection?.version === version && self.rejection.message === error.message

/**
 * State of the world: whether everything is asked for by silence. Then names are in no request: any would end the
 * silence for good, and beside `*` some servers take them for all that is wanted. Names get what the wildcard brings.
 *
 * @since 0.1.0
 */
export const isSilent = (self: ClientSubscription): boolean =>
  // After a doubt the server may take silence for nothing.
  self.wildcard && !self.federated && (!self.opened || (!self.explicit && self.ambiguous === maxDoubts))

/**
 * A response came. ★ Its nonce counts from now on, its version only if all of it was accepted.
 *
 * ★ Servers that do not read NACKs send what was rejected again, at once and for ever. Each would be answered at once:
 * so the answer to a repeated one is held back, for longer each time. One to anything else releases it.
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
  const accepted = { ...self, version, ...holdBack(self, response, backoff, now) }
  // An ACK without a nonce would be a new request, and its answer the next response: for ever.
  if (response.nonce === "") return accepted
  const { nonce } = response
  const answer = { nonce, error, applied: false }
  if (protocol === "Incremental") {
    return { ...accepted, nonce, answers: [...self.answers.slice(-maxAnswers + 1), answer] }
  }
  // ★ Requests that crossed this response were ignored. If they were all that ever had a name, silence still means all.
  const isDoubtful = self.ambiguous > 0 && !isWanted(self)
  const explicit = self.explicit && !isDoubtful
  const ambiguous = isDoubtful ? self.ambiguous - 1 : self.ambiguous
  return { ...accepted, nonce, answers: [answer], explicit, ambiguous }
}

const holdBack = (
  { heldBackUntil, rejection }: ClientSubscription,
  { error, isRepeat, version }: Judged,
  backoff: Backoff.Options,
  now: number
): Pick<ClientSubscription, "rejection" | "heldBackUntil"> => {
  if (error === undefined) return { rejection: undefined, heldBackUntil: never }
  if (!isRepeat) return { rejection: { version, message: error.message, repeats: 0 }, heldBackUntil: never }
  // A server that does not wait for the answer does not put it off.
  if (rejection === undefined || heldBackUntil !== never) return { rejection, heldBackUntil }
  const { repeats } = rejection
  return {
    rejection: { ...rejection, repeats: repeats + 1 },
    heldBackUntil: now + Math.round(Backoff.delay(backoff, repeats))
  }
}

/**
 * An answer that was held back may leave, if its time has come.
 *
 * @since 0.1.0
 */
export const release = (self: ClientSubscription, now: number): ClientSubscription =>
  now < self.heldBackUntil ? self : { ...self, heldBackUntil: never }

/**
 * When a timer or {@link release} has something to do, in milliseconds; Infinity if never.
 *
 * @since 0.1.0
 */
export const deadline = (self: ClientSubscription): number => Math.min(self.dueAt, self.heldBackUntil)

/**
 * The application has taken a response, and those before it: they may be answered.
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
