/** Searches a text for every piece of known secrets. */
import type { Steps } from "./InSteps.js"
import * as NormalText from "./NormalText.js"

/** A piece of a secret that is at least so long is found, wherever in the secret it stands. */
const window = 8

/** The beginning of a secret that is at least so long is found at the end of a text that was cut. */
const minCut = 4

/** Values shorter than this are found only where they stand alone. */
const minInside = 4

/** Bytes of secrets that a text is searched for; more would take too long. */
export const maxSecretBytes = 131_072

/** Bytes of secrets that are searched for in one step, and how many secrets: some 0.5 ms. */
const bytesAtOnce = 2_048
const secretsAtOnce = 64

/** Other characters between two pieces of secrets that are taken for a part of them. */
const maxGap = window - 1

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const alphabet = encoder.encode("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789+/")
const hexDigits = encoder.encode("0123456789abcdef")

const toHex = (bytes: Uint8Array, out: Uint8Array): number => {
  for (let index = 0; index < bytes.byteLength; index++) {
    const byte = bytes[index] ?? 0
    out[2 * index] = hexDigits[byte >> 4] ?? 0
    out[2 * index + 1] = hexDigits[byte & 15] ?? 0
  }
  return bytes.byteLength * 2
}

/** Base64 in lower case, of the bytes as they stand in a longer sequence after `skip` bytes of a group of three. */
const toBase64 = (bytes: Uint8Array, skip: number, out: Uint8Array): number => {
  const bits = bytes.byteLength * 8
  // From the first digit that is of these bytes alone. Where nothing comes before, that is the first.
  const first = skip === 0 ? 0 : skip === 1 ? 4 : 2
  const count = Math.max(0, Math.floor((bits - first) / 6))
  for (let digit = 0; digit < count; digit++) {
    const bit = first + digit * 6
    const at = bit >> 3
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    out[digit] = alphabet[(pair >> (10 - (bit & 7))) & 63] ?? 0
  }
  return count
}

/** How many bytes of a form one byte of a secret makes at the most: three where it is not UTF-8. */
const maxGrowth = 3

/** The first and last lines of PEM are in every key, and are no secret. */
const armor = /-----(?:BEGIN|END)[^-]*-----/

/** The shortest of them. */
const minArmor = "-----END-----".length

const hyphen = 0x2d

/** The parts of a secret that are one: of PEM those between its lines. */
const partsOf = (secret: Uint8Array): ReadonlyArray<Uint8Array> | undefined => {
  if (secret.byteLength < minArmor || !secret.includes(hyphen)) return undefined
  const text = decoder.decode(secret)
  return armor.test(text) ? text.split(armor).map((part) => encoder.encode(part)) : undefined
}

const longestHex = (bytes: Uint8Array): number => {
  let longest = 0
  let run = 0
  for (const byte of bytes) {
    run = NormalText.hexDigit(byte) < 0 ? 0 : run + 1
    if (run > longest) longest = run
  }
  return longest
}

/** Odd, and not known to those who write texts: none can be made whose windows all have one hash. */
const factor = Math.floor(Math.random() * 0x3fffffff) * 2 + 1
/** Of the hash, with its upper half laid over the lower: the low bits alone hang on the last characters only. */
const hashBits = 16
const hashMask = (1 << hashBits) - 1

/** The normal text, ready to be searched for many secrets. */
class Searched {
  /** 0: stays; 1: a piece of a secret; 2: that, and the window that begins here was found before. */
  readonly marks: Uint8Array
  /** By hash: the position, from 1, of the last window with it; 0: none. */
  private readonly heads = new Uint32Array(1 << hashBits)
  /** A bit for each hash that there is: most windows of secrets need not be looked up in more memory than this. */
  private readonly bits = new Uint8Array(1 << (hashBits - 3))
  /** Of windows with the same hash but another content. */
  private readonly others: Uint32Array
  /** Of windows with the same content. */
  private readonly equals: Uint32Array
  /** `factor` to the power of the window's length less one. */
  private readonly power: number
  /** Where the text ends, also but for quotes, brackets and dots, which follow what was cut. */
  private readonly ends: ReadonlyArray<number>
  /** Whether there may be hexadecimal of a piece of a secret. */
  private readonly hasHex: boolean
  /** Takes one form of a secret after the other. */
  private form = new Uint8Array(256)
  /** There are none, most times. */
  private short: ShortPieces | undefined

  constructor(private readonly bytes: Uint8Array) {
    this.hasHex = longestHex(bytes) >= window
    this.marks = new Uint8Array(bytes.byteLength)
    this.others = new Uint32Array(bytes.byteLength + 1)
    this.equals = new Uint32Array(bytes.byteLength + 1)
    let power = 1
    for (let count = 1; count < window; count++) power = Math.imul(power, factor)
    this.power = power
    for (let at = 0, hash = this.firstHash(bytes); at + window <= bytes.byteLength; at++) {
      this.add(at, hash)
      hash = this.nextHash(hash, bytes, at)
    }
    let end = bytes.byteLength
    while (end > 0 && !isWord(bytes[end - 1] ?? 0)) end--
    this.ends = end === bytes.byteLength ? [end] : [end, bytes.byteLength]
  }

  private firstHash(bytes: Uint8Array): number {
    let hash = 0
    for (let index = 0; index < window; index++) hash = (Math.imul(hash, factor) + (bytes[index] ?? 0)) | 0
    return hash
  }

  /** Of the window after the one at a place. */
  private nextHash(hash: number, bytes: Uint8Array, at: number): number {
    const rest = (hash - Math.imul(bytes[at] ?? 0, this.power)) | 0
    return (Math.imul(rest, factor) + (bytes[at + window] ?? 0)) | 0
  }

  private add(at: number, hash: number): void {
    const slot = (hash ^ (hash >>> hashBits)) & hashMask
    const { bytes, equals, heads, others } = this
    const first = heads[slot] ?? 0
    for (let entry = first; entry !== 0; entry = others[entry] ?? 0) {
      if (!this.isAt(bytes, at, window, entry - 1)) continue
      equals[at + 1] = equals[entry] ?? 0
      equals[entry] = at + 1
      return
    }
    others[at + 1] = first
    heads[slot] = at + 1
    this.bits[slot >> 3] = (this.bits[slot >> 3] ?? 0) | (1 << (slot & 7))
  }

  private isAt(form: Uint8Array, from: number, length: number, at: number): boolean {
    for (let index = 0; index < length; index++) if (form[from + index] !== this.bytes[at + index]) return false
    return true
  }

  private cover(at: number, length: number): void {
    for (let index = at; index < at + length; index++) this.marks[index] ||= 1
  }

  private coverWindow(form: Uint8Array, from: number, slot: number): void {
    const { marks, equals, heads, others } = this
    for (let entry = heads[slot] ?? 0; entry !== 0; entry = others[entry] ?? 0) {
      if (marks[entry - 1] === 2 || !this.isAt(form, from, window, entry - 1)) continue
      for (let each = entry; each !== 0; each = equals[each] ?? 0) this.cover(each - 1, window)
      // Found is found: what is in the text many times need not be gone through again.
      marks[entry - 1] = 2
    }
  }

  /** Covers every piece of a secret that is in the text, in each way in which it may stand there; short ones at the {@link end}. */
  search(secret: Uint8Array): void {
    const room = secret.byteLength * maxGrowth
    if (this.form.byteLength < room) this.form = new Uint8Array(room)
    const { form } = this
    for (const part of partsOf(secret) ?? [secret]) {
      const length = NormalText.foldInto(part, form)
      if (length === undefined) {
        const { bytes } = NormalText.normalize(part)
        this.searchForm(bytes, bytes.byteLength)
      } else this.searchForm(form, length)
    }
    for (let skip = 0; skip < 3; skip++) this.searchForm(form, toBase64(secret, skip, form))
    if (this.hasHex) this.searchForm(form, toHex(secret, form))
  }

  /** Covers the short pieces: all in one go, since there may be thousands of them. */
  end(): void {
    this.short?.places((at, length) => this.cover(at, length))
  }

  private searchForm(form: Uint8Array, length: number): void {
    if (length < minInside) return
    const { bytes } = this
    if (length < window) {
      this.short ??= new ShortPieces(bytes)
      this.short.add(form, length)
    } else {
      const { bits, power } = this
      const last = length - window
      for (let from = 0, hash = this.firstHash(form); ; from++) {
        const slot = (hash ^ (hash >>> hashBits)) & hashMask
        if (((bits[slot >> 3] ?? 0) & (1 << (slot & 7))) !== 0) this.coverWindow(form, from, slot)
        if (from === last) break
        hash = (Math.imul(hash - Math.imul(form[from] ?? 0, power), factor) + (form[from + window] ?? 0)) | 0
      }
    }
    // A quote that was cut ends with the beginning of the secret, or begins with its end.
    for (const end of this.ends) {
      for (let most = Math.min(window, length, end) - 1; most >= minCut; most--) {
        if (!this.isAt(form, 0, most, end - most)) continue
        this.cover(end - most, most)
        break
      }
    }
    for (let most = Math.min(window, length, bytes.byteLength) - 1; most >= minCut; most--) {
      if (!this.isAt(form, length - most, most, 0)) continue
      this.cover(0, most)
      break
    }
  }
}

/** Four bytes as a number. */
const fourAt = (bytes: Uint8Array, at: number): number =>
  (bytes[at] ?? 0) | ((bytes[at + 1] ?? 0) << 8) | ((bytes[at + 2] ?? 0) << 16) | ((bytes[at + 3] ?? 0) << 24)

/** A bit for each hash of four bytes that there is. */
class Fours {
  private readonly bits = new Uint8Array(1 << (hashBits - 3))

  add(four: number): void {
    const slot = Math.imul(four, factor) >>> (32 - hashBits)
    this.bits[slot >> 3] = (this.bits[slot >> 3] ?? 0) | (1 << (slot & 7))
  }

  /** `false`: it is not there. */
  has(four: number): boolean {
    const slot = Math.imul(four, factor) >>> (32 - hashBits)
    return ((this.bits[slot >> 3] ?? 0) & (1 << (slot & 7))) !== 0
  }
}

/**
 * Pieces of four to seven bytes, each the whole of a form of a secret. Its first four bytes and its last four say which it is,
 * so that each place of the text is looked at once, however many there are.
 */
class ShortPieces {
  /** Of the text: most pieces are not there. */
  private readonly there = new Fours()
  /** Of those that may be there: the first four bytes. */
  private readonly wanted = new Fours()
  /** By length less four, then by the first four bytes: the last four. */
  private readonly pieces: ReadonlyArray<Map<number, Set<number>>> = [new Map(), new Map(), new Map(), new Map()]

  constructor(private readonly bytes: Uint8Array) {
    for (let at = 0; at + minInside <= bytes.byteLength; at++) this.there.add(fourAt(bytes, at))
  }

  add(form: Uint8Array, length: number): void {
    const first = fourAt(form, 0)
    const last = fourAt(form, length - minInside)
    if (!this.there.has(first) || !this.there.has(last)) return
    const pieces = this.pieces[length - minInside]
    const known = pieces?.get(first)
    if (known === undefined) pieces?.set(first, new Set([last]))
    else known.add(last)
    this.wanted.add(first)
  }

  places(found: (at: number, length: number) => void): void {
    const { bytes, pieces, wanted } = this
    for (let at = 0; at + minInside <= bytes.byteLength; at++) {
      const first = fourAt(bytes, at)
      if (!wanted.has(first)) continue
      for (let more = 0; more < pieces.length && at + minInside + more <= bytes.byteLength; more++) {
        if (pieces[more]?.get(first)?.has(fourAt(bytes, at + more)) === true) found(at, minInside + more)
      }
    }
  }
}

const isWord = (byte: number): boolean =>
  byte === 0x2b || byte === 0x2f || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a)

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The text with every piece of a secret replaced. */
const replaceMarked = (
  source: Uint8Array,
  { bytes, ends, starts }: NormalText.Normal,
  marks: Uint8Array,
  mark: string
): string => {
  let out = ""
  let copied = 0
  for (let at = 0; at < bytes.byteLength;) {
    if (marks[at] === 0) {
      at++
      continue
    }
    let last = at
    for (let next = at + 1; next < bytes.byteLength && next - last <= maxGap + 1; next++) {
      if (marks[next] !== 0) last = next
    }
    let start = starts[at] ?? 0
    while (isContinuation(source[start])) start--
    let end = ends[last] ?? 0
    while (isContinuation(source[end])) end++
    out += decoder.decode(source.subarray(copied, start)) + mark
    copied = end
    at = last + 1
  }
  return copied === 0 ? decoder.decode(source) : out + decoder.decode(source.subarray(copied))
}

const isLetterOrDigit = /[\p{L}\p{N}]/u

/** Very short secrets, where they stand alone: in one go, since there may be thousands of them. */
const replaceAlone = (text: string, secrets: ReadonlySet<string>, mark: string): string => {
  const lengths = Array.from(new Set(Array.from(secrets, ({ length }) => length))).sort((one, other) => other - one)
  const firsts = new Set(Array.from(secrets, (secret) => secret.charCodeAt(0)))
  let out = ""
  let copied = 0
  for (let at = 0; at < text.length;) {
    // What was before it may have been one, too.
    const isBegin = firsts.has(text.charCodeAt(at)) && (at === copied || !isLetterOrDigit.test(text.slice(at - 1, at)))
    const length = isBegin
      ? lengths.find((each) => secrets.has(text.slice(at, at + each)) && !isLetterOrDigit.test(text[at + each] ?? ""))
      : undefined
    if (length === undefined) {
      at++
      continue
    }
    out += text.slice(copied, at) + mark
    at += length
    copied = at
  }
  return out + text.slice(copied)
}

/** The text with a mark for each piece of a secret; `undefined`: there are more secrets than can be looked for. */
export const without = function* (
  text: string,
  secrets: Iterable<Uint8Array>,
  mark: string
): Steps<string | undefined> {
  let source: Uint8Array | undefined
  let normal: NormalText.Normal | undefined
  let searched: Searched | undefined
  const alone = new Set<string>()
  let size = 0
  let [bytes, count] = [0, 0]
  for (const secret of secrets) {
    if (secret.byteLength === 0) continue
    size += secret.byteLength
    if (size > maxSecretBytes) return undefined
    source ??= encoder.encode(text)
    normal ??= NormalText.normalize(source)
    searched ??= new Searched(normal.bytes)
    searched.search(secret)
    if (secret.byteLength < minInside) alone.add(decoder.decode(secret))
    bytes += secret.byteLength
    if (++count < secretsAtOnce && bytes < bytesAtOnce) continue
    bytes = count = 0
    yield
  }
  searched?.end()
  let result = text
  if (source !== undefined && normal !== undefined && searched?.marks.some((mark) => mark !== 0) === true) {
    result = replaceMarked(source, normal, searched.marks, mark)
  }
  return alone.size === 0 ? result : replaceAlone(result, alone, mark)
}
