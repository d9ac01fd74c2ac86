/** The clients that are measured, each in a process of its own. They are given responses as bytes; no server is there. */
import * as Schema from "effect/Schema"
import { join } from "node:path"
import { Child } from "./Child.js"
import type { Encoded, Kind } from "./Fixtures.js"
import { typeUrls } from "./Fixtures.js"
import type { ClientPeer } from "./Peer.js"
import { peerTitles } from "./Peer.js"
import type { Resend } from "./servers/Commands.js"

const Applied = Schema.Struct({ cpuMicroseconds: Schema.Number })
const decodeApplied = Schema.decodeUnknownSync(Applied)

export class Client {
  private readonly child: Child

  /** `before`: the folder with the built benchmarks of another checkout. */
  constructor(
    readonly peer: ClientPeer,
    before: string
  ) {
    const args = [
      peer === "before" ? join(before, "clients", "ours.js") : join(import.meta.dirname, "clients", `${peer}.js`)
    ]
    this.child = new Child(peerTitles[peer], process.execPath, args, { NODE_ENV: "production" })
  }

  /** Takes the first response, which has everything. */
  async load(load: {
    readonly fixtures: string
    readonly kind: Kind
    readonly incremental: boolean
    readonly resend: Resend
  }): Promise<void> {
    const { fixtures, incremental, kind, resend } = load
    await this.child.request("load", { fixtures, typeUrl: typeUrls[kind], incremental, spread: false, resend })
  }

  /** Makes the response that brings a change. */
  async prepare({ name, value }: Encoded): Promise<void> {
    const changes = [{ name, value: Buffer.from(value).toString("base64") }]
    await this.child.request("prepare", { changes })
  }

  /** Takes all that is prepared, one response after the other. CPU time of that in microseconds. */
  async applyAll(): Promise<number> {
    return decodeApplied(await this.child.request("applyAll")).cpuMicroseconds
  }

  async startProfile(): Promise<void> {
    await this.child.request("profileStart")
  }

  async stopProfile(file: string): Promise<void> {
    await this.child.request("profileStop", { file })
  }

  stop(): Promise<void> {
    return this.child.stop()
  }
}
