/**
 * Start and end of watches.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Authority from "../protocol/Authority.js"
import * as Collection from "../protocol/Collection.js"
import * as StatusCode from "../protocol/StatusCode.js"
import type { Entry } from "./ClientCache.js"
import * as ClientCache from "./ClientCache.js"
import type { ClientDraft } from "./ClientDraft.js"
import * as Fallback from "./Fallback.js"
import * as ServerList from "./ServerList.js"

const { FAILED_PRECONDITION, INVALID_ARGUMENT, RESOURCE_EXHAUSTED } = StatusCode.codes

const isWatched = (draft: ClientDraft, typeUrl: string, name: string, entry: Entry | undefined): boolean =>
  name === "*" ? ClientCache.isWildcard(draft.cache, typeUrl) : entry !== undefined && HashSet.size(entry.watchers) > 0

/**
 * Starts a watch: it gets the held resource, or the resource is requested. An invalid watch gets an error.
 *
 * @since 0.1.0
 */
export const watch = (draft: ClientDraft, watcher: number, typeUrl: string, given: string): void => {
  if (HashMap.has(draft.watches, watcher)) return
  const { decoders, maxResources } = draft.options
  const refuse = (code: number, message: string) =>
    draft.notify([{ typeUrl, name: given, watchers: [watcher], result: { _tag: "Error", error: { code, message } } }])
  if (!decoders.some((decoder) => decoder.typeUrl === typeUrl)) {
    return refuse(INVALID_ARGUMENT, `${typeUrl} cannot be watched: there is no decoder for it`)
  }
  const parsed = given === "*" ? Either.right(given) : Authority.parse(typeUrl, given)
  if (Either.isLeft(parsed)) return refuse(INVALID_ARGUMENT, parsed.left)
  const name = parsed.right
  const listName = draft.serverListOf(Authority.ofName(name), typeUrl)
  if (listName === undefined) {
    return refuse(INVALID_ARGUMENT, `the authority of ${name} is not one of those in the bootstrap`)
  }
  if (draft.serverLists.get(listName)?.servers.length === 0) {
    return refuse(FAILED_PRECONDITION, `${name} cannot be watched: the bootstrap names no server`)
  }
  reviveOrDrop(draft, listName, typeUrl, name)
  const before = ClientCache.get(draft.cache, typeUrl, name)
  if (name !== "*" && before === undefined && ClientCache.size(draft.cache, typeUrl) >= maxResources) {
    const type = `${maxResources} resources of ${typeUrl}`
    return refuse(RESOURCE_EXHAUSTED, `${name} cannot be watched: there are ${type}, which is the limit`)
  }
  const isFirst = !isWatched(draft, typeUrl, name, before)
  draft.watches = HashMap.set(draft.watches, watcher, { typeUrl, name })
  const [cache, notices] = ClientCache.watch(draft.cache, typeUrl, name, watcher)
  draft.cache = cache
  draft.notify(notices)
  if (isFirst) {
    const cached = new Set(ClientCache.isCached(before) ? [name] : [])
    draft.subscribe(listName, [[typeUrl, [name]]], cached)
  }
  Fallback.watchBegan(draft, listName, { watcher, typeUrl, name })
}

/**
 * Uses a retained resource again. Exception: a full-state server that has seen the unsubscription. It sends the resource again,
 * in the answer to the new request or in an earlier response.
 */
const reviveOrDrop = (draft: ClientDraft, listName: string, typeUrl: string, name: string): void => {
  const list = draft.serverLists.get(listName)
  const isMany = name === "*" || Collection.isGlob(name)
  if (list === undefined || (!isMany && !ClientCache.isRetained(draft.cache, typeUrl, name))) return
  const subscription = draft.subscriptionOf(list, typeUrl)
  const isStillAsked = subscription !== undefined && HashSet.has(subscription.dropped, name)
  if (isStillAsked || draft.options.decoders.every((each) => each.typeUrl !== typeUrl || !each.isFullState)) return
  draft.cache =
    name === "*"
      ? ClientCache.dropRetainedOf(draft.cache, typeUrl, ServerList.streamKey(list, list.active, typeUrl))
      : ClientCache.dropRetained(draft.cache, typeUrl, name)
}

/**
 * Ends a watch. After the last one of a name, the servers get an unsubscription.
 *
 * @since 0.1.0
 */
export const unwatch = (draft: ClientDraft, watcher: number): void => {
  const ended = Option.getOrUndefined(HashMap.get(draft.watches, watcher))
  if (ended === undefined) return
  const { name, typeUrl } = ended
  draft.watches = HashMap.remove(draft.watches, watcher)
  const listName = draft.serverListOf(Authority.ofName(name), typeUrl)
  const list = listName === undefined ? undefined : draft.serverLists.get(listName)
  if (list === undefined) return
  const isRequested = draft.subscriptionOf(list, typeUrl)?.hasRequested ?? false
  const isRetained = isRequested && list.servers[list.active]?.protocol === "StateOfTheWorld"
  const stream = isRetained ? ServerList.streamKey(list, list.active, typeUrl) : undefined
  const [cache, notices] = ClientCache.unwatch(draft.cache, typeUrl, name, watcher, stream)
  draft.cache = cache
  draft.notify(notices)
  if (isWatched(draft, typeUrl, name, ClientCache.get(draft.cache, typeUrl, name))) return
  for (let rank = 0; rank <= list.active; rank++) {
    draft.drive(ServerList.streamKey(list, rank, typeUrl), { _tag: "Unsubscribe", typeUrl, names: [name] })
  }
}
