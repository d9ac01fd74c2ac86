/**
 * An API listener, validated: where its routes come from.
 *
 * @see https://github.com/grpc/proposal/blob/master/A27-xds-global-load-balancing.md
 * @see https://github.com/grpc/proposal/blob/master/A39-xds-http-filters.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import * as Milliseconds from "@effect-xds/discovery/Milliseconds"
import * as Reason from "@effect-xds/proto/Reason"
import type { Listener as ListenerMessage } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import type { HttpConnectionManager } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Either from "effect/Either"
import type { RouteError } from "./RouteError.js"
import { Collector } from "./RouteError.js"
import * as RouteScopes from "./RouteScope.js"
import * as RouteTables from "./RouteTable.js"
import * as StatefulSession from "./StatefulSession.js"
import * as TypedFilter from "./TypedFilter.js"

/**
 * A listener of a client.
 *
 * @since 0.1.0
 */
export interface Listener {
  readonly name: string
  /** `Scoped`: the headers of a call say where its routes are. */
  readonly routes: RouteScopes.Routes | RouteScopes.Scoped
  /** Milliseconds a call may take if its route does not say it; `undefined` or 0: as long as the caller says. */
  readonly maxStreamDuration: number | undefined
  /** HTTP filters in order, the router last. */
  readonly filters: ReadonlyArray<{ readonly name: string; readonly config: Any | undefined }>
}

/**
 * Whether calls may belong to sessions.
 *
 * @since 0.1.0
 */
export const hasSessions = ({ filters }: Listener): boolean =>
  filters.some(({ config }) => config?.typeUrl === StatefulSession.filterType)

const manager = `type.googleapis.com/${HttpConnectionManagerSchema.typeName}`

/**
 * Reads a listener. Left: all its mistakes, those of routes in it, too.
 *
 * @since 0.1.0
 */
export const make = (
  message: ListenerMessage,
  options: RouteTables.Options = {}
): Either.Either<Listener, ReadonlyArray<RouteError>> => {
  const errors = new Collector()
  const path = "api_listener.api_listener"
  const any = message.apiListener?.apiListener
  if (any === undefined) {
    errors.add(path, "ApiListener", "api_listener is missing; a listener of sockets is for servers")
    return Either.left(errors.errors)
  }
  if (any.typeUrl !== manager) {
    errors.add(path, "ApiListener", `${any.typeUrl} is not supported; it must be an HttpConnectionManager`)
    return Either.left(errors.errors)
  }
  let http: HttpConnectionManager
  try {
    http = fromBinary(HttpConnectionManagerSchema, any.value)
  } catch (cause) {
    errors.add(path, "ApiListener", `not an HttpConnectionManager: ${Reason.of(cause)}`)
    return Either.left(errors.errors)
  }
  if (http.xffNumTrustedHops !== 0)
    errors.add(`${path}.xff_num_trusted_hops`, "ApiListener", "is not supported; leave it out")
  if (http.originalIpDetectionExtensions.length > 0) {
    errors.add(`${path}.original_ip_detection_extensions`, "ApiListener", "are not supported; leave them out")
  }
  const duration = http.commonHttpProtocolOptions?.maxStreamDuration
  const maxStreamDuration = duration === undefined ? undefined : Milliseconds.make(duration)
  if (duration !== undefined && (maxStreamDuration === undefined || maxStreamDuration < 0)) {
    const at = `${path}.common_http_protocol_options.max_stream_duration`
    errors.add(at, "Duration", "not a valid duration, or a negative one")
  }
  const known = options.filters ?? RouteTables.standard
  const filters = filtersOf(http, known, path, errors)
  const routes = routesOf(http, path, options, errors)
  if (routes === undefined || errors.count > 0) return Either.left(errors.errors)
  return Either.right({ name: message.name, routes, maxStreamDuration, filters })
}

const routesOf = (
  { routeSpecifier }: HttpConnectionManager,
  path: string,
  options: RouteTables.Options,
  errors: Collector
): Listener["routes"] | undefined => {
  if (routeSpecifier.case === "routeConfig") {
    const made = RouteTables.make(routeSpecifier.value, options)
    if (Either.isRight(made)) return { _tag: "Inline", table: made.right }
    for (const error of made.left) errors.add(`${path}.route_config.${error.path}`, error.reason, error.message)
    return undefined
  }
  if (routeSpecifier.case === "scopedRoutes") {
    return RouteScopes.scoped(routeSpecifier.value, `${path}.scoped_routes`, options, errors)
  }
  if (routeSpecifier.case !== "rds") {
    errors.add(path, "RouteSource", "none of rds, route_config and scoped_routes is set; set one")
    return undefined
  }
  const { configSource, routeConfigName } = routeSpecifier.value
  const source = configSource?.configSourceSpecifier.case
  if (source !== "ads" && source !== "self") {
    errors.add(`${path}.rds.config_source`, "RouteSource", "only ads and self are supported as the source of routes")
  }
  if (routeConfigName === "")
    errors.add(`${path}.rds.route_config_name`, "RouteSource", "the name is empty; name the routes")
  return { _tag: "Rds", name: routeConfigName }
}

const filtersOf = (
  { httpFilters }: HttpConnectionManager,
  known: ReadonlySet<string>,
  path: string,
  errors: Collector
): Listener["filters"] => {
  const filters: Array<Listener["filters"][number]> = []
  const names = new Set<string>()
  let last = ""
  for (const [index, { configType, isOptional, name }] of httpFilters.entries()) {
    const at = `${path}.http_filters[${index}]`
    if (name === "") errors.add(`${at}.name`, "HttpFilters", "the name is empty; name the filter")
    if (names.has(name))
      errors.add(`${at}.name`, "HttpFilters", `${JSON.stringify(name)} is there twice; names are unique`)
    names.add(name)
    const config = configType.case === "typedConfig" ? configType.value : undefined
    const typeUrl = config === undefined ? "" : TypedFilter.typeUrlOf(config)
    if (!known.has(typeUrl) || typeUrl === StatefulSession.overrideType) {
      if (isOptional) continue
      const what = typeUrl === "" ? "a filter without typed_config" : typeUrl
      errors.add(at, "UnknownFilter", `${what} is not supported; remove it, or set is_optional`)
      continue
    }
    if (RouteTables.router.has(last))
      errors.add(at, "HttpFilters", "a filter after the router; the router is the last one")
    last = typeUrl
    if (config !== undefined && typeUrl === StatefulSession.filterType) {
      StatefulSession.make(config, `${at}.typed_config`, errors)
    }
    filters.push({ name, config })
  }
  if (!RouteTables.router.has(last)) {
    const text =
      httpFilters.length === 0 ? "there are no filters; the router is needed" : "the last filter is not the router"
    errors.add(`${path}.http_filters`, "HttpFilters", text)
  }
  return filters
}
