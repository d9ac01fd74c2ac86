/** Errors of Connect, of whatever was thrown. */
import { Code, ConnectError } from "@connectrpc/connect"
import * as Reason from "@effect-xds/proto/Reason"

/**
 * ★ Callers may abort with anything, and what they send may fail with anything: where no text can be made of it,
 * `ConnectError.from` throws, in a listener or a promise that nobody has, which ends the process.
 */
export const of = (cause: unknown, code: Code = Code.Unknown): ConnectError => {
  try {
    return ConnectError.from(cause, code)
  } catch {
    return new ConnectError(Reason.of(cause), code, undefined, undefined, cause)
  }
}
