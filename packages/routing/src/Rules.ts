/**
 * Which text decides: gRPC as it is now, or the first draft of routing, A28, to the letter.
 *
 * @since 0.1.0
 */
export type Rules = "current" | "A28"
