/**
 * The ring of `ring_hash`: hashes of endpoints, as many for each as its weight asks for.
 *
 * @see https://github.com/grpc/proposal/blob/master/A42-xds-ring-hash-lb-policy.md
 * @since 0.1.0
 */
import type { Ring } from "./Picker.js"
import * as XxHash64 from "./XxHash64.js"

/**
 * Most entries of a ring, whatever a control plane asks for.
 *
 * @since 0.1.0
 */
export const maxSize = 4_096

/**
 * An endpoint on a ring.
 *
 * @since 0.1.0
 */
export interface Member {
  readonly key: string
  readonly weight: number
}

const encoder = new TextEncoder()

/**
 * Makes a ring. ★ Endpoints are taken in the order of their keys; where the size is at its maximum one may get no entry.
 *
 * @param minSize at most {@link maxSize} counts
 * @param max at most {@link maxSize} counts
 * @since 0.1.0
 */
export const make = (members: ReadonlyArray<Member>, minSize: number, max: number): Ring => {
  const sum = members.reduce((total, { weight }) => total + weight, 0)
  if (sum <= 0) return { hashes: new BigUint64Array(), endpoints: new Uint32Array() }
  const least = members.reduce((smallest, { weight }) => Math.min(smallest, weight / sum), 1)
  const scale = Math.min(Math.ceil(least * Math.min(minSize, maxSize)) / least, Math.min(max, maxSize))
  const ordered = Array.from(members.entries()).sort(([, a], [, b]) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  const entries: Array<{ readonly high: number; readonly low: number; readonly at: number }> = []
  let target = 0
  for (const [at, { key, weight }] of ordered) {
    target += scale * (weight / sum)
    for (let index = 0; entries.length < target; index++) {
      const { high, low } = XxHash64.halves(encoder.encode(`${key}_${index}`))
      entries.push({ high, low, at })
    }
  }
  entries.sort((a, b) => a.high - b.high || a.low - b.low)
  const hashes = new BigUint64Array(entries.length)
  const endpoints = new Uint32Array(entries.length)
  for (const [index, { at, high, low }] of entries.entries()) {
    hashes[index] = (BigInt(high) << 32n) | BigInt(low)
    endpoints[index] = at
  }
  return { hashes, endpoints }
}
