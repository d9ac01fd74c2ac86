/**
 * The values of reducer states as text, for {@link Exploration.World.key}: equal if and only if both states behave alike from
 * now on.
 *
 * Values that differ between equivalent states are replaced by their meaning:
 *
 * - A nonce is the number of responses before it, and is only compared. Here it is its age: the number of responses since.
 * - A time is only compared with later times. Here it is the distance from now.
 * - A cursor stands for what the client has, and for the names that the log has from there on. Revisions and digests say no
 *   more than that; logs do not overflow in a small world.
 * - Maps and sets are sorted, because their order depends on their content alone.
 *
 * Fields that no step reads are left out: times of sending, ACKs and NACKs for the status, and caches. The records below name
 * every field of the states, so that a new field does not compile until its meaning is decided here.
 *
 * @since 0.1.0
 */
import type { Client } from "@effect-xds/core/client/Client"
import type { FlowControl } from "@effect-xds/core/client/FlowControl"
import type * as ClientCache from "@effect-xds/core/client/ClientCache"
import type { ClientStream } from "@effect-xds/core/client/ClientStream"
import type { ClientSubscription } from "@effect-xds/core/client/ClientSubscription"
import type { ErrorDetail } from "@effect-xds/core/wire/Request"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { Cursor } from "@effect-xds/core/resource/Cursor"
import { isSame, resourceAt } from "@effect-xds/core/resource/Cursor"
import type { ResourceSet } from "@effect-xds/core/resource/ResourceSet"
import * as ChangeLog from "@effect-xds/core/resource/ChangeLog"
import type { Response } from "@effect-xds/core/wire/Response"
import type { Phase, Round } from "@effect-xds/core/server/Round"
import type { ServerStream } from "@effect-xds/core/server/ServerStream"
import type { Subscription } from "@effect-xds/core/server/Subscription"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import type { Interest, ReferenceClient } from "../reference/ReferenceClient.js"
import type { ReferenceModel } from "../reference/ReferenceModel.js"

const left = ""

/** Texts, sorted. */
const sorted = (texts: Iterable<string>): string => Array.from(texts).sort().join(",")

const pairs = (entries: Iterable<readonly [string, string]>): string =>
  sorted(Array.from(entries, ([name, value]) => `${name}=${value}`))

const fieldsOf = (record: Readonly<Record<string, string | number | boolean>>): string =>
  Object.values(record).join(";")

/**
 * Age of a nonce: the number of responses since; 0 for the last one, empty for no nonce.
 *
 * @param last number of responses that the stream has sent
 * @since 0.1.0
 */
export const age = (nonce: string, last: number): string => (nonce === "" ? "" : String(last - Number(nonce)))

/** A time as distance from now; 0 if it is over. */
const ahead = (time: number, now: number): number => Math.max(time - now, 0)

/**
 * The content of a group.
 *
 * @since 0.1.0
 */
export const ofGroup = (group: ResourceGroup | undefined): string =>
  group === undefined
    ? "never set"
    : sorted(
        ResourceGroups.all(group).map(
          ({ fingerprint, name, typeUrl, version }) => `${typeUrl} ${name}=${fingerprint} ${version}`
        )
      )

const ofCursor = (cursor: Cursor | undefined, set: ResourceSet): string => {
  if (cursor === undefined) return "none"
  const log = ChangeLog.entries(set)
  const start = log.length - (set.cursor.revision - cursor.revision)
  const first = log[start]
  const isReached = isSame(cursor, set.cursor) || (first !== undefined && ChangeLog.isFrom(first, cursor))
  // Changes will be in a response in this order.
  const touched = isReached ? new Set(log.slice(start).flatMap(({ before }) => Array.from(before.keys()))) : []
  const reach = isReached ? `reached ${Array.from(touched).join(",")}` : "lost"
  // What a cursor brought from another group is kept until it is deleted.
  const kept = Array.from(cursor.fingerprints.keys()).filter((name) => resourceAt(cursor, name) !== undefined)
  return `${reach} ${pairs(cursor.fingerprints)} ${pairs(cursor.aliases)} ${cursor.hasTtls} ${sorted(kept)}`
}

/**
 * The times of TTL renewal, and whether renewals carry bodies. They are multiples of half a TTL, so only two things matter: the
 * distance of the next, and the number of periods since the last; 3 stands for all larger numbers.
 */
const ofRenewal = ({ cursor, renewedAt }: Subscription, set: ResourceSet, now: number): string =>
  cursor === undefined
    ? ""
    : sorted(
        Array.from(new Set(HashMap.values(set.ttls)), (ttl) => {
          const periods = (at: number) => Math.floor((2 * at) / ttl)
          return `${ttl} ${now % (ttl / 2)} ${Math.min(periods(now) - periods(renewedAt), 3)}`
        })
      )

const ofSubscription = (
  self: Subscription,
  set: ResourceSet,
  { nonces: last, options: { phaseDeadline } }: ServerStream,
  now: number
): string =>
  fieldsOf({
    typeUrl: self.typeUrl,
    family: left,
    order: left,
    wildcardEnabled: self.wildcardEnabled,
    wildcard: self.wildcard,
    names: pairs(self.names),
    // So few names are not counted, and neither are removed members.
    namesChecked: left,
    collections:
      self.collections === undefined
        ? ""
        : `${sorted(self.collections.globs)} ${sorted(self.collections.asked.keys())} ${self.collections.fresh.join(",")}`,
    lastNames: self.lastNames.join(","),
    cursor: ofCursor(self.cursor, set),
    mustReply: self.mustReply,
    resendAll: self.resendAll,
    requested: sorted(self.requested),
    onDemand: pairs(HashMap.map(self.onDemand, (until) => String(ahead(until, now)))),
    initial: pairs(self.initial),
    resendEvenIfHeld: sorted(self.resendEvenIfHeld),
    pendingRemovals: pairs(
      Array.from(self.pendingRemovals, ([name, { due, resource, since: nonce }]) => [
        name,
        `${resource?.fingerprint ?? "?"} ${age(nonce, last)} ${ahead(due, now)}`
      ])
    ),
    sentOpeners: sorted(self.sentOpeners),
    sentOpenersCursor: self.sentOpenersCursor === undefined,
    refused: sorted(self.refused),
    renewedAt: ofRenewal(self, set, now),
    mayBeLost: sorted(self.mayBeLost),
    sent: age(self.sent?.nonce ?? "", last),
    outstanding: self.outstanding.map(({ heartbeats, nonce }) => [age(nonce, last), ...heartbeats].join(" ")).join(","),
    acked: left,
    nacked: age(self.nacked?.nonce ?? "", last),
    unackedUpdate:
      self.unackedUpdate === undefined
        ? ""
        : `${age(self.unackedUpdate.nonce, last)} ${ahead(self.unackedUpdate.at + phaseDeadline, now)}`,
    before: self.before === undefined ? "?" : pairs(self.before),
    beforeRejection:
      self.beforeRejection === undefined
        ? ""
        : `${age(self.beforeRejection.nonce, last)} ${pairs(self.beforeRejection.before)}`
  } satisfies Record<keyof Subscription, string | number | boolean>)

/**
 * A state of the group, and the distance of each subscription from it.
 *
 * @since 0.1.0
 */
export const ofState = ({ subscriptions }: ServerStream, group: ResourceGroup): string =>
  `${ofGroup(group)} ${subscriptions.map(({ cursor, typeUrl }) => ofCursor(cursor, ResourceGroups.set(group, typeUrl))).join("|")}`

const ofPhase = (self: ServerStream, phase: Phase | undefined, now: number): string =>
  phase === undefined
    ? ""
    : fieldsOf({
        group: ofState(self, phase.group),
        gates: phase.gates
          .map(({ nonce, typeUrl, until }) => `${typeUrl} ${age(nonce, self.nonces)} ${ahead(until, now)}`)
          .join(","),
        changed: phase.changed,
        anew: phase.anew,
        limit: ahead(phase.limit, now)
      } satisfies Record<keyof Phase, string | number | boolean>)

const ofRound = (self: ServerStream, now: number): string =>
  fieldsOf({
    group: self.round.group === undefined ? "" : ofState(self, self.round.group),
    place: self.round.place,
    turned: self.round.turned.join(","),
    changes: ofPhase(self, self.round.changes, now),
    removals: ofPhase(self, self.round.removals, now)
  } satisfies Record<keyof Round, string | number | boolean>)

const ofParts = (part: Response | undefined): string =>
  part === undefined
    ? ""
    : `${part.resources.map(({ fingerprint, name }) => `${name} ${fingerprint}`).join(",")} -${part.removed.join(",")};${ofParts(part.next)}`

/** The rest of a request follows from the request, the state before, and the number of names processed. */
const ofTaking = (partialRequest: ServerStream["partialRequest"]): string => {
  if (partialRequest === undefined) return ""
  const { at, first, next, request } = partialRequest.names
  const lists =
    request._tag === "StateOfTheWorld"
      ? [request.resourceNames]
      : [request.resourceNamesSubscribe, request.resourceNamesUnsubscribe]
  const before = partialRequest.names._tag === "StateOfTheWorld" ? pairs(partialRequest.names.before.names) : ""
  const taken = [next.wildcard, next.mustReply, next.resendAll, pairs(next.names), sorted(next.requested)]
  return [at, first, request.typeUrl, ...lists.map((names) => names.join(",")), before, ...taken].join(";")
}

/**
 * A server's stream, except its group.
 *
 * @since 0.1.0
 */
export const ofServer = (self: ServerStream, now: number): string =>
  fieldsOf({
    options: left,
    group: left,
    parameters: self.parameters === undefined ? "" : DynamicParameters.keyOf(self.parameters),
    variants: Array.from(self.variants, ([key, constraints]) => `${key} ${constraints.join()}`)
      .sort()
      .join(";"),
    errors: Array.from(self.errors, ([typeUrl, told]) => {
      const errors = pairs(HashMap.map(told.errors, ({ fingerprint }) => fingerprint))
      return `${typeUrl} ${errors} ${pairs(told.kept)} ${told.isAnyWaiting}`
    }).join("|"),
    subscriptions: self.subscriptions
      .map((each) => {
        const set = ResourceGroups.set(self.group ?? ResourceGroups.empty, each.typeUrl)
        return ofSubscription(each, set, self, now)
      })
      .join("|"),
    credit: self.credit,
    ended: self.ended,
    nonces: left,
    warming: typeof self.warming === "string" ? self.warming : sorted(self.warming),
    round: ofRound(self, now),
    parts: ofParts(self.parts?.next),
    partialRequest: ofTaking(self.partialRequest),
    deadline: ahead(self.deadline, now)
  } satisfies Record<keyof ServerStream, string | number | boolean>)

/**
 * The content of a response.
 *
 * @since 0.1.0
 */
export const ofResponse = (response: Response): string => {
  const { absent, aliases, errors, heartbeats, removed, removedVariants, resources, typeUrl, version } = response
  return [
    typeUrl,
    version,
    // They are in the order of the requests and changes before, which means nothing to a client.
    sorted(resources.map(({ fingerprint, name }) => `${name}=${fingerprint}`)),
    Array.from(aliases, ([name, each]) => `${name} ${each.join(" ")}`).join(","),
    heartbeats.map(({ name }) => name).join(","),
    sorted(removed),
    removedVariants.map(({ constraints, name }) => `${name} ${constraints.join()}`).join(),
    errors.map(({ error, name }) => `${name} ${error.code} ${error.message}`).join(),
    absent.join(",")
  ].join(";")
}

/**
 * The reference server, except its resources.
 *
 * @since 0.1.0
 */
export const ofModel = (self: ReferenceModel): string =>
  fieldsOf({
    protocol: left,
    wildcardOff: left,
    resources: left,
    subscriptions: Array.from(self.subscriptions, ([typeUrl, each]) =>
      [
        typeUrl,
        each.wildcard,
        sorted(each.names),
        pairs(Array.from(each.sent, ([name, { asked, identity }]) => [name, `${identity} ${sorted(asked)}`] as const)),
        sorted(each.toAnswer),
        each.unanswered,
        age(each.lastNonce, self.nonces)
      ].join(";")
    ).join("|"),
    nonces: left,
    credit: self.credit
  } satisfies Record<keyof ReferenceModel, string | number | boolean>)

const ofInterest = (self: Interest, last: number): string =>
  fieldsOf({
    wildcard: self.wildcard,
    names: Array.from(self.names).join(","),
    held: pairs(
      Array.from(
        self.held,
        ([name, { aliases, fingerprint, version }]) => [name, `${fingerprint} ${version} ${sorted(aliases)}`] as const
      )
    ),
    missing: sorted(self.missing),
    empty: sorted(self.empty),
    version: self.version,
    nonce: age(self.nonce, last)
  } satisfies Record<keyof Interest, string | number | boolean>)

/**
 * The reference client.
 *
 * @param last number of responses that its stream has sent
 * @since 0.1.0
 */
export const ofReferenceClient = (self: ReferenceClient, last: number): string =>
  fieldsOf({
    protocol: left,
    interests: Array.from(self.interests, ([typeUrl, each]) => `${typeUrl};${ofInterest(each, last)}`).join("|"),
    warming: sorted(self.warming),
    keys: left
  } satisfies Record<keyof ReferenceClient, string | number | boolean>)

const ofError = (error: ErrorDetail | undefined): string =>
  error === undefined ? "" : `${error.code} ${error.message}`

const ofClientSubscription = (self: ClientSubscription, last: number, now: number): string =>
  fieldsOf({
    typeUrl: self.typeUrl,
    names: sorted(self.names),
    wildcard: self.wildcard,
    named: self.named,
    federated: self.federated,
    collected: self.collected,
    waiting: pairs(HashMap.map(self.waiting, (at) => String(ahead(at, now)))),
    dueAt: ahead(self.dueAt, now),
    version: self.version,
    quoting: self.quoting,
    refreshing: sorted(self.refreshing),
    hasRequested: self.hasRequested,
    explicit: self.explicit,
    ambiguous: self.ambiguous,
    nonce: age(self.nonce, last),
    changed: self.changed,
    fresh: sorted(self.fresh),
    dropped: sorted(self.dropped),
    gaveUp: self.gaveUp,
    late: sorted(self.late),
    lateAt: Math.max(0, self.lateAt + 15_000 - now),
    undeclared: self.undeclared,
    answers: self.answers
      .map(({ applied, error, nonce }) => `${age(nonce, last)} ${applied} ${ofError(error)}`)
      .join(","),
    rejection:
      self.rejection === undefined
        ? ""
        : `${self.rejection.version} ${self.rejection.message} ${self.rejection.repeats} ${ahead(self.rejection.until, now)}`,
    heldBackUntil: ahead(self.heldBackUntil, now),
    // A cache of `names`.
    listed: left
  } satisfies Record<keyof ClientSubscription, string | number | boolean>)

const ofClientStream = (self: ClientStream, last: number, now: number): string =>
  fieldsOf({
    options: left,
    connection: self.connection,
    retryAt: ahead(self.retryAt, now),
    backoff: `${self.backoff.failures} ${ahead(self.backoff.startedAt + self.options.backoff.floor, now)}`,
    responded: self.responded,
    responseDueAt: ahead(self.responseDueAt, now),
    failure: ofError(self.failure),
    nodeSent: self.nodeSent,
    writing: self.writing === undefined ? "" : `${self.writing.typeUrl} ${sorted(self.writing.names)}`,
    subscriptions: self.subscriptions.map((each) => ofClientSubscription(each, last, now)).join("|"),
    paused: sorted(self.paused)
  } satisfies Record<keyof ClientStream, string | number | boolean>)

const ofEntry = (entry: ClientCache.Entry, now: number): string => {
  const { failure, held, status, watchers } = entry
  return [
    status,
    held === undefined
      ? ""
      : `${held.server} ${held.ownName} ${held.version} ${String(held.value)} ${held.bytes.byteLength} ${ahead(held.expiresAt, now)}`,
    failure === undefined ? "" : `${ofError(failure.error)} ${failure.version}`,
    sorted(Array.from(watchers, String))
  ].join(" ")
}

const ofCache = (self: ClientCache.ClientCache, now: number): string =>
  Array.from(self.types, ([typeUrl, type]) =>
    fieldsOf({
      typeUrl,
      entries: pairs(Array.from(type.entries, ([name, entry]) => [name, ofEntry(entry, now)] as const)),
      held: type.held,
      rejected: type.rejected,
      // Only whether the order is of this revision matters.
      revision: left,
      order: `${type.order.server} ${type.order.places.map(({ name }) => name).join(",")} ${type.order.revision === type.revision}`,
      watchers: sorted(Array.from(type.watchers, String)),
      expiresAt: ahead(type.expiresAt, now),
      retained: pairs(
        Array.from(
          type.retained,
          ([stream, { names, until }]) => [stream, `${sorted(names)} ${ahead(until, now)}`] as const
        )
      ),
      failure: type.failure === undefined ? "" : ofError(type.failure.error),
      collections: type.collections,
      // What resources own follows from the entries.
      ownership: pairs(Array.from(type.ownership.claims, ([claim, { keys }]) => [String(claim), sorted(keys)] as const))
    } satisfies Record<
      keyof (ClientCache.ClientCache["types"] extends ReadonlyMap<string, infer Type> ? Type : never) | "typeUrl",
      string | number | boolean
    >)
  ).join("|")

/**
 * A client whose values are texts.
 *
 * @param last number of responses that its stream has sent
 * @since 0.1.0
 */
export const ofClient = (self: Client, last: number, now: number): string =>
  fieldsOf({
    options: left,
    cache: ofCache(self.cache, now),
    watches: sorted(Array.from(self.watches, ([watcher, { name, typeUrl }]) => `${watcher} ${typeUrl} ${name}`)),
    serverLists: Array.from(self.serverLists, ([name, { active, hasNewWatch, reported }]) =>
      [name, active, ofError(reported), hasNewWatch].join(" ")
    ).join("|"),
    streams: Array.from(self.streams, ([name, { stream }]) => `${name} ${ofClientStream(stream, last, now)}`).join("|"),
    paused: HashSet.size(self.paused)
  } satisfies Record<keyof Client, string | number | boolean>)

/**
 * A client with flow control.
 *
 * @param last how many responses its stream has sent
 * @since 0.1.0
 */
export const ofFlowControl = (self: FlowControl, last: number, now: number): string =>
  fieldsOf({
    client: ofClient(self.client, last, now),
    watcherTimeout: left,
    deliveries: self.deliveries
      .map(({ nonce, until, watchers }) =>
        [age(nonce, last), ahead(until, now), sorted(HashSet.map(watchers, String))].join(" ")
      )
      .join(",")
  } satisfies Record<keyof FlowControl, string | number | boolean>)
