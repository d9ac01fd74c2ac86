import { CallCounters } from "@effect-xds/routing/CallCounters"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import type { Picker } from "@effect-xds/routing/Picker"
import { expect, it } from "@effect/vitest"
import { callWith, outcome } from "./Steps.js"

const connected = (address: string): Picker => ({ _tag: "Connected", address, endpoint: Endpoint.make([address]) })

it("what is below a picker that changed, and did not change itself, keeps its turn", () => {
  const counters = new CallCounters()
  const turns: Picker = { _tag: "RoundRobin", children: ["a", "b", "c"].map(connected) }
  const limited = (maxRequests: number, child: Picker): Picker => {
    return { _tag: "Limited", cluster: "a", drops: [], inFlight: "a", maxRequests, child }
  }
  const to = (picker: Picker) => outcome(CompiledPicker.pick(picker, callWith({ draw: () => 0.4 }), counters))
  expect([to(limited(1, turns)), to(limited(1, turns)), to(limited(2, turns))]).toEqual(["b", "c", "a"])
  // One that is equal and another begins where its first call says.
  expect(to(limited(2, { ...turns }))).toBe("b")
})

it("★ a limit counts on where its counter was forgotten while no call held it", () => {
  const counters = new CallCounters()
  const limited: Picker = {
    _tag: "Limited",
    cluster: "a",
    drops: [],
    inFlight: "a",
    maxRequests: 1,
    child: connected("a")
  }
  const to = () => outcome(CompiledPicker.pick(limited, callWith(), counters))
  expect(to()).toBe("a")
  for (let name = 0; name < 2_000; name++) {
    counters.hold([`${name}`])
    counters.release([`${name}`])
  }
  counters.hold(["a"])
  expect(to()).toBe("drop: CircuitOpen")
  counters.release(["a"])
  expect(to()).toBe("a")
})
