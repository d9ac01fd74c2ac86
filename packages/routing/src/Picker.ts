/**
 * Pickers: what a load-balancing policy says of calls, as data. A pick is a look-up in it.
 *
 * @see https://github.com/grpc/proposal/blob/master/A42-xds-ring-hash-lb-policy.md
 * @since 0.1.0
 */
import type { CallStatus } from "./CallStatus.js"
import * as Status from "./CallStatus.js"
import * as Draws from "./Draw.js"
import type { Endpoint } from "./Endpoint.js"
import type { Call, Matchers } from "./Matcher.js"
import * as Matching from "./Matcher.js"

/**
 * A picker. `node` is the place of a policy in its tree: see `Tree`.
 *
 * @since 0.1.0
 */
export type Picker =
  /** The call waits for the next picker. */
  | { readonly _tag: "Queue" }
  /** The call waits, and the policy at `node` is told to connect. */
  | { readonly _tag: "Idle"; readonly node: string }
  /** The call fails, unless it waits for ready. */
  | { readonly _tag: "Fail"; readonly status: CallStatus }
  /** The call ends, even if it waits for ready: it would wait for ever. */
  | { readonly _tag: "Drop"; readonly status: CallStatus }
  /** A connection. */
  | { readonly _tag: "Connected"; readonly address: string; readonly endpoint: Endpoint }
  /** Shares: the first with `end > draw × sum`. */
  | { readonly _tag: "Weighted"; readonly targets: ReadonlyArray<Share>; readonly sum: number }
  /** In turn, from one on that is drawn. `turns` names the counter. */
  | { readonly _tag: "RoundRobin"; readonly turns: string; readonly children: ReadonlyArray<Picker> }
  /** The one of `choices` drawn that has the fewest calls. */
  | { readonly _tag: "LeastRequest"; readonly choices: number; readonly children: ReadonlyArray<Counted> }
  /** By the hash of the call. */
  | { readonly _tag: "Ring"; readonly ring: Ring; readonly children: ReadonlyArray<RingChild> }
  /** By the first route that matches; `undefined`: its child has no picker yet. */
  | {
      readonly _tag: "Routed"
      readonly virtualHost: string
      readonly matchers: Matchers
      readonly children: ReadonlyArray<Picker | undefined>
    }
  /** By the cluster that was chosen for the call. */
  | { readonly _tag: "ByName"; readonly children: ReadonlyMap<string, Picker> }
  /** Drops and a limit of calls in flight, before the child. */
  | {
      readonly _tag: "Limited"
      readonly cluster: string
      readonly drops: ReadonlyArray<Drop>
      /** Names the counter of calls in flight, which a process has once. */
      readonly inFlight: string
      readonly maxRequests: number
      readonly child: Picker
    }
  /** What becomes of the calls of the child is told to the policy at `node`. */
  | { readonly _tag: "Observed"; readonly node: string; readonly child: Picker }

/**
 * A picker and its share.
 *
 * @since 0.1.0
 */
export interface Share {
  /** Sum of the weights up to this one. */
  readonly end: number
  readonly child: Picker
}

/**
 * A picker and the counter of its calls.
 *
 * @since 0.1.0
 */
export interface Counted {
  readonly active: string
  readonly child: Picker
}

/**
 * A category of calls that are dropped.
 *
 * @since 0.1.0
 */
export interface Drop {
  readonly category: string
  /** Numerator of a million. */
  readonly numerator: number
}

/**
 * A ring of hashes, in ascending order, each with the place of an endpoint.
 *
 * @since 0.1.0
 */
export interface Ring {
  readonly hashes: BigUint64Array
  readonly endpoints: Uint32Array
}

/**
 * An endpoint on a ring.
 *
 * @since 0.1.0
 */
export type RingChild =
  | { readonly _tag: "Ready" | "Failed"; readonly child: Picker }
  | { readonly _tag: "Idle"; readonly node: string }
  | { readonly _tag: "Connecting" }

/**
 * A call, as far as pickers see it.
 *
 * @since 0.1.0
 */
export interface PickCall extends Call {
  /** The cluster that its route chose. */
  readonly cluster: string
  /** The hash of its route's policies; `undefined`: it is drawn. */
  readonly hash: bigint | undefined
}

/**
 * What is counted while calls go on. Its owner is who makes the calls.
 *
 * @since 0.1.0
 */
export interface Counters {
  /** The number of a pick: `start` the first time, then one more each time. */
  readonly turn: (name: string, start: number) => number
  /** How many calls hold the counter. */
  readonly count: (name: string) => number
}

/**
 * The outcome of a pick.
 *
 * @since 0.1.0
 */
export type Pick =
  | {
      readonly _tag: "Complete"
      readonly address: string
      readonly endpoint: Endpoint
      /** Counters that the call holds until its stream ends. */
      readonly holds: ReadonlyArray<string>
      /** The policy that is to be told what becomes of the call; `undefined`: none is. */
      readonly observer: string | undefined
    }
  /** `wake`: the policy at this node is to connect. */
  | { readonly _tag: "Queue"; readonly wake: string | undefined }
  | { readonly _tag: "Fail"; readonly status: CallStatus }
  /** The call ends, even if it waits for ready. */
  | { readonly _tag: "Drop"; readonly status: CallStatus }

/**
 * Calls wait.
 *
 * @since 0.1.0
 */
export const queue: Picker = { _tag: "Queue" }

/**
 * Calls fail with UNAVAILABLE.
 *
 * @since 0.1.0
 */
export const fail = (reason: Status.Reason, message: string): Picker => ({
  _tag: "Fail",
  status: Status.unavailable(reason, message)
})

/** Every field of any picker. */
const blank = {
  _tag: undefined,
  node: undefined,
  status: undefined,
  address: undefined,
  endpoint: undefined,
  targets: undefined,
  sum: undefined,
  turns: undefined,
  choices: undefined,
  ring: undefined,
  virtualHost: undefined,
  matchers: undefined,
  cluster: undefined,
  drops: undefined,
  inFlight: undefined,
  maxRequests: undefined,
  child: undefined,
  children: undefined
}

/**
 * The same picker with the fields of all others, without values. A pick that goes through pickers of one shape takes half as
 * long: a place in code that sees more than four shapes looks fields up by their names. {@link Tree} does it.
 *
 * @since 0.1.0
 */
export const uniform = (self: Picker): Picker => ({ ...blank, ...self })

/**
 * Shares in their order; those without weight are left out.
 *
 * @since 0.1.0
 */
export const weighted = (shares: Iterable<readonly [weight: number, child: Picker]>): Picker => {
  const targets: Array<Share> = []
  let sum = 0
  for (const [weight, child] of shares) {
    if (weight <= 0) continue
    sum += weight
    targets.push({ end: sum, child })
  }
  return { _tag: "Weighted", targets, sum }
}

// Which of a call's random numbers is whose: fixed, so that a pick that is made again draws the same although the tree
// has changed meanwhile.
const DRAW_SHARE = 0
const DRAW_HASH = 1
const DRAW_TURN = 3
const DRAW_CHOICES = 4
const DRAW_DROPS = 16
const DRAW_NESTED_SHARE = 2_048
const DRAW_ROUTE = 4_096

const none: ReadonlyArray<string> = []

/**
 * Picks. The same picker, call and counters give the same.
 *
 * @since 0.1.0
 */
export const pick = (self: Picker, call: PickCall, counters: Counters): Pick => {
  let picker = self
  let holds = none
  let observer: string | undefined
  let shares = 0
  for (;;) {
    switch (picker._tag) {
      case "Queue":
        return { _tag: "Queue", wake: undefined }
      case "Idle":
        return { _tag: "Queue", wake: picker.node }
      case "Fail":
      case "Drop":
        return picker
      case "Connected":
        return { _tag: "Complete", address: picker.address, endpoint: picker.endpoint, holds, observer }
      case "Weighted": {
        // ★ One within another draws anew: who is drawn among all would else decide who is drawn among those below.
        const place = shares === 0 ? DRAW_SHARE : DRAW_NESTED_SHARE + shares
        shares++
        const share = Draws.share(picker.targets, Draws.at(call.draw, place) * picker.sum)
        if (share === undefined) return { _tag: "Queue", wake: undefined }
        picker = share.child
        break
      }
      case "RoundRobin": {
        const { length } = picker.children
        const start = Math.floor(Draws.at(call.draw, DRAW_TURN) * length)
        const child = picker.children[counters.turn(picker.turns, start) % length]
        if (child === undefined) return { _tag: "Queue", wake: undefined }
        picker = child
        break
      }
      case "LeastRequest": {
        const chosen = leastOf(picker.children, picker.choices, call.draw, counters)
        if (chosen === undefined) return { _tag: "Queue", wake: undefined }
        holds = [...holds, chosen.active]
        picker = chosen.child
        break
      }
      case "Ring": {
        const found = onRing(picker.ring, picker.children, hashOf(call))
        if (found._tag !== "Child") return found
        picker = found.child
        break
      }
      case "Routed": {
        const { at } = Matching.first(picker.matchers, { ...call, draw: Draws.after(call.draw, DRAW_ROUTE) })
        if (at < 0) {
          const message = `no route of virtual host ${JSON.stringify(picker.virtualHost)} matches ${call.path}`
          return { _tag: "Drop", status: Status.unavailable("NoRoute", message) }
        }
        picker = picker.children[at] ?? queue
        break
      }
      case "ByName": {
        const child = picker.children.get(call.cluster)
        if (child === undefined) {
          const message = `cluster ${JSON.stringify(call.cluster)} is not among those of the configuration`
          return { _tag: "Fail", status: Status.unavailable("UnknownCluster", message) }
        }
        picker = child
        break
      }
      case "Observed":
        observer = picker.node
        picker = picker.child
        break
      case "Limited": {
        const refused = refusalOf(picker, call.draw, counters)
        if (refused !== undefined) return { _tag: "Drop", status: refused }
        holds = holds === none ? [picker.inFlight] : [...holds, picker.inFlight]
        picker = picker.child
      }
    }
  }
}

/** ★ Drawn with replacement; of equals the first that was drawn. */
const leastOf = (
  children: ReadonlyArray<Counted>,
  choices: number,
  draw: Draws.Draw,
  counters: Counters
): Counted | undefined => {
  let best: Counted | undefined
  let fewest = Number.POSITIVE_INFINITY
  for (let choice = 0; choice < choices; choice++) {
    const each = children[Math.floor(Draws.at(draw, DRAW_CHOICES + choice) * children.length)]
    if (each === undefined) continue
    const count = counters.count(each.active)
    if (count >= fewest) continue
    best = each
    fewest = count
  }
  return best
}

const refusalOf = (
  { cluster, drops, inFlight, maxRequests }: Picker & { readonly _tag: "Limited" },
  draw: Draws.Draw,
  counters: Counters
): CallStatus | undefined => {
  for (let index = 0; index < drops.length; index++) {
    const drop = drops[index]
    if (drop === undefined) continue
    if (Math.floor(Draws.at(draw, DRAW_DROPS + index) * 1_000_000) >= drop.numerator) continue
    const message = `dropped by cluster ${JSON.stringify(cluster)}, category ${JSON.stringify(drop.category)}`
    return Status.unavailable("Dropped", message)
  }
  if (counters.count(inFlight) < maxRequests) return undefined
  const message = `cluster ${JSON.stringify(cluster)} has its ${maxRequests} requests in flight (circuit_breakers.max_requests)`
  return Status.unavailable("CircuitOpen", message)
}

const word = 2 ** 32

/** 64 bits: of the route's hash policies, or drawn. */
const hashOf = ({ draw, hash }: PickCall): bigint =>
  hash ??
  (BigInt(Math.floor(Draws.at(draw, DRAW_HASH) * word)) << 32n) |
    BigInt(Math.floor(Draws.at(draw, DRAW_HASH + 1) * word))

/** The first entry whose hash is not less; after the last comes the first. */
const entryOf = ({ hashes }: Ring, hash: bigint): number => {
  let low = 0
  let high = hashes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((hashes[middle] ?? 0n) >= hash) high = middle
    else low = middle + 1
  }
  return low === hashes.length ? 0 : low
}

type OnRing = Exclude<Pick, { readonly _tag: "Complete" }> | { readonly _tag: "Child"; readonly child: Picker }

/** From its entry on: an endpoint that is ready is taken; an idle or a connecting one is waited for; a failed one is passed. */
const onRing = (ring: Ring, children: ReadonlyArray<RingChild>, hash: bigint): OnRing => {
  const { length } = ring.endpoints
  const from = entryOf(ring, hash)
  const seen = new Set<number>()
  let failed: Picker | undefined
  for (let step = 0; step < length && seen.size < children.length; step++) {
    const index = ring.endpoints[(from + step) % length] ?? 0
    if (seen.has(index)) continue
    seen.add(index)
    const each = children[index]
    if (each === undefined) continue
    if (each._tag === "Ready") return { _tag: "Child", child: each.child }
    if (each._tag === "Idle") return { _tag: "Queue", wake: each.node }
    if (each._tag === "Connecting") return { _tag: "Queue", wake: undefined }
    failed ??= each.child
  }
  return failed === undefined ? { _tag: "Queue", wake: undefined } : { _tag: "Child", child: failed }
}
