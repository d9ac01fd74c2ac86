/**
 * Responses that many streams send alike, made once.
 *
 * @since 0.1.0
 */
import type { Cursor } from "../resource/Cursor.js"
import { isSame } from "../resource/Cursor.js"
import type { ResourceSet } from "../resource/ResourceSet.js"
import type { Response } from "../wire/Response.js"
import { shared } from "../wire/Response.js"
import { Once, type Steps } from "../Steps.js"

const responsesOf = ({ computed, cursor }: ResourceSet, from: Cursor): Map<string, Once<Response>> | undefined =>
  isSame(cursor, from) ? computed.full : computed.known(from)?.responses

/**
 * The response that {@link of} gave, if it is made.
 *
 * @since 0.1.0
 */
export const known = (set: ResourceSet, from: Cursor, variant: string): Response | undefined =>
  responsesOf(set, from)?.get(variant)?.value

/**
 * The response that leads from a cursor to a set, in one `variant`: from the set's own cursor it has all resources. Made once, by
 * all who ask for it meanwhile, and kept with the set.
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
