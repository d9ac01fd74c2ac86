/**
 * `ring_hash_experimental`: the same hash goes to the same endpoint, as long as it is there.
 *
 * @see https://github.com/grpc/proposal/blob/master/A42-xds-ring-hash-lb-policy.md
 * @see https://github.com/grpc/proposal/blob/master/A76-ring-hash-improvements.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as List from "effect/List"
import type * as Children from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import * as Endpoints from "../Endpoint.js"
import type { Ring, RingChild } from "../Picker.js"
import * as Pickers from "../Picker.js"
import type { Output } from "../Policy.js"
import { define } from "../Policy.js"
import type { Member } from "../Ring.js"
import * as Rings from "../Ring.js"
import * as EndpointChildren from "./EndpointChildren.js"
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

/** How many endpoints are in each state. */
type Counts = Readonly<Record<Connectivity, number>>

/**
 * Its state. ★ What one endpoint changes of it does not depend on how many there are, but for the copy of a list.
 *
 * @since 0.1.0
 */
export interface State {
  readonly node: string
  readonly children: EndpointChildren.EndpointChildren
  /** What tells endpoints apart, in the order of the ring's places. */
  readonly keys: ReadonlyArray<string>
  /** Endpoints as the picker has them, by their places. */
  readonly placed: ReadonlyArray<RingChild>
  readonly counts: Counts
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

const none: Counts = { READY: 0, CONNECTING: 0, IDLE: 0, TRANSIENT_FAILURE: 0 }

const stateOf = ({ counts, keys }: State): Connectivity => {
  const failed = counts.TRANSIENT_FAILURE
  if (counts.READY > 0) return "READY"
  if (failed >= 2) return "TRANSIENT_FAILURE"
  if (counts.CONNECTING > 0) return "CONNECTING"
  if (failed === 1 && keys.length > 1) return "CONNECTING"
  return counts.IDLE > 0 ? "IDLE" : "TRANSIENT_FAILURE"
}

const ringChildOf = (node: string, key: string, { picker, state }: EndpointChildren.Child): RingChild => {
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

/** The first endpoint that is IDLE, told to connect. */
const wakeOne = ({ keys, placed }: State): ReadonlyArray<Output> => {
  const name = keys[placed.findIndex(({ _tag }) => _tag === "Idle")]
  return name === undefined ? nothing : [{ _tag: "ExitIdle", name }]
}

const tell = (self: State): ReadonlyArray<Output> => {
  const { counts, placed, ring } = self
  const state = stateOf(self)
  if (placed.length === 0) {
    return [{ _tag: "State", state, picker: Pickers.fail("NoEndpoint", "ring_hash has no endpoints") }]
  }
  const told: Output = { _tag: "State", state, picker: { _tag: "Ring", ring, children: placed } }
  // Without a pick nobody would connect, and a parent that waits for it sends no pick.
  const isStuck = state === "CONNECTING" || state === "TRANSIENT_FAILURE"
  return isStuck && counts.CONNECTING === 0 ? [told, ...wakeOne(self)] : [told]
}

/** All that was said while a config was carried out. */
const settle = (self: State): State => {
  const children = EndpointChildren.record(self.children, self.heard)
  let counts = none
  const placed: Array<RingChild> = []
  for (const key of self.keys) {
    const each = EndpointChildren.find(children, key)
    if (each === undefined) continue
    placed.push(ringChildOf(self.node, key, each))
    counts = { ...counts, [each.state]: counts[each.state] + 1 }
  }
  return { ...self, children, placed, counts, updating: false, heard: List.nil() }
}

const hear = (self: State, said: Children.Heard): State => {
  const before = EndpointChildren.find(self.children, said.name)
  if (before === undefined) return self
  const next = EndpointChildren.after(before, said)
  const placed = self.placed.slice()
  placed[next.at] = ringChildOf(self.node, said.name, next)
  const less = { ...self.counts, [before.state]: self.counts[before.state] - 1 }
  const counts = { ...less, [next.state]: less[next.state] + 1 }
  return { ...self, children: HashMap.set(self.children, said.name, next), placed, counts }
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
    children: HashMap.empty(),
    keys: [],
    placed: [],
    counts: none,
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
        const keys = Array.from(endpoints.keys())
        const [children, outputs] = EndpointChildren.update(self.children, endpoints, child, "IDLE")
        const sizes = [minRingSize, maxRingSize] as const
        return [{ ...self, children, keys, members, ring, sizes, updating: true, heard: List.nil() }, outputs]
      }
      case "Configured": {
        const next = settle(self)
        return [next, tell(next)]
      }
      case "ChildState": {
        if (!HashMap.has(self.children, input.name)) return [self, nothing]
        if (self.updating) return [{ ...self, heard: List.prepend(self.heard, input) }, nothing]
        const next = hear(self, input)
        return [next, tell(next)]
      }
      case "ExitIdle":
        return [self, wakeOne(self)]
      case "Connection":
      case "Outcomes":
      case "Sessions":
      case "Deadline":
        return [self, nothing]
    }
  },
  deadline: () => Number.POSITIVE_INFINITY
})
