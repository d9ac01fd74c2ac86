/**
 * With what a call ends that is not sent.
 *
 * @see https://github.com/grpc/proposal/blob/master/A54-restrict-control-plane-status-codes.md
 * @since 0.1.0
 */

/**
 * Why, for programs.
 *
 * @since 0.1.0
 */
export type Reason =
  | "NoVirtualHost"
  | "NoRoute"
  | "NoScope"
  | "ActionNotRoute"
  | "UnknownCluster"
  | "Dropped"
  | "CircuitOpen"
  | "NoEndpoint"
  | "Ejected"
  | "ConnectionFailed"
  | "Resource"

/**
 * The end of a call.
 *
 * @since 0.1.0
 */
export interface CallStatus {
  readonly code: "UNAVAILABLE" | "INTERNAL"
  readonly reason: Reason
  /** For people: what was missing, and where. */
  readonly message: string
}

/**
 * UNAVAILABLE.
 *
 * @since 0.1.0
 */
export const unavailable = (reason: Reason, message: string): CallStatus => ({ code: "UNAVAILABLE", reason, message })
