/**
 * Metric tags of groups. Clients may choose the group, so after a number of names, and for long ones, the tag is
 * `other`.
 */
import * as MetricLabel from "effect/MetricLabel"

/** The most characters of a tag. */
const maxName = 200
const other = [MetricLabel.make("group", "other")]

export class GroupTags {
  readonly #groups = new Map<string, ReadonlyArray<MetricLabel.MetricLabel>>()

  constructor(private readonly maxGroups: number) {}

  of(group: string): ReadonlyArray<MetricLabel.MetricLabel> {
    const found = this.#groups.get(group)
    if (found !== undefined) return found
    if (this.#groups.size >= this.maxGroups || group.length > maxName) return other
    const made = [MetricLabel.make("group", group)]
    this.#groups.set(group, made)
    return made
  }
}
