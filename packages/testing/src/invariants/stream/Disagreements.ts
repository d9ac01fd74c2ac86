/**
 * ★ State of the world and incremental reach the same state.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import * as ReferenceClients from "../../reference/ReferenceClient.js"
import type { ReferenceClient } from "../../reference/ReferenceClient.js"

/**
 * Existing resources that two clients of one group want and hold differently.
 *
 * @since 0.1.0
 */
export const disagreements = (
  one: ReferenceClient,
  other: ReferenceClient,
  group: ResourceGroup
): ReadonlyArray<string> =>
  ResourceGroups.all(group)
    .filter((resource: Resource) => {
      const [first, second] = [one, other].map((client) => client.interests.get(resource.typeUrl))
      if (first === undefined || second === undefined) return false
      const isWanted = ReferenceClients.wants(first, resource) && ReferenceClients.wants(second, resource)
      return isWanted && first.held.get(resource.name)?.fingerprint !== second.held.get(resource.name)?.fingerprint
    })
    .map((resource) => `${shortNameOf(resource.typeUrl)} ${resource.name} is not the same for both`)
