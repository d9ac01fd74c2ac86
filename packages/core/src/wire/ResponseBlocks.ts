/**
 * Blocks of a large encoded response. The response after a change is made of those of the one before: a client that connects
 * while resources change would otherwise have ten thousand of them encoded again after each change.
 *
 * @since 0.1.0
 */
import type { Resource } from "../resource/Resource.js"
import { atOnce, type Steps } from "../Steps.js"

/**
 * Where the resources of a response lie in its body. Block `k` has the resources from `froms[k]` on, and the bytes from
 * `starts[k]` on; the last entries are the ends.
 *
 * @since 0.1.0
 */
export interface Blocks {
  readonly resources: ReadonlyArray<Resource>
  readonly froms: ReadonlyArray<number>
  readonly starts: ReadonlyArray<number>
}

/**
 * A body and its blocks.
 *
 * @since 0.1.0
 */
export interface Earlier {
  readonly body: Uint8Array
  readonly blocks: Blocks
}

/**
 * Resources `from` ≤ index < `before`: to encode, or encoded already.
 *
 * @since 0.1.0
 */
export interface Segment {
  readonly from: number
  readonly before: number
  readonly encoded: Uint8Array | undefined
}

/** Block `k` of a body. */
interface Block extends Earlier {
  readonly k: number
}

/** Looks in one step: at a resource, or at a block. */
const many = 16 * atOnce

/** The bytes of a block, if it has just the resources from a place on. */
const encodedAt = (resources: ReadonlyArray<Resource>, at: number, { blocks, body, k }: Block): Segment | undefined => {
  const [first = 0, end = 0] = [blocks.froms[k], blocks.froms[k + 1]]
  for (let index = first; index < end; index++) {
    if (blocks.resources[index] !== resources[at + index - first]) return undefined
  }
  return { from: at, before: at + end - first, encoded: body.subarray(blocks.starts[k], blocks.starts[k + 1]) }
}

/**
 * Divides the resources of a response into segments, of which as many as possible are blocks of earlier bodies. These must be of
 * responses that write a resource in the same way.
 *
 * @since 0.1.0
 */
export const divide = function* (
  resources: ReadonlyArray<Resource>,
  earlier: ReadonlyArray<Earlier>
): Steps<ReadonlyArray<Segment>> {
  const byFirst = new Map<Resource | undefined, Block>()
  for (const { blocks, body } of earlier) {
    for (let k = 0; k + 1 < blocks.froms.length; k++) {
      byFirst.set(blocks.resources[blocks.froms[k] ?? 0], { blocks, body, k })
    }
    yield
  }
  const segments: Array<Segment> = []
  if (byFirst.size === 0) {
    for (let from = 0; from < resources.length; from += atOnce) {
      segments.push({ from, before: Math.min(from + atOnce, resources.length), encoded: undefined })
    }
    return segments
  }
  let from = 0
  let looks = 0
  const close = (before: number): void => {
    if (from < before) segments.push({ from, before, encoded: undefined })
    from = before
  }
  for (let at = 0; at < resources.length;) {
    const block = byFirst.get(resources[at])
    const known = block && encodedAt(resources, at, block)
    if (known === undefined) {
      if (++at - from === atOnce) close(at)
    } else {
      close(at)
      segments.push(known)
      from = at = known.before
    }
    if (++looks % many === 0) yield
  }
  close(resources.length)
  return segments
}
