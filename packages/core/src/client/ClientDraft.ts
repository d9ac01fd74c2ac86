/**
 * The state of a client, and the draft of one step: watches, cache and streams so far, and the outputs.
 *
 * @since 0.1.0
 */
import { isOf, VirtualHost } from "@effect-xds/proto/ResourceType"
import type * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Collection from "../protocol/Collection.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { Notice } from "./ClientCache.js"
import * as ClientCache from "./ClientCache.js"
import type { Options, Server } from "./ClientOptions.js"
import type { Output } from "./ClientOutput.js"
import * as ClientStream from "./ClientStream.js"
import type { ClientSubscription } from "./ClientSubscription.js"
import * as ClientSubscriptions from "./ClientSubscription.js"
import * as ServerList from "./ServerList.js"

/**
 * The streams to a server, one after another. Subscriptions are kept between them.
 *
 * @since 0.1.0
 */
export interface StreamToServer {
  readonly server: Server
  /** The type of a separate service; `undefined`: the aggregated one. */
  readonly typeUrl: string | undefined
  readonly stream: ClientStream.ClientStream
}

/**
 * The state of a client. Only `Client.step` changes it; its fields are private.
 *
 * @since 0.1.0
 */
export interface Client {
  readonly options: Options
  readonly cache: ClientCache.ClientCache
  readonly watches: HashMap.HashMap<number, { readonly typeUrl: string; readonly name: string }>
  readonly serverLists: ReadonlyMap<string, ServerList.ServerList>
  readonly streams: ReadonlyMap<string, StreamToServer>
  readonly paused: HashSet.HashSet<string>
}

/**
 * Stream events that concern the choice of servers. Passed in, because that code drives streams, too, and imports would be
 * circular.
 *
 * @since 0.1.0
 */
export interface StreamReports {
  /** A stream ended without a response, or could not be opened. */
  readonly failed: (draft: ClientDraft, key: string, error: ErrorDetail) => void
  /** A stream was silent for the resource timeout. */
  readonly silent: (draft: ClientDraft, key: string) => void
}

/**
 * Milliseconds after a request in which a response to an older request may still arrive.
 *
 * @since 0.1.0
 */
export const responseDelay = 15_000

/** Whether a name stands for many resources. */
const isMany = (name: string): boolean => name === "*" || Collection.isGlob(name)

/**
 * The draft of a step.
 *
 * @since 0.1.0
 */
export class ClientDraft {
  cache: ClientCache.ClientCache
  watches: Client["watches"]
  paused: Client["paused"]
  readonly serverLists: Map<string, ServerList.ServerList>
  readonly streams: Map<string, StreamToServer>
  readonly outputs: Array<Output> = []
  readonly options: Options

  constructor(
    private readonly self: Client,
    readonly now: number,
    private readonly reports: StreamReports
  ) {
    this.cache = self.cache
    this.watches = self.watches
    this.paused = self.paused
    this.serverLists = new Map(self.serverLists)
    this.streams = new Map(self.streams)
    this.options = self.options
  }

  end(): readonly [Client, ReadonlyArray<Output>] {
    const { cache, paused, serverLists, streams, watches } = this
    return [{ ...this.self, cache, watches, serverLists, streams, paused }, this.outputs]
  }

  notify(notices: ReadonlyArray<Notice>): void {
    for (const notice of notices) this.outputs.push({ _tag: "Notify", ...notice })
  }

  /** Steps a stream and handles its outputs. */
  drive(key: string, input: ClientStream.Input): void {
    const to = this.streams.get(key)
    if (to === undefined) return
    const { server, typeUrl } = to
    const held = (asked: ClientSubscription) => {
      // What is requested again is not declared, or it would not be sent.
      const isServed = (name: string) => ClientSubscriptions.brings(asked, name) && !HashSet.has(asked.refreshing, name)
      return ClientCache.versions(this.cache, asked.typeUrl, { server: server.id, isServed })
    }
    const [stream, outputs] = ClientStream.step(to.stream, input, this.now, held)
    if (stream !== to.stream) this.streams.set(key, { ...to, stream })
    for (const output of outputs) {
      switch (output._tag) {
        case "Connect":
          this.outputs.push({ _tag: "Connect", stream: key, server, typeUrl })
          break
        case "Send":
          this.outputs.push({ _tag: "Send", stream: key, request: output.request })
          break
        case "Silent":
          this.reports.silent(this, key)
          break
        case "TimedOut": {
          const { resourceTimeout } = stream.options
          const [cache, notices] = ClientCache.timeOut(
            this.cache,
            output.typeUrl,
            output.names,
            { name: server.name ?? server.id, resourceTimeout },
            // ★ Silence about a virtual host does not mean that there is none: that would be a 404.
            (server.resourceTimerIsTransientError ?? false) || isOf(output.typeUrl, VirtualHost),
            this.now
          )
          this.cache = cache
          this.notify(notices)
          break
        }
        case "Failed":
          this.outputs.push({ ...output, stream: key })
          this.reports.failed(this, key, output.error)
          break
      }
    }
  }

  /**
   * The name of the server list for an authority and type, which is made if needed; `undefined`: the bootstrap lacks the
   * authority.
   */
  serverListOf(authority: string | undefined, typeUrl: string): string | undefined {
    const own = authority === undefined ? [] : this.options.authorities.get(authority)
    if (own === undefined) return undefined
    const [name, list] = ServerList.make(authority, typeUrl, own.length === 0 ? this.options.servers : own)
    if (!this.serverLists.has(name)) this.serverLists.set(name, list)
    return name
  }

  /** The watched names of a server list, by type. */
  *watched(list: ServerList.ServerList): Generator<readonly [typeUrl: string, names: ReadonlyArray<string>]> {
    for (const typeUrl of ClientCache.typeUrls(this.cache)) {
      const names: Array<string> = []
      if (ClientCache.isWildcard(this.cache, typeUrl) && ServerList.includes(list, typeUrl, "*")) names.push("*")
      for (const [name, entry] of ClientCache.entries(this.cache, typeUrl)) {
        if (HashSet.size(entry.watchers) > 0 && ServerList.includes(list, typeUrl, name)) names.push(name)
      }
      if (names.length > 0) yield [typeUrl, names]
    }
  }

  /** The subscription at the active server. */
  subscriptionOf(list: ServerList.ServerList, typeUrl: string): ClientSubscription | undefined {
    const to = this.streams.get(ServerList.streamKey(list, list.active, typeUrl))
    return to === undefined ? undefined : ClientStream.subscription(to.stream, typeUrl)
  }

  /** Subscribes at the servers of rank `from` to the active one. Missing streams are made. */
  subscribe(
    listName: string,
    wanted: Iterable<readonly [typeUrl: string, names: ReadonlyArray<string>]>,
    cached: ReadonlySet<string>,
    from = 0
  ): void {
    const list = this.serverLists.get(listName)
    if (list === undefined) return
    for (const [typeUrl, names] of wanted) {
      for (let rank = from; rank <= list.active; rank++) {
        const server = list.servers[rank]
        if (server === undefined) continue
        const key = ServerList.streamKey(list, rank, typeUrl)
        if (!this.streams.has(key)) this.streams.set(key, this.makeStream(server, typeUrl))
        const isRequested = this.streams
          .get(key)
          ?.stream.subscriptions.some((each) => each.typeUrl === typeUrl && each.hasRequested)
        this.drive(key, { _tag: "Subscribe", typeUrl, names, cached })
        const isUndeclared = isRequested === true && names.some(isMany) && server.protocol === "Incremental"
        if (isUndeclared && ClientCache.isHoldingOfOthers(this.cache, typeUrl, server.id)) {
          this.drive(key, { _tag: "Undeclared", typeUrl })
        }
      }
    }
  }

  private makeStream(server: Server, typeUrl: string): StreamToServer {
    const { backoff, dynamicParameters: parameters, node } = this.options
    const { protocol, resourceTimerIsTransientError: isTransient } = server
    const resourceTimeout = server.resourceTimeout ?? (isTransient === true ? 30_000 : 15_000)
    return {
      server,
      typeUrl: server.isAggregated === false ? typeUrl : undefined,
      stream: { ...ClientStream.make({ protocol, node, resourceTimeout, backoff, parameters }), paused: this.paused }
    }
  }

  /** Drops what is retained for a stream. */
  dropRetainedOf(key: string): void {
    const types = this.streams.get(key)?.stream.subscriptions ?? []
    for (const { typeUrl } of types) this.cache = ClientCache.dropRetainedOf(this.cache, typeUrl, key)
  }

  /**
   * Restarts a stream whose server does not know all that the client holds.
   *
   * ★ Incremental: a server sends what the client did not have when the stream began, and removes only what it had then. It
   * knows nothing of changes by another server since. Only `initial_resource_versions`, in the first request of a stream, tells
   * it.
   */
  redeclare(key: string, typeUrl: string): void {
    const to = this.streams.get(key)
    if (to === undefined || ClientStream.subscription(to.stream, typeUrl)?.undeclared !== true) return
    this.dropRetainedOf(key)
    this.outputs.push({ _tag: "Close", stream: key })
    this.drive(key, { _tag: "Restart" })
  }
}
