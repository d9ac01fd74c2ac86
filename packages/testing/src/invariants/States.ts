/**
 * The states of a group that a stream passed, and how far its client has come in each type.
 *
 * A response need not be of the newest state. It must be of some state that earlier types have reached, too. So each response
 * is checked against every state that it can be of.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ReferenceModel from "../reference/ReferenceModel.js"

interface State {
  readonly resources: ReadonlyArray<Resource>
  readonly byType: ReadonlyMap<string, ReadonlyArray<Resource>>
  /** By type: the number of responses when the client reached this state. */
  readonly reached: Map<string, number>
  /** Whether the group was cleared since. */
  isCleared: boolean
}

/**
 * All states that a stream may still send.
 *
 * @since 0.1.0
 */
export class States {
  #states: Array<State> = []

  /** Adds a new state of the group; `undefined`: the group was cleared. */
  changed(resources: ReadonlyArray<Resource> | undefined): void {
    if (resources === undefined) for (const state of this.#states) state.isCleared = true
    else {
      const byType = new Map<string, Array<Resource>>()
      for (const resource of resources) {
        const known = byType.get(resource.typeUrl)
        if (known === undefined) byType.set(resource.typeUrl, [resource])
        else known.push(resource)
      }
      this.#states = [...this.#states.slice(1 - maxStates), { resources, byType, reached: new Map(), isCleared: false }]
    }
  }

  /**
   * Records which states the client has reached after a number of responses: for one type, which was requested or sent, or for
   * all types only the newest state.
   */
  look(model: ReferenceModel.ReferenceModel, responses: number, typeUrl: string | undefined): void {
    const states = typeUrl === undefined ? this.#states.slice(-1) : this.#states
    const typeUrls = typeUrl === undefined ? model.subscriptions.keys() : [typeUrl]
    for (const each of typeUrls) {
      const subscription = model.subscriptions.get(each)
      if (subscription === undefined || (subscription.unanswered && subscription.sent.size === 0)) continue
      for (const { byType, reached } of states) {
        if (reached.has(each)) continue
        const then = { ...model, resources: byType.get(each) ?? [] }
        // A name requested since counts as an answer, not as an update.
        const { updates } = ReferenceModel.pending(then, each)
        if (updates.some((name) => !ReferenceModel.isAskedFor(then, each, name))) continue
        // A client that reached a state is past the states before it.
        for (const before of this.#states) {
          if (!before.reached.has(each)) before.reached.set(each, responses)
          if (before.reached === reached) break
        }
      }
    }
  }

  /**
   * For each state that satisfies a predicate: the number of responses when the client had reached it in all types of `before`;
   * `undefined` if it has not.
   *
   * @param kind what was of a state when the group was cleared is not updated any more; its deletions may still be due
   */
  reached(
    before: ReadonlyArray<string>,
    isOf: (resources: ReadonlyArray<Resource>) => boolean,
    kind: "updates" | "deletions"
  ): ReadonlyArray<number | undefined> {
    return this.#states
      .filter(({ isCleared, resources }) => (kind === "deletions" || !isCleared) && isOf(resources))
      .map(({ reached }) => {
        const counts = before.map((typeUrl) => reached.get(typeUrl))
        return counts.some((count) => count === undefined)
          ? undefined
          : Math.max(0, ...counts.map((count) => count ?? 0))
      })
  }
}

/** Most states that are remembered. A client without credit may be that far behind. */
const maxStates = 256

/**
 * Whether all resources are in a state.
 *
 * @since 0.1.0
 */
export const areIn = (
  resources: ReadonlyArray<Pick<Resource, "name" | "fingerprint">>,
  typeUrl: string,
  state: ReadonlyArray<Resource>
): boolean =>
  resources.every(({ fingerprint, name }) =>
    state.some((each) => each.typeUrl === typeUrl && each.name === name && each.fingerprint === fingerprint)
  )

/**
 * Whether none of these names exists in a state.
 *
 * @since 0.1.0
 */
export const areGone = (names: ReadonlyArray<string>, typeUrl: string, state: ReadonlyArray<Resource>): boolean =>
  names.every((name) => !state.some((each) => each.typeUrl === typeUrl && each.name === name))
