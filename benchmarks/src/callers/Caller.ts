/** A client that is measured, in a process of its own: it calls as it is told, and says what that took. */
import * as Schema from "effect/Schema"
import { collectGarbage } from "../Garbage.js"
import * as Answers from "./Answers.js"

/** One unary call. */
export type Call = () => Promise<unknown>

/** Where the services are. The harness says it in the environment: `SERVER` and `CONTROL_PLANE`. */
export interface Places {
  /** `127.0.0.1:PORT` of a server, for clients without xDS. */
  readonly server: string
  /** `127.0.0.1:PORT` of the control plane. */
  readonly controlPlane: string
}

const Calls = Schema.decodeUnknownSync(Schema.Struct({ count: Schema.Number, width: Schema.Number }))

/** Serves the harness with what calls once. */
export const serve = (make: (places: Places) => Promise<Call> | Call): void => {
  const { SERVER = "", CONTROL_PLANE = "" } = process.env
  const ready = Promise.resolve(make({ server: SERVER, controlPlane: CONTROL_PLANE }))
  let going = false
  let callers: ReadonlyArray<Promise<void>> = []
  let failed: Array<string> = []

  /** So many calls at once, while `isMore` says so. */
  const start = async (width: number, isMore: () => boolean): Promise<void> => {
    const call = await ready
    const caller = async (): Promise<void> => {
      while (isMore()) {
        try {
          await call()
        } catch (error) {
          failed.push(error instanceof Error ? error.message : String(error))
        }
      }
    }
    callers = Array.from({ length: width }, caller)
  }
  const result = (): { readonly failed: number; readonly reason: string | undefined } => {
    const answer = { failed: failed.length, reason: failed[0] }
    failed = []
    return answer
  }

  Answers.serve({
    /** Calls so often, `width` at a time: CPU time of the process in microseconds. */
    calls: async (fields) => {
      const { count, width } = Calls(fields)
      // Not what connecting takes.
      await ready
      let left = count
      const before = process.cpuUsage()
      await start(width, () => left-- > 0)
      await Promise.all(callers)
      const { system, user } = process.cpuUsage(before)
      return { ...result(), cpuMicroseconds: system + user }
    },
    /** Calls until it is told to stop. */
    go: async () => {
      going = true
      await start(4, () => going)
      return {}
    },
    stop: async () => {
      going = false
      await Promise.all(callers)
      return result()
    },
    /** What is held when garbage is collected, in bytes. */
    memory: async () => {
      await collectGarbage()
      await collectGarbage()
      const { arrayBuffers, external, heapUsed, rss } = process.memoryUsage()
      return { heapBytes: heapUsed + external + arrayBuffers, residentBytes: rss }
    }
  })
}
