/** The files of `--files-out`, of a store whose groups others name. */
import { create } from "@bufbuild/protobuf"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { SnapshotStore } from "@effect-xds/server"
import { Effect, Logger, Stream } from "effect"
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import * as FilesOut from "../src/FilesOut.js"
import { eventually, temporaryDirectory } from "./ServeProcess.js"

const endpoints = [create(ClusterLoadAssignmentSchema, { clusterName: "a" })]

/** Runs a test while a store is followed. */
const following = (
  path: string,
  test: (store: SnapshotStore.Service, errors: ReadonlyArray<string>) => Effect.Effect<void>,
  of: (store: SnapshotStore.Service) => SnapshotStore.Service = (store) => store
): Promise<void> => {
  const errors: Array<string> = []
  const logger = Logger.make(({ message }) => void errors.push(String(message)))
  return Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    yield* Effect.forkScoped(FilesOut.follow(path, of(store)))
    yield* test(store, errors)
  }).pipe(Effect.scoped, Effect.provide(Logger.replace(Logger.defaultLogger, logger)), Effect.runPromise)
}

describe("files of groups", () => {
  it.each(["../victim", "..", ".", "", "a/../../victim", "good/eds", "a\0b", "ä".repeat(128)])(
    "★ group %j is not written: its name is that of no subdirectory",
    async (name) => {
      const directory = temporaryDirectory()
      const precious = ["victim/eds/precious.json", "out/eds/precious.json", "eds/precious.json"]
      for (const path of precious) {
        mkdirSync(join(directory, path, ".."), { recursive: true })
        writeFileSync(join(directory, path), "{}")
      }
      const out = join(directory, "out")
      await following(out, (store, errors) =>
        Effect.gen(function* () {
          yield* Effect.orDie(store.set(name, { endpoints }))
          yield* Effect.orDie(store.set("good", { endpoints }))
          yield* Effect.promise(() => eventually(() => expect(existsSync(join(out, "good/eds/a.json"))).toBe(true)))
          yield* Effect.promise(() => eventually(() => expect(errors).toHaveLength(1)))
          yield* Effect.orDie(store.set(name, {}))
          yield* Effect.orDie(store.set("last", { endpoints }))
          yield* Effect.promise(() => eventually(() => expect(existsSync(join(out, "last/lds.json"))).toBe(true)))
          expect(errors).toEqual([`group ${JSON.stringify(name)} is not written: no directory can have this name`])
        })
      )
      for (const path of precious) {
        expect(readdirSync(join(directory, path, ".."))).toEqual(["precious.json"])
      }
      expect(readdirSync(join(out, "good")).sort()).toEqual(["cds.json", "eds", "lds.json"])
      expect(readdirSync(directory).sort()).toEqual(["eds", "out", "victim"])
      expect(readdirSync(out).sort()).toEqual(["eds", "good", "last"])
    }
  )

  it("are written when they can be, also where the directory of the group could not be made", async () => {
    const out = temporaryDirectory()
    writeFileSync(join(out, "edge"), "not a directory")
    await following(out, (store, errors) =>
      Effect.gen(function* () {
        yield* Effect.orDie(store.set("edge", { endpoints }))
        yield* Effect.promise(() => eventually(() => expect(errors).toHaveLength(1)))
        expect(errors[0]).toMatch(/edge.*\(group "edge" is not written yet\)$/)
        rmSync(join(out, "edge"))
        yield* Effect.promise(() => eventually(() => expect(existsSync(join(out, "edge/eds/a.json"))).toBe(true)))
      })
    )
  })

  it("are written from one stream of changes, however many groups there are, and hold the last state of each", async () => {
    const out = temporaryDirectory()
    let streams = 0
    const counted = (store: SnapshotStore.Service): SnapshotStore.Service => ({
      ...store,
      changes: Stream.suspend(() => {
        streams++
        return store.changes
      })
    })
    const names = Array.from({ length: 20 }, (_, index) => `g${index}`)
    const written = (name: string) => readdirSync(join(out, name, "eds")).sort()
    await following(
      out,
      (store) =>
        Effect.gen(function* () {
          for (const name of names) yield* Effect.orDie(store.set(name, { endpoints }))
          yield* Effect.promise(() => eventually(() => expect(names.map(written)).toEqual(names.map(() => ["a.json"]))))
          for (const clusterName of ["b", "c", "d"]) {
            const changed = [create(ClusterLoadAssignmentSchema, { clusterName })]
            for (const name of names) yield* Effect.orDie(store.set(name, { endpoints: changed }))
          }
          yield* Effect.promise(() => eventually(() => expect(names.map(written)).toEqual(names.map(() => ["d.json"]))))
        }),
      counted
    )
    expect(streams).toBe(1)
  })
})
