/** The resource names of a session: sorted, without duplicates. */
import type { Parts } from "@effect-xds/transport-node/TimeSlices"

/** Names that are processed in one part. */
const atATime = 1024

/** Sorted names without duplicates; `undefined` if there are more than `most`. */
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

/** Merges two sorted lists. */
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

/** The names in batches. */
export function* inLots(names: ReadonlyArray<string>): Generator<ReadonlyArray<string>, void, void> {
  for (let at = 0; at < names.length; at += atATime) yield names.slice(at, at + atATime)
}
