/**
 * Whether calls can be sent: the states of channels, policies and connections.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/connectivity-semantics-and-api.md
 * @since 0.1.0
 */

/**
 * A state of connectivity.
 *
 * @since 0.1.0
 */
export type Connectivity = "IDLE" | "CONNECTING" | "READY" | "TRANSIENT_FAILURE"

const order: ReadonlyArray<Connectivity> = ["READY", "CONNECTING", "IDLE", "TRANSIENT_FAILURE"]

/**
 * The state of a whole: READY if any part is, else CONNECTING, IDLE, TRANSIENT_FAILURE; that too if there are no parts.
 *
 * @since 0.1.0
 */
export const aggregate = (states: Iterable<Connectivity>): Connectivity => {
  let best = order.length - 1
  for (const state of states) best = Math.min(best, order.indexOf(state))
  return order[best] ?? "TRANSIENT_FAILURE"
}

/**
 * The state that counts after a new one: ★ sticky: a part that failed has failed until it is READY.
 *
 * @since 0.1.0
 */
export const sticky = (counted: Connectivity, next: Connectivity): Connectivity =>
  counted === "TRANSIENT_FAILURE" && next !== "READY" ? counted : next
