/**
 * What the reference model still owes the client, because the store differs from what the client has.
 *
 * @since 0.1.0
 */
import { isNamed, ledTo } from "./ReferenceNames.js"
import { type ReferenceModel, isSubscribed, aliasesAsked, type Sent } from "./ReferenceSubscription.js"
import type { Resource } from "@effect-xds/core/resource/Resource"
import { byTypeUrl } from "@effect-xds/proto/ResourceType"

/**
 * Whether a request for a resource, by any name that leads to it, is not answered yet.
 *
 * @since 0.1.0
 */
export const isAskedFor = ({ resources, subscriptions }: ReferenceModel, typeUrl: string, name: string): boolean => {
  const toAnswer = subscriptions.get(typeUrl)?.toAnswer ?? new Set()
  return (
    isNamed(toAnswer, name) || Array.from(toAnswer).some((each) => ledTo(resources ?? [], typeUrl, each)?.name === name)
  )
}

/**
 * The resources of a type that are due because the store differs from what the client has.
 *
 * @since 0.1.0
 */
export interface Pending {
  readonly updates: ReadonlyArray<string>
  /** Names without a resource now. */
  readonly removals: ReadonlyArray<string>
  /**
   * Incremental: resources that the client requested by a name of another one now. They are removed with that one, and wait for
   * nothing.
   */
  readonly superseded: ReadonlyArray<string>
}

/**
 * Finds what is {@link Pending}.
 *
 * @since 0.1.0
 */
export const pending = (self: ReferenceModel, typeUrl: string): Pending => {
  const subscription = self.subscriptions.get(typeUrl)
  if (subscription === undefined || self.resources === undefined) return { updates: [], removals: [], superseded: [] }
  const target = self.resources.filter((each) => each.typeUrl === typeUrl && isSubscribed(self, subscription, each))
  const isHeld = (resource: Resource) => {
    const before = subscription.sent.get(resource.name)
    if (before?.identity === `version ${resource.version}`) return true
    // A name that led elsewhere leads here now.
    const aliases = aliasesAsked(self, subscription, resource)
    return before?.identity === resource.fingerprint && aliases.every((name) => before.asked.includes(name))
  }
  const isTold = self.protocol === "Incremental" || byTypeUrl(typeUrl)?.family === "full-state"
  const removals = Array.from(subscription.sent).filter(([name]) => !target.some((resource) => resource.name === name))
  const all = self.resources
  /** Another resource has one of its names: removal and replacement go together. */
  const isSuperseded = ([name, { aliases, asked }]: readonly [string, Sent]) =>
    self.protocol === "Incremental" &&
    ([name, ...aliases].some((each) =>
      all.some(
        (other) => other.typeUrl === typeUrl && [other.name, ...other.aliases].includes(each) && other.name !== name
      )
    ) ||
      [name, ...asked].some((each) => subscription.names.has(each) && ledTo(all, typeUrl, each) !== undefined))
  // Requested names without a resource now.
  const lost = Array.from(subscription.sent.values()).flatMap(({ asked }) =>
    asked.filter((name) => subscription.names.has(name) && ledTo(all, typeUrl, name) === undefined)
  )
  const namesOf = (entries: typeof removals) => entries.map(([name]) => name)
  return {
    updates: target.filter((resource) => !isHeld(resource)).map((resource) => resource.name),
    removals: isTold ? [...namesOf(removals.filter((each) => !isSuperseded(each))), ...lost] : [],
    superseded: isTold ? namesOf(removals.filter(isSuperseded)) : []
  }
}
