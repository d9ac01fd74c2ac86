/**
 * Rounds and phases: in which order the types of an aggregated stream have their turns, and as of which state of the group.
 *
 * **Rounds.** ★ Nothing starves. A round gives every type one turn, in the order of types; in its turn a type sends all it has
 * at once: its change, its answers, its heartbeat, and deletions that are due. Then deletions that nothing carried go out, in
 * reverse, of types that had no turn. What comes when a type had its turn belongs to the next round. So changes without end in
 * one type, or a client that reads one response at a time, delay another type by at most one response of each.
 *
 * A round is of one state of the group, because of an update that touches several types nothing later may go out before what
 * comes first. It takes on a newer state as long as no type up to its place would have to go again.
 *
 * **Phases.** What refers to something waits until the client took that. On their way from one phase to the next, changes
 * and deletions are those of one update, too: so a phase that waits remembers the state of the group it is of.
 *
 * | phase | is of | waits for | delays |
 * |---|---|---|---|
 * | clusters and endpoints | the round's state | nothing: Envoy ACKs clusters when their endpoints came | |
 * | listeners and routes | a state whose clusters and endpoints went out | the ACKs of those, not of later ones | changes of these types |
 * | deletions | a state whose changes all went out | the ACKs of those | deletions |
 *
 * | state of a phase | event | becomes |
 * |---|---|---|
 * | none | all before it went out, and it has something to send | held, of this state, until the responses that are not ACKed now are |
 * | held | newer state, all before it went out, nothing more to wait for | held, of the newer state |
 * | held | newer state, and other responses went out for it | as it was: the newer state is for the phase after it |
 * | held | what it waits for was rejected, and is corrected | held, of the corrected state, no longer than before |
 * | none, deletions | what is deleted is there again in a newer state | held, until that went out; for a deadline at most |
 * | held | ACKed, or a deadline passed since the sending of each | open |
 * | open | all of it went out, or came to nothing | none |
 *
 * Endpoints that change all the time do not close a phase again, and a phase that is held delays no other types: rounds
 * go on meanwhile. A rejected response, or one that is not answered, holds back later phases for one deadline from its sending,
 * and not again for what changes later.
 *
 * When the phase of deletions is open, each deletion becomes due: at once, or ★ one deadline later if the stream names the resource
 * and its listeners or routes changed: gRPC ACKs a route before it has the route's clusters, and says that it needs a
 * resource no more by no longer naming it. A deletion that is due, and whose resource is not back, goes with the next response
 * of its type, or by itself.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol "Eventual consistency considerations"
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import * as ResourceGroups from "../resource/ResourceGroup.js"

/**
 * A response that a phase waits for.
 *
 * @since 0.1.0
 */
export interface Gate {
  readonly typeUrl: string
  readonly nonce: string
  /** In milliseconds: then it is waited for no longer. */
  readonly until: number
}

/**
 * A phase that has something to send.
 *
 * @since 0.1.0
 */
export interface Phase {
  /** As of which state. */
  readonly group: ResourceGroup
  readonly gates: ReadonlyArray<Gate>
  /** Whether listeners or routes changed. */
  readonly changed: boolean
  /** What it waits for is not the last word: it is to be formed anew. */
  readonly anew: boolean
  /** In milliseconds: then it is open, whatever it waits for. */
  readonly limit: number
}

/**
 * The round of a stream, and what waits beyond it.
 *
 * @since 0.1.0
 */
export interface Round {
  /** As of which state; `undefined`: no turn was taken. */
  readonly group: ResourceGroup | undefined
  /** The order of the type that had the last turn; Infinity when deletions have theirs. */
  readonly place: number
  /** The types that had a turn. */
  readonly turned: ReadonlyArray<string>
  /** Listeners and routes. */
  readonly changes: Phase | undefined
  readonly removals: Phase | undefined
}

const nobody: ReadonlyArray<string> = []
const oneType: ReadonlyArray<string> = [""]
const first = Number.NEGATIVE_INFINITY

/**
 * Nothing is under way.
 *
 * @since 0.1.0
 */
export const idle: Round = { group: undefined, place: first, turned: nobody, changes: undefined, removals: undefined }

/**
 * The next round, of which nothing went out yet. Phases go on.
 *
 * @since 0.1.0
 */
export const next = ({ changes, removals }: Round): Round =>
  changes === undefined && removals === undefined ? idle : { ...idle, changes, removals }

/**
 * After the client was moved to another group: what is under way goes on, and is followed by what is different in the other group.
 *
 * @since 0.1.0
 */
export const departed = (self: Round): Round => {
  const { changes, group, removals } = self
  if (self === idle) return self
  const of = (phase: Phase | undefined) => phase && { ...phase, group: ResourceGroups.departed(phase.group) }
  return { ...self, group: group && ResourceGroups.departed(group), changes: of(changes), removals: of(removals) }
}

/**
 * After a type had its turn.
 *
 * @since 0.1.0
 */
export const turn = (self: Round, typeUrl: string, place: number): Round => ({
  // Copies, not literals: see `Subscription.noSent`.
  ...self,
  place,
  turned: self.turned.length === 0 ? oneType.with(0, typeUrl) : [...self.turned, typeUrl]
})

/**
 * When a phase is open, in milliseconds: from the beginning if it waits for nothing.
 *
 * @since 0.1.0
 */
export const opensAt = ({ anew, gates, limit }: Phase): number => {
  // What is formed anew for what did not go out yet waits for no response.
  const last = anew && gates.length === 0 ? limit : gates.reduce((latest, { until }) => Math.max(latest, until), first)
  return Math.min(limit, last)
}

/**
 * A phase of deletions, of which something is there again in a newer state: it waits until that went out, and is formed anew as
 * of that; until a time at most, which a phase that was formed anew has already.
 *
 * @since 0.1.0
 */
export const postpone = (self: Phase, until: number): Phase => ({
  ...self,
  gates: [],
  anew: true,
  limit: Math.min(self.limit, until)
})

/**
 * A phase as of a state whose responses before it all went out, of which `awaited` are not ACKed. One that waits already takes on
 * the newer state only if there is nothing more to wait for.
 *
 * @since 0.1.0
 */
export const hold = (
  self: Phase | undefined,
  group: ResourceGroup,
  awaited: ReadonlyArray<Gate>,
  changed: boolean
): Phase => {
  if (self === undefined) return { group, gates: awaited, changed, anew: false, limit: Number.POSITIVE_INFINITY }
  if (self.anew) {
    return { group, gates: awaited, changed: self.changed || changed, anew: false, limit: opensAt(self) }
  }
  if (!awaited.every(({ nonce }) => self.gates.some((gate) => gate.nonce === nonce))) return self
  return self.group === group && self.changed === (self.changed || changed)
    ? self
    : { ...self, group, changed: self.changed || changed }
}

/**
 * After an ACK: it counts for earlier responses of the type, too.
 *
 * @since 0.1.0
 */
export const acked = (self: Round, typeUrl: string, nonce: string): Round => {
  const of = (phase: Phase | undefined): Phase | undefined => {
    if (phase === undefined) return undefined
    const gates = phase.gates.filter((gate) => gate.typeUrl !== typeUrl || Number(gate.nonce) > Number(nonce))
    return gates.length === phase.gates.length ? phase : { ...phase, gates }
  }
  const [changes, removals] = [of(self.changes), of(self.removals)]
  return changes === self.changes && removals === self.removals ? self : { ...self, changes, removals }
}

/**
 * After a change of the group that does not concern the stream: the states are the same for it. `undefined`: it is behind in
 * others, so that it is not known.
 *
 * @since 0.1.0
 */
export const moved = (self: Round, before: ResourceGroup, after: ResourceGroup): Round | undefined => {
  if (self === idle) return self
  const { changes, group, removals } = self
  const isBehind = [group, changes?.group, removals?.group].some((each) => each !== undefined && each !== before)
  if (isBehind) return undefined
  const of = (phase: Phase | undefined) => (phase === undefined ? undefined : { ...phase, group: after })
  return { ...self, group: group === undefined ? undefined : after, changes: of(changes), removals: of(removals) }
}
