/** The fields of a binary DiscoveryResponse, one by one: parsing all at once would take too long. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"

export interface Field {
  /** Whether it is a resource. */
  readonly isResource: boolean
  /** For a resource its value; for any other field the field with its tag. */
  readonly bytes: Uint8Array
}

const resources = DiscoveryResponseSchema.field.resources.number

/** Throws if the bytes are no fields. */
export const of = function* (bytes: Uint8Array): Generator<Field, void> {
  const reader = new BinaryReader(bytes)
  while (reader.pos < reader.len) {
    const begin = reader.pos
    const [number, type] = reader.tag()
    if (number === resources && type === WireType.LengthDelimited) {
      yield { isResource: true, bytes: reader.bytes() }
    } else {
      reader.skip(type, number)
      yield { isResource: false, bytes: bytes.subarray(begin, reader.pos) }
    }
  }
}
