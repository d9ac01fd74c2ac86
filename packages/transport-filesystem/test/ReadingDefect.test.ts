/** A fault of ours while a file is read is told like a mistake in it, and all else goes on. */
import { eventually } from "@effect-xds/testing/Waiting"
import { expect, it } from "@effect/vitest"
import { ResourceDirectory, ResponseFile } from "@effect-xds/transport-filesystem"
import { Effect } from "effect"
import { vi } from "vitest"
import type * as DirectoryListing from "../src/internal/DirectoryListing.js"
import type * as YamlText from "../src/internal/YamlText.js"
import { cluster, clusters, temporary } from "./Directory.js"

const isBroken = vi.hoisted(() => ({ listing: false }))

vi.mock("../src/internal/YamlText.js", async (original) => {
  const module = await original<typeof YamlText>()
  return {
    ...module,
    parts: (text: string) => {
      if (text.includes("break the reader")) throw new RangeError("Maximum call stack size exceeded")
      return module.parts(text)
    }
  }
})

vi.mock("../src/internal/DirectoryListing.js", async (original) => {
  const module = await original<typeof DirectoryListing>()
  return {
    ...module,
    read: (options: Parameters<typeof module.read>[0]) => {
      if (isBroken.listing) throw new RangeError("Maximum call stack size exceeded")
      return module.read(options)
    }
  }
})

const said = "reading it failed, by a fault of this program: RangeError: Maximum call stack size exceeded"

const filesOf = (status: ResourceDirectory.DirectoryStatus) =>
  status.groups.map(({ files, group, isPublished, resources }) => ({
    group,
    isPublished,
    resources,
    errors: files.flatMap(({ error }) => (error === undefined ? [] : [error.detail]))
  }))

it.scopedLive("of one file leaves the others, and later edits, in force", () =>
  Effect.gen(function* () {
    const root = yield* temporary
    root.write("bad/a.yaml", `# break the reader\n${cluster("a")}`)
    root.write("good/b.yaml", cluster("b"))
    const directory = yield* ResourceDirectory.make(root.path)
    expect(filesOf(yield* directory.status)).toEqual([
      { group: "bad", isPublished: false, resources: 0, errors: [said] },
      { group: "good", isPublished: true, resources: 1, errors: [] }
    ])
    root.move("good/c.yaml", cluster("c"))
    root.move("bad/a.yaml", cluster("a"))
    yield* eventually(
      Effect.map(directory.status, (status) =>
        expect(filesOf(status)).toEqual([
          { group: "bad", isPublished: true, resources: 1, errors: [] },
          { group: "good", isPublished: true, resources: 2, errors: [] }
        ])
      )
    )
    root.move("bad/a.yaml", `# break the reader\n${cluster("x")}`)
    yield* eventually(
      Effect.map(directory.status, (status) =>
        expect(filesOf(status)[0]).toEqual({ group: "bad", isPublished: true, resources: 1, errors: [said] })
      )
    )
  })
)

it.scopedLive("of the directory is told, and is not the end of it", () =>
  Effect.gen(function* () {
    const root = yield* temporary
    root.write("one/a.yaml", cluster("a"))
    const directory = yield* ResourceDirectory.make(root.path)
    isBroken.listing = true
    root.move("one/b.yaml", cluster("b"))
    yield* eventually(
      Effect.map(directory.status, ({ rejected }) => expect(rejected.map(({ detail }) => detail)).toEqual([said]))
    )
    isBroken.listing = false
    root.move("one/c.yaml", cluster("c"))
    yield* eventually(
      Effect.map(directory.status, (status) => {
        expect(status.rejected).toEqual([])
        expect(filesOf(status)).toEqual([{ group: "one", isPublished: true, resources: 3, errors: [] }])
      })
    )
  })
)

it.scopedLive("of a response leaves what it held, and the next one is read", () =>
  Effect.gen(function* () {
    const root = yield* temporary
    root.write("cds.yaml", clusters("1", "a"))
    const file = yield* ResponseFile.make(root.at("cds.yaml"))
    root.move("cds.yaml", `# break the reader\n${clusters("2", "a", "b")}`)
    yield* eventually(
      Effect.map(file.status, ({ error, resources }) => expect([error?.detail, resources]).toEqual([said, 1]))
    )
    root.move("cds.yaml", clusters("3", "a", "b"))
    yield* eventually(
      Effect.map(file.status, ({ error, resources }) => expect([error, resources]).toEqual([undefined, 2]))
    )
  })
)
