/**
 * What a client is given when it is made: its servers, by authority, and its bounds.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @since 0.1.0
 */
import type { Protocol } from "../wire/Request.js"
import * as Backoff from "./Backoff.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"

/**
 * A server, as the bootstrap names it. The same one in several lists is used through the same streams.
 *
 * @since 0.1.0
 */
export interface Server {
  /** What it is recognised by: all that is needed to connect to it, as text. */
  readonly id: string
  /** What watchers are told it is called. Default: {@link id}. */
  readonly name?: string | undefined
  readonly protocol: Protocol
  /** Whether all types go over one stream (ADS), or each over one of its own. Default: true. */
  readonly isAggregated?: boolean | undefined
  /** `fail_on_data_errors`: a resource that was NACKed, deleted or refused is not used any more. Default: false. */
  readonly failOnDataErrors?: boolean | undefined
  /** `resource_timer_is_transient_error`: it names what does not exist, so silence means that it is slow. Default: false. */
  readonly resourceTimerIsTransientError?: boolean | undefined
  /** Milliseconds. Default: 15 000, or 30 000 if the timer is a transient error. */
  readonly resourceTimeout?: number | undefined
}

/**
 * What does not change.
 *
 * @since 0.1.0
 */
export interface Options {
  /** For names without an authority, the first one is the primary. */
  readonly servers: ReadonlyArray<Server>
  /** For `xdstp` names, by authority. An empty list: {@link servers}. Default: none. */
  readonly authorities: ReadonlyMap<string, ReadonlyArray<Server>>
  /** The types that can be watched. */
  readonly decoders: ReadonlyArray<ResourceDecoder>
  /** The encoded `Node`. */
  readonly node: Uint8Array | undefined
  readonly backoff: Backoff.Options
  /** Resources of one type, watched or brought by a wildcard. Default: 100 000. */
  readonly maxResources: number
  /** Bytes of the error in a NACK. Default: 4 096. */
  readonly maxErrorBytes: number
}

/**
 * The options that a client must be given, and those that it may be given.
 *
 * @since 0.1.0
 */
export type OptionsInput = Pick<Options, "servers"> & { readonly [Key in keyof Options]?: Options[Key] | undefined }

/**
 * The options, with what was not given.
 *
 * @since 0.1.0
 */
export const withDefaults = (given: OptionsInput): Options => ({
  servers: given.servers,
  decoders: given.decoders ?? [],
  authorities: given.authorities ?? new Map(),
  node: given.node,
  backoff: given.backoff ?? Backoff.defaults,
  maxResources: given.maxResources ?? 100_000,
  maxErrorBytes: given.maxErrorBytes ?? 4_096
})
