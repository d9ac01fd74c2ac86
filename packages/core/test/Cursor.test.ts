/** Cursors are plain data: what a stream is sent from one depends on its value, and so does what is shared. */
import * as ChangeLog from "@effect-xds/core/resource/ChangeLog"
import * as Cursor from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as SharedResponse from "@effect-xds/core/server/SharedResponse"
import * as Steps from "@effect-xds/core/Steps"
import * as Response from "@effect-xds/core/wire/Response"
import { Cluster } from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const { typeUrl } = Cluster
const resource = (name: string, content: number): Resource => toResource({ typeUrl, name, content })
const put = (set: ResourceSet.ResourceSet, ...upsert: ReadonlyArray<Resource>): ResourceSet.ResourceSet =>
  Either.getOrThrow(ResourceSet.update(set, { upsert }))
const remove = (set: ResourceSet.ResourceSet, ...names: ReadonlyArray<string>): ResourceSet.ResourceSet =>
  Either.getOrThrow(ResourceSet.update(set, { remove: names }))
const begin = put(ResourceSet.empty(typeUrl), resource("a", 1), resource("b", 1))
const namesOf = ({ changed, removed }: Difference.Difference): ReadonlyArray<string> => [
  ...changed.map(({ name }) => name),
  ...Array.from(removed.keys(), (name) => `-${name}`)
]

describe("a cursor", () => {
  it("is the same as one of another history that has as many changes and the same content, and as no other", () => {
    const [one, other] = [put(begin, resource("c", 1)), put(begin, resource("c", 2))]
    const again = put(put(ResourceSet.empty(typeUrl), resource("b", 1), resource("a", 1)), resource("c", 1))
    assert.isTrue(Cursor.isSame(one.cursor, again.cursor))
    assert.isTrue(Cursor.isSame(one.cursor, { ...one.cursor }))
    assert.isFalse(Cursor.isSame(one.cursor, other.cursor))
    assert.isFalse(Cursor.isSame(begin.cursor, remove(one, "c").cursor))
    const ahead = Cursor.ahead(begin.cursor, [resource("a", 2)], [])
    assert.isFalse(Cursor.isSame(ahead, begin.cursor))
    assert.isFalse(Cursor.isSame(ahead, { ...ahead }))
    assert.strictEqual(Cursor.ahead(begin.cursor, [resource("a", 1)], ["z"]), begin.cursor)
  })

  it("of another history leads through the log if the content was the same, and is compared by content if it was not", () => {
    const history = (...contents: ReadonlyArray<number>): ResourceSet.ResourceSet =>
      contents.reduce((set, content) => put(set, resource("a", content)), ResourceSet.empty(typeUrl))
    const now = remove(put(history(1, 2, 3), resource("b", 1), resource("c", 1)), "c")
    assert.isDefined(
      ChangeLog.changesSince(now, history(5, 3).cursor) ?? ChangeLog.changesSince(now, history(5, 4, 3).cursor)
    )
    for (const [before, isInLog] of [
      [history(1, 2), true],
      [history(9, 2), true],
      [history(1, 9), false],
      [history(2), false]
    ] as const) {
      assert.strictEqual(ChangeLog.changesSince(now, before.cursor) !== undefined, isInLog)
      assert.deepStrictEqual(namesOf(Difference.of(now, before.cursor)), ["a", "b"])
      // What the client was sent ahead is not sent again, and what it holds beside is taken away.
      const ahead = Cursor.ahead(before.cursor, [resource("a", 3), resource("d", 1)], [])
      assert.deepStrictEqual(namesOf(Difference.of(now, ahead)), ["b", "-d"].sort().reverse())
    }
  })
})

describe("what is computed for a set", () => {
  const response = (version: string): Response.Response =>
    Response.make({ protocol: "Incremental", typeUrl, version, resources: [] })
  const share = (set: ResourceSet.ResourceSet, from: Cursor.Cursor, version: string): Response.Response =>
    Steps.toEnd(SharedResponse.of(set, from, "variant", () => Steps.of(response(version))))

  it("is shared by those who come from the same state, whoever's cursor it is, and by nobody else", () => {
    const set = put(begin, resource("c", 1))
    const { cursor } = begin
    const difference = Difference.of(set, cursor)
    assert.strictEqual(Difference.of(set, { ...cursor }), difference)
    assert.notStrictEqual(Difference.of(set, ResourceSet.empty(typeUrl).cursor), difference)
    assert.notStrictEqual(Difference.of(set, { ...cursor, digest: undefined }), difference)
    const shared = share(set, cursor, "1")
    assert.strictEqual(share(set, { ...cursor }, "2"), shared)
    assert.strictEqual(SharedResponse.known(set, { ...cursor }, "variant"), shared)
    assert.isUndefined(SharedResponse.known(set, cursor, "another"))
    assert.isUndefined(SharedResponse.known(set, ResourceSet.empty(typeUrl).cursor, "variant"))
    const full = share(set, set.cursor, "3")
    assert.strictEqual(full.version, "3")
    assert.strictEqual(share(set, set.cursor, "4"), full)
    assert.strictEqual(share(set, cursor, "5"), shared)
  })

  it("is kept for the newest cursors: sixteen of states, and four of others, which do not crowd those out", () => {
    let set = begin
    const cursors = [set.cursor]
    for (let content = 2; content < 40; content++) {
      set = put(set, resource("a", content))
      cursors.push(set.cursor)
    }
    const last = cursors.at(-2) ?? begin.cursor
    const difference = Difference.of(set, last)
    for (let index = 0; index < 100; index++) Difference.of(set, { ...last, digest: undefined })
    assert.strictEqual(Difference.of(set, last), difference)
    const others = Array.from({ length: 5 }, () => ({ ...last, digest: undefined }))
    const ofOthers = others.map((other) => Difference.of(set, other))
    const kept = others.map((other) => set.computed.known(other)?.difference.value)
    assert.deepStrictEqual(kept, [undefined, ...ofOthers.slice(1)])
    for (const cursor of cursors.slice(0, 15)) Difference.of(set, cursor)
    assert.isDefined(set.computed.known(last))
    for (const cursor of cursors.slice(15, 17)) Difference.of(set, cursor)
    assert.isUndefined(set.computed.known(last))
    assert.strictEqual(cursors.filter((cursor) => set.computed.known(cursor) !== undefined).length, 16)
    assert.deepStrictEqual(namesOf(Difference.of(set, last)), namesOf(difference))
  })

  it("in steps is known at their end, even if others took its place meanwhile", () => {
    const many = Array.from({ length: 300 }, (_, index) => resource(`${index}`, 1))
    const set = put(begin, ...many)
    const since = { ...begin.cursor, digest: undefined }
    const steps = Difference.inSteps(set, since)
    assert.isFalse(steps.next().done)
    for (let index = 0; index < 10; index++) Difference.of(set, { ...since })
    assert.isUndefined(set.computed.known(since))
    const difference = Steps.toEnd(steps)
    assert.strictEqual(set.computed.known(since)?.difference.value, difference)
    assert.strictEqual(Difference.of(set, since), difference)
  })

  it("is no part of its value", () => {
    const set = put(begin, resource("c", 1))
    const before = JSON.stringify(set)
    ResourceSet.all(set)
    Difference.of(set, begin.cursor)
    assert.strictEqual(JSON.stringify(set), before)
    assert.deepStrictEqual(set, put(begin, resource("c", 1)))
    assert.isFalse(Object.keys(set).includes("computed"))
  })
})
