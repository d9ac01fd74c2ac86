/**
 * Rounds and phases of an aggregated stream: the order of types, and the state of the group that each type sends.
 *
 * **Rounds.** ★ Starvation guard: a round gives every type one turn, in the order of types. In its turn a type sends all that
 * it has: changes, answers, heartbeats, and due removals (deletions of resources). Then follow, in reverse order, due removals
 * of types that had no turn. What comes after a type's turn belongs to the next round. So endless changes of one type, or a
 * client that reads one response at a time, delay another type by at most one response of each.
 *
 * A round sends one state of the group, because an update of several types must go out in their order. It takes on a newer
 * state as long as no type up to its place has changes in that.
 *
 * **Phases.** A resource waits until the client has accepted what it refers to. Changes and removals of one update pass through
 * the phases together, so a waiting phase remembers its state of the group.
 *
 * | phase | state of the group | waits for | delays |
 * |---|---|---|---|
 * | clusters and endpoints | that of the round | nothing: Envoy ACKs clusters when their endpoints have come | |
 * | listeners and routes | one whose clusters and endpoints went out | the ACKs of those, not of later ones | changes of these types |
 * | removals | one whose changes all went out | the ACKs of those | removals |
 *
 * | state of a phase | event | becomes |
 * |---|---|---|
 * | none | all before it went out, and it has something to send | held, with this state, until the outstanding responses are ACKed |
 * | held | newer state, all before it went out, nothing more to wait for | held, with the newer state |
 * | held | newer state, and other responses went out for it | unchanged: the newer state belongs to the phase after it |
 * | held | a response that it waits for was NACKed, and is corrected | held, with the corrected state, no longer than before |
 * | none, removals | a removed resource exists again in a newer state | held until that went out, for one deadline at most |
 * | held | ACKed, or a deadline passed since each response was sent | open |
 * | open | all of it went out, or came to nothing | none |
 *
 * Endless endpoint changes do not close a phase again. A held phase delays no other types: rounds go on meanwhile. A NACKed or
 * unanswered response holds later phases back for one deadline from its sending, and not again for later changes.
 *
 * When the phase of removals opens, each removal becomes due: at once, or ★ one deadline later if the stream names the resource
 * and its listeners or routes changed. The reason: gRPC ACKs a route before it has the route's clusters, and shows that it no
 * longer needs a resource by no longer naming it. A due removal whose resource is not back goes with the next response of its
 * type, or in one of its own.
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
  /** End of the wait, in milliseconds. */
  readonly until: number
}

/**
 * A phase that has something to send.
 *
 * @since 0.1.0
 */
export interface Phase {
  /** Its state of the group. */
  readonly group: ResourceGroup
  readonly gates: ReadonlyArray<Gate>
  /** Whether listeners or routes changed. */
  readonly changed: boolean
  /** Whether it must be formed again: a response that it waits for was NACKed, or a removed resource came back. */
  readonly anew: boolean
  /** When it opens at the latest, in milliseconds. */
  readonly limit: number
}

/**
 * The round of a stream, and the phases that wait beyond it.
 *
 * @since 0.1.0
 */
export interface Round {
  /** The state of the group that it sends; `undefined` before the first turn. */
  readonly group: ResourceGroup | undefined
  /** Order of the type with the last turn; Infinity during the turns of removals. */
  readonly place: number
  /** The types that had a turn. */
  readonly turned: ReadonlyArray<string>
  /** The phase of listeners and routes. */
  readonly changes: Phase | undefined
  readonly removals: Phase | undefined
}

const nobody: ReadonlyArray<string> = []
const oneType: ReadonlyArray<string> = [""]
const first = Number.NEGATIVE_INFINITY

/**
 * No round, no phases.
 *
 * @since 0.1.0
 */
export const idle: Round = { group: undefined, place: first, turned: nobody, changes: undefined, removals: undefined }

/**
 * The next round, before its first turn. Phases go on.
 *
 * @since 0.1.0
 */
export const next = ({ changes, removals }: Round): Round =>
  changes === undefined && removals === undefined ? idle : { ...idle, changes, removals }

/**
 * The round after the client moved to another group. It goes on; then follows the difference to the other group.
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
 * The round after the turn of a type.
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
 * When a phase opens, in milliseconds; -Infinity if it waits for nothing.
 *
 * @since 0.1.0
 */
export const opensAt = ({ anew, gates, limit }: Phase): number => {
  // Formed again, without responses to wait for: it waits for changes that did not go out yet.
  const last = anew && gates.length === 0 ? limit : gates.reduce((latest, { until }) => Math.max(latest, until), first)
  return Math.min(limit, last)
}

/**
 * Postpones a phase of removals, because a removed resource exists again in a newer state. It is formed again when that state
 * went out; at the latest at `until`, or at its own limit.
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
 * Forms a phase, or updates it to a newer state of the group. All responses before it went out; those in `outstanding` are not
 * ACKed. A held phase takes on the newer state only if there is nothing more to wait for.
 *
 * @since 0.1.0
 */
export const hold = (
  self: Phase | undefined,
  group: ResourceGroup,
  outstanding: ReadonlyArray<Gate>,
  changed: boolean
): Phase => {
  if (self === undefined) return { group, gates: outstanding, changed, anew: false, limit: Number.POSITIVE_INFINITY }
  if (self.anew) {
    return { group, gates: outstanding, changed: self.changed || changed, anew: false, limit: opensAt(self) }
  }
  if (!outstanding.every(({ nonce }) => self.gates.some((gate) => gate.nonce === nonce))) return self
  return self.group === group && self.changed === (self.changed || changed)
    ? self
    : { ...self, group, changed: self.changed || changed }
}

/**
 * The round after an ACK, which also counts for earlier responses of the type.
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
 * The round after a change that does not concern the stream: both states are equal for it. `undefined`: the round or a phase
 * has another state than `before`, so this is unknown.
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
