/**
 * Resources made on demand: calls of the `onMissing` hook for names that clients subscribe to and their group does not have.
 */
import * as NamesChange from "@effect-xds/core/server/NamesChange"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { LogThrottle } from "@effect-xds/transport-node/LogThrottle"
import * as Cause from "effect/Cause"
import * as Data from "effect/Data"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import type { Options } from "../ServerOptions.js"
import type { Group, Work } from "./Connection.js"

/** What calls the hook. */
export interface MissingResources {
  /** A client of the group listed names. Returns at once. */
  readonly named: (group: Group, change: NamesChange.NamesChange) => void
}

type Hook<R> = Pick<Options<R>, "missingTimeout" | "maxMissingCalls" | "maxMissingNames" | "maxMissingBytes"> & {
  readonly onMissing: NonNullable<Options<R>["onMissing"]>
}

interface Call {
  readonly key: string
  readonly group: string
  readonly typeUrl: string
  readonly name: string
  readonly bytes: number
}

/** It took longer than `missingTimeout`. */
class TookTooLong extends Data.TaggedError("TookTooLong")<{ readonly seconds: number }> {
  override get message(): string {
    return `it took longer than ${this.seconds} s`
  }
}

/** Names that are looked at in one turn. */
const namesAtATime = 512

/** What a call takes beside its names. */
const bytesPerCall = 256

/** Calls the hook until the scope ends; then calls that are under way are interrupted. */
export const make = <R>(
  { maxMissingBytes = 4_194_304, maxMissingCalls = 16, maxMissingNames = 1_000, missingTimeout, onMissing }: Hook<R>,
  runtime: Runtime.Runtime<R>,
  log: LogThrottle,
  later: (work: Work) => void
): Effect.Effect<MissingResources, never, Scope.Scope> =>
  Effect.gen(function* () {
    const timeout = missingTimeout ?? "10 seconds"
    const seconds = Duration.toSeconds(timeout)
    const known = new Set<string>()
    /** By group: each has its turn, however many names another one waits for. */
    const waiting = new Map<string, Array<Call>>()
    const running = new Set<Fiber.RuntimeFiber<unknown, unknown>>()
    let bytes = 0
    let calls = 0
    let ended = false

    const describe = ({ group, name, typeUrl }: Call): string =>
      `group ${JSON.stringify(group)}, ${typeUrl} ${JSON.stringify(name.slice(0, 256))}`

    const hook = ({ group, name, typeUrl }: Call): Effect.Effect<unknown, unknown, R> =>
      Effect.suspend((): Effect.Effect<unknown, unknown, R> => {
        const given = onMissing(group, typeUrl, name)
        return Effect.isEffect(given) ? given : Effect.die(new TypeError("it gave no Effect"))
      }).pipe(
        // One that cannot be interrupted is not waited for, either.
        Effect.disconnect,
        Effect.timeoutFail({ duration: timeout, onTimeout: () => new TookTooLong({ seconds }) })
      )

    const next = (): Call | undefined => {
      for (const [group, queue] of waiting) {
        const call = queue.shift()
        waiting.delete(group)
        if (queue.length > 0) waiting.set(group, queue)
        if (call !== undefined) return call
      }
      return undefined
    }

    const start = (): void => {
      while (!ended && calls < maxMissingCalls) {
        const call = next()
        if (call === undefined) return
        calls++
        // Not in the step of the stream that asked.
        const fiber = Runtime.runFork(runtime)(hook(call), { immediate: false })
        running.add(fiber)
        fiber.addObserver((exit) => {
          running.delete(fiber)
          calls--
          bytes -= call.bytes
          known.delete(call.key)
          if (!ended && Exit.isFailure(exit)) {
            const reason = Redaction.text(Reason.of(Cause.squash(exit.cause)))
            const words = `the hook for missing resources failed for ${describe(call)}: ${reason}`
            log(LogLevel.Error, `missing ${call.key}`, words)
          }
          start()
        })
      }
    }

    const add = ({ fanOut, name: group }: Group, typeUrl: string, name: string): void => {
      const resources = fanOut.group
      if (resources !== undefined && ResourceSet.find(ResourceGroup.set(resources, typeUrl), name) !== undefined) return
      if (typeUrl === ResourceType.VirtualHost.typeUrl && VirtualHostDiscovery.isOpener(name)) return
      const key = JSON.stringify([group, typeUrl, name])
      if (known.has(key)) return
      const size = 2 * (group.length + typeUrl.length + name.length + key.length) + bytesPerCall
      const call: Call = { key, group, typeUrl, name, bytes: size }
      if (known.size >= maxMissingNames || bytes + size > maxMissingBytes) {
        const limit = `${known.size} names of ${bytes} bytes are held for it already`
        log(
          LogLevel.Warning,
          `missing ${group}`,
          `the hook for missing resources is not called for ${describe(call)}: ${limit}`
        )
        return
      }
      known.add(key)
      bytes += size
      const queue = waiting.get(group)
      if (queue === undefined) waiting.set(group, [call])
      else queue.push(call)
    }

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        ended = true
        waiting.clear()
        known.clear()
        return Effect.forEach(Array.from(running), (fiber) => fiber.interruptAsFork(fiber.id()), { discard: true })
      })
    )

    return {
      named: (group, change) => {
        let at = 0
        const some = (): void => {
          const end = Math.min(change.listed.length, at + namesAtATime)
          for (; at < end; at++) {
            const name = change.listed[at]
            if (name !== undefined && NamesChange.isAsked(change, name)) add(group, change.typeUrl, name)
          }
          start()
          if (at < change.listed.length && !ended) later(rest)
        }
        const rest: Work = { queued: false, run: some }
        some()
      }
    }
  })
