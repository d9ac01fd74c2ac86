/** Names of resources as a session knows them: each once and in order, whatever order they came in. */
import type { Parts } from "@effect-xds/transport-node/TimeSlices"

/** Names that are dealt with in one part. */
const atATime = 1024

/** Each once and in order; `undefined` if there are more than so many. */
export function* sortedOnce(names: ReadonlyArray<string>, most: number): Parts<ReadonlyArray<string> | undefined> {
  const known = new Set<string>()
  const once: Array<string> = []
  for (let at = 0; at < names.length; at++) {
    if (at % atATime === atATime - 1) yield
    const name = names[at] ?? ""
    if (known.has(name)) continue
    if (once.length >= most) return undefined
    known.add(name)
    once.push(name)
  }
  if (once.length <= atATime) return once.sort()
  let runs: Array<ReadonlyArray<string>> = []
  for (let at = 0; at < once.length; at += atATime) {
    runs.push(once.slice(at, at + atATime).sort())
    yield
  }
  while (runs.length > 1) {
    const longer: Array<ReadonlyArray<string>> = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? []))
    runs = longer
  }
  return runs[0] ?? []
}

/** Two lists that are in order as one. */
function* merged(some: ReadonlyArray<string>, others: ReadonlyArray<string>): Parts<ReadonlyArray<string>> {
  const all: Array<string> = []
  let [left, right] = [0, 0]
  while (left < some.length || right < others.length) {
    if (all.length % atATime === atATime - 1) yield
    const [one, other] = [some[left], others[right]]
    if (other === undefined || (one !== undefined && one < other)) {
      all.push(one ?? "")
      left++
    } else {
      all.push(other)
      right++
    }
  }
  return all
}

/** The names some at a time, for whoever goes through all of them. */
export function* inLots(names: ReadonlyArray<string>): Generator<ReadonlyArray<string>, void, void> {
  for (let at = 0; at < names.length; at += atATime) yield names.slice(at, at + atATime)
}
