/** A channel of our routing, driven in process: its connections are there at once, or never. Its chance comes from a seed. */
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import { CallCounters } from "@effect-xds/routing/CallCounters"
import * as Channel from "@effect-xds/routing/Channel"
import type * as XdsConfig from "@effect-xds/routing/XdsConfig"

export class OurChannel {
  private readonly counters = new CallCounters()
  private channel = Channel.make("greeter", "greeter", 1n)
  private readonly todo: Array<Channel.Input> = []
  private readonly outcomes = new Map<number, string>()
  private ids = 0
  private random = 1

  /** @param canConnect whether somebody listens at an address */
  constructor(private readonly canConnect: (address: string) => boolean) {
    this.xds({ _tag: "Start" })
  }

  xds(input: XdsConfig.Input): void {
    this.give({ _tag: "Xds", input })
  }

  /** Where a call goes: an address, or why it fails, or that it waits. */
  call(path: string, headers: Iterable<readonly [name: string, value: string]>): string {
    const id = ++this.ids
    const drawn = new Map<number, number>()
    const draw = (n: number): number => {
      const number = drawn.get(n) ?? this.draw()
      drawn.set(n, number)
      return number
    }
    const asked = { path, headers: CallHeaders.fromEntries(headers), draw }
    this.give({ _tag: "Call", id, call: { ...asked, waitForReady: false, timeout: undefined } })
    const outcome = this.outcomes.get(id) ?? "waits"
    this.outcomes.delete(id)
    this.give({ _tag: "Over", id })
    return outcome
  }

  /** The connection is lost, and cannot be made again. */
  lose(address: string): void {
    this.give({ _tag: "Connection", address, state: "IDLE", message: "" })
  }

  /** Numbers in [0, 1) without an order: the steps of a counter, mixed. */
  private draw(): number {
    this.random = (this.random + 0x6d2b79f5) | 0
    let bits = Math.imul(this.random ^ (this.random >>> 15), this.random | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }

  private give(first: Channel.Input): void {
    this.todo.push(first)
    for (let input = this.todo.shift(); input !== undefined; input = this.todo.shift()) {
      const context = { now: 0, draw: () => this.draw() }
      const [next, outputs] = Channel.step(this.channel, input, context, this.counters)
      this.channel = next
      for (const output of outputs) this.handle(output)
    }
  }

  private handle(output: Channel.Output): void {
    if (output._tag === "Send") this.outcomes.set(output.id, output.address)
    if (output._tag === "End") this.outcomes.set(output.id, output.status.message)
    if (output._tag !== "Connect") return
    const state = this.canConnect(output.address) ? "READY" : "TRANSIENT_FAILURE"
    this.todo.push({ _tag: "Connection", address: output.address, state, message: "connection refused" })
  }
}
