/**
 * Types of resources as people write them: `CDS`, `cluster`, `clusters`, `Cluster`, the full name of the message, or its
 * type URL.
 *
 * @since 0.1.0
 */
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Effect from "effect/Effect"
import * as ApiVersion from "./ApiVersion.js"
import { CommandFailure } from "./CommandFailure.js"
import * as Spelling from "./Spelling.js"

const namesOf = ({ restPath, shortName, typeName, typeUrl }: ResourceType.ResourceType): ReadonlyArray<string> => {
  const message = typeName.slice(typeName.lastIndexOf(".") + 1)
  const service = restPath?.slice(restPath.indexOf(":") + 1) ?? ""
  return [typeUrl, typeName, shortName, message, `${message}s`, service, service.replace(/s$/, "")]
}

/**
 * The type that is meant; `undefined` for none. Upper and lower case are the same.
 *
 * @since 0.1.0
 */
export const parse = (text: string, api: ResourceType.Api = "v3"): ResourceType.ResourceType | undefined =>
  ApiVersion.typesOf(api).find((type) =>
    namesOf(type).some((name) => name !== "" && name.toLowerCase() === text.toLowerCase())
  )

/**
 * What is wrong with a text that is none.
 *
 * @since 0.1.0
 */
export const wrong = (text: string, api: ResourceType.Api = "v3"): string => {
  const types = ApiVersion.typesOf(api)
  const choices = types.map(({ shortName }) => shortName)
  const near = Spelling.nearest(text.toUpperCase(), choices) ?? Spelling.nearest(text, types.flatMap(namesOf))
  // What is near to none may be anything, a password too.
  const [what, meant] =
    near === undefined || near === "" ? ["this", "."] : [JSON.stringify(text), `; did you mean ${near}?`]
  return `${what} is no type of resources${meant} There are ${choices.join(", ")}`
}

/**
 * The type that an argument names. `address`: that before it, which may be a type because it was forgotten.
 *
 * @since 0.1.0
 */
export const read = (
  text: string,
  address: string,
  api: ResourceType.Api
): Effect.Effect<ResourceType.ResourceType, CommandFailure> => {
  const type = parse(text, api)
  if (type !== undefined) return Effect.succeed(type)
  const isForgotten = parse(address, api) !== undefined
  const message = isForgotten
    ? `${JSON.stringify(address)} is a type, where the address of a server stands: give ADDRESS, then TYPE`
    : wrong(text, api)
  return Effect.fail(new CommandFailure({ kind: "usage", message }))
}
