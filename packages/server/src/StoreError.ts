/**
 * The errors of a store. After each the group is as it was. The fields are plain data and can be encoded as JSON.
 *
 * A store in memory fails only with the first six. The others are for stores over something else, such as a database
 * with several writers.
 *
 * @since 0.1.0
 */
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type { Fault } from "@effect-xds/validate/Fault"
import * as Data from "effect/Data"
import type { Broken } from "./GroupReport.js"
import type { SnapshotError } from "./Snapshot.js"

const quote = (group: string): string => `group ${JSON.stringify(group)}`

/**
 * A limit of the store was reached.
 *
 * @since 0.1.0
 */
export class LimitExceeded extends Data.TaggedError("LimitExceeded")<{
  readonly limit: "maxGroups" | "maxResourcesPerGroup"
  readonly group: string
  /** The size after the refused change. */
  readonly size: number
  readonly maximum: number
}> {
  override get message(): string {
    const what = this.limit === "maxGroups" ? "groups in the store" : "resources in the group"
    return (
      `${quote(this.group)}: ${this.size} ${what}, the limit is ${this.maximum}; ` +
      (this.limit === "maxGroups" ? "clear groups that have no clients" : "split the group")
    )
  }
}

/**
 * A resource that breaks rules of Envoy's API.
 *
 * @since 0.1.0
 */
export interface InvalidResource {
  readonly typeUrl: string
  readonly name: string
  /** At least one fault, in the order of fields: each with its path, rule and value. */
  readonly faults: ReadonlyArray<Fault>
  /** Whether there are more faults than these. */
  readonly more: boolean
  /**
   * The first five faults in words, after the resource's place, if one was given: `clusters.yaml:3: clusters "web":
   * connect_timeout must be greater than 0s, is -5s`.
   */
  readonly message: string
}

/** The most faults in one message. */
const mostInWords = 5

/**
 * Resources that break rules of Envoy's API. A client would refuse them, and every other resource in the same response.
 *
 * @since 0.1.0
 */
export class InvalidResources extends Data.TaggedError("InvalidResources")<{
  readonly group: string
  /** All that were found, within the limits of the validator. */
  readonly resources: ReadonlyArray<InvalidResource>
  /** Whether a limit was reached, so that there may be more. */
  readonly more: boolean
}> {
  override get message(): string {
    const { group, more, resources } = this
    const words = resources.slice(0, mostInWords).map(({ message }) => message)
    const rest = resources.length - words.length
    if (rest > 0) words.push(`and ${rest} more ${rest === 1 ? "resource" : "resources"}`)
    if (more) words.push("there may be more")
    return (
      `${quote(group)} was not changed: ${words.join("; ")} (clients would refuse this; mend it, or say \`validate: "warn"\` ` +
      `or \`"off"\` if yours have other rules)`
    )
  }
}

/**
 * A change that breaks group rules, which were not broken before it.
 *
 * @since 0.1.0
 */
export class BrokenRules extends Data.TaggedError("BrokenRules")<{ readonly group: string } & Broken> {
  override get message(): string {
    const { group, omitted, rules } = this
    const words = rules.slice(0, mostInWords).map(({ message }) => message)
    const rest = rules.length - words.length + omitted
    if (rest > 0) words.push(`and ${rest} more ${rest === 1 ? "rule" : "rules"}`)
    return `${quote(group)} was not changed: ${words.join("; ")} (mend it, or switch the rule off by its name)`
  }
}

/**
 * An update of a group that was never set. It would serve clients a partial configuration, and they would delete the
 * rest.
 *
 * @since 0.1.0
 */
export class GroupNotSet extends Data.TaggedError("GroupNotSet")<{ readonly group: string }> {
  override get message(): string {
    return (
      `${quote(this.group)} was never set: clients would delete what the update does not name; ` +
      `set the whole group first, with {} if it begins empty`
    )
  }
}

/**
 * A group that would be layered over itself, directly or through others.
 *
 * @since 0.1.0
 */
export class LayerCycle extends Data.TaggedError("LayerCycle")<{
  readonly group: string
  /** From the group that it is over to the group itself. */
  readonly path: ReadonlyArray<string>
}> {
  override get message(): string {
    const names = [this.group, ...this.path].map((name) => JSON.stringify(name))
    return `${quote(this.group)} would be over itself: ${names.join(" over ")}; set one of them without \`over\``
  }
}

/**
 * The group is not at the expected revision: another writer changed it.
 *
 * @since 0.1.0
 */
export class Conflict extends Data.TaggedError("Conflict")<{
  readonly group: string
  /** The given `ifRevision`; 0: the group was expected not to be set. */
  readonly expected: number
  /** The actual revision; 0: the group is not set. */
  readonly actual: number
}> {
  override get message(): string {
    const words = (revision: number): string => (revision === 0 ? "not set" : `at revision ${revision}`)
    return (
      `${quote(this.group)} is ${words(this.actual)}, and was expected to be ${words(this.expected)}: somebody else ` +
      `changed it; get it, make the change again from that, and try once more`
    )
  }
}

/**
 * This process may not write any more: another one took over. Do not retry.
 *
 * @since 0.1.0
 */
export class Fenced extends Data.TaggedError("Fenced")<{
  readonly group: string
  /** Which process took over, and what to do. */
  readonly detail: string
}> {
  override get message(): string {
    return `${quote(this.group)} was not changed: this process may not write any more: ${this.detail}`
  }
}

/**
 * The storage behind the store cannot be reached, or failed. Groups that were read before are still served.
 *
 * @since 0.1.0
 */
export class StoreUnavailable extends Data.TaggedError("StoreUnavailable")<{
  readonly group: string
  /** What failed, and what to do. */
  readonly detail: string
  /** Whether the change may have taken place; absent: it did not. */
  readonly isUnknown?: boolean | undefined
}> {
  override get message(): string {
    const what = this.isUnknown === true ? "may have been changed or not" : "was not changed"
    return `${quote(this.group)} ${what}: the store is not available: ${this.detail}`
  }
}

/**
 * The errors of `clear`.
 *
 * @since 0.1.0
 */
export type ClearError = Conflict | Fenced | StoreUnavailable

/**
 * The errors of `set`.
 *
 * @since 0.1.0
 */
export type SetError =
  SnapshotError | InvalidResources | BrokenRules | ResourceGroup.ChangeError | LimitExceeded | LayerCycle | ClearError

/**
 * The errors of `update`.
 *
 * @since 0.1.0
 */
export type UpdateError = SetError | GroupNotSet
