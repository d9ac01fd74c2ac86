/** The types with a REST path: those of the table, and those of the options. */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { RestType } from "../RestType.js"

/** A type with its path and its family. */
export interface Served extends RestType {
  readonly family: ResourceType.ResourceType["family"]
}

/** Types of v3 and v2 by path. Those of the options are `by-name`: a response need not hold every subscribed resource. */
export const byPath = (own: ReadonlyArray<RestType>): ReadonlyMap<string, Served> => {
  const served = new Map<string, Served>()
  for (const { family, restPath, typeUrl } of ResourceType.ofAllApis) {
    if (restPath !== undefined) served.set(restPath, { typeUrl, path: restPath, family })
  }
  for (const type of own) served.set(type.path, { ...type, family: "by-name" })
  return served
}

/** Why these types cannot be added to those of the table; `undefined` if they can. */
export const problemOf = (own: ReadonlyArray<RestType>): string | undefined => {
  const taken = byPath([])
  const paths = new Set(taken.keys())
  const typeUrls = new Set(Array.from(taken.values(), ({ typeUrl }) => typeUrl))
  for (const { path, typeUrl } of own) {
    const which = `option types, ${typeUrl}:`
    if (!/^\/[^?#\s]*$/.test(path)) return `${which} the path ${path} is to begin with / and to have no query`
    if (paths.has(path)) return `${which} the path ${path} is that of another type`
    if (typeUrls.has(typeUrl)) return `${which} the type has a path already`
    paths.add(path)
    typeUrls.add(typeUrl)
  }
  return undefined
}
