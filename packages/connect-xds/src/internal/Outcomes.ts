/** What became of an attempt, as outlier detection of Envoy counts it. */
import type { ConnectError } from "@connectrpc/connect"
import { Code } from "@connectrpc/connect"
import type { Outcome } from "@effect-xds/discovery/Outlier"
import type { Attempt } from "./Attempt.js"
import type { Call } from "./Call.js"

/** ★ Envoy counts a status of gRPC as the one of HTTP that it stands for. */
const statuses: Readonly<Record<Code, number>> = {
  [Code.Canceled]: 499,
  [Code.Unknown]: 500,
  [Code.InvalidArgument]: 400,
  [Code.DeadlineExceeded]: 504,
  [Code.NotFound]: 404,
  [Code.AlreadyExists]: 409,
  [Code.PermissionDenied]: 403,
  [Code.ResourceExhausted]: 429,
  [Code.FailedPrecondition]: 400,
  [Code.Aborted]: 409,
  [Code.OutOfRange]: 400,
  [Code.Unimplemented]: 501,
  [Code.Internal]: 500,
  [Code.Unavailable]: 503,
  [Code.DataLoss]: 500,
  [Code.Unauthenticated]: 401
}

export const answered: Outcome = { _tag: "Response", status: 200 }

/** Of a stream that is over. */
export const ofStream = (attempt: Attempt, { ended }: Call): Outcome => {
  if (ended?.code === Code.DeadlineExceeded) return { _tag: "Timeout" }
  if (attempt.isLost) return { _tag: "ConnectFailure" }
  const code = Number(attempt.grpcStatus)
  if (code === 0) return answered
  return { _tag: "Response", status: new Map(Object.entries(statuses)).get(attempt.grpcStatus) ?? 500 }
}

/** Of a failed attempt; `undefined`: it says nothing of the server, as the caller gave it up, or it was not sent. */
export const ofError = (error: ConnectError, call: Call, attempt: Attempt): Outcome | undefined => {
  if (attempt.isUnsent) return undefined
  if (call.ended !== undefined) return call.ended.code === Code.DeadlineExceeded ? { _tag: "Timeout" } : undefined
  if (call.isGivenUp) return undefined
  return attempt.isLost ? { _tag: "ConnectFailure" } : { _tag: "Response", status: statuses[error.code] }
}
