/**
 * Encoded requests that nobody should send. For tests of servers.
 *
 * @since 0.1.0
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import type { Scale } from "./BadResource.js"

/**
 * An encoded request for all clusters.
 *
 * @since 0.1.0
 */
export interface BadRequest {
  /** What is the matter with it. */
  readonly what: string
  readonly bytes: Uint8Array
  /** Whether it is unusual and all the same valid: it is answered. */
  readonly isValid: boolean
}

const utf8 = new TextEncoder()

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => Uint8Array.from(Buffer.concat(parts))

/** A field with a length. */
const field = (number: number, ...content: ReadonlyArray<Uint8Array>): Uint8Array =>
  new BinaryWriter().tag(number, WireType.LengthDelimited).bytes(concat(content)).finish()

const text = (number: number, value: string): Uint8Array => field(number, utf8.encode(value))

const group = (levels: number, isClosed: boolean): Uint8Array => {
  const writer = new BinaryWriter()
  for (let level = 0; level < levels; level++) writer.tag(999, WireType.StartGroup)
  for (let level = 0; isClosed && level < levels; level++) writer.tag(999, WireType.EndGroup)
  return writer.finish()
}

/** A Struct with one member in a Struct with one member, and so on. */
const struct = (levels: number): Uint8Array => {
  // From the inside: each level is copied, so there may not be very many.
  let inner: Uint8Array = new Uint8Array()
  for (let level = 0; level < levels; level++) inner = field(1, text(1, "a"), field(2, field(5, inner)))
  return inner
}

/** Numbers of the fields of `DiscoveryRequest` and of `DeltaDiscoveryRequest`. */
const numbers = {
  StateOfTheWorld: { node: 2, typeUrl: 4, names: 3, error: 6 },
  Incremental: { node: 1, typeUrl: 2, names: 3, error: 7 }
} as const

/**
 * Requests, each with one thing that is the matter with it.
 *
 * @param node of the client, for a server that chooses by it
 * @param typeUrl of what is asked for
 * @since 0.1.0
 */
export const all = (
  protocol: keyof typeof numbers,
  { cluster, id }: { readonly id: string; readonly cluster: string },
  typeUrl: string,
  { levels = 100_000, size = 65_536 }: Scale = {}
): ReadonlyArray<BadRequest> => {
  const of = numbers[protocol]
  const sample = (what: string, isValid: boolean, rest: Uint8Array, ...inNode: ReadonlyArray<Uint8Array>) => {
    const node = field(of.node, text(1, id), text(2, cluster), ...inNode)
    return { what, isValid, bytes: concat([node, text(of.typeUrl, typeUrl), rest]) }
  }
  const raw = (...values: ReadonlyArray<number>): Uint8Array => Uint8Array.from(values)
  const none = raw()
  const unknown = new BinaryWriter().tag(998, WireType.Varint).uint32(7).finish()
  const any = (levels: number): Uint8Array => {
    let inner = text(1, "a.com/not.Known")
    for (let level = 0; level < levels; level++) {
      inner = concat([text(1, "type.googleapis.com/google.protobuf.Any"), field(2, inner)])
    }
    return inner
  }
  return [
    sample("unknown fields", true, concat([unknown, text(997, "new")])),
    sample("an unknown group", true, group(1, true)),
    sample("unknown groups in groups", true, group(levels, true)),
    sample("a large unknown field", true, text(998, "n".repeat(size))),
    sample("unknown fields of the node", true, none, unknown),
    sample("an error with an Any of a type that is not known", true, field(of.error, field(3, any(0)))),
    sample("an error with an Any in an Any", true, field(of.error, field(3, any(50)))),
    sample("an error code that is not known", true, field(of.error, raw(0x08, 0xe7, 0x07))),
    sample("metadata with __proto__ as a key", true, none, field(3, field(1, text(1, "__proto__"), field(2)))),
    sample("a number without an end", false, raw(0xc0, 0x3e, 0xff)),
    sample("a length behind the end", false, raw(of.names * 8 + 2, 0x7f)),
    sample("a length of 10 GB", false, raw(of.names * 8 + 2, 0x80, 0x80, 0x80, 0x80, 0x28)),
    sample("a length behind the end, in the node", false, none, raw(0x1a, 0x7f)),
    sample("field 0", false, raw(0x00, 0x01)),
    sample("wire type 6", false, raw(0x36, 0x01)),
    sample("the end of a group that did not begin", false, group(1, true).slice(2)),
    sample("groups in groups without an end", false, group(levels, false)),
    sample("a name that is not UTF-8", false, field(of.names, raw(0x63, 0xff))),
    sample("a node id that is not UTF-8", false, none, field(1, raw(0xed, 0xa0, 0x80))),
    sample("a Struct in a Struct", false, none, field(3, struct(Math.min(levels, 1_000))))
  ]
}
