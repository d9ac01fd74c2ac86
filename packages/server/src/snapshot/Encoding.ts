/**
 * The encoding of a snapshot's resources, when it enters a store.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import * as Digest from "@effect-xds/core/resource/Digest"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Variants from "@effect-xds/core/resource/Variants"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import { Buffer } from "node:buffer"
import { hash } from "node:crypto"
import * as SourceContent from "../internal/SourceContent.js"
import * as SourceName from "../internal/SourceName.js"
import * as Slots from "./Slots.js"
import { SnapshotError } from "./SnapshotError.js"

/**
 * Encoded resources, in the order of the slots, and the places of those that have one.
 *
 * @since 0.1.0
 */
export interface EncodedSnapshot {
  readonly resources: ReadonlyArray<Resource.Resource>
  readonly places: ReadonlyMap<Resource.Resource, string>
}

/**
 * A new or changed resource of a known type.
 *
 * @since 0.1.0
 */
export interface Inspected {
  readonly resource: Resource.Resource
  readonly type: DescMessage
  /** The message that was given, or its bytes. */
  readonly content: Message | Uint8Array
  readonly place: string | undefined
  /** What is large in it: it takes longer than one turn of the event loop may. `undefined`: nothing, in small resources. */
  readonly large: MessageSteps.Large | undefined
}

/**
 * Inspects each new or changed resource of a known type while a snapshot is encoded. Gives back what to wait for before the next
 * resource; `undefined`: nothing.
 *
 * @since 0.1.0
 */
export type Inspector = (inspected: Inspected, loop: EventLoop.Service) => Effect.Effect<void> | undefined

const sameBytes = (left: Uint8Array, right: Uint8Array): boolean =>
  left.length === right.length && Buffer.compare(left, right) === 0

const sameList = (left: ReadonlyArray<string>, right: ReadonlyArray<string>): boolean =>
  left.length === right.length && left.every((value, index) => value === right[index])

const noAliases: ReadonlyArray<string> = []

const noResources: ReadonlyArray<Resource.Resource> = []

const noPlaces: ReadonlyMap<Resource.Resource, string> = new Map()

/** Node's hash, in a fraction of the time of the platform's. */
const hasher = new Digest.Hasher((bytes) => hash("sha256", bytes))

/** Encodes resources one after the other. */
class Encoding implements EncodedSnapshot {
  private list: Array<Resource.Resource> | undefined
  // Most snapshots are one small resource of a change, without any.
  private placed: Map<Resource.Resource, string> | undefined
  private varied: Map<string, Varied> | undefined

  constructor(
    private readonly held: ResourceGroup.ResourceGroup,
    private readonly inspect: Inspector | undefined,
    private readonly loop: EventLoop.Service
  ) {}

  get resources(): ReadonlyArray<Resource.Resource> {
    return this.list ?? noResources
  }

  get places(): ReadonlyMap<Resource.Resource, string> {
    return this.placed ?? noPlaces
  }

  /** One more. This runs for every resource of every snapshot: `undefined` if there is nothing to wait for and no error. */
  add(entry: Slots.Slotted): Effect.Effect<void, SnapshotError> | undefined {
    const { expected, options, source } = entry
    const typeUrl = SourceContent.typeUrlOf(source)
    const fail = (reason: SnapshotError["reason"], name: string, detail: string) =>
      new SnapshotError({ reason, typeUrl, name, detail })

    if (expected !== undefined && !ResourceType.isOf(typeUrl, expected)) {
      const detail = `it stands where ${expected.typeName} is wanted; move it to its own property`
      return fail("WrongType", SourceName.probable(entry, typeUrl), detail)
    }
    if (options.error !== undefined) {
      const name = SourceName.probable(entry, typeUrl)
      const made = Resource.unavailable({ typeUrl, name }, options.error, hasher)
      if (Either.isLeft(made)) return fail("Invalid", name, made.left.reason)
      const old = ResourceGroup.get(this.held, made.right)
      return this.put(old?.fingerprint === made.right.fingerprint ? old : made.right, options.place)
    }
    const schema = SourceContent.schema(typeUrl)
    const given = SourceContent.bytesOf(source)
    if (schema === undefined && (options.isUnknownType !== true || given === undefined)) {
      const detail = `${typeUrl} is not a type of the Envoy v3 API; check the type URL`
      return fail("UnknownType", SourceName.probable(entry, typeUrl), detail)
    }
    // A resource copies its bytes, unless it keeps them.
    const keepBytes = options.keepBytes === true
    const encoded = SourceContent.encodeSmall(source, typeUrl, !keepBytes)
    if (encoded instanceof Uint8Array) {
      const taken = this.take(entry, typeUrl, encoded, keepBytes, undefined)
      MessageSteps.giveBack()
      return taken
    }
    const refuse = ({ detail, reason }: SourceContent.Problem) =>
      fail(reason, SourceName.probable(entry, typeUrl), detail)
    if (encoded !== undefined) return refuse(encoded)
    return Effect.flatMap(Slices.steps(this.loop, SourceContent.encodeInSteps(source, typeUrl)), (encoded) =>
      "reason" in encoded
        ? refuse(encoded)
        : (this.take(entry, typeUrl, encoded.bytes, keepBytes, encoded.large) ?? Effect.void)
    )
  }

  /** What is encoded. */
  private take(
    entry: Slots.Slotted,
    typeUrl: string,
    encoded: Uint8Array,
    keepBytes: boolean,
    large: MessageSteps.Large | undefined
  ): Effect.Effect<void, SnapshotError> | undefined {
    const { options, source } = entry
    const { place } = options
    const fail = (reason: SnapshotError["reason"], name: string, detail: string) =>
      new SnapshotError({ reason, typeUrl, name, detail })
    const name = SourceName.resolve(entry, typeUrl)
    if (typeof name !== "string") return name
    const milliseconds = options.ttl === undefined ? undefined : BadOption.milliseconds(options.ttl)
    if (milliseconds !== undefined && !(milliseconds >= 0 && milliseconds < Infinity)) {
      return fail("Invalid", name, `the TTL is not a finite duration; leave it out for a resource that stays`)
    }
    const { constraints, version } = options
    const aliases = options.aliases ?? noAliases
    const old = constraints === undefined ? ResourceGroup.get(this.held, { typeUrl, name }) : undefined
    if (
      old !== undefined &&
      old.ttl === milliseconds &&
      old.version === (version ?? old.fingerprint) &&
      sameList(old.aliases, aliases) &&
      sameBytes(old.value, encoded)
    ) {
      return this.put(old, place)
    }
    // The caller's bytes are copied unless they are to be kept: they may change, or be a view into a much larger buffer.
    const made = { typeUrl, name, value: encoded, keepBytes, aliases, version, ttl: milliseconds }
    const result = Resource.make(made, hasher)
    if (Either.isLeft(result)) return fail("Invalid", name, result.left.reason)
    const { value } = result.right
    if (constraints === undefined) this.put(result.right, place)
    else if (aliases.length > 0) return fail("Invalid", name, "a variant has no aliases; leave them out")
    else if (this.vary(result.right, { version, ttl: milliseconds, constraints, value }, place)) return undefined
    const type = SourceContent.schema(typeUrl)
    if (type === undefined) return undefined
    const content = "$typeName" in source && !SourceContent.isAny(source) ? source : value
    return this.inspect?.({ resource: result.right, type, content, place, large }, this.loop)
  }

  private put(resource: Resource.Resource, place: string | undefined): undefined {
    // A list that grows from nothing has room for seventeen.
    if (this.list === undefined) this.list = [resource]
    else this.list.push(resource)
    if (place !== undefined) (this.placed ??= new Map()).set(resource, place)
  }

  /** One more variant. Whether there is such a one already, which was inspected. */
  private vary({ fingerprint, name, typeUrl }: Resource.Resource, input: Variants.Input, place: string | undefined) {
    const key = `${typeUrl} ${name}`
    this.varied ??= new Map()
    const varied = this.varied.get(key) ?? { typeUrl, name, inputs: [], place }
    varied.inputs.push(input)
    this.varied.set(key, varied)
    const old = ResourceGroup.get(this.held, { typeUrl, name })
    return old?.variants?.some(({ plain }) => plain.fingerprint === fingerprint) === true
  }

  /** After the last one: variants of a name are one resource. */
  end(): SnapshotError | undefined {
    if (this.varied === undefined) return undefined
    for (const { inputs, name, place, typeUrl } of this.varied.values()) {
      const made = Variants.make({ typeUrl, name }, inputs, hasher)
      if (Either.isLeft(made)) {
        return new SnapshotError({ reason: "Invalid", typeUrl, name, detail: made.left.reason })
      }
      const old = ResourceGroup.get(this.held, made.right)
      this.put(old?.fingerprint === made.right.fingerprint ? old : made.right, place)
    }
    return undefined
  }
}

/** The variants of a name. */
interface Varied {
  readonly typeUrl: string
  readonly name: string
  readonly inputs: Array<Variants.Input>
  /** Of the first one. */
  readonly place: string | undefined
}

/**
 * Encodes and checks every resource of a snapshot, as a store does. Resources with the same content in `held` are
 * reused. A large snapshot is encoded in slices, and so is a large resource, so that the event loop is not blocked. The rules of
 * Envoy's API are checked by a validator, as the inspector.
 *
 * @since 0.1.0
 */
export const encode = (
  self: Slots.Resources,
  held: ResourceGroup.ResourceGroup = ResourceGroup.empty,
  inspect?: Inspector
): Effect.Effect<EncodedSnapshot, SnapshotError> => EventLoop.withGuarded((loop) => encodeOn(loop, self, held, inspect))

/**
 * {@link encode} on an event loop, at once: an `Exit` if there is nothing to wait for. It may throw what the caller's iterables and
 * messages throw.
 *
 * @since 0.1.0
 */
export const encodeOn = (
  loop: EventLoop.Service,
  self: Slots.Resources,
  held: ResourceGroup.ResourceGroup = ResourceGroup.empty,
  inspect?: Inspector
): Effect.Effect<EncodedSnapshot, SnapshotError> => {
  const malformed = Slots.malformed(self)
  if (malformed !== undefined) return Exit.fail(malformed)
  const entries = Slots.entries(self)
  const encoding = new Encoding(held, inspect, loop)
  let next = 0
  const go = (): Effect.Effect<EncodedSnapshot, SnapshotError> => {
    // A change of one resource needs no slice.
    const slice = entries.length === 1 ? undefined : Slices.begin(loop)
    for (let entry = entries[next++]; entry !== undefined; entry = entries[next++]) {
      const wait = encoding.add(entry) ?? (slice?.isOver() === true ? Slices.breathe(loop) : undefined)
      if (wait !== undefined) return Effect.flatMap(wait, go)
    }
    return encoding.end() ?? Exit.succeed(encoding)
  }
  const loading = SourceContent.loadSchemas(entries)
  return loading === undefined ? go() : Effect.flatMap(loading, go)
}
