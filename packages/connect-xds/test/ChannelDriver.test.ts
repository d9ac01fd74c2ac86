import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import { RingStore } from "@effect-xds/routing/RingStore"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ChannelCounters } from "../src/internal/ChannelCounters.js"
import { ChannelDriver } from "../src/internal/ChannelDriver.js"
import * as Environments from "../src/internal/Environment.js"
import { DrivenChannel } from "./DrivenChannel.js"

it.effect("★ what throws while it carries out an output does not stop the inputs after it", () =>
  Effect.gen(function* () {
    const fails = (): never => {
      throw new Error("it cannot be watched")
    }
    const driver = new ChannelDriver({
      name: "shop",
      authority: "shop",
      counters: new ChannelCounters(),
      rings: new RingStore(),
      environment: yield* Environments.make,
      wayOf: () => "",
      connect: fails,
      watch: fails,
      refresh: () => undefined,
      resolveAgain: () => undefined
    })
    expect(() => driver.start()).toThrow("it cannot be watched")
    const ended: Array<string> = []
    driver.call(
      { path: "/shop.Cart/Add", headers: CallHeaders.empty, waitForReady: false, timeout: undefined, draw: () => 0 },
      { onSelect: () => undefined, onSend: () => undefined, onEnd: ({ message }) => ended.push(message) }
    )
    expect(driver.calls).toBe(1)
    driver.close()
    expect(ended).toEqual(["the channel was closed"])
  })
)

const first = "127.0.0.1:1"

it("★ a call that is picked in the step in which its connection is drained is picked again, and told why it ends", () => {
  const channel = new DrivenChannel()
    .routes("a", "b")
    .cluster("a", "tls")
    .cluster("b")
    .endpoints("a", 9)
    .endpoints("b", 1)
  channel.connections.find(({ address }) => address === first)?.events.ready()
  const call = channel.call("a")
  expect(call.became).toBe("waits")
  // What is connected for b is all at once a's, too, which is to connect to it with TLS.
  channel.endpoints("a", 1)
  expect(call.became).toMatch("clusters that have this address connect to it in different ways")
  expect(channel.driver.calls).toBe(0)
})

it("★ a call that throws where it is placed ends with that, and nothing of it is left", () => {
  const channel = new DrivenChannel(({ ready }) => ready()).routes("a").cluster("a").endpoints("a", 1).settle()
  const call = channel.call("a", () => {
    throw new Error("there are no numbers")
  })
  expect(call.became).toBe("there are no numbers")
  expect(channel.driver.calls).toBe(0)
  expect(channel.call("a").became).toBe(first)
})
