/**
 * A resource as a server stores and sends it: encoded once, on entry to a store, and not decoded again.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Digest from "./Digest.js"
import * as EdsCluster from "./EdsCluster.js"
import type { Constraints } from "../protocol/DynamicParameters.js"
import * as ResourceEntries from "../wire/ResourceEntry.js"
import type { ResourceEntry } from "../wire/ResourceEntry.js"
import * as VirtualHostDiscovery from "./VirtualHostDiscovery.js"

/**
 * A named, versioned piece of configuration, encoded.
 *
 * @since 0.1.0
 */
export interface Resource {
  /** `type.googleapis.com/<full name of the message>`. */
  readonly typeUrl: string
  readonly name: string
  /** Other names by which a client may request it, in incremental xDS. */
  readonly aliases: ReadonlyArray<string>
  /** The version that clients see: the caller's label, else the digest. Compared only with versions that clients quote. */
  readonly version: string
  /** Identity of the content (body, aliases, TTL; with a TTL, also the label). Changes are found from this alone. */
  readonly digest: Digest.Digest
  /** {@link digest} as text. */
  readonly fingerprint: string
  /** Time to live in milliseconds, if it has one. */
  readonly ttl: number | undefined
  /** The encoded message: the `value` of an `Any`. */
  readonly value: Uint8Array
  /** For a Cluster of type EDS: the name of the ClusterLoadAssignment it is warmed with. */
  readonly assignment: string | undefined
  /** For a RouteConfiguration: whether its virtual hosts are fetched by VHDS. */
  readonly onDemandVirtualHosts: boolean
  /** In a set: the variants of the name; the resource itself has no content then. Absent: it has none. */
  readonly variants?: ReadonlyArray<Variant>
  /** In a set: why the resource cannot be given to clients; it has no content then. Absent: it can. */
  readonly error?: ResourceError
  /** In what a client sees: the encoded constraints of the variant (TP2). Absent: it has none, or the client knows none. */
  readonly constraints?: Uint8Array
}

/**
 * Why a server cannot give a resource, as clients are told (TP3).
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP3-xds-error-propagation.md
 * @since 0.1.0
 */
export interface ResourceError {
  /** A `google.rpc.Code`. */
  readonly code: number
  readonly message: string
}

/**
 * A variant of a resource (TP2): for whom it is, and what it is for clients that give locators, and for others, which know no
 * constraints.
 *
 * @since 0.1.0
 */
export interface Variant {
  readonly constraints: Constraints
  readonly constrained: Resource
  readonly plain: Resource
}

/**
 * Optional properties of a resource.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Default: none. */
  readonly aliases?: ReadonlyArray<string> | undefined
  /**
   * The version that clients see. Default: a digest of the content, the same on every replica. Another label alone is no change that is
   * sent, unless the resource has a TTL: heartbeats name its version.
   */
  readonly version?: string | undefined
  /** Milliseconds, at least {@link minimumTtl}. Default: the resource does not expire. */
  readonly ttl?: number | undefined
}

/**
 * The shortest TTL, in milliseconds. Heartbeats are sent at half the TTL, so a shorter one would be a storm.
 *
 * @since 0.1.0
 */
export const minimumTtl = 100

/**
 * Error: a resource that cannot be served, and why.
 *
 * @since 0.1.0
 */
export class InvalidResource extends Data.TaggedError("InvalidResource")<{
  readonly typeUrl: string
  readonly name: string
  readonly reason: string
}> {
  override get message(): string {
    return `${ResourceType.shortNameOf(this.typeUrl)} resource ${JSON.stringify(this.name)}: ${this.reason}`
  }
}

/** Shared, because most resources have no alias. */
const noAliases: ReadonlyArray<string> = []

/**
 * Makes a resource from its encoded message. Fails with {@link InvalidResource}.
 *
 * @param input with `keepBytes` the bytes are kept as they are: do not modify them. Default: they are copied into the form in which
 * responses carry them, which need not encode the resource then.
 * @param hasher for the digest, of the platform; see {@link Digest.ofParts}
 * @since 0.1.0
 */
export const make = (
  input: {
    readonly typeUrl: string
    readonly name: string
    readonly value: Uint8Array
    readonly keepBytes?: boolean
  } & Options,
  hasher?: Digest.Hasher
): Either.Either<Resource, InvalidResource> => {
  const { name, ttl, typeUrl, value } = input
  const invalid = (reason: string) => Either.left(new InvalidResource({ typeUrl, name, reason }))
  if (name === "") return invalid("the name is empty; give every resource a name")
  if (name === "*") return invalid("the name `*` is reserved: clients subscribe to it to get everything")
  const aliases = input.aliases === undefined || input.aliases.length === 0 ? noAliases : input.aliases
  if (aliases.some((alias) => alias === "" || alias === "*")) return invalid("an alias must not be empty or `*`")
  if (aliases.length > 0 && (new Set(aliases).size !== aliases.length || aliases.includes(name)))
    return invalid("an alias is given twice or repeats the name")
  if (ttl !== undefined && !(ttl >= minimumTtl && Number.isFinite(ttl)))
    return invalid(`a TTL of ${ttl} ms is too short: heartbeats go out at half of it; give at least ${minimumTtl} ms`)
  const label = input.version ?? ""
  // ★ A heartbeat has no body but the version, and a client renews only what it holds at that version.
  const lifetime = ttl === undefined ? "" : label === "" ? String(ttl) : `${ttl} ${label}`
  const digest = Digest.ofParts([typeUrl, name, lifetime, value, ...aliases], hasher)
  const fingerprint = Digest.toHex(digest)
  const version = label === "" ? fingerprint : label
  const entry = input.keepBytes === true ? undefined : ResourceEntries.make(typeUrl, name, version, value)
  return Either.right(new Made(typeUrl, name, aliases, version, digest, fingerprint, ttl, entry?.value ?? value, entry))
}

/**
 * A resource, and its entry unless the size of that is 0. A copy of its fields has none: it may differ in some of them. The entry is no object
 * of its own: there are as many resources as a server has, and V8's collector looks at each object again and again.
 */
class Made implements Resource, ResourceEntry {
  readonly #bytes: Uint8Array
  readonly #size: number
  readonly #anyFrom: number
  readonly #anyBefore: number
  readonly assignment: string | undefined
  readonly onDemandVirtualHosts: boolean

  constructor(
    readonly typeUrl: string,
    readonly name: string,
    readonly aliases: ReadonlyArray<string>,
    readonly version: string,
    readonly digest: Digest.Digest,
    readonly fingerprint: string,
    readonly ttl: number | undefined,
    readonly value: Uint8Array,
    entry: ResourceEntry | undefined
  ) {
    this.assignment = ResourceType.isOf(typeUrl, ResourceType.Cluster)
      ? EdsCluster.assignmentName(name, value)
      : undefined
    this.onDemandVirtualHosts =
      ResourceType.isOf(typeUrl, ResourceType.RouteConfiguration) && VirtualHostDiscovery.isRequestedBy(value)
    this.#bytes = entry?.bytes ?? value
    this.#size = entry?.size ?? 0
    this.#anyFrom = entry?.anyFrom ?? 0
    this.#anyBefore = entry?.anyBefore ?? 0
  }

  get bytes(): Uint8Array {
    return this.#bytes
  }

  get size(): number {
    return this.#size
  }

  get anyFrom(): number {
    return this.#anyFrom
  }

  get anyBefore(): number {
    return this.#anyBefore
  }

  static entryOf(resource: Resource): ResourceEntry | undefined {
    return #size in resource && resource.#size > 0 ? resource : undefined
  }
}

/**
 * A resource as responses carry it, encoded when it was made. `undefined`: it keeps the given bytes, or is not from {@link make}.
 *
 * @since 0.1.0
 */
export const entryOf = (resource: Resource): ResourceEntry | undefined => Made.entryOf(resource)

/**
 * An error in the place of a resource. Fails with {@link InvalidResource}.
 *
 * @since 0.1.0
 */
export const unavailable = (
  { name, typeUrl }: { readonly typeUrl: string; readonly name: string },
  error: ResourceError,
  hasher?: Digest.Hasher
): Either.Either<Resource, InvalidResource> => {
  const { code, message } = error
  if (!Number.isInteger(code) || code < 1 || code > 16) {
    const reason = `${code} is not the code of an error: the codes of google.rpc.Code from 1 to 16 are`
    return Either.left(new InvalidResource({ typeUrl, name, reason }))
  }
  const value = new TextEncoder().encode(`${code} ${message}`)
  return Either.map(make({ typeUrl, name, value, keepBytes: true }, hasher), (made) => ({
    ...made,
    value: new Uint8Array(),
    error
  }))
}

/**
 * What a resource has in it: itself, or its variants, or nothing.
 *
 * @since 0.1.0
 */
export const contentsOf = (self: Resource): ReadonlyArray<Resource> =>
  self.variants?.map(({ plain }) => plain) ?? (self.error === undefined ? [self] : [])
