/**
 * The states of a group as one stream went through them, and how far the client of the stream has come in each type.
 *
 * What a stream sends need not be the newest: it must be of some state of the group that what comes first has come to,
 * too. So each response is looked at as one of each state that it can be of.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ReferenceModel from "../reference/ReferenceModel.js"

interface State {
  readonly resources: ReadonlyArray<Resource>
  readonly byType: ReadonlyMap<string, ReadonlyArray<Resource>>
  /** By type: the count of responses when the client had come to it. */
  readonly reached: Map<string, number>
}

/**
 * All states that somebody may still be sent.
 *
 * @since 0.1.0
 */
export class States {
  #states: Array<State> = []

  /** The group is in another state; `undefined`: it was cleared. */
  changed(resources: ReadonlyArray<Resource> | undefined): void {
    if (resources === undefined) this.#states = []
    else {
      const byType = new Map<string, Array<Resource>>()
      for (const resource of resources) {
        const known = byType.get(resource.typeUrl)
        if (known === undefined) byType.set(resource.typeUrl, [resource])
        else known.push(resource)
      }
      this.#states = [...this.#states.slice(1 - maxStates), { resources, byType, reached: new Map() }]
    }
  }

  /**
   * Notes how far the client has come, after so many responses: in one type, which was asked for or sent, or in all of them to
   * the newest state.
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
        // What was asked for since is an answer, and no update.
        const { updates } = ReferenceModel.pending(then, each)
        if (updates.some((name) => !ReferenceModel.isAskedFor(then, each, name))) continue
        // Whoever came to a state is past those before it.
        for (const before of this.#states) {
          if (!before.reached.has(each)) before.reached.set(each, responses)
          if (before.reached === reached) break
        }
      }
    }
  }

  /**
   * Counts of responses, by state: when the client had all of `before` that is in a state that satisfies a predicate;
   * `undefined`: it has not.
   */
  reached(
    before: ReadonlyArray<string>,
    isOf: (resources: ReadonlyArray<Resource>) => boolean
  ): ReadonlyArray<number | undefined> {
    return this.#states
      .filter(({ resources }) => isOf(resources))
      .map(({ reached }) => {
        const counts = before.map((typeUrl) => reached.get(typeUrl))
        return counts.some((count) => count === undefined)
          ? undefined
          : Math.max(0, ...counts.map((count) => count ?? 0))
      })
  }
}

/** Older ones than these are not known: a client without credit may be as far behind. */
const maxStates = 256

/**
 * Whether resources are of a state.
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
 * Whether names are gone in a state.
 *
 * @since 0.1.0
 */
export const areGone = (names: ReadonlyArray<string>, typeUrl: string, state: ReadonlyArray<Resource>): boolean =>
  names.every((name) => !state.some((each) => each.typeUrl === typeUrl && each.name === name))
