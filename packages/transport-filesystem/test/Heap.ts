/** How much is in use. */
import { Effect } from "effect"
import * as V8 from "node:v8"
import * as Vm from "node:vm"

V8.setFlagsFromString("--expose_gc")
const collect = new Vm.Script("gc()")

/** Bytes in use, when nothing more is freed. */
export const used = Effect.promise(async () => {
  let now = Number.POSITIVE_INFINITY
  for (let before = Number.NaN; now !== before;) {
    before = now
    for (let turns = 0; turns < 4; turns++) {
      collect.runInNewContext()
      await new Promise<void>((resolve) => setImmediate(resolve))
    }
    const { arrayBuffers, heapUsed } = process.memoryUsage()
    now = Math.min(before, heapUsed + arrayBuffers)
  }
  return now
})
