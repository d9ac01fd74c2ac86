/**
 * One cluster: carries out what `Membership` says, and tells it what comes of it.
 */
import type { Assignment } from "@effect-xds/discovery/Assignment"
import type { Cluster } from "@effect-xds/discovery/Cluster"
import type { AssignmentSource, Call, Pick } from "@effect-xds/discovery/ClusterType"
import type * as DnsTarget from "@effect-xds/discovery/DnsTarget"
import * as HealthFlags from "@effect-xds/discovery/HealthFlags"
import * as HostSet from "@effect-xds/discovery/HostSet"
import * as IpAddress from "@effect-xds/discovery/IpAddress"
import * as Membership from "@effect-xds/discovery/Membership"
import * as MemberSet from "@effect-xds/discovery/MemberSet"
import * as Outlier from "@effect-xds/discovery/Outlier"
import type { ResourceEvent } from "@effect-xds/client/ResourceEvent"
import * as Alarm from "@effect-xds/transport-node/Alarm"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Iterable from "effect/Iterable"
import * as Metric from "effect/Metric"
import * as Predicate from "effect/Predicate"
import * as Random from "effect/Random"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ClusterEvent } from "../ClusterEvent.js"
import * as Metrics from "../ClusterMetrics.js"
import * as HealthChecker from "../HealthChecker.js"
import { Members } from "../Members.js"
import type { HostStatus, SetStatus, Status, Warming } from "../MembersStatus.js"
import { Prober } from "../Prober.js"
import type { Resolver } from "../Resolver.js"

/** What an actor needs. */
export interface Needs {
  readonly watchCluster: (name: string) => Stream.Stream<ResourceEvent<Cluster>>
  readonly watchAssignment: (wanted: AssignmentSource) => Stream.Stream<ResourceEvent<Assignment>>
  readonly resolver: Resolver
  readonly prober: Prober
  readonly maxProbes: number | undefined
}

/** A set's queries and checks. */
interface Work {
  readonly scope: Scope.CloseableScope
  /** `undefined`: nobody is checked. */
  readonly checker: HealthChecker.HealthChecker | undefined
  /** How often each host was ejected. */
  readonly ejections: Map<string, number>
  /** Why its endpoints cannot be watched. */
  unwatched: string | undefined
  /** It was said that it has as many hosts as it may have. */
  isFull: boolean
}

/** What is told to a set; `undefined`: what is held stays. */
const inputOf = (event: ResourceEvent<Assignment>, age: number): MemberSet.Input | undefined => {
  switch (event._tag) {
    case "Updated":
      return { _tag: "Assignment", assignment: event.value, age }
    case "DoesNotExist":
    case "Error":
      // ★ An error, too, takes away what is held: where it does not, the client tells of an ambient one (A88).
      return { _tag: "Missing" }
    case "AmbientError":
    case "Recovered":
      return undefined
  }
}

/** ★ A watch that dies says nothing more: it must not be waited for. */
const onDefect = (watch: Effect.Effect<void>, tell: (message: string) => void): Effect.Effect<void> =>
  Effect.catchAllCause(watch, (cause) =>
    Effect.sync(() => {
      if (!Cause.isInterruptedOnly(cause)) tell(firstLine(cause))
    })
  )

/** ★ Where the code of a watch throws as it begins, the watch has died. */
const eachOf = <A>(watch: () => Stream.Stream<A>, hear: (event: A) => void): Effect.Effect<void> =>
  Stream.runForEach(Stream.suspend(watch), (event) => Effect.sync(() => hear(event)))

/** ★ A resolver is somebody else's code: types are no promise. An address may have a zone: `fe80::1%eth0`. */
const isAnswer = (value: unknown): value is DnsTarget.Answer =>
  Predicate.hasProperty(value, "address") &&
  Predicate.isString(value.address) &&
  IpAddress.isValid(value.address.replace(/%.*/, "")) &&
  (!Predicate.hasProperty(value, "ttl") || value.ttl === undefined || Predicate.isNumber(value.ttl))

const areAnswers = (value: unknown): value is ReadonlyArray<DnsTarget.Answer> =>
  Array.isArray(value) && value.every(isAnswer)

const firstLine = (cause: Cause.Cause<unknown>): string => Cause.pretty(cause).split("\n")[0] ?? ""

const membersOf = (
  name: string,
  { current, failure, next }: Membership.Membership,
  unwatchedOf: (generation: number) => string | undefined
): Members => {
  if (failure !== undefined) return new Members(name, "Failed", failure, undefined)
  const known = current ?? next
  const fault = known?.set.discovery.fault ?? (known && unwatchedOf(known.id)) ?? ""
  return new Members(name, current === undefined ? "Warming" : "Ready", fault, current?.set)
}

const metricsOf = (cluster: string) => {
  const of = <Type, In, Out>(metric: Metric.Metric<Type, In, Out>) => Metrics.of(metric, cluster)
  return {
    membershipTotal: of(Metrics.membershipTotal),
    membershipHealthy: of(Metrics.membershipHealthy),
    membershipDegraded: of(Metrics.membershipDegraded),
    membershipExcluded: of(Metrics.membershipExcluded),
    membershipChange: of(Metrics.membershipChange),
    updateAttempt: of(Metrics.updateAttempt),
    updateSuccess: of(Metrics.updateSuccess),
    updateFailure: of(Metrics.updateFailure),
    updateEmpty: of(Metrics.updateEmpty),
    poolOverflow: of(Metrics.poolOverflow),
    ejectionsActive: of(Metrics.ejectionsActive),
    ejectionsEnforced: of(Metrics.ejectionsEnforced),
    ejectionsDetected: of(Metrics.ejectionsDetected),
    ejectionsOverflow: of(Metrics.ejectionsOverflow)
  }
}

export class ClusterActor {
  private state = Membership.empty
  private readonly inbox: Array<Membership.Input> = []
  private isAtWork = false
  private isClosed = false
  /** ★ Of the cluster, and not of a set: connections that are open stay so when it is changed. */
  private hasTraffic = false
  /** The last assignment, and when it came. */
  private received: { readonly assignment: Assignment; readonly at: number } | undefined
  private readonly work = new Map<number, Work>()
  private readonly listeners = new Set<() => void>()
  private readonly hearers = new Set<(event: ClusterEvent) => void>()
  private snapshot: Members | undefined
  /** The members of the last pick. */
  private ordered:
    { readonly members: HostSet.HostSet["members"]; readonly list: ReadonlyArray<HostSet.Member> } | undefined
  /** How many picks were refused. */
  private refusals = 0
  private readonly metrics: ReturnType<typeof metricsOf>

  private constructor(
    readonly name: string,
    private readonly needs: Needs,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly scope: Scope.Scope,
    private readonly now: () => number,
    /** What is to be added to `now` for the time of day. */
    private readonly epoch: number,
    private readonly setAlarm: (at: number) => void
  ) {
    this.metrics = metricsOf(name)
  }

  static make(name: string, needs: Needs): Effect.Effect<ClusterActor, never, Scope.Scope> {
    const make = Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      const clock = yield* Effect.clock
      const scope = yield* Effect.scope
      // Not the wall clock: it may go back, and the reducers' time must not.
      const now = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
      const epoch = clock.unsafeCurrentTimeMillis() - now()
      const actor: ClusterActor = new ClusterActor(name, needs, runtime, scope, now, epoch, (at) => alarm.set(at))
      const alarm = yield* Alarm.make(now, () => actor.give({ _tag: "Deadline" }))
      yield* Effect.addFinalizer(() => Effect.sync(() => actor.close()))
      const watch = eachOf(
        () => needs.watchCluster(name),
        (event) => actor.hearCluster(event)
      )
      // A client that watches clusters with another decoder cannot watch this one.
      yield* Effect.forkScoped(
        onDefect(watch, (message) => actor.give({ _tag: "NoCluster", message: `the watch has died: ${message}` }))
      )
      return actor
    })
    // ★ Fibers that are begun here, now or later, end when they are interrupted, wherever this is called from.
    return Effect.interruptible(make)
  }

  /** The cluster in use, or the one that is warmed. */
  get cluster(): Cluster | undefined {
    return (this.state.current ?? this.state.next)?.set.cluster
  }

  get members(): Members {
    this.snapshot ??= membersOf(this.name, this.state, (generation) => this.work.get(generation)?.unwatched)
    return this.snapshot
  }

  /** Calls a function with each change, until it is told to stop. */
  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  onEvent(hearer: (event: ClusterEvent) => void): () => void {
    this.hearers.add(hearer)
    return () => void this.hearers.delete(hearer)
  }

  report(host: string, outcome: Outlier.Outcome): void {
    // Also over a connection that was made before anybody looked after the cluster.
    if (!this.hasTraffic && outcome._tag === "Response") this.trafficSeen()
    // Done for each call: nothing is looked at where nobody is ejected.
    if (this.state.current?.set.outlier === undefined) return
    this.toCurrent({ _tag: "Outcome", host, outcome })
  }

  pick(call: Call): Pick {
    const { current } = this.state
    const pick = current?.set.cluster.type.pick
    if (current === undefined || pick === undefined) return { address: undefined, ignored: 0 }
    const picked = pick(this.membersFor(current.set), call)
    const { address } = picked
    if (address === undefined) return picked
    const { refusals } = this
    this.toCurrent({ _tag: "Picked", address })
    return this.refusals === refusals ? picked : { ...picked, address: undefined, refused: address }
  }

  /** ★ Picks are made for each call, and members change seldom: they are put in order once. */
  private membersFor({ cluster, hosts }: MemberSet.MemberSet): ReadonlyArray<HostSet.Member> {
    if (!cluster.type.looksAtMembers) return []
    const { members } = hosts
    if (this.ordered?.members !== members) this.ordered = { members, list: HostSet.inOrder({ members }) }
    return this.ordered.list
  }

  inUse(address: string, isInUse: boolean): void {
    this.toCurrent({ _tag: "InUse", address, isInUse })
  }

  trafficSeen(): void {
    if (this.hasTraffic) return
    this.hasTraffic = true
    for (const work of this.work.values()) this.checking(work, (checker) => checker.trafficSeen)
  }

  passiveFailure(host: string): void {
    this.checking(this.workInUse(), (checker) => checker.passive(host))
  }

  get status(): Status {
    const { current, failure, next } = this.state
    const { message, state } = this.members
    return {
      cluster: this.name,
      state,
      message: failure ?? message,
      inUse: current === undefined ? undefined : this.statusOf(current),
      warming: next === undefined ? undefined : this.statusOf(next)
    }
  }

  get warming(): Warming | undefined {
    const hosts = this.state.next?.set.hosts
    if (hosts === undefined) return undefined
    const unchecked = hosts.warming._tag === "Checking" ? hosts.warming.unchecked : []
    return { unchecked: Iterable.map(unchecked, (id) => HostSet.find(hosts, id)?.host.address ?? id) }
  }

  private workInUse(): Work | undefined {
    return this.state.current === undefined ? undefined : this.work.get(this.state.current.id)
  }

  private toCurrent(input: MemberSet.Input): void {
    const { current } = this.state
    if (current !== undefined) this.give({ _tag: "Set", generation: current.id, input })
  }

  private hearCluster(event: ResourceEvent<Cluster>): void {
    switch (event._tag) {
      case "Updated":
        this.give({ _tag: "Cluster", cluster: event.value })
        break
      case "DoesNotExist":
      case "Error":
        this.give({ _tag: "NoCluster", message: event.error.message })
        break
      case "AmbientError":
      case "Recovered":
      // What is held stays in use.
    }
  }

  /** ★ One after the other: what an output causes at once waits until the others are done. */
  private give(input: Membership.Input): void {
    if (this.isClosed) return
    this.inbox.push(input)
    if (this.isAtWork) return
    this.isAtWork = true
    try {
      for (let next = this.inbox.shift(); next !== undefined; next = this.inbox.shift()) this.take(next)
    } finally {
      this.isAtWork = false
    }
    this.setAlarm(Membership.deadline(this.state))
  }

  private take(input: Membership.Input): void {
    const context = { now: this.now(), draw: () => this.random() }
    const [state, outputs] = Membership.step(this.state, input, context)
    this.state = state
    for (const output of outputs) this.carryOut(output)
  }

  private carryOut(output: Membership.Output): void {
    switch (output._tag) {
      case "Begin": {
        const scope = Effect.runSync(Scope.fork(this.scope, { _tag: "Sequential" }))
        const checker = this.checkerOf(output.generation, scope)
        const work: Work = { scope, checker, ejections: new Map(), unwatched: undefined, isFull: false }
        this.work.set(output.generation, work)
        if (output.assignment !== undefined) this.watch(output.generation, work, output.assignment)
        break
      }
      case "End":
        this.end(output.generation)
        break
      case "Changed":
        this.changed()
        break
      case "Set": {
        const work = this.work.get(output.generation)
        if (work !== undefined) this.carryOutSet(output.generation, work, output.output)
      }
    }
  }

  private carryOutSet(generation: number, work: Work, output: MemberSet.Output): void {
    switch (output._tag) {
      case "Resolve":
        this.resolve(generation, work, output)
        break
      case "Check":
      case "Updated": {
        // ★ An update, too: the host of a LOGICAL_DNS cluster moves, and probes go where it is.
        const member = HostSet.find(this.setOf(generation)?.hosts ?? HostSet.make(), output.host)
        if (member === undefined || member.checks.length === 0) break
        this.checking(work, (checker) => checker.check(member.host))
        break
      }
      case "Uncheck":
        this.checking(work, (checker) => checker.uncheck(output.host))
        break
      case "Refused":
        this.refusals++
        this.count(this.metrics.poolOverflow)
        if (!work.isFull) this.say(output)
        work.isFull = true
        break
      case "Removed":
        work.ejections.delete(output.host)
        work.isFull = false
        this.count(this.metrics.membershipChange)
        this.say({ _tag: output._tag, host: output.host })
        break
      case "Added":
        this.count(this.metrics.membershipChange)
        this.say({ _tag: output._tag, host: output.host })
        break
      case "Drain":
        this.say(output)
        break
      case "Ejected":
        work.ejections.set(output.host, (work.ejections.get(output.host) ?? 0) + 1)
        this.count(Metric.tagged(this.metrics.ejectionsEnforced, "detector", output.detector))
        this.count(Metric.tagged(this.metrics.ejectionsDetected, "detector", output.detector))
        this.say(output)
        break
      case "Spared":
        this.count(Metric.tagged(this.metrics.ejectionsDetected, "detector", output.detector))
        if (output.reason === "MaxEjectionPercent") this.count(this.metrics.ejectionsOverflow)
        this.say(output)
        break
      case "Returned":
        this.say(output)
        break
      case "Ready":
    }
  }

  private watch(generation: number, work: Work, wanted: AssignmentSource): void {
    let isFirst = true
    const hear = (event: ResourceEvent<Assignment>): void => {
      const input = inputOf(event, event._tag === "Updated" ? this.ageOf(event.value, isFirst) : 0)
      isFirst = false
      if (input === undefined) return
      this.count(this.metrics.updateAttempt)
      if (event._tag === "Error") this.count(this.metrics.updateFailure)
      else {
        this.count(this.metrics.updateSuccess)
        const endpoints = event._tag === "Updated" ? event.value.endpoints : []
        if (endpoints.length === 0) this.count(this.metrics.updateEmpty)
      }
      this.give({ _tag: "Set", generation, input })
    }
    const watch = eachOf(() => this.needs.watchAssignment(wanted), hear)
    this.run(
      work.scope,
      onDefect(watch, (message) => {
        work.unwatched = `endpoints ${JSON.stringify(wanted.name)} cannot be watched: ${message}`
        this.changed()
        this.say({ _tag: "Unwatched", assignment: wanted.name, message })
        this.give({ _tag: "Set", generation, input: { _tag: "Failed" } })
      })
    )
  }

  /** ★ What a watch begins with may have come a while ago, to a set before. */
  private ageOf(assignment: Assignment, isFirst: boolean): number {
    const now = this.now()
    if (isFirst && this.received?.assignment === assignment) return now - this.received.at
    this.received = { assignment, at: now }
    return 0
  }

  private resolve(
    generation: number,
    work: Work,
    { attempt, family, name, target }: MemberSet.Output & { readonly _tag: "Resolve" }
  ): void {
    this.count(this.metrics.updateAttempt)
    const query = Effect.suspend(() => this.needs.resolver.resolve(name, family)).pipe(
      Effect.filterOrDieMessage(areAnswers, "the resolver gave no list of IP addresses"),
      Effect.exit,
      Effect.map((exit) => {
        const of = { target, attempt, family, random: this.random() }
        if (Exit.isSuccess(exit)) {
          this.count(this.metrics.updateSuccess)
          if (exit.value.length === 0) this.count(this.metrics.updateEmpty)
          this.give({ _tag: "Set", generation, input: { _tag: "Resolved", addresses: exit.value, ...of } })
          return
        }
        this.count(this.metrics.updateFailure)
        this.say({ _tag: "Unresolved", name, family, message: firstLine(exit.cause) })
        this.give({ _tag: "Set", generation, input: { _tag: "Unresolved", ...of } })
      })
    )
    this.run(work.scope, query)
  }

  private checkerOf(generation: number, scope: Scope.Scope): HealthChecker.HealthChecker | undefined {
    const checkers = this.setOf(generation)?.cluster.checkers ?? []
    if (checkers.length === 0) return undefined
    const make = HealthChecker.make({
      cluster: this.name,
      checkers,
      maxProbes: this.needs.maxProbes,
      hasTraffic: this.hasTraffic,
      on: ({ checker, host, output }) => {
        switch (output._tag) {
          case "Health":
            this.give({ _tag: "Set", generation, input: { _tag: "Health", host, checker, flags: output.flags } })
            break
          case "Checked":
            this.give({ _tag: "Set", generation, input: { _tag: "Checked", host, checker } })
            break
          case "Passed":
            this.give({ _tag: "Set", generation, input: { _tag: "CheckPassed", host } })
            break
          case "Event":
            this.say({ _tag: "Checked", host, checker, event: output })
        }
      }
    })
    return Runtime.runSync(this.runtime)(
      make.pipe(Effect.provideService(Prober, this.needs.prober), Scope.extend(scope))
    )
  }

  private checking(work: Work | undefined, what: (checker: HealthChecker.HealthChecker) => Effect.Effect<void>): void {
    if (work?.checker !== undefined) Runtime.runSync(this.runtime)(what(work.checker))
  }

  private setOf(generation: number): MemberSet.MemberSet | undefined {
    const { current, next } = this.state
    return [current, next].find((each) => each?.id === generation)?.set
  }

  private end(generation: number): void {
    const work = this.work.get(generation)
    this.work.delete(generation)
    if (work !== undefined) this.run(this.scope, Scope.close(work.scope, Exit.void))
  }

  private changed(): void {
    this.snapshot = undefined
    for (const listener of this.listeners) listener()
  }

  private say(event: ClusterEvent): void {
    for (const hear of this.hearers) hear(event)
  }

  private statusOf({ id, set }: Membership.Generation): SetStatus {
    const work = this.work.get(id)
    return {
      hosts: HostSet.inOrder(set.hosts).map((member) => this.hostStatus(set, work, member)),
      fault: set.discovery.fault,
      unwatched: work?.unwatched
    }
  }

  private hostStatus(set: MemberSet.MemberSet, work: Work | undefined, member: HostSet.Member): HostStatus {
    const { flags, host } = member
    const ejected = set.outlier === undefined ? undefined : Outlier.find(set.outlier, host.id)?.ejected
    return {
      host: host.id,
      address: host.address,
      addresses: host.addresses,
      hostname: host.hostname,
      weight: host.weight,
      priority: host.priority,
      locality: host.locality,
      isCanary: host.isCanary,
      health: HealthFlags.healthOf(flags),
      flags: HealthFlags.names(flags),
      isRouted: HostSet.isRouted(set.hosts, member),
      since: this.epoch + (MemberSet.since(set, host.id) ?? this.now()),
      checks: this.checksOf(work, host.id),
      ejections: work?.ejections.get(host.id) ?? 0,
      ejected: ejected === undefined ? undefined : { at: this.epoch + ejected.at, detector: ejected.detector }
    }
  }

  private checksOf(work: Work | undefined, host: string): HostStatus["checks"] {
    if (work?.checker === undefined) return []
    const now = this.epoch + this.now()
    return Runtime.runSync(this.runtime)(work.checker.status(host)).map(({ checker, isProbing, last, next }) => ({
      checker,
      last: last === undefined ? undefined : { at: now - last.ago, result: last.result, why: last.why },
      isProbing,
      next: now + next
    }))
  }

  /** Gauges of a cluster that nobody watches any more. */
  gaugeNobody(): void {
    const { ejectionsActive, membershipDegraded, membershipExcluded, membershipHealthy, membershipTotal } = this.metrics
    const gauges = [ejectionsActive, membershipDegraded, membershipExcluded, membershipHealthy, membershipTotal]
    for (const gauge of gauges) gauge.unsafeUpdate(0, [])
  }

  /** Gauges, as the members are now. */
  gauge(): void {
    const put = (metric: Metric.Metric.Gauge<number>, value: number): void => metric.unsafeUpdate(value, [])
    const { all, set } = this.members
    const routed = all.filter((member) => set !== undefined && HostSet.isRouted(set.hosts, member))
    const count = (health: string): number =>
      routed.filter(({ flags }) => HealthFlags.healthOf(flags) === health).length
    put(this.metrics.membershipTotal, all.length)
    put(this.metrics.membershipHealthy, count("healthy"))
    put(this.metrics.membershipDegraded, count("degraded"))
    put(this.metrics.membershipExcluded, all.filter(({ flags }) => HealthFlags.isExcluded(flags)).length)
    put(this.metrics.ejectionsActive, set?.outlier?.ejected ?? 0)
  }

  private random(): number {
    return Runtime.runSync(this.runtime)(Random.next)
  }

  private count(metric: Metric.Metric.Counter<number>): void {
    metric.unsafeUpdate(1, [])
  }

  private run<A>(scope: Scope.Scope, effect: Effect.Effect<A>): void {
    Runtime.runFork(this.runtime)(effect, { scope })
  }

  private close(): void {
    this.isClosed = true
    this.listeners.clear()
    this.hearers.clear()
  }
}
