/**
 * `ring_hash_experimental`: the same hash goes to the same endpoint, as long as it is there.
 *
 * @see https://github.com/grpc/proposal/blob/master/A42-xds-ring-hash-lb-policy.md
 * @see https://github.com/grpc/proposal/blob/master/A76-ring-hash-improvements.md
 * @since 0.1.0
 */
import * as List from "effect/List"
import * as Children from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import * as Endpoints from "../Endpoint.js"
import type { Picker, Ring, RingChild } from "../Picker.js"
import * as Pickers from "../Picker.js"
import type { Output } from "../Policy.js"
import { define } from "../Policy.js"
import type { Member } from "../Ring.js"
import * as Rings from "../Ring.js"
import * as PickFirst from "./PickFirst.js"

/**
 * Sizes of the ring, in entries.
 *
 * @since 0.1.0
 */
export interface Config {
  /** Default: 1 024. */
  readonly minRingSize?: number | undefined
  /** Default: 8 388 608; a ring never has more than {@link Rings.maxSize}. */
  readonly maxRingSize?: number | undefined
}

interface Child {
  /** ★ Sticky: a failure counts until READY. */
  readonly state: Connectivity
  readonly picker: Picker
}

/**
 * Its state.
 *
 * @since 0.1.0
 */
export interface State {
  readonly node: string
  /** By what tells endpoints apart, in the order of the ring's places. */
  readonly children: ReadonlyMap<string, Child>
  readonly members: ReadonlyArray<Member>
  readonly sizes: readonly [min: number, max: number]
  readonly ring: Ring
  /** A config is being carried out: what children say is recorded only. */
  readonly updating: boolean
  /** What they said meanwhile, the last first. */
  readonly heard: List.List<Children.Heard>
}

const nothing: ReadonlyArray<Output> = []
const child = PickFirst.policy.with({ lazy: true, heedsEjection: true })
const noRing: Ring = { hashes: new BigUint64Array(), endpoints: new Uint32Array() }

const stateOf = (children: ReadonlyMap<string, Child>): Connectivity => {
  const count = (state: Connectivity) => Array.from(children.values()).filter((each) => each.state === state).length
  const failed = count("TRANSIENT_FAILURE")
  if (count("READY") > 0) return "READY"
  if (failed >= 2) return "TRANSIENT_FAILURE"
  if (count("CONNECTING") > 0) return "CONNECTING"
  if (failed === 1 && children.size > 1) return "CONNECTING"
  return count("IDLE") > 0 ? "IDLE" : "TRANSIENT_FAILURE"
}

const ringChildOf = (node: string, key: string, { picker, state }: Child): RingChild => {
  switch (state) {
    case "READY":
      return { _tag: "Ready", child: picker }
    case "IDLE":
      return { _tag: "Idle", node: `${node}/${encodeURIComponent(key)}` }
    case "CONNECTING":
      return { _tag: "Connecting" }
    case "TRANSIENT_FAILURE":
      return { _tag: "Failed", child: picker }
  }
}

const tell = ({ children, node, ring }: State): ReadonlyArray<Output> => {
  const state = stateOf(children)
  if (children.size === 0) {
    return [{ _tag: "State", state, picker: Pickers.fail("NoEndpoint", "ring_hash has no endpoints") }]
  }
  const picker: Picker = {
    _tag: "Ring",
    ring,
    children: Array.from(children, ([key, each]) => ringChildOf(node, key, each))
  }
  const outputs: Array<Output> = [{ _tag: "State", state, picker }]
  // Without a pick nobody would connect, and a parent that waits for it sends no pick.
  const isStuck = state === "CONNECTING" || state === "TRANSIENT_FAILURE"
  if (isStuck && !Array.from(children.values()).some((each) => each.state === "CONNECTING")) {
    const idle = Array.from(children).find(([, each]) => each.state === "IDLE")
    if (idle !== undefined) outputs.push({ _tag: "ExitIdle", name: idle[0] })
  }
  return outputs
}

const sameMembers = (a: ReadonlyArray<Member>, b: ReadonlyArray<Member>): boolean =>
  a.length === b.length && a.every(({ key, weight }, index) => key === b[index]?.key && weight === b[index].weight)

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define<Config, State>({
  name: "ring_hash_experimental",
  make: (node) => ({
    node,
    children: new Map(),
    members: [],
    sizes: [0, 0],
    ring: noRing,
    updating: false,
    heard: List.nil()
  }),
  step: (self, input, { rings = Rings }) => {
    switch (input._tag) {
      case "Config": {
        const { maxRingSize = 8_388_608, minRingSize = 1_024 } = input.config
        const endpoints: ReadonlyMap<string, Endpoint> = Endpoints.byKey(input.endpoints)
        const members = Array.from(endpoints.values(), ({ addresses, hashKey, weight }) => ({
          key: hashKey ?? addresses[0] ?? "",
          weight
        }))
        const isSame =
          self.sizes[0] === minRingSize && self.sizes[1] === maxRingSize && sameMembers(self.members, members)
        const ring = isSame ? self.ring : rings.make(members, minRingSize, maxRingSize)
        const children = new Map<string, Child>()
        const outputs: Array<Output> = []
        for (const [key, endpoint] of endpoints) {
          const before = self.children.get(key)
          children.set(key, before ?? { state: "IDLE", picker: Pickers.queue })
          outputs.push({ _tag: before === undefined ? "Create" : "Update", name: key, child, endpoints: [endpoint] })
        }
        for (const key of self.children.keys()) if (!endpoints.has(key)) outputs.push({ _tag: "Remove", name: key })
        const sizes = [minRingSize, maxRingSize] as const
        return [{ ...self, children, members, ring, sizes, updating: true, heard: List.nil() }, outputs]
      }
      case "Configured": {
        const children = Children.record(self.children, self.heard)
        const next = { ...self, children, updating: false, heard: List.nil<Children.Heard>() }
        return [next, tell(next)]
      }
      case "ChildState": {
        if (!self.children.has(input.name)) return [self, nothing]
        if (self.updating) return [{ ...self, heard: List.prepend(self.heard, input) }, nothing]
        const next = { ...self, children: Children.record(self.children, List.of(input)) }
        return [next, tell(next)]
      }
      case "ExitIdle": {
        const idle = Array.from(self.children).find(([, each]) => each.state === "IDLE")
        return [self, idle === undefined ? nothing : [{ _tag: "ExitIdle", name: idle[0] }]]
      }
      case "Connection":
      case "Outcomes":
      case "Sessions":
      case "Deadline":
        return [self, nothing]
    }
  },
  deadline: () => Number.POSITIVE_INFINITY
})
