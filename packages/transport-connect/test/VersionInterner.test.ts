import type { MessageInitShape } from "@bufbuild/protobuf"
import { create, toBinary } from "@bufbuild/protobuf"
import * as HeldVersions from "@effect-xds/core/resource/HeldVersions"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Steps from "@effect-xds/core/Steps"
import * as Request from "@effect-xds/core/wire/Request"
import { DeltaDiscoveryRequestSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Cluster } from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "effect/FastCheck"
import { HeldVersionsReader, WholeRequestReader } from "../src/server/HeldVersionsReader.js"
import { Numbers } from "../src/server/Numbers.js"
import type { HashOf } from "../src/server/PairHash.js"
import { VersionInterner } from "../src/server/VersionInterner.js"

/** A field of a request: at 4 there is the name, of this length. */
const fieldOf = (name: string, version: string): Uint8Array => {
  const [first, second] = [Buffer.from(name), Buffer.from(version)]
  const entry = Buffer.concat([Buffer.from([0x0a, first.length]), first, Buffer.from([0x12, second.length]), second])
  return Buffer.concat([Buffer.from([0x2a, entry.length]), entry])
}

const make = (maxBytes: number, hashOf?: HashOf): VersionInterner =>
  new VersionInterner(maxBytes, hashOf && { quick: hashOf, whole: hashOf })

/** All quick hashes are equal; the others are counted. */
const counting = () => {
  const hashOf = { calls: 0 }
  const whole: HashOf = (view, start, end) => {
    hashOf.calls++
    let hash = 7
    for (let at = start; at < end; at++) hash = Math.imul(hash ^ view.getUint8(at), 0x01000193)
    return hash
  }
  return { hashOf, interner: new VersionInterner(10_000_000, { quick: () => 7, whole }) }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)

/** Its number; -1 if there is no room. */
const putField = (interner: VersionInterner, field: Uint8Array): number => {
  const numbers = new Numbers()
  const end = interner.take(field, viewOf(field), 0, field.length, numbers)
  assert.strictEqual(end, numbers.count === 0 ? 0 : field.length)
  return Array.from(numbers)[0] ?? -1
}
const put = (interner: VersionInterner, name: string, version: string): number =>
  putField(interner, fieldOf(name, version))

/** What a client holds that says so in these bytes. */
const heldIn = (interner: VersionInterner, request: Uint8Array): HeldVersions.HeldVersions =>
  separated(interner, request).held.versions(new Map())
const separated = (interner: VersionInterner, request: Uint8Array) =>
  new WholeRequestReader(interner, request).next(request.length) ?? assert.fail("there is more of it")

const check = <A>(arbitrary: fc.Arbitrary<A>, numRuns: number, property: (value: A) => void): void =>
  fc.assert(fc.property(arbitrary, property), { seed: 20260101, numRuns })

describe("an interner of names and versions", () => {
  it("gives every pair a number of its own, however many there are, and says what it stands for", () => {
    const interner = make(16 * 1024 * 1024)
    const entries: Array<readonly [string, string]> = [
      ["", ""],
      ["a", ""],
      ["", "a"],
      ["ab", "c"],
      ["a", "bc"],
      ["ä", "ö"],
      ["\ufeffa", "\ufeff1"],
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
    for (const [index, entry] of entries.entries()) assert.strictEqual(put(interner, ...entry), index)
    for (const [index, entry] of entries.entries()) {
      assert.strictEqual(put(interner, ...entry), index)
      assert.deepStrictEqual(interner.textOf(index), entry)
    }
    assert.strictEqual(interner.size, entries.length)
    assert.isFalse(interner.isFull)
  })

  it("tells apart what differs in two bytes, whatever they are and wherever", () => {
    const steps = [1, 2, 4, 8, 16, 32, 64, 127, 63, 126]
    for (const [length, fill, bytes] of [
      [40, "n", Array.from(Buffer.from("abcdefghij01-."))],
      [63, "\0", steps]
    ] as const) {
      const interner = make(16 * 1024 * 1024)
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
              if (isOther && putField(interner, field) !== count++) assert.fail(`${one}, ${other}`)
              field.set([before[0]], one)
              field.set([before[1]], other)
            }
          }
        }
      }
    }
  })

  it("finds an entry wherever it lies, and takes nothing of what is around it", () => {
    const interner = make(1_000)
    for (const [name, version] of [
      ["short", "1"],
      ["longer than sixteen bytes", "0123456789abcdef"]
    ] as const) {
      const field = fieldOf(name, version)
      const number = putField(interner, field)
      for (let at = 0; at < 20; at++) {
        const bytes = new Uint8Array(200).fill(at)
        bytes.set(field, at)
        const numbers = new Numbers()
        assert.strictEqual(interner.take(bytes, viewOf(bytes), at, bytes.length, numbers), at + field.length)
        assert.deepStrictEqual(Array.from(numbers), [number])
      }
    }
    assert.strictEqual(interner.size, 2)
  })

  it("finds what it has in any order, and what is new among it", () => {
    const interner = make(1_000_000)
    const fields = Array.from({ length: 1_000 }, (_, index) => fieldOf(`cluster-${index * 7919}`, `${index % 7}`))
    const taken = (indices: ReadonlyArray<number>): ReadonlyArray<number> => {
      const request = Buffer.concat(indices.map((index) => fields[index] ?? new Uint8Array()))
      const numbers = new Numbers()
      assert.strictEqual(interner.take(request, viewOf(request), 0, request.length, numbers), request.length)
      return Array.from(numbers)
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
    const interner = make(65_536)
    let known = 0
    while (put(interner, `${known}`.padStart(8, "0"), "v1") >= 0) known++
    for (let index = 0; index < 30_000; index++) {
      assert.strictEqual(put(interner, `${index}`.padStart(100, "0"), "v1"), -1)
    }
  })

  it("turns away what it has no room for, and keeps what it has", () => {
    const interner = make(48)
    assert.deepStrictEqual(
      ["one", "two", "three", "four", "one"].map((name) => put(interner, name, "1")),
      [0, 1, -1, -1, 0]
    )
    assert.isTrue(interner.isFull)
    assert.deepStrictEqual(interner.textOf(1), ["two", "1"])
  })

  it("turns away what its index has no room for, and finds what it has", () => {
    const interner = make(240_000)
    const numbers = Array.from({ length: 12_000 }, (_, index) => put(interner, `${index}`, ""))
    const { size } = interner
    assert.isTrue(interner.isFull)
    assert.strictEqual(size, 10_000)
    assert.deepStrictEqual(
      numbers,
      numbers.map((_, index) => (index < size ? index : -1))
    )
    assert.deepStrictEqual(
      numbers.map((_, index) => put(interner, `${index}`, "")),
      numbers
    )
  })

  it("takes what is plain up to what is not, and says where that is", () => {
    const interner = make(100_000)
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
      // A name, and a version, that is not UTF-8.
      [0x2a, 6, 0x0a, 1, 0xff, 0x12, 1, 0x31],
      [0x2a, 7, 0x0a, 1, 0x61, 0x12, 2, 0xc3, 0x31],
      // Not whole.
      [0x2a],
      fieldOf("a", "1").subarray(0, -1)
    ]) {
      const fields = Buffer.concat([plain, Buffer.from(other)])
      const numbers = new Numbers()
      assert.strictEqual(interner.take(fields, viewOf(fields), 0, fields.length, numbers), plain.length)
      assert.deepStrictEqual(Array.from(numbers), [0, 1, 2])
    }
    assert.strictEqual(interner.size, 3)
  })

  it("takes entries of up to 500 bytes, with lengths in as few bytes as it takes, and no others", () => {
    const interner = make(100_000)
    const encoded = (name: string, version: string): Uint8Array =>
      toBinary(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, { initialResourceVersions: { [name]: version } })
      )
    const taken = (bytes: Uint8Array): number =>
      interner.take(bytes, viewOf(bytes), 0, bytes.length, new Numbers()) === bytes.length ? interner.size - 1 : -1
    for (const [name, version] of [
      ["n".repeat(110), "0123456789abcdef"],
      ["n".repeat(127), "0123456789abcdef"],
      ["n".repeat(128), ""],
      ["é".repeat(200), "0123456789abcdef"],
      ["a", "v".repeat(200)],
      ["n".repeat(478), "0123456789abcdef"]
    ] as const) {
      const number = taken(encoded(name, version))
      assert.isAtLeast(number, 0)
      assert.deepStrictEqual(interner.textOf(number), [name, version])
    }
    const { size } = interner
    const long = encoded("n".repeat(130), "0123456789abcdef")
    assert.deepStrictEqual(Array.from(long.subarray(0, 6)), [0x2a, 0x97, 0x01, 0x0a, 0x82, 0x01])
    for (const other of [
      encoded("n".repeat(500), "1"),
      // Lengths that take more bytes than they need, a text that is not UTF-8, and one that ends behind the entry.
      Uint8Array.of(0x2a, 0x86, 0, 0x0a, 1, 0x61, 0x12, 1, 0x31),
      Uint8Array.from([0x2a, 0x98, 1, ...long.subarray(3, 137), 0x90, 0, ...long.subarray(138)]),
      long.with(10, 0xff),
      long.with(5, 2),
      long.subarray(0, -1),
      long.subarray(0, 2)
    ]) {
      assert.strictEqual(taken(other), -1)
    }
    assert.strictEqual(interner.size, size)
  })

  it("looks at a bounded number of pairs that have one hash, and turns away the others without being full", () => {
    const interner = make(100_000, () => 7)
    const numbers = Array.from({ length: 200 }, (_, index) => put(interner, `${index}`, "1"))
    assert.deepStrictEqual(numbers, [
      ...Array.from({ length: 64 }, (_, index) => index),
      ...Array<number>(136).fill(-1)
    ])
    assert.isFalse(interner.isFull)
  })

  it("finds pairs that have one quick hash by the hash of all their bytes, however many there are", () => {
    const { hashOf, interner } = counting()
    const entries = Array.from({ length: 5_000 }, (_, index) => [`name-${index}`.padEnd(40, "-"), "version"] as const)
    for (let round = 0; round < 2; round++)
      for (const [index, entry] of entries.entries()) assert.strictEqual(put(interner, ...entry), index)
    // The first is found without it.
    assert.strictEqual(hashOf.calls, 2 * (entries.length - 1))
    assert.isFalse(interner.isFull)
  })

  it("compares short pairs to their last byte", () => {
    const interner = make(10_000, () => 7)
    assert.deepStrictEqual(
      ["1", "2", "1", "2"].map((version) => put(interner, "a", version)),
      [0, 1, 0, 1]
    )
  })

  it("finds again what has bytes of a double that is no number, and tells the two zeros apart", () => {
    const bytes = (byte: number) => String.fromCharCode(byte)
    for (const field of [
      fieldOf("n".repeat(20) + "\u007f".repeat(20), "v".repeat(20)),
      fieldOf("n".repeat(20), `${"v".repeat(20)}${bytes(0x7f)}`)
    ]) {
      const interner = make(10_000)
      assert.deepStrictEqual([putField(interner, field), putField(interner, field)], [0, 0])
    }
    // Doubles of 8 bytes lie at multiples of 8 from the start of a pair, the tag of the name included.
    const zeros = new Uint8Array(fieldOf("\0".repeat(40), "v".repeat(20)))
    const negative = zeros.slice()
    negative[2 + 15] = 0x80
    const interner = make(10_000, () => 7)
    assert.deepStrictEqual(
      [zeros, negative, zeros, negative].map((field) => putField(interner, field)),
      // The other one is no text.
      [0, -1, 0, -1]
    )
  })

  // Here all hashes are made equal: nothing but bytes tells one pair from another.
  const version = "version1"
  const clusters = (names: ReadonlyArray<string>): ReadonlyArray<Resource.Resource> =>
    names.map((name) =>
      Either.getOrThrow(Resource.make({ typeUrl: Cluster.typeUrl, name, version, value: new Uint8Array() }))
    )
  const setOf = (names: ReadonlyArray<string>): ResourceSet.ResourceSet =>
    Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(Cluster.typeUrl), clusters(names)))
  for (const [what, hashOf] of [
    ["equal", () => 7],
    ["its own", undefined]
  ] as const) {
    /** What a client holds that has `name`, where a stranger said before that it holds another that differs in one byte. */
    const beside = (name: string, set: ResourceSet.ResourceSet): HeldVersions.Comparison => {
      const interner = make(10_000, hashOf)
      for (let at = 0; at < name.length; at++) {
        const madeUp = `${name.slice(0, at)}~${name.slice(at + 1)}`
        assert.deepStrictEqual(Array.from(heldIn(interner, fieldOf(madeUp, version))), [[madeUp, version]])
      }
      assert.strictEqual(Array.from(heldIn(interner, fieldOf(name, "version2"))).length, 1)
      const versions = heldIn(interner, fieldOf(name, version))
      assert.deepStrictEqual(Array.from(versions), [[name, version]])
      return Steps.toEnd(HeldVersions.compare(versions, set))
    }

    it(`★ what a stranger made up beside a resource that exists does not stand for it; hash: ${what}`, () => {
      const { others, unheld } = beside("cluster-of-20-letter", setOf(["cluster-of-20-letter", "other"]))
      assert.deepStrictEqual(
        Steps.toEnd(unheld()).map(({ name }) => name),
        ["other"]
      )
      assert.deepStrictEqual(Array.from(others), [])
    })

    it(`★ nor for one that was deleted: its holder is told of the deletion; hash: ${what}`, () => {
      const { others } = beside("cluster-of-20-letter", setOf(["other"]))
      assert.deepStrictEqual(Array.from(others), [["cluster-of-20-letter", version]])
    })

    it(`★ nor in another group: each client is told of what is in its own; hash: ${what}`, () => {
      const interner = make(10_000, hashOf)
      const groups = [
        ["mine", "ours"],
        ["mind", "ours"]
      ].map((names) => Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, clusters(names))))
      /** What a client of a group is told that holds `mine`, `mind` and `ours`. */
      const told = (group: ResourceGroup.ResourceGroup, names: ReadonlyArray<string>): ReadonlyArray<string> => {
        const message = create(DeltaDiscoveryRequestSchema, {
          typeUrl: Cluster.typeUrl,
          initialResourceVersions: Object.fromEntries(names.map((name) => [name, version]))
        })
        const { held, rest } = separated(interner, toBinary(DeltaDiscoveryRequestSchema, message))
        const request = Either.getOrThrow(Request.decode("Incremental", rest, held))
        let stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined })
        const found: Array<string> = []
        for (const input of [
          { _tag: "Changed", group },
          { _tag: "Writable" },
          { _tag: "Request", request }
        ] satisfies ReadonlyArray<ServerStream.Input>) {
          const [next, outputs] = ServerStream.step(stream, input, 0)
          stream = next
          for (const output of outputs) {
            if (output._tag !== "Send") continue
            found.push(...output.response.resources.map(({ name }) => name))
            found.push(...output.response.removed.map((name) => `-${name}`))
          }
        }
        return found.toSorted()
      }
      const [one, other] = groups
      if (one === undefined || other === undefined) return assert.fail("there are two groups")
      for (let round = 0; round < 2; round++) {
        assert.deepStrictEqual(told(one, ["mine", "ours"]), [])
        assert.deepStrictEqual(told(other, ["mine", "ours"]), ["-mine", "mind"])
        assert.deepStrictEqual(told(one, ["mind", "ours"]), ["-mind", "mine"])
        assert.deepStrictEqual(told(other, ["mind", "ours"]), [])
        assert.deepStrictEqual(told(other, ["ours", "mine", "mind"]), ["-mine"])
      }
    })
  }

  it("clients that hold the same are told the same, and one that holds another thing is not", () => {
    const { typeUrl } = Cluster
    const value = new Uint8Array()
    const names = Array.from({ length: 300 }, (_, index) => `cluster-${index}`)
    const resources = names.map((name) => Either.getOrThrow(Resource.make({ typeUrl, name, version: "1", value })))
    const set = Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(typeUrl), resources))
    const interner = make(100_000)
    const holding = (names: ReadonlyArray<string>): HeldVersions.Comparison => {
      const held = heldIn(interner, Buffer.concat(names.map((name) => fieldOf(name, "1"))))
      const known = HeldVersions.compared(held, set)
      const comparison = Steps.toEnd(HeldVersions.compare(held, set))
      if (known !== undefined) assert.strictEqual(known, comparison)
      assert.strictEqual(HeldVersions.compared(held, set), comparison)
      return comparison
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

describe("numbers", () => {
  const batches = fc.array(
    fc.record({
      from: fc.nat(3_000),
      count: fc.oneof(fc.nat(3), fc.nat(700)),
      step: fc.constantFrom(1, 2, 31, 32, 33)
    }),
    { maxLength: 5 }
  )
  const made = (batches: ReadonlyArray<Int32Array>, size: number): Numbers => {
    const numbers = new Numbers()
    for (const batch of batches) numbers.add(batch, size)
    return numbers
  }

  it("are what was put in, as a list or as bits", () =>
    check(fc.tuple(batches, fc.nat(30_000)), 300, ([batches, more]) => {
      const lists = batches.map(({ count, from, step }) =>
        Int32Array.from({ length: count }, (_, at) => from + at * step)
      )
      const expected = new Set(lists.flatMap((list) => [...list]))
      const size = Math.max(0, ...expected) + 1 + more
      const numbers = made(lists, size)
      assert.deepStrictEqual(new Set(Array.from(numbers)), expected)
      assert.isAtLeast(numbers.count, expected.size)
      assert.isTrue(numbers.equals(made(lists, size)))
      const [one] = expected
      const others = lists.map((list) => list.filter((number) => number !== one))
      assert.strictEqual(numbers.equals(made(others, size)), expected.size === 0)
      // The interner has grown since.
      assert.deepStrictEqual(
        new Set(Array.from(made([...lists, Int32Array.of(size + 40_000)], size))),
        expected.add(size + 40_000)
      )
    }))
})

describe("what a client holds", () => {
  it("what a client holds is compared as numbers as it would be as text, with labels and with fingerprints", () => {
    // Most clients find what they hold in the interner, and some are turned away.
    let interner = make(2_000)
    const name = fc.oneof(
      fc.constantFrom("a", "b", "abc", "xbc", "same"),
      fc.constantFrom("x".repeat(120), "x".repeat(127), "x".repeat(128), "y".repeat(300), "ä")
    )
    const version = fc.option(fc.constantFrom("1", "2", "22", "same", "v".repeat(130)), { nil: undefined, freq: 1 })
    const held = fc.array(fc.tuple(name, fc.oneof(version, fc.constant("fingerprint"), fc.constant("of another"))), {
      maxLength: 8
    })
    const all = fc.uniqueArray(fc.record({ name, version, value: fc.uint8Array({ maxLength: 2 }) }), {
      maxLength: 8,
      selector: (each) => each.name
    })
    check(fc.tuple(all, held), 3_000, ([all, held]) => {
      const resources = all.map(({ version, ...each }) =>
        Either.getOrThrow(
          Resource.make({ typeUrl: Cluster.typeUrl, ...each, ...(version === undefined ? {} : { version }) })
        )
      )
      const set = Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(Cluster.typeUrl), resources))
      const versions = new Map(
        held.map(([name, version]) => [
          name,
          version === "fingerprint"
            ? (ResourceSet.get(set, name)?.fingerprint ?? "gone")
            : version === "of another"
              ? (resources[0]?.fingerprint ?? "none")
              : (version ?? "")
        ])
      )
      const message = create(DeltaDiscoveryRequestSchema, { initialResourceVersions: Object.fromEntries(versions) })
      if (interner.isFull) interner = make(2_000)
      const request = separated(interner, toBinary(DeltaDiscoveryRequestSchema, message))
      const decoded = Either.getOrThrow(Request.decode("Incremental", request.rest, request.held))
      assert(decoded._tag === "Incremental")
      assert.deepStrictEqual(new Map(decoded.initialResourceVersions), versions)
      const asNumbers = Steps.toEnd(HeldVersions.compare(decoded.initialResourceVersions, set))
      const asText = Steps.toEnd(HeldVersions.compare(versions, set))
      const names = (found: ReadonlyArray<Resource.Resource>) => found.map(({ name }) => name)
      assert.deepStrictEqual(names(Steps.toEnd(asNumbers.unheld())), names(Steps.toEnd(asText.unheld())))
      assert.deepStrictEqual(resources.map(asNumbers.isHeld), resources.map(asText.isHeld))
      for (const [name, version] of versions) {
        const isHeld = ResourceSet.get(set, name)?.version === version
        if (!isHeld) assert.strictEqual(asNumbers.others.get(name), version)
      }
    })
  })

  it("while resources change it is compared as it would be from the start", () => {
    const size = 40
    const change = fc.record({
      upsert: fc.uniqueArray(fc.nat(size + 4), { maxLength: 6 }),
      remove: fc.uniqueArray(fc.nat(size + 4), { maxLength: 3 })
    })
    /** Of which state, and which of its resources: all, all but some, or some. */
    const client = fc.record({
      state: fc.nat(4),
      names: fc.uniqueArray(fc.nat(size + 4), { maxLength: 6 }),
      isAll: fc.boolean()
    })
    const resource = (index: number, content: number) =>
      Either.getOrThrow(
        Resource.make({ typeUrl: Cluster.typeUrl, name: `c${index}`, value: Uint8Array.of(index, content) })
      )
    const plan = fc.tuple(fc.array(change, { maxLength: 4 }), fc.array(client, { minLength: 1, maxLength: 6 }))
    check(plan, 300, ([changes, clients]) => {
      const interner = make(1_000_000)
      const first = Array.from({ length: size }, (_, index) => resource(index, 0))
      let set = Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(Cluster.typeUrl), first))
      const states = [set]
      for (const [at, { remove, upsert }] of [{ upsert: [], remove: [] }, ...changes].entries()) {
        set = Either.getOrThrow(
          ResourceSet.update(set, {
            // A change and back again, too.
            upsert: upsert.map((index) => resource(index, (at + index) % 2)),
            remove: remove.map((index) => `c${index}`)
          })
        )
        states.push(set)
        for (const { isAll, names, state } of clients) {
          const those = new Set(names.map((index) => `c${index}`))
          const versions = new Map(
            ResourceSet.all(states[state] ?? set).flatMap(({ name, version }) =>
              those.has(name) === isAll ? [] : [[name, version] as const]
            )
          )
          const message = create(DeltaDiscoveryRequestSchema, { initialResourceVersions: Object.fromEntries(versions) })
          const held = heldIn(interner, toBinary(DeltaDiscoveryRequestSchema, message))
          const asNumbers = Steps.toEnd(HeldVersions.compare(held, set))
          const asText = Steps.toEnd(HeldVersions.compare(versions, set))
          const sorted = (found: Steps.Steps<ReadonlyArray<Resource.Resource>>) =>
            Steps.toEnd(found)
              .map(({ name }) => name)
              .sort()
          assert.deepStrictEqual(sorted(asNumbers.unheld()), sorted(asText.unheld()))
          assert.deepStrictEqual(sorted(asNumbers.held()), sorted(asText.held()))
          assert.deepStrictEqual(ResourceSet.all(set).map(asNumbers.isHeld), ResourceSet.all(set).map(asText.isHeld))
          for (const [name, version] of versions) {
            if (ResourceSet.get(set, name)?.version !== version) assert.strictEqual(asNumbers.others.get(name), version)
          }
        }
      }
    })
  })

  it("★ clients that return while resources change: a change costs what it changes, not all that they hold", () => {
    const interner = make(16 * 1024 * 1024)
    const resource = (index: number, content: number) =>
      Either.getOrThrow(Resource.make({ typeUrl: Cluster.typeUrl, name: `c${index}`, value: Uint8Array.of(content) }))
    const all = Array.from({ length: 10_000 }, (_, index) => resource(index, 0))
    const first = Either.getOrThrow(ResourceSet.replace(ResourceSet.empty(Cluster.typeUrl), all))
    const versions = Object.fromEntries(all.map(({ name, version }) => [name, version]))
    const bytes = toBinary(
      DeltaDiscoveryRequestSchema,
      create(DeltaDiscoveryRequestSchema, { initialResourceVersions: versions })
    )
    const stepsOf = (set: ResourceSet.ResourceSet): number => {
      const work = HeldVersions.compare(heldIn(interner, bytes), set)
      let steps = 1
      for (let next = work.next(); next.done !== true; next = work.next()) steps++
      return steps
    }
    assert.isAbove(stepsOf(first), 100)
    let set = first
    for (let change = 0; change < 50; change++) {
      set = Either.getOrThrow(ResourceSet.update(set, { upsert: [resource(change, 1)] }))
      assert.isAtMost(stepsOf(set), 5)
      // Another client, of the same state.
      assert.strictEqual(stepsOf(set), 1)
    }
  })

  it("of incremental, in pieces: what it says that the client holds is taken out as they come, and it is the same", () => {
    const interner = make(1_000_000)
    const encoded = (request: MessageInitShape<typeof DeltaDiscoveryRequestSchema>) =>
      toBinary(DeltaDiscoveryRequestSchema, create(DeltaDiscoveryRequestSchema, request))
    const field = fc.oneof(
      fc
        .tuple(fc.string({ maxLength: 3 }), fc.string({ maxLength: 3 }))
        .map(([name, version]) => encoded({ initialResourceVersions: { [name]: version } })),
      fc
        .constantFrom(20, 100, 130, 700)
        .map((length) => encoded({ initialResourceVersions: { ["n".repeat(length)]: "1234567890123456" } })),
      fc
        .constantFrom(0, 1, 127, 128, 700)
        .map((length) => encoded({ node: { id: "i".repeat(length) }, resourceNamesSubscribe: ["s".repeat(length)] })),
      // A number, eight bytes, four bytes, a group, and what may be anything.
      fc.constantFrom(
        [0x40, 0x81, 0x01],
        [0x41, 1, 2, 3, 4, 5, 6, 7, 8],
        [0x45, 1, 2, 3, 4],
        [0x43, 0x44],
        [0x2a, 0x80],
        // A byte order mark before a name and a version; a name that is not UTF-8.
        [0x2a, 12, 0x0a, 4, 0xef, 0xbb, 0xbf, 0x61, 0x12, 4, 0xef, 0xbb, 0xbf, 0x31],
        [0x2a, 6, 0x0a, 1, 0xff, 0x12, 1, 0x31]
      ),
      fc.uint8Array({ minLength: 1, maxLength: 12 })
    )
    check(
      fc.tuple(fc.array(field, { maxLength: 8 }), fc.array(fc.nat(), { maxLength: 4 })),
      3_000,
      ([fields, cuts]) => {
        const bytes = Uint8Array.from(fields.flatMap((each) => Array.from(each)))
        const rest: Array<number> = []
        const reader = new HeldVersionsReader(interner, (bytes, start, end) => rest.push(...bytes.subarray(start, end)))
        const places = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
        let at = 0
        for (const place of places) {
          // A chunk is cut from a larger buffer, and what is before it is not its business.
          if (place > at) reader.push(bytes.subarray(Math.max(0, at - 1)), Math.min(1, at), place - Math.max(0, at - 1))
          at = place
        }
        reader.end()
        const inPieces = Request.decode("Incremental", Uint8Array.from(rest), reader)
        const whole = Request.decode("Incremental", bytes)
        const plain = Either.map((request: Request.Request) => {
          assert(request._tag === "Incremental")
          return { ...request, initialResourceVersions: Object.fromEntries(request.initialResourceVersions) }
        })
        if (Either.isLeft(inPieces) && Either.isLeft(whole)) assert.strictEqual(inPieces.left.size, whole.left.size)
        else assert.deepStrictEqual(plain(inPieces), plain(whole))
      }
    )
  })
})
