/**
 * Shrinking of a failing simulation: clients, faults and steps that do not matter are left out, as long as it still fails.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Fault from "../network/Fault.js"
import type { Plan } from "./Simulation.js"

/**
 * The result of shrinking.
 *
 * @since 0.1.0
 */
export interface Shrunk {
  readonly plan: Plan
  /** Number of runs. */
  readonly runs: number
}

/** The plan without a client, and without the steps and faults of that client. */
const withoutClient = (plan: Plan, name: string): Plan => ({
  ...plan,
  clients: plan.clients.filter((client) => client.name !== name),
  script: plan.script?.filter((step) => !("client" in step) || step.client !== name),
  faults: plan.faults?.flatMap((fault): ReadonlyArray<Fault.PlannedFault> => {
    if (fault._tag === "Partition") {
      const clients = fault.clients.filter((client) => client !== name)
      return clients.length === 0 ? [] : [{ ...fault, clients }]
    }
    const isOfClient = Fault.hosts(fault).clients.includes(name) || (fault._tag === "ClockJump" && fault.host === name)
    return isOfClient ? [] : [fault]
  })
})

/** The list without each part of a size. */
const partsLess = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> => {
  const lists: Array<ReadonlyArray<A>> = []
  for (let at = 0; at < items.length; at += size) lists.push([...items.slice(0, at), ...items.slice(at + size)])
  return lists
}

/**
 * Shrinks a plan greedily.
 *
 * @param fails whether a plan still fails in the same way
 * @since 0.1.0
 */
export const shrink = (
  plan: Plan,
  fails: (plan: Plan) => Effect.Effect<boolean>,
  options: {
    /** Default: 200. */
    readonly maxRuns?: number | undefined
  } = {}
): Effect.Effect<Shrunk> =>
  Effect.gen(function* () {
    const maxRuns = options.maxRuns ?? 200
    let smallest = plan
    let runs = 0
    const isTaken = (smaller: Plan) =>
      Effect.gen(function* () {
        if (runs >= maxRuns) return false
        runs++
        if (!(yield* fails(smaller))) return false
        smallest = smaller
        return true
      })
    /** Leaves out items of a list; returns whether any could be left out. */
    const less = <A>(of: (plan: Plan) => ReadonlyArray<A>, put: (plan: Plan, items: ReadonlyArray<A>) => Plan) =>
      Effect.gen(function* () {
        const before = of(smallest).length
        let size = before
        while (size > 0 && runs < maxRuns) {
          let isSmaller = false
          for (const items of partsLess(of(smallest), size)) {
            isSmaller = yield* isTaken(put(smallest, items))
            if (isSmaller) break
          }
          if (!isSmaller) size = Math.floor(size / 2)
          else size = Math.min(size, of(smallest).length)
        }
        return of(smallest).length < before
      })
    for (let isSmaller = true; isSmaller && runs < maxRuns;) {
      isSmaller = false
      for (const { name } of smallest.clients) {
        if (yield* isTaken(withoutClient(smallest, name))) isSmaller = true
      }
      const faults = less(
        ({ faults = [] }) => faults,
        (plan, faults) => ({ ...plan, faults })
      )
      const script = less(
        ({ script = [] }) => script,
        (plan, script) => ({ ...plan, script })
      )
      if (yield* faults) isSmaller = true
      if (yield* script) isSmaller = true
    }
    return { plan: smallest, runs }
  })
