/**
 * One stream among the streams of a group: the inputs of its reducer, and their order.
 *
 * Events of the transport, timers and the group are recorded at once, at almost no cost. The reducer gets them later, one input
 * for each {@link GroupStream.take}, when the driver gives the stream a turn. The order of inputs:
 *
 * | pending | input |
 * |---|---|
 * | a long step that has not ended | none: more of that step |
 * | many names to index | none: the next slice |
 * | a request that is partly processed | `Continue` |
 * | a move of the client to another group | `Moved`, to the newest state of that group |
 * | a newer state of the group that does not concern the stream | `Advance` to it |
 * | a newer state that concerns it | `Advance` to the last state that does not, if there is one; then `Changed` to the newest |
 * | requests, credit, `MissingDone` | each, in the order of arrival |
 * | a deadline | `Deadline` |
 *
 * So the reducer has the newest state of the group when it gets a request, and any number of changes behind a slow stream are
 * one `Changed`.
 *
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type * as Steps from "../Steps.js"
import type { Request } from "../wire/Request.js"
import type { Slices } from "./InterestIndex.js"
import type { NamesChange } from "./NamesChange.js"
import * as OnDemandNames from "./OnDemandNames.js"
import type { Input, Interest, Output, PhaseOptions, ServerStream, Step } from "./ServerStream.js"
import * as ServerStreams from "./ServerStream.js"

/**
 * Does some of the work of a long step. Returns its result, or `undefined` if other streams should have a turn first.
 *
 * @since 0.1.0
 */
export type Some = (work: Steps.Steps<Step>) => Step | undefined

/**
 * The fan-out of a group, as its streams see it.
 *
 * @since 0.1.0
 */
export interface Group<A> {
  /** The content of the group; `undefined` if it is not set. */
  readonly group: ResourceGroup | undefined
  /** Sets the interests of a stream. Many names are indexed in the returned slices. */
  index(stream: GroupStream<A>, interests: ReadonlyArray<Interest>, request?: NamesChange): Slices | undefined
}

type Queued = Extract<Input, { readonly _tag: "Request" | "Writable" | "MissingDone" }>

const writable: Queued = { _tag: "Writable" }
const goOn: Input = { _tag: "Continue" }
const timeHasCome: Input = { _tag: "Deadline" }

const isNamed = (output: Output): output is Output & { readonly _tag: "Named" } => output._tag === "Named"

const isMissingDone = ({ _tag }: Queued): boolean => _tag === "MissingDone"

const noOutputs: ReadonlyArray<Output> = []

/**
 * A stream of a group. It is mutable. Made by `FanOut.join`.
 *
 * @since 0.1.0
 */
export class GroupStream<A> {
  /** The state of its reducer. */
  state: ServerStream
  /** Requests, credit and `MissingDone`, oldest first. None: an idle stream keeps no list. */
  private inputs: Array<Queued> | undefined
  /** Whether a change that concerns this stream is pending for the reducer. */
  private changed = false
  /** The state of the group before the first such change: the next `Advance` is to it. */
  private advanceTo: ResourceGroup | undefined
  /** Whether the reducer got a change without credit, so that its response waits. */
  private held = false
  private due = false
  /** A pending move of the client to another group. */
  private moved: PhaseOptions | undefined
  /** The remaining slices of the interest index. */
  private indexing: Slices | undefined
  /** A step that has not ended. */
  private unfinished: Steps.Steps<Step> | undefined

  constructor(
    private fanOut: Group<A>,
    state: ServerStream,
    /** The owner of the stream, such as a connection. */
    readonly owner: A
  ) {
    this.state = state
  }

  // Events.

  /** A request arrived. */
  request(request: Request): void {
    this.queue({ _tag: "Request", request })
  }

  /** The on-demand work for a missing name is done. Returns whether the answer for it waited. */
  missingDone(typeUrl: string, name: string): boolean {
    if (!OnDemandNames.isPending(this.state, typeUrl, name)) return false
    const last = this.inputs?.at(-1)
    // Several at a time get one answer.
    const isMore = last?._tag === "MissingDone" && last.typeUrl === typeUrl
    const names = isMore ? [...last.names, name] : [name]
    if (isMore) this.inputs?.pop()
    this.queue({ _tag: "MissingDone", typeUrl, names })
    return true
  }

  /** The transport has room for another response. */
  writable(): void {
    this.held = false
    this.queue(writable)
  }

  /** The {@link deadline} has been reached. */
  deadlineReached(): void {
    this.due = true
  }

  /**
   * The group changed in a way that concerns this stream. Returns whether this replaces a change that was not sent yet.
   *
   * @param before the group before the change
   */
  affectedAfter(before: ResourceGroup | undefined): boolean {
    const isConflated = this.changed || this.held
    if (!this.changed) this.advanceTo = before
    this.changed = true
    return isConflated
  }

  /** For `FanOut.move`: moves the client to another group. Its interests are not in the index of that group yet. */
  movedTo(fanOut: Group<A>, phases: PhaseOptions): void {
    this.fanOut = fanOut
    this.moved = phases
    this.indexing = undefined
  }

  // Results.

  /**
   * Gives the reducer its next input, or does more of a long step. Returns the outputs; `undefined` if there is nothing left to
   * do.
   */
  take(now: number, some: Some): ReadonlyArray<Output> | undefined {
    if (this.unfinished !== undefined) return this.advance(this.unfinished, some)
    if (this.indexing !== undefined) return this.index(this.indexing)
    const input = this.next()
    if (input === undefined) return undefined
    const short = ServerStreams.short(this.state, input, now)
    return short === undefined ? this.advance(ServerStreams.stepping(this.state, input, now), some) : this.apply(short)
  }

  /** Removes and returns the next input for the reducer; `undefined` if there is none. Its step goes to {@link apply}. */
  next(): Input | undefined {
    const { state } = this
    if (state.ended) return undefined
    if (ServerStreams.isWorking(state)) return goOn
    const { group } = this.fanOut
    if (this.moved !== undefined) return this.move(group, this.moved)
    if (ServerStreams.groupOf(state) !== group) {
      // A stream that this change concerns may lag behind many changes that did not concern it.
      const passed = this.changed ? this.advanceTo : group
      this.advanceTo = undefined
      if (
        ServerStreams.groupOf(state) !== undefined &&
        passed !== undefined &&
        passed !== ServerStreams.groupOf(state)
      ) {
        return { _tag: "Advance", group: passed }
      }
      if (this.changed && !this.isCredited()) this.held = true
      this.changed = false
      return { _tag: "Changed", group }
    }
    const input = this.inputs?.shift()
    if (this.inputs?.length === 0) this.inputs = undefined
    if (input !== undefined || !this.due) return input
    this.due = false
    return timeHasCome
  }

  /** Stores the reducer's step for {@link next}; returns its outputs. */
  apply(step: Step): ReadonlyArray<Output> {
    const outputs = step[1]
    this.unfinished = undefined
    this.state = step[0]
    outputs.forEach((output) => {
      if (output._tag === "Subscribed") this.subscribed(outputs.find(isNamed)?.change)
    })
    return outputs
  }

  /** Whether {@link take} has something to do. */
  hasWork(): boolean {
    const { due, fanOut, inputs, state } = this
    if (state.ended) return false
    if (inputs !== undefined || due || ServerStreams.groupOf(state) !== fanOut.group || ServerStreams.isWorking(state))
      return true
    return this.isUnfinished() || this.moved !== undefined
  }

  /** Whether {@link take} has unfinished work. */
  isUnfinished(): boolean {
    return this.unfinished !== undefined || this.indexing !== undefined
  }

  /** Whether the next {@link take} may be long, so that other streams should have a turn before. */
  isLong(): boolean {
    const { state } = this
    return this.isUnfinished() || ServerStreams.isWorking(state) || ServerStreams.isAnsweringInParts(state)
  }

  /** Time of the next {@link deadlineReached}, in milliseconds; Infinity if none is due, or a long step has not ended. */
  deadline(): number {
    return this.unfinished === undefined ? ServerStreams.deadline(this.state) : Number.POSITIVE_INFINITY
  }

  /** The move includes changes before it and since then. */
  private move(group: ResourceGroup | undefined, phases: PhaseOptions): Input {
    this.moved = undefined
    this.advanceTo = undefined
    this.changed = false
    // On-demand work for the former group does not count for this one.
    const left = this.inputs?.filter((input) => !isMissingDone(input))
    this.inputs = left?.length === 0 ? undefined : left
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

  private subscribed(change: NamesChange | undefined): void {
    const { fanOut, state } = this
    this.indexing = fanOut.index(this, ServerStreams.interests(state), change)
    // ★ A change during the processing of a request did not concern this stream by its former names. By the new ones it may.
    if (ServerStreams.groupOf(state) === fanOut.group) return
    this.changed = true
    this.advanceTo = undefined
  }

  private isCredited(): boolean {
    return this.state.credit || this.inputs?.includes(writable) === true
  }

  /** Usually there is one input: an array that grows reserves room for 17, and a stream is idle most of its life. */
  private queue(input: Queued): void {
    if (this.inputs === undefined) this.inputs = [input]
    else this.inputs.push(input)
  }
}
