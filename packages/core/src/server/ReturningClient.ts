/**
 * A client that comes back with much of an earlier stream: what of that it must not hold any more.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as HeldVersions from "../resource/HeldVersions.js"
import * as ResourceSet from "../resource/ResourceSet.js"
import * as Steps from "../Steps.js"

/**
 * A subscription before its first answer.
 *
 * @since 0.1.0
 */
export interface Returning {
  readonly typeUrl: string
  readonly initial: HeldVersions.HeldVersions
  readonly names: HashMap.HashMap<string, unknown>
  readonly resendEvenIfHeld: HashSet.HashSet<string>
  readonly requested: HashSet.HashSet<string>
}

/**
 * What a client holds of which there is something, and what follows from the rest.
 *
 * @since 0.1.0
 */
export interface Sorted {
  readonly versions: HeldVersions.HeldVersions
  /** Names that the client must not hold anything by any more, each once. */
  readonly gone: ReadonlyArray<string>
  /** Whether it asked for names, without a wildcard, that it does not hold by that name. */
  readonly mayHaveOthers: boolean
  /** Whether it held something of which there is nothing any more. */
  readonly heldMore: boolean
}

/**
 * Sorts what a client holds into names of which there is something, and names under which there is nothing: of those the client
 * need only be told that they are gone, and there may be a hundred thousand of them.
 *
 * @param wild whether it is sent every resource of the type
 * @since 0.1.0
 */
export const sort = function* (
  { initial, names, requested, resendEvenIfHeld, typeUrl }: Returning,
  wild: boolean,
  set: ResourceSet.ResourceSet
): Steps.Steps<Sorted> {
  const isHost = typeUrl === ResourceType.VirtualHost.typeUrl
  const isElsewhere = isHost || !HashMap.isEmpty(set.aliases)
  const { held, others } = yield* HeldVersions.compare(initial, set)
  const gone: Array<string> = []
  /** Gone as well, unless the client had them by nothing but that name. */
  const givenUp: Array<string> = []
  const dropped = new Set<string>()
  let asked = 0
  let heldMore = false
  let looked = 0
  if (!wild && !HashMap.isEmpty(names)) {
    for (const { name } of yield* held()) {
      if (HashMap.has(names, name) && !others.has(name)) asked++
      if (++looked % Steps.atOnce === 0) yield
    }
  }
  for (const [name, version] of others) {
    if (++looked % Steps.atOnce === 0) yield
    const isAsked = HashMap.has(names, name)
    if (isAsked) asked++
    if ((isElsewhere ? ResourceSet.find(set, name) : ResourceSet.get(set, name)) !== undefined) continue
    dropped.add(name)
    if (version !== "") heldMore = true
    // ★ Envoy quotes also openers and hosts that it was told do not exist: without a version. It holds nothing by them.
    if (isHost && version === "") continue
    // What is to be answered by its name is told so; of a host that is another answer.
    if (HashSet.has(requested, name) && !(isHost && isAsked)) continue
    if (!HashSet.has(resendEvenIfHeld, name)) gone.push(name)
    else if (!isAsked) givenUp.push(name)
  }
  const mayHaveOthers = !wild && asked < HashMap.size(names)
  if (mayHaveOthers || wild) for (const name of givenUp) gone.push(name)
  const versions = yield* HeldVersions.without(initial, dropped, dropped.size)
  return { versions, gone, mayHaveOthers, heldMore }
}
