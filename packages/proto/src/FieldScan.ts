/**
 * The fields at the top of an encoded message, one by one, without a reader and without their values: where they stand is often all that
 * is asked for, of a hundred thousand messages.
 *
 * ★ It tells of fields that it knows for sure, or that it does not: groups, numbers over 28 bits where they count, and whatever is wrong
 * are for protobuf-es.
 *
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"

// As numbers, which is what stands in the bytes.
const varint: number = WireType.Varint
const bit64: number = WireType.Bit64
const bit32: number = WireType.Bit32
const delimited: number = WireType.LengthDelimited

/** Short texts of ASCII only are made without a decoder. */
const shortText = 256

/**
 * A way through the fields of a message.
 *
 * @since 0.1.0
 */
export class FieldScan {
  readonly #bytes: Uint8Array
  #last: number
  #at: number
  /** Whether all was known so far. When it ends and this is `false`, nothing that it told counts. */
  isSure = true
  /** Of the field that was found: its number and wire type, as they stand in the bytes. */
  tag = 0
  number = 0
  wireType = 0
  /** Where its value begins, and where it ends; without the length before it. */
  begin = 0
  end = 0

  /** @param last where the message ends */
  constructor(bytes: Uint8Array, begin = 0, last = bytes.byteLength) {
    this.#bytes = bytes
    this.#at = begin
    this.#last = last
  }

  /** Goes to the next field; `false`: there is none, or it is not known. */
  next(): boolean {
    if (this.#at >= this.#last) return false
    const tag = this.#small()
    this.tag = tag
    this.number = tag >>> 3
    this.wireType = tag & 7
    if (tag < 8) return this.#giveUp()
    if (this.wireType === delimited) {
      const length = this.#small()
      if (length < 0) return this.#giveUp()
      this.begin = this.#at
      this.#at += length
    } else if (this.wireType === varint) {
      this.begin = this.#at
      if (!this.#skipVarint()) return this.#giveUp()
    } else if (this.wireType === bit64 || this.wireType === bit32) {
      this.begin = this.#at
      this.#at += this.wireType === bit64 ? 8 : 4
    } else {
      return this.#giveUp()
    }
    this.end = this.#at
    return this.#at <= this.#last || this.#giveUp()
  }

  /**
   * Whether all fields of the message that was found pass; no more is asked once one does not. Meanwhile this scan tells of them, and then
   * of the field that was found: a scan for each message in a message would be most of what is allocated.
   */
  every(passes: (field: this) => boolean): boolean {
    const { begin, end, number, tag, wireType } = this
    const last = this.#last
    this.#at = begin
    this.#last = end
    let isEvery = true
    while (isEvery && this.next()) isEvery = passes(this)
    this.#at = end
    this.#last = last
    this.tag = tag
    this.number = number
    this.wireType = wireType
    this.begin = begin
    this.end = end
    return isEvery && this.isSure
  }

  /** The value of a varint; of one of 2^31 or more, or of more than five bytes, nothing is known. */
  get value(): number | undefined {
    const { begin, end } = this
    if (end === begin + 1) return this.#bytes[begin]
    if (end > begin + 5) return this.#unsure()
    let value = 0
    for (let at = end - 1; at >= begin; at--) value = value * 128 + ((this.#bytes[at] ?? 0) & 0x7f)
    return value < 2 ** 31 ? value : this.#unsure()
  }

  /** The text, if it is short and ASCII. `probable`: what it probably is, which is given back then and is not made again. */
  text(probable?: string): string | undefined {
    const { begin, end } = this
    const bytes = this.#bytes
    if (end - begin > shortText) return this.#unsure()
    if (probable !== undefined && isText(bytes, begin, end, probable)) return probable
    for (let at = begin; at < end; at++) if ((bytes[at] ?? 0) > 0x7f) return this.#unsure()
    // eslint-disable-next-line no-restricted-syntax -- they are few
    return String.fromCharCode(...bytes.subarray(begin, end))
  }

  #giveUp(): false {
    this.isSure = false
    return false
  }

  #unsure(): undefined {
    this.isSure = false
    return undefined
  }

  #skipVarint(): boolean {
    // At most ten bytes; the last of ten holds one bit.
    for (let left = 10; left > 0 && this.#at < this.#last; left--) {
      const byte = this.#bytes[this.#at++] ?? 0
      if (byte < 0x80) return left > 1 || byte <= 1
    }
    return false
  }

  /** A number below 2^28; -1: something else. */
  #small(): number {
    let value = 0
    for (let shift = 0; shift < 28 && this.#at < this.#last; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0
      value |= (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return -1
  }
}

/** Whether bytes are this text, and ASCII. */
const isText = (bytes: Uint8Array, begin: number, end: number, text: string): boolean => {
  if (end - begin !== text.length) return false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code > 0x7f || bytes[begin + index] !== code) return false
  }
  return true
}
