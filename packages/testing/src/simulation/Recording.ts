/**
 * Recordings of the streams of servers, and their replay by core alone.
 *
 * A server decides nothing of the protocol. So the same requests, credit, changes and turns, given to core in the same order,
 * have the same outcome, byte for byte. A recording is plain data that can be stored and replayed elsewhere.
 *
 * @since 0.1.0
 */
import * as ChangeLog from "@effect-xds/core/resource/ChangeLog"
import * as Cursor from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import type { Resource, ResourceError, Variant } from "@effect-xds/core/resource/Resource"
import * as Resources from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Variants from "@effect-xds/core/resource/Variants"
import type { StreamOptions } from "@effect-xds/core/server/FanOut"
import { FanOut } from "@effect-xds/core/server/FanOut"
import type { Some } from "@effect-xds/core/server/GroupStream"
import { GroupStream } from "@effect-xds/core/server/GroupStream"
import type { Output, PhaseOptions, ServerStream } from "@effect-xds/core/server/ServerStream"
import type * as Steps from "@effect-xds/core/Steps"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import type { Protocol, Request } from "@effect-xds/core/wire/Request"
import * as Requests from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import type * as FanOuts from "@effect-xds/server/FanOuts"
import * as Either from "effect/Either"

/**
 * A published resource.
 *
 * @since 0.1.0
 */
export interface RecordedResource {
  readonly typeUrl: string
  readonly name: string
  readonly aliases: ReadonlyArray<string>
  readonly version: string
  /** Milliseconds. */
  readonly ttl: number | undefined
  readonly value: Uint8Array
  /** In place of the content: its variants (TP2). Absent: it has none. */
  readonly variants?: ReadonlyArray<Variants.Input>
  /** In place of the content: why it cannot be given (TP3). Absent: it can. */
  readonly error?: ResourceError
}

/**
 * A change of a group.
 *
 * @since 0.1.0
 */
export interface RecordedChange {
  readonly upsert: ReadonlyArray<RecordedResource>
  readonly remove: ReadonlyArray<ResourceGroups.ResourceKey>
  /** Type URL → version. */
  readonly versions: Readonly<Record<string, string>>
}

/**
 * A recorded call. Fan-outs and streams have numbers.
 *
 * @since 0.1.0
 */
export type Entry =
  /** A group got its first stream. `holds`: its content; `undefined` if it is not set. */
  | { readonly _tag: "Opened"; readonly fanOut: number; readonly holds: RecordedChange | undefined }
  /** A group changed. `visited`: the streams with work to do after it, in this order. */
  | {
      readonly _tag: "Published"
      readonly fanOut: number
      readonly change: RecordedChange | undefined
      readonly visited: ReadonlyArray<number>
    }
  | { readonly _tag: "Joined"; readonly fanOut: number; readonly stream: number; readonly options: StreamOptions }
  | { readonly _tag: "Left"; readonly fanOut: number; readonly stream: number }
  | {
      readonly _tag: "Moved"
      readonly fanOut: number
      readonly stream: number
      readonly to: number
      readonly phases: PhaseOptions
    }
  | { readonly _tag: "Requested"; readonly stream: number; readonly protocol: Protocol; readonly bytes: Uint8Array }
  | { readonly _tag: "Writable"; readonly stream: number }
  | { readonly _tag: "MissingDone"; readonly stream: number; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "DeadlineReached"; readonly stream: number }
  /** A stream had a turn. `steps`: number of parts of a long step. `outcome`: its outputs; see {@link outcomeOf}. */
  | {
      readonly _tag: "Took"
      readonly stream: number
      /** Milliseconds. */
      readonly now: number
      readonly steps: number
      readonly outcome: string
    }

const recorded = ({ aliases, error, name, ttl, typeUrl, value, variants, version }: Resource): RecordedResource => ({
  typeUrl,
  name,
  aliases,
  version,
  ttl,
  value,
  ...(variants && { variants: variants.map(inputOf) }),
  ...(error && { error })
})

/** What a variant was made of. Without a label its versions differ. */
const inputOf = ({ constrained, constraints, plain }: Variant): Variants.Input => ({
  constraints,
  value: plain.value,
  ttl: plain.ttl,
  version: constrained.version === plain.version ? plain.version : undefined
})

const resourceOf = (resource: RecordedResource): Either.Either<Resource, Resources.InvalidResource> => {
  if (resource.error !== undefined) return Resources.unavailable(resource, resource.error)
  if (resource.variants !== undefined) return Variants.make(resource, resource.variants)
  return Resources.make(resource)
}

const versionsOf = (sets: Iterable<ResourceSet.ResourceSet>): Readonly<Record<string, string>> =>
  Object.fromEntries(Array.from(sets, ({ typeUrl, version }) => [typeUrl, version]))

/** The names that the last change of a set touched, in its order. `before`: the set before it. */
const touched = (before: ResourceSet.ResourceSet, set: ResourceSet.ResourceSet): Iterable<string> => {
  const last = set.recent.at(-1) ?? set.blocks.at(-1)?.at(-1)
  const isOne = last !== undefined && set.cursor.revision === before.cursor.revision + 1
  return isOne && ChangeLog.isFrom(last, before.cursor)
    ? last.before.keys()
    : Difference.of(set, before.cursor).touched.keys()
}

/** Resources of a set that only have a new label. */
const relabelled = (before: ResourceSet.ResourceSet, set: ResourceSet.ResourceSet): ReadonlyArray<Resource> =>
  ResourceSet.all(set).filter(({ fingerprint, name, version }) => {
    const old = ResourceSet.get(before, name)
    return old?.fingerprint === fingerprint && old.version !== version
  })

/** The changes between two states, in their order. */
const changeOf = (before: ResourceGroup, after: ResourceGroup): RecordedChange => {
  const upsert: Array<RecordedResource> = []
  const remove: Array<ResourceGroups.ResourceKey> = []
  const changed: Array<ResourceSet.ResourceSet> = []
  for (const [typeUrl, set] of after.sets) {
    const old = ResourceGroups.set(before, typeUrl)
    if (old === set) continue
    changed.push(set)
    for (const name of Cursor.isSame(old.cursor, set.cursor) ? [] : touched(old, set)) {
      const resource = ResourceSet.get(set, name)
      if (resource !== undefined) upsert.push(recorded(resource))
      else if (ResourceSet.get(old, name) !== undefined) remove.push({ typeUrl, name })
    }
    upsert.push(...relabelled(old, set).map(recorded))
  }
  return { upsert, remove, versions: versionsOf(changed) }
}

const after = (before: ResourceGroup, { remove, upsert, versions }: RecordedChange): ResourceGroup => {
  const resources = upsert.map((resource) => Either.getOrThrow(resourceOf(resource)))
  return Either.getOrThrow(ResourceGroups.update(before, { upsert: resources, remove, versions }))
}

const hex = (bytes: Uint8Array): string => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")

/**
 * The outcome of a turn as text: a line per output, with the bytes of a response in hexadecimal digits. `nothing`: there was no
 * work left.
 *
 * @since 0.1.0
 */
export const outcomeOf = (outputs: ReadonlyArray<Output> | undefined): string =>
  outputs === undefined
    ? "nothing"
    : outputs
        .map((output) => {
          if (output._tag !== "Send") return JSON.stringify(output)
          const { nonce, response, typeUrl } = output
          return ["Send", typeUrl, nonce, hex(Response.body(response)), hex(Response.nonceField(nonce))].join(" ")
        })
        .join("\n")

/** The numbering that recorder and replay share. */
interface Recorder {
  readonly write: (entry: Entry) => void
  readonly nextFanOut: () => number
  readonly nextStream: () => number
}

const counting = function* <A>(work: Steps.Steps<A>, count: () => void): Steps.Steps<A> {
  for (;;) {
    const { done, value } = work.next()
    count()
    if (done === true) return value
    yield
  }
}

class RecordedStream<A> extends GroupStream<A> {
  constructor(
    fanOut: FanOut<A>,
    state: ServerStream,
    owner: A,
    private readonly recorder: Recorder,
    readonly number: number
  ) {
    super(fanOut, state, owner)
  }

  override request(request: Request): void {
    this.recorder.write({
      _tag: "Requested",
      stream: this.number,
      protocol: request._tag,
      bytes: ClientRequest.encode(request)
    })
    super.request(request)
  }

  override writable(): void {
    this.recorder.write({ _tag: "Writable", stream: this.number })
    super.writable()
  }

  override missingDone(typeUrl: string, name: string): boolean {
    this.recorder.write({ _tag: "MissingDone", stream: this.number, typeUrl, name })
    return super.missingDone(typeUrl, name)
  }

  override deadlineReached(): void {
    this.recorder.write({ _tag: "DeadlineReached", stream: this.number })
    super.deadlineReached()
  }

  override take(now: number, some: Some): ReadonlyArray<Output> | undefined {
    let steps = 0
    const outputs = super.take(now, (work) => some(counting(work, () => steps++)))
    this.recorder.write({ _tag: "Took", stream: this.number, now, steps, outcome: outcomeOf(outputs) })
    return outputs
  }
}

const numberOf = (stream: GroupStream<unknown>): number => (stream instanceof RecordedStream ? stream.number : -1)

class RecordedFanOut<A> extends FanOut<A> {
  readonly number: number

  constructor(
    group: ResourceGroup | undefined,
    seed: number,
    private readonly recorder: Recorder
  ) {
    super(group, seed)
    this.number = recorder.nextFanOut()
    recorder.write({ _tag: "Opened", fanOut: this.number, holds: group && changeOf(ResourceGroups.empty, group) })
  }

  override join(options: StreamOptions, owner: A): GroupStream<A> {
    const stream = super.join(options, owner)
    this.recorder.write({ _tag: "Joined", fanOut: this.number, stream: numberOf(stream), options })
    return stream
  }

  override leave(stream: GroupStream<A>): ReturnType<FanOut<A>["leave"]> {
    this.recorder.write({ _tag: "Left", fanOut: this.number, stream: numberOf(stream) })
    return super.leave(stream)
  }

  override move(stream: GroupStream<A>, to: FanOut<A>, phases: PhaseOptions): ReturnType<FanOut<A>["move"]> {
    const number = to instanceof RecordedFanOut ? to.number : -1
    this.recorder.write({ _tag: "Moved", fanOut: this.number, stream: numberOf(stream), to: number, phases })
    return super.move(stream, to, phases)
  }

  override publish(group: ResourceGroup | undefined, visit: Parameters<FanOut<A>["publish"]>[1]): void {
    const change = group && changeOf(this.group ?? ResourceGroups.empty, group)
    const visited: Array<number> = []
    super.publish(group, (stream, isConflated) => {
      visited.push(numberOf(stream))
      visit(stream, isConflated)
    })
    this.recorder.write({ _tag: "Published", fanOut: this.number, change, visited })
  }

  protected override make(state: ServerStream, owner: A): GroupStream<A> {
    return new RecordedStream(this, state, owner, this.recorder, this.recorder.nextStream())
  }
}

/**
 * The recorded entries, and the source of fan-outs that record them.
 *
 * @since 0.1.0
 */
export interface Recording {
  /** Oldest first. */
  readonly entries: ReadonlyArray<Entry>
  readonly fanOuts: FanOuts.Service
}

/**
 * An empty recording.
 *
 * @example
 * import { Recording, Simulation } from "@effect-xds/testing"
 * import { FanOuts } from "@effect-xds/server"
 * import { Effect } from "effect"
 *
 * const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
 *
 * const program = Effect.gen(function* () {
 *   const recording = Recording.make()
 *   yield* Simulation.run({
 *     servers: [{ name: "xds" }],
 *     clients: [{ name: "app" }],
 *     script: [{ at: 0, _tag: "Watch", client: "app", typeUrl, name: "web" }]
 *   }).pipe(Effect.provideService(FanOuts.FanOuts, recording.fanOuts))
 *   console.log(Recording.replay(recording.entries))
 * })
 *
 * @since 0.1.0
 */
export const make = (): Recording => {
  const entries: Array<Entry> = []
  let fanOuts = 0
  let streams = 0
  const recorder: Recorder = {
    write: (entry) => void entries.push(entry),
    nextFanOut: () => ++fanOuts,
    nextStream: () => ++streams
  }
  return { entries, fanOuts: { make: (_, group, seed) => new RecordedFanOut(group, seed, recorder) } }
}

const noSome: Some = () => undefined

/** Does a number of parts of a long step. */
const partsOf =
  (steps: number): Some =>
  (work) => {
    for (let left = steps; left > 0; left--) {
      const { done, value } = work.next()
      if (done === true) return value
    }
    return undefined
  }

/**
 * Replays a recording with core alone. Returns the differences in words; empty if core decides everything that matters.
 *
 * @since 0.1.0
 */
export const replay = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => {
  const fanOuts = new Map<number, FanOut<number>>()
  const streams = new Map<number, GroupStream<number>>()
  const problems: Array<string> = []
  const known = <A>(found: A | undefined): A => {
    if (found === undefined) throw new Error("the recording names a fan-out or a stream that it does not open")
    return found
  }
  const fanOutOf = (number: number): FanOut<number> => known(fanOuts.get(number))
  const streamOf = (number: number): GroupStream<number> => known(streams.get(number))
  for (const [index, entry] of entries.entries()) {
    const differ = (what: string, one: string, other: string): void => {
      if (one !== other) problems.push(`entry ${index}, ${what}: recorded ${one}; replayed ${other}`)
    }
    switch (entry._tag) {
      case "Opened":
        fanOuts.set(entry.fanOut, new FanOut(entry.holds && after(ResourceGroups.empty, entry.holds), 0))
        break
      case "Published": {
        const fanOut = fanOutOf(entry.fanOut)
        const visited: Array<number> = []
        const group = entry.change && after(fanOut.group ?? ResourceGroups.empty, entry.change)
        fanOut.publish(group, ({ owner }) => void visited.push(owner))
        differ("the streams that a change concerns", entry.visited.join(" "), visited.join(" "))
        break
      }
      case "Joined":
        streams.set(entry.stream, fanOutOf(entry.fanOut).join(entry.options, entry.stream))
        break
      case "Left":
        fanOutOf(entry.fanOut).leave(streamOf(entry.stream))
        streams.delete(entry.stream)
        break
      case "Moved":
        fanOutOf(entry.fanOut).move(streamOf(entry.stream), fanOutOf(entry.to), entry.phases)
        break
      case "Requested":
        streamOf(entry.stream).request(Either.getOrThrow(Requests.decode(entry.protocol, entry.bytes)))
        break
      case "Writable":
        streamOf(entry.stream).writable()
        break
      case "MissingDone":
        streamOf(entry.stream).missingDone(entry.typeUrl, entry.name)
        break
      case "DeadlineReached":
        streamOf(entry.stream).deadlineReached()
        break
      case "Took": {
        const { now, outcome, steps, stream } = entry
        const outputs = streamOf(stream).take(now, steps === 0 ? noSome : partsOf(steps))
        differ(`a turn of stream ${stream}`, outcome, outcomeOf(outputs))
        break
      }
    }
  }
  return problems
}
