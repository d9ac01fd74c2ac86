import * as ChangeLog from "@effect-xds/core/resource/ChangeLog"
import * as LayeredGroup from "@effect-xds/core/resource/LayeredGroup"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { ResourceSpec } from "@effect-xds/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

const { Cluster, ClusterLoadAssignment, VirtualHost } = ResourceType
const given = process.env["XDS_SEED"] ?? "20260101"
const seed = given === "random" ? Date.now() % 2 ** 31 : Number(given)

const cluster = (name: string, content: number, more: Partial<ResourceSpec.ResourceSpec> = {}) =>
  ResourceSpec.toResource({ typeUrl: Cluster.typeUrl, name, content, ...more })
const groupOf = (...resources: ReadonlyArray<Resource>) =>
  Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, resources))
const updated = (group: ResourceGroup.ResourceGroup, change: ResourceGroup.Change) =>
  Either.getOrThrow(ResourceGroup.update(group, change))
const set = (group: ResourceGroup.ResourceGroup) => ResourceGroup.set(group, Cluster.typeUrl)
const contents = (group: ResourceGroup.ResourceGroup) =>
  Object.fromEntries(ResourceGroup.all(group).map(({ fingerprint, name }) => [name, fingerprint]))
const many = (count: number) => Array.from({ length: count }, (_, index) => cluster(`shared-${index}`, 0))

/** What is seen, by its definition: all of one's own, and of the base what has no name in common with it. */
const reference = (own: ReadonlyArray<Resource>, base: ReadonlyArray<Resource>): ReadonlyArray<Resource> => {
  const keysOf = ({ aliases, name, typeUrl }: Resource) => [name, ...aliases].map((key) => `${typeUrl} ${key}`)
  const taken = new Set(own.flatMap(keysOf))
  return [...own, ...base.filter((resource) => !keysOf(resource).some((key) => taken.has(key)))]
}

/** All that streams read of a set. */
const shown = (each: ResourceSet.ResourceSet, version: string) => {
  const sorted = (entries: Iterable<readonly [string, unknown]>) => Object.fromEntries(Array.from(entries).sort())
  return {
    resources: sorted(
      Array.from(each.resources, ([name, { fingerprint, version }]) => [name, `${fingerprint} ${version}`])
    ),
    fingerprints: sorted(each.cursor.fingerprints),
    aliases: sorted(each.aliases),
    cursorAliases: sorted(each.cursor.aliases),
    domains: sorted(each.cursor.domains),
    ttls: sorted(each.ttls),
    digest: each.digest,
    version,
    hasTtls: each.cursor.hasTtls
  }
}

const diff = (from: ResourceSet.ResourceSet, to: ResourceSet.ResourceSet) => {
  const { changed, removed } = Difference.of(to, from.cursor)
  return { changed: changed.map(({ name }) => name).sort(), removed: Array.from(removed.keys()).sort() }
}

const diffByContent = (from: ResourceSet.ResourceSet, to: ResourceSet.ResourceSet) => ({
  changed: ResourceSet.all(to)
    .filter(({ fingerprint, name }) => ResourceSet.get(from, name)?.fingerprint !== fingerprint)
    .map(({ name }) => name)
    .sort(),
  removed: ResourceSet.all(from)
    .filter(({ name }) => ResourceSet.get(to, name) === undefined)
    .map(({ name }) => name)
    .sort()
})

// A small world: the same names, aliases and contents come again and again, on both sides.
const types = [Cluster, ClusterLoadAssignment, VirtualHost]
const resource = fc
  .record({
    type: fc.constantFrom(...types),
    name: fc.constantFrom("a", "b", "c", "d", "e"),
    content: fc.integer({ min: 0, max: 2 }),
    aliases: fc.uniqueArray(fc.constantFrom("a", "c", "x", "y", "*"), { maxLength: 2 }),
    version: fc.constantFrom(undefined, undefined, "v1", "v2"),
    ttl: fc.constantFrom(undefined, undefined, 60_000)
  })
  .map(({ aliases, name, type, ...rest }) => {
    // Names of virtual hosts and their aliases are of a route configuration.
    const named = (text: string) => (type === VirtualHost ? `route/${text}` : text.replace("*", "z"))
    const others = aliases.filter((alias) => alias !== name).map(named)
    return ResourceSpec.toResource({ typeUrl: type.typeUrl, name: named(name), aliases: others, ...rest })
  })
const key = fc.record({
  typeUrl: fc.constantFrom(...types.map(({ typeUrl }) => typeUrl)),
  name: fc.constantFrom("a", "b", "c", "d", "e", "route/a", "route/b", "route/c")
})
const operation = fc.record({
  side: fc.constantFrom("own" as const, "base" as const),
  kind: fc.constantFrom("update", "update", "update", "replace"),
  upsert: fc.uniqueArray(resource, { maxLength: 3, selector: ({ name, typeUrl }) => `${typeUrl} ${name}` }),
  remove: fc.array(key, { maxLength: 2 }),
  label: fc.constantFrom(undefined, undefined, undefined, "release-1"),
  /** Whether others see what is between this change and the next. */
  settle: fc.constantFrom(true, true, true, false)
})

describe("LayeredGroup", () => {
  it("what is seen is what its definition says, after any changes of both", () => {
    fc.assert(
      fc.property(fc.array(operation, { minLength: 1, maxLength: 40 }), fc.boolean(), (operations, isServed) => {
        const groups = { own: ResourceGroup.empty, base: ResourceGroup.empty }
        let layered = isServed ? LayeredGroup.plain(groups.own) : LayeredGroup.make(groups.own, groups.base)
        for (const { kind, label, remove, settle, side, upsert } of operations) {
          const versions = label === undefined ? {} : { [Cluster.typeUrl]: label }
          const next =
            kind === "replace"
              ? ResourceGroup.replace(groups[side], upsert, versions)
              : ResourceGroup.update(groups[side], { upsert, remove, versions })
          // Two resources of one side that answer to one name.
          if (Either.isLeft(next)) continue
          groups[side] = next.right
          if (!settle) continue
          const before = layered
          layered = LayeredGroup.change(before, groups.own, groups.base)
          const all = reference(ResourceGroup.all(groups.own), ResourceGroup.all(groups.base))
          const expected = groupOf(...all)
          for (const { typeUrl } of types) {
            const seen = ResourceGroup.set(layered.seen, typeUrl)
            const hasOwn = ResourceSet.size(ResourceGroup.set(groups.own, typeUrl)) > 0
            const wanted = ResourceGroup.set(expected, typeUrl)
            const version = hasOwn ? wanted.version : ResourceGroup.set(groups.base, typeUrl).version
            assert.deepStrictEqual(shown(seen, seen.version), shown(wanted, version))
            const old = ResourceGroup.set(before.seen, typeUrl)
            assert.deepStrictEqual(diff(old, seen), diffByContent(old, seen))
            // A change that is none moves no cursor, one that is moves it by one.
            const isSame = diff(old, seen).changed.length + diff(old, seen).removed.length === 0
            if (isSame && hasOwn) assert.strictEqual(seen.cursor, old.cursor)
            // ★ The log tells what its streams have, whoever else keeps the same entry.
            const told = new Map<string, Resource | undefined>()
            for (const { before: was } of ChangeLog.changesSince(seen, old.cursor) ?? []) {
              for (const [name, each] of was) if (!told.has(name)) told.set(name, each)
            }
            for (const [name, each] of told) {
              assert.strictEqual(each?.fingerprint, ResourceSet.get(old, name)?.fingerprint)
            }
            assert.isAtMost(layered.drift.get(typeUrl) ?? 0, ResourceSet.size(ResourceGroup.set(groups.own, typeUrl)))
          }
        }
      }),
      { seed, numRuns: Number(process.env["XDS_RUNS"] ?? "12") * 25 }
    )
  })

  it("own wins; when it is removed, the base's is seen again; what the base changes below it is not seen", () => {
    const base = groupOf(cluster("a", 1), cluster("b", 1))
    const own = groupOf(cluster("a", 2))
    const first = LayeredGroup.make(own, base)
    assert.deepStrictEqual(contents(first.seen), contents(groupOf(cluster("a", 2), cluster("b", 1))))
    const below = updated(base, { upsert: [cluster("a", 3)] })
    const second = LayeredGroup.change(first, own, below)
    assert.strictEqual(set(second.seen).cursor, set(first.seen).cursor)
    const third = LayeredGroup.change(
      second,
      updated(own, { remove: [{ typeUrl: Cluster.typeUrl, name: "a" }] }),
      below
    )
    assert.deepStrictEqual(contents(third.seen), contents(below))
    // The log goes on: nothing is to be compared.
    assert.isTrue(Difference.isNear(set(third.seen), set(second.seen).cursor))
    assert.deepStrictEqual(diff(set(first.seen), set(third.seen)), { changed: ["a"], removed: [] })
    assert.strictEqual(set(third.seen).version, set(below).version)
  })

  it("a new label of the base's comes along with a change beside it", () => {
    const base = groupOf(cluster("a", 1, { version: "one" }), cluster("b", 1))
    const own = groupOf(...["c", "d", "e", "f"].map((name) => cluster(name, 1)))
    const next = updated(base, { upsert: [cluster("a", 1, { version: "two" }), cluster("b", 2)] })
    const { drift, seen } = LayeredGroup.change(LayeredGroup.make(own, base), own, next)
    assert.strictEqual(ResourceSet.get(set(seen), "a")?.version, "two")
    assert.strictEqual(drift.get(Cluster.typeUrl), 2)
  })

  it("who has nothing of its own sees the base itself", () => {
    const base = groupOf(...many(100))
    const first = LayeredGroup.make(ResourceGroup.empty, base)
    assert.strictEqual(first.seen, base)
    const next = updated(base, { upsert: [cluster("a", 1)] })
    assert.strictEqual(LayeredGroup.change(first, ResourceGroup.empty, next).seen, next)
  })

  it("a group that is served goes on from what its streams have when it is put over a base, and when it is not any more", () => {
    const own = groupOf(cluster("a", 1))
    const base = groupOf(cluster("b", 1))
    const over = LayeredGroup.change(LayeredGroup.plain(own), own, base)
    assert.deepStrictEqual(diff(set(own), set(over.seen)), { changed: ["b"], removed: [] })
    assert.strictEqual(set(over.seen).cursor.revision, set(own).cursor.revision + 1)
    const alone = LayeredGroup.change(over, own, ResourceGroup.empty)
    assert.deepStrictEqual(diff(set(over.seen), set(alone.seen)), { changed: [], removed: ["b"] })
    assert.isTrue(Difference.isNear(set(alone.seen), set(over.seen).cursor))
  })

  it("a change of the base costs the change: its difference is known at once, and many groups keep one entry for it", () => {
    const base = groupOf(...many(10_000))
    const next = updated(base, { upsert: [cluster("shared-7", 1)] })
    const seen = [1, 2].map((index) => {
      const own = groupOf(cluster(`own-${index}`, 0))
      const before = LayeredGroup.make(own, base)
      const after = LayeredGroup.change(before, own, next)
      const steps = LayeredGroup.layering(before, own, next)
      // Not one look at the ten thousand.
      assert.isTrue(steps.next().done)
      assert.isTrue(Difference.isNear(set(after.seen), set(before.seen).cursor))
      assert.deepStrictEqual(diff(set(before.seen), set(after.seen)), { changed: ["shared-7"], removed: [] })
      return ChangeLog.changesSince(set(after.seen), set(before.seen).cursor)?.[0]?.before
    })
    const inBase = ChangeLog.changesSince(set(next), set(base).cursor)?.[0]?.before
    assert.isDefined(inBase)
    for (const each of seen) assert.strictEqual(each, inBase)
  })

  it("the log of changes is as long as for the resources of its own: there may be a thousand such groups", () => {
    const entries = (group: ResourceGroup.ResourceGroup) => ChangeLog.entries(set(group)).length
    let base = groupOf(...many(2_000))
    const owned = [1, 700].map((count) =>
      groupOf(...Array.from({ length: count }, (_, index) => cluster(`own-${index}`, 0)))
    )
    let groups = owned.map((own) => LayeredGroup.make(own, base))
    for (let change = 0; change < 2_500; change++) {
      base = updated(base, { upsert: [cluster(`shared-${change % 2_000}`, change)] })
      groups = groups.map((group) => LayeredGroup.change(group, group.own, base))
    }
    assert.isAbove(entries(base), 1_900)
    // What is put over the base has the log of that, which it shares, until it has changes of its own.
    let late = LayeredGroup.make(groupOf(cluster("late", 0)), base)
    for (let change = 1; change <= 40; change++)
      late = LayeredGroup.change(late, groupOf(cluster("late", change)), base)
    const lengths = [...groups, late].map(({ seen }) => entries(seen))
    for (const [index, most] of [512, 700, 512].entries()) {
      assert.isAtMost(lengths[index] ?? 0, most)
      assert.isAbove(lengths[index] ?? 0, most - 40)
    }
  })

  it("a group over another one does not take the map of names that clients of that one look into", () => {
    const base = groupOf(...many(100))
    for (let index = 0; index < 100; index++) ResourceSet.find(set(base), `shared-${index}`)
    const map = set(base).computed.byName(set(base).resources)
    assert.isDefined(map)
    const { seen } = LayeredGroup.make(groupOf(cluster("own", 0)), base)
    assert.strictEqual(set(base).computed.byName(set(base).resources), map)
    assert.isUndefined(ResourceSet.find(set(base), "own"))
    assert.isDefined(ResourceSet.find(set(seen), "own"))
  })

  for (const [what, change] of [
    ["of all resources", { content: 1 }],
    ["of all labels", { content: 0, version: "next" }]
  ] as const) {
    it(`a change ${what} of the base is found, compared and logged in steps`, () => {
      const count = 4_096
      const base = groupOf(...many(count))
      const own = groupOf(cluster("own", 0))
      const next = updated(base, {
        upsert: many(count).map(({ name }) => cluster(name, change.content, change))
      })
      const work = LayeredGroup.layering(LayeredGroup.make(own, base), own, next)
      let steps = 0
      for (let step = work.next(); step.done !== true; step = work.next()) steps++
      // Each name is looked at three times at least.
      assert.isAtLeast(steps, (3 * count) / Steps.atOnce)
    })
  }
})
