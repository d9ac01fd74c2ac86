import { Engine } from "@effect-xds/transport-node"
import * as HeapGrowth from "@effect-xds/transport-node/HeapGrowth"
import { describe, expect, it } from "@effect/vitest"
import { constants, PerformanceObserver } from "node:perf_hooks"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"

const { NODE_PERFORMANCE_GC_MAJOR: major } = constants

const raised = "--heap-growing-percent=900"
const initial = "--heap-growing-percent=0"

/** The versions of V8 where it is raised: of Node 20 and 22. */
const measured = ["11.3.244.8-node.38", "12.4.254.21-node.57"]

/** What it sets at once. */
const flagsAt = (version: string, options: ReadonlyArray<string> = []): ReadonlyArray<string> => {
  const flags: Array<string> = []
  let isOver = false
  HeapGrowth.raise({
    version,
    options,
    // V8 may go through the heap while other tests run.
    setFlags: (flag) => {
      if (!isOver) flags.push(flag)
    }
  })
  isOver = true
  return flags
}

const kindOf = (entry: object): unknown => {
  const detail: unknown = Reflect.get(entry, "detail")
  return typeof detail === "object" && detail !== null ? Reflect.get(detail, "kind") : undefined
}

describe("how far V8's heap grows", () => {
  it("is raised at once on Node 20 and 22, and nowhere else", () => {
    for (const version of measured) expect(flagsAt(version), version).toEqual([raised])
    // Those of Node 18, 21, 23, 24 and 26, and names of which a known one is the beginning or the end.
    const others = ["10.2.154.26-node.36", "11.8.172.17", "12.9.202.28", "13.6.233.17-node.53", "14.6.202.34"]
    for (const version of [...others, "", "11", "11.30.1.1", "111.3.1.1"]) expect(flagsAt(version), version).toEqual([])
  })

  it("is left alone where Node was given a size of the heap", () => {
    const given = [
      ["--max-old-space-size=64"],
      ["--enable-source-maps", "--max_old_space_size", "64"],
      ["--max-heap-size=64"],
      ["--initial-old-space-size=64"],
      ["--initial-heap-size=64"],
      ["--heap-growing-percent=50"],
      ["--optimize-for-size"]
    ]
    for (const version of measured) {
      for (const options of given) expect(flagsAt(version, options), options.join(" ")).toEqual([])
      expect(flagsAt(version, ["--max-semi-space-size=64"])).toEqual([raised])
    }
  })

  it("is V8's own again when it has gone through all of the heap, and only then", async () => {
    setFlagsFromString("--expose-gc")
    const flags: Array<string> = []
    let isGoneThrough = false
    let arrived = (): void => undefined
    const observer = new PerformanceObserver((list) => {
      // V8 may also do so by itself meanwhile.
      isGoneThrough ||= list.getEntries().some((entry) => kindOf(entry) === major)
      arrived()
    })
    HeapGrowth.raise({ version: "11.3", options: [], setFlags: (flag) => flags.push(flag) })
    // After that of the growth, so that it is told after it.
    observer.observe({ entryTypes: ["gc"] })
    const after = async (collect: string) => {
      const told = new Promise<void>((resolve) => (arrived = resolve))
      runInNewContext(collect)
      // Those who observe are told by the event loop, which they do not wake.
      const awake = setInterval(() => undefined, 5)
      await told
      clearInterval(awake)
      return { flags: Array.from(flags), isGoneThrough }
    }
    const minor = await after("gc({ type: 'minor' })")
    expect(minor.flags).toEqual(minor.isGoneThrough ? [raised, initial] : [raised])
    for (let turn = 0; turn < 2; turn++) {
      expect(await after("gc()")).toEqual({ flags: [raised, initial], isGoneThrough: true })
    }
    observer.disconnect()
  })

  it("is told to the V8 of this process", () => {
    const { options, version } = Engine.ofProcess
    expect(version).toBe(process.versions.v8)
    expect(options).toEqual(expect.arrayContaining(process.execArgv))
  })
})
