/**
 * Naming rules of the virtual host discovery service (VHDS).
 *
 * A virtual host is asked for as `<route configuration>/<host>`. It is kept under a name of the same form, with one
 * alias for each of its domains, so that a subscription by host finds it.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import { fields } from "./Wire.js"

/** envoy.config.route.v3.RouteConfiguration */
const VHDS = 9

/**
 * Splits a virtual host's resource name at the *last* slash: a host cannot hold one, a route configuration's name can.
 * `undefined` if there is no slash.
 *
 * @since 0.1.0
 */
export const split = (
  resourceName: string
): { readonly routeConfiguration: string; readonly host: string } | undefined => {
  const at = resourceName.lastIndexOf("/")
  return at < 0 ? undefined : { routeConfiguration: resourceName.slice(0, at), host: resourceName.slice(at + 1) }
}

/**
 * The resource name of a virtual host, or the alias for one of its domains.
 *
 * @since 0.1.0
 */
export const nameOf = (routeConfiguration: string, host: string): string => `${routeConfiguration}/${host}`

/**
 * The name of the body-less resource that opens a listener whose route configuration fetches its virtual hosts by VHDS
 * from a server that has no VHDS wildcard: Envoy watches that prefix and waits for any answer under it.
 *
 * @since 0.1.0
 */
export const openerOf = (routeConfiguration: string): string => `${routeConfiguration}/`

/**
 * Whether an encoded RouteConfiguration asks for its virtual hosts by VHDS. `false` for bytes that are no such message.
 *
 * @since 0.1.0
 */
export const isRequestedBy = (routeConfiguration: Uint8Array): boolean => {
  let found = false
  try {
    fields(routeConfiguration, (_reader, field, type) => {
      if (field === VHDS && type === WireType.LengthDelimited) found = true
      return false
    })
  } catch {
    return false
  }
  return found
}
