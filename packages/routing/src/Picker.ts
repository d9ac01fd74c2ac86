/**
 * Pickers: what a load-balancing policy says of calls, as data. A pick is a look-up in it: see `CompiledPicker`.
 *
 * @see https://github.com/grpc/proposal/blob/master/A42-xds-ring-hash-lb-policy.md
 * @since 0.1.0
 */
import type { CallStatus } from "./CallStatus.js"
import * as Status from "./CallStatus.js"
import type * as CompiledPickers from "./CompiledPicker.js"
import type { Address, Endpoint } from "./Endpoint.js"
import type { Call, Matchers } from "./Matcher.js"

/**
 * A picker. `node` is the place of a policy in its tree: see `Tree`.
 *
 * @since 0.1.0
 */
export type Picker =
  /** The call waits for the next picker. */
  | { readonly _tag: "Queue" }
  /** The call waits, and the policy at `node` is told to connect. */
  | { readonly _tag: "Idle"; readonly node: string }
  /** The call fails, unless it waits for ready. */
  | { readonly _tag: "Fail"; readonly status: CallStatus }
  /** The call ends, even if it waits for ready: it would wait for ever. */
  | { readonly _tag: "Drop"; readonly status: CallStatus }
  /** A connection. */
  | { readonly _tag: "Connected"; readonly address: string; readonly endpoint: Endpoint }
  /** Shares: the first with `end > draw × sum`. */
  | { readonly _tag: "Weighted"; readonly targets: ReadonlyArray<Share>; readonly sum: number }
  /** In turn, from one on that is drawn. */
  | { readonly _tag: "RoundRobin"; readonly children: ReadonlyArray<Picker> }
  /** The one of `choices` drawn that has the fewest calls. */
  | { readonly _tag: "LeastRequest"; readonly choices: number; readonly children: ReadonlyArray<Counted> }
  /** By the hash of the call. */
  | { readonly _tag: "Ring"; readonly ring: Ring; readonly children: ReadonlyArray<RingChild> }
  /** By the first route that matches; `undefined`: its child has no picker yet. */
  | {
      readonly _tag: "Routed"
      readonly virtualHost: string
      readonly matchers: Matchers
      readonly children: ReadonlyArray<Picker | undefined>
    }
  /** By the cluster that was chosen for the call. */
  | { readonly _tag: "ByName"; readonly children: ReadonlyMap<string, Picker> }
  /** Drops and a limit of calls in flight, before the child. */
  | {
      readonly _tag: "Limited"
      readonly cluster: string
      readonly drops: ReadonlyArray<Drop>
      /** Names the counter of calls in flight, which a process has once. */
      readonly inFlight: string
      readonly maxRequests: number
      readonly child: Picker
    }
  /**
   * A call of a session goes to the host that it names, if it can; all others to the child. `endpoints`: those that a
   * session may name, by each of their addresses; `hosts`: of those the ones that sessions named lately.
   */
  | {
      readonly _tag: "Session"
      readonly node: string
      readonly endpoints: ReadonlyMap<Address, Endpoint>
      readonly hosts: ReadonlyMap<Address, SessionHost>
      readonly child: Picker
    }
  /** What becomes of the calls of the child is told to the policy at `node`. */
  | { readonly _tag: "Observed"; readonly node: string; readonly child: Picker }

/**
 * A picker and its share.
 *
 * @since 0.1.0
 */
export interface Share {
  /** Sum of the weights up to this one. */
  readonly end: number
  readonly child: Picker
}

/**
 * A picker and the counter of its calls.
 *
 * @since 0.1.0
 */
export interface Counted {
  readonly active: string
  readonly child: Picker
}

/**
 * A category of calls that are dropped.
 *
 * @since 0.1.0
 */
export interface Drop {
  readonly category: string
  /** Numerator of a million. */
  readonly numerator: number
}

/**
 * A ring of hashes, in ascending order, each with the place of an endpoint.
 *
 * @since 0.1.0
 */
export interface Ring {
  readonly hashes: BigUint64Array
  readonly endpoints: Uint32Array
}

/**
 * An endpoint on a ring.
 *
 * @since 0.1.0
 */
export type RingChild =
  | { readonly _tag: "Ready" | "Failed"; readonly child: Picker }
  | { readonly _tag: "Idle"; readonly node: string }
  | { readonly _tag: "Connecting" }

/**
 * An address that a session names. `Idle`: it is not connected, and may be tried; `Failed`: not yet again.
 *
 * @since 0.1.0
 */
export interface SessionHost {
  readonly state: "Idle" | "Connecting" | "Ready" | "Failed"
}

/**
 * A call, as far as pickers see it.
 *
 * @since 0.1.0
 */
export interface PickCall extends Call {
  /** The cluster that its route chose. */
  readonly cluster: string
  /** The hash of its route's policies; `undefined`: it is drawn. */
  readonly hash: bigint | undefined
  /** Addresses that its session names, the first that can be used. Default: none. */
  readonly hosts?: ReadonlyArray<Address> | undefined
}

/**
 * What is counted while calls go on. Its owner is who makes the calls.
 *
 * @since 0.1.0
 */
export interface Counters {
  /** The counter of calls of this name: the same one for all who ask, until it is forgotten. */
  readonly calls: (name: string) => Counter
  /** Pickers that were compiled with these counters. */
  readonly compiled: CompiledPickers.Compiled
}

/**
 * How many calls hold a name.
 *
 * @since 0.1.0
 */
export interface Counter {
  readonly value: number
  /** No call held it, and room was needed: another one has its name now, or will have it. */
  readonly isForgotten: boolean
}

/**
 * The outcome of a pick.
 *
 * @since 0.1.0
 */
export type Pick =
  | {
      readonly _tag: "Complete"
      readonly address: string
      readonly endpoint: Endpoint
      /** Counters that the call holds until its stream ends. */
      readonly holds: ReadonlyArray<string>
      /** The policy that is to be told what becomes of the call; `undefined`: none is. */
      readonly observer: string | undefined
      /** The policy that is to be told that the call of a session went there; `undefined`: its session did not say it. */
      readonly session: string | undefined
    }
  /** The call waits, and the policy at this node is to connect to the address that a session names. */
  | { readonly _tag: "Connect"; readonly node: string; readonly address: Address }
  /** `wake`: the policy at this node is to connect. */
  | { readonly _tag: "Queue"; readonly wake: string | undefined }
  | { readonly _tag: "Fail"; readonly status: CallStatus }
  /** The call ends, even if it waits for ready. */
  | { readonly _tag: "Drop"; readonly status: CallStatus }

/**
 * Calls wait.
 *
 * @since 0.1.0
 */
export const queue: Picker = { _tag: "Queue" }

/**
 * Calls fail with UNAVAILABLE.
 *
 * @since 0.1.0
 */
export const fail = (reason: Status.Reason, message: string): Picker => ({
  _tag: "Fail",
  status: Status.unavailable(reason, message)
})

/**
 * Shares in their order; those without weight are left out.
 *
 * @since 0.1.0
 */
export const weighted = (shares: Iterable<readonly [weight: number, child: Picker]>): Picker => {
  const targets: Array<Share> = []
  let sum = 0
  for (const [weight, child] of shares) {
    if (weight <= 0) continue
    sum += weight
    targets.push({ end: sum, child })
  }
  return { _tag: "Weighted", targets, sum }
}
