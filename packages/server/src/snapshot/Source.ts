/**
 * The forms in which a resource is given to a store: as a protobuf-es message, a `google.protobuf.Any` or encoded bytes, with or
 * without options.
 *
 * @since 0.1.0
 */
import type { Message } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import type { Constraints } from "@effect-xds/core/protocol/DynamicParameters"
import type { ResourceError } from "@effect-xds/core/resource/Resource"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type * as Duration from "effect/Duration"

/**
 * An encoded resource. The name must equal the one in the bytes; for a VirtualHost it is `<route
 * configuration>/<name>`.
 *
 * @since 0.1.0
 */
export interface Encoded {
  /** With or without `type.googleapis.com/`. */
  readonly typeUrl: string
  readonly name: string
  readonly value: Uint8Array
}

/**
 * The forms of a resource.
 *
 * @since 0.1.0
 */
export type Source<M extends Message = Message> = M | Any | Encoded

/**
 * Options of a resource beside its content.
 *
 * @since 0.1.0
 */
export interface ResourceOptions {
  /**
   * The name, if it is not in the message: for a VirtualHost, and for types that are no xDS resource types. Default:
   * the name in the message.
   */
  readonly name?: string | undefined
  /** The version that clients get. Default: a digest of the content, the same on every replica. */
  readonly version?: string | undefined
  /**
   * The time to live: the client drops the resource if it is not renewed in time. The server renews it at half of it.
   */
  readonly ttl?: Duration.DurationInput | undefined
  /** Further names under which incremental clients may subscribe to it. */
  readonly aliases?: ReadonlyArray<string> | undefined
  /**
   * Whether the given bytes are kept without a copy, for bytes that many groups share: they must not be modified later, nor be a
   * view into a much larger buffer. Default: they are copied into the form in which responses carry them, so that an answer need
   * not encode the resource.
   */
  readonly keepBytes?: boolean | undefined
  /**
   * Whether the type may be unknown to this version: a custom or newer one. Its resources are given as bytes with a
   * name, and served unchanged, as a by-name type. Default: false, since an unknown type URL is usually a mistake.
   */
  readonly isUnknownType?: boolean | undefined
  /**
   * The clients that the resource is for, by what they say of themselves in dynamic parameters (TP2). All variants of a name are given
   * together, one resource each; no parameters may match two of them. A variant has no aliases. Default: for all clients.
   */
  readonly constraints?: Constraints | undefined
  /**
   * Why clients cannot be given the resource; then it needs no content, see {@link unavailable}. Default: they are given it.
   */
  readonly error?: ResourceError | undefined
  /** Where the resource comes from: `clusters.yaml:3`. Messages about broken rules begin with it. Default: nothing. */
  readonly place?: string | undefined
}

/**
 * A resource with options, from {@link resource} or {@link virtualHost}.
 *
 * @since 0.1.0
 */
export interface Entry<out S extends Source = Source> {
  readonly _tag: "Entry"
  readonly source: S
  readonly options: ResourceOptions
}

/**
 * A resource, with or without options.
 *
 * @since 0.1.0
 */
export type Item<M extends Message = Message> = Source<M> | Entry<Source<M>>

/**
 * A resource with options: a version, a TTL, aliases or a name.
 *
 * @example
 * import { create } from "@bufbuild/protobuf"
 * import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
 * import { Snapshot } from "@effect-xds/server"
 *
 * const assignment = create(ClusterLoadAssignmentSchema, { clusterName: "backend" })
 *
 * const snapshot = { endpoints: [Snapshot.resource(assignment, { ttl: "30 seconds" })] }
 *
 * @since 0.1.0
 */
export const resource = <S extends Source>(source: S, options: ResourceOptions): Entry<S> => ({
  _tag: "Entry",
  source,
  options
})

/**
 * A virtual host for VHDS. Clients subscribe to `<route configuration>/<host>`. The resource is named `<route
 * configuration>/<virtual host name>`, with such an alias for each of its domains, in lower case as Envoy requests
 * them. A host is also found by the domains `*.example.com`, `*-x`, `x.*` and `*`; the best match counts. The message
 * gets the resource's name, too: Envoy finds a removed virtual host by the name in its message. The virtual host's own name must
 * have no slash: what stands before the last one is the route configuration.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
export const virtualHost = (
  routeConfigurationName: string,
  message: VirtualHost,
  options: Pick<ResourceOptions, "version" | "ttl"> = {}
): Entry<VirtualHost> => {
  const name = VirtualHostDiscovery.nameOf(routeConfigurationName, message.name)
  const aliases = new Set(
    message.domains.map((domain) => VirtualHostDiscovery.nameOf(routeConfigurationName, domain.toLowerCase()))
  )
  aliases.delete(name)
  return resource({ ...message, name }, { ...options, name, aliases: Array.from(aliases) })
}

/**
 * An error in the place of a resource: clients that ask for the name are told it in `resource_errors` (TP3). With `NOT_FOUND` and
 * `PERMISSION_DENIED` they may drop what they have, with any other code they keep it. Clients that know no such errors see no resource.
 * One of a virtual host has its resource's name, `<route configuration>/<virtual host name>`. It is told of each of its hosts that a
 * client has; a client that asks for another one is answered that there is none.
 *
 * @example
 * import { ResourceType } from "@effect-xds/proto"
 * import { Snapshot } from "@effect-xds/server"
 *
 * const { typeUrl } = ResourceType.ClusterLoadAssignment
 * const error = { code: 14, message: "the registry cannot be reached" }
 *
 * const snapshot = { endpoints: [Snapshot.unavailable({ typeUrl, name: "backend" }, error)] }
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP3-xds-error-propagation.md
 * @since 0.1.0
 */
export const unavailable = (
  { name, typeUrl }: { readonly typeUrl: string; readonly name: string },
  error: ResourceError
): Entry<Encoded> => resource({ typeUrl, name, value: new Uint8Array() }, { error })
