/**
 * Incremental: `initial_resource_versions` of a returning client, by name or alias, compared with a set.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as ChangeLog from "../resource/ChangeLog.js"
import type * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import { AskedAliases } from "./AskedAliases.js"
import type { Sorted } from "./ReturningClient.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"
import type * as NameSet from "./NameSet.js"

/** Stops at the first one: there may be a hundred thousand. */
const isSome = (names: Iterable<string>, is: (name: string) => boolean): boolean => {
  for (const name of names) if (is(name)) return true
  return false
}

/**
 * The quoted names under which the client must no longer hold anything.
 *
 * @since 0.1.0
 */
export const quotedInVain = function* (
  self: Subscription,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  sorted: Sorted | undefined
): Steps.Steps<ReadonlyArray<string>> {
  const wild = Subscriptions.isWild(self)
  const isVirtualHost = ResourceType.isOf(self.typeUrl, ResourceType.VirtualHost)
  const gone: Array<string> = []
  // ★ A client that requested by an alias may quote only the resource's own name, which may be an alias of another one by now.
  const isQuotedItself = (name: string): boolean => {
    if (before.others.has(name)) return true
    const own = ResourceSet.get(set, name)
    return own !== undefined && before.isHeld(own)
  }
  const asked = new AskedAliases(self, set)
  const mayHaveOthers = sorted?.mayHaveOthers ?? (!wild && isSome(self.names.keys(), (name) => !isQuotedItself(name)))
  let count = 0
  for (const [name, version] of before.others) {
    if (++count % Steps.atOnce === 0) yield
    // ★ Envoy also quotes openers and missing hosts, without a version. It holds nothing under them.
    if (isVirtualHost && version === "") continue
    const resource = ResourceSet.find(set, name)
    // A name requested again is answered anyway, and the client dropped an unsubscribed resource, unless it holds that by an
    // alias or a wildcard.
    if (self.resendEvenIfHeld.has(name)) {
      const isDone = Subscriptions.hasName(self, name)
        ? resource === undefined || resource.name === name
        : !wild && !mayHaveOthers
      if (isDone) continue
    }
    if (mayHaveOthers) yield* asked.ready(resource)
    if (resource === undefined || (mayHaveOthers && !asked.isAsked(resource))) gone.push(name)
    // ★ A removed resource may have left its own name to another one as an alias. Only the log shows that the client holds the
    // other one by a requested alias; after a restart there is none.
    else if (resource.name !== name && !isQuoted(before, name, resource)) {
      if (!Subscriptions.hasName(self, name) || !ChangeLog.hadAlias(set, resource.name, name, version)) gone.push(name)
    }
  }
  if (mayHaveOthers) {
    for (const resource of yield* before.held()) {
      if (asked.isLong(resource)) yield* asked.prepare()
      if (!asked.isAsked(resource)) gone.push(resource.name)
      if (++count % Steps.atOnce === 0) yield
    }
  }
  return gone
}

/**
 * Whether the client quoted a resource at its current version, by name or by alias.
 *
 * @since 0.1.0
 */
export const holds = (self: Subscription, before: HeldVersions.Comparison, name: string, resource: Resource): boolean =>
  (before.isHeld(resource) || isQuoted(before, name, resource) || isQuotedByAlias(before, resource)) &&
  !self.resendAll &&
  !self.resendEvenIfHeld.has(name)

/**
 * Whether the client may not know that a name leads to a resource that it holds. Then it would wait, or keep the earlier
 * resource of that name. A quote of the own name is enough only if no other name leads to the resource.
 *
 * @since 0.1.0
 */
export const mayNotKnow = (
  self: Subscription,
  requested: NameSet.NameSet,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  heldMore: boolean
): ((name: string, resource: Resource) => boolean) => {
  let many: Set<Resource> | undefined
  let isOther = heldMore ? true : undefined
  return (name, resource) => {
    if (name === resource.name ? before.isHeld(resource) : isQuoted(before, name, resource)) return false
    if (Subscriptions.isWild(self) || requested.size < self.names.size) return true
    // Names were requested again or unsubscribed, perhaps those by which the client had it: it may have forgotten it.
    if (self.resendEvenIfHeld.size > 0) return true
    many ??= ledToTwice(requested, set)
    if (many.has(resource)) return true
    // The host may have matched a better domain before, whose virtual host was removed.
    return !resource.aliases.includes(name) && (isOther ??= holdsOthers(set, before))
  }
}

const ledToTwice = (names: Iterable<string>, set: ResourceSet.ResourceSet): Set<Resource> => {
  const once = new Set<Resource>()
  const twice = new Set<Resource>()
  for (const name of names) {
    const resource = ResourceSet.find(set, name)
    if (resource === undefined) continue
    if (once.has(resource)) twice.add(resource)
    once.add(resource)
  }
  return twice
}

/** Whether the client quoted a removed resource or an old version. */
const holdsOthers = (set: ResourceSet.ResourceSet, { others }: HeldVersions.Comparison): boolean => {
  for (const [name, version] of others) {
    if (version !== "" && ResourceSet.get(set, name)?.version !== version) return true
  }
  return false
}

/** Another resource may have had this name. So only a version made from the content counts, not a label. */
const isQuoted = ({ others }: HeldVersions.Comparison, name: string, { fingerprint, version }: Resource): boolean =>
  version === fingerprint && others.get(name) === version

/**
 * Whether the client quoted a resource at its current version by one of its aliases.
 *
 * @since 0.1.0
 */
export const isQuotedByAlias = (before: HeldVersions.Comparison, resource: Resource): boolean =>
  resource.aliases.some((alias) => isQuoted(before, alias, resource))
