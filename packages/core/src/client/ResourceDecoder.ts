/**
 * Decoder of a resource type: finds names, and turns bytes into values for the application. Own types work like Envoy's.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Data from "effect/Data"
import type * as Either from "effect/Either"
import type { Steps } from "../Steps.js"
import * as ScopeKey from "../resource/ScopeKey.js"
import * as VirtualHostDiscovery from "../resource/VirtualHostDiscovery.js"

/**
 * The decoder of one resource type. Its functions must be pure.
 *
 * @since 0.1.0
 */
export interface ResourceDecoder<out A = unknown> {
  /** `type.googleapis.com/<full name of the message>`. */
  readonly typeUrl: string
  /** Whether a state-of-the-world response is complete, so that an absent resource is deleted (LDS, CDS). */
  readonly isFullState: boolean
  /** The name in an encoded resource that came without a wrapper; `undefined` or empty if there is none. */
  readonly nameOf: (bytes: Uint8Array) => string | undefined
  /** Keys that only one resource may have, from a valid resource and its name. `undefined`: there are none. */
  readonly keysOf?: ((bytes: Uint8Array, name: string) => ReadonlyArray<string>) | undefined
  /** Decodes and validates. The client keeps the bytes: do not change them. Left: why the resource is rejected. */
  readonly decode: (bytes: Uint8Array, name: string) => Either.Either<A, string>
  /** The same in steps, with the same result, for large resources. Absent: they are decoded at once. */
  readonly decodeInSteps?: ((bytes: Uint8Array, name: string) => Steps<Either.Either<A, string>>) | undefined
  /**
   * Whether watchers are told of a resource as updated, with the same value, also when it comes again with equal bytes; not for a
   * heartbeat. For resources whose age matters. Absent: never.
   */
  readonly tellsAgain?: ((value: unknown) => boolean) | undefined
}

/**
 * The options of a decoder.
 *
 * @since 0.1.0
 */
export interface Options<out A = unknown> extends Pick<ResourceDecoder<A>, "typeUrl" | "decode" | "decodeInSteps"> {
  /** Default: from the table of types; false for other types. */
  readonly isFullState?: boolean | undefined
  /** Default: reads the field of the table of types; field 1 of other types. A type without one (LEDS) has names in wrappers only. */
  readonly nameOf?: ResourceDecoder["nameOf"] | undefined
  /** Default: virtual hosts have the domains of their route configuration, scopes their key, other types none. */
  readonly keysOf?: ResourceDecoder["keysOf"]
  /** Default: never. */
  readonly tellsAgain?: ResourceDecoder["tellsAgain"]
}

/**
 * For a type that holds no name: a resource of it is named by the wrapper around it.
 *
 * @since 0.1.0
 */
export const unnamed = (): undefined => undefined

const nameOfType = (typeUrl: string): ResourceDecoder["nameOf"] => {
  const type = ResourceType.byTypeUrl(typeUrl)
  if (type === undefined) return ResourceType.nameOfBytes
  const { nameNumber } = type
  return nameNumber === undefined ? unnamed : (bytes) => ResourceType.nameOfBytes(bytes, undefined, nameNumber)
}

const keysOfType = (typeUrl: string): ResourceDecoder["keysOf"] => {
  if (ResourceType.isOf(typeUrl, ResourceType.VirtualHost)) return VirtualHostDiscovery.domainsOf
  return ResourceType.isOf(typeUrl, ResourceType.ScopedRouteConfiguration) ? ScopeKey.keysOf : undefined
}

/**
 * Makes a decoder. By default, where the name is and `isFullState` come from the table of types.
 *
 * @since 0.1.0
 */
export const make = <A>({
  decode,
  decodeInSteps,
  isFullState,
  keysOf,
  nameOf,
  tellsAgain,
  typeUrl
}: Options<A>): ResourceDecoder<A> => ({
  typeUrl,
  isFullState: isFullState ?? ResourceType.byTypeUrl(typeUrl)?.family === "full-state",
  nameOf: nameOf ?? nameOfType(typeUrl),
  keysOf: keysOf ?? keysOfType(typeUrl),
  decode,
  decodeInSteps,
  tellsAgain
})

/**
 * Error: the type already has another decoder, whose values would be confused with this one's. Make one decoder per type and
 * keep it.
 *
 * @since 0.1.0
 */
export class DecoderConflict extends Data.TaggedError("DecoderConflict")<{
  readonly typeUrl: string
}> {
  override get message(): string {
    return `${this.typeUrl} is watched with another decoder already; make one decoder of the type and keep it`
  }
}
