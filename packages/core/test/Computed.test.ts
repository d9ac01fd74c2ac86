import { Computed } from "@effect-xds/core/resource/Computed"
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Resources from "@effect-xds/core/resource/Resource"
import * as ResourceSets from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import { ResourceType } from "@effect-xds/proto"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

const { typeUrl } = ResourceType.Cluster

const resources = (size: number): NameTrie.NameTrie<Resource> =>
  NameTrie.fromIterable(
    Array.from({ length: size }, (_, number) => {
      const name = `cluster-${number}`
      return [name, Either.getOrThrow(Resources.make({ typeUrl, name, value: new Uint8Array() }))] as const
    })
  )

const from = (number: number, value: number) => {
  const name = `cluster-${number}`
  return Either.getOrThrow(Resources.make({ typeUrl, name, value: new Uint8Array([value]) }))
}
const update = (set: ResourceSets.ResourceSet, change: ResourceSets.Change) =>
  Either.getOrThrow(ResourceSets.update(set, change))

describe("the map of a set's resources", () => {
  it("is made with as many look-ups as there are resources, and has all of them", () => {
    const all = resources(3)
    const computed = new Computed()
    assert.strictEqual(computed.byName(all), undefined)
    assert.strictEqual(computed.byName(all), undefined)
    const made = computed.byName(all)
    assert.deepStrictEqual(new Map(all), made)
    assert.strictEqual(computed.byName(all), made)
  })

  it("is not made for many resources: that would hold up others", () => {
    const all = resources(16_385)
    const computed = new Computed()
    for (let lookUp = 0; lookUp < 40_000; lookUp++) assert.strictEqual(computed.byName(all), undefined)
  })

  const sizes = { small: Steps.atOnce, large: Steps.atOnce + 1 }

  it("goes on to the next set with a small change, and has what that has", () => {
    const names = Array.from({ length: 200 }, (_, number) => `cluster-${number}`)
    for (const size of Object.values(sizes)) {
      const first = update(ResourceSets.empty(typeUrl), { upsert: names.map((_, number) => from(number, 0)) })
      for (const name of names) ResourceSets.find(first, name)
      const known = first.computed.byName(first.resources)
      assert.isDefined(known)
      const upsert = names.slice(1, size).map((_, number) => from(number + 1, 1))
      const second = update(first, { upsert: [...upsert, from(300, 1)].slice(1), remove: ["cluster-0"] })
      assert.strictEqual(second.computed.byName(second.resources), size === sizes.small ? known : undefined)
      for (const set of [first, second]) {
        for (const name of [...names, "cluster-300"])
          assert.strictEqual(ResourceSets.find(set, name), ResourceSets.get(set, name))
      }
      // Labels alone are no change, but another resource.
      const third = update(second, { upsert: [{ ...from(5, 1), version: "label" }, from(6, 2)] })
      assert.strictEqual(ResourceSets.find(third, "cluster-5")?.version, "label")
    }
  })

  it("is with one of two sets that come from one", () => {
    const made = (name: string, value: number) =>
      Either.getOrThrow(Resources.make({ typeUrl, name, value: new Uint8Array([value]) }))
    const first = Either.getOrThrow(
      ResourceSets.update(ResourceSets.empty(typeUrl), { upsert: [made("a", 1), made("b", 1)] })
    )
    for (const name of ["a", "b"]) ResourceSets.find(first, name)
    const [one, other] = [2, 3].map((value) =>
      Either.getOrThrow(ResourceSets.update(first, { upsert: [made("a", value)], remove: value === 3 ? ["b"] : [] }))
    )
    for (const set of [one, other, first, one]) {
      assert.isDefined(set)
      for (const name of ["a", "b"]) assert.strictEqual(ResourceSets.find(set, name), ResourceSets.get(set, name))
    }
  })
})

describe("the list of a set's resources", () => {
  it.prop(
    "goes on after changes, and has what a new one has, in the same order",
    [
      fc.array(
        fc.record({
          names: fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 8 }),
          value: fc.integer({ min: 0, max: 2 }),
          isRemoval: fc.boolean(),
          isListed: fc.boolean()
        }),
        { maxLength: 12 }
      )
    ],
    ([changes]) => {
      let set = update(ResourceSets.empty(typeUrl), {
        upsert: Array.from({ length: 50 }, (_, number) => from(number, 0))
      })
      for (const { isListed, isRemoval, names, value } of changes) {
        const isGone = isRemoval && names.length > 6
        set = update(
          set,
          isGone
            ? { remove: names.map((name) => `cluster-${name}`) }
            : { upsert: names.map((name) => from(name, value)) }
        )
        if (isListed) assert.deepStrictEqual(ResourceSets.all(set), Array.from(set.resources.values()))
      }
      const list = ResourceSets.all(set)
      assert.strictEqual(ResourceSets.all(set), list)
      assert.deepStrictEqual(list, Array.from(set.resources.values()))
    },
    { fastCheck: { numRuns: 300 } }
  )

  it("is walked no more after a small change", () => {
    const first = update(ResourceSets.empty(typeUrl), {
      upsert: Array.from({ length: 1_000 }, (_, number) => from(number, 0))
    })
    ResourceSets.all(first)
    const steps = (set: ResourceSets.ResourceSet): number => {
      const work = ResourceSets.listing(set)
      let count = 1
      while (work.next().done !== true) count++
      return count
    }
    const small = update(first, { upsert: [from(1, 1)] })
    const next = update(small, { upsert: [from(2, 1), from(1, 2)] })
    assert.isAtMost(steps(next), 3)
    // Each name is looked for in it: of many, that takes longer than a new list.
    const many = update(next, { upsert: Array.from({ length: Steps.atOnce + 1 }, (_, number) => from(number, 3)) })
    assert.isAtLeast(steps(many), 1_000 / Steps.atOnce)
  })
})
