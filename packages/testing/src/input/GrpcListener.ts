/**
 * The listener of a client without a sidecar (gRFC A27): an API listener, whose routes come by RDS from where it came from itself.
 *
 * @since 0.1.0
 */
import { create, type MessageInitShape } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { type Listener, ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import {
  type HttpConnectionManager,
  HttpConnectionManagerSchema,
  type HttpFilterSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"

/**
 * What a listener is made of besides its name.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The name of its RouteConfiguration. Default: its own. */
  readonly routes?: string | undefined
  /** Filters before the router. */
  readonly filters?: ReadonlyArray<MessageInitShape<typeof HttpFilterSchema>> | undefined
  /** Further fields of the connection manager; they count more than what is said here. */
  readonly http?:
    | Omit<
        Exclude<MessageInitShape<typeof HttpConnectionManagerSchema>, HttpConnectionManager>,
        "$typeName" | "$unknown"
      >
    | undefined
}

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

const router = {
  name: "router",
  configType: { case: "typedConfig" as const, value: anyPack(RouterSchema, create(RouterSchema)) }
}

/**
 * The listener that a call to `xds:///name` asks for.
 *
 * @since 0.1.0
 */
export const make = (name: string, { filters = [], http = {}, routes = name }: Options = {}): Listener => {
  const manager = create(HttpConnectionManagerSchema, {
    statPrefix: name,
    routeSpecifier: { case: "rds", value: { configSource: ads, routeConfigName: routes } },
    httpFilters: [...filters, router],
    ...http
  })
  return create(ListenerSchema, { name, apiListener: { apiListener: anyPack(HttpConnectionManagerSchema, manager) } })
}
