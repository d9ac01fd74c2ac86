/**
 * Which variants of resources a client has (TP2). A variant is removed by name and constraints, also when another takes its place: a cache
 * in between may have both.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP2-dynamically-generated-cacheable-xds-resources.md "Transport Protocol Changes"
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { equals } from "../wire/ReceivedResource.js"
import type { RemovedVariant, Response } from "../wire/Response.js"
import * as Responses from "../wire/Response.js"
import type { Draft } from "./StreamState.js"

/**
 * No variants.
 *
 * @since 0.1.0
 */
export const none = HashMap.empty<string, Uint8Array>()

/**
 * The response to send, with the variants that it removes. They are noted.
 *
 * @since 0.1.0
 */
export const send = (self: Draft, response: Response): Response => {
  const { protocol, removed, resources, typeUrl } = response
  const removedVariants: Array<RemovedVariant> = []
  const plain: Array<string> = []
  const before = self.variants
  const next = HashMap.beginMutation(before)
  const keyOf = (name: string) => `${typeUrl} ${name}`
  for (const { constraints, name } of resources) {
    const known = Option.getOrUndefined(HashMap.get(before, keyOf(name)))
    if (constraints !== undefined) HashMap.set(next, keyOf(name), constraints)
    else if (known !== undefined) HashMap.remove(next, keyOf(name))
    if (known !== undefined && (constraints === undefined || !equals(known, constraints)))
      removedVariants.push({ name, constraints: known })
  }
  for (const name of removed) {
    const known = Option.getOrUndefined(HashMap.get(before, keyOf(name)))
    if (known === undefined) plain.push(name)
    else {
      removedVariants.push({ name, constraints: known })
      HashMap.remove(next, keyOf(name))
    }
  }
  self.variants = HashMap.endMutation(next)
  if (removedVariants.length === 0 || protocol === "StateOfTheWorld") return response
  return Responses.make({ ...response, removed: plain, removedVariants })
}
