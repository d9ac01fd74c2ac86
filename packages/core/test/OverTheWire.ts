import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as Request from "@effect-xds/core/wire/Request"
import * as Either from "effect/Either"

/** A request as a server gets it: from its bytes, which are read only as far as needed. */
export const overTheWire = (request: Request.Request): Request.Request =>
  Either.getOrThrow(Request.decode(request._tag, ClientRequest.encode(request)))
