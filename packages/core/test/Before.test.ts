import { it } from "@effect/vitest"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { assert } from "vitest"
import { BeforeDraft } from "../src/resource/Before.js"
import * as Resource from "../src/resource/Resource.js"

const resource = Either.getOrThrow(
  Resource.make({ typeUrl: ResourceType.Cluster.typeUrl, name: "a", value: new Uint8Array() })
)

it("what was there before a change is a map from names, whether the change touched none, one or many", () => {
  const write = fc.tuple(fc.constantFrom("a", "b", "c", ""), fc.constantFrom(resource, undefined))
  fc.assert(
    fc.property(fc.array(write, { maxLength: 5 }), (writes) => {
      const before = new BeforeDraft()
      const model = new Map<string, Resource.Resource | undefined>()
      for (const [name, was] of writes) {
        before.set(name, was)
        model.set(name, was)
      }
      assert.strictEqual(before.size, model.size)
      assert.deepEqual(Array.from(before), Array.from(model))
      assert.deepEqual(Array.from(before.keys()), Array.from(model.keys()))
      for (const name of ["a", "b", "c", "", "d"]) {
        assert.strictEqual(before.has(name), model.has(name))
        assert.strictEqual(before.get(name), model.get(name))
      }
    })
  )
})
