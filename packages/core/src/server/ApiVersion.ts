/**
 * Envoy's v2 API beside v3: the protocol is the same, the resources are others. A group holds resources of one version, and nothing is
 * translated: a client that asks for the other version is told so, since an answer without resources would take away what it has.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type { ServerStream } from "./StreamState.js"

/**
 * Whether a request for a type may come to the service of another: to its own, and, as the version of the transport is not that of the
 * resources, to the service that the type has in the other version.
 *
 * @since 0.1.0
 */
export const isServed = (serviceTypeUrl: string, typeUrl: string): boolean => {
  if (typeUrl === serviceTypeUrl) return true
  const type = ResourceType.byTypeUrl(typeUrl)
  return type !== undefined && type.shortName === ResourceType.byTypeUrl(serviceTypeUrl)?.shortName
}

/**
 * Why a group has no answer for a type: its resources are of the other version. `undefined`: it may have one.
 *
 * @since 0.1.0
 */
export const conflictOf = (group: ResourceGroup | undefined, typeUrl: string): string | undefined => {
  const held = group?.api
  if (held === undefined) return undefined
  const asked = ResourceType.byTypeUrl(typeUrl)?.api
  return asked === undefined || asked === held
    ? undefined
    : `the group holds resources of Envoy's ${held} API, and ${typeUrl} is of ${asked}`
}

/**
 * {@link conflictOf} what a stream is subscribed to, if the group before was not of the same version.
 *
 * @since 0.1.0
 */
export const conflict = (self: ServerStream, group: ResourceGroup | undefined): string | undefined => {
  if (group?.api === undefined || group.api === self.group?.api) return undefined
  for (const { typeUrl } of self.subscriptions) {
    const found = conflictOf(group, typeUrl)
    if (found !== undefined) return found
  }
  return undefined
}
