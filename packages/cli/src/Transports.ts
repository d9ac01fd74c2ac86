/**
 * Several transports as one, so that one server knows all of its clients.
 *
 * @since 0.1.0
 */
import type { ServerTransport } from "@effect-xds/transport"
import * as Effect from "effect/Effect"

/**
 * A transport with the address it serves on, once it does.
 *
 * @since 0.1.0
 */
export interface Named {
  readonly transport: ServerTransport.Service
  readonly onServing: (address: string) => void
}

/**
 * Serves on all of them. If one cannot, none does.
 *
 * @since 0.1.0
 */
export const merge = (transports: ReadonlyArray<Named>): ServerTransport.Service => ({
  serve: (accept) =>
    Effect.forEach(transports, ({ onServing, transport }) =>
      Effect.tap(transport.serve(accept), (address) => Effect.sync(() => onServing(address)))
    ).pipe(Effect.map((addresses) => addresses.join(" and ")))
})
