/**
 * Options of a client.
 *
 * @since 0.1.0
 */
import type { Protocol } from "@effect-xds/core/wire/Request"
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type { Bootstrap } from "./Bootstrap.js"

/**
 * Options of a client: servers, protocol, timeouts and limits.
 *
 * @since 0.1.0
 */
export interface Options<out E = never, out R = never> {
  /** The servers and the node, or how to get them: `Bootstrap.fromEnvironment`. */
  readonly bootstrap: Bootstrap | Effect.Effect<Bootstrap, E, R>
  /** Default: `StateOfTheWorld`, which every server speaks. `Incremental` costs less. */
  readonly protocol?: Protocol | undefined
  /** Whether all types go over one stream (ADS), or each over a stream of its own. Default: true. */
  readonly aggregated?: boolean | undefined
  /**
   * How long the client waits for a resource before its watchers get `DoesNotExist` (A57). Default: 15 seconds; 30 for
   * servers with `resource_timer_is_transient_error`.
   */
  readonly resourceTimeout?: Duration.DurationInput | undefined
  /** The delays between connection attempts. Default: from 1 s to 30 s, times 1.6, with a jitter of 0.2. */
  readonly backoff?: BackoffOptions | undefined
  /** How long watchers may process one response. After that the client reads on without them. Default: 10 seconds. */
  readonly watcherTimeout?: Duration.DurationInput | undefined
  /**
   * What the client says of itself with each resource that it asks for; the server chooses the variant of a resource by it (xRFC TP2,
   * "Dynamic Parameters"). For servers that know locators only: others take a request with them for one without names. Default:
   * nothing, and names only are sent.
   */
  readonly dynamicParameters?: DynamicParameters | undefined
  /** The most resources of one type, named or from a wildcard. Default: 100 000. */
  readonly maxResources?: number | undefined
  /**
   * Whether resources of types that are watched by their schema are rejected if they break a rule of their `.proto` file. A
   * `WatchableType` has an option of its own. Default: true.
   */
  readonly rules?: boolean | undefined
  /** `client_scope` in CSDS. Default: empty. */
  readonly scope?: string | undefined
}

/**
 * Dynamic parameters, as keys and values.
 *
 * @since 0.1.0
 */
export interface DynamicParameters {
  /** With names that are not `xdstp`. Default: none. */
  readonly names?: Readonly<Record<string, string>> | undefined
  /** With `xdstp` names of an authority. Default: none. */
  readonly authorities?: Readonly<Record<string, Readonly<Record<string, string>>>> | undefined
}

/**
 * The delays between attempts to reach a server (A57).
 *
 * @since 0.1.0
 */
export interface BackoffOptions {
  /** The delay after the first failure. Default: 1 second. */
  readonly initial?: Duration.DurationInput | undefined
  /** The factor between two consecutive delays. Default: 1.6. */
  readonly factor?: number | undefined
  /** The longest delay, before jitter. Default: 30 seconds. */
  readonly max?: Duration.DurationInput | undefined
  /** The random part of a delay, in both directions: 0.2 is ±20 %. Default: 0.2. */
  readonly jitter?: number | undefined
  /** The shortest time between the starts of two attempts. Default: 500 milliseconds. */
  readonly floor?: Duration.DurationInput | undefined
}
