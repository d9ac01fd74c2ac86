/**
 * Keeps secrets out of texts that others wrote: what a peer says, what an error quotes.
 *
 * Envoy quotes the resource that it rejects, in the protobuf text format, as JSON or as it is, and cuts long quotes; so do
 * parsers. So a text is searched for every piece of a known secret, however it is escaped or encoded, and for what looks
 * like one: private keys in PEM, and the values of fields and headers that hold secrets by their names.
 *
 * @since 0.1.0
 */
import { type Steps, toEnd } from "./internal/InSteps.js"
import * as SecretSearch from "./internal/SecretSearch.js"

export type { Steps } from "./internal/InSteps.js"

/**
 * What stands for a secret.
 *
 * @since 0.1.0
 */
export const redacted = "[redacted]"

/** Characters of a text that are kept: what is longer nobody reads, and each costs. */
const maxLength = 16_384

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
export const text = (text: string): string => patterns(kept(text)) + ending(text)

const kept = (text: string): string => text.slice(0, maxLength)

/** Comes behind what is kept when that was searched: at its end is what may have been cut. */
const ending = (text: string): string =>
  text.length <= maxLength ? "" : `… (${text.length - maxLength} more characters are left out)`

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

/** Words without digits, and small numbers. */
const harmless = /^[^\p{L}\p{N}]*(?:\p{L}[\p{L}_.:/-]*|\d{1,5})?[^\p{L}\p{N}]*$/u
const maxWord = 48

const isNever = (): boolean => false

/**
 * The most bytes of secrets that {@link values} looks for; with more it is {@link strict}.
 *
 * @since 0.1.0
 */
export const maxSecretBytes = SecretSearch.maxSecretBytes

/**
 * Leaves only what cannot well be a piece of a secret: words and small numbers outside of quotes, and names that are known.
 * For texts that may hold secrets which are not known.
 *
 * @since 0.1.0
 */
export const strict = (text: string, isName: (text: string) => boolean = isNever): string =>
  words(patterns(kept(text)), isName) + ending(text)

const words = (text: string, isName: (text: string) => boolean): string =>
  text.replace(/"(?:[^"\\]|\\[\s\S])*(?:"|\\?$)|`[^`]*(?:`|$)|\S+/g, (part) => {
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
): string => toEnd(valuesInSteps(text, secrets, isName))

/**
 * {@link values} in steps of some tenths of a millisecond, since to search for the most secrets takes some 0.2 s. Others may run
 * at each yield.
 *
 * @since 0.1.0
 */
export const valuesInSteps = function* (
  text: string,
  secrets: Iterable<Uint8Array>,
  isName: (text: string) => boolean = isNever
): Steps<string> {
  const shown = patterns(kept(text))
  const found = yield* SecretSearch.without(shown, secrets, redacted)
  return (found ?? words(shown, isName)) + ending(text)
}
