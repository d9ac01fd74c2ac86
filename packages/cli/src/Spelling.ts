/**
 * Which word was meant by one that nobody knows.
 *
 * @since 0.1.0
 */

/** How many letters differ, are missing or too many; two that are exchanged are one. */
const distance = (one: string, other: string): number => {
  let before: ReadonlyArray<number> = []
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let i = 0; i < one.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < other.length; j++) {
      const change = (row[j] ?? 0) + (one[i] === other[j] ? 0 : 1)
      const isSwap = i > 0 && j > 0 && one[i] === other[j - 1] && one[i - 1] === other[j]
      const swap = isSwap ? (before[j - 1] ?? 0) + 1 : Number.MAX_SAFE_INTEGER
      next.push(Math.min(change, swap, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    before = row
    row = next
  }
  return row[other.length] ?? 0
}

/**
 * The nearest of the words; `undefined` if none is near. What a word begins with is near, too: `--node` for `--node-id`.
 *
 * @since 0.1.0
 */
export const nearest = (word: string, words: ReadonlyArray<string>): string | undefined => {
  const wanted = word.slice(0, 60)
  const [best] = words
    .map((each) => ({ each, off: distance(wanted, each) }))
    .filter(({ each, off }) => off <= Math.max(1, Math.floor(wanted.length / 3)) && off < each.length)
    .sort((one, other) => one.off - other.off)
  return best?.each ?? (wanted.length < 3 ? undefined : words.find((each) => each.startsWith(wanted)))
}
