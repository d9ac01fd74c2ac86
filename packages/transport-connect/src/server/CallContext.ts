/** The call of a Connect handler, kept in its context. */
import type { ContextValues } from "@connectrpc/connect"
import { createContextKey } from "@connectrpc/connect"
import { Status } from "@effect-xds/transport"
import type { Call } from "./ConnectStream.js"
import { toError } from "./ConnectStream.js"

export const callKey = createContextKey<Call | undefined>(undefined)

/** Every request has one. */
export const callOf = (values: ContextValues): Call => {
  const call = values.get(callKey)
  if (call === undefined) throw toError(Status.make("INTERNAL", "internal error"))
  return call
}
