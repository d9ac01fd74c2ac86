/**
 * Interns names that repeat in a text. Creating a string per occurrence and hashing it as a key takes a third of the
 * time that reading a large file takes.
 */

/** The most names that are kept; a new one with the same hash replaces the old one. */
const places = 1_024

/** Longer names are seldom field names. */
const longest = 64

export class KnownNames {
  readonly #names = new Array<string>(places).fill("")

  /** The name in a text, as from `slice`. */
  of(text: string, begin: number, end: number): string {
    const length = end - begin
    if (length === 0 || length > longest) return text.slice(begin, end)
    const middle = text.charCodeAt(begin + (length >> 1))
    const place = (text.charCodeAt(begin) * 31 + text.charCodeAt(end - 1) * 7 + middle * 131 + length) % places
    const known = this.#names[place] ?? ""
    if (known.length === length && text.startsWith(known, begin)) return known
    // As a key it becomes a string of its own, which does not keep the text in memory.
    const [name = ""] = Object.keys({ [text.slice(begin, end)]: true })
    this.#names[place] = name
    return name
  }
}
