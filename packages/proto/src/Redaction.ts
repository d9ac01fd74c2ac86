/**
 * Keeps secrets out of texts that others wrote: what a peer says, what an error quotes.
 *
 * Envoy quotes the resource that it rejects, in the protobuf text format, as JSON or as it is, and cuts long quotes; so do
 * parsers. So a text is searched for every piece of a known secret, however it is escaped or encoded, and for what looks
 * like one: private keys in PEM, and the values of fields and headers that hold secrets by their names.
 *
 * @since 0.1.0
 */

/**
 * What stands for a secret.
 *
 * @since 0.1.0
 */
export const redacted = "[redacted]"

/** Characters of a text that are kept: what is longer nobody reads, and each costs. */
const maxLength = 16_384

/** A piece of a secret that is at least so long is found, wherever in the secret it stands. */
const window = 8

/** The beginning of a secret that is at least so long is found at the end of a text that was cut. */
const minCut = 4

/** Values shorter than this are found only where they stand alone. */
const minInside = 4

/** Bytes of secrets that a text is searched for; more would take too long. */
const maxSecretBytes = 131_072

/** Uncovered characters between two pieces of secrets that are taken for a part of them. */
const maxGap = window - 1

const encoder = new TextEncoder()
const decoder = new TextDecoder()

// ---------------------------------------------------------------------------------------------------------------------
// What looks like a secret

/** From the first line of a PEM private key to its last; to the end if that is missing. */
const pem = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY-----|$)/g

/** Names of fields and headers whose values are secrets, or may well be. */
const names = [
  "inline_?(?:string|bytes)",
  "private_?key",
  "pass(?:word|phrase)",
  "pkcs12",
  "secret(?:_?access_?key|_?data)?",
  "client_?secret",
  "session_?token",
  "access_?token",
  "google_?refresh_?token",
  "backend_?token",
  "json_?key",
  "(?:proxy-)?authorization",
  "(?:set-)?cookie",
  "x-api-key"
].join("|")

/** `password: "…"`, `"inlineString":"…"`, `\"inline_bytes\": \"…\"`; without its end if the text was cut. */
const quoted = new RegExp(
  `\\b(${names})(\\\\*["'])?(\\s*[:=]\\s*)(\\\\*)(["'])(?:(?!\\4\\5)(?:\\\\[\\s\\S]|[\\s\\S]))*?(?:\\4\\5|$)`,
  "gi"
)

/** The same without quotes, as in YAML; only where the name cannot be a word of a sentence. */
const bare =
  /\b(inline_?(?:string|bytes)|(?:proxy-)?authorization|(?:set-)?cookie|x-api-key)(\s*[:=]\s*)(?![\s"'\\[])[^\n"']+/gi

const credentials = /\b(Bearer|Basic)(\s+)[\w.~+/=-]{8,}/gi

/**
 * Takes out what looks like a secret: private keys in PEM, values of fields and headers that are named like secrets,
 * credentials of HTTP. For texts of which nothing more is known. Of long texts the end is left out.
 *
 * @since 0.1.0
 */
export const text = (text: string): string => patterns(cut(text))

const cut = (text: string): string =>
  text.length <= maxLength
    ? text
    : `${text.slice(0, maxLength)}… (${text.length - maxLength} more characters are left out)`

/** Nothing of the below is in a text without this, and most texts are without. */
const suspicious = /[:=]|-----BEGIN|\b(?:bearer|basic)\s/i

const patterns = (text: string): string => (suspicious.test(text) ? withoutPatterns(text) : text)

const withoutPatterns = (text: string): string =>
  text
    .replace(pem, redacted)
    .replace(quoted, (_, name: string, end: string | undefined, between: string, escape: string, quote: string) => {
      const mark = `${escape}${quote}`
      return `${name}${end ?? ""}${between}${mark}${redacted}${mark}`
    })
    .replace(bare, (_, name: string, between: string) => `${name}${between}${redacted}`)
    .replace(credentials, (_, scheme: string, between: string) => `${scheme}${between}${redacted}`)

// ---------------------------------------------------------------------------------------------------------------------
// Known secrets

/** A text without escapes and space, in lower case, and which bytes of the text each byte stands for. */
interface Normal {
  readonly bytes: Uint8Array
  readonly starts: Uint32Array
  readonly ends: Uint32Array
}

const backslash = 0x5c
const percent = 0x25

const hexDigit = (byte: number | undefined): number => {
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

/**
 * Undoes the escapes of URLs, C, the text format and JSON, however often they were made one over the other: a run of
 * backslashes counts as one. Secrets are made normal in the same way, so what is lost by that is lost on both sides.
 */
const normalize = (text: Uint8Array): Normal => {
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

const alphabet = encoder.encode("abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789+/")
const hexDigits = encoder.encode("0123456789abcdef")

const toHex = (bytes: Uint8Array): Uint8Array => {
  const out = new Uint8Array(bytes.byteLength * 2)
  for (let index = 0; index < bytes.byteLength; index++) {
    const byte = bytes[index] ?? 0
    out[2 * index] = hexDigits[byte >> 4] ?? 0
    out[2 * index + 1] = hexDigits[byte & 15] ?? 0
  }
  return out
}

/** Base64 in lower case, of the bytes as they stand in a longer sequence after `skip` bytes of a group of three. */
const toBase64 = (bytes: Uint8Array, skip: number): Uint8Array => {
  const bits = bytes.byteLength * 8
  // From the first digit that is of these bytes alone. Where nothing comes before, that is the first.
  const first = skip === 0 ? 0 : skip === 1 ? 4 : 2
  const count = Math.max(0, Math.floor((bits - first) / 6))
  const out = new Uint8Array(count)
  for (let digit = 0; digit < count; digit++) {
    const bit = first + digit * 6
    const at = bit >> 3
    const pair = ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)
    out[digit] = alphabet[(pair >> (10 - (bit & 7))) & 63] ?? 0
  }
  return out
}

/** The first and last lines of PEM are in every key, and are no secret. */
const armor = /-----(?:BEGIN|END)[^-]*-----/

/** The ways in which a secret may stand in a normal text. */
function* formsOf(secret: Uint8Array, hasHex: boolean): Generator<Uint8Array> {
  const text = decoder.decode(secret)
  if (armor.test(text)) for (const part of text.split(armor)) yield normalize(encoder.encode(part)).bytes
  else yield normalize(secret).bytes
  yield toBase64(secret, 0)
  yield toBase64(secret, 1)
  yield toBase64(secret, 2)
  if (hasHex) yield toHex(secret)
}

const longestHex = (bytes: Uint8Array): number => {
  let longest = 0
  let run = 0
  for (const byte of bytes) {
    run = hexDigit(byte) < 0 ? 0 : run + 1
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
  readonly covered: Uint8Array
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
  /** Where the text ends but for quotes, brackets and dots, which follow what was cut. */
  private readonly trimmed: number

  /** Whether there may be hexadecimal of a piece of a secret. */
  readonly hasHex: boolean

  constructor(private readonly bytes: Uint8Array) {
    this.hasHex = longestHex(bytes) >= window
    this.covered = new Uint8Array(bytes.byteLength)
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
    this.trimmed = end
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
    for (let index = at; index < at + length; index++) this.covered[index] ||= 1
  }

  private coverWindow(form: Uint8Array, from: number, slot: number): void {
    const { covered, equals, heads, others } = this
    for (let entry = heads[slot] ?? 0; entry !== 0; entry = others[entry] ?? 0) {
      if (covered[entry - 1] === 2 || !this.isAt(form, from, window, entry - 1)) continue
      for (let each = entry; each !== 0; each = equals[each] ?? 0) this.cover(each - 1, window)
      // Found is found: what is in the text many times need not be gone through again.
      covered[entry - 1] = 2
    }
  }

  /** Covers every piece of a secret that is in the text. */
  search(form: Uint8Array): void {
    const { bytes } = this
    if (form.byteLength < window) {
      if (form.byteLength < minInside) return
      for (let at = 0; at + form.byteLength <= bytes.byteLength; at++) {
        if (this.isAt(form, 0, form.byteLength, at)) this.cover(at, form.byteLength)
      }
    } else {
      const { bits, power } = this
      const last = form.byteLength - window
      for (let from = 0, hash = this.firstHash(form); ; from++) {
        const slot = (hash ^ (hash >>> hashBits)) & hashMask
        if (((bits[slot >> 3] ?? 0) & (1 << (slot & 7))) !== 0) this.coverWindow(form, from, slot)
        if (from === last) break
        hash = (Math.imul(hash - Math.imul(form[from] ?? 0, power), factor) + (form[from + window] ?? 0)) | 0
      }
    }
    // A quote that was cut ends with the beginning of the secret, or begins with its end.
    for (const end of this.trimmed === bytes.byteLength ? [this.trimmed] : [this.trimmed, bytes.byteLength]) {
      for (let length = Math.min(window, form.byteLength, end) - 1; length >= minCut; length--) {
        if (!this.isAt(form, 0, length, end - length)) continue
        this.cover(end - length, length)
        break
      }
    }
    for (let length = Math.min(window, form.byteLength, bytes.byteLength) - 1; length >= minCut; length--) {
      if (!this.isAt(form, form.byteLength - length, length, 0)) continue
      this.cover(0, length)
      break
    }
  }
}

const isWord = (byte: number): boolean =>
  byte === 0x2b || byte === 0x2f || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x61 && byte <= 0x7a)

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** The text with every covered piece replaced. */
const replaceCovered = (source: Uint8Array, { bytes, ends, starts }: Normal, covered: Uint8Array): string => {
  let out = ""
  let copied = 0
  for (let at = 0; at < bytes.byteLength;) {
    if (covered[at] === 0) {
      at++
      continue
    }
    let last = at
    for (let next = at + 1; next < bytes.byteLength && next - last <= maxGap + 1; next++) {
      if (covered[next] !== 0) last = next
    }
    let start = starts[at] ?? 0
    while (isContinuation(source[start])) start--
    let end = ends[last] ?? 0
    while (isContinuation(source[end])) end++
    out += decoder.decode(source.subarray(copied, start)) + redacted
    copied = end
    at = last + 1
  }
  return copied === 0 ? decoder.decode(source) : out + decoder.decode(source.subarray(copied))
}

const isLetterOrDigit = /[\p{L}\p{N}]/u

/** Very short secrets, where they stand alone. */
const replaceAlone = (text: string, secret: string): string => {
  let out = ""
  let copied = 0
  for (let at = text.indexOf(secret); at >= 0; at = text.indexOf(secret, at + secret.length)) {
    const end = at + secret.length
    if (isLetterOrDigit.test(text[at - 1] ?? "") || isLetterOrDigit.test(text[end] ?? "")) continue
    out += text.slice(copied, at) + redacted
    copied = end
  }
  return out + text.slice(copied)
}

/** Words without digits, and small numbers. */
const harmless = /^[^\p{L}\p{N}]*(?:\p{L}[\p{L}_.:/-]*|\d{1,5})?[^\p{L}\p{N}]*$/u
const maxWord = 48

const isNever = (): boolean => false

/**
 * Leaves only what cannot well be a piece of a secret: words and small numbers outside of quotes, and names that are known.
 * For texts that may hold secrets which are not known.
 *
 * @since 0.1.0
 */
export const strict = (text: string, isName: (text: string) => boolean = isNever): string =>
  patterns(cut(text)).replace(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|`[^`]*(?:`|$)|\S+/g, (part) => {
    if (part.includes(redacted)) return part
    if (part.startsWith('"') || part.startsWith("`")) return isName(part.slice(1, -1)) ? part : redacted
    if (part.length <= maxWord && harmless.test(part)) return part
    return isName(part.replace(/^[('[{<]+|[)'\]}>.,:;]+$/g, "")) ? part : redacted
  })

/** Names of types, which the errors of parsers are full of; the parts of tokens with dots are longer. */
const isTypeName = (word: string): boolean =>
  /^(?:type\.googleapis\.com\/)?(?:[A-Za-z_]\w{0,40}\.)+[A-Za-z_]\w{0,40}$/.test(word)

/** The name of a field that there is not, if it could be one. */
const unknownKey = /\bkey "([A-Za-z][A-Za-z_]{0,63})" is unknown/

/**
 * A parser's words about something that it could not read, without what they quote of that.
 *
 * @since 0.1.0
 */
export const ofParser = (message: string): string => {
  const key = unknownKey.exec(message)?.[1]
  return strict(message, (word) => word === key || isTypeName(word))
}

/**
 * What a fault of the program is told as: its name, and what it says without what it quotes, 200 characters at most. What it
 * says may be as long as a file, and quote a part of one.
 *
 * @since 0.1.0
 */
export const ofDefect = (defect: unknown): string =>
  defect instanceof Error ? `${defect.name}: ${ofParser(defect.message).slice(0, 200)}` : typeof defect

/**
 * Takes secrets out of a text: every piece of eight characters or more of any of the values, as it is, escaped as in C,
 * the text format, JSON or URLs, in hexadecimal or in base64, across line ends and in any case of letters; and what
 * `Redaction.text` finds. If the values are more than can be looked for (128 KiB), only what cannot be a secret is left ({@link
 * strict}).
 *
 * @since 0.1.0
 */
export const values = (
  text: string,
  secrets: Iterable<Uint8Array>,
  isName: (text: string) => boolean = isNever
): string => {
  let result = patterns(cut(text))
  let source: Uint8Array | undefined
  let normal: Normal | undefined
  let searched: Searched | undefined
  const alone = new Set<string>()
  let size = 0
  for (const secret of secrets) {
    if (secret.byteLength === 0) continue
    size += secret.byteLength
    if (size > maxSecretBytes) return strict(text, isName)
    source ??= encoder.encode(result)
    normal ??= normalize(source)
    searched ??= new Searched(normal.bytes)
    for (const form of formsOf(secret, searched.hasHex)) searched.search(form)
    if (secret.byteLength < minInside) alone.add(decoder.decode(secret))
  }
  if (source !== undefined && normal !== undefined && searched?.covered.some((mark) => mark !== 0) === true) {
    result = replaceCovered(source, normal, searched.covered)
  }
  for (const secret of alone) result = replaceAlone(result, secret)
  return result
}
