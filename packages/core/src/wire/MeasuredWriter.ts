import { sizeOfField, sizeOfText, sizeOfVarint, Writer } from "./Wire.js"

/**
 * Writes fields and nested messages, in two passes of the same calls. The first measures and notes the length of each text and
 * message. The second writes and takes these lengths in the same order. So nothing is allocated per resource, of which there
 * may be a hundred thousand.
 */
export class MeasuredWriter {
  private readonly lengths: Array<number> = []
  private taken = 0
  private size = 0
  private writer: Writer | undefined

  /** Ends the measuring pass. Later calls write into the result. */
  begin(allocate: (size: number) => Uint8Array): Uint8Array {
    const bytes = allocate(this.size)
    this.writer = new Writer(bytes)
    return bytes
  }

  /** What is encoded already, and its number of bytes: to ask for that takes longer than to copy a few hundred of them. */
  encoded(bytes: Uint8Array, size: number): void {
    if (this.writer === undefined) this.size += size
    else this.writer.raw(bytes, size)
  }

  /** Bytes `from` ≤ index < `before` of what is encoded already. */
  part(bytes: Uint8Array, from: number, before: number): void {
    if (this.writer === undefined) this.size += before - from
    else this.writer.raw(bytes.subarray(from, before), before - from)
  }

  /** Number of bytes measured so far. */
  get measured(): number {
    return this.size
  }

  /** Omitted if empty. */
  bytes(field: number, bytes: Uint8Array): void {
    if (bytes.byteLength === 0) return
    if (this.writer === undefined) this.size += sizeOfField(field, bytes.byteLength)
    else this.writer.field(field, bytes)
  }

  /** Omitted if empty, unless `always`. */
  text(field: number, text: string, always = false): void {
    if (text === "" && !always) return
    if (this.writer === undefined) {
      const length = sizeOfText(text)
      this.lengths.push(length)
      this.size += sizeOfField(field, length)
    } else {
      const length = this.take()
      this.writer.head(field, length)
      this.writer.text(text, length)
    }
  }

  /** Omitted if 0. */
  number(field: number, value: number): void {
    if (value === 0) return
    if (this.writer === undefined) this.size += sizeOfVarint(field * 8) + sizeOfVarint(value)
    else {
      this.writer.varint(field * 8)
      this.writer.varint(value)
    }
  }

  /** Begins a nested message. The result is the argument of {@link close}. */
  open(field: number): number {
    if (this.writer === undefined) return this.lengths.push(this.size) - 1
    this.writer.head(field, this.take())
    return 0
  }

  close(field: number, place: number): void {
    if (this.writer !== undefined) return
    const length = this.size - (this.lengths[place] ?? 0)
    this.lengths[place] = length
    this.size += sizeOfField(field, length) - length
  }

  private take(): number {
    return this.lengths[this.taken++] ?? 0
  }
}
