/**
 * Pieces of a large encoded response. The response after a change has those of the one before, but for one: a client that connects
 * while resources change would otherwise have ten thousand of them encoded again after each change, or copied.
 *
 * @since 0.1.0
 */
import type { Resource } from "../resource/Resource.js"
import { atOnce, type Steps } from "../Steps.js"

/**
 * Consecutive resources as a response carries them. A piece of other fields, or with aliases that one client requested, has no
 * resources: it goes into no other response. Do not write into it.
 *
 * @since 0.1.0
 */
export interface Piece {
  readonly resources: ReadonlyArray<Resource>
  readonly bytes: Uint8Array
}

/**
 * The least bytes of a piece, unless fewer are between two others: each one is some small objects, and a write.
 *
 * @since 0.1.0
 */
export const leastBytes = 512 * 1024

/**
 * Resources `from` ≤ index < `before`: to encode, or encoded already as a piece.
 *
 * @since 0.1.0
 */
export interface Segment {
  readonly from: number
  readonly before: number
  readonly piece: Piece | undefined
}

/** Looks in one step: at a resource, or at a piece. */
const many = 16 * atOnce

/** Whether a piece has just the resources from a place on. */
const isAt = (resources: ReadonlyArray<Resource>, at: number, piece: Piece): boolean => {
  for (let index = 0; index < piece.resources.length; index++) {
    if (piece.resources[index] !== resources[at + index]) return false
  }
  return true
}

/**
 * Divides the resources of a response into segments, of which as many as possible are earlier pieces, the latest first. These must be of
 * responses that write a resource in the same way.
 *
 * @since 0.1.0
 */
export const divide = function* (
  resources: ReadonlyArray<Resource>,
  earlier: Iterable<Piece>
): Steps<ReadonlyArray<Segment>> {
  const byFirst = new Map<Resource | undefined, Piece>()
  for (const piece of earlier) {
    const [first] = piece.resources
    if (first !== undefined && !byFirst.has(first)) byFirst.set(first, piece)
  }
  if (byFirst.size === 0) return resources.length === 0 ? [] : [{ from: 0, before: resources.length, piece: undefined }]
  const segments: Array<Segment> = []
  let from = 0
  let looks = 0
  const close = (before: number): void => {
    if (from < before) segments.push({ from, before, piece: undefined })
    from = before
  }
  for (let at = 0; at < resources.length;) {
    const piece = byFirst.get(resources[at])
    if (piece !== undefined && isAt(resources, at, piece)) {
      close(at)
      at += piece.resources.length
      segments.push({ from, before: at, piece })
      from = at
    } else at++
    if (++looks % many === 0) yield
  }
  close(resources.length)
  return segments
}
