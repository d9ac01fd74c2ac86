/**
 * `Any`s that Envoy never opens, and so does not refuse for what is in them: those that are for others who look at the resource, and
 * those that are passed over.
 */
import * as ExtensionTypes from "./ExtensionTypes.js"
import { isProperties, type Properties } from "./Properties.js"

const typeUrlOf = (any: unknown): string => (isProperties(any) ? String(any["typeUrl"]) : "")

/** Metadata are opened by what was added to Envoy and looks for the key, if anything does. */
const inMetadata = ({ typedFilterMetadata: all }: Properties): ReadonlyArray<unknown> =>
  isProperties(all) ? Object.values(all) : []

/** Of a list of policies Envoy takes the first that it knows. */
const inPolicies = ({ policies }: Properties): ReadonlyArray<unknown> => {
  const all = (Array.isArray(policies) ? policies : []).map((policy: unknown) => {
    const extension = isProperties(policy) ? policy["typedExtensionConfig"] : undefined
    return isProperties(extension) ? extension["typedConfig"] : undefined
  })
  const first = all.findIndex((any) => ExtensionTypes.isPolicy(typeUrlOf(any)))
  return first < 0 ? [] : all.filter((_, index) => index !== first)
}

/** A filter that is optional is left out if it is none. */
const inFilter = ({ configType, isOptional }: Properties): ReadonlyArray<unknown> => {
  const any = isProperties(configType) ? configType["value"] : undefined
  return isOptional === true && !ExtensionTypes.isOf(typeUrlOf(any), ExtensionTypes.httpFilters) ? [any] : []
}

/** The same on a route; where the filter is off, nothing is opened. */
const inFilterConfig = ({ config, disabled, isOptional }: Properties): ReadonlyArray<unknown> => {
  const isLeftOut = isOptional === true && !ExtensionTypes.isOf(typeUrlOf(config), ExtensionTypes.httpFilters)
  return disabled === true || isLeftOut ? [config] : []
}

/** By the type of the message that has them. */
const finders: ReadonlyMap<string, (message: Properties) => ReadonlyArray<unknown>> = new Map([
  ["envoy.config.core.v3.Metadata", inMetadata],
  ["envoy.config.cluster.v3.LoadBalancingPolicy", inPolicies],
  ["envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter", inFilter],
  ["envoy.config.route.v3.FilterConfig", inFilterConfig]
])

/** Finds those in a message of a type; `undefined`: none has any. */
export const finderOf = (typeName: string): ((message: Properties) => ReadonlyArray<unknown>) | undefined =>
  finders.get(typeName)

/** Keeps in mind those that are found in a message, before its fields are looked at. */
export const note = (
  message: unknown,
  find: (message: Properties) => ReadonlyArray<unknown>,
  seen: { unopened: Set<unknown> | undefined }
): void => {
  if (isProperties(message)) for (const any of find(message)) (seen.unopened ??= new Set()).add(any)
}

/**
 * Fields by which it depends on what is in a message whether an `Any` is opened: who looks at bytes alone is not sure where one is there;
 * of `typed_filter_metadata` none is opened, and of a list of one policy that one.
 */
export const fields = {
  never: "envoy.config.core.v3.Metadata.typed_filter_metadata",
  ofOne: "envoy.config.cluster.v3.LoadBalancingPolicy.policies",
  unsure: [
    "envoy.extensions.filters.network.http_connection_manager.v3.HttpFilter.is_optional",
    "envoy.config.route.v3.FilterConfig.config"
  ]
} as const
