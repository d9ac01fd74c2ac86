/** What cannot be read for want of descriptors, or for a fault of the disk, is tried again: no change tells that it can be. */
import { fromBinary } from "@bufbuild/protobuf"
import { ClientRequest, Request } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { eventually } from "@effect-xds/testing/Waiting"
import { ClientTransport } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { FileClient, type FileEvent, ResourceDirectory, ResponseFile } from "@effect-xds/transport-filesystem"
import { type Duration, Effect, Logger, type Scope, Stream, TestClock } from "effect"
import type * as Fs from "node:fs/promises"
import { basename } from "node:path"
import { vi } from "vitest"
import { cluster, clusters, temporary } from "./Directory.js"

/** The codes with which files and directories cannot be opened, by their names, and how often each was tried. */
const faults = vi.hoisted(() => ({ codes: new Map<string, string>(), tries: new Map<string, number>() }))

vi.mock("node:fs/promises", async (original) => {
  const module = await original<typeof Fs>()
  const faulty =
    <Args extends ReadonlyArray<unknown>, A>(real: (...args: Args) => Promise<A>) =>
    async (...args: Args): Promise<A> => {
      const name = basename(String(args[0]))
      const code = faults.codes.get(name)
      faults.tries.set(name, (faults.tries.get(name) ?? 0) + 1)
      if (code === undefined) return real(...args)
      throw Object.assign(new Error(`${code}: no luck`), { code })
    }
  return { ...module, open: faulty(module.open), readdir: faulty(module.readdir) }
})

/** From here on what has this name cannot be opened. */
const breaks = (name: string, code: string) =>
  Effect.acquireRelease(
    Effect.sync(() => void faults.codes.set(name, code)),
    () => Effect.sync(() => void faults.codes.delete(name))
  )

const heals = (name: string): void => void faults.codes.delete(name)

const triesOf = (name: string): number => faults.tries.get(name) ?? 0

const tagsOf = (events: ReadonlyArray<FileEvent>) => events.map(({ _tag, path }) => [_tag, basename(path)])

/** Reads with the clock of the test, and without a quiet period: what the machine tells is looked at at once. */
const heard = <A extends { readonly events: Stream.Stream<FileEvent> }>(make: Effect.Effect<A, never, Scope.Scope>) =>
  Effect.gen(function* () {
    const lines: Array<string> = []
    const logger = Logger.make(({ message }) => void lines.push(String(message)))
    const source = yield* Effect.provide(make, Logger.replace(Logger.defaultLogger, logger))
    const events: Array<FileEvent> = []
    yield* source.events.pipe(
      Stream.runForEach((event) => Effect.sync(() => events.push(event))),
      Effect.forkScoped
    )
    yield* Effect.yieldNow()
    return { source, events, lines }
  })

const options = { quietPeriod: 0 }

/** The time passes, and what has this name was tried so often. */
const isTried = (name: string, times: number, after: Duration.DurationInput) =>
  Effect.zipRight(
    TestClock.adjust(after),
    eventually(() => expect(triesOf(name)).toBe(times))
  )

const groupsOf = ({ status }: ResourceDirectory.ResourceDirectory) =>
  Effect.map(status, ({ groups }) =>
    groups.map(({ files, group, isPublished, resources }) => ({
      group,
      isPublished,
      resources,
      files: files.map(({ error, path, state }) => [basename(path), state, error?.detail])
    }))
  )

const detail = "too many files are open; raise the limit (ulimit -n); it is tried again"

describe("a file of a directory that cannot be read now", () => {
  it.scoped("is tried again, less and less often, told once, and its group waits for it", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      root.write("edge/a.yaml", cluster("a"))
      root.write("edge/b.yaml", cluster("b"))
      yield* breaks("b.yaml", "EMFILE")
      const { events, lines, source } = yield* heard(ResourceDirectory.make(root.path, options))
      const waiting = [
        ["a.yaml", "Accepted", undefined],
        ["b.yaml", "Rejected", detail]
      ]
      expect(yield* groupsOf(source)).toEqual([{ group: "edge", isPublished: false, resources: 1, files: waiting }])
      for (const [index, seconds] of [1, 2, 4, 8, 16, 30, 30, 30].entries()) {
        yield* TestClock.adjust(seconds * 1_000 - 1)
        yield* isTried("b.yaml", index + 2, 1)
      }
      expect(triesOf("a.yaml")).toBe(1)
      expect(events).toEqual([])
      heals("b.yaml")
      yield* TestClock.adjust("30 seconds")
      const files = [
        ["a.yaml", "Accepted", undefined],
        ["b.yaml", "Accepted", undefined]
      ]
      yield* eventually(
        Effect.map(groupsOf(source), (groups) =>
          expect(groups).toEqual([{ group: "edge", isPublished: true, resources: 2, files }])
        )
      )
      expect(tagsOf(events)).toEqual([["Accepted", "b.yaml"]])
      expect(lines.filter((line) => line.includes("b.yaml"))).toEqual([
        `${root.at("edge/b.yaml")}: ${detail} (it was never good, so nothing of it is in force)`,
        `${root.at("edge/b.yaml")}: accepted again, 1 resources`
      ])
    })
  )

  it.scoped.each(["EMFILE", "ENFILE", "EIO"])("keeps in force what it held: %s", (code) =>
    Effect.gen(function* () {
      const root = yield* temporary
      root.write("edge/a.yaml", cluster("a"))
      const { events, source } = yield* heard(ResourceDirectory.make(root.path, options))
      yield* breaks("a.yaml", code)
      root.move("edge/a.yaml", `${cluster("a")}---\n${cluster("b")}`)
      yield* eventually(() => expect(tagsOf(events)).toEqual([["Rejected", "a.yaml"]]))
      const [broken] = yield* groupsOf(source)
      expect(broken).toMatchObject({
        isPublished: true,
        resources: 1,
        files: [["a.yaml", "Rejected", expect.anything()]]
      })
      heals("a.yaml")
      yield* TestClock.adjust("1 second")
      yield* eventually(() => expect(tagsOf(events).slice(1)).toEqual([["Accepted", "a.yaml"]]))
      expect(yield* groupsOf(source)).toMatchObject([{ isPublished: true, resources: 2 }])
    })
  )
})

describe("a directory that cannot be read now", () => {
  it.scoped("is tried again, and what was in it stays in force", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      root.write("edge/deep/a.yaml", cluster("a"))
      const { events, lines, source } = yield* heard(ResourceDirectory.make(root.path, options))
      yield* breaks("deep", "EIO")
      root.write("edge/deep/b.yaml", cluster("b"))
      yield* eventually(() => expect(tagsOf(events)).toEqual([["Rejected", "deep"]]))
      expect(yield* source.status).toMatchObject({ rejected: [{ reason: "Unreadable" }], groups: [{ resources: 1 }] })
      heals("deep")
      yield* TestClock.adjust("1 second")
      yield* eventually(
        Effect.map(source.status, (status) =>
          expect(status).toMatchObject({ rejected: [], groups: [{ resources: 2 }] })
        )
      )
      expect(tagsOf(events).slice(1)).toEqual([
        ["Returned", "deep"],
        ["Accepted", "b.yaml"]
      ])
      expect(lines.at(-1)).toBe(`${root.at("edge/deep")}: read again`)
    })
  )
})

describe("a file with a response that cannot be read now", () => {
  it.scoped("is tried again", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      root.write("cds.yaml", clusters("1", "a"))
      yield* breaks("cds.yaml", "ENFILE")
      const { events, source } = yield* heard(ResponseFile.make(root.at("cds.yaml"), options))
      expect(yield* source.status).toMatchObject({ state: "Rejected", resources: 0, error: { detail } })
      yield* isTried("cds.yaml", 2, "1 second")
      yield* TestClock.adjust("1 second")
      yield* isTried("cds.yaml", 3, "1 second")
      expect(events).toEqual([])
      heals("cds.yaml")
      yield* TestClock.adjust("4 seconds")
      yield* eventually(() => expect(tagsOf(events)).toEqual([["Accepted", "cds.yaml"]]))
      expect(yield* source.status).toMatchObject({ state: "Accepted", resources: 1, error: undefined })
    })
  )
})

describe("a client's directory that cannot be listed now", () => {
  const { typeUrl } = ResourceType.ClusterLoadAssignment
  const options = { quietPeriod: 0, format: "json" } as const

  it.scoped("is tried again", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      const resources = [{ "@type": typeUrl, cluster_name: "a" }]
      root.write("eds/a.json", JSON.stringify({ version_info: "1", type_url: typeUrl, resources }))
      yield* breaks("eds", "EMFILE")
      const to = yield* FileClient.make(options).connect({
        address: `path://${root.path}`,
        credentials: ClientTransport.insecure
      })
      const versions: Array<string> = []
      const stream = to.open(
        { protocol: "StateOfTheWorld", typeUrl },
        {
          onOpen: () => stream.send(ClientRequest.encode(Request.stateOfTheWorld({ typeUrl }))),
          onMessage: (message) => versions.push(fromBinary(DiscoveryResponseSchema, message).versionInfo),
          onEnd: () => undefined
        }
      )
      yield* isTried("eds", 1, 0)
      yield* isTried("eds", 2, "1 second")
      expect(versions).toEqual([])
      heals("eds")
      yield* TestClock.adjust("2 seconds")
      yield* eventually(() => expect(versions).toEqual(["1"]))
    })
  )

  it.scoped("is none to connect to, as its files' format is not known", () =>
    Effect.gen(function* () {
      const root = yield* temporary
      root.write("cds.yaml", clusters("1", "a"))
      yield* breaks(basename(root.path), "EMFILE")
      const transport = FileClient.make({ quietPeriod: 0 })
      const server = { address: `path://${root.path}`, credentials: ClientTransport.insecure }
      const error = yield* Effect.flip(transport.connect(server))
      expect(error.reason).toBe("too many files are open; raise the limit (ulimit -n)")
      heals(basename(root.path))
      yield* transport.connect(server)
    })
  )
})
