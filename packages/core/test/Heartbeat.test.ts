import * as Heartbeat from "@effect-xds/core/server/Heartbeat"
import { assert, describe, it } from "@effect/vitest"

const ttl = "xds.config.supports-resource-ttl"
const wrapped = ["xds.config.supports-resource-in-sotw", "xds.config.resource-in-sotw"]

describe("Heartbeat.isGiven", () => {
  it("★ Envoy does not declare it and honours TTLs all the same, so the server has an option (declared | always | never)", () => {
    for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
      assert.isFalse(Heartbeat.isGiven("declared", protocol, []))
      assert.isTrue(Heartbeat.isGiven("always", protocol, []))
      assert.isFalse(Heartbeat.isGiven("never", protocol, [ttl, ...wrapped]))
    }
  })

  it("to incremental clients that declare it, and in state of the world to those that take wrapped resources, too", () => {
    assert.isTrue(Heartbeat.isGiven("declared", "Incremental", [ttl]))
    assert.isFalse(Heartbeat.isGiven("declared", "StateOfTheWorld", [ttl]))
    for (const feature of wrapped) {
      assert.isTrue(Heartbeat.isGiven("declared", "StateOfTheWorld", [ttl, feature]))
      assert.isFalse(Heartbeat.isGiven("declared", "StateOfTheWorld", [feature]))
    }
  })
})
