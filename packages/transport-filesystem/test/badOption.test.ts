/** Numbers that are no limits, as NaN of a variable of the environment that is not set, and those that say that there is none. */
import { describe, expect, it } from "@effect/vitest"
import { ClientTransport } from "@effect-xds/transport"
import {
  FileClient,
  ResourceDirectory,
  ResourceFile,
  ResponseDirectory,
  ResponseFile
} from "@effect-xds/transport-filesystem"
import { Cause, Effect, Exit } from "effect"
import { withDefaults } from "../src/internal/ReadOptions.js"
import { cluster, temporary } from "./Directory.js"

/** What it fails with, or dies of. */
const failureOf = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.exit(effect), (exit) => {
    if (Exit.isSuccess(exit)) return "none"
    const error = Cause.squash(exit.cause)
    return error instanceof Error ? error.message : String(error)
  })

describe("NaN is refused", () => {
  it.scoped.each([
    ["quietPeriod", 0],
    ["maxDelay", 0],
    ["pollInterval", 1],
    ["maxFileBytes", 0],
    ["maxFiles", 0]
  ] as const)("as %s", ([name, least]) =>
    Effect.gen(function* () {
      const { path } = yield* temporary
      const options = { [name]: Number.NaN }
      const said = `${name} must be ${least} or more, not NaN`
      expect(yield* failureOf(ResourceDirectory.make(path, options))).toBe(said)
      const server = { address: `path://${path}`, credentials: ClientTransport.insecure }
      expect(yield* failureOf(FileClient.make(options).connect(server))).toContain(said)
      if (name !== "maxFiles") expect(yield* failureOf(ResponseFile.make(`${path}/a.json`, options))).toBe(said)
    })
  )

  it.scoped("by what writes", () =>
    Effect.gen(function* () {
      const { path } = yield* temporary
      const said = yield* failureOf(ResponseDirectory.make(path, { stepDelay: Number.NaN }))
      expect(said).toBe("stepDelay must be 0 or more, not NaN")
      expect(yield* failureOf(ResponseDirectory.make(path, { mode: Number.NaN }))).toBe(
        "mode must be 0 or more, not NaN"
      )
    })
  )

  it.effect("by what reads a file once", () =>
    Effect.gen(function* () {
      const said = yield* failureOf(ResourceFile.readResources("a.yaml", { maxFileBytes: Number.NaN }))
      expect(said).toBe("maxFileBytes must be 0 or more, not NaN")
    })
  )
})

it.scoped("Infinity is no limit", () =>
  Effect.gen(function* () {
    const root = yield* temporary
    root.write("edge/a.yaml", cluster("a"))
    const options = { maxFileBytes: Infinity, maxFiles: Infinity, pollInterval: Infinity }
    const { status } = yield* ResourceDirectory.make(root.path, options)
    expect((yield* status).groups).toMatchObject([{ isPublished: true, resources: 1 }])
    expect(yield* ResourceFile.readResources(root.at("edge/a.yaml"), { maxFileBytes: Infinity })).toHaveLength(1)
    // A timer of Node with more would fire all the time.
    expect(withDefaults(options).pollInterval).toBe(2 ** 31 - 1)
  })
)
