/**
 * When the sets of a group changed, for measuring how long it takes until clients have accepted it. Of each type the last few
 * changes: whoever is further behind is measured from the oldest of them.
 */
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"

/** Most changes of a type that are known. */
const maxChanges = 64

interface Change {
  readonly revision: number
  /** Milliseconds. */
  readonly at: number
}

export class ChangeTimes {
  /** Oldest first. */
  readonly #changes = new Map<string, Array<Change>>()

  /** Notes what is different. Nothing is known of a group that is set anew: its revisions begin again. */
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

  /** When the first change after a revision was; `undefined` if none is known. */
  after(typeUrl: string, revision: number): number | undefined {
    const changes = this.#changes.get(typeUrl) ?? []
    let at: number | undefined
    // Backwards: most are one change behind.
    for (let index = changes.length - 1; index >= 0; index--) {
      const change = changes[index]
      if (change === undefined || change.revision <= revision) break
      at = change.at
    }
    return at
  }
}
