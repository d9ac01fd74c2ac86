/**
 * Incremental: the aliases by which a client requests a resource, and whether the client should have it.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"
import * as Steps from "../Steps.js"
import { type Subscription, isWild, hasName } from "./Subscription.js"

/**
 * An empty list of aliases.
 *
 * @since 0.1.0
 */
export const noAliases: ReadonlyArray<string> = []

/**
 * Whether a resource is a virtual host that a client may request by any host: by one that its wildcard domain matches.
 *
 * @since 0.1.0
 */
export const isOfManyHosts = ({ names, typeUrl }: Subscription, { aliases, name }: Resource): boolean =>
  names.size > 0 &&
  ResourceType.isOf(typeUrl, ResourceType.VirtualHost) &&
  (VirtualHostDiscovery.isWildcard(name) || aliases.some(VirtualHostDiscovery.isWildcard))

/**
 * Incremental: the aliases by which a client requests the resources of a set. ★ For a wildcard domain, every requested host that it
 * matches best is an alias. A client may request a hundred thousand hosts, so these are looked up once for all resources.
 *
 * @since 0.1.0
 */
export class AskedAliases {
  /** Name of a resource → the requested names that lead to it, other than its own. */
  #led: ReadonlyMap<string, ReadonlyArray<string>> | undefined

  constructor(
    private readonly self: Subscription,
    private readonly set: ResourceSet.ResourceSet
  ) {}

  /** Whether {@link of} takes long for this resource, unless the work of {@link prepare} is done first. */
  isLong(resource: Resource): boolean {
    return this.#led === undefined && isOfManyHosts(this.self, resource)
  }

  /** Makes {@link of} short for this resource. */
  *ready(resource: Resource | undefined): Steps.Steps<void> {
    if (resource !== undefined && this.isLong(resource)) yield* this.prepare()
  }

  /** Looks up all requested names. */
  *prepare(): Steps.Steps<void> {
    const led = new Map<string, Array<string>>()
    let count = 0
    for (const name of this.self.names.keys()) {
      if (++count % Steps.atOnce === 0) yield
      const own = ResourceSet.find(this.set, name)?.name
      if (own === undefined || own === name) continue
      const others = led.get(own)
      if (others === undefined) led.set(own, [name])
      else others.push(name)
    }
    this.#led = led
  }

  /** The names other than its own by which a resource was requested. */
  of(resource: Resource): ReadonlyArray<string> {
    const { names } = this.self
    if (names.size === 0) return noAliases
    if (this.isLong(resource)) Steps.toEnd(this.prepare())
    const { aliases, name } = resource
    if (isOfManyHosts(this.self, resource)) return this.#led?.get(name) ?? noAliases
    return aliases.length === 0 ? noAliases : aliases.filter((alias) => names.has(alias))
  }

  /** Whether a resource is requested, by wildcard, name or alias. */
  isAsked(resource: Resource): boolean {
    return isWild(this.self) || hasName(this.self, resource.name) || this.of(resource).length > 0
  }

  /** Whether a resource of exactly this name exists and is requested. */
  isServed(name: string): boolean {
    const resource = ResourceSet.get(this.set, name)
    return resource !== undefined && this.isAsked(resource)
  }

  /**
   * Whether the client must no longer hold anything under a name. A requested name: no resource has it. Another name that the client
   * knows: its resource is removed or no longer requested.
   */
  isLost(name: string): boolean {
    return hasName(this.self, name) ? ResourceSet.find(this.set, name) === undefined : !this.isServed(name)
  }
}

/**
 * Whether a resource of exactly this name exists and is requested.
 *
 * @since 0.1.0
 */
export const isServed = (self: Subscription, set: ResourceSet.ResourceSet, name: string): boolean =>
  new AskedAliases(self, set).isServed(name)
