/**
 * The status with which a stream ends: gRPC's, for every transport.
 *
 * @since 0.1.0
 */

import * as StatusCode from "@effect-xds/core/protocol/StatusCode"

/**
 * The gRPC status codes and their numbers: {@link StatusCode.codes} of core.
 *
 * @since 0.1.0
 */
export const codes = StatusCode.codes

/**
 * The name of a status code.
 *
 * @since 0.1.0
 */
export type Code = StatusCode.Code

/**
 * A status: its code, and a message for the client's log.
 *
 * @since 0.1.0
 */
export interface Status {
  readonly code: Code
  readonly message: string
}

/**
 * Whether a value is a status. It checks values from an application's functions at run time, whatever their types say.
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
 * The status of an orderly end.
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
