/**
 * A fixed piece of work, done again and again: how long the machine takes for the same now. Other machines share its cores, their
 * caches and its memory, so that the CPU time of anything grows and shrinks by itself, by a factor of two within an hour.
 */
import { createHash } from "node:crypto"
import * as Fixtures from "./Fixtures.js"
import { median } from "./Result.js"

/** Places of a walk through memory: 16 MB, more than the cache of a core. */
const places = 4 * 1024 * 1024
const steps = 60_000

/** One permutation, so that a walk comes to ever new places. */
const permutation = (): Int32Array => {
  const all = Int32Array.from({ length: places }, (_, at) => at)
  const next = Fixtures.random(1)
  for (let at = places - 1; at > 0; at--) {
    // Sattolo's: one cycle.
    const other = Math.floor(next() * at)
    const held = all[at] ?? 0
    all[at] = all[other] ?? 0
    all[other] = held
  }
  return all
}

const record = { name: "outbound|8080||service.team.svc.cluster.local", endpoints: Array.from({ length: 12 }, String) }

export class Yardstick {
  readonly #next = permutation()
  readonly #text = JSON.stringify(record)
  readonly #bytes = Buffer.alloc(64 * 1024, 7)
  #at = 0
  #taken: Array<number> = []

  /** Measures it once, in milliseconds of CPU: memory that no cache holds, objects and texts, and arithmetic, some milliseconds each. */
  measure(): void {
    const before = process.cpuUsage()
    for (let step = 0; step < steps; step++) this.#at = this.#next[this.#at] ?? 0
    let length = 0
    for (let round = 0; round < 2_000; round++) length += JSON.stringify(JSON.parse(this.#text)).length
    for (let round = 0; round < 40; round++) length += createHash("sha256").update(this.#bytes).digest().length
    const { system, user } = process.cpuUsage(before)
    if (length > 0) this.#taken.push((user + system) / 1_000)
  }

  /** The median of what was measured since the last call; NaN: nothing was. */
  median(): number {
    const taken = this.#taken
    this.#taken = []
    return median(taken)
  }
}
