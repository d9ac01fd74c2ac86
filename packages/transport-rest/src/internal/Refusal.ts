/** A request that gets no response: an HTTP status, and a message that says what is wrong and where. */
import type { WholeAnswer } from "@effect-xds/transport-node/HttpListener"
import type * as Status from "@effect-xds/transport/Status"
import * as Data from "effect/Data"

export class Refusal extends Data.TaggedError("Refusal")<{
  /** The HTTP status code. */
  readonly status: number
  readonly code: Status.Code
  readonly message: string
  readonly headers?: Readonly<Record<string, string>>
}> {}

/** The HTTP status for each gRPC status, as in Google's APIs. */
const httpStatus: Record<Status.Code, number> = {
  OK: 500,
  CANCELLED: 499,
  UNKNOWN: 500,
  INVALID_ARGUMENT: 400,
  DEADLINE_EXCEEDED: 504,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  PERMISSION_DENIED: 403,
  RESOURCE_EXHAUSTED: 429,
  FAILED_PRECONDITION: 400,
  ABORTED: 409,
  OUT_OF_RANGE: 400,
  UNIMPLEMENTED: 501,
  INTERNAL: 500,
  UNAVAILABLE: 503,
  DATA_LOSS: 500,
  UNAUTHENTICATED: 401
}

/** The refusal for a status with which the server ended a stream. */
export const ofStatus = ({ code, message }: Status.Status): Refusal =>
  // OK without a response before it: the client must poll again to know what it holds.
  code === "OK"
    ? new Refusal({ status: 503, code: "UNAVAILABLE", message: "the control plane ended the session; poll again" })
    : new Refusal({ status: httpStatus[code], code, message })

/** A fault in the request. */
export const badRequest = (message: string): Refusal => new Refusal({ status: 400, code: "INVALID_ARGUMENT", message })

/** As JSON: `{"code":"INVALID_ARGUMENT","message":"…"}`. */
export const toAnswer = ({ code, headers, message, status }: Refusal): WholeAnswer => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify({ code, message })
})
