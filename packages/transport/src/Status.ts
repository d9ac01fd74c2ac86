/**
 * How a stream ends: a gRPC status, whatever the transport.
 *
 * @since 0.1.0
 */

/**
 * The gRPC status codes and their numbers.
 *
 * @see https://grpc.github.io/grpc/core/md_doc_statuscodes.html
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

/**
 * A status: its code and words for the person who reads the client's log.
 *
 * @since 0.1.0
 */
export interface Status {
  readonly code: Code
  readonly message: string
}

/**
 * Whether it is a status: for what comes from an application's functions, whatever their types say.
 *
 * @since 0.1.0
 */
export const isStatus = (value: unknown): value is Status =>
  typeof value === "object" &&
  value !== null &&
  "code" in value &&
  typeof value.code === "string" &&
  Object.hasOwn(codes, value.code) &&
  "message" in value &&
  typeof value.message === "string"

/**
 * The end of a stream that went as it should.
 *
 * @since 0.1.0
 */
export const ok: Status = { code: "OK", message: "" }

/**
 * A status.
 *
 * @since 0.1.0
 */
export const make = (code: Code, message: string): Status => ({ code, message })
