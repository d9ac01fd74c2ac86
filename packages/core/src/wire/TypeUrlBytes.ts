/**
 * Encoded type URLs: a response repeats its type URL for each resource.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { utf8 } from "./Wire.js"

const known: ReadonlyMap<string, Uint8Array> = new Map(
  ResourceType.ofAllApis.map(({ typeUrl }) => [typeUrl, utf8(typeUrl)])
)

/**
 * The UTF-8 bytes of a type URL. Do not write into them.
 *
 * @since 0.1.0
 */
export const encodedTypeUrl = (typeUrl: string): Uint8Array => known.get(typeUrl) ?? utf8(typeUrl)
