import { describe, expect, it } from "@effect/vitest"
import { Effect, HashMap, Logger } from "effect"
import type { FileEvent } from "../src/FileEvent.js"
import * as FileLog from "../src/internal/FileLog.js"
import { ResourceFileError } from "../src/ResourceFile.js"

const errorOf = (file: string) =>
  new ResourceFileError({
    reason: "Empty",
    file,
    line: undefined,
    column: undefined,
    path: "",
    detail: "the file is empty"
  })

const rejected = (path: string): FileEvent => ({ _tag: "Rejected", path, error: errorOf(path), inForce: undefined })
const accepted = (path: string): FileEvent => ({ _tag: "Accepted", path, resources: 1 })

/** The lines that a log writes of events; `rejected` stays at one, as another file is. */
const linesOf = (...looks: ReadonlyArray<ReadonlyArray<FileEvent>>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ annotations, message }) => {
      lines.push(`${String(message)}${HashMap.isEmpty(annotations) ? "" : " …"}`)
    })
    yield* Effect.gen(function* () {
      const log = yield* FileLog.make
      for (const events of looks) yield* log.tell(events, 1)
    }).pipe(Effect.scoped, Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    return lines
  })

describe("FileLog", () => {
  it.effect("tells that a file is accepted again that was rejected, once", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf([rejected("a.json")], [accepted("a.json")], [accepted("a.json")])
      expect(lines).toEqual([
        "a.json: the file is empty (it was never good, so nothing of it is in force)",
        "a.json: accepted again, 1 resources"
      ])
    })
  )

  it.effect("forgets that a file was rejected when it goes", () =>
    Effect.gen(function* () {
      const gone: FileEvent = { _tag: "Removed", path: "a.json", resources: 0 }
      const lines = yield* linesOf([rejected("a.json")], [gone], [accepted("a.json")])
      expect(lines).toEqual([
        "a.json: the file is empty (it was never good, so nothing of it is in force)",
        "a.json: removed, and its 0 resources with it"
      ])
    })
  )

  it.effect("remembers it while the directory around it is away", () =>
    Effect.gen(function* () {
      const lines = yield* linesOf([rejected("a.json")], [{ _tag: "Missing", path: "a.json" }], [accepted("a.json")])
      expect(lines.at(-1)).toBe("a.json: accepted again, 1 resources")
    })
  )
})
