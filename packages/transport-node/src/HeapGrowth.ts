/**
 * How far the heap grows until V8 goes through all of it. V8 does so for the first time when a server has read a part of its code, and
 * again when there is about four times as much: that is where a server is that has just started, so it comes while its clients come,
 * and makes them up to a third dearer. So there may be ten times as much once.
 *
 * It is in no index: it is to be called before the rest of a server is loaded, and loads nothing of it.
 *
 * @since 0.1.0
 */
import { constants, PerformanceObserver } from "node:perf_hooks"
import * as Engine from "./Engine.js"

const { NODE_PERFORMANCE_GC_MAJOR: major } = constants

const flag = "--heap-growing-percent"

/** Percent by which the heap may grow, after a collection of 13 to 16 MB: to about 150 MB. */
const raised = 900

/** V8's own way. */
const initial = 0

/** By the version of V8, where it was measured, and pays; docs/performance.md has the figures. */
const measured: ReadonlySet<string> = new Set(["11.3", "12.4"])

/** What says how large the heap is to be. */
const sizes = [
  flag,
  "--initial-heap-size",
  "--initial-old-space-size",
  "--max-heap-size",
  "--max-old-space-size",
  "--optimize-for-size"
]

/** Whether V8 has gone through all of the heap. */
const isMajor = (collection: object): boolean => {
  const detail: unknown = Reflect.get(collection, "detail")
  return typeof detail === "object" && detail !== null && Reflect.get(detail, "kind") === major
}

/**
 * Raises the growth until V8 has gone through all of the heap for the first time; it is V8's own then. So it is to be called early. Who
 * gave Node a size of the heap keeps it. It is about the whole process.
 *
 * @example
 * ```ts
 * import * as HeapGrowth from "@effect-xds/transport-node/HeapGrowth"
 *
 * HeapGrowth.raise()
 * await import("./server.js")
 * ```
 *
 * @since 0.1.0
 */
export const raise = (engine: Engine.Engine = Engine.ofProcess): void => {
  if (!measured.has(Engine.versionOf(engine)) || Engine.wasGiven(engine, sizes)) return
  const set = (percent: number): void => engine.setFlags(`${flag}=${percent}`)
  const observer = new PerformanceObserver((list) => {
    if (!list.getEntries().some(isMajor)) return
    observer.disconnect()
    // A heap of hundreds of megabytes must not grow so.
    set(initial)
  })
  observer.observe({ entryTypes: ["gc"] })
  set(raised)
}
