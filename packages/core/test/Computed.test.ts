import { Computed } from "@effect-xds/core/resource/Computed"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Resources from "@effect-xds/core/resource/Resource"
import { ResourceType } from "@effect-xds/proto"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"

const { typeUrl } = ResourceType.Cluster

const resources = (size: number): HashMap.HashMap<string, Resource> =>
  HashMap.fromIterable(
    Array.from({ length: size }, (_, number) => {
      const name = `cluster-${number}`
      return [name, Either.getOrThrow(Resources.make({ typeUrl, name, value: new Uint8Array() }))] as const
    })
  )

describe("the map of a set's resources", () => {
  it("is made with as many look-ups as there are resources, and has all of them", () => {
    const all = resources(3)
    const computed = new Computed()
    assert.strictEqual(computed.byName(all), undefined)
    assert.strictEqual(computed.byName(all), undefined)
    const made = computed.byName(all)
    assert.deepStrictEqual(new Map(all), made)
    assert.strictEqual(computed.byName(all), made)
  })

  it("is not made for many resources: that would hold up others", () => {
    const all = resources(16_385)
    const computed = new Computed()
    for (let lookUp = 0; lookUp < 40_000; lookUp++) assert.strictEqual(computed.byName(all), undefined)
  })
})
