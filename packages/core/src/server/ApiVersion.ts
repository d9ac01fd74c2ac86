/**
 * Versions of Envoy's API, v2 beside v3: the protocol is the same, the resource types differ. A group holds resources of one
 * version, and nothing is translated. A client of the other version gets an error, because an empty response would delete what
 * it has.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { ResourceGroup } from "../resource/ResourceGroup.js"
import type { ServerStream } from "./StreamState.js"

/**
 * Whether a service accepts requests for a type: its own type, and the same type in the other version, because transport and
 * resources may differ in version.
 *
 * @since 0.1.0
 */
export const isServed = (serviceTypeUrl: string, typeUrl: string): boolean => {
  if (typeUrl === serviceTypeUrl) return true
  const type = ResourceType.byTypeUrl(typeUrl)
  return type !== undefined && type.shortName === ResourceType.byTypeUrl(serviceTypeUrl)?.shortName
}

/**
 * Why a group cannot answer requests for a type: its resources are of the other version. `undefined` if it can.
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
 * The {@link conflictOf} the subscriptions of a stream, if the version of its group changed.
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
