/** Texts without their escapes, so that a secret is found however it is written. */
const encoder = new TextEncoder()

/** A text without escapes and space, in lower case, and which bytes of the text each byte stands for. */
export interface Normal {
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

const backslash = 0x5c
const percent = 0x25

export const hexDigit = (byte: number | undefined): number => {
  if (byte === undefined) return -1
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1
}

/** Bytes, each with its place in the text that they were made of. */
class Placed {
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
  length = 0

  constructor(capacity: number) {
    this.bytes = new Uint8Array(capacity)
    this.starts = new Uint32Array(capacity)
    this.ends = new Uint32Array(capacity)
  }

  push(byte: number, start: number, end: number): void {
    this.bytes[this.length] = byte
    this.starts[this.length] = start
    this.ends[this.length] = end
    this.length++
  }

  finish(): Normal {
    return { bytes: this.bytes.subarray(0, this.length), starts: this.starts, ends: this.ends }
  }
}

/** The number that hexadecimal digits make, and how many there are. */
const hexAt = (source: Uint8Array, from: number, most: number): readonly [value: number, digits: number] => {
  let value = 0
  let digits = 0
  for (; digits < most; digits++) {
    const digit = hexDigit(source[from + digits])
    if (digit < 0) break
    value = value * 16 + digit
  }
  return [value, digits]
}

/** Without the escapes of URLs: `%2F`, and `%252F` too. */
const withoutPercent = (source: Uint8Array): Normal => {
  const placed = new Placed(source.byteLength)
  for (let at = 0; at < source.byteLength;) {
    const start = at
    const byte = source[at++] ?? 0
    let next = at
    while (byte === percent && source[next] === 0x32 && source[next + 1] === 0x35) next += 2
    const [value, digits] = byte === percent ? hexAt(source, next, 2) : [0, 0]
    if (digits === 2) at = next + 2
    else if (next > at) at = next
    placed.push(digits === 2 ? value : byte, start, at)
  }
  return placed.finish()
}

/** Space and control characters come and go where texts are folded and escaped, and base64 has two alphabets. */
const fold = (byte: number): number | undefined => {
  if (byte <= 0x20 || byte === 0x7f) return undefined
  if (byte >= 0x41 && byte <= 0x5a) return byte + 0x20
  return byte === 0x2d ? 0x2b : byte === 0x5f ? 0x2f : byte
}

/** A text without escapes made normal, into what is at least as long: how long it is then; `undefined`: it may have escapes. */
export const foldInto = (text: Uint8Array, out: Uint8Array): number | undefined => {
  let length = 0
  for (let at = 0; at < text.byteLength; at++) {
    const byte = text[at] ?? 0
    if (byte === backslash || byte === percent) return undefined
    const folded = fold(byte)
    if (folded !== undefined) out[length++] = folded
  }
  return length
}

/**
 * Undoes the escapes of URLs, C, the text format and JSON, however often they were made one over the other: a run of
 * backslashes counts as one. Secrets are made normal in the same way, so what is lost by that is lost on both sides.
 */
export const normalize = (text: Uint8Array): Normal => {
  const plain = text.includes(percent) ? withoutPercent(text) : undefined
  const source = plain?.bytes ?? text
  // An escape is never shorter than what it stands for.
  const placed = new Placed(source.byteLength)
  const emit = (byte: number, start: number, end: number): void => {
    const folded = fold(byte)
    if (folded === undefined) return
    placed.push(folded, plain?.starts[start] ?? start, plain === undefined ? end : (plain.ends[end - 1] ?? end))
  }
  let at = 0
  while (at < source.byteLength) {
    const start = at
    const byte = source[at++] ?? 0
    if (byte !== backslash) {
      emit(byte, start, at)
      continue
    }
    while (source[at] === backslash) at++
    const escape = source[at]
    if (escape === undefined) break
    if ("abfnrtv".includes(String.fromCharCode(escape))) {
      at++
    } else if (escape >= 0x30 && escape <= 0x37) {
      let value = 0
      for (let digits = 0; digits < 3; digits++) {
        const digit = source[at] ?? 0
        if (digit < 0x30 || digit > 0x37) break
        value = value * 8 + digit - 0x30
        at++
      }
      emit(value & 0xff, start, at)
    } else if (escape === 0x78) {
      const [value, digits] = hexAt(source, at + 1, 2)
      at += 1 + digits
      if (digits > 0) emit(value, start, at)
    } else if (escape === 0x75) {
      const [unit, digits] = hexAt(source, at + 1, 4)
      at += 1 + digits
      if (digits < 4) continue
      let value = unit
      if (value >= 0xd800 && value < 0xdc00 && source[at] === backslash) {
        let next = at
        while (source[next] === backslash) next++
        const [low, lowDigits] = hexAt(source, next + 1, 4)
        if (source[next] === 0x75 && lowDigits === 4 && low >= 0xdc00 && low < 0xe000) {
          value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00)
          at = next + 5
        }
      }
      for (const each of encoder.encode(String.fromCodePoint(value))) emit(each, start, at)
    }
    // Else it is the character after the backslash, which comes next.
  }
  return placed.finish()
}
