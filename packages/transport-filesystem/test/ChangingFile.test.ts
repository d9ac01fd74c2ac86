/** A file that is replaced, or written to, in the moment in which it is read. */
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { ResourceDirectory, ResponseFile } from "@effect-xds/transport-filesystem"
import { Effect, Option, Stream } from "effect"
import { basename } from "node:path"
import { vi } from "vitest"
import type * as FileContent from "../src/internal/FileContent.js"
import { cluster, clusters, type Directory, temporary } from "./Directory.js"

/** What happens to files while they are read for the first time, by their names. */
const whileRead = vi.hoisted(() => new Map<string, () => void>())

vi.mock("../src/internal/FileContent.js", async (original) => {
  const module = await original<typeof FileContent>()
  return {
    ...module,
    read: async (path: string, ...rest: [maxBytes: number, known?: FileContent.Signature]) => {
      const change = whileRead.get(basename(path))
      whileRead.delete(basename(path))
      if (change === undefined) return module.read(path, ...rest)
      change()
      return { _tag: "Changing" }
    }
  }
})

/** A directory with a group of two files, of which the second is changing while the first look is under way. */
const reading = (change: (root: Directory) => void) =>
  Effect.gen(function* () {
    const root = yield* temporary
    root.write("edge/a.yaml", cluster("a"))
    root.write("edge/b.yaml", cluster("b"))
    whileRead.set("b.yaml", () => change(root))
    const directory = yield* ResourceDirectory.make(root.path, { quietPeriod: 5 })
    const [group] = (yield* directory.status).groups
    expect(group?.isPublished).toBe(false)
    expect(group?.files.map(({ path, resources, state }) => [basename(path), state, resources])).toEqual([
      ["a.yaml", "Accepted", 1],
      ["b.yaml", "Missing", 0]
    ])
    const first = yield* Stream.runHead(directory.changes)
    return Option.map(first, ({ resources }) => resources.map(({ name }) => name))
  })

describe("a file that changes while it is first read", () => {
  it.scopedLive("is waited for by its group: clients would lose what is in it", () =>
    Effect.gen(function* () {
      expect(yield* reading((root) => root.move("edge/b.yaml", cluster("c")))).toEqual(Option.some(["a", "c"]))
    })
  )

  it.scopedLive("is not waited for when it is gone", () =>
    Effect.gen(function* () {
      expect(yield* reading((root) => root.remove("edge/b.yaml"))).toEqual(Option.some(["a"]))
    })
  )

  it.scopedLive("is not one that was accepted", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      root.write("cds.yaml", clusters("1", "a"))
      whileRead.set("cds.yaml", () => root.move("cds.yaml", clusters("2")))
      const file = yield* ResponseFile.make(root.at("cds.yaml"), { quietPeriod: 5 })
      expect(yield* file.status).toMatchObject({ state: "Missing", resources: 0 })
      yield* eventually(
        Effect.map(file.status, (status) => expect(status).toMatchObject({ state: "Accepted", resources: 0 }))
      )
    })
  )
})
