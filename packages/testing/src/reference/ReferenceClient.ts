/**
 * A naive client: it applies responses, holds resources in plain maps and sends the requests of a correct client. It validates
 * nothing and has no timers.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-docs/xds_protocol
 * @since 0.1.0
 */
import type { ErrorDetail, Protocol, Request } from "@effect-xds/core/wire/Request"
import { incremental, stateOfTheWorld } from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Response } from "@effect-xds/core/wire/Response"
import { byTypeUrl, Cluster, ClusterLoadAssignment } from "@effect-xds/proto/ResourceType"
import * as ReferenceModels from "./ReferenceModel.js"

/**
 * The subscription of one type, and the resources that the client has.
 *
 * @since 0.1.0
 */
export interface Interest {
  /** `legacy`: the request has no names. */
  readonly wildcard: "none" | "legacy" | "explicit"
  /** Subscribed names and aliases, without `*`. */
  readonly names: ReadonlySet<string>
  /** By resource name, as in Envoy. `aliases` has only those under which a resource came. */
  readonly held: ReadonlyMap<string, Resource>
  /** Incremental: names that were reported missing. */
  readonly missing: ReadonlySet<string>
  /** VHDS: names of resources without a body. Like Envoy, the client quotes them without a version. */
  readonly empty: ReadonlySet<string>
  /** The version of the last response. */
  readonly version: string
  /** The nonce of the last response of this stream. */
  readonly nonce: string
}

/**
 * The client's side of one stream and, after reconnects, of the streams that follow it.
 *
 * @since 0.1.0
 */
export interface ReferenceClient {
  readonly protocol: Protocol
  /** Type URL → interest, for requested types. */
  readonly interests: ReadonlyMap<string, Interest>
  /** Names of assignments that new or changed clusters wait for. */
  readonly warming: ReadonlySet<string>
  /**
   * Incremental: the names under which the client holds and quotes resources. Envoy uses resource names. Others use the
   * requested names; a resource that comes by an alias replaces the one before.
   */
  readonly keys: "names" | "aliases"
}

/**
 * A client without subscriptions.
 *
 * @since 0.1.0
 */
export const make = (protocol: Protocol, keys: ReferenceClient["keys"] = "names"): ReferenceClient => ({
  protocol,
  interests: new Map(),
  warming: new Set(),
  keys
})

const isNamed = (names: ReadonlySet<string>, { aliases, name }: Pick<Resource, "name" | "aliases">): boolean =>
  ReferenceModels.isNamed(names, name) || aliases.some((alias) => names.has(alias))

const nothing: Interest = {
  wildcard: "legacy",
  names: new Set(),
  held: new Map(),
  missing: new Set(),
  empty: new Set(),
  version: "",
  nonce: ""
}

/**
 * Whether the client wants a resource: by wildcard, name or alias.
 *
 * @since 0.1.0
 */
export const wants = (interest: Interest, resource: Pick<Resource, "name" | "aliases">): boolean =>
  interest.wildcard !== "none" || isNamed(interest.names, resource)

const wanted = (interest: Interest): ReadonlyMap<string, Resource> =>
  new Map(Array.from(interest.held).filter(([, resource]) => wants(interest, resource)))

const list = (interest: Interest): Array<string> => [
  ...(interest.wildcard === "explicit" ? ["*"] : []),
  ...interest.names
]

const withInterest = (self: ReferenceClient, typeUrl: string, interest: Interest): ReferenceClient => ({
  ...self,
  interests: new Map(self.interests).set(typeUrl, interest)
})

/**
 * Subscribes and unsubscribes; `*` is the wildcard. A first request without names is the legacy wildcard. In incremental a name
 * that is requested again counts as forgotten: the client drops what it holds.
 *
 * @since 0.1.0
 */
export const ask = (
  self: ReferenceClient,
  typeUrl: string,
  subscribe: ReadonlyArray<string>,
  unsubscribe: ReadonlyArray<string> = [],
  options: {
    /** State of the world: drops unsubscribed resources at once. A client does so only while no response is on its way. */
    readonly forget?: boolean
  } = {}
): readonly [ReferenceClient, Request] => {
  const before = self.interests.get(typeUrl)
  const { empty, held, missing, names: old, nonce, version, wildcard: was } = before ?? nothing
  const isNew = (name: string) => subscribe.includes(name)
  const names = new Set(
    [...old, ...subscribe].filter((name) => name !== "*" && (isNew(name) || !unsubscribe.includes(name)))
  )
  if (self.protocol === "StateOfTheWorld") {
    const neverNamed = was === "legacy" && subscribe.length === 0
    const keepsAll = was === "explicit" && !unsubscribe.includes("*")
    const wildcard = neverNamed ? "legacy" : isNew("*") || keepsAll ? "explicit" : "none"
    const next: Interest = { wildcard, names, held, missing, empty, version, nonce }
    return [
      withInterest(self, typeUrl, options.forget === true ? { ...next, held: wanted(next) } : next),
      stateOfTheWorld({ typeUrl, resourceNames: list(next), versionInfo: version, responseNonce: nonce })
    ]
  }
  // The first name after a legacy wildcard turns that into `*`.
  const now = was === "legacy" && subscribe.length > 0 ? (before === undefined ? "none" : "explicit") : was
  const wildcard = isNew("*") ? "explicit" : now === "explicit" && unsubscribe.includes("*") ? "none" : now
  const forgotten = (resource: Resource): boolean => {
    const { aliases, name } = resource
    const known = [name, ReferenceModels.collectionOf(name), ...aliases].filter((each) => names.has(each))
    // A name that was just quoted is not forgotten.
    if (nonce === "") return false
    return known.length > 0 ? known.every(isNew) : isNew("*") && was === "explicit"
  }
  const next: Interest = {
    wildcard,
    names,
    // For unsubscribed names the client forgets what they led to.
    held: new Map(
      Array.from(held)
        .filter(([, resource]) => !forgotten(resource))
        .map(([name, each]) => [name, { ...each, aliases: each.aliases.filter((alias) => names.has(alias)) }] as const)
    ),
    missing: new Set(Array.from(missing).filter((name) => names.has(name) && !isNew(name))),
    empty,
    version,
    nonce
  }
  return [
    withInterest(self, typeUrl, { ...next, held: wanted(next) }),
    incremental({ typeUrl, resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe })
  ]
}

/** Drops what was held by names that now lead to other resources. */
const release = (held: Map<string, Resource>, by: ReadonlyArray<string>, asked: ReadonlySet<string>): void => {
  for (const [name, other] of held) {
    const aliases = other.aliases.filter((alias) => !by.includes(alias))
    const isNamed = asked.has(name) && !by.includes(name)
    if (aliases.length > 0 || isNamed) held.set(name, { ...other, aliases })
    else if (other.aliases.length > 0 || by.includes(name)) held.delete(name)
  }
}

/**
 * Applies a response and returns the ACK, or the NACK if there is an error. A NACKed response is applied, too, as Envoy applies
 * its good part. Servers must not send it again, so otherwise both sides would never agree.
 *
 * @since 0.1.0
 */
export const receive = (
  self: ReferenceClient,
  response: Response,
  nonce: string,
  options: {
    /** The error of a NACK. */
    readonly errorDetail?: ErrorDetail | undefined
    /** State of the world: drops unsubscribed resources; see {@link ask}. */
    readonly forget?: boolean
  } = {}
): readonly [ReferenceClient, Request] => {
  const { typeUrl } = response
  const { errorDetail, forget = false } = options
  const before = self.interests.get(typeUrl) ?? nothing
  const held = new Map(before.held)
  const missing = new Set(before.missing)
  const warming = new Set(self.warming)
  if (response.protocol === "StateOfTheWorld" && byTypeUrl(typeUrl)?.family === "full-state") {
    const present = new Set([...response.resources, ...response.heartbeats].map((resource) => resource.name))
    for (const name of held.keys()) if (!present.has(name)) held.delete(name)
  }
  for (const each of response.resources) {
    const resource = { ...each, aliases: response.aliases.get(each.name) ?? [] }
    // In state of the world the server may not know of the unsubscription yet.
    if (!wants(before, resource) && (forget || self.protocol === "Incremental")) continue
    const isChanged = held.get(resource.name)?.fingerprint !== resource.fingerprint
    if (typeUrl === Cluster.typeUrl && isChanged && resource.assignment !== undefined) warming.add(resource.assignment)
    if (typeUrl === ClusterLoadAssignment.typeUrl) warming.delete(resource.name)
    if (self.keys === "aliases") release(held, [resource.name, ...resource.aliases], before.names)
    held.set(resource.name, resource)
    const collection = ReferenceModels.collectionOf(resource.name)
    for (const name of [resource.name, collection, ...resource.aliases]) missing.delete(name)
  }
  for (const name of [...response.removed, ...response.absent]) {
    const aliases = held.get(name)?.aliases ?? []
    held.delete(name)
    const isHeld = (alias: string) =>
      Array.from(held.values()).some((other) => other.name === alias || other.aliases.includes(alias))
    for (const each of [name, ...aliases.filter((alias) => !isHeld(alias))]) {
      if (before.names.has(each)) missing.add(each)
    }
    for (const other of held.values()) {
      const others = other.aliases.filter((alias) => alias !== name)
      if (others.length < other.aliases.length) held.set(other.name, { ...other, aliases: others })
    }
  }
  // A collection without members.
  for (const name of before.names) {
    const isOf = (each: string) => ReferenceModels.collectionOf(each) === name
    if (response.removed.some(isOf) && !Array.from(held.keys()).some(isOf)) missing.add(name)
  }
  const version = errorDetail === undefined ? response.version : before.version
  const empty = new Set([...before.empty, ...response.absent])
  for (const { aliases, name } of held.values()) for (const each of [name, ...aliases]) empty.delete(each)
  for (const name of response.removed) empty.delete(name)
  const next: Interest = { ...before, held, missing, empty, version, nonce }
  const about = { typeUrl, responseNonce: nonce, errorDetail }
  return [
    { ...withInterest(self, typeUrl, forget ? { ...next, held: wanted(next) } : next), warming },
    self.protocol === "Incremental"
      ? incremental(about)
      : stateOfTheWorld({ ...about, resourceNames: list(next), versionInfo: version })
  ]
}

/** The names under which the client quotes a resource. */
const namesOf = ({ keys }: ReferenceClient, { names }: Interest, { aliases, name }: Resource): ReadonlyArray<string> =>
  keys === "names" || aliases.length === 0 ? [name] : names.has(name) ? [name, ...aliases] : aliases

/**
 * Opens a new stream: returns its first requests, one for each type with interest.
 *
 * @since 0.1.0
 */
export const reconnect = (
  self: ReferenceClient,
  options: {
    /** Whether the client still has its resources, and quotes them. */
    readonly remembers: boolean
  }
): readonly [ReferenceClient, ReadonlyArray<Request>] => {
  const interests = new Map<string, Interest>()
  const requests: Array<Request> = []
  for (const [typeUrl, old] of self.interests) {
    if (old.wildcard === "none" && old.names.size === 0) continue
    // A client does not hold what it waits for.
    const isHeld = (name: string) => typeUrl !== ClusterLoadAssignment.typeUrl || !self.warming.has(name)
    const held = new Map(Array.from(wanted(old)).filter(([name]) => isHeld(name)))
    const kept = options.remembers
      ? { held, version: old.version, empty: old.empty }
      : { held: new Map(), version: "", empty: new Set<string>() }
    const interest: Interest = { ...old, ...kept, missing: new Set(), nonce: "" }
    interests.set(typeUrl, interest)
    requests.push(
      self.protocol === "StateOfTheWorld"
        ? stateOfTheWorld({ typeUrl, resourceNames: list(interest), versionInfo: interest.version })
        : incremental({
            typeUrl,
            resourceNamesSubscribe: list(interest),
            initialResourceVersions: new Map([
              ...Array.from(interest.empty, (name) => [name, ""] as const),
              ...Array.from(interest.held.values()).flatMap((each) =>
                namesOf(self, interest, each).map((name) => [name, each.version] as const)
              )
            ])
          })
    )
  }
  return [{ ...self, interests, warming: options.remembers ? self.warming : new Set() }, requests]
}
