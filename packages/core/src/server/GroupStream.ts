/**
 * One stream among the streams of a group: what its reducer is given next, and in which order.
 *
 * What a transport, a timer and the group bring is noted at once and costs next to nothing. The reducer is given it later, one
 * input for each {@link GroupStream.take}, when the driver gives the stream a turn. The order of inputs:
 *
 * | what there is | what is given |
 * |---|---|
 * | a long step that is not over | nothing else: more of that step |
 * | many names to index | nothing else: the next slice |
 * | a request that is taken in parts | `Continue` |
 * | another group that the client was moved to | `Moved`, to its newest state |
 * | a newer state of the group that does not concern the stream | `Advance` to it |
 * | a newer state that concerns it | `Advance` to the last state that does not, if there is one; then `Changed` to the newest |
 * | requests, credit, what was done about missing names | each, in the order in which they came |
 * | a deadline | `Deadline` |
 *
 * So the reducer always has the newest state of the group when it is given a request, and any number of changes behind a slow
 * stream are one `Changed`.
 *
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type * as Steps from "../Steps.js"
import type { Request } from "../wire/Request.js"
import * as AwaitedNames from "./AwaitedNames.js"
import type { Slices } from "./InterestIndex.js"
import type { Input, Interest, Output, PhaseOptions, ServerStream, Step } from "./ServerStream.js"
import * as ServerStreams from "./ServerStream.js"

/**
 * Does some of the work of a long step: what it ends with, or `undefined` if others are to have their turn before its end.
 *
 * @since 0.1.0
 */
export type Some = (work: Steps.Steps<Step>) => Step | undefined

/**
 * What a stream needs of the fan-out of its group.
 *
 * @since 0.1.0
 */
export interface Group<A> {
  /** What the group holds now; `undefined`: it is not set. */
  readonly group: ResourceGroup | undefined
  /** Notes what a stream subscribes to now; of many names in the slices that are given back. */
  index(stream: GroupStream<A>, interests: ReadonlyArray<Interest>): Slices | undefined
}

type Queued = Extract<Input, { readonly _tag: "Request" | "Writable" | "MissingDone" }>

const writable: Queued = { _tag: "Writable" }
const goOn: Input = { _tag: "Continue" }
const timeHasCome: Input = { _tag: "Deadline" }

const isMissingDone = ({ _tag }: Queued): boolean => _tag === "MissingDone"

/** Nothing is ever put into it. */
const noInputs: Array<Queued> = []
const oneInput: ReadonlyArray<Queued> = [writable]
const noOutputs: ReadonlyArray<Output> = []

/**
 * A stream of a group. It is mutable, and made by `FanOut.join`.
 *
 * @since 0.1.0
 */
export class GroupStream<A> {
  /** The state of its reducer. */
  state: ServerStream
  /** Requests, credit and what was done about missing names, oldest first. */
  private inputs = noInputs
  /** The group changed in what this stream subscribes to, and the reducer was not given that yet. */
  private changed = false
  /** The state of the group before the first such change: the stream may be brought up to it by `Advance`. */
  private unaffected: ResourceGroup | undefined
  /** The reducer was given a change without credit, so that its response waits. */
  private held = false
  private due = false
  /** The client was moved to another group, and the reducer was not given that yet. */
  private moved: PhaseOptions | undefined
  /** What the interest index has still to note of many names. */
  private indexing: Slices | undefined
  /** A step that is not over. */
  private unfinished: Steps.Steps<Step> | undefined

  constructor(
    private fanOut: Group<A>,
    state: ServerStream,
    /** What the stream belongs to: a connection of a server. */
    readonly owner: A
  ) {
    this.state = state
  }

  // What happens.

  /** A request came. */
  request(request: Request): void {
    this.queue({ _tag: "Request", request })
  }

  /** What can be done about a name that is missing was done. Whether its answer waited for that. */
  missingDone(typeUrl: string, name: string): boolean {
    if (!AwaitedNames.isAwaited(this.state, typeUrl, name)) return false
    const last = this.inputs.at(-1)
    // Many at a time have one answer.
    const isMore = last?._tag === "MissingDone" && last.typeUrl === typeUrl
    const names = isMore ? [...last.names, name] : [name]
    if (isMore) this.inputs = this.inputs.slice(0, -1)
    this.queue({ _tag: "MissingDone", typeUrl, names })
    return true
  }

  /** The transport takes another response. */
  writable(): void {
    this.held = false
    this.queue(writable)
  }

  /** The time of {@link deadline} has come. */
  deadlineReached(): void {
    this.due = true
  }

  /**
   * The group changed in what this stream subscribes to. Whether a response that tells of an earlier change is replaced by that.
   *
   * @param before the group before that
   */
  affectedAfter(before: ResourceGroup | undefined): boolean {
    const isConflated = this.changed || this.held
    if (!this.changed) this.unaffected = before
    this.changed = true
    return isConflated
  }

  /** For `FanOut.move`: the client belongs to another group from now on. Its interests are not in the index of that yet. */
  movedTo(fanOut: Group<A>, phases: PhaseOptions): void {
    this.fanOut = fanOut
    this.moved = phases
    this.indexing = undefined
  }

  // What comes of it.

  /** Gives the reducer its next input, or does more of a long step. What comes of it; `undefined`: there is nothing left to do. */
  take(now: number, some: Some): ReadonlyArray<Output> | undefined {
    if (this.unfinished !== undefined) return this.advance(this.unfinished, some)
    if (this.indexing !== undefined) return this.index(this.indexing)
    const input = this.next()
    if (input === undefined) return undefined
    const short = ServerStreams.short(this.state, input, now)
    return short === undefined ? this.advance(ServerStreams.stepping(this.state, input, now), some) : this.apply(short)
  }

  /** The next input for the reducer, which is not there any more then; `undefined`: there is none. For {@link apply}. */
  next(): Input | undefined {
    const { state } = this
    if (state.ended) return undefined
    if (ServerStreams.isWorking(state)) return goOn
    const { group } = this.fanOut
    if (this.moved !== undefined) return this.move(group, this.moved)
    if (state.group !== group) {
      // A stream that is concerned now may be many changes behind that did not concern it.
      const passed = this.changed ? this.unaffected : group
      this.unaffected = undefined
      if (state.group !== undefined && passed !== undefined && passed !== state.group) {
        return { _tag: "Advance", group: passed }
      }
      if (this.changed && !this.isCredited()) this.held = true
      this.changed = false
      return { _tag: "Changed", group }
    }
    const input = this.inputs.shift()
    if (this.inputs.length === 0) this.inputs = noInputs
    if (input !== undefined || !this.due) return input
    this.due = false
    return timeHasCome
  }

  /** Takes over what the reducer made of {@link next}; gives back its outputs. */
  apply([state, outputs]: Step): ReadonlyArray<Output> {
    this.unfinished = undefined
    this.state = state
    for (const output of outputs) {
      if (output._tag === "Subscribed") this.subscribed()
    }
    return outputs
  }

  /** Whether {@link take} has something to do. */
  hasWork(): boolean {
    const { due, fanOut, inputs, state } = this
    if (state.ended) return false
    if (inputs.length > 0 || due || state.group !== fanOut.group || ServerStreams.isWorking(state)) return true
    return this.isUnfinished() || this.moved !== undefined
  }

  /** Whether {@link take} goes on with what it did not end. */
  isUnfinished(): boolean {
    return this.unfinished !== undefined || this.indexing !== undefined
  }

  /** Whether what {@link take} does next may take long, so that others should have their turn before. */
  isLong(): boolean {
    const { state } = this
    return this.isUnfinished() || ServerStreams.isWorking(state) || ServerStreams.isAnsweringInParts(state)
  }

  /** When it wants {@link deadlineReached}, in milliseconds; Infinity: never, or not before a long step is over. */
  deadline(): number {
    return this.unfinished === undefined ? ServerStreams.deadline(this.state) : Number.POSITIVE_INFINITY
  }

  /** A change that came before it, or since then, is part of it. */
  private move(group: ResourceGroup | undefined, phases: PhaseOptions): Input {
    this.moved = undefined
    this.unaffected = undefined
    this.changed = false
    // What was done in the group before is of no use in this one.
    if (this.inputs.some(isMissingDone)) this.inputs = this.inputs.filter((input) => !isMissingDone(input))
    if (!this.isCredited()) this.held = true
    this.indexing = this.fanOut.index(this, ServerStreams.interests(this.state))
    return { _tag: "Moved", group, phases }
  }

  private advance(work: Steps.Steps<Step>, some: Some): ReadonlyArray<Output> {
    const step = some(work)
    if (step !== undefined) return this.apply(step)
    this.unfinished = work
    return noOutputs
  }

  private index(slices: Slices): ReadonlyArray<Output> {
    if (slices.next().done === true) this.indexing = undefined
    return noOutputs
  }

  private subscribed(): void {
    const { fanOut, state } = this
    this.indexing = fanOut.index(this, ServerStreams.interests(state))
    // ★ A change that came while a request was dealt with concerned no stream that subscribed by it: now it may concern this one.
    if (state.group === fanOut.group) return
    this.changed = true
    this.unaffected = undefined
  }

  private isCredited(): boolean {
    return this.state.credit || this.inputs.includes(writable)
  }

  /** Mostly it is one: an array that grows keeps room for seventeen, and a stream rests most of its life. */
  private queue(input: Queued): void {
    if (this.inputs.length === 0) this.inputs = oneInput.with(0, input)
    else this.inputs.push(input)
  }
}
