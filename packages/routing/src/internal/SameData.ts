/** Whether two values say the same. */
import type { Endpoint } from "../Endpoint.js"

const nothing: ReadonlySet<string> = new Set()
const weights: ReadonlySet<string> = new Set(["weight", "localityWeight"])

/**
 * Compares plain data: texts, numbers and so on, and lists and objects of them. What is `undefined` is as if it were not there. ★ It
 * ends at the first difference.
 */
export const isSame = (a: unknown, b: unknown): boolean => {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((each, at) => isSame(each, b[at]))
  }
  return sameFields(a, b)
}

const sameFields = (a: object, b: object, except: ReadonlySet<string> = nothing): boolean => {
  for (const key of Object.keys(a)) {
    if (!except.has(key) && !isSame(Reflect.get(a, key), Reflect.get(b, key))) return false
  }
  for (const key of Object.keys(b)) {
    if (!except.has(key) && !(key in a) && Reflect.get(b, key) !== undefined) return false
  }
  return true
}

/**
 * Whether two values of an endpoint are the same to its calls. ★ Weights are for who shares calls among endpoints, and those of all
 * change where one comes or goes.
 */
export const isSameToCalls = (a: Endpoint, b: Endpoint): boolean => sameFields(a, b, weights)
