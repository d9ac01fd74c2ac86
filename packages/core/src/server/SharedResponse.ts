/**
 * Responses that are the same for many streams, made once.
 *
 * @since 0.1.0
 */
import type { Cursor } from "../resource/Cursor.js"
import { isSame } from "../resource/Cursor.js"
import type { ResourceSet } from "../resource/ResourceSet.js"
import { Once, type Steps } from "../Steps.js"
import type { Response } from "../wire/Response.js"
import { shared } from "../wire/Response.js"

const responsesOf = ({ computed, cursor }: ResourceSet, from: Cursor): Map<string, Once<Response>> | undefined =>
  isSame(cursor, from) ? computed.full : computed.known(from)?.responses

/**
 * The response of {@link of}, if it is finished.
 *
 * @since 0.1.0
 */
export const known = (set: ResourceSet, from: Cursor, variant: string): Response | undefined =>
  responsesOf(set, from)?.get(variant)?.value

/**
 * The response from a cursor to a set, in one `variant`. From the set's own cursor it has all resources. Made once by the
 * streams that need it, and kept with the set.
 *
 * @since 0.1.0
 */
export const of = (set: ResourceSet, from: Cursor, variant: string, make: () => Steps<Response>): Steps<Response> => {
  const responses = responsesOf(set, from)
  const known = responses?.get(variant)
  if (known !== undefined) return known.steps()
  const made = new Once(() => sharing(make()))
  responses?.set(variant, made)
  return made.steps()
}

const sharing = function* (work: Steps<Response>): Steps<Response> {
  return shared(yield* work)
}
