/**
 * Incremental: what a returning client quotes in `initial_resource_versions`, by name or by alias, beside what there is.
 *
 * @since 0.1.0
 */
import * as Steps from "../Steps.js"
import * as ChangeLog from "../resource/ChangeLog.js"
import type * as HeldVersions from "../resource/HeldVersions.js"
import type { Resource } from "../resource/Resource.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as AskedAliases from "./AskedAliases.js"
import type { Sorted } from "./ReturningClient.js"
import * as Subscriptions from "./Subscription.js"
import type { Subscription } from "./Subscription.js"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"

/** Ends at the first one: there may be a hundred thousand. */
const isSome = (names: Iterable<string>, is: (name: string) => boolean): boolean => {
  for (const name of names) if (is(name)) return true
  return false
}

/**
 * What the client says that it holds, and must not hold any more.
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
  const isVirtualHost = self.typeUrl === ResourceType.VirtualHost.typeUrl
  const gone: Array<string> = []
  // ★ A client that asked by an alias may quote the name of the resource alone: then it may be another's alias by now.
  const isQuotedItself = (name: string): boolean => {
    if (before.others.has(name)) return true
    const own = ResourceSet.get(set, name)
    return own !== undefined && before.isHeld(own)
  }
  const mayHaveOthers =
    sorted?.mayHaveOthers ?? (!wild && isSome(HashMap.keys(self.names), (name) => !isQuotedItself(name)))
  let count = 0
  for (const [name, version] of before.others) {
    if (++count % Steps.atOnce === 0) yield
    // ★ Envoy quotes also openers and hosts that it was told do not exist: without a version. It holds nothing by them.
    if (isVirtualHost && version === "") continue
    const resource = ResourceSet.find(set, name)
    // What was asked for again is answered by name, and what was given up the client dropped: unless it has it by an alias, or
    // under a wildcard.
    if (HashSet.has(self.resendEvenIfHeld, name)) {
      const isDone = Subscriptions.hasName(self, name)
        ? resource === undefined || resource.name === name
        : !wild && !mayHaveOthers
      if (isDone) continue
    }
    if (resource === undefined || (mayHaveOthers && !AskedAliases.isAsked(self, set, resource))) gone.push(name)
    // What is gone under its own name may have left that to another as an alias. Of a name that is asked for it is not known
    // whether it was an alias then, too, but by the log.
    else if (resource.name !== name && !isQuoted(before, name, resource)) {
      if (!Subscriptions.hasName(self, name) || ChangeLog.hadOwn(set, name)) gone.push(name)
    }
  }
  if (mayHaveOthers) {
    const isUnasked = (resource: Resource) => !AskedAliases.isAsked(self, set, resource)
    for (const resource of yield* Steps.filter(yield* before.held(), isUnasked)) gone.push(resource.name)
  }
  return gone
}

/**
 * Whether the client said, when it subscribed, that it holds a resource as it is: by its name, or by an alias.
 *
 * @since 0.1.0
 */
export const holds = (self: Subscription, before: HeldVersions.Comparison, name: string, resource: Resource): boolean =>
  !self.resendAll &&
  !HashSet.has(self.resendEvenIfHeld, name) &&
  (before.isHeld(resource) || isQuoted(before, name, resource) || isQuotedByAlias(before, resource))

/**
 * Whether, of what the client said that it holds as it is, it may not know that a name leads there: then it would wait for it,
 * or take for it what it led to before. The name of a resource alone says it only of one that nothing else leads to.
 *
 * @since 0.1.0
 */
export const mayNotKnow = (
  self: Subscription,
  requested: HashSet.HashSet<string>,
  set: ResourceSet.ResourceSet,
  before: HeldVersions.Comparison,
  heldMore: boolean
): ((name: string, resource: Resource) => boolean) => {
  let many: Set<Resource> | undefined
  let isOther = heldMore ? true : undefined
  return (name, resource) => {
    if (name === resource.name ? before.isHeld(resource) : isQuoted(before, name, resource)) return false
    if (Subscriptions.isWild(self) || HashSet.size(requested) < HashMap.size(self.names)) return true
    // Names were asked for again or given up, perhaps those by which the client had it: it may have forgotten it.
    if (HashSet.size(self.resendEvenIfHeld) > 0) return true
    many ??= ledToTwice(requested, set)
    if (many.has(resource)) return true
    // A domain that stands for many hosts may have had a better one beside it, which is gone.
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

/** Whether the client holds something that is not so any more. */
const holdsOthers = (set: ResourceSet.ResourceSet, { others }: HeldVersions.Comparison): boolean => {
  for (const [name, version] of others) {
    if (version !== "" && ResourceSet.get(set, name)?.version !== version) return true
  }
  return false
}

/** Another resource may have had that name. So only the version of a content counts, and no label. */
const isQuoted = ({ others }: HeldVersions.Comparison, name: string, { fingerprint, version }: Resource): boolean =>
  version === fingerprint && others.get(name) === version

/** @since 0.1.0 */
export const isQuotedByAlias = (before: HeldVersions.Comparison, resource: Resource): boolean =>
  resource.aliases.some((alias) => isQuoted(before, alias, resource))
