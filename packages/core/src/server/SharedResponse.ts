/**
 * Responses that many streams send alike, made once.
 *
 * @since 0.1.0
 */
import type * as ResourceSet from "../resource/ResourceSet.js"
import type { Response } from "../wire/Response.js"
import { shared } from "../wire/Response.js"
import { Once, type Steps } from "../Steps.js"

const responses = new WeakMap<ResourceSet.ResourceSet, WeakMap<object, Map<string, Once<Response>>>>()

/**
 * The response that {@link of} gave, if it is made.
 *
 * @since 0.1.0
 */
export const known = (set: ResourceSet.ResourceSet, from: object, variant: string): Response | undefined =>
  responses.get(set)?.get(from)?.get(variant)?.value

/**
 * The response that leads from a state of the client (`from`: a cursor or whatever stands for the same thing for every stream) to
 * a set, in one `variant`; made once, by all who ask for it meanwhile. It lives as long as the set and `from` do.
 *
 * @since 0.1.0
 */
export const of = (
  set: ResourceSet.ResourceSet,
  from: object,
  variant: string,
  make: () => Steps<Response>
): Steps<Response> => {
  let bySet = responses.get(set)
  if (bySet === undefined) {
    bySet = new WeakMap()
    responses.set(set, bySet)
  }
  let byFrom = bySet.get(from)
  if (byFrom === undefined) {
    byFrom = new Map()
    bySet.set(from, byFrom)
  }
  let known = byFrom.get(variant)
  if (known === undefined) byFrom.set(variant, (known = new Once(() => sharing(make()))))
  return known.steps()
}

const sharing = function* (work: Steps<Response>): Steps<Response> {
  return shared(yield* work)
}
