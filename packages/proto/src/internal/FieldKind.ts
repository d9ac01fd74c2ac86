/** What the values of a field are in a message object, and where they stand in it: for those who read and write messages at once. */
import type { DescField } from "@bufbuild/protobuf"
import { ScalarType } from "@bufbuild/protobuf"
import { FeatureSet_FieldPresence, isWrapperDesc } from "@bufbuild/protobuf/wkt"
import { WireType } from "@bufbuild/protobuf/wire"
import * as JsonFields from "./JsonFields.js"

/** What a value is: a scalar of this type, or one of the following. */
export type Kind = ScalarType | typeof ofMessage | typeof ofStruct | typeof ofWrapper | typeof ofRare

export const ofMessage = 101
/** A Struct, which is kept as JSON. */
export const ofStruct = 102
/** A message around a scalar, which is kept as the scalar. */
export const ofWrapper = 103
/** Left to protobuf-es. */
export const ofRare = 104

/** Where a value stands. */
export type Shape = typeof one | typeof inOneof | typeof list | typeof map

export const one = 0
export const inOneof = 1
export const list = 2
export const map = 3

export const shapeOf = ({ fieldKind, oneof }: DescField): Shape =>
  oneof !== undefined ? inOneof : fieldKind === "list" ? list : fieldKind === "map" ? map : one

export const kindOf = (field: DescField): Kind => {
  if (field.presence === FeatureSet_FieldPresence.LEGACY_REQUIRED) return ofRare
  if (field.fieldKind === "map" && field.mapKey !== ScalarType.STRING) return ofRare
  if ("delimitedEncoding" in field && field.delimitedEncoding) return ofRare
  if (field.message !== undefined) {
    if (JsonFields.isJson(field)) return ofStruct
    return field.fieldKind === "message" && field.oneof === undefined && isWrapperDesc(field.message)
      ? ofWrapper
      : ofMessage
  }
  // Of a closed enum, values that are not known are unknown fields.
  if (field.enum !== undefined) return field.enum.open ? ScalarType.INT32 : ofRare
  if ("longAsString" in field && field.longAsString) return ofRare
  return usual.has(field.scalar) ? field.scalar : ofRare
}

const usual: ReadonlySet<ScalarType> = new Set([
  ScalarType.STRING,
  ScalarType.BOOL,
  ScalarType.INT32,
  ScalarType.UINT32,
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.FLOAT,
  ScalarType.DOUBLE,
  ScalarType.BYTES
])

export const tagOf = (number: number, wireType: WireType): number => number * 8 + wireType

// Fields of entries of maps, and of a Struct.
export const keyTag = tagOf(1, WireType.LengthDelimited)
export const structFields = tagOf(1, WireType.LengthDelimited)
export const structValue = tagOf(2, WireType.LengthDelimited)
export const listValues = tagOf(1, WireType.LengthDelimited)
export const valueNull = tagOf(1, WireType.Varint)
export const valueNumber = tagOf(2, WireType.Bit64)
export const valueString = tagOf(3, WireType.LengthDelimited)
export const valueBool = tagOf(4, WireType.Varint)
export const valueStruct = tagOf(5, WireType.LengthDelimited)
export const valueList = tagOf(6, WireType.LengthDelimited)
