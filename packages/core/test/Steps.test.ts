import { create, toBinary } from "@bufbuild/protobuf"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as Either from "effect/Either"
import { assert, it } from "vitest"

const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const clusterOf = (name: string, altStatName: string): Resource.Resource =>
  Either.getOrThrow(
    Resource.make({ typeUrl, name, value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName })) })
  )

const count = 10 * Steps.atOnce
const many = (altStatName: string) => Array.from({ length: count }, (_, index) => clusterOf(`c-${index}`, altStatName))

/** What it ends with, and how often others might run. `between` is done there. */
const drive = <A>(work: Steps.Steps<A>, between: () => void): readonly [A, number] => {
  for (let turns = 0; ; turns++) {
    const { done, value } = work.next()
    if (done === true) return [value, turns]
    between()
  }
}

const stateOf = (group: ResourceGroup.ResourceGroup) => ({
  resources: ResourceGroup.all(group),
  version: ResourceGroup.set(group, typeUrl).version,
  revision: ResourceGroup.set(group, typeUrl).cursor.revision
})

it("a change in steps ends with what the same change at once does, and others may run at every so many resources", () => {
  const first = many("")
  const before = Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, first))
  const held = stateOf(before)
  const others = many("x").slice(0, count / 2)
  const change = { upsert: others, remove: first.slice(count / 2) }
  const works: ReadonlyArray<readonly [() => ReturnType<typeof ResourceGroup.replacing>, number]> = [
    // By type, in the set, and for their aliases.
    [() => ResourceGroup.replacing(ResourceGroup.empty, first), 30],
    [() => ResourceGroup.replacing(before, others), 5 + 10 + 10 + 10],
    [() => ResourceGroup.updating(before, change), 5 + 5 + 10 + 10]
  ]
  for (const [work, least] of works) {
    const [result, turns] = drive(work(), () => assert.deepEqual(stateOf(before).revision, held.revision))
    assert.isAtLeast(turns, least - 3)
    assert.deepEqual(stateOf(Either.getOrThrow(result)), stateOf(Either.getOrThrow(Steps.toEnd(work()))))
    // What was changed is as it was.
    assert.deepEqual(stateOf(before), held)
    assert.strictEqual(ResourceSet.get(ResourceGroup.set(before, typeUrl), "c-0"), first[0])
  }
})

it("two changes of a group whose steps alternate do not see each other", () => {
  const before = Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, many("")))
  const [one, other] = [many("one"), many("other")]
  const second = ResourceGroup.replacing(before, other)
  let last = second.next()
  const [first] = drive(ResourceGroup.replacing(before, one), () => {
    if (last.done !== true) last = second.next()
  })
  while (last.done !== true) last = second.next()
  const expected = (resources: ReadonlyArray<Resource.Resource>) =>
    stateOf(Either.getOrThrow(ResourceGroup.replace(before, resources)))
  assert.deepEqual(stateOf(Either.getOrThrow(first)), expected(one))
  assert.deepEqual(stateOf(Either.getOrThrow(last.value)), expected(other))
})

it("work that is shared is done once for all who asked before its end, though nobody keeps what it makes", () => {
  const shared = new Steps.InTurns<ReadonlyArray<number>, ReadonlyArray<number>>()
  let made = 0
  const ask = () =>
    shared.steps(
      () => undefined,
      function* () {
        yield
        yield
        return [++made]
      },
      (result) => result
    )
  const [started, waiting, givenUp] = [ask(), ask(), ask()]
  givenUp.next()
  assert.deepEqual(drive(started, () => void 0)[0], [1])
  // It has not begun until now.
  assert.deepEqual(
    drive(waiting, () => void 0),
    [[1], 0]
  )
  // Nobody kept it for those who come later.
  assert.deepEqual(
    drive(ask(), () => void 0),
    [[2], 2]
  )
})
