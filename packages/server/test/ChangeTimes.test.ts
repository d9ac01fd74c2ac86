import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { ChangeTimes } from "../src/internal/ChangeTimes.js"

const { typeUrl } = ResourceType.Cluster

describe("the time of the first change after a revision", () => {
  const times = new ChangeTimes()
  const revisions: Array<number> = []
  let group = ResourceGroup.empty
  for (let at = 0; at < 70; at++) {
    const next = Either.getOrThrow(
      ResourceGroup.update(group, { upsert: [toResource({ typeUrl, name: "name", content: at })] })
    )
    times.note(group, next, at)
    revisions.push(ResourceGroup.set(next, typeUrl).cursor.revision)
    group = next
  }
  const after = (at: number) => times.after(typeUrl, revisions[at] ?? Number.NaN)

  it("is that of the next one, and of none after the last", () => {
    assert.strictEqual(after(68), 69)
    assert.strictEqual(after(60), 61)
    assert.strictEqual(after(69), undefined)
    assert.strictEqual(times.after(ResourceType.Listener.typeUrl, 0), undefined)
  })

  it("is that of the oldest that is known for who is further behind", () => {
    assert.strictEqual(after(6), 7)
    assert.strictEqual(after(5), 6)
    assert.strictEqual(after(4), 6)
    assert.strictEqual(after(0), 6)
  })
})
