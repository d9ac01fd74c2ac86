/**
 * A resource as a server keeps and sends it: encoded once, when it enters a store, and never looked into again.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Digest from "./Digest.js"
import * as EdsCluster from "./EdsCluster.js"
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
  /** Other names a client may ask for it by, in incremental xDS. */
  readonly aliases: ReadonlyArray<string>
  /** What clients are told: the caller's label, else the digest. Nothing is ever compared by it but what clients quote. */
  readonly version: string
  /** Identity of the content (body, aliases, TTL). What changed is found from this and from nothing else. */
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
}

/**
 * What a caller may say of a resource beside its content.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Default: none. */
  readonly aliases?: ReadonlyArray<string> | undefined
  /** The version clients are told. Default: a digest of the content, the same on every replica. */
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
 * A resource that cannot be served, and why.
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

/** One for all: most resources have none. */
const noAliases: ReadonlyArray<string> = []

/**
 * A resource from its encoded message. `sha256` is for what the version and the identity are made of; see {@link Digest.ofParts}.
 *
 * @since 0.1.0
 */
export const make = (
  input: { readonly typeUrl: string; readonly name: string; readonly value: Uint8Array } & Options,
  sha256?: Digest.Sha256
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
  const digest = Digest.ofParts([typeUrl, name, ttl === undefined ? "" : String(ttl), value, ...aliases], sha256)
  const fingerprint = Digest.toHex(digest)
  return Either.right({
    typeUrl,
    name,
    aliases,
    version: input.version === undefined || input.version === "" ? fingerprint : input.version,
    digest,
    fingerprint,
    ttl,
    value,
    assignment: typeUrl === ResourceType.Cluster.typeUrl ? EdsCluster.assignmentName(name, value) : undefined,
    onDemandVirtualHosts:
      typeUrl === ResourceType.RouteConfiguration.typeUrl && VirtualHostDiscovery.isRequestedBy(value)
  })
}
