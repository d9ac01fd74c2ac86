/**
 * `Membership` and the `MemberSet`s below it beside a plain model: who is there is a list, a set is ready when nobody of it is
 * waited for, and of two sets the later one follows when it is.
 */
import { fromJson, type JsonObject } from "@bufbuild/protobuf"
import * as Assignment from "@effect-xds/discovery/Assignment"
import * as Cluster from "@effect-xds/discovery/Cluster"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import * as HostSet from "@effect-xds/discovery/HostSet"
import * as Membership from "@effect-xds/discovery/Membership"
import type * as MemberSet from "@effect-xds/discovery/MemberSet"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

const hosts = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]

/** `set`: how many sets before the last one that began. */
type Action =
  | { readonly _tag: "Cluster"; readonly isChecked: boolean }
  | { readonly _tag: "NoCluster" }
  | { readonly _tag: "Assignment"; readonly set: number; readonly hosts: ReadonlyArray<string> }
  | { readonly _tag: "Missing" | "Failed"; readonly set: number }
  | { readonly _tag: "Result"; readonly set: number; readonly host: string; readonly isOk: boolean }

/** Mostly the last one: what is said of one that is over changes nothing. */
const set = fc.oneof({ weight: 4, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.constantFrom(1, 2) })
/** Mostly: else hardly a host is kept without being listed, which takes a check, a good result and an assignment, in this order. */
const mostly = fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) })
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 2, arbitrary: fc.record({ _tag: fc.constant("Cluster" as const), isChecked: mostly }) },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constant("NoCluster" as const) }) },
  {
    weight: 6,
    arbitrary: fc.record({ _tag: fc.constant("Assignment" as const), set, hosts: fc.shuffledSubarray(hosts) })
  },
  { weight: 1, arbitrary: fc.record({ _tag: fc.constantFrom("Missing" as const, "Failed" as const), set }) },
  {
    weight: 12,
    arbitrary: fc.record({
      _tag: fc.constant("Result" as const),
      set,
      host: fc.constantFrom(...hosts),
      isOk: mostly
    })
  }
)

const clusterOf = (isChecked: boolean): Cluster.Cluster => {
  const check: JsonObject = {
    timeout: "1s",
    interval: "10s",
    unhealthyThreshold: 1,
    healthyThreshold: 1,
    tcpHealthCheck: {}
  }
  const json = { name: "c", type: "EDS", edsClusterConfig: { edsConfig: { ads: {} } } }
  return Either.getOrThrow(
    Cluster.make(fromJson(ClusterSchema, { ...json, ...(isChecked ? { healthChecks: [check] } : {}) }))
  )
}

const assignmentOf = (listed: ReadonlyArray<string>): Assignment.Assignment =>
  Either.getOrThrow(
    Assignment.make(
      fromJson(ClusterLoadAssignmentSchema, {
        clusterName: "c",
        endpoints: [
          {
            lbEndpoints: listed.map((address) => ({
              endpoint: { address: { socketAddress: { address, portValue: 80 } } }
            }))
          }
        ]
      })
    )
  )

interface Host {
  readonly address: string
  isListed: boolean
  /** `undefined`: nobody knows yet. */
  isOk: boolean | undefined
}

/** The model. */
class Model {
  sets: Array<{
    readonly id: number
    readonly isChecked: boolean
    hosts: Array<Host>
    awaited: Set<string> | undefined
  }> = []
  count = 0
  current = 0
  hasFailed = false

  take(action: Action): void {
    if (action._tag === "Cluster") {
      this.sets = this.sets.filter(({ id }) => id === this.current)
      this.sets.push({ id: ++this.count, isChecked: action.isChecked, hosts: [], awaited: undefined })
      this.hasFailed = false
      return
    }
    if (action._tag === "NoCluster") {
      this.sets = []
      this.current = 0
      this.hasFailed = true
      return
    }
    const found = this.sets.find(({ id }) => id === this.count - action.set)
    if (found === undefined) return
    if (action._tag === "Result") {
      const host = found.hosts.find(({ address }) => address === action.host)
      if (host === undefined || !found.isChecked) return
      host.isOk = action.isOk
      found.awaited?.delete(action.host)
    } else {
      const listed = action._tag === "Assignment" ? action.hosts : []
      if (action._tag !== "Failed") {
        for (const host of found.hosts) host.isListed = listed.includes(host.address)
        for (const address of listed) {
          if (found.hosts.some((host) => host.address === address)) continue
          found.hosts.push({ address, isListed: true, isOk: found.isChecked ? undefined : true })
        }
      }
    }
    // Who is neither listed nor known to be well is gone; without checks nobody is known to be.
    found.hosts = found.hosts.filter(({ isListed, isOk }) => isListed || (isOk === true && found.isChecked))
    const there = found.hosts.map(({ address }) => address)
    if (action._tag !== "Result") {
      found.awaited ??= new Set(found.hosts.filter(({ isOk }) => isOk === undefined).map(({ address }) => address))
    }
    for (const address of found.awaited ?? []) if (!there.includes(address)) found.awaited?.delete(address)
    if (found.awaited?.size === 0) {
      this.current = Math.max(this.current, found.id)
      this.sets = this.sets.filter(({ id }) => id >= this.current)
    }
  }

  get shown(): unknown {
    const show = (id: number) => {
      const found = this.sets.find((each) => each.id === id)
      return found?.hosts.map(({ address, isOk }) => [address, isOk === true])
    }
    const next = this.sets.find(({ id }) => id !== this.current)?.id
    return {
      current: this.current === 0 ? undefined : show(this.current),
      next: next === undefined ? undefined : show(next),
      hasFailed: this.hasFailed
    }
  }
}

/** The reducer, and what it says. */
class Play {
  state = Membership.empty
  /** Sets that began and did not end. */
  readonly open = new Set<number>()
  /** Hosts of each that are checked. */
  readonly checked = new Map<number, Set<string>>()

  private give(input: Membership.Input): void {
    const [state, outputs] = Membership.step(this.state, input, { now: 0, draw: () => 0 })
    this.state = state
    for (const output of outputs) {
      if (output._tag === "Begin") {
        expect(this.open.has(output.generation)).toBe(false)
        this.open.add(output.generation)
        this.checked.set(output.generation, new Set())
      }
      // It ends once, and nothing more is said of it.
      if (output._tag === "End") expect(this.open.delete(output.generation)).toBe(true)
      if (output._tag !== "Set") continue
      expect(this.open.has(output.generation)).toBe(true)
      const checked = this.checked.get(output.generation)
      if (output.output._tag === "Check") checked?.add(output.output.host)
      if (output.output._tag === "Uncheck") expect(checked?.delete(output.output.host)).toBe(true)
    }
  }

  take(action: Action): void {
    if (action._tag === "Cluster") return this.give({ _tag: "Cluster", cluster: clusterOf(action.isChecked) })
    if (action._tag === "NoCluster") return this.give({ _tag: "NoCluster", message: "gone" })
    const generation = this.state.generations - action.set
    const tell = (input: MemberSet.Input) => this.give({ _tag: "Set", generation, input })
    if (action._tag === "Assignment") return tell({ _tag: "Assignment", assignment: assignmentOf(action.hosts) })
    if (action._tag !== "Result") return tell({ _tag: action._tag })
    const found = [this.state.current, this.state.next].find((each) => each?.id === generation)
    const members = found === undefined ? [] : HostSet.inOrder(found.set.hosts)
    const host = members.find(({ host: { address } }) => address === `${action.host}:80`)?.host.id ?? action.host
    const flags = action.isOk ? HealthFlags.none : HealthFlags.make("FAILED_ACTIVE_HC")
    tell({ _tag: "Health", host, checker: "", flags })
    tell({ _tag: "Checked", host, checker: "" })
  }

  get shown(): unknown {
    const show = (generation: Membership.Generation | undefined) => {
      if (generation === undefined) return undefined
      const { hosts: there } = generation.set
      return HostSet.inOrder(there).map((member) => [
        member.host.address.replace(/:80$/, ""),
        HostSet.isRouted(there, member)
      ])
    }
    const { current, failure, next } = this.state
    return { current: show(current), next: show(next), hasFailed: failure !== undefined }
  }

  /** What is under way is of the sets that are there, and of their members. */
  check(): void {
    const there = [this.state.current, this.state.next].filter((each) => each !== undefined)
    expect(Array.from(this.open).sort()).toEqual(there.map(({ id }) => id).sort())
    for (const { id, set: of } of there) {
      const wanted = of.cluster.checkers.length === 0 ? [] : HostSet.inOrder(of.hosts).map(({ host }) => host.id)
      expect(Array.from(this.checked.get(id) ?? []).sort()).toEqual(wanted.sort())
    }
  }
}

it("clusters, assignments and results in any order: who is there, who is routed to, which set is in use", () => {
  const moments = { used: 0, kept: 0, both: 0, failed: 0 }
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40, size: "max" }), (actions) => {
      const [model, play] = [new Model(), new Play()]
      for (const each of actions) {
        model.take(each)
        play.take(each)
        expect(play.shown).toEqual(model.shown)
        play.check()
        if (model.current > 0) moments.used++
        if (model.sets.length === 2) moments.both++
        if (model.sets.some((of) => of.hosts.some(({ isListed }) => !isListed))) moments.kept++
        if (model.hasFailed) moments.failed++
      }
    }),
    { numRuns: Number(process.env["XDS_RUNS"] ?? "200") }
  )
  // It has seen what it is about.
  expect(Object.entries(moments).filter(([, times]) => times === 0)).toEqual([])
})
