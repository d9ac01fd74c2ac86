import { describe, expect, it } from "@effect/vitest"
import type { ResourceFile } from "@effect-xds/transport-filesystem"
import { Either } from "effect"
import * as ResourceIndex from "../src/internal/ResourceIndex.js"

/** A resource whose content is its name, and a number where it is to be another one. */
const resource = (file: string, text: string): ResourceFile.FileResource => ({
  typeUrl: "type.googleapis.com/envoy.config.cluster.v3.Cluster",
  name: text.replace(/\d/, ""),
  value: new TextEncoder().encode(text),
  version: undefined,
  ttl: undefined,
  aliases: [],
  constraints: undefined,
  file,
  line: undefined
})

type Files = Readonly<Record<string, string | null | undefined>>

/** Files with their names: `{ a: "x y" }`; `null`: the file is gone; `undefined`: it was not read in one piece. */
const step = (index: ResourceIndex.ResourceIndex, files: Files) => {
  const read = new Map<
    string,
    Either.Either<ReadonlyArray<ResourceFile.FileResource>, ResourceFile.ResourceFileError>
  >()
  const removed = new Set<string>()
  const unread = new Set<string>()
  for (const [file, names] of Object.entries(files)) {
    if (names === null) removed.add(file)
    else if (names === undefined) unread.add(file)
    else
      read.set(
        file,
        Either.right(
          names
            .split(" ")
            .filter(Boolean)
            .map((name) => resource(file, name))
        )
      )
  }
  return resultOf(ResourceIndex.step(index, { read, unread, removed }))
}

const resultOf = <A>(computation: Generator<undefined, A>): A => {
  for (let next = computation.next(); ; next = computation.next()) if (next.done === true) return next.value
}

const held = (index: ResourceIndex.ResourceIndex): Record<string, string> =>
  Object.fromEntries(
    Array.from(index.files, ([file, { error, inForce }]) => [
      file,
      `${inForce?.map(({ value }) => new TextDecoder().decode(value)).join(" ") ?? "-"}${error === undefined ? "" : " !"}`
    ])
  )

const after = (...steps: ReadonlyArray<Files>): ResourceIndex.ResourceIndex =>
  steps.reduce<ResourceIndex.ResourceIndex>((index, files) => step(index, files)[0], ResourceIndex.empty)

describe("a group's files", () => {
  it("read together give a name to the first by path, in whatever order they are read", () => {
    expect(held(after({ b: "x y", a: "x" }))).toEqual({ b: "- !", a: "x" })
    expect(after({ b: "x y", a: "x" }).isPublished).toBe(false)
  })

  it("keep a name from one that comes later, until it lets the name go or is gone", () => {
    const both = after({ b: "x" }, { a: "x y" })
    expect(held(both)).toEqual({ b: "x", a: "- !" })
    expect(held(step(both, { b: "z" })[0])).toEqual({ b: "z", a: "x y" })
    expect(held(step(both, { b: null })[0])).toEqual({ a: "x y" })
  })

  it("wait for one that was not read in one piece yet, and no longer when it is gone", () => {
    const index = after({ a: "x", b: undefined })
    expect(index.isPublished).toBe(false)
    expect(step(index, { a: "x y" })[0].isPublished).toBe(false)
    expect(step(index, { b: "z" })[0].isPublished).toBe(true)
    expect(step(index, { b: null })[0].isPublished).toBe(true)
    // What was read before stays in force.
    const [again] = step(step(index, { b: "z" })[0], { b: undefined })
    expect(held(again)).toEqual({ a: "x", b: "z" })
  })

  it("may exchange names in one step", () => {
    expect(held(after({ a: "x", b: "y" }, { a: "y", b: "x" }))).toEqual({ a: "y", b: "x" })
    expect(held(after({ a: "x" }, { a: null, b: "x" }))).toEqual({ b: "x" })
  })

  it("keep what they held when they are refused, also against what another was just given", () => {
    // c is refused because of a; then b cannot have what c goes on holding.
    const index = after({ a: "x", c: "z" }, { b: "z y", c: "x" })
    expect(held(index)).toEqual({ a: "x", b: "- !", c: "z !" })
    expect(Array.from(index.resources.keys(), (key) => key.split(" ")[1])).toEqual(["x", "z"])
    // When a lets go, all of it comes right.
    expect(held(step(index, { a: "w" })[0])).toEqual({ a: "w", b: "z y", c: "x" })
  })

  it("leave resources and events alone where nothing changes", () => {
    const index = after({ a: "x y" })
    const [same, events] = step(index, { a: "x y" })
    expect(same.resources).toBe(index.resources)
    expect(events.map(({ _tag }) => _tag)).toEqual(["Accepted"])
    const [next] = step(index, { a: "x1 y" })
    const y = "type.googleapis.com/envoy.config.cluster.v3.Cluster y"
    expect(next.resources.get(y)).toBe(index.resources.get(y))
    expect(next.resources).not.toBe(index.resources)
    // Refused twice for the same reason is told once.
    const [refused, told] = step(index, { b: "x" })
    expect(told.map(({ _tag }) => _tag)).toEqual(["Rejected"])
    expect(step(refused, { b: "x" })[1]).toEqual([])
  })

  it("lets others run while it looks at many resources", () => {
    const many = Array.from({ length: 10_000 }, (_, index) =>
      resource(
        "a",
        `x-${String(index)}`.replace(/\d/g, (digit) => "abcdefghij"[Number(digit)] ?? "")
      )
    )
    const computation = ResourceIndex.step(ResourceIndex.empty, {
      // Of one file alone it would look at them once.
      read: new Map([
        ["a", Either.right(many)],
        ["b", Either.right([resource("b", "y")])]
      ]),
      unread: new Set(),
      removed: new Set()
    })
    let turns = 0
    for (let next = computation.next(); next.done !== true; next = computation.next()) turns++
    // It looks at each of them three times.
    expect(turns).toBeGreaterThanOrEqual(27)
  })
})
