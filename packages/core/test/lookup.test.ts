import { assert, describe, it } from "@effect/vitest"
import { lookup } from "../src/internal/lookup.js"

/** wasm/lookup.wat with a memory of our own, so that a slot can be made to say anything. */
declare const WebAssembly: {
  readonly Memory: new (pages: { readonly initial: number }) => { readonly buffer: ArrayBuffer }
  readonly Module: new (bytes: Uint8Array) => object
  readonly Instance: new (
    module: object,
    imports: object
  ) => {
    readonly exports: {
      readonly lookup: (at: number, end: number, out: number, notes: number, table: number, mask: number) => number
    }
  }
}

const memory = new WebAssembly.Memory({ initial: 1 })
const instance = new WebAssembly.Instance(new WebAssembly.Module(Buffer.from(lookup, "base64")), {
  dictionary: { memory }
})
const [out, notes, table, entries] = [1024, 2048, 4096, 8192]
const tableBytes = 2048
const bytes = new Uint8Array(memory.buffer)
const words = new DataView(memory.buffer)

/** A field whose entry has so many bytes: a name and a version. */
const fieldOf = (length: number): Uint8Array => {
  const name = (length - 4) >> 1
  const version = length - 4 - name
  const letters = (count: number, from: number): ReadonlyArray<number> =>
    Array.from({ length: count }, (_, index) => (from + 31 * index) % 256)
  return Uint8Array.from([0x2a, length, 0x0a, name, ...letters(name, 5), 0x12, version, ...letters(version, 9)])
}

/** Looks up one field that lies at 0; where it stopped, how many are known, which, and the slot for it if it is new. */
const lookUp = (field: Uint8Array): { known: number; number: number; fresh: number } => {
  bytes.fill(0xff, 0, 512)
  bytes.set(field)
  const next = instance.exports.lookup(0, field.length, out, notes, table, tableBytes - 1)
  const known = words.getUint32(out, true)
  assert.strictEqual(next, known === 0 ? 0 : field.length)
  return { known, number: words.getUint32(out + 8, true), fresh: words.getUint32(out + 4, true) }
}

describe("the lookup of names and versions", () => {
  it("★ takes for known what has all the bytes of an entry, and not what has its hash", () => {
    for (let length = 4; length <= 127; length++) {
      const field = fieldOf(length)
      bytes.fill(0, table, table + tableBytes)
      const { fresh, known } = lookUp(field)
      assert.strictEqual(known, 0)
      words.setUint32(entries, 77, true)
      words.setUint32(fresh + 4, entries + 4, true)
      bytes.fill(0x55, entries + 4, entries + 512)
      bytes.set(field.subarray(2), entries + 4)
      assert.deepInclude(lookUp(field), { known: 1, number: 77, fresh: 0 })
      for (let at = entries + 4; at < entries + 4 + length; at++) {
        bytes[at] = (bytes[at] ?? 0) ^ 0x10
        const other = lookUp(field)
        assert.strictEqual(other.known, 0, `${length} bytes, of which ${at - entries - 4} differs`)
        assert.notStrictEqual(other.fresh, fresh)
        bytes[at] = (bytes[at] ?? 0) ^ 0x10
      }
    }
  })
})
