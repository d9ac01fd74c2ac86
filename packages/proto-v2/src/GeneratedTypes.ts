/**
 * The types of Envoy's v2 API for `TypeRegistry.add` of `@effect-xds/proto`: from then on `TypeRegistry` and
 * `SensitiveFields` know them.
 *
 * @example
 * import { TypeRegistry } from "@effect-xds/proto"
 * import { GeneratedTypes } from "@effect-xds/proto-v2"
 *
 * TypeRegistry.add(GeneratedTypes.types)
 *
 * @since 0.1.0
 */
import type { TypeRegistry } from "@effect-xds/proto"
import * as generated from "#generated-types"
import { names, table } from "./internal/SensitiveTable.js"

/**
 * Every message, enum, service and extension of the package; none of them is loaded by this.
 *
 * @since 0.1.0
 */
export const types: TypeRegistry.GeneratedTypes = {
  files: generated.files,
  types: generated.types,
  sensitive: table,
  sensitiveNames: names
}
