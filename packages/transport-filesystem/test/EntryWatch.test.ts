/** Many files share the watchers of their directories. */
import { fromBinary } from "@bufbuild/protobuf"
import { ClientRequest, Request } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Waiting from "@effect-xds/testing/Waiting"
import { ClientTransport } from "@effect-xds/transport"
import { FileClient } from "@effect-xds/transport-filesystem"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type * as NodeFs from "node:fs"
import { watch } from "node:fs"
import { vi } from "vitest"
import * as EntryWatch from "../src/internal/EntryWatch.js"
import * as PathLookup from "../src/internal/PathLookup.js"
import * as WayWatch from "../src/internal/WayWatch.js"
import * as Directories from "./Directory.js"

vi.mock("node:fs", async (original) => {
  const actual = await original<typeof NodeFs>()
  return { ...actual, watch: vi.fn(actual.watch) }
})

/** The watchers of a directory. */
const watchersOf = (path: string) =>
  vi.mocked(watch).mock.calls.flatMap(([watched], index) => {
    const result = vi.mocked(watch).mock.results[index]
    return watched === path && result?.type === "return" ? [result.value] : []
  })

/** Follows a file, and counts how often it is told. */
const following = (entries: EntryWatch.EntryWatch, path: string) =>
  Effect.gen(function* () {
    const told = { count: 0 }
    const file = entries.open(() => told.count++)
    yield* Effect.promise(() => WayWatch.follow(file, path))
    return { ...file, told }
  })

describe("A watch of entries", () => {
  it.scopedLive("is one for all files that a client reads", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const { typeUrl } = ResourceType.ClusterLoadAssignment
      const names = Array.from({ length: 20 }, (_, index) => `e${index}`)
      const write = (version: string) => {
        for (const name of names) {
          const resources = [{ "@type": typeUrl, cluster_name: name }]
          directory.move(`eds/${name}.json`, JSON.stringify({ version_info: version, type_url: typeUrl, resources }))
        }
      }
      write("1")
      const to = yield* FileClient.make({ quietPeriod: 5 }).connect({
        address: `path://${directory.path}`,
        credentials: ClientTransport.insecure
      })
      const versions: Array<string> = []
      const stream = to.open(
        { protocol: "StateOfTheWorld", typeUrl },
        {
          onOpen: () => stream.send(ClientRequest.encode(Request.stateOfTheWorld({ typeUrl, resourceNames: names }))),
          onMessage: (message) => {
            versions.push(fromBinary(DiscoveryResponseSchema, message).versionInfo)
            stream.next()
          },
          onEnd: () => undefined
        }
      )
      const heard = (version: string) =>
        Waiting.eventually(() => expect(versions.filter((each) => each === version)).toHaveLength(names.length))
      yield* heard("1")
      expect(watchersOf(directory.at("eds"))).toHaveLength(1)
      write("2")
      yield* heard("2")
    })
  )

  it.scopedLive("has one watcher for the files of a directory, and tells each of its own changes", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const entries = yield* EntryWatch.make(5_000)
      const a = yield* following(entries, directory.at("a.json"))
      const b = yield* following(entries, directory.at("b.json"))
      const again = yield* following(entries, directory.at("b.json"))
      const [watcher, ...others] = watchersOf(directory.path)
      expect(others).toEqual([])
      const close = vi.spyOn(watcher ?? expect.fail("it is not watched"), "close")

      directory.move("b.json", "1")
      yield* Waiting.eventually(() => expect([b.told.count > 0, again.told.count > 0]).toEqual([true, true]))
      expect(a.told.count).toBe(0)
      directory.move("a.json", "1")
      yield* Waiting.eventually(() => expect(a.told.count).toBeGreaterThan(0))

      // Who stays is told as before, and who left is not.
      a.close()
      b.close()
      const before = [a.told.count, b.told.count, again.told.count]
      directory.move("a.json", "2")
      directory.move("b.json", "2")
      yield* Waiting.eventually(() => expect(again.told.count).toBeGreaterThan(before[2] ?? 0))
      expect([a.told.count, b.told.count]).toEqual(before.slice(0, 2))
      expect(close).not.toHaveBeenCalled()
      again.close()
      expect(close).toHaveBeenCalledOnce()
    })
  )

  it.scopedLive("looks again for a file that others of its directory were watched before", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const entries = yield* EntryWatch.make(5_000)
      yield* following(entries, directory.at("a.json"))
      const b = entries.open(() => undefined)
      const [way] = Array.from((yield* Effect.promise(() => PathLookup.waysTo(directory.at("b.json")))).values())
      if (way === undefined) return expect.fail("there is no way")
      expect([b.add(directory.path, way), b.add(directory.path, way)]).toEqual([true, false])
    })
  )

  it.scopedLive("tells all files of a directory when one of them sees that it is another one", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const entries = yield* EntryWatch.make(5_000)
      const a = yield* following(entries, directory.at("a.json"))
      const b = entries.open(() => undefined)
      b.add(directory.path, { identity: "another", names: new Set(["b.json"]) })
      expect(a.told.count).toBeGreaterThan(0)
    })
  )

  it.scopedLive("adds nothing for a look that was under way when its file was closed", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const entries = yield* EntryWatch.make(5_000)
      const file = yield* following(entries, directory.at("a.json"))
      const way = { identity: "any", names: new Set(["a.json"]) }
      file.close()
      file.add(directory.path, way)
      yield* Effect.scoped(Effect.map(EntryWatch.make(5_000), (closed) => closed.open(() => undefined))).pipe(
        Effect.map((late) => late.add(directory.path, way))
      )
      expect(watchersOf(directory.path)).toHaveLength(1)
    })
  )
})
