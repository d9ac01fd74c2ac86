/**
 * A resource of a file.
 *
 * @since 0.1.0
 */
import type { Constraints } from "@effect-xds/core/protocol/DynamicParameters"

/**
 * An encoded resource of a file. `@effect-xds/server` takes it unchanged: `store.set(group, { resources })`. Version,
 * TTL, aliases and constraints are options of `Snapshot.resource`.
 *
 * @since 0.1.0
 */
export interface FileResource {
  /** `type.googleapis.com/<full message name>`. */
  readonly typeUrl: string
  /** For a VirtualHost: `<route configuration>/<name>`, which is also the name in the message. */
  readonly name: string
  /** The encoded message. */
  readonly value: Uint8Array
  /** The version in an `envoy.service.discovery.v3.Resource` around it. */
  readonly version: string | undefined
  /** The TTL of the same, in milliseconds. */
  readonly ttl: number | undefined
  /** The aliases of the same; for a VirtualHost also one per domain. */
  readonly aliases: ReadonlyArray<string>
  /**
   * The clients that it is for (TP2): the `dynamic_parameter_constraints` of the `resource_name` in the same. `undefined`: all. Resources
   * of one name with other constraints are its variants.
   */
  readonly constraints: Constraints | undefined
  /** The path of its file. */
  readonly file: string
  /** The line where it begins, from 1; `undefined` if the format has no lines. */
  readonly line: number | undefined
}
