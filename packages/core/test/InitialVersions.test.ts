import * as InitialVersions from "@effect-xds/core/InitialVersions"
import { assert, describe, it } from "@effect/vitest"

const bytesOf = (name: string, version: string): DataView => {
  const [first, second] = [Buffer.from(name), Buffer.from(version)]
  const bytes = Buffer.concat([Buffer.from([0x0a, first.length]), first, Buffer.from([0x12, second.length]), second])
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

const put = (dictionary: InitialVersions.Dictionary, name: string, version: string): number => {
  const bytes = bytesOf(name, version)
  return dictionary.numberOf(bytes, 0, bytes.byteLength)
}

describe("a dictionary of names and versions", () => {
  it("gives every pair a number of its own, however many there are, and says what it stands for", () => {
    const dictionary = new InitialVersions.Dictionary(16 * 1024 * 1024, 1)
    const entries: Array<readonly [string, string]> = [
      ["", ""],
      ["a", ""],
      ["", "a"],
      ["ab", "c"],
      ["a", "bc"],
      ["ä", "ö"],
      ["x".repeat(100), "y".repeat(23)],
      ["x".repeat(23), "y".repeat(100)]
    ]
    // Names that differ in one letter, anywhere; one version for many names, and many for one.
    for (let at = 0; at < 40; at++) {
      for (const letter of "abcdefgh") entries.push([`${"n".repeat(at)}${letter}${"n".repeat(39 - at)}`, "v1"])
    }
    for (let index = 0; index < 20_000; index++) {
      entries.push([`cluster-${index}.svc.cluster.local`, "v1"], ["cluster", `${index}`.padStart(16, "0")])
    }
    for (const [index, entry] of entries.entries()) assert.strictEqual(put(dictionary, ...entry), index)
    for (const [index, entry] of entries.entries()) {
      assert.strictEqual(put(dictionary, ...entry), index)
      assert.deepStrictEqual(dictionary.textOf(index), entry)
    }
    assert.strictEqual(dictionary.size, entries.length)
    assert.isFalse(dictionary.isFull)
  })

  it("finds an entry wherever it lies, and takes nothing of what is around it", () => {
    const dictionary = new InitialVersions.Dictionary(1_000, 2)
    for (const [name, version] of [
      ["short", "1"],
      ["longer than sixteen bytes", "0123456789abcdef"]
    ] as const) {
      const entry = bytesOf(name, version)
      const number = put(dictionary, name, version)
      for (let before = 0; before < 20; before++) {
        const around = new Uint8Array(before + entry.byteLength + 20).fill(before)
        around.set(new Uint8Array(entry.buffer, entry.byteOffset, entry.byteLength), before)
        const view = new DataView(around.buffer)
        assert.strictEqual(dictionary.numberOf(view, before, before + entry.byteLength), number)
      }
    }
    assert.strictEqual(dictionary.size, 2)
  })

  it("turns away what it has no room for, and keeps what it has", () => {
    const dictionary = new InitialVersions.Dictionary(24, 3)
    assert.deepStrictEqual(
      ["one", "two", "three", "four", "one"].map((name) => put(dictionary, name, "1")),
      [0, 1, -1, -1, 0]
    )
    assert.isTrue(dictionary.isFull)
    assert.deepStrictEqual(dictionary.textOf(1), ["two", "1"])
  })

  it("hashes otherwise with another seed", () => {
    // Nothing of it can be seen but that the numbers are right.
    for (let seed = 0; seed < 50; seed++) {
      const dictionary = new InitialVersions.Dictionary(10_000, seed * 0x9e3779b1)
      for (let index = 0; index < 200; index++) assert.strictEqual(put(dictionary, `name ${index}`, "1"), index)
    }
  })
})
