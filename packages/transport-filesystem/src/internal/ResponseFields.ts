/** The fields of a DiscoveryResponse in binary, one by one: together they are too much to read at once. */
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"

export interface Field {
  /** Whether it is a resource. */
  readonly isResource: boolean
  /** Of a resource its value, of all else the field with its tag. */
  readonly bytes: Uint8Array
}

const resources = DiscoveryResponseSchema.field.resources.number

/** Throws where the bytes are no fields. */
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
