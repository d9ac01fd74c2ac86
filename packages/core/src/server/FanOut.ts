/**
 * Fan-out of a group: its state, the streams that are served from it, and the streams that a change concerns.
 *
 * It is mutable and deterministic: the same calls in the same order give the same outputs, byte for byte. The driver decides
 * when each stream has its turn, and for how long.
 *
 * @since 0.1.0
 */
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type * as Steps from "../Steps.js"
import type { Group } from "./GroupStream.js"
import { GroupStream } from "./GroupStream.js"
import type { Named, Slices } from "./InterestIndex.js"
import { InterestIndex } from "./InterestIndex.js"
import type { NamesChange } from "./NamesChange.js"
import type { Interest, Options, PhaseOptions } from "./ServerStream.js"
import * as ServerStreams from "./ServerStream.js"

/**
 * The options of a stream; see `ServerStream.make`.
 *
 * @since 0.1.0
 */
export type StreamOptions = Pick<Options, "protocol" | "typeUrl"> & Partial<Options>

/**
 * The streams of one group. `A`: the owner of a stream, such as a connection.
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
   * @param group the content of the group; `undefined` if it is not set
   * @param seed a 32-bit number that clients cannot guess. It spreads names over maps; no output depends on it
   */
  constructor(group: ResourceGroup | undefined, seed: number) {
    this.current = group
    this.interests = new InterestIndex(seed)
  }

  /** The content of the group; `undefined` if it is not set. */
  get group(): ResourceGroup | undefined {
    return this.current
  }

  /** Number of streams. */
  get size(): number {
    return this.streams.size
  }

  /** Opens a stream. */
  join(options: StreamOptions, owner: A): GroupStream<A> {
    const stream = this.make(ServerStreams.make(options), owner)
    this.streams.add(stream)
    return stream
  }

  /** Opens a stream in an earlier state, with its subscriptions. It is sent the changes since `state.group`. */
  restore(state: ServerStreams.ServerStream, owner: A): GroupStream<A> {
    const stream = this.make(state, owner)
    this.streams.add(stream)
    const slices = this.index(stream, ServerStreams.interests(state))
    while (slices !== undefined && slices.next().done !== true) continue
    return stream
  }

  /** Closes a stream. Many interests are removed in the returned slices. */
  leave(stream: GroupStream<A>): Slices | undefined {
    this.streams.delete(stream)
    return this.interests.delete(stream)
  }

  /**
   * Moves a stream to the fan-out of another group, where it has work to do. Many interests are removed here in the returned
   * slices.
   *
   * @param phases the phase options of the other group
   */
  move(stream: GroupStream<A>, to: FanOut<A>, phases: PhaseOptions): Slices | undefined {
    this.streams.delete(stream)
    to.streams.add(stream)
    stream.movedTo(to, phases)
    return this.interests.delete(stream)
  }

  /**
   * Changes the content of the group. Visits the streams that have work to do: those that the change concerns, and a share of
   * the others, so that no stream keeps an old state of the group in memory.
   *
   * @param visit `isConflated`: the change replaces one that was not sent yet
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

  /** The on-demand work for a missing name is done. Visits the streams whose answers waited for it. */
  missingDone(typeUrl: string, name: string, visit: (stream: GroupStream<A>) => void): void {
    this.interests.forName(typeUrl, name, (stream) => {
      if (stream.missingDone(typeUrl, name)) visit(stream)
    })
  }

  /**
   * After a change: the names that streams subscribe to by name, and whose resource it removed. `undefined`: there are none, as
   * after most changes.
   */
  gone(before: ResourceGroup): Steps.Steps<ReadonlyArray<Named>> | undefined {
    const { current, interests } = this
    return current !== undefined && interests.isAnyGone(before, current) ? interests.gone(before, current) : undefined
  }

  /** Whether any stream subscribes to this name by name. */
  isNamed(typeUrl: string, name: string): boolean {
    return this.interests.isNamed(typeUrl, name)
  }

  /** Whether any stream subscribes to this name, or to a host that it matches if it is a wildcard domain. */
  isSubscribed(typeUrl: string, name: string): boolean {
    return this.interests.isSubscribed(typeUrl, name)
  }

  /** For the streams: sets the interests of one. `request`: what changed them. */
  index(stream: GroupStream<A>, interests: ReadonlyArray<Interest>, request?: NamesChange): Slices | undefined {
    return this.interests.set(stream, interests, request)
  }

  /** Makes the object of a stream. For subclasses that record what happens. */
  protected make(state: ServerStreams.ServerStream, owner: A): GroupStream<A> {
    return new GroupStream(this, state, owner)
  }
}
