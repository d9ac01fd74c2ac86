/**
 * The version of Envoy's API that a command works with. Only who asks for v2 loads its types.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Effect from "effect/Effect"

/**
 * Makes the types of a version known to everything that reads or prints resources.
 *
 * @since 0.1.0
 */
export const load = (api: ResourceType.Api): Effect.Effect<void> =>
  api === "v3"
    ? Effect.void
    : Effect.promise(async () => {
        const { types } = await import("@effect-xds/proto-v2/GeneratedTypes")
        TypeRegistry.add(types)
      })

/**
 * The types of resources of a version, in their order.
 *
 * @since 0.1.0
 */
export const typesOf = (api: ResourceType.Api): ReadonlyArray<ResourceType.ResourceType> =>
  api === "v3" ? ResourceType.all : ResourceType.v2
