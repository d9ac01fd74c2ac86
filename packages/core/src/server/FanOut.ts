/**
 * The fan-out of a group: its state, the streams that are served from it, and which of them a change concerns.
 *
 * It is mutable and deterministic: the same calls, in the same order, give the same outputs byte for byte. What it leaves to a
 * driver is when each stream has its turn, and for how long.
 *
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type { Group } from "./GroupStream.js"
import { GroupStream } from "./GroupStream.js"
import type { Named, Slices } from "./InterestIndex.js"
import { InterestIndex } from "./InterestIndex.js"
import type { Interest, Options, PhaseOptions } from "./ServerStream.js"
import type * as Steps from "../Steps.js"
import * as ServerStreams from "./ServerStream.js"

/**
 * What a stream is made with: see `ServerStream.make`.
 *
 * @since 0.1.0
 */
export type StreamOptions = Pick<Options, "protocol" | "typeUrl"> & Partial<Options>

/**
 * The streams of one group. `A`: what a stream belongs to, such as a connection.
 *
 * @example
 * import { FanOut, Request, ResourceGroup, Steps } from "@effect-xds/core"
 *
 * const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
 * const fanOut = new FanOut.FanOut<string>(ResourceGroup.empty, 0)
 * const stream = fanOut.join({ protocol: "Incremental", typeUrl: undefined }, "a client")
 * stream.writable()
 * stream.request(Request.incremental({ typeUrl }))
 * for (;;) {
 *   const outputs = stream.take(0, Steps.toEnd)
 *   if (outputs === undefined) break
 *   for (const output of outputs) console.log(output._tag)
 * }
 *
 * @since 0.1.0
 */
export class FanOut<A> implements Group<A> {
  private readonly streams = new Set<GroupStream<A>>()
  private readonly interests: InterestIndex<GroupStream<A>>
  private current: ResourceGroup | undefined

  /**
   * @param group what the group holds; `undefined`: it is not set
   * @param seed a number of 32 bits that clients cannot guess: it spreads the names they subscribe to. No output depends on it
   */
  constructor(group: ResourceGroup | undefined, seed: number) {
    this.current = group
    this.interests = new InterestIndex(seed)
  }

  /** What the group holds; `undefined`: it is not set. */
  get group(): ResourceGroup | undefined {
    return this.current
  }

  /** Streams. */
  get size(): number {
    return this.streams.size
  }

  /** Opens a stream. */
  join(options: StreamOptions, owner: A): GroupStream<A> {
    const stream = this.make(ServerStreams.make(options), owner)
    this.streams.add(stream)
    return stream
  }

  /** Opens a stream in a state that it had before: what it subscribes to is known. Of `state.group` on, it is told what changes. */
  restore(state: ServerStreams.ServerStream, owner: A): GroupStream<A> {
    const stream = this.make(state, owner)
    this.streams.add(stream)
    const slices = this.index(stream, ServerStreams.interests(state))
    while (slices !== undefined && slices.next().done !== true) continue
    return stream
  }

  /** Closes a stream. Its interests, if they are many, are removed in the slices that are given back. */
  leave(stream: GroupStream<A>): Slices | undefined {
    this.streams.delete(stream)
    return this.interests.delete(stream)
  }

  /**
   * Moves a stream to another group, whose fan-out has it from now on: it has something to do then. Its interests here, if they are
   * many, are removed in the slices that are given back.
   *
   * @param phases how the other group's streams wait between phases
   */
  move(stream: GroupStream<A>, to: FanOut<A>, phases: PhaseOptions): Slices | undefined {
    this.streams.delete(stream)
    to.streams.add(stream)
    stream.movedTo(to, phases)
    return this.interests.delete(stream)
  }

  /**
   * Changes what the group holds. Visits the streams that have something to do then: those that the change concerns, and a part
   * of the others, so that none keeps an old state of the group alive.
   *
   * @param visit `isConflated`: the change replaces one that the stream was not told yet
   */
  publish(group: ResourceGroup | undefined, visit: (stream: GroupStream<A>, isConflated: boolean) => void): void {
    const before = this.current
    this.current = group
    const affect = (stream: GroupStream<A>): void => visit(stream, stream.affectedAfter(before))
    if (before === undefined || group === undefined) this.streams.forEach(affect)
    else {
      this.interests.forEach(before, group, affect)
      this.interests.someInTurn((stream) => visit(stream, false))
    }
  }

  /** What can be done about a name that is missing was done. Visits the streams that have something to do then: whose answers waited. */
  missingDone(typeUrl: string, name: string, visit: (stream: GroupStream<A>) => void): void {
    this.interests.forName(typeUrl, name, (stream) => {
      if (stream.missingDone(typeUrl, name)) visit(stream)
    })
  }

  /**
   * After a change: the names that streams subscribe to by name, for which there was a resource before, and is none now. `undefined`:
   * there are none, as after most changes.
   */
  gone(before: ResourceGroup): Steps.Steps<ReadonlyArray<Named>> | undefined {
    const { current, interests } = this
    return current !== undefined && interests.isAnyGone(before, current) ? interests.gone(before, current) : undefined
  }

  /** Whether a stream subscribes to a name by name. */
  isNamed(typeUrl: string, name: string): boolean {
    return this.interests.isNamed(typeUrl, name)
  }

  /** For its streams: what one subscribes to now. */
  index(stream: GroupStream<A>, interests: ReadonlyArray<Interest>): Slices | undefined {
    return this.interests.set(stream, interests)
  }

  /** For those who write down what happens: the object of a stream. */
  protected make(state: ServerStreams.ServerStream, owner: A): GroupStream<A> {
    return new GroupStream(this, state, owner)
  }
}
