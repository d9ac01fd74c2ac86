/**
 * The times of a group's changes, to measure the time until their ACK. The last few changes per type are kept: a client
 * that is further behind is measured from the oldest.
 */
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"

/** The most changes kept per type. */
const maxChanges = 64

interface Change {
  readonly revision: number
  /** In milliseconds. */
  readonly at: number
}

export class ChangeTimes {
  /** Oldest first. */
  readonly #changes = new Map<string, Array<Change>>()

  /** Records a change. A group that is set anew starts empty, since its revisions begin again. */
  note(before: ResourceGroup | undefined, after: ResourceGroup | undefined, at: number): void {
    if (before === undefined || after === undefined) this.#changes.clear()
    if (after === undefined) return
    for (const [typeUrl, { cursor }] of after.sets) {
      if (before !== undefined && ResourceGroups.set(before, typeUrl).cursor === cursor) continue
      const known = this.#changes.get(typeUrl)
      const change = { revision: cursor.revision, at }
      if (known === undefined) this.#changes.set(typeUrl, [change])
      else {
        if (known.length === maxChanges) known.shift()
        known.push(change)
      }
    }
  }

  /** The time of the first change after a revision, if it is known. */
  after(typeUrl: string, revision: number): number | undefined {
    const changes = this.#changes.get(typeUrl) ?? []
    let at: number | undefined
    // Backwards: most clients are one change behind.
    for (let index = changes.length - 1; index >= 0; index--) {
      const change = changes[index]
      if (change === undefined || change.revision <= revision) break
      at = change.at
    }
    return at
  }
}
