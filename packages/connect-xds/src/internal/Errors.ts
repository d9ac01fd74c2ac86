/** What an error of an attempt is to the caller. */
import { Code, ConnectError } from "@connectrpc/connect"
import type { Attempt } from "./Attempt.js"
import type { Call } from "./Call.js"
import * as ConnectErrors from "./ConnectErrors.js"

/** ★ A lost connection is UNAVAILABLE, whatever the codec makes of it. */
export const of = (cause: unknown, call: Call, attempt: Attempt): ConnectError => {
  const error = ConnectErrors.of(cause)
  if (!attempt.isLost || call.isGivenUp) return error
  const { address, why } = attempt.connection
  return new ConnectError(
    `the connection to ${address} was lost: ${why}`,
    Code.Unavailable,
    undefined,
    undefined,
    error
  )
}
