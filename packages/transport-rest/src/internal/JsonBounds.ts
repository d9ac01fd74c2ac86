/**
 * How much there is in a JSON text, before it is parsed. A text of four megabytes may hold a million empty objects, and to make
 * them takes a second in which nobody else is served; to count them takes milliseconds, some of them in a turn.
 */
import type { Parts } from "@effect-xds/transport/Turns"

/** Bytes that are looked at in one part. */
const atATime = 65_536

const quote = 0x22
const comma = 0x2c
const bracket = 0x5b
const backslash = 0x5c
const brace = 0x7b

/** Whether there are no more values than so many: members, elements, objects and arrays. */
export function* isWithin(bytes: Uint8Array, limit: number): Parts<boolean> {
  if (bytes.length <= limit) return true
  let values = 0
  let quoted = false
  for (let start = 0, at = 0; start < bytes.length; start += atATime) {
    const end = Math.min(bytes.length, start + atATime)
    for (; at < end; at++) {
      const byte = bytes[at]
      if (quoted) {
        if (byte === backslash) at++
        else if (byte === quote) quoted = false
      } else if (byte === quote) quoted = true
      else if ((byte === comma || byte === brace || byte === bracket) && ++values > limit) return false
    }
    yield
  }
  return true
}
