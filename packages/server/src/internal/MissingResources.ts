/**
 * Makes resources on demand: calls the `onMissing` hook for subscribed names without a resource.
 */
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type { Named } from "@effect-xds/core/server/InterestIndex"
import type * as Steps from "@effect-xds/core/Steps"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as Given from "@effect-xds/transport/Given"
import type { LogThrottle } from "@effect-xds/transport-node/LogThrottle"
import * as TimerTable from "@effect-xds/transport-node/TimerTable"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { NodeIdentity } from "../ConnectedClient.js"
import type { ServerEvent } from "../ServerEvent.js"
import type { Options } from "../ServerOptions.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"
import type { Group, Work } from "./Environment.js"
import { MissingNames, type MissingName } from "./MissingNames.js"

/** The caller of the hook. */
export interface MissingResources {
  /** A client of the group subscribed to names that the group lacks. Returns at once. */
  readonly asked: (group: Group, typeUrl: string, names: ReadonlyArray<string>, node: NodeIdentity | undefined) => void
  /** The group changed. Returns at once. */
  readonly changed: (group: Group, before: ResourceGroup.ResourceGroup | undefined) => void
}

type Hook<R> = Pick<
  Options<R>,
  | "missingTimeout"
  | "missingAgainAfter"
  | "maxMissingCalls"
  | "maxMissingCallsPerGroup"
  | "maxMissingNames"
  | "maxMissingBytes"
  | "maxEventNames"
> & {
  readonly onMissing: NonNullable<Options<R>["onMissing"]>
}

/** What the calls use of their server. */
interface Server {
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  readonly log: LogThrottle
  readonly publish: (make: () => ServerEvent) => void
  /** Runs the work in a later turn. */
  readonly later: (work: Work) => void
  /** Runs some steps of the work; returns its result, or `undefined` if a turn ends before. */
  readonly some: <A extends object>(work: Steps.Steps<A>) => A | undefined
  /** The group of that name, if it has streams. */
  readonly group: (name: string) => Group | undefined
}

/** A call took longer than `missingTimeout`. */
class TookTooLong extends Data.TaggedError("TookTooLong")<{ readonly seconds: number }> {
  override get message(): string {
    return `it took longer than ${this.seconds} s`
  }
}

/** Names that are processed in one turn. */
const namesAtATime = 512

/** Characters of a name in logs and events: clients may send longer ones. */
const longestShown = 256

/** Milliseconds that `missingAgainAfter` is rounded up to. */
const tick = 10

/** A copy: a substring would keep the whole text in memory. */
const shown = (name: string): string =>
  name.length <= longestShown ? name : Buffer.from(name.slice(0, longestShown), "utf16le").toString("utf16le")

const describe = (group: string, typeUrl: string, name: string): string =>
  `group ${JSON.stringify(shown(group))}, ${typeUrl} ${JSON.stringify(shown(name))}`

/** Calls the hook until the scope ends, which interrupts running calls. */
export const make = <R>(
  hook: Hook<R>,
  runtime: Runtime.Runtime<R>,
  server: Server
): Effect.Effect<MissingResources, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { later, log, now, publish } = server
    const { maxEventNames = 32, onMissing } = hook
    const timeout = hook.missingTimeout ?? "10 seconds"
    const againAfter = Duration.toMillis(hook.missingAgainAfter ?? "1 second")
    const seconds = Duration.toSeconds(timeout)
    const maxCalls = hook.maxMissingCalls ?? 16
    const bounds = {
      maxNames: hook.maxMissingNames ?? 1_000,
      maxBytes: hook.maxMissingBytes ?? 4_194_304,
      maxCallsPerGroup: hook.maxMissingCallsPerGroup ?? Math.ceil((maxCalls * 3) / 4),
      onHeld: (count: number, bytes: number) => {
        XdsServerMetrics.missingNames.unsafeModify(count, [])
        XdsServerMetrics.missingBytes.unsafeModify(bytes, [])
      }
    }
    const names = new MissingNames(bounds)
    /** Names whose resource was removed, until the hook is called for them. */
    const gone = new MissingNames(bounds)
    const running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
    /** Groups with a deadline for their removed names. */
    const timed = new Set<string>()
    let ended = false

    const call = ({ group, name, node, typeUrl }: MissingName): Effect.Effect<unknown, unknown, R> =>
      Effect.suspend((): Effect.Effect<unknown, unknown, R> => {
        const given = onMissing(group, typeUrl, name, node)
        return Effect.isEffect(given) ? given : Effect.die(new TypeError(`it gave no Effect: ${Given.kindOf(given)}`))
      }).pipe(
        // An uninterruptible call is not waited for either.
        Effect.disconnect,
        Effect.timeoutFail({ duration: timeout, onTimeout: () => new TookTooLong({ seconds }) })
      )

    /** A call is over: answers that wait for the name may go out. */
    const done = ({ group, name, typeUrl }: Pick<MissingName, "group" | "typeUrl" | "name">): void =>
      server.group(group)?.fanOut.missingDone(typeUrl, name, ({ owner }) => later(owner))

    const start = (): void => {
      while (!ended && running.size < maxCalls) {
        const next = names.next()
        if (next === undefined) return
        // Not within the step of the requesting stream.
        const fiber = Runtime.runFork(runtime)(call(next), { immediate: false })
        running.add(fiber)
        fiber.addObserver((exit) => {
          running.delete(fiber)
          if (ended) return
          names.end(next)
          if (Exit.isFailure(exit)) {
            const reason = Redaction.text(Reason.of(Cause.squash(exit.cause)))
            const what = describe(next.group, next.typeUrl, next.name)
            log(LogLevel.Error, `missing ${next.key}`, `the hook for missing resources failed for ${what}: ${reason}`)
          }
          done(next)
          start()
        })
      }
    }

    /** Reports names of one group and type that have no room. */
    const refuse = (group: string, typeUrl: string, refused: ReadonlyArray<MissingName>): void => {
      XdsServerMetrics.missingRefused.unsafeUpdate(refused.length, XdsServerMetrics.groupTags(group))
      const listed = refused.slice(0, maxEventNames).map(({ name }) => shown(name))
      const omitted = refused.length - listed.length
      publish(() => ({ _tag: "MissingRefused", group, typeUrl, names: listed, omitted }))
      const others = refused.length > 1 ? ` and ${refused.length - 1} others` : ""
      const limit = `${names.size} names of ${names.bytes} bytes are held for it already`
      log(
        LogLevel.Warning,
        `missing ${group}`,
        `the hook for missing resources is not called for ${describe(group, typeUrl, refused[0]?.name ?? "")}${others}: ${limit}`
      )
      for (const each of refused) done(each)
    }

    const isThere = ({ fanOut: { group } }: Group, typeUrl: string, name: string): boolean =>
      group !== undefined && ResourceSet.find(ResourceGroup.set(group, typeUrl), name) !== undefined

    const add = (to: MissingNames, group: Group, asked: ReadonlyArray<Named>, node: NodeIdentity | undefined): void => {
      const refused = new Map<string, Array<MissingName>>()
      for (const { name, typeUrl } of asked) {
        // The hook or another writer has added it meanwhile. ★ Or it is not for this client, or has an error in its place.
        if (isThere(group, typeUrl, name)) {
          done({ group: group.name, typeUrl, name })
          continue
        }
        for (const each of to.add(group.name, typeUrl, name, node)) {
          const subject = JSON.stringify([each.group, each.typeUrl])
          const those = refused.get(subject)
          if (those === undefined) refused.set(subject, [each])
          else those.push(each)
        }
      }
      for (const those of refused.values()) {
        const [first] = those
        if (first !== undefined) refuse(first.group, first.typeUrl, those)
      }
    }

    /** Adds many names, in turns. */
    const addAll = (
      to: MissingNames,
      group: Group,
      asked: ReadonlyArray<Named>,
      then: () => void,
      node?: NodeIdentity
    ): void => {
      let at = 0
      const some = (): void => {
        if (ended) return
        const end = at + namesAtATime
        add(to, group, asked.slice(at, end), node)
        then()
        at = end
        if (at < asked.length) later(rest)
      }
      const rest: Work = { queued: false, isLong: true, run: some }
      some()
    }

    /** Calls the hook for removed names that are still missing and subscribed to. */
    const askAgain = (name: string): void => {
      timed.delete(name)
      const those = gone.take(name)
      const group = server.group(name)
      if (group === undefined) return
      const { fanOut } = group
      // A group that was cleared is empty on purpose.
      if (fanOut.group === undefined) return
      const wanted = those.filter((each) => fanOut.isNamed(each.typeUrl, each.name))
      addAll(names, group, wanted, start)
    }

    const timers = yield* TimerTable.make<string>({ now, tick, onDue: (groups) => groups.forEach(askAgain) })

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        ended = true
        names.clear()
        gone.clear()
        return Effect.forEach(Array.from(running), (fiber) => fiber.interruptAsFork(fiber.id()), { discard: true })
      })
    )

    return {
      asked: (group, typeUrl, listed, node) =>
        addAll(
          names,
          group,
          listed.map((name) => ({ typeUrl, name })),
          start,
          node
        ),
      changed: (group, before) => {
        const looking = before && group.fanOut.gone(before)
        if (looking === undefined) return
        const rest: Work = {
          queued: false,
          isLong: true,
          run: () => {
            if (ended) return
            const found = server.some(looking)
            if (found === undefined) return later(rest)
            addAll(gone, group, found, () => {
              if (!timed.has(group.name)) timers.set(group.name, now() + againAfter)
              timed.add(group.name)
            })
          }
        }
        later(rest)
      }
    }
  })
