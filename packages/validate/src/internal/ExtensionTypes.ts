/** For which place a type of the API is. */
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"

/** What says itself what it is. */
const wrappers = /^(?:xds|udpa)\.type\.|^envoy\.extensions\.common\.matching\./

/** Types of the API that are for a place: `envoy.extensions.filters.http.`. What is not of the API is somebody's own. */
export const isOf = (typeUrl: string, prefixes: ReadonlyArray<string>): boolean => {
  const name = TypeRegistry.typeName(typeUrl)
  // A Struct, which once was looked for by the name of the extension.
  if (name.startsWith("google.protobuf.")) return false
  if (!name.startsWith("envoy.") || !TypeRegistry.has(name) || wrappers.test(name)) return true
  // Some filters have kept the names that they had in v2.
  return prefixes.some((prefix) => name.startsWith(prefix)) || !/^envoy\.(?:extensions|config\.(?!filter\.))/.test(name)
}

/** Those of HTTP filters. */
export const httpFilters: ReadonlyArray<string> = ["envoy.extensions.filters.http."]

/** Whether a type of the API is a policy of load balancing, or may say itself that it is one. */
export const isPolicy = (typeUrl: string): boolean =>
  /[./](?:xds|udpa)\.type\.|\.load_balancing_policies\./.test(typeUrl) && TypeRegistry.has(typeUrl)
