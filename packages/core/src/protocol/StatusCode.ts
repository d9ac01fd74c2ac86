/**
 * gRPC status codes, as used in a NACK, in a resource error (TP3) and at the end of a stream.
 *
 * @see https://grpc.github.io/grpc/core/md_doc_statuscodes.html
 * @since 0.1.0
 */

/**
 * The codes by name.
 *
 * @since 0.1.0
 */
export const codes = {
  OK: 0,
  CANCELLED: 1,
  UNKNOWN: 2,
  INVALID_ARGUMENT: 3,
  DEADLINE_EXCEEDED: 4,
  NOT_FOUND: 5,
  ALREADY_EXISTS: 6,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  ABORTED: 10,
  OUT_OF_RANGE: 11,
  UNIMPLEMENTED: 12,
  INTERNAL: 13,
  UNAVAILABLE: 14,
  DATA_LOSS: 15,
  UNAUTHENTICATED: 16
} as const

/**
 * The name of a status code.
 *
 * @since 0.1.0
 */
export type Code = keyof typeof codes
