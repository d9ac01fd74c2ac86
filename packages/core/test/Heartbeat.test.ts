import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Heartbeat from "@effect-xds/core/server/Heartbeat"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import type { Subscription } from "@effect-xds/core/server/Subscription"
import * as Steps from "@effect-xds/core/Steps"
import * as Request from "@effect-xds/core/wire/Request"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

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

const typeUrl = ResourceType.ClusterLoadAssignment.typeUrl

const expiring = (name: string, ttl: number | undefined): Resource.Resource =>
  Either.getOrThrow(Resource.make({ typeUrl, name, value: new Uint8Array(1), ttl }))

const changed = (
  group: ResourceGroup.ResourceGroup,
  change: Parameters<typeof ResourceGroup.update>[1]
): ResourceGroup.ResourceGroup => Either.getOrThrow(ResourceGroup.update(group, change))

/** A client that has everything, and its subscription. */
const holding = (group: ResourceGroup.ResourceGroup): readonly [ServerStream.ServerStream, Subscription] => {
  let stream = ServerStream.make({ protocol: "Incremental", typeUrl, ttl: true })
  const inputs: ReadonlyArray<ServerStream.Input> = [
    { _tag: "Changed", group },
    { _tag: "Writable" },
    { _tag: "Request", request: Request.incremental({ typeUrl }) },
    { _tag: "Writable" }
  ]
  for (const input of inputs) [stream] = ServerStream.step(stream, input, 1)
  const [subscription] = stream.subscriptions
  if (subscription === undefined) throw new Error("it has asked for them")
  return [stream, subscription]
}

/** The number of steps, and the result. */
const stepsOf = <A>(work: Steps.Steps<A>): readonly [steps: number, A] => {
  for (let steps = 0; ; steps++) {
    const { done, value } = work.next()
    if (done === true) return [steps, value]
  }
}

describe("what is to be renewed", () => {
  const many = 64 * Steps.atOnce
  const full = () =>
    changed(ResourceGroup.empty, { upsert: Array.from({ length: many }, (_, at) => expiring(`name ${at}`, 10_000)) })

  it("★ is found in steps, and for all streams of a set at once", () => {
    const group = full()
    const [, subscription] = holding(group)
    const set = ResourceGroup.set(group, typeUrl)
    const due = () => stepsOf(Heartbeat.due(subscription, set, undefined, "Incremental", 5_000))
    const [first, found] = due()
    assert.lengthOf(found, many)
    assert.isAtLeast(first, 128)
    assert.isAtLeast(due()[0], 64)
    assert.isBelow(due()[0], 80)
    // The TTLs are known from then on.
    assert.isAtMost(stepsOf(Heartbeat.find(typeUrl, [group, undefined, group]))[0], 1)
  })

  it("★ is sent in steps, alone and beside changes, with bodies and without", () => {
    for (const now of [5_000, 20_000]) {
      for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
        const group = full()
        let [stream] = holding(group)
        if (protocol === "StateOfTheWorld") {
          stream = ServerStream.make({ protocol, typeUrl, ttl: true, bodylessHeartbeats: true })
          const request = Request.stateOfTheWorld({ typeUrl, resourceNames: [] })
          for (const input of [
            { _tag: "Changed", group },
            { _tag: "Writable" },
            { _tag: "Request", request },
            { _tag: "Writable" }
          ] as const)
            [stream] = ServerStream.step(stream, input, 1)
        }
        const alone = stepsOf(ServerStream.stepping(stream, { _tag: "Deadline" }, now))
        const next = changed(group, { upsert: [expiring("another", undefined)] })
        const beside = stepsOf(ServerStream.stepping(stream, { _tag: "Changed", group: next }, now))
        for (const [steps, [, outputs]] of [alone, beside]) {
          const renewed = outputs.flatMap((output) =>
            output._tag === "Send" ? [...output.response.resources, ...output.response.heartbeats] : []
          )
          assert.isAtLeast(renewed.length, many, `${protocol} ${now}`)
          // Found, looked at for who holds it, and put into the response: there the first that is renewed with its body decides for all
          // in state of the world.
          const times = protocol === "StateOfTheWorld" && now === 20_000 ? 2 : 3
          assert.isAtLeast(steps, times * 64, `${protocol} ${now}`)
        }
      }
    }
  })

  it("is due at the next multiple of half of any TTL that there is, after any changes", () => {
    const ttls = [undefined, 1_000, 3_000, 10_000]
    const change = fc.array(fc.tuple(fc.constantFrom("a", "b", "c", "d"), fc.constantFrom("gone" as const, ...ttls)), {
      maxLength: 4
    })
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 8 }), fc.boolean(), (changes, isAsked) => {
        let group = changed(ResourceGroup.empty, { upsert: [expiring("first", undefined)] })
        const [, subscription] = holding(group)
        for (const each of changes) {
          const last = new Map(each)
          group = changed(group, {
            upsert: Array.from(last).flatMap(([name, ttl]) => (ttl === "gone" ? [] : [expiring(name, ttl)])),
            remove: Array.from(last).flatMap(([name, ttl]) => (ttl === "gone" ? [{ typeUrl, name }] : []))
          })
          if (isAsked) Steps.toEnd(Heartbeat.find(typeUrl, [group]))
          const periods = ResourceGroup.all(group).flatMap(({ ttl }) => (ttl === undefined ? [] : [ttl / 2]))
          const expected = periods.map((period) => Math.floor(subscription.renewedAt / period + 1) * period)
          const set = ResourceGroup.set(group, typeUrl)
          assert.strictEqual(Heartbeat.dueAt(subscription, set, undefined), Math.min(...expected))
        }
      }),
      { seed: 20260101, numRuns: 300 }
    )
  })
})
