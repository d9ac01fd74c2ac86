/**
 * Checks the groups of a store by the rules over the resources of a group together. The store in memory has a checker. A store over
 * something else makes its own over its `HeldGroups`, tells it when a group goes over another one, and asks it before a change that
 * may be refused.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as PubSub from "effect/PubSub"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Broken, GroupReport } from "./GroupReport.js"
import type * as HeldGroups from "./HeldGroups.js"
import { GroupChecks } from "./internal/GroupChecks.js"
import type * as StoreError from "./StoreError.js"
import type * as Validator from "./Validator.js"

/**
 * The next state of a group, as far as a check needs it.
 *
 * @since 0.1.0
 */
export interface Next {
  readonly own: ResourceGroup.ResourceGroup
  readonly over: string | undefined
}

/**
 * A checker.
 *
 * @since 0.1.0
 */
export interface GroupChecker {
  /** Takes the places of resources that have one, from `Validator.encode`: they are told with what is broken. */
  readonly placed: (places: ReadonlyMap<Resource, string>) => void
  /** A group is over another one than before: both are looked at soon. */
  readonly layered: (before: string | undefined, over: string | undefined) => void
  /** What was broken in a group when it was last checked, soon after its last change. */
  readonly of: (group: string) => Broken | undefined
  /** What is broken in a group, after a check of what has changed. */
  readonly broken: (group: string) => Effect.Effect<Broken>
  /** What is broken in a group, whenever that changes from now on. A subscriber that is 256 reports behind misses the oldest. */
  readonly reports: Stream.Stream<GroupReport>
  /**
   * The check of a call that may be refused; `undefined`: such a call is not refused.
   *
   * @param mode that of the call. Default: that of the checker.
   */
  readonly refusing: (
    group: string,
    mode: Validator.GroupMode | undefined
  ) => ((next: Next) => Effect.Effect<void, StoreError.BrokenRules>) | undefined
}

/** Reports that a subscriber may be behind. */
const maxReports = 256

/**
 * Makes a checker. It looks at groups that change by itself; a scope that is there ends that when it closes.
 *
 * @since 0.1.0
 */
export const make = (held: HeldGroups.HeldGroups, options: Validator.Options): Effect.Effect<GroupChecker> =>
  Effect.gen(function* () {
    const published = yield* PubSub.sliding<GroupReport>(maxReports)
    const usual = options.groupRules ?? "warn"
    const checks = new GroupChecks(held, {
      ...options,
      mode: usual,
      loop: yield* EventLoop.guarded,
      runtime: yield* Effect.runtime(),
      onReport: (report) => void published.unsafeOffer(report)
    })
    const scope = Option.getOrUndefined(yield* Effect.serviceOption(Scope.Scope))
    if (scope !== undefined)
      yield* Scope.addFinalizer(
        scope,
        Effect.sync(() => checks.stop())
      )
    yield* Effect.provideService(
      held.listen((group) => checks.changed(group)),
      Scope.Scope,
      yield* Scope.make()
    )
    return {
      placed: (places) => checks.placed(places),
      layered: (before, over) => {
        if (before === over) return
        checks.changed(before)
        checks.changed(over)
      },
      of: (group) => checks.of(group),
      broken: (group) => checks.now(group),
      reports: Stream.fromPubSub(published),
      refusing: (group, mode = usual) =>
        mode === "refuse" || mode === "refuse-errors" ? (next) => checks.refuse(group, next, mode) : undefined
    }
  })
