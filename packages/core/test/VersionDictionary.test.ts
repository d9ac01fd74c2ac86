import * as InitialVersions from "@effect-xds/core/resource/InitialVersions"
import { NumberSet } from "@effect-xds/core/resource/NumberSet"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import { VersionDictionary } from "@effect-xds/core/resource/VersionDictionary"
import { Cluster } from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

/** A field of a request: at 4 there is the name, of this length. */
const fieldOf = (name: string, version: string): Uint8Array => {
  const [first, second] = [Buffer.from(name), Buffer.from(version)]
  const entry = Buffer.concat([Buffer.from([0x0a, first.length]), first, Buffer.from([0x12, second.length]), second])
  return Buffer.concat([Buffer.from([0x2a, entry.length]), entry])
}

const make = (maxBytes: number): VersionDictionary => {
  const dictionary = VersionDictionary.make(maxBytes)
  if (dictionary === undefined) assert.fail("there is no WebAssembly")
  return dictionary
}

const all = (numbers: NumberSet): ReadonlyArray<number> => {
  const found: Array<number> = []
  numbers.forEach((number) => found.push(number))
  return found
}

/** Its number; -1 if there is no room. */
const putField = (dictionary: VersionDictionary, field: Uint8Array, at = 0): number => {
  const numbers = new NumberSet()
  dictionary.input.set(field, at)
  const end = at + field.length
  assert.strictEqual(dictionary.take(at, end, numbers), numbers.size === 0 ? at : end)
  return all(numbers)[0] ?? -1
}
const put = (dictionary: VersionDictionary, name: string, version: string): number =>
  putField(dictionary, fieldOf(name, version))

const mask = (1n << 64n) - 1n
const times = (one: bigint, other: bigint): bigint => (one * other) & mask
const left = (word: bigint, bits: bigint): bigint => ((word << bits) | (word >> (64n - bits))) & mask
const [first, second] = [0x9e3779b185ebca87n, 0xc2b2ae3d27d4eb4fn]
/** Of an odd number. Each step of Newton doubles the bits that are right. */
const inverse = (odd: bigint): bigint => {
  let found = odd
  for (let step = 0; step < 6; step++) found = times(found, (2n - times(odd, found)) & mask)
  return found
}
type Lanes = readonly [one: bigint, two: bigint]
/** wasm/lookup.wat's hash: 16 bytes more of an entry. */
const stride = ([one, two]: Lanes, entry: Buffer, at: number): Lanes => {
  const [low, high] = [entry.readBigUInt64LE(at), entry.readBigUInt64LE(at + 8)]
  return [left(times(one ^ low, second), 27n), left(times(two ^ high, first), 31n)]
}
const half = (entry: Buffer): Lanes => stride([32n ^ 0x510e527fade682d1n, 0x9b05688c2b3e6c1fn], entry, 16)
/** Of a field whose entry has 32 bytes, before the last mixing. */
const hashOf = (field: Uint8Array): string => {
  const entry = Buffer.from(field.subarray(2))
  return stride(half(entry), entry, 0).join()
}

/**
 * A name that has the hash of another, with its version: the end of the name is any, and the beginning is found backwards.
 * It is to begin as an entry begins: one of 65 536 ends does.
 */
const twinOf = (field: Uint8Array): Uint8Array => {
  const entry = Buffer.from(field.subarray(2))
  const [one, two] = stride(half(entry), entry, 0)
  const [undoFirst, undoSecond] = [inverse(first), inverse(second)]
  const twin = Buffer.from(entry)
  const start = entry.readUInt16LE(0)
  for (let end = 0; ; end++) {
    twin.writeUIntLE(end, 16, 6)
    const [before, other] = half(twin)
    const word = before ^ times(left(one, 37n), undoSecond)
    if (end === entry.readUIntLE(16, 6) || Number(word & 0xffffn) !== start) continue
    twin.writeBigUInt64LE(word, 0)
    twin.writeBigUInt64LE(other ^ times(left(two, 33n), undoFirst), 8)
    return Buffer.concat([field.subarray(0, 2), twin])
  }
}

describe("a dictionary of names and versions", () => {
  it("gives every pair a number of its own, however many there are, and says what it stands for", () => {
    const dictionary = make(16 * 1024 * 1024)
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
    for (let index = 0; index < 11_000; index++) {
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
      [63, "\0", steps]
    ] as const) {
      const dictionary = make(16 * 1024 * 1024)
      const field = fieldOf(fill.repeat(length), "v1")
      let count = 0
      for (let one = 4; one < 34; one++) {
        for (let other = one + 1; other < 34; other++) {
          for (const first of bytes) {
            for (const second of bytes) {
              const before = [field[one] ?? 0, field[other] ?? 0] as const
              field.set([first], one)
              field.set([second], other)
              const isOther = first !== before[0] && second !== before[1]
              if (isOther && putField(dictionary, field) !== count++) assert.fail(`${one}, ${other}`)
              field.set([before[0]], one)
              field.set([before[1]], other)
            }
          }
        }
      }
    }
  })

  it("finds an entry wherever it lies, and takes nothing of what is around it", () => {
    const dictionary = make(1_000)
    for (const [name, version] of [
      ["short", "1"],
      ["longer than sixteen bytes", "0123456789abcdef"]
    ] as const) {
      const number = put(dictionary, name, version)
      for (let at = 0; at < 20; at++) {
        dictionary.input.fill(at)
        assert.strictEqual(putField(dictionary, fieldOf(name, version), at), number)
      }
    }
    assert.strictEqual(dictionary.size, 2)
  })

  it("finds what it has in any order, and what is new among it", () => {
    const dictionary = make(1_000_000)
    const fields = Array.from({ length: 1_000 }, (_, index) => fieldOf(`cluster-${index * 7919}`, `${index % 7}`))
    const taken = (indices: ReadonlyArray<number>): ReadonlyArray<number> => {
      const request = Buffer.concat(indices.map((index) => fields[index] ?? new Uint8Array()))
      dictionary.input.set(request)
      const numbers = new NumberSet()
      assert.strictEqual(dictionary.take(0, request.length, numbers), request.length)
      return all(numbers)
    }
    const even = fields.flatMap((_, index) => (index % 2 === 0 ? [index] : []))
    assert.deepStrictEqual(
      taken(even),
      even.map((index) => index / 2)
    )
    const shuffled = fields.map((_, index) => (index * 611) % fields.length)
    const expected = new Set(shuffled.map((_, at) => at))
    assert.deepStrictEqual(new Set(taken(shuffled)), expected)
    assert.deepStrictEqual(new Set(taken([...shuffled].reverse())), expected)
    let odd = 0
    for (const index of shuffled) {
      const number = index % 2 === 0 ? index / 2 : even.length + odd++
      assert.deepStrictEqual(taken([index]), [number])
    }
  })

  it("is asked for longer entries than those at its end", () => {
    const dictionary = make(65_536)
    let known = 0
    while (put(dictionary, `${known}`.padStart(8, "0"), "v1") >= 0) known++
    for (let index = 0; index < 30_000; index++) {
      assert.strictEqual(put(dictionary, `${index}`.padStart(100, "0"), "v1"), -1)
    }
  })

  it("turns away what it has no room for, and keeps what it has", () => {
    const dictionary = make(24)
    assert.deepStrictEqual(
      ["one", "two", "three", "four", "one"].map((name) => put(dictionary, name, "1")),
      [0, 1, -1, -1, 0]
    )
    assert.isTrue(dictionary.isFull)
    assert.deepStrictEqual(dictionary.textOf(1), ["two", "1"])
  })

  it("turns away what its index has no room for, and finds what it has", () => {
    const dictionary = make(500_000)
    const numbers = Array.from({ length: 24_000 }, (_, index) => put(dictionary, `${index}`, ""))
    const { size } = dictionary
    assert.isTrue(dictionary.isFull)
    assert.isAtLeast(size, 20_000)
    assert.deepStrictEqual(
      numbers,
      numbers.map((_, index) => (index < size ? index : -1))
    )
    assert.deepStrictEqual(
      numbers.map((_, index) => put(dictionary, `${index}`, "")),
      numbers
    )
  })

  it("takes what is plain up to what is not, and says where that is", () => {
    const dictionary = make(100_000)
    const plain = Buffer.concat([fieldOf("a", "1"), fieldOf("n".repeat(100), "v".repeat(23)), fieldOf("", "")])
    for (const other of [
      // A name that is too long for one byte of length; one of 128 bytes with its version; without a version.
      fieldOf("n".repeat(124), ""),
      fieldOf("n".repeat(100), "v".repeat(24)),
      [0x2a, 3, 0x0a, 1, 0x61],
      // The version first; a name that claims more than there is; something behind the version; another field.
      [0x2a, 6, 0x12, 1, 0x31, 0x0a, 1, 0x61],
      [0x2a, 6, 0x0a, 9, 0x61, 0x12, 1, 0x31],
      [0x2a, 6, 0x0a, 0xff, 0x61, 0x12, 1, 0x31],
      [0x2a, 8, 0x0a, 1, 0x61, 0x12, 1, 0x31, 0x18, 1],
      [0x2a, 6, 0x0a, 1, 0x61, 0x12, 2, 0x31],
      [0x12, 1, 0x61],
      // Not whole.
      [0x2a],
      fieldOf("a", "1").subarray(0, -1)
    ]) {
      const fields = Buffer.concat([plain, Buffer.from(other)])
      dictionary.input.set(fields)
      const numbers = new NumberSet()
      assert.strictEqual(dictionary.take(0, fields.length, numbers), plain.length)
      assert.deepStrictEqual(all(numbers), [0, 1, 2])
    }
    assert.strictEqual(dictionary.size, 3)
  })

  it("is none where there is no room for it", () => {
    for (const maxBytes of [2 ** 40, Infinity]) assert.isUndefined(VersionDictionary.make(maxBytes))
  })

  /**
   * What a client would hold that has these, where a stranger said before that it holds another that has the hash of
   * `name`, and the name of that one.
   */
  const beside = (name: string, set: ResourceSet.ResourceSet) => {
    const dictionary = make(1_000)
    const field = fieldOf(name, version)
    const madeUp = twinOf(field)
    assert.strictEqual(hashOf(madeUp), hashOf(field))
    assert.notDeepEqual(madeUp, field)
    const stranger = InitialVersions.sift(dictionary, madeUp).sieve.versions(undefined)
    assert.strictEqual(stranger?.size, 1)
    const versions = InitialVersions.sift(dictionary, field).sieve.versions(undefined) ?? new Map()
    assert.deepStrictEqual(Array.from(versions), [[name, version]])
    return Steps.toEnd(InitialVersions.compare(versions, set))
  }
  const version = "version1"
  const setOf = (names: ReadonlyArray<string>): ResourceSet.ResourceSet => {
    const { typeUrl } = Cluster
    const value = new Uint8Array()
    const resources = names.map((name) => Either.getOrThrow(Resource.make({ typeUrl, name, version, value })))
    return Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(typeUrl), resources))
  }

  it("★ what a stranger made up to have the hash of a resource that exists does not stand for it", () => {
    const set = setOf(["cluster-of-20-letter", "other"])
    const { others, unheld } = beside("cluster-of-20-letter", set)
    assert.deepStrictEqual(
      Steps.toEnd(unheld()).map(({ name }) => name),
      ["other"]
    )
    assert.deepStrictEqual(Array.from(others), [])
  })

  it("★ nor for one that was deleted: its holder is told of the deletion", () => {
    const { others } = beside("cluster-of-20-letter", setOf(["other"]))
    assert.deepStrictEqual(Array.from(others), [["cluster-of-20-letter", version]])
  })

  it("clients that hold the same are told the same, and one that holds another thing is not", () => {
    const { typeUrl } = Cluster
    const value = new Uint8Array()
    const names = Array.from({ length: 300 }, (_, index) => `cluster-${index}`)
    const resources = names.map((name) => Either.getOrThrow(Resource.make({ typeUrl, name, version: "1", value })))
    const set = Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(typeUrl), resources))
    const dictionary = make(100_000)
    const holding = (names: ReadonlyArray<string>): InitialVersions.Comparison => {
      const fields = Buffer.concat(names.map((name) => fieldOf(name, "1")))
      const { sieve } = InitialVersions.sift(dictionary, fields)
      return Steps.toEnd(InitialVersions.compare(sieve.versions(undefined) ?? new Map(), set))
    }
    const whole = holding(names)
    assert.deepStrictEqual(Steps.toEnd(whole.unheld()), [])
    // In any order: this is what makes a thousand clients that come back cheap.
    assert.strictEqual(holding(names.toReversed()), whole)
    for (const missing of ["cluster-0", "cluster-31", "cluster-32", "cluster-299"]) {
      const { isHeld, others, unheld } = holding([...names, "gone"].filter((name) => name !== missing))
      assert.deepStrictEqual(
        Steps.toEnd(unheld()).map(({ name }) => name),
        [missing]
      )
      assert.isTrue(resources.every((resource) => isHeld(resource) === (resource.name !== missing)))
      assert.deepStrictEqual([...others], [["gone", "1"]])
    }
    assert.deepStrictEqual(Steps.toEnd(holding(["cluster-7"]).unheld()).length, 299)
  })
})

describe("a set of numbers", () => {
  const batches = fc.array(
    fc.record({
      from: fc.nat(3_000),
      count: fc.oneof(fc.nat(3), fc.nat(700)),
      step: fc.constantFrom(1, 2, 31, 32, 33)
    }),
    { maxLength: 5 }
  )
  const made = (batches: ReadonlyArray<Uint32Array>, size: number): NumberSet => {
    const numbers = new NumberSet()
    for (const batch of batches) numbers.add(batch, size)
    return numbers
  }

  it.prop("has what was put in, as a list or as bits", [batches, fc.nat(30_000)], ([batches, more]) => {
    const lists = batches.map(({ count, from, step }) =>
      Uint32Array.from({ length: count }, (_, at) => from + at * step)
    )
    const expected = new Set(lists.flatMap((list) => [...list]))
    const size = Math.max(0, ...expected) + 1 + more
    const numbers = made(lists, size)
    assert.deepStrictEqual(new Set(all(numbers)), expected)
    assert.isAtLeast(numbers.size, expected.size)
    assert.isTrue(numbers.equals(made(lists, size)))
    const [one] = expected
    const others = lists.map((list) => list.filter((number) => number !== one))
    assert.strictEqual(numbers.equals(made(others, size)), expected.size === 0)
    // The dictionary has grown since.
    assert.deepStrictEqual(
      new Set(all(made([...lists, Uint32Array.of(size + 40_000)], size))),
      expected.add(size + 40_000)
    )
  })
})
