/**
 * Responses larger than `maxResponseBytes`. A gRPC client ends the stream on a message over its limit, reconnects and
 * requests the same again; so such a response is reported.
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"

/** Type URL → bytes of the last response of the type, if that was too large. */
export type Oversized = ReadonlyMap<string, number>

/** No response was too large. */
export const none: Oversized = new Map()

/** The state after a response that was too large. */
export const withLarge = (self: Oversized, typeUrl: string, bytes: number): Oversized =>
  new Map([...self, [typeUrl, bytes]])

/** The state after a response that was not. */
export const withSmall = (self: Oversized, typeUrl: string): Oversized => {
  if (!self.has(typeUrl)) return self
  const left = new Map(Array.from(self).filter(([other]) => other !== typeUrl))
  return left.size === 0 ? none : left
}

/** The log line for a response that is too large. */
export const format = (typeUrl: string, group: string, bytes: number, maximum: number): string =>
  `${ResourceType.shortNameOf(typeUrl)} of group ${JSON.stringify(group)} takes ${bytes} bytes in one response, more than ` +
  `${maximum}: clients of gRPC that take no more end the stream and ask again. Let clients take larger messages ` +
  `(grpc.max_receive_message_length), or give each group fewer or smaller resources`
