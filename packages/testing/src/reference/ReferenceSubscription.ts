/**
 * The state of the reference model: the subscription of a type, and what the client has as far as the server knows.
 *
 * @since 0.1.0
 */
import { isNamed, ledTo } from "./ReferenceNames.js"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { Protocol } from "@effect-xds/core/wire/Request"
import { VirtualHost } from "@effect-xds/proto/ResourceType"

/**
 * A resource that the client has, as far as the server knows.
 *
 * @since 0.1.0
 */
export interface Sent {
  /** The fingerprint of the content, or `version <v>` if the client only quoted a version. */
  readonly identity: string
  /** All its aliases. */
  readonly aliases: ReadonlyArray<string>
  /** Incremental: the names other than its own by which the client requested it. */
  readonly asked: ReadonlyArray<string>
}

/**
 * The subscription of one (stream, type), and what was sent.
 *
 * @since 0.1.0
 */
export interface Subscription {
  /** `legacy`: no name was ever listed. `explicit`: by `*`. */
  readonly wildcard: "none" | "legacy" | "explicit"
  /** Subscribed names and aliases, as the client listed them, without `*`. */
  readonly names: ReadonlySet<string>
  readonly sent: ReadonlyMap<string, Sent>
  /** Names to answer even if nothing changed; `*` stands for all that the wildcard covers. */
  readonly toAnswer: ReadonlySet<string>
  /** Whether the first request of the type, or one for everything, is not answered yet. */
  readonly unanswered: boolean
  readonly lastNonce: string
}

/**
 * The reference server for one stream.
 *
 * @since 0.1.0
 */
export interface ReferenceModel {
  readonly protocol: Protocol
  /** Type URLs whose wildcard is switched off. */
  readonly wildcardOff: ReadonlySet<string>
  readonly resources: ReadonlyArray<Resource> | undefined
  readonly subscriptions: ReadonlyMap<string, Subscription>
  readonly nonces: number
  readonly credit: boolean
}

/**
 * A new stream: no group, no credit.
 *
 * @since 0.1.0
 */
export const make = (
  protocol: Protocol,
  wildcardOff: ReadonlySet<string> = new Set([VirtualHost.typeUrl])
): ReferenceModel => ({
  protocol,
  wildcardOff,
  resources: undefined,
  subscriptions: new Map(),
  nonces: 0,
  credit: false
})

/**
 * The subscription before the first request of its type.
 *
 * @since 0.1.0
 */
export const fresh: Subscription = {
  wildcard: "legacy",
  names: new Set(),
  sent: new Map(),
  toAnswer: new Set(),
  unanswered: true,
  lastNonce: ""
}

/**
 * Whether the client only quoted the resource: then it is not sent if the version is current.
 *
 * @since 0.1.0
 */
export const isQuoted = (identity: string | undefined): boolean => identity?.startsWith("version ") === true

/**
 * A quoted resource that the client may have forgotten: no resource has this version.
 *
 * @since 0.1.0
 */
export const uncertainOf = (identity: string): Sent => ({
  identity: `version \u0002${identity}`,
  aliases: [],
  asked: []
})

/**
 * Whether the client only quoted the resource and may have forgotten it.
 *
 * @since 0.1.0
 */
export const isUncertain = (identity: string): boolean => identity.startsWith("version \u0002")

/**
 * An alias of a removed resource, not reported yet.
 *
 * @since 0.1.0
 */
export const unreported: Sent = { identity: "version \u0001", aliases: [], asked: [] }

/**
 * Marks a resource whose name is requested again or unsubscribed as possibly forgotten.
 *
 * @since 0.1.0
 */
export const makeUncertain = (sent: Map<string, Sent>, name: string): void => {
  const identity = sent.get(name)?.identity
  if (identity === noBody) sent.delete(name)
  else if (identity !== undefined && isQuoted(identity) && identity !== unreported.identity && !isUncertain(identity)) {
    sent.set(name, uncertainOf(identity))
  }
}

/**
 * A resource that was sent, with the names other than its own by which the client requested it.
 *
 * @since 0.1.0
 */
export const sentOf = ({ aliases, fingerprint }: Resource, asked: ReadonlyArray<string>): Sent => ({
  identity: fingerprint,
  aliases,
  asked
})

/**
 * A quoted name that was reported missing. No resource has this version.
 *
 * @since 0.1.0
 */
export const noBody = "version \u0000"

/**
 * Whether the client subscribes to all resources of the type, and the type has a wildcard.
 *
 * @since 0.1.0
 */
export const hasWildcard = (self: ReferenceModel, typeUrl: string, { wildcard }: Subscription): boolean =>
  wildcard !== "none" && !self.wildcardOff.has(typeUrl)

/**
 * Whether a resource is subscribed: by wildcard, name or, incremental, alias.
 *
 * @since 0.1.0
 */
export const isSubscribed = (self: ReferenceModel, subscription: Subscription, resource: Resource): boolean =>
  hasWildcard(self, resource.typeUrl, subscription) ||
  isNamed(subscription.names, resource.name) ||
  aliasesAsked(self, subscription, resource).length > 0

/**
 * The names other than its own by which a resource is requested.
 *
 * @since 0.1.0
 */
export const aliasesAsked = (
  self: ReferenceModel,
  { names }: Pick<Subscription, "names">,
  resource: Resource
): ReadonlyArray<string> =>
  self.protocol === "StateOfTheWorld"
    ? []
    : Array.from(names).filter(
        (name) => name !== resource.name && ledTo(self.resources ?? [], resource.typeUrl, name)?.name === resource.name
      )
