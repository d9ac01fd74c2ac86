/** Garbage collection, as it is to be before memory is measured. */
import * as Inspector from "node:inspector"

/**
 * All that can be collected, and the room for it is given back: a plain `gc()` keeps half-empty pages, which for a server that
 * has just loaded its resources is as much as thousands of streams take.
 */
export const collectGarbage = async (): Promise<void> => {
  const session = new Inspector.Session()
  session.connect()
  await new Promise<void>((resolve, reject) => {
    session.post("HeapProfiler.collectGarbage", (error) => (error === null ? resolve() : reject(error)))
  })
  session.disconnect()
}
