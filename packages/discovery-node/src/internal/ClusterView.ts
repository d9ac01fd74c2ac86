/**
 * A cluster as it was asked for: its own members, or those of its leaves if it is an aggregate.
 */
import * as AggregateLeaves from "@effect-xds/discovery/AggregateLeaves"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as RcMap from "effect/RcMap"
import * as Runtime from "effect/Runtime"
import * as Scope from "effect/Scope"
import { Members } from "../Members.js"
import type { ClusterActor } from "./ClusterActor.js"

/** A cluster that an aggregate names. */
interface Held {
  readonly scope: Scope.CloseableScope
  actor: ClusterActor | undefined
}

export class ClusterView {
  /** ★ Held by who asked alone, and not by each other: aggregates that name each other end, too. */
  private readonly held = new Map<string, Held>()
  private readonly listeners = new Set<() => void>()
  private snapshot: Members | undefined

  private constructor(
    readonly actor: ClusterActor,
    private readonly actors: RcMap.RcMap<string, ClusterActor>,
    private readonly lookup: AggregateLeaves.Lookup,
    private readonly runtime: Runtime.Runtime<never>,
    private readonly scope: Scope.Scope
  ) {}

  static make(
    name: string,
    actors: RcMap.RcMap<string, ClusterActor>,
    lookup: AggregateLeaves.Lookup
  ): Effect.Effect<ClusterView, never, Scope.Scope> {
    const make = Effect.gen(function* () {
      const runtime = yield* Effect.runtime()
      const scope = yield* Effect.scope
      const actor = yield* RcMap.get(actors, name)
      const view = new ClusterView(actor, actors, lookup, runtime, scope)
      yield* view.listen(actor)
      view.changed()
      return view
    })
    return Effect.interruptible(make)
  }

  onChange(listener: () => void): () => void {
    this.listeners.add(listener)
    return () => void this.listeners.delete(listener)
  }

  get members(): Members {
    this.snapshot ??= this.read()
    return this.snapshot
  }

  private read(): Members {
    const own = this.actor.members
    if (this.actor.cluster?.type.clusters === undefined) return own
    const leaves = AggregateLeaves.of(this.actor.name, this.lookup)
    if (Either.isLeft(leaves)) return new Members(own.cluster, "Failed", leaves.left, undefined)
    return new Members(
      own.cluster,
      own.state,
      own.message,
      own.set,
      leaves.right.leaves.map((cluster) => ({ cluster, members: this.held.get(cluster)?.actor?.members }))
    )
  }

  /** Who is named is watched, and who is not any more is not. */
  private changed(): void {
    this.snapshot = undefined
    const wanted = new Set<string>()
    if (this.actor.cluster?.type.clusters !== undefined) {
      const leaves = AggregateLeaves.of(this.actor.name, this.lookup)
      for (const name of Either.isRight(leaves) ? leaves.right.visited : this.held.keys()) wanted.add(name)
      wanted.delete(this.actor.name)
    }
    for (const [name, { scope }] of this.held) {
      if (wanted.has(name)) continue
      this.held.delete(name)
      this.run(Scope.close(scope, Exit.void))
    }
    for (const name of wanted) if (!this.held.has(name)) this.hold(name)
    for (const listener of this.listeners) listener()
  }

  private hold(name: string): void {
    const held: Held = {
      scope: Runtime.runSync(this.runtime)(Scope.fork(this.scope, { _tag: "Sequential" })),
      actor: undefined
    }
    this.held.set(name, held)
    const begin = Effect.flatMap(RcMap.get(this.actors, name), (actor) => {
      held.actor = actor
      return this.listen(actor)
    })
    this.run(
      Effect.zipRight(
        Scope.extend(begin, held.scope),
        Effect.sync(() => this.changed())
      )
    )
  }

  private listen(actor: ClusterActor): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => actor.onChange(() => this.changed())),
        (stop) => Effect.sync(stop)
      )
    )
  }

  private run(effect: Effect.Effect<void>): void {
    Runtime.runFork(this.runtime)(effect, { scope: this.scope })
  }
}
