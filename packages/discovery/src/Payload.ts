/**
 * Blocks of bytes that are to be found in what a host says: each, in their order, with gaps allowed. What was said is not
 * kept, however long it is.
 *
 * @since 0.1.0
 */

/**
 * A search.
 *
 * @since 0.1.0
 */
export interface Payload {
  readonly blocks: ReadonlyArray<Block>
  /** Blocks that are found. */
  readonly found: number
  /** Bytes of the next block that were the last ones said. */
  readonly matched: number
  /** Bytes that are still looked at. */
  readonly left: number
}

interface Block {
  readonly bytes: Uint8Array
  /** For each length of a beginning: the longest shorter beginning that is its end, too (Knuth, Morris and Pratt). */
  readonly borders: ReadonlyArray<number>
}

const bordersOf = (bytes: Uint8Array): ReadonlyArray<number> => {
  const borders = [0, 0]
  let border = 0
  for (let at = 1; at < bytes.length; at++) {
    while (border > 0 && bytes[at] !== bytes[border]) border = borders[border] ?? 0
    if (bytes[at] === bytes[border]) border++
    borders.push(border)
  }
  return borders
}

/**
 * A search that begins. Empty blocks are everywhere.
 *
 * @param limit how many bytes are looked at
 * @since 0.1.0
 */
export const make = (blocks: ReadonlyArray<Uint8Array>, limit = Number.POSITIVE_INFINITY): Payload => ({
  blocks: blocks.filter(({ length }) => length > 0).map((bytes) => ({ bytes, borders: bordersOf(bytes) })),
  found: 0,
  matched: 0,
  left: limit
})

/**
 * Whether all blocks are found.
 *
 * @since 0.1.0
 */
export const isFound = ({ blocks, found }: Payload): boolean => found === blocks.length

/**
 * Takes what is said next. Each byte is looked at once.
 *
 * @since 0.1.0
 */
export const push = (self: Payload, bytes: Uint8Array): Payload => {
  let { found, matched } = self
  let block = self.blocks[found]
  const end = Math.min(bytes.length, self.left)
  for (let at = 0; at < end && block !== undefined; at++) {
    while (matched > 0 && bytes[at] !== block.bytes[matched]) matched = block.borders[matched] ?? 0
    if (bytes[at] === block.bytes[matched]) matched++
    if (matched < block.bytes.length) continue
    // ★ The next one begins behind it: a byte is part of one block.
    matched = 0
    block = self.blocks[++found]
  }
  return { blocks: self.blocks, found, matched, left: self.left - end }
}

/**
 * The bytes of hexadecimal digits; `undefined` if they are none.
 *
 * @since 0.1.0
 */
export const fromHex = (text: string): Uint8Array | undefined => {
  if (text.length % 2 !== 0 || !/^[\da-f]*$/i.test(text)) return undefined
  return Uint8Array.from({ length: text.length / 2 }, (_, index) => parseInt(text.slice(2 * index, 2 * index + 2), 16))
}
