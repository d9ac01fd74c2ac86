import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import { RingStore } from "@effect-xds/routing/RingStore"
import { expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { ChannelCounters } from "../src/internal/ChannelCounters.js"
import { ChannelDriver } from "../src/internal/ChannelDriver.js"
import * as Environments from "../src/internal/Environment.js"

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
