/**
 * Fields that the generated types do not have yet, read by their numbers.
 *
 * @since 0.1.0
 */
import type { Message } from "@bufbuild/protobuf"
import { fromBinary } from "@bufbuild/protobuf"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import type { Duration } from "@bufbuild/protobuf/wkt"
import { DurationSchema, EmptySchema } from "@bufbuild/protobuf/wkt"

/**
 * A message of which nothing is known. Throws if the bytes are none.
 *
 * @since 0.1.0
 */
export const message = (bytes: Uint8Array): Message => fromBinary(EmptySchema, bytes)

/** The last of a field, as protobuf has it. */
const last = (self: Message, no: number, wireType: WireType): BinaryReader | undefined => {
  const field = self.$unknown?.findLast((each) => each.no === no && each.wireType === wireType)
  return field === undefined ? undefined : new BinaryReader(field.data)
}

/**
 * A field with a message; `undefined` if it is not there. Throws if it is none.
 *
 * @since 0.1.0
 */
export const messageAt = (self: Message, no: number): Message | undefined => {
  const bytes = last(self, no, WireType.LengthDelimited)?.bytes()
  return bytes === undefined ? undefined : message(bytes)
}

/**
 * A field with a duration; `undefined` if it is not there. Throws if it is none.
 *
 * @since 0.1.0
 */
export const durationAt = (self: Message, no: number): Duration | undefined => {
  const bytes = last(self, no, WireType.LengthDelimited)?.bytes()
  return bytes === undefined ? undefined : fromBinary(DurationSchema, bytes)
}

/**
 * A field with a small number or a truth value; 0 if it is not there.
 *
 * @since 0.1.0
 */
export const numberAt = (self: Message, no: number): number => last(self, no, WireType.Varint)?.uint32() ?? 0
