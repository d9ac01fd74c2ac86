import * as InitialVersions from "@effect-xds/core/InitialVersions"
import * as Resource from "@effect-xds/core/Resource"
import * as ResourceSet from "@effect-xds/core/ResourceSet"
import { Cluster } from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

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
    const dictionary = new InitialVersions.Dictionary(16 * 1024 * 1024)
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

  it("tells apart what differs in two bytes, whatever they are and wherever", () => {
    const steps = [1, 2, 4, 8, 16, 32, 64, 128, 255, 127, 63, 254]
    for (const [length, fill, bytes] of [
      [40, "n", Array.from(Buffer.from("abcdefghij01-."))],
      [44, "@", steps],
      [63, "\0", steps]
    ] as const) {
      const dictionary = new InitialVersions.Dictionary(16 * 1024 * 1024)
      const view = bytesOf(fill.repeat(length), "v1")
      let count = 0
      for (let one = 2; one < 32; one++) {
        for (let other = one + 1; other < 32; other++) {
          for (const first of bytes) {
            for (const second of bytes) {
              const before = [view.getUint8(one), view.getUint8(other)] as const
              view.setUint8(one, first)
              view.setUint8(other, second)
              const isOther = first !== before[0] && second !== before[1]
              if (isOther && dictionary.numberOf(view, 0, view.byteLength) !== count++) assert.fail(`${one}, ${other}`)
              view.setUint8(one, before[0])
              view.setUint8(other, before[1])
            }
          }
        }
      }
    }
  })

  it("finds an entry wherever it lies, and takes nothing of what is around it", () => {
    const dictionary = new InitialVersions.Dictionary(1_000)
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
    const dictionary = new InitialVersions.Dictionary(24)
    assert.deepStrictEqual(
      ["one", "two", "three", "four", "one"].map((name) => put(dictionary, name, "1")),
      [0, 1, -1, -1, 0]
    )
    assert.isTrue(dictionary.isFull)
    assert.deepStrictEqual(dictionary.textOf(1), ["two", "1"])
  })

  it("if an entry had the number of another: the client is sent again what it holds, and no more comes of it", () => {
    const { typeUrl } = Cluster
    const value = new Uint8Array()
    const resources = ["a", "b"].map((name) => Either.getOrThrow(Resource.make({ typeUrl, name, version: "1", value })))
    const set = Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(typeUrl), resources))
    const dictionary = new InitialVersions.Dictionary(1_000)
    const [a, madeUp] = [put(dictionary, "a", "1"), put(dictionary, "made up", "1")]
    const held = InitialVersions.compare(
      new InitialVersions.InternedVersions(dictionary, Uint32Array.of(a, madeUp)),
      set
    )
    assert.deepStrictEqual(resources.map(held.isHeld), [true, false])
    assert.deepStrictEqual(held.unheld(), resources.slice(1))
    assert.deepStrictEqual(Array.from(held.others), [["made up", "1"]])
  })
})
