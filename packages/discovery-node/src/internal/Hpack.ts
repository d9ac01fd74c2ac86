/**
 * Headers as HTTP/2 writes them (HPACK). What is written knows nothing of what was written before: a question is made once,
 * for all connections. What is read may do so.
 *
 * @see https://www.rfc-editor.org/rfc/rfc7541
 */
import { codeLengths, endOfString, staticTable } from "./HpackTables.js"

export type Field = readonly [name: string, value: string]

/** Bytes of the table that a connection begins with. */
const beginningSize = 4_096

/** What an entry counts beside its bytes. */
const entrySize = 32

/** No number in a block of ours is longer; nobody has to count further. */
const maxShift = 21

/** For each node of the tree two places: a node further down, or -1 - the symbol. */
const tree: ReadonlyArray<number> = (() => {
  const nodes: Array<number> = [0, 0]
  const put = (code: number, length: number, symbol: number): void => {
    let at = 0
    for (let bit = length - 1; bit > 0; bit--) {
      const place = at + ((code >>> bit) & 1)
      if (nodes[place] === 0) nodes[place] = nodes.push(0, 0) - 2
      at = nodes[place] ?? 0
    }
    nodes[at + (code & 1)] = -1 - symbol
  }
  let code = 0
  for (let length = 1; length <= 30; length++) {
    for (const [symbol, each] of codeLengths.entries()) if (each === length) put(code++, length, symbol)
    code *= 2
  }
  return nodes
})()

/** The text of Huffman's code, each byte as a character; `undefined`: it is none. */
const unpacked = (block: Uint8Array, from: number, to: number): string | undefined => {
  let text = ""
  let node = 0
  // Bits behind the last byte, and whether all of them are 1.
  let depth = 0
  let isOnes = true
  for (let at = from; at < to; at++) {
    const byte = block[at] ?? 0
    for (let bit = 7; bit >= 0; bit--) {
      const one = (byte >>> bit) & 1
      const next = tree[node + one] ?? 0
      if (next >= 0) {
        node = next
        depth++
        isOnes &&= one === 1
        continue
      }
      const symbol = -1 - next
      if (symbol === endOfString) return undefined
      text += String.fromCharCode(symbol)
      node = 0
      depth = 0
      isOnes = true
    }
  }
  // RFC 7541, section 5.2: what fills the last byte is the beginning of EOS.
  return depth < 8 && isOnes ? text : undefined
}

const sizeOf = ([name, value]: Field): number => name.length + value.length + entrySize

/**
 * Reads the blocks of one connection. A block that is none breaks it: what follows would be read with another table than
 * it was written with.
 */
export class HpackDecoder {
  /** Fields that were sent, the last one first. */
  private readonly table: Array<Field> = []
  private tableSize = 0
  private maxSize = beginningSize
  /** What the other side may set `maxSize` to. */
  private limit = beginningSize
  /** In the block that is read. */
  private at = 0
  private fault: string | undefined

  /** The other side knows that we keep no more than so many bytes. */
  setLimit(limit: number): void {
    this.limit = limit
    this.resize(Math.min(this.maxSize, limit))
  }

  /**
   * The fields of a block, or in words why it is none.
   *
   * @param room bytes that the fields may have, with 32 for each
   */
  decode(block: Buffer, room: number): ReadonlyArray<Field> | string {
    const fields: Array<Field> = []
    let left = room
    this.at = 0
    while (this.fault === undefined && this.at < block.length) {
      const field = this.next(block, fields.length === 0)
      if (field === undefined) continue
      left -= sizeOf(field)
      if (left < 0) this.fails(`its headers have more than ${room} bytes`)
      fields.push(field)
    }
    return this.fault ?? fields
  }

  private next(block: Buffer, isFirst: boolean): Field | undefined {
    const first = block[this.at] ?? 0
    if ((first & 0xe0) !== 0x20) return this.field(block, first)
    if (isFirst) this.takeSize(this.number(block, 5))
    else this.fails("the size of the table changes behind a field")
    return undefined
  }

  private fails(fault: string): void {
    this.fault ??= fault
  }

  private field(block: Buffer, first: number): Field | undefined {
    if (first >= 0x80) return this.entry(this.number(block, 7))
    const isKept = first >= 0x40
    const index = this.number(block, isKept ? 6 : 4)
    const name = index === 0 ? this.text(block) : this.entry(index)?.[0]
    const value = this.text(block)
    if (this.fault !== undefined || name === undefined) return undefined
    const field: Field = [name, value]
    if (isKept) this.keep(field)
    return field
  }

  private entry(index: number): Field | undefined {
    const found = index <= staticTable.length ? staticTable[index - 1] : this.table[index - staticTable.length - 1]
    if (found === undefined) this.fails(`no field has the index ${index}`)
    return found
  }

  private number(block: Buffer, bits: number): number {
    const mask = (1 << bits) - 1
    let value = (block[this.at++] ?? 0) & mask
    if (value < mask) return value
    for (let shift = 0; shift <= maxShift; shift += 7) {
      const byte = block[this.at++]
      if (byte === undefined) {
        this.fails("a number ends in its middle")
        return 0
      }
      value += (byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    this.fails("a number is too long")
    return 0
  }

  private text(block: Buffer): string {
    if (this.fault !== undefined) return ""
    const isPacked = ((block[this.at] ?? 0) & 0x80) !== 0
    if (this.at >= block.length) {
      this.fails("a field ends in its middle")
      return ""
    }
    const length = this.number(block, 7)
    const from = this.at
    this.at += length
    if (this.at > block.length) {
      this.fails("a text ends in its middle")
      return ""
    }
    if (!isPacked) return block.toString("latin1", from, this.at)
    const text = unpacked(block, from, this.at)
    if (text === undefined) this.fails("a text is no code of Huffman's")
    return text ?? ""
  }

  private takeSize(size: number): void {
    if (size > this.limit) this.fails(`a table of ${size} bytes is larger than the ${this.limit} that it may have`)
    else this.resize(size)
  }

  private resize(size: number): void {
    this.maxSize = size
    while (this.tableSize > size) this.drop()
  }

  /** ★ One that is larger than the table empties it, and is no mistake. */
  private keep(field: Field): void {
    const size = sizeOf(field)
    while (this.table.length > 0 && this.tableSize + size > this.maxSize) this.drop()
    if (size > this.maxSize) return
    this.table.unshift(field)
    this.tableSize += size
  }

  private drop(): void {
    const dropped = this.table.pop()
    this.tableSize = dropped === undefined ? 0 : this.tableSize - sizeOf(dropped)
  }
}

const numberBytes = (first: number, bits: number, value: number): ReadonlyArray<number> => {
  const mask = (1 << bits) - 1
  if (value < mask) return [first | value]
  const bytes = [first | mask]
  let left = value - mask
  for (; left >= 0x80; left >>>= 7) bytes.push((left & 0x7f) | 0x80)
  return [...bytes, left]
}

/** `text` has a byte for each character. */
const textBytes = (text: string): Buffer =>
  Buffer.concat([Buffer.from(numberBytes(0, 7, text.length)), Buffer.from(text, "latin1")])

/** Fields as they are, which nobody is to keep. */
export const encode = (fields: ReadonlyArray<Field>): Buffer =>
  Buffer.concat(
    fields.flatMap(([name, value]) => {
      const same = staticTable.findIndex((known) => known[0] === name && known[1] === value)
      if (same >= 0) return [Buffer.from(numberBytes(0x80, 7, same + 1))]
      const index = staticTable.findIndex((known) => known[0] === name) + 1
      const begin = Buffer.from(numberBytes(0, 4, index))
      return index > 0 ? [begin, textBytes(value)] : [begin, textBytes(name), textBytes(value)]
    })
  )

/** What a connection's first block begins with: we keep nothing, however much we may. */
export const keepsNothing = Buffer.of(0x20)
