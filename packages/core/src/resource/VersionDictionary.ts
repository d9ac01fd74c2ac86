/**
 * Names and versions that clients hold, each pair once for all clients and with a number.
 *
 * @since 0.1.0
 */
import { lookup } from "../internal/lookup.js"
import type { NumberSet } from "./NumberSet.js"

/** As wasm/lookup.wat has it. */
type Lookup = (at: number, end: number, out: number, notes: number, table: number, mask: number) => number

/** What we use of WebAssembly, whose types are only among those of the DOM. */
declare const WebAssembly:
  | {
      readonly Memory: new (pages: { readonly initial: number; readonly maximum: number }) => {
        readonly buffer: ArrayBuffer
      }
      readonly Module: new (bytes: Uint8Array) => object
      readonly Instance: new (
        module: object,
        imports: object
      ) => {
        readonly exports: { readonly lookup: Lookup }
      }
    }
  | undefined

const decoder = new TextDecoder()

/** Bytes of a page of memory in WebAssembly. */
const pageBytes = 65_536
/** What is to be looked up comes first in the memory, with room for the hash to read behind it. */
const inputBytes = 2 * pageBytes
const inputLimit = inputBytes - 16
/** Then the results: an entry has six bytes at least, a number four. Behind them, notes about entries looked up together. */
const outBytes = inputBytes
const notesAt = inputBytes + outBytes - 384
/** Then the table. One that is twice as large lies behind it, so a table of so many bytes begins there, too. Then the entries. */
const leastTable = inputBytes + outBytes
/** Of a slot: half of the hash, and the address of the entry. */
const slotBytes = 8
/** An entry is compared as if it were as long as any. */
const slackBytes = 128
/** At most so many of eight slots are taken. */
const mostOfEight = 5

let module: object | undefined

/**
 * What is put in stays; when it is full, another one takes its place and this one is garbage with the last request that
 * has numbers of it.
 *
 * ★ An entry is known by all its bytes, and not by a hash alone: clients share the dictionary, whoever they are and before
 * they are authorized. One that made up a name with the hash of another's would choose what that one is understood to hold.
 *
 * @since 0.1.0
 */
export class VersionDictionary {
  /** Where bytes are put that are to be looked up. */
  readonly input: Uint8Array
  private readonly out: Uint32Array
  private table = leastTable
  private readonly bytes: Uint8Array
  private readonly words: DataView
  private used = 0
  /** Where an entry and its number begin, by that number; it ends where the next one begins. */
  private starts = new Uint32Array(256)
  private entries = 0
  private full = false

  private constructor(
    maxBytes: number,
    private readonly memory: ArrayBuffer,
    /** Where the entries begin, and the tables end. */
    private readonly entriesAt: number,
    private readonly lookup: Lookup
  ) {
    this.bytes = new Uint8Array(memory, entriesAt, maxBytes)
    this.words = new DataView(memory)
    this.input = new Uint8Array(memory, 0, inputLimit)
    this.out = new Uint32Array(memory, inputBytes, outBytes / 4)
  }

  /**
   * @param maxBytes of the entries; their index takes about a quarter as much. Memory is taken as it is needed, but `external` of
   *   `process.memoryUsage` has both as if they were full.
   * @returns `undefined` where there is no WebAssembly, or no address space for it
   */
  static make(maxBytes: number): VersionDictionary | undefined {
    // `node --jitless` has none.
    if (typeof WebAssembly === "undefined") return undefined
    let most = leastTable
    // Of the size that entries of fifty bytes need: with smaller ones it is full before they are.
    while (most < maxBytes / 4) most *= 2
    const entriesAt = 2 * most
    const pages = Math.ceil((entriesAt + maxBytes + slackBytes) / pageBytes)
    try {
      module ??= new WebAssembly.Module(Uint8Array.from(atob(lookup), (letter) => letter.charCodeAt(0)))
      const memory = new WebAssembly.Memory({ initial: pages, maximum: pages })
      const { exports } = new WebAssembly.Instance(module, { dictionary: { memory } })
      return new VersionDictionary(maxBytes, memory.buffer, entriesAt, exports.lookup)
    } catch {
      return undefined
    }
  }

  /** How many entries there are: their numbers are smaller. */
  get size(): number {
    return this.entries
  }

  /** Whether something was turned away. */
  get isFull(): boolean {
    return this.full
  }

  /**
   * Looks up the entries that follow one another in the input, and puts in those that are new, as long as they are plain: a
   * name and a version in this order and of less than 124 bytes together, which is how everybody writes them.
   *
   * @param at the tag of the first
   * @returns where it stopped: before what is no entry, not plain, not whole, or found no room
   */
  take(at: number, end: number, numbers: NumberSet): number {
    const { input, out } = this
    let next = at
    for (;;) {
      next = this.lookup(next, end, inputBytes, notesAt, this.table, this.table - 1)
      const count = out[0] ?? 0
      if (count > 0) numbers.add(out.subarray(2, 2 + count), this.entries)
      const slot = out[1] ?? 0
      if (slot === 0) return next
      const entryEnd = next + 2 + (input[next + 1] ?? 0)
      if (!this.add(input.subarray(next + 2, entryEnd), slot)) return next
      next = entryEnd
      out[2] = this.entries - 1
      numbers.add(out.subarray(2, 3), this.entries)
    }
  }

  /** Keeps the bytes of an entry behind its number; `false` if there is no room. `slot`: has its hash already. */
  private add(entry: Uint8Array, slot: number): boolean {
    const start = this.used + 4
    const end = start + entry.length
    const isCrowded = 8 * (this.entries + 1) * slotBytes > mostOfEight * this.table
    if (end > this.bytes.length || (isCrowded && 4 * this.table > this.entriesAt)) {
      this.full = true
      return false
    }
    if (this.entries + 1 === this.starts.length) {
      const larger = new Uint32Array(2 * this.starts.length)
      larger.set(this.starts)
      this.starts = larger
    }
    this.words.setUint32(this.entriesAt + this.used, this.entries, true)
    this.bytes.set(entry, start)
    this.words.setUint32(slot + 4, this.entriesAt + start, true)
    this.entries++
    this.used = end
    this.starts[this.entries] = end
    if (isCrowded) this.grow()
    return true
  }

  /** Moves all slots into a table that is twice as large. */
  private grow(): void {
    const from = new Uint32Array(this.memory, this.table, this.table / 4)
    this.table *= 2
    const to = new Uint32Array(this.memory, this.table, this.table / 4)
    const mask = to.length - 1
    for (let at = 0; at < from.length; at += 2) {
      const address = from[at + 1] ?? 0
      if (address === 0) continue
      const hash = from[at] ?? 0
      let slot = (hash << 1) & mask
      while (to[slot + 1] !== 0) slot = (slot + 2) & mask
      to[slot] = hash
      to[slot + 1] = address
    }
  }

  /** The name and version with a number. */
  textOf(number: number): readonly [name: string, version: string] {
    const { bytes } = this
    const start = (this.starts[number] ?? 0) + 4
    const nameEnd = start + 2 + (bytes[start + 1] ?? 0)
    return [
      decoder.decode(bytes.subarray(start + 2, nameEnd)),
      decoder.decode(bytes.subarray(nameEnd + 2, this.starts[number + 1]))
    ]
  }
}
