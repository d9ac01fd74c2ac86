/**
 * A picker as calls use it: an object for each picker, with the counters that it looks at in its hands.
 *
 * A pick goes from object to object, and each kind has a method of its own. So a place in code sees the one or two kinds
 * that stand below it in a tree, and not all of them; that, and counters that are not looked up by their names, is a third
 * of the time. What a call comes to at an endpoint is the same for all calls that come there, and made once.
 *
 * @since 0.1.0
 */
import type { CallStatus } from "./CallStatus.js"
import * as Status from "./CallStatus.js"
import * as Draws from "./Draw.js"
import * as Matching from "./Matcher.js"
import type { Address } from "./Endpoint.js"
import type { Counter, Counters, Drop, Pick, PickCall, Picker, RingChild, Share } from "./Picker.js"

/**
 * A picker that calls can use. It knows whose turn it is.
 *
 * @since 0.1.0
 */
export interface CompiledPicker {
  readonly pick: (call: PickCall) => Pick
}

/** What the pickers above one say: it is the same for all calls that come to it. */
interface Way {
  /** Counters that calls are to hold. */
  readonly holds: ReadonlyArray<string>
  /** The policy that is to be told what becomes of calls. */
  readonly observer: string | undefined
  /** How many shares are drawn. */
  readonly shares: number
  /** All of it as one text. */
  readonly key: string
}

const wayOf = ({ holds, observer, shares }: Omit<Way, "key">): Way => ({
  holds,
  observer,
  shares,
  key: JSON.stringify([holds, observer, shares])
})

const start = wayOf({ holds: [], observer: undefined, shares: 0 })

const holding = (way: Way, name: string): Way => wayOf({ ...way, holds: [...way.holds, name] })

/**
 * Pickers that were compiled, each for the way to it that was the last.
 *
 * @since 0.1.0
 */
export type Compiled = WeakMap<Picker, { readonly way: string; readonly picker: CompiledPicker }>

/**
 * A picker with these counters. The same picker and counters give the same object: what is below one that changed, and did
 * not change itself, keeps its turn.
 *
 * @since 0.1.0
 */
export const make = (picker: Picker, counters: Counters): CompiledPicker => at(picker, counters, start)

/**
 * Picks. The same picker, call and counters give the same, but for the turns of `RoundRobin`.
 *
 * @since 0.1.0
 */
export const pick = (self: Picker, call: PickCall, counters: Counters): Pick => make(self, counters).pick(call)

const at = (picker: Picker, counters: Counters, way: Way): CompiledPicker => {
  const known = counters.compiled.get(picker)
  if (known?.way === way.key) return known.picker
  const made = compile(picker, counters, way)
  counters.compiled.set(picker, { way: way.key, picker: made })
  return made
}

const compile = (picker: Picker, counters: Counters, way: Way): CompiledPicker => {
  switch (picker._tag) {
    case "Queue":
      return new Always(queued)
    case "Idle":
      return new Always({ _tag: "Queue", wake: picker.node })
    case "Fail":
    case "Drop":
      return new Always(picker)
    case "Connected": {
      const { holds, observer } = way
      const { address, endpoint } = picker
      return new Always({ _tag: "Complete", address, endpoint, holds, observer, session: undefined })
    }
    case "Weighted":
      return new Weighted(picker, counters, way)
    case "RoundRobin":
      return new RoundRobin(picker.children, counters, way)
    case "LeastRequest":
      return new LeastRequest(picker, counters, way)
    case "Ring":
      return new OnRing(picker, counters, way)
    case "Routed":
      return new Routed(picker, counters, way)
    case "ByName":
      return new ByName(picker.children, counters, way)
    case "Limited":
      return new Limited(picker, counters, way)
    case "Session":
      return new OfSession(picker, counters, way)
    // It only says who is told.
    case "Observed":
      return at(picker.child, counters, wayOf({ ...way, observer: picker.node }))
  }
}

// Which of a call's random numbers is whose: fixed, so that a pick that is made again draws the same although the tree
// has changed meanwhile. Those from 8 192 on choose the route and the cluster (`ConfigSelector`).
const DRAW_SHARE = 0
const DRAW_HASH = 1
const DRAW_TURN = 3
const DRAW_CHOICES = 4
const DRAW_DROPS = 16
const DRAW_NESTED_SHARE = 2_048
const DRAW_ROUTE = 4_096

const queued: Pick = { _tag: "Queue", wake: undefined }

/** The same for every call. */
class Always implements CompiledPicker {
  constructor(private readonly outcome: Pick) {}

  pick(): Pick {
    return this.outcome
  }
}

/** Some pickers, each compiled when it is used first: of many that follow each other most are never asked. */
class Children {
  private readonly compiled: Array<CompiledPicker | undefined>

  /** @param wayTo the way to the picker at an index */
  constructor(
    private readonly pickers: ReadonlyArray<Picker | undefined>,
    private readonly counters: Counters,
    private readonly wayTo: (index: number) => Way
  ) {
    this.compiled = pickers.map(() => undefined)
  }

  /** `undefined`: there is none at this place. */
  at(index: number): CompiledPicker | undefined {
    return this.compiled[index] ?? this.compileAt(index)
  }

  private compileAt(index: number): CompiledPicker | undefined {
    const picker = this.pickers[index]
    return picker === undefined ? undefined : (this.compiled[index] = at(picker, this.counters, this.wayTo(index)))
  }
}

class Weighted implements CompiledPicker {
  private readonly children: Children
  private readonly targets: ReadonlyArray<Share>
  private readonly sum: number
  private readonly place: number

  constructor({ sum, targets }: Picker & { readonly _tag: "Weighted" }, counters: Counters, way: Way) {
    this.sum = sum
    this.targets = targets
    // ★ One within another draws anew: who is drawn among all would else decide who is drawn among those below.
    this.place = way.shares === 0 ? DRAW_SHARE : DRAW_NESTED_SHARE + way.shares
    const below = wayOf({ ...way, shares: way.shares + 1 })
    this.children = new Children(
      targets.map(({ child }) => child),
      counters,
      () => below
    )
  }

  pick(call: PickCall): Pick {
    const child = this.children.at(Draws.share(this.targets, Draws.at(call.draw, this.place) * this.sum))
    return child === undefined ? queued : child.pick(call)
  }
}

class RoundRobin implements CompiledPicker {
  private readonly children: Children
  private readonly length: number
  /** -1: the first call draws it. */
  private turn = -1

  constructor(children: ReadonlyArray<Picker>, counters: Counters, way: Way) {
    this.children = new Children(children, counters, () => way)
    this.length = children.length
  }

  pick(call: PickCall): Pick {
    let { turn } = this
    if (turn < 0) turn = Math.floor(Draws.at(call.draw, DRAW_TURN) * this.length)
    this.turn = turn + 1 < this.length ? turn + 1 : 0
    const child = this.children.at(turn)
    return child === undefined ? queued : child.pick(call)
  }
}

class LeastRequest implements CompiledPicker {
  private readonly children: Children
  private readonly held: ReadonlyArray<Held>
  private readonly choices: number

  constructor({ children, choices }: Picker & { readonly _tag: "LeastRequest" }, counters: Counters, way: Way) {
    this.choices = choices
    this.children = new Children(
      children.map(({ child }) => child),
      counters,
      (index) => holding(way, children[index]?.active ?? "")
    )
    this.held = children.map(({ active }) => new Held(active, counters))
  }

  /** ★ Drawn with replacement; of equals the first that was drawn. */
  pick(call: PickCall): Pick {
    let best = -1
    let fewest = Number.POSITIVE_INFINITY
    for (let choice = 0; choice < this.choices; choice++) {
      const index = Math.floor(Draws.at(call.draw, DRAW_CHOICES + choice) * this.held.length)
      const count = this.held[index]?.count() ?? fewest
      if (count >= fewest) continue
      best = index
      fewest = count
    }
    const child = this.children.at(best)
    return child === undefined ? queued : child.pick(call)
  }
}

/** A counter of calls. */
class Held {
  private counter: Counter | undefined

  constructor(
    private readonly name: string,
    private readonly counters: Counters
  ) {}

  count(): number {
    // ★ While no call held it, its owner may have forgotten it, and counts the next call elsewhere.
    if (this.counter?.isForgotten !== false) this.counter = this.counters.calls(this.name)
    return this.counter.value
  }
}

class Limited implements CompiledPicker {
  private readonly child: CompiledPicker
  private readonly held: Held
  private readonly maxRequests: number
  private readonly drops: ReadonlyArray<Drop>

  constructor(
    private readonly picker: Picker & { readonly _tag: "Limited" },
    counters: Counters,
    way: Way
  ) {
    this.child = at(picker.child, counters, holding(way, picker.inFlight))
    this.held = new Held(picker.inFlight, counters)
    this.maxRequests = picker.maxRequests
    this.drops = picker.drops
  }

  pick(call: PickCall): Pick {
    if (this.drops.length > 0) {
      const drop = dropOf(this.drops, call.draw)
      if (drop !== undefined) {
        const { cluster } = this.picker
        const message = `dropped by cluster ${JSON.stringify(cluster)}, category ${JSON.stringify(drop.category)}`
        return { _tag: "Drop", status: Status.unavailable("Dropped", message) }
      }
    }
    if (this.held.count() < this.maxRequests) return this.child.pick(call)
    return { _tag: "Drop", status: fullOf(this.picker) }
  }
}

const dropOf = (drops: ReadonlyArray<Drop>, draw: Draws.Draw): Drop | undefined =>
  drops.find(({ numerator }, index) => Math.floor(Draws.at(draw, DRAW_DROPS + index) * 1_000_000) < numerator)

const fullOf = ({ cluster, maxRequests }: Picker & { readonly _tag: "Limited" }): CallStatus =>
  Status.unavailable(
    "CircuitOpen",
    `cluster ${JSON.stringify(cluster)} has its ${maxRequests} requests in flight (circuit_breakers.max_requests)`
  )

class OfSession implements CompiledPicker {
  private readonly child: CompiledPicker

  constructor(
    private readonly picker: Picker & { readonly _tag: "Session" },
    counters: Counters,
    private readonly way: Way
  ) {
    this.child = at(picker.child, counters, way)
  }

  pick(call: PickCall): Pick {
    const { hosts } = call
    return (hosts === undefined ? undefined : this.ofSession(hosts)) ?? this.child.pick(call)
  }

  /** The first host that is connected; else one that is being connected, or can be. ★ One that is ejected is as none. */
  private ofSession(named: ReadonlyArray<Address>): Pick | undefined {
    const { endpoints, hosts, node } = this.picker
    let isConnecting = false
    let free: Address | undefined
    for (const name of named) {
      const endpoint = endpoints.get(name)
      if (endpoint === undefined || endpoint.isEjected === true) continue
      // The others of its addresses lead to the same server.
      for (const address of [name, ...endpoint.addresses]) {
        const state = hosts.get(address)?.state ?? "Idle"
        if (state === "Ready") {
          const { holds, observer } = this.way
          return { _tag: "Complete", address, endpoint, holds, observer, session: node }
        }
        if (state === "Connecting") isConnecting = true
        if (state === "Idle") free ??= name
      }
    }
    if (isConnecting) return queued
    return free === undefined ? undefined : { _tag: "Connect", node, address: free }
  }
}

class ByName implements CompiledPicker {
  private readonly compiled = new Map<string, CompiledPicker>()
  /** Calls of one cluster come in rows: the last one is not looked up again. */
  private cluster: string | undefined
  private child: CompiledPicker | undefined

  constructor(
    private readonly children: ReadonlyMap<string, Picker>,
    private readonly counters: Counters,
    private readonly way: Way
  ) {}

  pick(call: PickCall): Pick {
    const { cluster } = call
    if (cluster !== this.cluster) {
      this.child = this.compiled.get(cluster) ?? this.compileFor(cluster)
      this.cluster = cluster
    }
    if (this.child !== undefined) return this.child.pick(call)
    const message = `cluster ${JSON.stringify(cluster)} is not among those of the configuration`
    return { _tag: "Fail", status: Status.unavailable("UnknownCluster", message) }
  }

  private compileFor(cluster: string): CompiledPicker | undefined {
    const picker = this.children.get(cluster)
    if (picker === undefined) return undefined
    const child = at(picker, this.counters, this.way)
    this.compiled.set(cluster, child)
    return child
  }
}

class Routed implements CompiledPicker {
  private readonly children: Children

  constructor(
    private readonly picker: Picker & { readonly _tag: "Routed" },
    counters: Counters,
    way: Way
  ) {
    this.children = new Children(picker.children, counters, () => way)
  }

  pick(call: PickCall): Pick {
    const { matchers, virtualHost } = this.picker
    const { at } = Matching.first(matchers, { ...call, draw: Draws.after(call.draw, DRAW_ROUTE) })
    if (at >= 0) return this.children.at(at)?.pick(call) ?? queued
    const message = `no route of virtual host ${JSON.stringify(virtualHost)} matches ${call.path}`
    return { _tag: "Drop", status: Status.unavailable("NoRoute", message) }
  }
}

const word = 2 ** 32

/** 64 bits: of the route's hash policies, or drawn. */
const hashOf = ({ draw, hash }: PickCall): bigint =>
  hash ??
  (BigInt(Math.floor(Draws.at(draw, DRAW_HASH) * word)) << 32n) |
    BigInt(Math.floor(Draws.at(draw, DRAW_HASH + 1) * word))

/** The first entry whose hash is not less; after the last comes the first. */
const entryOf = (hashes: BigUint64Array, hash: bigint): number => {
  let low = 0
  let high = hashes.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((hashes[middle] ?? 0n) >= hash) high = middle
    else low = middle + 1
  }
  return low === hashes.length ? 0 : low
}

class OnRing implements CompiledPicker {
  private readonly children: Children
  private readonly states: ReadonlyArray<RingChild>

  constructor(
    private readonly picker: Picker & { readonly _tag: "Ring" },
    counters: Counters,
    way: Way
  ) {
    this.states = picker.children
    this.children = new Children(
      picker.children.map((each) => ("child" in each ? each.child : undefined)),
      counters,
      () => way
    )
  }

  /** From its entry on: an endpoint that is ready is taken; an idle or a connecting one is waited for; a failed one is passed. */
  pick(call: PickCall): Pick {
    const { endpoints, hashes } = this.picker.ring
    const { length } = endpoints
    const from = entryOf(hashes, hashOf(call))
    let seen: Set<number> | undefined
    let failed = -1
    for (let step = 0; step < length; step++) {
      const index = endpoints[(from + step) % length] ?? 0
      if (seen?.has(index) === true) continue
      const each = this.states[index]
      if (each?._tag === "Ready") return this.children.at(index)?.pick(call) ?? queued
      if (each?._tag === "Idle") return { _tag: "Queue", wake: each.node }
      if (each?._tag === "Connecting") return queued
      if (each !== undefined && failed < 0) failed = index
      seen ??= new Set()
      seen.add(index)
      if (seen.size >= this.states.length) break
    }
    return this.children.at(failed)?.pick(call) ?? queued
  }
}
