import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import { RingStore } from "@effect-xds/routing/RingStore"
import { describe, expect, it } from "@effect/vitest"
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
  const channel = new DrivenChannel(({ events }) => events.ready()).routes("a").cluster("a").endpoints("a", 1).wait(1)
  const call = channel.call("a", {
    draw: () => {
      throw new Error("there are no numbers")
    }
  })
  expect(call.became).toBe("there are no numbers")
  expect(channel.driver.calls).toBe(0)
  expect(channel.call("a").became).toBe(first)
})

describe("nothing says how to connect to an address", () => {
  const well = () => new DrivenChannel(({ events }) => events.ready())

  it("two clusters disagree for a while: calls fail with words, and are sent at once when they agree", () => {
    const channel = well().routes("a", "b").cluster("a").cluster("b").endpoints("a", 1).endpoints("b", 1).wait(1)
    expect(channel.call("a").became).toBe(first)
    channel.cluster("a", "tls")
    for (let minute = 0; minute < 10; minute++) {
      expect(channel.wait(60_000).call("a").became).toMatch("connect to it in different ways")
    }
    channel.cluster("b", "tls").wait(1)
    expect([channel.call("a").became, channel.call("b").became]).toEqual([first, first])
    expect(channel.connections.map(({ cluster }) => cluster)).toHaveLength(2)
  })

  it("a cluster is out of the routes while its server starts again: it is connected to when it is back", () => {
    let isDown = false
    const channel = new DrivenChannel(({ events }) => (isDown ? events.gone("refused") : events.ready()))
    channel.routes("a", "b").cluster("a").cluster("b").endpoints("a", 1).endpoints("b", 2).wait(1)
    channel.routes("b").wait(1_000)
    isDown = true
    channel.connections.find(({ address }) => address === first)?.events.gone("it starts again")
    channel.wait(500).endpoints("b", 2, 3).wait(4_500)
    isDown = false
    channel.wait(300_000).routes("a", "b").cluster("a").endpoints("a", 1).wait(1)
    expect(channel.call("a").became).toBe(first)
  })

  it("another way while a connection is being made: it is made anew at once", () => {
    const channel = new DrivenChannel().routes("a").cluster("a").endpoints("a", 1)
    const call = channel.call("a")
    channel.cluster("a", "tls")
    expect(channel.connections.map(({ isDrained }) => isDrained)).toEqual([true, false])
    channel.connections[1]?.events.ready()
    expect(call.became).toBe(first)
  })

  it("★ the listener is gone: what calls wait for that were placed before is connected to as before", () => {
    let isDown = true
    const channel = new DrivenChannel(({ events }) => (isDown ? events.gone("refused") : events.ready()))
    channel.routes("a").cluster("a").endpoints("a", 1)
    const call = channel.call("a", { waitForReady: true })
    channel.wait(1).withoutListener()
    isDown = false
    channel.wait(2_000)
    expect(call.became).toBe(first)
  })
})

describe("a server closes connections as soon as they are READY", () => {
  const closing = (answers: boolean) =>
    new DrivenChannel((connection) => {
      connection.events.ready()
      connection.hasAnswered = answers
      connection.events.gone("the server closed it")
    })
      .routes("a")
      .cluster("a")
      .endpoints("a", 1)

  it("it is connected to again at once, then after a backoff, as if the connections had failed; so do calls", () => {
    const channel = closing(false).wait(2)
    expect(channel.connections).toHaveLength(2)
    expect(channel.call("a").became).toBe(`connection to ${first} was lost: the server closed it`)
    channel.wait(60_000)
    expect(channel.connections.length).toBeGreaterThan(5)
    expect(channel.connections.length).toBeLessThan(12)
  })

  it("those that carried an answer are made again at once", () => {
    expect(closing(true).wait(100).connections.length).toBeGreaterThan(90)
  })

  it("those that were there for a second are, too, and end the backoff", () => {
    let lasts = 0
    const channel: DrivenChannel = new DrivenChannel(({ events }) => {
      events.ready()
      if (lasts === 0) events.gone("the server closed it")
      else channel.later(lasts, () => events.gone("the server closed it"))
    })
    channel.routes("a").cluster("a").endpoints("a", 1).wait(60_000)
    lasts = 1_000
    const before = channel.wait(60_000).connections.length
    expect(channel.wait(10_000).connections.length - before).toBeGreaterThanOrEqual(9)
  })
})
