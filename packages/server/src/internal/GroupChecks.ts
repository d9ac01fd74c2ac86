/**
 * Checks groups by the rules over their resources together. Each group has an index of what its own resources define and refer
 * to, so that a check costs what has changed since the last one.
 *
 * ★ A change does not wait for its warnings, and neither does a client: groups that changed are checked later, one after the other,
 * in slices of turns in which nobody else has much to do. A group that changes again before its turn is checked once. Only a change
 * that may be refused is checked before it is made.
 */
import * as Difference from "@effect-xds/core/resource/Difference"
import { contentsOf, type Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Steps from "@effect-xds/core/Steps"
import * as Redaction from "@effect-xds/proto/Redaction"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type { GroupFault } from "@effect-xds/validate/GroupFault"
import type * as GroupFaults from "@effect-xds/validate/GroupFault"
import type * as GroupIndex from "@effect-xds/validate/GroupIndex"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as MetricLabel from "effect/MetricLabel"
import * as Runtime from "effect/Runtime"
import type * as HeldGroups from "../HeldGroups.js"
import type { Broken, BrokenRule, GroupReport } from "../GroupReport.js"
import { BrokenRules } from "../StoreError.js"
import type * as Validator from "../Validator.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"
import * as UnhurriedLoop from "./UnhurriedLoop.js"

interface Options extends Pick<Validator.Options, "off" | "maxBroken" | "maxIndexed"> {
  readonly mode: Validator.GroupMode
  readonly loop: EventLoop.Service
  readonly runtime: Runtime.Runtime<never>
  /** Must not throw. */
  readonly onReport: (report: GroupReport) => void
}

interface Loaded {
  readonly GroupIndex: typeof GroupIndex
  readonly GroupFault: typeof GroupFaults
}

/** Loaded with the first check: a program without checks does not need them. */
let loaded: Loaded | undefined
let loading: Promise<Loaded> | undefined
const load = Effect.suspend(() =>
  loaded === undefined
    ? Effect.promise(
        () =>
          (loading ??= Promise.all([
            import("@effect-xds/validate/GroupIndex"),
            import("@effect-xds/validate/GroupFault")
          ]).then(([index, fault]) => (loaded = { GroupIndex: index, GroupFault: fault })))
      )
    : Effect.succeed(loaded)
)

/** The next state of a group, as far as a check needs it. */
interface Layers {
  readonly own: ResourceGroup.ResourceGroup
  readonly over: string | undefined
}

/** What is known of a group. */
interface State {
  readonly index: GroupIndex.GroupIndex
  /** What the index holds. */
  own: ResourceGroup.ResourceGroup
  /** The visible resources of the group below. */
  below: ResourceGroup.ResourceGroup
  /**
   * Whether what it refers to may be in a group that is not known here: one that is over it, or that it is over and that is not
   * set.
   */
  isOpen: boolean
  /** What the gauge has of it. */
  counted: number
  /** What was told last. */
  told: Told | undefined
}

/** What a check finds: all that is broken, and what was not before. */
interface Found {
  readonly all: GroupIndex.Faults
  readonly fresh: GroupIndex.Faults
}

/** Faults that were put into words. */
interface Told {
  readonly faults: GroupIndex.Faults
  /** The places that were known then. */
  readonly placed: number
  readonly broken: Broken
}

/** Whether they are those of before. The faults of a resource that says something else are new ones. */
const areSame = (one: GroupIndex.Faults, other: GroupIndex.Faults): boolean =>
  one.omitted === other.omitted &&
  one.faults.length === other.faults.length &&
  one.faults.every((fault, index) => fault === other.faults[index])

const numberOf = ({ omitted, rules }: Broken): number => rules.length + omitted

const nothing: Broken = { rules: [], omitted: 0 }

/** The most broken rules that are kept in words, over all groups; of others there is the number. */
const maxKept = 10_000

/** The most log lines of one check. */
const maxLines = 20

/** UTF-16 code units of a line: paths and names may be long. */
const maxText = 2_000

const cut = (text: string): string => (text.length <= maxText ? text : `${text.slice(0, maxText)}…`)

const checked = (resource: Resource): GroupIndex.Resource => {
  const { error, name, typeUrl, value, variants } = resource
  if (variants === undefined && error === undefined) return resource
  return { typeUrl, name, value, contents: contentsOf(resource).map((each) => each.value) }
}

/** In steps: what was put, and what was removed. */
const differences = function* (
  before: ResourceGroup.ResourceGroup,
  now: ResourceGroup.ResourceGroup
): Steps.Steps<{ readonly put: ReadonlyArray<GroupIndex.Resource>; readonly remove: ReadonlyArray<GroupIndex.Key> }> {
  const put: Array<GroupIndex.Resource> = []
  const remove: Array<GroupIndex.Key> = []
  if (before !== now) {
    for (const typeUrl of new Set([...before.sets.keys(), ...now.sets.keys()])) {
      const { cursor } = ResourceGroup.set(before, typeUrl)
      const { changed, removed } = yield* Difference.inSteps(ResourceGroup.set(now, typeUrl), cursor)
      for (const resource of changed) put.push(checked(resource))
      for (const name of removed.keys()) remove.push({ typeUrl, name })
    }
  }
  return { put, remove }
}

/** Work in steps; instead of its result it may give the names of types to load before it is begun again. */
type Loading<A extends object> = Steps.Steps<A | ReadonlySet<string>>

const isTypes = (result: object): result is ReadonlySet<string> => result instanceof Set

/** The result of such work, in slices. `begun`: its first steps were taken. */
const toEnd = <A extends object>(
  { GroupIndex: { loadTypes } }: Loaded,
  loop: EventLoop.Service,
  begin: () => Loading<A>,
  begun = begin()
): Effect.Effect<A> => {
  const end = (result: A | ReadonlySet<string>): Effect.Effect<A> =>
    isTypes(result)
      ? Effect.flatMap(loadTypes(result), () => Effect.flatMap(Slices.steps(loop, begin()), end))
      : Effect.succeed(result)
  return Effect.flatMap(Slices.steps(loop, begun), end)
}

/** Bytes that are read in one step: some tenths of a millisecond. */
const bytesAtOnce = 16_384

/** Reads resources. */
const reading = function* (
  { isLarge }: Loaded["GroupIndex"],
  index: GroupIndex.GroupIndex,
  resources: ReadonlyArray<GroupIndex.Resource>
): Loading<GroupIndex.GroupIndex> {
  let bytes = 0
  for (const resource of resources) {
    const read = isLarge(resource) ? yield* index.readInSteps(resource) : index.read(resource)
    if (typeof read !== "number" && !("messages" in read)) return read
    // An empty one takes some time, too, and variants are rare.
    bytes += 64 + (resource.contents === undefined ? resource.value.byteLength : bytesAtOnce)
    if (bytes < bytesAtOnce) continue
    bytes = 0
    yield
  }
  return index
}

const applying = function* (
  index: GroupIndex.GroupIndex,
  put: ReadonlyArray<GroupIndex.Resource>,
  remove: ReadonlyArray<GroupIndex.Key>
): Steps.Steps<object> {
  let done = 0
  for (const key of remove) {
    index.remove(key)
    if (++done % Steps.atOnce === 0) yield
  }
  for (const resource of put) {
    index.put(resource)
    if (++done % Steps.atOnce === 0) yield
  }
  return index
}

const sizeOf = (group: ResourceGroup.ResourceGroup): number => {
  let size = 0
  for (const set of group.sets.values()) size += ResourceSet.size(set)
  return size
}

const failed = (group: string, cause: unknown): Effect.Effect<void> =>
  Effect.logError(`${group}: its resources could not be checked together: ${Redaction.ofDefect(cause)}`)

export class GroupChecks {
  readonly #states = new Map<string, State>()
  /** What is broken, in words: of all groups together at most `maxKept` rules. */
  readonly #broken = new Map<string, Broken>()
  #kept = 0
  readonly #places = new WeakMap<Resource, string>()
  /** How often places were learned. */
  #placed = 0
  /** What is broken is told again after each change, and most of it is what it was. */
  readonly #words = new WeakMap<GroupFault, BrokenRule>()
  /** Groups whose size was said to be over the limit. */
  readonly #tooLarge = new Set<string>()
  /** Groups to check, the longest waiting first. */
  readonly #waiting = new Set<string>()
  /** Of each group one check at a time. */
  readonly #turns = new Map<string, { readonly semaphore: Effect.Semaphore; users: number }>()
  readonly #maxBroken: number
  readonly #maxIndexed: number
  readonly #off: ReadonlySet<string>
  /** Of all groups: many have the same resources. */
  #cache: GroupIndex.Cache | undefined
  #isWorking = false
  #isStopped = false
  #indexed = 0

  constructor(
    private readonly held: HeldGroups.HeldGroups,
    private readonly options: Options
  ) {
    this.#maxBroken = Math.max(1, options.maxBroken ?? 100)
    this.#off = new Set(options.off)
    this.#maxIndexed = options.maxIndexed ?? 262_144
  }

  /** Resources come from these places. */
  placed(places: ReadonlyMap<Resource, string>): void {
    // A resource may also have lost its place.
    if (places.size > 0 || this.#placed > 0) this.#placed++
    for (const [resource, place] of places) this.#places.set(resource, place)
  }

  /** The group changed, or what is around it did. Returns at once. */
  changed(group: string | undefined): void {
    if (group === undefined || this.options.mode === "off" || this.#isStopped) return
    // It came and went before it was checked.
    if (this.held.stored(group) === undefined && !this.#states.has(group)) return void this.#waiting.delete(group)
    this.#waiting.add(group)
    if (this.#isWorking) return
    this.#isWorking = true
    this.options.loop.later(this.#next)
  }

  /** What was broken in the group when it was last checked. */
  of(group: string): Broken | undefined {
    return this.#broken.get(group)
  }

  /** Checks the group if it changed since the last check; what is broken in it. */
  now(group: string): Effect.Effect<Broken> {
    if (this.options.mode === "off") return Effect.succeed(nothing)
    return Effect.map(this.#exclusive(group, this.#check(group)), () => this.of(group) ?? nothing)
  }

  /** Fails with what the change would break that is not broken now. */
  refuse(group: string, next: Layers, mode: "refuse" | "refuse-errors"): Effect.Effect<void, BrokenRules> {
    return this.#exclusive(group, this.#attempt(group, next, mode))
  }

  /** Drops everything. */
  stop(): void {
    this.#isStopped = true
    this.#waiting.clear()
    for (const group of Array.from(this.#states.keys())) this.#drop(group)
    this.#broken.clear()
    this.#kept = 0
  }

  /** Checks the next group that waits. */
  readonly #next = (): void => {
    const { loop, runtime } = this.options
    const [group] = this.#waiting
    if (group === undefined || this.#isStopped) {
      this.#isWorking = false
      return
    }
    this.#waiting.delete(group)
    const after = () => void loop.later(this.#next)
    const rest = this.#begin(group)
    if (rest === undefined) after()
    else Runtime.runFork(runtime)(Effect.zipRight(rest, Effect.sync(after)))
  }

  /** Checks a group at once, which takes no fiber: most changes are small. What is left of the check, if anything. */
  #begin(group: string): Effect.Effect<void> | undefined {
    const { loop } = this.options
    const stored = this.held.stored(group)
    const state = this.#states.get(group)
    let begun: Loading<Found> | undefined
    if (
      loaded !== undefined &&
      stored?.seen !== undefined &&
      state !== undefined &&
      !this.#turns.has(group) &&
      !this.#isTooLarge(group, stored.own)
    ) {
      begun = this.#checking(loaded, group, state, stored)
      try {
        const found = Slices.some(loop, begun)
        if (found !== undefined && !isTypes(found)) return this.#found(loaded, group, state, stored.own, found)
        if (found !== undefined) begun = undefined
      } catch (cause) {
        this.#drop(group)
        return failed(group, cause)
      }
    }
    const isAwaited = () => (this.#turns.get(group)?.users ?? 0) > 1
    return this.#exclusive(group, this.#check(group, UnhurriedLoop.make(loop, isAwaited), begun)).pipe(
      Effect.catchAllCause((cause) =>
        Cause.isInterruptedOnly(cause) ? Effect.void : failed(group, Cause.squash(cause))
      )
    )
  }

  /** One check at a time. One that does not come to its end leaves an index that is no longer right. */
  #exclusive<A, E>(group: string, check: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptibleMask((restore) => {
      const turn = this.#turns.get(group) ?? { semaphore: Effect.unsafeMakeSemaphore(1), users: 0 }
      this.#turns.set(group, turn)
      turn.users++
      const whole = Effect.onExit(check, (exit) =>
        exit._tag === "Failure" && (Cause.isInterrupted(exit.cause) || Cause.isDie(exit.cause))
          ? Effect.sync(() => this.#drop(group))
          : Effect.void
      )
      const leave = Effect.sync(() => {
        turn.users--
        if (turn.users === 0) this.#turns.delete(group)
      })
      return Effect.ensuring(restore(turn.semaphore.withPermits(1)(whole)), leave)
    })
  }

  #drop(group: string): void {
    const state = this.#states.get(group)
    if (state === undefined) return
    this.#states.delete(group)
    this.#indexed -= state.index.size
    this.#count(group, state, 0)
  }

  #count(group: string, state: State, faults: number): void {
    if (faults === state.counted) return
    XdsServerMetrics.brokenRulesInForce.unsafeModify(faults - state.counted, XdsServerMetrics.groupTags(group))
    state.counted = faults
  }

  #state({ GroupIndex: { cache, GroupIndex } }: Loaded): State {
    const isElsewhere = (key: GroupIndex.Key): boolean =>
      state.isOpen || ResourceGroup.get(state.below, key) !== undefined
    const state: State = {
      index: new GroupIndex({ off: this.#off, isElsewhere, cache: (this.#cache ??= cache({ plain: false })) }),
      own: ResourceGroup.empty,
      below: ResourceGroup.empty,
      isOpen: false,
      counted: 0,
      told: undefined
    }
    return state
  }

  /** What is around a group. */
  #around(group: string, over: string | undefined): Pick<State, "below" | "isOpen"> {
    const below = over === undefined ? ResourceGroup.empty : this.held.unsafeGet(over)
    return { below: below ?? ResourceGroup.empty, isOpen: below === undefined || this.held.isBelow(group) }
  }

  #isTooLarge(group: string, own: ResourceGroup.ResourceGroup): boolean {
    const others = this.#indexed - (this.#states.get(group)?.index.size ?? 0)
    return others + sizeOf(own) > this.#maxIndexed
  }

  /** Checks what has changed, and reports it. `begun`: the first steps were taken, and nobody else was there since. */
  #check(group: string, loop: EventLoop.Service = this.options.loop, begun?: Loading<Found>): Effect.Effect<void> {
    return Effect.gen(this, function* () {
      const stored = this.held.stored(group)
      // Nobody is served it.
      if (stored?.seen === undefined) {
        this.#drop(group)
        this.#tooLarge.delete(group)
        return yield* this.#report(group, nothing, nothing) ?? Effect.void
      }
      const modules = yield* load
      if (this.#isTooLarge(group, stored.own)) {
        this.#drop(group)
        yield* this.#report(group, nothing, nothing) ?? Effect.void
        if (this.#tooLarge.has(group)) return
        this.#tooLarge.add(group)
        return yield* Effect.logWarning(
          `${group}: its ${sizeOf(stored.own)} resources are not checked together: with those of other groups they are ` +
            `more than ${this.#maxIndexed}, the limit`
        )
      }
      this.#tooLarge.delete(group)
      const state = this.#states.get(group) ?? this.#state(modules)
      this.#states.set(group, state)
      const found = yield* toEnd(modules, loop, () => this.#checking(modules, group, state, stored), begun)
      yield* this.#found(modules, group, state, stored.own, found) ?? Effect.void
    })
  }

  *#checking(modules: Loaded, group: string, state: State, layers: Layers): Loading<Found> {
    const fresh = yield* this.#catchingUp(modules, group, state, layers)
    if (isTypes(fresh)) return fresh
    return { all: yield* state.index.listing(this.#maxBroken), fresh }
  }

  /** Reports what a check found; `undefined`: there is nothing to report. */
  #found(
    modules: Loaded,
    group: string,
    state: State,
    own: ResourceGroup.ResourceGroup,
    { all, fresh }: Found
  ): Effect.Effect<void> | undefined {
    if (this.#isStopped) {
      this.#drop(group)
      return undefined
    }
    this.#count(group, state, state.index.faults)
    return this.#report(group, this.#toldAgain(modules, state, own, all), this.#told(modules, own, fresh))
  }

  /**
   * Brings an index to the present state of its group: what is broken now, and was not before; or the names of types to load before
   * it is tried again.
   */
  *#catchingUp(modules: Loaded, group: string, state: State, { over, own }: Layers): Loading<GroupIndex.Faults> {
    const { index } = state
    const before = index.size
    const { below, isOpen } = this.#around(group, over)
    const { put, remove } = yield* differences(state.own, own)
    const read = yield* reading(modules.GroupIndex, index, put)
    if (isTypes(read)) return read
    if (isOpen !== state.isOpen) index.touchAll()
    else if (!isOpen && below !== state.below) {
      const around = yield* differences(state.below, below)
      for (const key of around.put) index.touch(key)
      for (const key of around.remove) index.touch(key)
    }
    state.below = below
    state.isOpen = isOpen
    yield* applying(index, put, remove)
    state.own = own
    if (this.#states.get(group) === state) this.#indexed += index.size - before
    return yield* index.settling(this.#maxBroken)
  }

  #attempt(group: string, next: Layers, mode: "refuse" | "refuse-errors"): Effect.Effect<void, BrokenRules> {
    const { loop } = this.options
    return Effect.gen(this, function* () {
      const modules = yield* load
      const stored = this.held.stored(group)
      // A group that goes over another one is asked for as a whole.
      const isSame = stored !== undefined && stored.over === next.over
      // What is broken already is for the report.
      if (isSame && this.options.mode !== "off") yield* this.#check(group)
      const known = isSame ? this.#states.get(group) : undefined
      const state = known ?? this.#state(modules)
      if (!isSame) Object.assign(state, this.#around(group, next.over))
      else if (known === undefined) yield* toEnd(modules, loop, () => this.#catchingUp(modules, group, state, stored))
      const change = yield* Slices.steps(loop, differences(state.own, next.own))
      yield* toEnd(modules, loop, () => reading(modules.GroupIndex, state.index, change.put))
      const isWanted = ({ severity }: GroupFault): boolean => mode === "refuse" || severity === "error"
      const found = yield* Slices.steps(loop, state.index.trying(change, this.#maxBroken, isWanted))
      if (found.faults.length === 0) return
      this.#tell(found.faults, "refused")
      return yield* new BrokenRules({ group, ...this.#told(modules, next.own, found) })
    })
  }

  #tell(faults: ReadonlyArray<GroupFault>, outcome: "refused" | "served"): void {
    for (const { rule } of faults) {
      XdsServerMetrics.brokenRules.unsafeUpdate(1, [MetricLabel.make("rule", rule), outcomes[outcome]])
    }
  }

  /** {@link #told} of all that is broken in a group, which most changes leave as it was. */
  #toldAgain(modules: Loaded, state: State, own: ResourceGroup.ResourceGroup, faults: GroupIndex.Faults): Broken {
    const placed = this.#placed
    if (state.told?.placed === placed && areSame(state.told.faults, faults)) return state.told.broken
    const broken = this.#told(modules, own, faults)
    state.told = { faults, placed, broken }
    return broken
  }

  /** Faults with their places and in words. */
  #told({ GroupFault }: Loaded, own: ResourceGroup.ResourceGroup, { faults, omitted }: GroupIndex.Faults): Broken {
    const rules = faults.map((fault): BrokenRule => {
      const resource = ResourceGroup.get(own, fault)
      const place = resource && this.#places.get(resource)
      const known = this.#words.get(fault)
      if (known !== undefined && known.place === place) return known
      const message = cut(`${place === undefined ? "" : `${place}: `}${GroupFault.toText(fault)}`)
      const rule = { ...fault, place, message: `${message} (${fault.rule})` }
      this.#words.set(fault, rule)
      return rule
    })
    return { rules, omitted }
  }

  #keep(group: string, { omitted, rules }: Broken): void {
    this.#kept -= this.#broken.get(group)?.rules.length ?? 0
    const kept = rules.slice(0, maxKept - this.#kept)
    this.#kept += kept.length
    if (rules.length === 0) this.#broken.delete(group)
    else this.#broken.set(group, { rules: kept, omitted: omitted + rules.length - kept.length })
  }

  #report(group: string, broken: Broken, fresh: Broken): Effect.Effect<void> | undefined {
    const before = this.#broken.get(group)
    if (broken.rules.length === 0 && before === undefined) return undefined
    this.#keep(group, broken)
    if (fresh.rules.length === 0 && before !== undefined && numberOf(before) === numberOf(broken)) return undefined
    this.#tell(fresh.rules, "served")
    const lines = fresh.rules.slice(0, maxLines).map(({ message, severity }) => {
      return severity === "error" ? `${message}; clients refuse it` : message
    })
    const rest = fresh.rules.length - lines.length + fresh.omitted
    if (rest > 0) lines.push(`${rest} more rules are broken`)
    return Effect.zipRight(
      Effect.forEach(lines, (line) => Effect.logWarning(`${group}: ${line}`), { discard: true }),
      Effect.sync(() => this.options.onReport({ group, broken, fresh }))
    )
  }
}

const outcomes = {
  refused: MetricLabel.make("outcome", "refused"),
  served: MetricLabel.make("outcome", "served")
} as const
