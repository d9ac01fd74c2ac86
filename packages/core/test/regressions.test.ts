/** Random scripts that failed once (`properties.test.ts`), cut down to the operations it takes to fail. */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Arbitraries, ResourceSpec } from "@effect-xds/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Simulation from "./Simulation.js"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl
const LDS = ResourceType.Listener.typeUrl
const RDS = ResourceType.RouteConfiguration.typeUrl

type Operation = Arbitraries.Operation
type Spec = ResourceSpec.ResourceSpec

const ask = (typeUrl: string, ...subscribe: ReadonlyArray<string>): Operation => ({
  _tag: "Ask",
  typeUrl,
  subscribe,
  unsubscribe: []
})
const spec = (typeUrl: string, name: string, more: Partial<Spec> = {}): Spec => ({ typeUrl, name, content: 1, ...more })
const change = (
  upsert: ReadonlyArray<Spec>,
  remove: ReadonlyArray<Pick<Spec, "typeUrl" | "name">> = []
): Operation => ({
  _tag: "Change",
  change: { upsert, remove, versions: {} }
})
const credit = (given: boolean): Operation => ({ _tag: "Credit", given })

const scripts: ReadonlyArray<{
  readonly title: string
  readonly options: Simulation.Options
  readonly script: ReadonlyArray<Operation>
}> = [
  {
    // The rule counted a late answer neither as an answer nor as an update.
    title: "a route is made after the state that answers the request, held back, and removed before it is sent",
    options: { protocol: "StateOfTheWorld", typeUrl: undefined, maxResponseBytes: 1 },
    script: [
      credit(false),
      ask(CDS),
      ask(RDS, "b"),
      change([]),
      change([spec(CDS, "d")]),
      change([spec(RDS, "b")]),
      credit(true),
      ask(EDS),
      change([spec(EDS, "c")], [{ typeUrl: RDS, name: "b" }])
    ]
  },
  {
    // The rule forgot all states of a group that was cleared.
    title: "a removal that is due when the group is cleared goes out when it is set again",
    options: { protocol: "Incremental", typeUrl: undefined },
    script: [
      change([spec(LDS, "e", { content: 4 })]),
      ask(CDS, "a-alias"),
      ask(LDS, "e"),
      ask(CDS, "d", "unknown"),
      change([spec(CDS, "d")]),
      { _tag: "Clear" },
      change([spec(CDS, "c")]),
      credit(false),
      ask(RDS, "a-alias", "e"),
      { _tag: "Clear" },
      change([spec(LDS, "e", { content: 3 })]),
      change([spec(CDS, "a", { aliases: ["a-alias"] })])
    ]
  }
]

describe("scripts that failed once", () => {
  for (const { options, script, title } of scripts) {
    it(title, () => assert.deepStrictEqual(Simulation.run(options, script, { lockstep: false }).problems, []))
  }
})
