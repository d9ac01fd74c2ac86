/**
 * Keeps a store as the files of a directory say.
 *
 * @since 0.1.0
 */
import * as Snapshot from "@effect-xds/server/Snapshot"
import type * as SnapshotStore from "@effect-xds/server/SnapshotStore"
import type * as StoreError from "@effect-xds/server/StoreError"
import { ofDefect } from "@effect-xds/proto/Redaction"
import { type ResourceFile, ResourceDirectory } from "@effect-xds/transport-filesystem"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { existsSync } from "node:fs"
import { join, relative, sep } from "node:path"
import * as LocalResources from "./LocalResources.js"

/**
 * A store that follows a directory.
 *
 * @since 0.1.0
 */
export interface DirectoryFeed {
  /** Groups that have files, published or not, and those whose subdirectories are there and have lost theirs. */
  readonly groups: () => ReadonlySet<string>
  readonly status: Effect.Effect<ResourceDirectory.DirectoryStatus>
  /** Why not everything is served; empty if everything is. */
  readonly notReady: Effect.Effect<ReadonlyArray<string>>
}

/** Resources, or broken rules, that are told at a time. */
const maxLines = 20

/** Reasons that are told at a time. */
const maxReasons = 5

const toSnapshot = (resources: ReadonlyArray<ResourceFile.FileResource>): Snapshot.Snapshot => ({
  resources: resources.map((resource) => {
    const { aliases, constraints, ttl, version } = resource
    return Snapshot.resource(resource, {
      version,
      ttl,
      aliases,
      constraints,
      place: LocalResources.placeOf(resource)
    })
  })
})

/** The first one, and how many more. */
const invalidOf = ({ more, resources }: StoreError.InvalidResources): string => {
  const rest = resources.length - 1
  const others = more
    ? `at least ${rest + 1} more break rules`
    : `${rest} more ${rest === 1 ? "breaks" : "break"} rules`
  return `${resources[0]?.message ?? "resources break rules"}${rest > 0 || more ? `; ${others}` : ""}; --validate warn serves it all the same`
}

const brokenOf = ({ omitted, rules }: StoreError.BrokenRules): string => {
  const rest = rules.length - 1 + omitted
  const others = rest === 0 ? "" : `; ${rest} more ${rest === 1 ? "rule is" : "rules are"} broken`
  return `${rules[0]?.message ?? "rules are broken"}${others}; --group-rules warn serves it all the same`
}

const countOf = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

/**
 * Reads the directory, puts what is good into the store and goes on doing so until the scope closes. When it returns,
 * the store holds what was read first.
 *
 * @param onGroups runs when groups were found that were not there, before what is in them, or went to them, changes in the store
 * @since 0.1.0
 */
export const make = (
  path: string,
  store: SnapshotStore.Service,
  onGroups: (found: ReadonlyArray<string>, all: ReadonlySet<string>) => Effect.Effect<void>
): Effect.Effect<DirectoryFeed, never, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* ResourceDirectory.make(path, { rootGroup: LocalResources.rootGroup })
    const first = yield* directory.status
    const known = new Set(first.groups.map(({ group }) => group))
    const unpublished = new Set(first.groups.filter(({ isPublished }) => isPublished).map(({ group }) => group))
    const loaded = yield* Deferred.make<void>()
    /** Why the store refused what a group holds. It has an older state, and the next change is to replace all of it. */
    const refused = new Map<string, string>()
    /** What this feed has last written of each group. */
    const revisions = new Map<string, number>()
    /** Groups without resources: their subdirectories may be gone. */
    const empty = new Set<string>()

    const refuse = (group: string, reason: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        refused.set(group, reason)
        return Effect.logError(`${group}: ${reason} (its last good state stays in force)`)
      })

    /** Each resource that breaks rules, with its place; the first is told where the group is said to be refused. */
    const tellInvalid = (group: string, { resources }: StoreError.InvalidResources): Effect.Effect<void> =>
      Effect.forEach(resources.slice(1, maxLines), ({ message }) => Effect.logError(`${group}: ${message}`), {
        discard: true
      })

    /** The same of rules that the group would break. */
    const tellBroken = (group: string, { rules }: StoreError.BrokenRules): Effect.Effect<void> =>
      Effect.forEach(rules.slice(1, maxLines), ({ message }) => Effect.logError(`${group}: ${message}`), {
        discard: true
      })

    const found = (names: Iterable<string>): Effect.Effect<void> =>
      Effect.suspend(() => {
        const those = Array.from(names).filter((name) => !known.has(name))
        for (const name of those) known.add(name)
        return those.length === 0 ? Effect.void : onGroups(those, known)
      })

    const apply = ({ group, isFirst, removed, resources, upserted }: ResourceDirectory.GroupChange) =>
      Effect.gen(function* () {
        yield* found(isFirst || group === LocalResources.rootGroup ? directory.groups() : [group])
        if (resources.length === 0) empty.add(group)
        else empty.delete(group)
        let isWhole = isFirst || refused.has(group)
        const writeWhole = Effect.suspend(() => store.set(group, toSnapshot(resources)))
        const writePart = Effect.suspend(() => {
          const part = { upsert: toSnapshot(upserted), remove: { resources: removed } }
          return store.update(group, part, { ifRevision: revisions.get(group) })
        })
        /** ★ What others have made of the group is replaced: a part of the files in it would be a state that nobody wanted. */
        const replace = Effect.zipRight(
          Effect.sync(() => void (isWhole = true)),
          writeWhole
        )
        const write = isWhole ? writeWhole : Effect.catchTag(writePart, "Conflict", () => replace)
        // The files do not change again because a database is back. A store in memory never fails like this.
        const { revision } = yield* Effect.retry(
          Effect.tapErrorTag(write, "StoreUnavailable", ({ message }) =>
            Effect.logError(`${message} (it is tried again)`)
          ),
          {
            while: ({ _tag }) =>
              _tag === "StoreUnavailable" ? Effect.as(Effect.sleep("1 second"), true) : Effect.succeed(false)
          }
        )
        revisions.set(group, revision)
        refused.delete(group)
        yield* Effect.logInfo(
          isWhole
            ? `${group}: ${countOf(resources.length, "resource")} loaded`
            : `${group}: ${countOf(upserted.length, "resource")} new or changed, ${removed.length} removed`
        )
      }).pipe(
        Effect.catchTag("InvalidResources", (error) =>
          Effect.zipRight(tellInvalid(group, error), refuse(group, invalidOf(error)))
        ),
        Effect.catchTag("BrokenRules", (error) =>
          Effect.zipRight(tellBroken(group, error), refuse(group, brokenOf(error)))
        ),
        Effect.catchAll((error) => refuse(group, error.message)),
        // The other groups go on.
        Effect.catchAllDefect((defect) => refuse(group, `a fault of this program: ${ofDefect(defect)}`)),
        Effect.ensuring(
          Effect.suspend(() => {
            unpublished.delete(group)
            return unpublished.size === 0 ? Deferred.succeed(loaded, undefined) : Effect.void
          })
        )
      )

    // A group that was never good is in no change; its files are in the events.
    yield* directory.events.pipe(
      Stream.runForEach((event) =>
        Effect.suspend(() => {
          if (event._tag !== "Accepted" && event._tag !== "Rejected") return Effect.void
          const parts = relative(directory.path, event.path).split(sep)
          return found([parts.length > 1 ? (parts[0] ?? LocalResources.rootGroup) : LocalResources.rootGroup])
        })
      ),
      Effect.forkScoped
    )
    yield* directory.changes.pipe(Stream.runForEach(apply), Effect.forkScoped)
    if (unpublished.size > 0) yield* Deferred.await(loaded)

    /** What was emptied and is removed would else count until a restart. A subdirectory that is there may be filled again. */
    const groups = (): ReadonlySet<string> => {
      for (const group of empty) {
        if (group === LocalResources.rootGroup || existsSync(join(directory.path, group))) continue
        known.delete(group)
        empty.delete(group)
      }
      return known
    }

    return {
      groups,
      status: directory.status,
      notReady: Effect.map(directory.status, ({ groups, rejected }) => {
        // What is edited from now on would not be seen.
        const blind = rejected.filter(({ file }) => file === directory.path).map(({ message }) => message)
        if (groups.length === 0) return blind.length > 0 ? blind : [`${path} holds no resources`]
        const never = groups
          .filter(({ isPublished }) => !isPublished)
          .map(({ files, group }) => {
            const error = files.find(({ state }) => state === "Rejected")?.error
            return `group ${JSON.stringify(group)} was never good: ${error?.message ?? "its files are not there"}`
          })
        const reasons = [...blind, ...never]
        for (const [group, reason] of refused) reasons.push(`group ${JSON.stringify(group)}: ${reason}`)
        const more = reasons.length - maxReasons
        return more > 0 ? [...reasons.slice(0, maxReasons), `and ${more} more`] : reasons
      })
    }
  })
