/**
 * Types of resources as people write them: `CDS`, `cluster`, `clusters`, `Cluster`, the full name of the message, or its
 * type URL.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Effect from "effect/Effect"

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
export const parse = (text: string): ResourceType.ResourceType | undefined =>
  ResourceType.all.find((type) =>
    namesOf(type).some((name) => name !== "" && name.toLowerCase() === text.toLowerCase())
  )

/**
 * What there is to choose from, for people.
 *
 * @since 0.1.0
 */
export const choices = ResourceType.all.map(({ shortName }) => shortName).join(", ")

/**
 * An argument that is a type.
 *
 * @since 0.1.0
 */
export const argument: Args.Args<ResourceType.ResourceType> = Args.text({ name: "TYPE" }).pipe(
  Args.withDescription(`${choices}; also as cluster, clusters or a type URL`),
  Args.mapEffect((text) => {
    const type = parse(text)
    return type === undefined
      ? Effect.fail(HelpDoc.p(`${JSON.stringify(text)} is no type of resources; there are ${choices}`))
      : Effect.succeed(type)
  })
)
