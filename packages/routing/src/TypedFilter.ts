/**
 * Settings of HTTP filters in routes: which are known, and which make a route unusable.
 *
 * @see https://github.com/grpc/proposal/blob/master/A39-xds-http-filters.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import * as Reason from "@effect-xds/proto/Reason"
import { FilterConfigSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { TypedStructSchema } from "@effect-xds/proto/xds/type/v3/typed_struct"
import type { Collector } from "./RouteError.js"
import * as StatefulSession from "./StatefulSession.js"

const prefix = "type.googleapis.com/"
const filterConfig = `${prefix}${FilterConfigSchema.typeName}`
/** The same message under two names. */
const typedStructs: ReadonlySet<string> = new Set([
  `${prefix}${TypedStructSchema.typeName}`,
  `${prefix}udpa.type.v1.TypedStruct`
])

/**
 * Whether a configuration is a `TypedStruct`: JSON of a type that has no proto here.
 *
 * @since 0.1.0
 */
export const isTypedStruct = ({ typeUrl }: Any): boolean => typedStructs.has(typeUrl)

/**
 * The type URL of a filter's configuration: that inside of a `TypedStruct`, if it is one.
 *
 * @since 0.1.0
 */
export const typeUrlOf = (config: Any): string => {
  try {
    if (isTypedStruct(config)) return fromBinary(TypedStructSchema, config.value).typeUrl
  } catch {
    // What does not parse is of no known type.
  }
  return config.typeUrl
}

/**
 * No settings: what nearly every route has, so they share it.
 *
 * @since 0.1.0
 */
export const none: ReadonlyMap<string, Any> = new Map<string, Any>()

/**
 * The settings of known filters, by the filter's name. ★ A type that is not known and not optional is a mistake; a name
 * that no filter has is fine.
 *
 * @since 0.1.0
 */
export const overrides = (
  configs: Readonly<Record<string, Any>>,
  known: ReadonlySet<string>,
  path: string,
  errors: Collector
): ReadonlyMap<string, Any> => {
  const all = Object.entries(configs)
  if (all.length === 0) return none
  const found = new Map<string, Any>()
  for (const [name, any] of all) {
    const at = `${path}[${JSON.stringify(name)}]`
    let config: Any | undefined = any
    let isOptional = false
    if (any.typeUrl === filterConfig) {
      try {
        const wrapper = fromBinary(FilterConfigSchema, any.value)
        config = wrapper.config
        isOptional = wrapper.isOptional
      } catch (cause) {
        errors.add(at, "UnknownFilter", `not a FilterConfig: ${Reason.of(cause)}`)
        continue
      }
    }
    if (config === undefined) {
      if (!isOptional) errors.add(at, "UnknownFilter", "FilterConfig.config is missing; set it, or is_optional")
      continue
    }
    const typeUrl = typeUrlOf(config)
    if (known.has(typeUrl) && typeUrl !== StatefulSession.filterType) {
      if (typeUrl === StatefulSession.overrideType) StatefulSession.make(config, at, errors)
      found.set(name, config)
    } else if (!isOptional) {
      const message = `no HTTP filter of this client is configured by ${typeUrl}; remove it, or wrap it in a FilterConfig with is_optional`
      errors.add(at, "UnknownFilter", message)
    }
  }
  return found
}
