/** Random scripts that failed once (`properties.test.ts`), cut down to the operations it takes to fail. */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Arbitraries, ResourceSpec } from "@effect-xds/testing"
import { assert, describe, it } from "@effect/vitest"
import * as Simulation from "./Simulation.js"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl
const LDS = ResourceType.Listener.typeUrl
const RDS = ResourceType.RouteConfiguration.typeUrl
const VHDS = ResourceType.VirtualHost.typeUrl

type Operation = Arbitraries.Operation
type Spec = ResourceSpec.ResourceSpec

const ask = (typeUrl: string, ...names: ReadonlyArray<string>): Operation => ({
  _tag: "Ask",
  typeUrl,
  subscribe: names.filter((name) => !name.startsWith("-")),
  unsubscribe: names.filter((name) => name.startsWith("-")).map((name) => name.slice(1))
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
  /** Aliases move from one resource to another. */
  readonly moving?: boolean
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
  },
  {
    // The server took the host that once had the name for one that the client has.
    title: "a host's name is another host's alias when it is asked for: the client is not told that the name is gone",
    options: { protocol: "Incremental", typeUrl: undefined },
    moving: true,
    script: [
      ask(RDS, "r/c", "unknown", "*"),
      ask(VHDS),
      change([], [{ typeUrl: RDS, name: "r" }]),
      credit(false),
      change([
        spec(RDS, "r", { onDemandVirtualHosts: true, aliases: ["r/*.com", "r/c"] }),
        spec(VHDS, "r/a", { content: 4 }),
        spec(VHDS, "r/c")
      ]),
      ask(RDS, "r/a.com", "r/a", "r/b"),
      change(
        [],
        [
          { typeUrl: VHDS, name: "r/c" },
          { typeUrl: RDS, name: "r" }
        ]
      ),
      ask(VHDS, "r/b.com", "r/a", "r/c"),
      change([spec(VHDS, "r/b", { aliases: ["r/c", "r/a.*"] })])
    ]
  },
  {
    // The removal by the resource's own name, which waited, was forgotten with the wildcard.
    title: "what the client knows by an alias that is gone is removed by its own name, too, though `*` came and went",
    options: { protocol: "Incremental", typeUrl: undefined },
    moving: true,
    script: [
      change([spec(RDS, "r", { content: 3, aliases: ["r/*"] })]),
      ask(RDS, "r/c", "r/a.com"),
      change([spec(RDS, "r", { content: 4, aliases: ["r/c", "r/a.*"] })]),
      change([spec(RDS, "r")]),
      credit(false),
      ask(VHDS, "*", "r/a.com", "r/b"),
      ask(RDS, "r/a", "r/b", "*"),
      change([], [{ typeUrl: RDS, name: "r" }]),
      ask(RDS, "r/b.org", "r/a.com", "r/a", "-*"),
      ask(RDS, "*", "r/a")
    ]
  },
  {
    // The answer of a removed name had a response of its own within the turn; another name was answered with it.
    title: "a name is removed and asked for again, among more names than fit: other types have their turns in between",
    options: { protocol: "Incremental", typeUrl: undefined, namesPerStep: 1, namesPerResponse: 1 },
    script: [
      ask(VHDS, "a", "e", "-c"),
      ask(RDS, "-a"),
      change([spec(VHDS, "c"), spec(VHDS, "e"), spec(VHDS, "b"), spec(LDS, "b")]),
      change(
        [spec(LDS, "a"), spec(RDS, "a"), spec(VHDS, "b", { content: 2 })],
        [
          { typeUrl: VHDS, name: "e" },
          { typeUrl: VHDS, name: "a" }
        ]
      ),
      ask(LDS, "a"),
      credit(false),
      change([spec(EDS, "b"), spec(VHDS, "a"), spec(RDS, "b"), spec(VHDS, "c", { content: 2 })]),
      ask(EDS, "-b"),
      ask(VHDS, "e", "a", "c", "-*"),
      { _tag: "Wait", milliseconds: 5_000 }
    ]
  }
]

describe("scripts that failed once", () => {
  for (const { moving = false, options, script, title } of scripts) {
    it(title, () => assert.deepStrictEqual(Simulation.run(options, script, { lockstep: false, moving }).problems, []))
  }
})
