/**
 * Fallback: the choice of the active server of a list, and the notices about connection failures.
 *
 * ★ A client falls back to the next server only if the active one is unreachable and a watched resource is missing. It returns
 * as soon as a server of higher rank says something of its resources: what it has, and what it has not.
 *
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @see https://github.com/grpc/proposal/blob/master/A71-xds-fallback.md
 * @since 0.1.0
 */
import * as Collection from "../protocol/Collection.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { Notice } from "./ClientCache.js"
import * as ClientCache from "./ClientCache.js"
import type { ClientDraft, StreamReports, StreamToServer } from "./ClientDraft.js"
import * as ServerList from "./ServerList.js"
import type * as Validation from "./Validation.js"

/** The connectivity error of the active server, if it is unreachable. */
const failureOf = (draft: ClientDraft, list: ServerList.ServerList): ErrorDetail | undefined =>
  draft.streams.get(ServerList.streamKey(list, list.active))?.stream.failure

const isWatched = (draft: ClientDraft, list: ServerList.ServerList, typeUrl: string): boolean => {
  for (const [watched] of draft.watched(list)) if (watched === typeUrl) return true
  return false
}

/** The active server is unreachable: falls back to the next one, or reports the error to watchers. */
const fail = (draft: ClientDraft, listName: string, error: ErrorDetail): void => {
  const list = draft.serverLists.get(listName)
  if (list === undefined) return
  if (ServerList.hasNext(list) && isNeeded(draft, list)) return fallBack(draft, listName, list)
  if (!list.hasNewWatch && list.reported?.message === error.message && list.reported.code === error.code) return
  draft.serverLists.set(listName, { ...list, reported: error, hasNewWatch: false })
  draft.notify(ClientCache.fail(draft.cache, (typeUrl, name) => ServerList.includes(list, typeUrl, name), error))
}

/** Whether a watched resource is missing from the cache. */
const isNeeded = (draft: ClientDraft, list: ServerList.ServerList): boolean => {
  for (const [typeUrl, names] of draft.watched(list)) {
    for (const name of names) {
      const isKnown =
        name === "*"
          ? ClientCache.isHolding(draft.cache, typeUrl)
          : ClientCache.isCached(ClientCache.get(draft.cache, typeUrl, name))
      if (!isKnown) return true
    }
  }
  return false
}

const fallBack = (draft: ClientDraft, listName: string, list: ServerList.ServerList): void => {
  const next = { ...list, active: list.active + 1 }
  draft.serverLists.set(listName, next)
  const server = next.servers[next.active]
  if (server !== undefined) draft.outputs.push({ _tag: "Switched", authority: list.authority, server })
  for (const [typeUrl, names] of Array.from(draft.watched(list))) {
    // ★ Only an answer brings the client back, and some servers have none for whoever quotes their version.
    for (let rank = 0; rank <= list.active; rank++) {
      draft.drive(ServerList.streamKey(list, rank, typeUrl), { _tag: "Lost", typeUrl })
    }
    const isCached = (name: string) => ClientCache.isCached(ClientCache.get(draft.cache, typeUrl, name))
    draft.subscribe(listName, [[typeUrl, names]], new Set(names.filter(isCached)), next.active)
  }
  for (const [typeUrl] of Array.from(draft.watched(list))) {
    draft.redeclare(ServerList.streamKey(next, next.active, typeUrl), typeUrl)
  }
  const failure = failureOf(draft, next)
  if (failure !== undefined) fail(draft, listName, failure)
}

/** ★ Returns to a server of higher rank that answered; closes the streams to those below it. */
const goBack = (draft: ClientDraft, listName: string, list: ServerList.ServerList, rank: number): void => {
  draft.serverLists.set(listName, { ...list, active: rank })
  const server = list.servers[rank]
  if (server !== undefined) draft.outputs.push({ _tag: "Switched", authority: list.authority, server })
  const watched = Array.from(draft.watched(list))
  for (let lower = rank + 1; lower <= list.active; lower++) {
    const key = ServerList.streamKey(list, lower)
    const isShared = Array.from(draft.serverLists).some(
      ([name, other]) => name !== listName && ServerList.rankOf(other, key) !== undefined
    )
    if (isShared) {
      for (const [typeUrl, names] of watched) draft.drive(key, { _tag: "Unsubscribe", typeUrl, names })
    } else if (draft.streams.has(key)) {
      draft.dropRetainedOf(key)
      draft.streams.delete(key)
      draft.outputs.push({ _tag: "Close", stream: key })
    }
  }
  for (const [typeUrl] of watched) draft.redeclare(ServerList.streamKey(list, rank, typeUrl), typeUrl)
}

/**
 * A watch started. If the active server is unreachable: falls back, or reports the error if no server is left.
 *
 * @since 0.1.0
 */
export const watchBegan = (
  draft: ClientDraft,
  listName: string,
  { name, typeUrl, watcher }: { readonly watcher: number; readonly typeUrl: string; readonly name: string }
): void => {
  const list = draft.serverLists.get(listName)
  if (list === undefined) return
  const failure = failureOf(draft, list)
  if (failure === undefined) return void draft.serverLists.set(listName, { ...list, hasNewWatch: true })
  if (list.reported === undefined) return fail(draft, listName, failure)
  const entry = ClientCache.get(draft.cache, typeUrl, name)
  if (!ClientCache.isCached(entry) && ServerList.hasNext(list)) return fallBack(draft, listName, list)
  // As the watchers before it were told.
  if (name === "*" || Collection.isGlob(name)) {
    const isServed = (of: string, each: string) => of === typeUrl && ServerList.includes(list, of, each)
    const told = ClientCache.fail(draft.cache, isServed, failure).filter(({ watchers }) => watchers.includes(watcher))
    return draft.notify(told.map((notice) => ({ ...notice, watchers: [watcher] })))
  }
  const result = { _tag: entry?.held === undefined ? "Error" : "AmbientError", error: failure } as const
  draft.notify([{ typeUrl, name, watchers: [watcher], result }])
}

/**
 * A server answered, so its reported connectivity error is over. ★ Watchers that just got a notice of the resource need no
 * second one.
 *
 * @param heard the notices just sent
 * @since 0.1.0
 */
export const serverAnswers = (draft: ClientDraft, key: string, heard: ReadonlyArray<Notice> = []): void => {
  let known: Set<string> | undefined
  for (const [name, list] of draft.serverLists) {
    if (list.reported === undefined || ServerList.rankOf(list, key) === undefined) continue
    draft.serverLists.set(name, { ...list, reported: undefined })
    known ??= new Set(heard.map((notice) => `${notice.typeUrl} ${notice.name}`))
    const isKnown = known
    const notices = ClientCache.restore(draft.cache, (typeUrl, of) => ServerList.includes(list, typeUrl, of))
    draft.notify(notices.filter((notice) => !isKnown.has(`${notice.typeUrl} ${notice.name}`)))
  }
}

/**
 * A server answered. If it ranks above the active one, the client returns to it. ★ Also if it says that something does not
 * exist: that is told to watchers, so the active server must not be the one that still has it.
 *
 * @since 0.1.0
 */
export const resourcesCame = (
  draft: ClientDraft,
  key: string,
  typeUrl: string,
  { failed, isComplete, removed, unchanged, updated }: Validation.Validation
): void => {
  for (const [name, list] of Array.from(draft.serverLists)) {
    const rank = ServerList.rankOf(list, key)
    if (rank === undefined || rank === list.active) continue
    const isIn = (name: string) => ServerList.includes(list, typeUrl, name)
    const isOfList = (each: { readonly name: string }) => isIn(each.name)
    const isGone = removed.some(isIn) || failed.some(isOfList) || (isComplete && isWatched(draft, list, typeUrl))
    if (isGone || updated.some(isOfList) || unchanged.some(isOfList)) goBack(draft, name, list, rank)
  }
}

/**
 * Whether a server must send something on a new stream. ★ In incremental it sends nothing that the client already has, and need
 * not answer an unknown name.
 */
const mustAnswer = (draft: ClientDraft, { server, stream }: StreamToServer): boolean => {
  const isHeld = (typeUrl: string, name: string) =>
    name === "*" || Collection.isGlob(name)
      ? ClientCache.isHolding(draft.cache, typeUrl, name)
      : ClientCache.get(draft.cache, typeUrl, name)?.held !== undefined
  return stream.subscriptions.some(({ names, typeUrl, wildcard }) => {
    for (const name of wildcard ? ["*", ...names] : names) {
      const mustSend = isHeld(typeUrl, name)
        ? server.protocol === "StateOfTheWorld"
        : name === "*" || Collection.isGlob(name) || server.resourceTimerIsTransientError === true
      if (mustSend) return true
    }
    return false
  })
}

/**
 * The reports of a stream about its server.
 *
 * @since 0.1.0
 */
export const reports: StreamReports = {
  failed: (draft, key, error) => {
    for (const [name, list] of draft.serverLists) {
      if (ServerList.streamKey(list, list.active) === key) fail(draft, name, error)
    }
  },
  silent: (draft, key) => {
    const to = draft.streams.get(key)
    if (to === undefined || mustAnswer(draft, to)) return
    draft.outputs.push({ _tag: "Responsive", stream: key })
    draft.drive(key, { _tag: "Responsive" })
    serverAnswers(draft, key)
  }
}
