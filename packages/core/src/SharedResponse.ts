/**
 * Responses that many streams send alike, made once.
 *
 * @since 0.1.0
 */
import type * as ResourceSet from "./ResourceSet.js"
import type { Response } from "./Response.js"
import { shared } from "./Response.js"

const responses = new WeakMap<ResourceSet.ResourceSet, WeakMap<object, Map<string, Response>>>()

/**
 * The response that leads from a state of the client (`from`: a mark or whatever stands for the same thing for every stream) to
 * a set, in one `variant`; made at the first call. It lives as long as the set and `from` do.
 *
 * @since 0.1.0
 */
export const of = (set: ResourceSet.ResourceSet, from: object, variant: string, make: () => Response): Response => {
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
  const known = byFrom.get(variant)
  if (known !== undefined) return known
  const made = make()
  for (let part: Response | undefined = made; part !== undefined; part = part.next) shared(part)
  byFrom.set(variant, made)
  return made
}
