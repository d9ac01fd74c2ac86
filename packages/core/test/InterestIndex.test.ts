import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as NameTable from "@effect-xds/core/server/NameTable"
import type { Interest } from "@effect-xds/core/server/ServerStream"
import { ResourceType } from "@effect-xds/proto"
import { describe, expect, it } from "@effect/vitest"
import { Either } from "effect"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import { InterestIndex, type Slices } from "@effect-xds/core/server/InterestIndex"

const CDS = ResourceType.Cluster.typeUrl
const VHDS = ResourceType.VirtualHost.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl

const resource = (typeUrl: string, name: string, content: string, aliases: ReadonlyArray<string> = []) =>
  Either.getOrThrow(Resource.make({ typeUrl, name, aliases, value: new TextEncoder().encode(`${name} ${content}`) }))

const by = (typeUrl: string, ...names: ReadonlyArray<string>): Interest => ({
  typeUrl,
  everything: false,
  names: NameTable.fromIterable(names.map((name) => [name, ""] as const))
})
const all = (typeUrl: string): Interest => ({ typeUrl, everything: true, names: NameTable.empty() })

const before = Either.getOrThrow(
  ResourceGroup.replace(ResourceGroup.empty, [
    resource(CDS, "a", "1"),
    resource(CDS, "b", "1"),
    resource(EDS, "a", "1"),
    resource(EDS, "b", "1", ["alias of b"]),
    resource(EDS, "c", "1")
  ])
)
const after = (...upsert: ReadonlyArray<Resource.Resource>) =>
  Either.getOrThrow(ResourceGroup.update(before, { upsert }))

const concerned = (interests: InterestIndex<string>, next: ResourceGroup.ResourceGroup): ReadonlyArray<string> => {
  const seen: Array<string> = []
  interests.forEach(before, next, (item) => seen.push(item))
  return seen.toSorted()
}

describe("InterestIndex", () => {
  it("a change of a member concerns those who ask for its collection, until they do no more", () => {
    const interests = new InterestIndex<string>(7)
    interests.set("one", [by(EDS, "xdstp://a/T/x/*")])
    interests.set("two", [by(EDS, "xdstp://a/T/*", "a")])
    interests.set("three", [by(CDS, "xdstp://a/T/x/*")])
    expect(concerned(interests, after(resource(EDS, "xdstp://a/T/x/1", "1")))).toEqual(["one"])
    expect(concerned(interests, after(resource(EDS, "xdstp://a/T/1", "1")))).toEqual(["two"])
    expect(concerned(interests, after(resource(EDS, "xdstp://a/T/1?k=v", "1")))).toEqual([])
    interests.set("two", [by(EDS, "a")])
    expect(concerned(interests, after(resource(EDS, "xdstp://a/T/1", "1")))).toEqual([])
    expect(concerned(interests, after(resource(EDS, "xdstp://a/T/x/1", "1")))).toEqual(["one"])
    interests.delete("one")
    expect(concerned(interests, after(resource(EDS, "xdstp://a/T/x/1", "1")))).toEqual([])
  })

  it("a change concerns those who ask for it by name, by alias or for everything, and nobody else", () => {
    const interests = new InterestIndex<string>(7)
    interests.set("one", [all(CDS), by(EDS, "a", "b")])
    interests.set("two", [all(CDS), by(EDS, "b", "c")])
    interests.set("three", [by(CDS, "b"), by(EDS, "alias of b")])
    interests.set("four", [all(EDS)])
    expect(concerned(interests, after(resource(EDS, "a", "2")))).toEqual(["four", "one"])
    expect(concerned(interests, after(resource(EDS, "b", "2")))).toEqual(["four", "one", "three", "two"])
    expect(concerned(interests, after(resource(CDS, "a", "2")))).toEqual(["one", "two"])
    expect(concerned(interests, after(resource(CDS, "b", "2"), resource(EDS, "c", "2")))).toEqual([
      "four",
      "one",
      "three",
      "two"
    ])
    expect(concerned(interests, after(resource(EDS, "new", "1")))).toEqual(["four"])
    expect(concerned(interests, after(resource(EDS, "c", "1")))).toEqual([])
    const gone = Either.getOrThrow(ResourceGroup.update(before, { remove: [{ typeUrl: EDS, name: "c" }] }))
    expect(concerned(interests, gone)).toEqual(["four", "two"])
  })

  it("follows what is asked for, and forgets those who end", () => {
    const interests = new InterestIndex<string>(7)
    const changed = after(resource(EDS, "a", "2"))
    interests.set("one", [by(EDS, "a")])
    expect(concerned(interests, changed)).toEqual(["one"])
    interests.set("one", [by(EDS, "b")])
    expect(concerned(interests, changed)).toEqual([])
    interests.set("one", [all(EDS)])
    expect(concerned(interests, changed)).toEqual(["one"])
    interests.set("one", [by(EDS, "a", "b")])
    expect(concerned(interests, changed)).toEqual(["one"])
    interests.delete("one")
    expect(concerned(interests, changed)).toEqual([])
    interests.someInTurn(() => expect.fail("nobody is there"))
  })

  it("has no entry of what is not asked for any more: names, everything, types", () => {
    const interests = new InterestIndex<string>(7)
    expect(interests.size()).toBe(0)
    interests.set("one", [all(CDS), by(EDS, "a", "b")])
    interests.set("two", [all(CDS), by(EDS, "b")])
    expect(interests.size()).toBe(2 + 2 + 3)
    // A type that is not there any more at all, and one of which nothing is asked for.
    interests.set("one", [by(EDS)])
    expect(interests.size()).toBe(2 + 1 + 1)
    expect(concerned(interests, after(resource(CDS, "a", "2")))).toEqual(["two"])
    interests.set("two", [all(EDS)])
    expect(interests.size()).toBe(1 + 1)
    interests.set("two", [by(EDS)])
    expect(interests.size()).toBe(0)
    interests.set("two", [all(CDS)])
    interests.delete("two")
    interests.delete("one")
    expect(interests.size()).toBe(0)
  })

  it("holds on to nobody who left, also between two turns", async () => {
    V8.setFlagsFromString("--expose_gc")
    const collect = new Vm.Script("gc()")
    const interests = new InterestIndex<object>(7)
    const stays = {}
    const join = () => {
      const those = Array.from({ length: 1_000 }, () => ({}))
      for (const item of [stays, ...those]) interests.set(item, [by(EDS, "a")])
      interests.someInTurn(() => undefined)
      for (const item of those) interests.delete(item)
      return those.map((item) => new WeakRef(item))
    }
    const left = join()
    const held = () => left.filter((item) => item.deref() !== undefined).length
    for (let turns = 0; turns < 20 && held() > 0; turns++) {
      await new Promise((resolve) => setImmediate(resolve))
      collect.runInNewContext()
    }
    expect(held()).toBe(0)
    interests.someInTurn((item) => expect(item).toBe(stays))
  })

  it("everybody gets a turn within a bounded number of changes", () => {
    const interests = new InterestIndex<string>(7)
    for (let index = 0; index < 1_000; index++) interests.set(`${index}`, [by(EDS, `${index}`)])
    const seen = new Set<string>()
    for (let change = 0; change < 70; change++) interests.someInTurn((item) => seen.add(item))
    expect(seen.size).toBe(1_000)
  })

  it("many names are noted and forgotten in slices; until then every change concerns who asks", () => {
    const many = (first: number) => by(EDS, ...Array.from({ length: 10_000 }, (_, at) => `name-${first + at}`))
    const finish = (slices: Slices | undefined): number => {
      let count = 0
      if (slices !== undefined) for (count = 1; slices.next().done !== true; count++);
      return count
    }
    const interests = new InterestIndex<string>(7)
    interests.set("other", [by(EDS, "a")])
    const noted = interests.set("one", [many(0)])
    noted?.next()
    expect(concerned(interests, after(resource(EDS, "b", "2")))).toEqual(["one"])
    // 1 024 names at a time: one is done, the last one sees the end.
    expect(finish(noted)).toBe(9)
    expect(concerned(interests, after(resource(EDS, "b", "2")))).toEqual([])
    expect(concerned(interests, after(resource(EDS, "name-9999", "2")))).toEqual(["one"])

    const changed = interests.set("one", [many(5_000)])
    changed?.next()
    // It goes in the middle of it: nothing of what it asked for before or after stays.
    expect(finish(interests.delete("one"))).toBeGreaterThanOrEqual(19)
    for (const name of ["name-0", "name-5000", "name-14999"]) {
      expect(concerned(interests, after(resource(EDS, name, "2")))).toEqual([])
    }
    expect(concerned(interests, after(resource(EDS, "a", "2")))).toEqual(["other"])
    expect(interests.size()).toBe(2)
    expect(interests.delete("other")).toBeUndefined()
    expect(interests.size()).toBe(0)
  })

  it("★ who comes back before its names are forgotten keeps those that it asks for again, and is visited in the meantime", () => {
    const many = (first: number) => by(EDS, ...Array.from({ length: 5_000 }, (_, at) => `name-${first + at}`))
    const toEnd = (...all: ReadonlyArray<Slices | undefined>) => {
      for (const slices of all) while (slices !== undefined && slices.next().done !== true) continue
    }
    const touched = (...names: ReadonlyArray<string>) => after(...names.map((name) => resource(EDS, name, "2")))
    // The removal ends before the names are indexed, after that, or in turns with it.
    for (const first of ["removal", "indexing", "neither"]) {
      const interests = new InterestIndex<string>(7)
      toEnd(interests.set("one", [many(0)]))
      const removal = interests.delete("one")
      removal?.next()
      const indexing = interests.set("one", [many(3_000)])
      if (first === "removal") toEnd(removal)
      else if (first === "neither") {
        indexing?.next()
        removal?.next()
      }
      if (first !== "indexing") {
        // Its names are not all indexed yet, so every change concerns it, and every name is asked for.
        expect(concerned(interests, touched("a")), first).toEqual(["one"])
        expect(interests.isNamed(EDS, "name-7999"), first).toBe(true)
      }
      toEnd(indexing, removal)
      expect(interests.size(), first).toBe(1 + 5_000)
      expect(concerned(interests, touched("name-0")), first).toEqual([])
      for (const name of ["name-3000", "name-4999", "name-7999"]) {
        expect(concerned(interests, touched(name)), first).toEqual(["one"])
      }
      toEnd(interests.delete("one"))
      expect(interests.size(), first).toBe(0)
    }
  })

  it("★ who left is not visited, even if its many names are not forgotten yet", () => {
    const names = ["a", ...Array.from({ length: 2_000 }, (_, at) => `name-${at}`)]
    const interests = new InterestIndex<string>(7)
    for (const item of ["one", "two"]) {
      const indexing = interests.set(item, [by(EDS, ...names)])
      while (indexing?.next().done === false) continue
    }
    const removal = interests.delete("one")
    const visited: Array<string> = []
    interests.forName(EDS, "a", (item) => visited.push(item))
    expect(visited).toEqual(["two"])
    expect(concerned(interests, after(resource(EDS, "a", "2")))).toEqual(["two"])
    while (removal?.next().done === false) continue
    expect(concerned(interests, after(resource(EDS, "a", "2")))).toEqual(["two"])
  })

  it("★ what is not indexed yet counts: on-demand work gives up what nobody subscribes to", () => {
    const names = (first: number) => Array.from({ length: 2_000 }, (_, at) => `r/h${first + at}.x`)
    const interests = new InterestIndex<string>(7)
    interests.set("other", [by(VHDS, "r/h5.x")])
    const noted = interests.set("one", [by(VHDS, ...names(0))])
    expect(interests.isNamed(VHDS, "r/h1999.x")).toBe(true)
    expect(interests.isSubscribed(VHDS, "r/*.x")).toBe(true)
    expect(interests.isSubscribed(VHDS, "r/h1999.*")).toBe(true)
    while (noted?.next().done === false) continue

    const changed = interests.set("one", [by(VHDS, ...names(1_000))])
    for (const when of ["before", "in the middle", "after"]) {
      expect(interests.isNamed(VHDS, "r/h0.x"), when).toBe(false)
      expect(interests.isSubscribed(VHDS, "r/h999.*"), when).toBe(false)
      expect(interests.isNamed(VHDS, "r/h5.x"), when).toBe(true)
      expect(interests.isNamed(VHDS, "r/h1000.x"), when).toBe(true)
      expect(interests.isSubscribed(VHDS, "r/h2999.*"), when).toBe(true)
      expect(interests.isNamed(CDS, "r/h2999.x"), when).toBe(false)
      if (when === "before") changed?.next()
      else while (changed?.next().done === false) continue
    }
  })

  it("★ one more name beside ten thousand costs one", () => {
    const listed = Array.from({ length: 10_000 }, (_, at) => `name-${at}`)
    const interests = new InterestIndex<string>(7)
    const first = by(EDS, ...listed)
    const noted = interests.set("one", [first])
    while (noted?.next().done === false) continue
    const request = (
      subscribe: ReadonlyArray<string>,
      dropped: ReadonlyArray<string>,
      from: Interest,
      to: Interest
    ) => ({ typeUrl: EDS, listed: subscribe, dropped, isAnsweredAgain: true, before: from.names, after: to.names })
    const second = { ...first, names: NameTable.set(NameTable.remove(first.names, "name-7"), "new", "") }
    // At once: more than 1 024 names would be slices.
    expect(interests.set("one", [second], request(["new", "name-8"], ["name-7", "not there"], first, second))).toBe(
      undefined
    )
    expect(interests.isNamed(EDS, "new")).toBe(true)
    expect(interests.isNamed(EDS, "name-7")).toBe(false)
    expect(interests.isNamed(EDS, "name-8")).toBe(true)
    expect(interests.isNamed(EDS, "name-9999")).toBe(true)
    expect(interests.size()).toBe(1 + 10_000)
    // A request that does not tell all, and one of another type: everything is visited.
    const third = { ...second, names: NameTable.remove(NameTable.remove(second.names, "name-1"), "name-2") }
    const rest = interests.set("one", [third], request([], ["name-1"], second, third))
    while (rest?.next().done === false) continue
    expect(interests.isNamed(EDS, "name-2")).toBe(false)
    const fourth = { ...third, names: NameTable.set(third.names, "name-1", "") }
    const others = interests.set("one", [fourth], { ...request(["name-2"], [], third, fourth), typeUrl: CDS })
    while (others?.next().done === false) continue
    expect(interests.isNamed(EDS, "name-1")).toBe(true)
    expect(interests.size()).toBe(1 + 9_999)
  })
})
