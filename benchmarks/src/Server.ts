/** The servers that are measured, each in a process of its own. */
import * as Schema from "effect/Schema"
import { totalmem } from "node:os"
import { join } from "node:path"
import { CaseError, Child } from "./Child.js"
import type { Encoded, Kind } from "./Fixtures.js"
import { typeUrls } from "./Fixtures.js"
import type { ServerPeer } from "./Peer.js"
import { peerTitles } from "./Peer.js"
import * as ProcessStatistics from "./ProcessStatistics.js"

/** The group that everything is in: the cluster of every client's node. */
export const group = "bench"

const Loaded = Schema.Struct({
  address: Schema.String,
  versions: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String }))
})
const Applied = Schema.Struct({ cpuMicroseconds: Schema.Number })
const Delay = Schema.Struct({ p50: Schema.Number, p99: Schema.Number, max: Schema.Number })

const decodeLoaded = Schema.decodeUnknownSync(Loaded)
const decodeApplied = Schema.decodeUnknownSync(Applied)
const decodeDelay = Schema.decodeUnknownSync(Delay)

export interface Serve {
  readonly fixtures: string
  readonly kind: Kind
  readonly incremental: boolean
  /** Loops that only write: each stream is sent one resource of its own. */
  readonly spread: boolean
}

export class Server {
  private readonly child: Child
  #profiling = false
  address = ""
  /** What the server is made of, if it says so. */
  versions: Readonly<Record<string, string>> = {}

  /** `before`: the folder with the built benchmarks of another checkout. */
  constructor(
    readonly peer: ServerPeer,
    {
      before,
      goControlPlane,
      http2Only
    }: { readonly before: string; readonly goControlPlane: string; readonly http2Only: boolean }
  ) {
    const title = peerTitles[peer]
    switch (peer) {
      case "gcp-linear":
      case "gcp-snapshot":
        this.child = new Child(title, goControlPlane, [peer === "gcp-linear" ? "linear" : "snapshot"])
        return
      case "ours":
      case "before":
      case "transport":
      case "bare":
      case "grpc-js": {
        const folder = peer === "before" ? before : import.meta.dirname
        const args = [join(folder, "servers", peer === "before" ? "ours.js" : `${peer}.js`)]
        this.child = new Child(title, process.execPath, args, {
          NODE_ENV: "production",
          ...(http2Only && { XDS_HTTP2_ONLY: "1" })
        })
      }
    }
  }

  async load({ fixtures, incremental, kind, spread }: Serve): Promise<void> {
    const loaded = await this.child.request("load", { fixtures, typeUrl: typeUrls[kind], incremental, spread })
    const { address, versions } = decodeLoaded(loaded)
    this.address = address
    this.versions = versions ?? {}
  }

  /** Gets a change ready: parsed as far as a user of the server would have it. `encoded`: the user has bytes. Only ours heeds that. */
  async prepare(changes: ReadonlyArray<Encoded>, encoded = false): Promise<void> {
    const list = changes.map(({ name, value }) => ({ name, value: Buffer.from(value).toString("base64") }))
    await this.child.request("prepare", { changes: list, encoded })
  }

  /** Applies the change that was prepared first, in one step. */
  async apply(): Promise<void> {
    await this.child.request("apply")
  }

  /** Applies all that is prepared, one after the other. CPU time of that in microseconds. */
  async applyAll(): Promise<number> {
    return decodeApplied(await this.child.request("applyAll")).cpuMicroseconds
  }

  /** Waits until it rests; the CPU milliseconds it has used by then. */
  async quietCpuMilliseconds(limitSeconds?: number): Promise<number> {
    return ProcessStatistics.quietCpuMilliseconds(this.child.pid, limitSeconds, this.#profiling)
  }

  /** The end of its log. */
  get said(): string {
    return this.child.said
  }

  hasEnded(): boolean {
    return ProcessStatistics.hasEnded(this.child.pid)
  }

  /** Of all threads so far. */
  cpuMilliseconds(): number {
    return ProcessStatistics.cpuMilliseconds(this.child.pid)
  }

  /** Of the main thread so far. */
  mainThreadMilliseconds(): number {
    return ProcessStatistics.mainThreadMilliseconds(this.child.pid)
  }

  openFiles(): number {
    return ProcessStatistics.openFiles(this.child.pid)
  }

  residentBytes(): number {
    return ProcessStatistics.residentBytes(this.child.pid)
  }

  /** Fails the case before the machine has no memory left. */
  readonly guardMemory = (): void => {
    const resident = this.residentBytes()
    if (resident < totalmem() * 0.75) return
    const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1)
    throw new CaseError(`stopped at ${gigabytes(resident)} GB of memory; the machine has ${gigabytes(totalmem())} GB`)
  }

  async collectGarbage(): Promise<void> {
    await this.child.request("gc")
  }

  async startDelay(): Promise<void> {
    await this.child.request("delayStart")
  }

  /** Event-loop delay in milliseconds since it was started. */
  async stopDelay(): Promise<typeof Delay.Type> {
    return decodeDelay(await this.child.request("delayStop"))
  }

  async startProfile(): Promise<void> {
    this.#profiling = true
    await this.child.request("profileStart")
  }

  async stopProfile(file: string): Promise<void> {
    await this.child.request("profileStop", { file })
    this.#profiling = false
  }

  stop(): Promise<void> {
    return this.child.stop()
  }
}
