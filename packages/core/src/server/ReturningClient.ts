/**
 * A client that returns with many resources of an earlier stream: which of them it must no longer hold.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HeldVersions from "../resource/HeldVersions.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"
import type * as NameSet from "./NameSet.js"
import type { NameTable } from "./NameTable.js"

/**
 * A subscription before its first answer.
 *
 * @since 0.1.0
 */
export interface Returning {
  readonly typeUrl: string
  readonly initial: HeldVersions.HeldVersions
  readonly names: NameTable<unknown>
  readonly resendEvenIfHeld: NameSet.NameSet
  readonly requested: NameSet.NameSet
}

/**
 * The versions of existing resources that a client holds, and what follows from the others.
 *
 * @since 0.1.0
 */
export interface Sorted {
  readonly versions: HeldVersions.HeldVersions
  /** Names to remove, without duplicates. */
  readonly gone: ReadonlyArray<string>
  /** Without a wildcard: whether the client requested a name under which it quotes nothing. */
  readonly mayHaveOthers: boolean
  /** Whether the client held a resource that no longer exists. */
  readonly heldMore: boolean
}

/**
 * Sorts the names that a client quotes: those of existing resources, and those to remove. The latter need no further work, and
 * there may be a hundred thousand.
 *
 * @param wild whether the client gets every resource of the type
 * @since 0.1.0
 */
export const sort = function* (
  { initial, names, requested, resendEvenIfHeld, typeUrl }: Returning,
  wild: boolean,
  set: ResourceSet.ResourceSet
): Steps.Steps<Sorted> {
  const isHost = ResourceType.isOf(typeUrl, ResourceType.VirtualHost)
  const isElsewhere = isHost || !HashMap.isEmpty(set.aliases)
  const { held, others } = yield* HeldVersions.compare(initial, set)
  const gone: Array<string> = []
  /** Also to remove, unless the client held the resource by that name only. */
  const unsubscribed: Array<string> = []
  const dropped = new Set<string>()
  let asked = 0
  let heldMore = false
  let looked = 0
  if (!wild && names.size > 0) {
    for (const { name } of yield* held()) {
      if (names.has(name) && !others.has(name)) asked++
      if (++looked % Steps.atOnce === 0) yield
    }
  }
  for (const [name, version] of others) {
    if (++looked % Steps.atOnce === 0) yield
    const isAsked = names.has(name)
    if (isAsked) asked++
    if ((isElsewhere ? ResourceSet.find(set, name) : ResourceSet.get(set, name)) !== undefined) continue
    dropped.add(name)
    if (version !== "") heldMore = true
    // ★ Envoy also quotes openers and missing hosts, without a version. It holds nothing under them.
    if (isHost && version === "") continue
    // A requested name is answered, which includes its removal. The answer for a host is another one.
    if (requested.has(name) && !(isHost && isAsked)) continue
    if (!resendEvenIfHeld.has(name)) gone.push(name)
    else if (!isAsked) unsubscribed.push(name)
  }
  const mayHaveOthers = !wild && asked < names.size
  if (mayHaveOthers || wild) for (const name of unsubscribed) gone.push(name)
  const versions = yield* HeldVersions.without(initial, dropped, dropped.size)
  return { versions, gone, mayHaveOthers, heldMore }
}
