/**
 * Names that stand in a text again and again, each as one string: to make a new one for each place, and to look it up as a key, takes a
 * third of the time that it takes to read a large file.
 */

/** Names that are known at a time; another one with the same place takes it over. */
const places = 1_024

/** Longer ones are seldom the names of fields. */
const longest = 64

export class KnownNames {
  readonly #names = new Array<string>(places).fill("")

  /** What stands in a text, as its `slice`. */
  of(text: string, begin: number, end: number): string {
    const length = end - begin
    if (length === 0 || length > longest) return text.slice(begin, end)
    const middle = text.charCodeAt(begin + (length >> 1))
    const place = (text.charCodeAt(begin) * 31 + text.charCodeAt(end - 1) * 7 + middle * 131 + length) % places
    const known = this.#names[place] ?? ""
    if (known.length === length && text.startsWith(known, begin)) return known
    // As a key it is a string of its own, which does not hold the text.
    const [name = ""] = Object.keys({ [text.slice(begin, end)]: true })
    this.#names[place] = name
    return name
  }
}
