import type { ServerTransport } from "@effect-xds/transport"
import { Chunk, Effect, Either, Fiber, Logger, Option, TestClock, TestContext } from "effect"
import { execFileSync } from "node:child_process"
import { appendFileSync, rmSync, writeFileSync } from "node:fs"
import { stat } from "node:fs/promises"
import { join } from "node:path"
import { setImmediate } from "node:timers/promises"
import { describe, expect, it, vi } from "vitest"
import { Composer } from "yaml"
import * as AllowList from "../src/AllowList.js"
import { replaceFile, temporaryDirectory } from "./ServeProcess.js"

const peer = (names: ReadonlyArray<string>, commonName?: string): ServerTransport.Peer => ({
  address: "10.0.0.1:1",
  identity: { commonName, subjectAltNames: names, fingerprint: "" }
})

const rulesOf = (...flags: ReadonlyArray<string>): ReadonlyArray<AllowList.Rule> =>
  flags.map(AllowList.parseFlag).filter((rule) => typeof rule !== "string")

/** The group that is read, or the code of the status. */
const decide = async (flags: ReadonlyArray<string>, who: ServerTransport.Peer, group: string): Promise<string> => {
  const { allow } = await Effect.runPromise(AllowList.make(rulesOf(...flags), undefined))
  return Effect.runPromise(Effect.merge(Effect.mapError(allow(who, group), ({ code }) => code)))
}

const denied = "PERMISSION_DENIED"

describe("an allow list", () => {
  it("names who reads which group", async () => {
    const edge = peer(["URI:spiffe://corp/edge", "DNS:edge-1.corp"], "edge one")
    for (const rule of [
      "spiffe://corp/edge=edge",
      "URI:spiffe://corp/edge=edge",
      "DNS:edge-1.corp=edge",
      "dns:EDGE-1.corp=edge",
      "CN:edge one=edge"
    ]) {
      expect(await decide([rule], edge, "edge"), rule).toBe("edge")
      expect(await decide([rule], edge, "billing"), rule).toBe(denied)
      expect(await decide([rule], peer([], undefined), "edge"), rule).toBe(denied)
    }
    expect(await decide(["spiffe://corp/edge=canary,edge"], edge, "edge")).toBe("edge")
    expect(await decide(["spiffe://corp/edge=*"], edge, "anything")).toBe("anything")
    expect(await decide(["*=edge"], edge, "edge")).toBe("edge")
    expect(await decide(["*=edge"], { address: "", identity: undefined }, "edge")).toBe("UNAUTHENTICATED")
    expect(await decide([], edge, "edge")).toBe(denied)
  })

  it("does not take one kind of name for another, nor a part of one for the whole", async () => {
    for (const [rule, who] of [
      ["spiffe://corp/edge", peer(["URI:spiffe://corp/edge/1"])],
      ["spiffe://corp/edge", peer(["URI:spiffe://corp/edg"])],
      ["spiffe://corp/edge", peer([], "spiffe://corp/edge")],
      ["spiffe://corp/Edge", peer(["URI:spiffe://corp/edge"])],
      ["spiffe://corp/edge/*", peer(["URI:spiffe://corp/edge"])],
      ["spiffe://corp/edge/*", peer(["URI:spiffe://corp/edge/"])],
      ["spiffe://corp/edge/*", peer(["URI:spiffe://corp/edger/1"])],
      ["DNS:*.corp", peer(["DNS:corp"])],
      ["DNS:*.corp", peer(["DNS:a.b.corp"])],
      ["DNS:*.corp", peer([], "a.corp")],
      ["DNS:a.corp", peer(["DNS:a.corp.evil.example"])],
      ["CN:edge", peer(["DNS:edge"])]
    ] as const) {
      expect(await decide([`${rule}=edge`], who, "edge"), rule).toBe(denied)
    }
    expect(await decide(["spiffe://corp/edge/*=edge"], peer(["URI:spiffe://corp/edge/a/b"]), "edge")).toBe("edge")
    expect(await decide(["DNS:*.corp=edge"], peer(["DNS:a.corp"]), "edge")).toBe("edge")
    expect(await decide(["IP:10.0.0.1=edge"], peer(["IP Address:10.0.0.1"]), "edge")).toBe("edge")
  })

  it("refuses in words what is no rule", async () => {
    for (const [flag, words] of [
      ["edge", "is not IDENTITY=GROUP"],
      ["edge=edge", "is no identity; write spiffe://"],
      ["DNS:=edge", "is no identity"],
      ["DNS:a=", "has no group"],
      ["spiffe://corp/*/edge=edge", "a star stands for"],
      ["DNS:a.*=edge", "a star stands for"],
      ["CN:*=edge", "a star stands for"],
      ["spiffe://corp*=edge", "a star stands for"]
    ] as const) {
      expect(AllowList.parseFlag(flag), flag).toContain(words)
    }
    expect(await AllowList.parseFile("- a")).toContain("is not a map")
    expect(await AllowList.parseFile("a: [")).toBe("it is not YAML")
    expect(await AllowList.parseFile("'CN:a': [17]")).toContain("not all names")
    expect(await AllowList.parseFile("")).toEqual([])
    expect(await AllowList.parseFile("CN:a: edge\n---\nCN:b: edge\n")).toBe("it is not YAML")
    expect(await AllowList.parseFile("CN:a: edge\nCN:b: edge\nCN:a: canary\n")).toBe('"CN:a" is there twice')
  })

  it("is no pipe, which nobody may ever write to", async () => {
    const pipe = join(temporaryDirectory(), "pipe")
    execFileSync("sh", ["-c", 'mkfifo "$0"', pipe])
    const { message } = await Effect.runPromise(Effect.flip(AllowList.make([], pipe)))
    expect(message).toContain(`--allow-file ${pipe} cannot be used: ${pipe} is not a regular file`)
  })

  const long = (count: number): string =>
    Array.from({ length: count }, (_, index) => `spiffe://corp/ns/service-${index}: [edge]\n`).join("")

  it("★ is read in parts if it is long: others have their turns meanwhile", async () => {
    let turns = 0
    let isRead = false
    const others = async (): Promise<void> => {
      for (; !isRead; turns++) await setImmediate()
    }
    const reading = AllowList.parseFile(`%YAML 1.2\n---\n# All of them.\n${long(5_000)}`)
    void others()
    const rules = await reading
    isRead = true
    expect(rules).toHaveLength(5_000)
    expect(rules[4_999]).toEqual({ identity: "URI:spiffe://corp/ns/service-4999", groups: ["edge"] })
    expect(turns).toBeGreaterThan(5)
    // What is there twice may be in different parts, and so may an anchor and its alias.
    const twice = `${long(500)}spiffe://corp/ns/service-7: canary\n`
    expect(await AllowList.parseFile(twice)).toBe('"spiffe://corp/ns/service-7" is there twice')
    const aliased = await AllowList.parseFile(`CN:a: &all [edge, canary]\n${long(500)}CN:b: *all\n`)
    expect(aliased.at(-1)).toEqual({ identity: "CN:b", groups: ["edge", "canary"] })
    expect(await AllowList.parseFile(`${long(500)}CN:a: [\n`)).toBe("it is not YAML")
  })

  it.each([
    ["JSON", (members: ReadonlyArray<string>) => `{${members.join(",")}}`],
    ["JSON in lines", (members: ReadonlyArray<string>) => `{\n  ${members.join(",\n  ")}\n}\n`],
    [
      "braces with a comma at the end",
      (members: ReadonlyArray<string>) => `--- # all\n{ ${members.join(" , ")}, }\n...\n`
    ]
  ])("is read in parts as %s, too, and wrong where it would be as a whole", async (_, write) => {
    const members = (count: number) =>
      Array.from({ length: count }, (_, index) => `"spiffe://corp/ns/service-${index}": ["edge"]`)
    const compose = vi.spyOn(Composer.prototype, "compose")
    const rules = await AllowList.parseFile(write(members(2_500)))
    expect(compose).toHaveBeenCalledTimes(25 + Number(write([]).includes(",")))
    vi.restoreAllMocks()
    expect(rules).toHaveLength(2_500)
    expect(rules[2_499]).toEqual({ identity: "URI:spiffe://corp/ns/service-2499", groups: ["edge"] })
    const twice = write([...members(250), members(8)[7] ?? ""])
    expect(await AllowList.parseFile(twice)).toBe('"spiffe://corp/ns/service-7" is there twice')
    for (const count of [99, 100, 101, 250]) {
      expect(await AllowList.parseFile(write(members(count)))).toHaveLength(count)
      // Two commas, wherever the parts begin.
      expect(await AllowList.parseFile(write([...members(count), "", "CN:a: b"]))).toBe("it is not YAML")
      expect(await AllowList.parseFile(write([...members(count), "CN:a: ["]))).toBe("it is not YAML")
      expect(await AllowList.parseFile(`${write(members(count))}}`)).toBe("it is not YAML")
    }
    expect(await AllowList.parseFile(write(["", ...members(100)]))).toBe("it is not YAML")
  })

  it("★ is read once for all clients that come while it changes, and goes on if the first of them leaves", async () => {
    const file = join(temporaryDirectory(), "allow.yaml")
    writeFileSync(file, "spiffe://corp/edge: edge\n")
    const { allow } = await Effect.runPromise(AllowList.make([], file))
    replaceFile(file, "spiffe://corp/edge: [edge, canary]\n")
    const one = Effect.either(allow(peer(["URI:spiffe://corp/edge"]), "canary"))
    const [waits, answers] = await Effect.gen(function* () {
      const first = yield* Effect.fork(one)
      const isOn = Effect.map(Fiber.poll(first), Option.isNone)
      while ((yield* isOn) && Chunk.isEmpty(yield* TestClock.sleeps())) yield* Effect.promise(() => setImmediate())
      const others = yield* Effect.forEach(Array.from({ length: 20 }), () => Effect.fork(one))
      while ((yield* Effect.forEach(others, (each) => each.status)).some(({ _tag }) => _tag !== "Suspended")) {
        yield* Effect.promise(() => setImmediate())
      }
      yield* Effect.promise(() => stat(file))
      yield* Effect.promise(() => setImmediate())
      const waits = Chunk.size(yield* TestClock.sleeps())
      yield* Fiber.interruptFork(first)
      yield* TestClock.adjust("50 millis")
      return [waits, yield* Effect.forEach(others, Fiber.join)] as const
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
    expect(waits).toBe(1)
    expect(answers.every(Either.isRight)).toBe(true)
  })

  it("has as much work with a client whether it has one rule or ten thousand", async () => {
    const flags = Array.from({ length: 20_000 }, (_, index) => `spiffe://corp/ns/service-${index}/*=edge`)
    const { allow } = await Effect.runPromise(AllowList.make(rulesOf(...flags), undefined))
    const url = `URI:spiffe://${"/".repeat(50_000)}`
    const stranger = peer([url, ...Array.from({ length: 100 }, (_, index) => `URI:spiffe://corp/other/${index}/a`)])
    const { user: before } = process.cpuUsage()
    for (let count = 0; count < 100; count++) {
      expect(Either.isLeft(await Effect.runPromise(Effect.either(allow(stranger, "edge"))))).toBe(true)
    }
    // With a look at each rule it is seconds, with each part of the long name a minute.
    expect(process.cpuUsage().user - before).toBeLessThan(1_000_000)
    expect(await Effect.runPromise(allow(peer(["URI:spiffe://corp/ns/service-19999/a"]), "edge"))).toBe("edge")
  })

  it("is not read again for every stream while the file is of no use, and no longer than a list can be", async () => {
    const file = join(temporaryDirectory(), "allow.yaml")
    writeFileSync(file, "spiffe://corp/edge: edge\n")
    const { allow } = await Effect.runPromise(AllowList.make([], file))
    const ask = () => Effect.runPromise(Effect.either(allow(peer(["URI:spiffe://corp/edge"]), "edge")))
    replaceFile(file, "spiffe://corp/edge: [\n")
    await ask()
    const isWaitedFor = await Effect.gen(function* () {
      const asked = yield* Effect.fork(allow(peer(["URI:spiffe://corp/edge"]), "edge"))
      const isOn = Effect.map(Fiber.poll(asked), Option.isNone)
      while ((yield* isOn) && Chunk.isEmpty(yield* TestClock.sleeps())) yield* Effect.promise(() => setImmediate())
      return yield* isOn
    }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
    expect(isWaitedFor).toBe(false)
    expect(Either.isRight(await ask())).toBe(true)
    replaceFile(file, "#".repeat(1_000_001))
    const { message } = await Effect.runPromise(Effect.flip(AllowList.make([], file)))
    expect(message).toContain("it has 1000001 bytes, the limit is 1000000")
  })

  it("is read from a file again when that changes, and stays while the file is of no use", async () => {
    const file = join(temporaryDirectory(), "allow.yaml")
    writeFileSync(file, "spiffe://corp/edge: edge\n")
    const lines: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void lines.push(String(message)))
    )
    const { allow } = await Effect.runPromise(AllowList.make([], file))
    const may = async (group: string): Promise<boolean> =>
      Either.isRight(
        await Effect.runPromise(Effect.provide(Effect.either(allow(peer(["URI:spiffe://corp/edge"]), group)), logger))
      )
    expect([await may("edge"), await may("canary")]).toEqual([true, false])
    replaceFile(file, "spiffe://corp/edge: [edge, canary]\n")
    expect([await may("edge"), await may("canary")]).toEqual([true, true])
    replaceFile(file, "spiffe://corp/edge: [\n")
    expect([await may("edge"), await may("canary")]).toEqual([true, true])
    const told = () => lines.filter((line) => line.includes("its last good content stays in force"))
    expect(told()).toHaveLength(1)
    rmSync(file)
    expect([await may("edge"), await may("canary")]).toEqual([true, true])
    expect(told()).toHaveLength(2)
    replaceFile(file, "spiffe://corp/other: '*'\n")
    expect([await may("edge"), await may("canary")]).toEqual([false, false])
    const failure = await Effect.runPromise(Effect.flip(AllowList.make([], "/no/such/file")))
    expect(failure.message).toContain("--allow-file /no/such/file cannot be used")
  })

  it("★ stays while the file is written: an empty one, and half of one, throw nobody out", async () => {
    const file = join(temporaryDirectory(), "allow.yaml")
    writeFileSync(file, "spiffe://corp/edge: edge\n")
    const { allow } = await Effect.runPromise(AllowList.make([], file))
    const lines: Array<string> = []
    const logger = Logger.replace(
      Logger.defaultLogger,
      Logger.make(({ message }) => void lines.push(String(message)))
    )
    const may = async (): Promise<boolean> =>
      Either.isRight(
        await Effect.runPromise(Effect.provide(Effect.either(allow(peer(["URI:spiffe://corp/edge"]), "edge")), logger))
      )
    // A program that has opened it, and takes its time.
    writeFileSync(file, "")
    expect(await may()).toBe(true)
    expect(lines).toEqual([
      `--allow-file ${file} cannot be used, its last good content stays in force: it is empty; {} lets nobody read anything`
    ])
    // One that writes line by line.
    writeFileSync(file, "spiffe://corp/other: edge\n")
    const during = await Effect.gen(function* () {
      const asked = yield* Effect.fork(allow(peer(["URI:spiffe://corp/edge"]), "edge"))
      const isOn = Effect.map(Fiber.poll(asked), Option.isNone)
      while ((yield* isOn) && Chunk.isEmpty(yield* TestClock.sleeps())) yield* Effect.promise(() => setImmediate())
      appendFileSync(file, "spiffe://corp/edge: edge\n")
      yield* TestClock.adjust("50 millis")
      return yield* Effect.either(asked)
    }).pipe(Effect.provide(TestContext.TestContext), Effect.provide(logger), Effect.runPromise)
    expect(Either.isRight(during)).toBe(true)
    expect(lines).toHaveLength(1)
    expect(await may()).toBe(true)
    expect(lines.slice(1)).toEqual([`--allow-file ${file} changed and is in force: 2 identities`])
    writeFileSync(file, "{}\n")
    expect(await may()).toBe(false)
  })
})
