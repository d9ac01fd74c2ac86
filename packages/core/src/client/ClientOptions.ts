/**
 * The options of a client: its servers, by authority, and its limits.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @since 0.1.0
 */
import type { ByAuthority } from "../protocol/DynamicParameters.js"
import type { Protocol } from "../wire/Request.js"
import * as Backoff from "./Backoff.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"

/**
 * A server in the bootstrap. Lists that name the same server share its streams.
 *
 * @since 0.1.0
 */
export interface Server {
  /** Identity: all that is needed to connect to it, as text. */
  readonly id: string
  /** The name in messages for watchers. Default: {@link id}. */
  readonly name?: string | undefined
  readonly protocol: Protocol
  /** Whether all types share one stream (ADS), or each has its own. Default: true. */
  readonly isAggregated?: boolean | undefined
  /** `fail_on_data_errors`: a resource that is NACKed, deleted or denied is no longer used. Default: false. */
  readonly failOnDataErrors?: boolean | undefined
  /**
   * `resource_timer_is_transient_error`: the server reports missing resources, so silence means that it is slow. Default:
   * false.
   */
  readonly resourceTimerIsTransientError?: boolean | undefined
  /**
   * Time for a requested resource to come, in milliseconds. Default: 15 000, or 30 000 with
   * `resource_timer_is_transient_error`.
   */
  readonly resourceTimeout?: number | undefined
}

/**
 * The options of a client. Fixed.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Servers for names without an authority. The first one is the primary. */
  readonly servers: ReadonlyArray<Server>
  /** Authority → servers for its `xdstp` names. An empty list means {@link servers}. Default: none. */
  readonly authorities: ReadonlyMap<string, ReadonlyArray<Server>>
  /** The decoders of the types that can be watched. */
  readonly decoders: ReadonlyArray<ResourceDecoder>
  /**
   * What the client says of itself with each name, by the authority of the name; empty text: old names (TP2). The server chooses the
   * variant of a resource by it. A server that does not know locators takes such a request for one without names. Default: nothing, and
   * names only are sent.
   */
  readonly dynamicParameters: ByAuthority | undefined
  /** The encoded `Node`. */
  readonly node: Uint8Array | undefined
  readonly backoff: Backoff.Options
  /** Most resources of one type, watched or covered by a wildcard. Default: 100 000. */
  readonly maxResources: number
  /** Most bytes of the error message in a NACK. Default: 4 096. */
  readonly maxErrorBytes: number
}

/**
 * Required and optional options.
 *
 * @since 0.1.0
 */
export type OptionsInput = Pick<Options, "servers"> & { readonly [Key in keyof Options]?: Options[Key] | undefined }

/**
 * The options with defaults filled in.
 *
 * @since 0.1.0
 */
export const withDefaults = (given: OptionsInput): Options => ({
  servers: given.servers,
  decoders: given.decoders ?? [],
  authorities: given.authorities ?? new Map(),
  dynamicParameters: given.dynamicParameters,
  node: given.node,
  backoff: given.backoff ?? Backoff.defaults,
  maxResources: given.maxResources ?? 100_000,
  maxErrorBytes: given.maxErrorBytes ?? 4_096
})
