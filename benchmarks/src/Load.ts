/** The load generator: see the Go program in load/. */
import * as Schema from "effect/Schema"
import { CaseError, Child } from "./Child.js"
import { residentBytes } from "./ProcessStatistics.js"

export interface Open {
  readonly address: string
  readonly connections: number
  readonly streams: number
  readonly incremental: boolean
  readonly typeUrl: string
  readonly group: string
  /** Names of the fixtures that each stream asks for: stream i so many from i times stride on. Default: wildcard. */
  readonly names?: { readonly fixtures: string; readonly perStream: number; readonly stride: number } | undefined
  /** Streams say that they hold what the recorded one was sent. */
  readonly initial?: boolean | undefined
  /** Remembers what the first stream is sent. */
  readonly record?: boolean | undefined
  /** Keeps a digest of every stream's state, and when it got which change. */
  readonly track?: boolean | undefined
  /** So many connections begin in a second, each with one stream that asks at once. Default: all connect, then all ask. */
  readonly perSecond?: number | undefined
  /** So many streams, on connections of their own, read only so many bytes a second once they are throttled. */
  readonly slow?: { readonly streams: number; readonly bytesPerSecond: number } | undefined
}

const Counts = Schema.Struct({
  /** Streams that have what was waited for. */
  done: Schema.Number,
  /** Streams that got a response. */
  streams: Schema.Number,
  responses: Schema.Number,
  resources: Schema.Number,
  removed: Schema.Number,
  bytes: Schema.Number,
  /** Of the streams that got a response; -1 if none did. */
  minResources: Schema.Number,
  maxResources: Schema.Number,
  minResponses: Schema.Number,
  maxResponses: Schema.Number,
  /** From the mark to the last ACK. */
  milliseconds: Schema.Number
})
export type Counts = typeof Counts.Type

const Digests = Schema.Array(Schema.Struct({ digest: Schema.Number, streams: Schema.Number, slow: Schema.Number }))
const Latencies = Schema.Array(Schema.Struct({ streams: Schema.Number, last: Schema.Number }))
export type Arrivals = typeof Latencies.Type

const decodeCounts = Schema.decodeUnknownSync(Counts)
const decodeDigests = Schema.decodeUnknownSync(Digests)
const decodeLatencies = Schema.decodeUnknownSync(Latencies)

/** What each of so many streams is to get. */
export interface Expected {
  readonly streams: number
  readonly resources: number
}

export class Load {
  private readonly child: Child

  constructor(
    program: string,
    private readonly progress: (text: string) => void
  ) {
    this.child = new Child("the load generator", program, [])
  }

  async open({ names, slow, ...options }: Open): Promise<void> {
    await this.child.request("open", {
      open: {
        ...options,
        fixtures: names?.fixtures ?? "",
        perStream: names?.perStream ?? 0,
        stride: names?.stride ?? 0,
        slow: slow?.streams ?? 0,
        slowBytes: slow?.bytesPerSecond ?? 0,
        // Wide enough that the windows are not what is measured; slow streams have small ones.
        streamWindow: 16 * 1024 * 1024,
        connectionWindow: 64 * 1024 * 1024
      }
    })
  }

  /** Counts begin at zero. */
  async mark(expected: Expected): Promise<void> {
    await this.child.request("mark", { streams: expected.streams, resources: expected.resources, responses: 1 })
  }

  /** Waits until the streams have what was expected and have ACKed it. Says every few seconds how far they are. */
  async wait(expected: Expected, limitSeconds: number, guard: () => void = () => undefined): Promise<Counts> {
    const end = Date.now() + limitSeconds * 1000
    for (;;) {
      const counts = decodeCounts(await this.child.request("wait", { timeout: 5000 }))
      if (counts.done >= expected.streams) return counts
      guard()
      const { bytes, done, resources } = counts
      const far = `${done} of ${expected.streams} streams done, ${resources} resources, ${Math.round(bytes / 1e6)} MB`
      if (Date.now() > end) throw new CaseError(`not done within ${limitSeconds} s: ${far}`)
      this.progress(far)
    }
  }

  async counts(): Promise<Counts> {
    return decodeCounts(await this.child.request("counts"))
  }

  async digests(): Promise<typeof Digests.Type> {
    return decodeDigests(await this.child.request("digests"))
  }

  /** By the number of the change: how many of the fast streams have it, and when the last of them got it (ns since 1970). Fails if a stream is gone. */
  async latencies(): Promise<Arrivals> {
    return decodeLatencies(await this.child.request("latencies"))
  }

  /** From now on slow streams are slow. */
  async throttle(): Promise<void> {
    await this.child.request("throttle")
  }

  async close(): Promise<void> {
    await this.child.request("close")
  }

  residentBytes(): number {
    return residentBytes(this.child.pid)
  }

  stop(): Promise<void> {
    return this.child.stop()
  }
}
