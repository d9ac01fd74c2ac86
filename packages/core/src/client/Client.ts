/**
 * An xDS client as one reducer: its watches, what it holds, and its streams to the servers of its authorities.
 *
 * Who drives it does what the outputs say and reports what happened: it opens and closes streams, writes requests, reads
 * responses, wakes it at its {@link deadline}, and tells watchers.
 *
 * ★ A client falls back to the next server only when one cannot be reached and somebody waits for a resource that is not
 * there; it goes back as soon as a server of higher rank gives a resource.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/grpc/proposal/blob/master/A57-xds-client-failure-mode-behavior.md
 * @see https://github.com/grpc/proposal/blob/master/A71-xds-fallback.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"
import * as Option from "effect/Option"
import * as Authority from "../protocol/Authority.js"
import * as StatusCode from "../protocol/StatusCode.js"
import * as Backoff from "./Backoff.js"
import type { Entry, Notice } from "./ClientCache.js"
import * as ClientCache from "./ClientCache.js"
import type { ClientResponse } from "../wire/ClientResponse.js"
import * as ClientStream from "./ClientStream.js"
import type { ClientSubscription } from "./ClientSubscription.js"
import * as ClientSubscriptions from "./ClientSubscription.js"
import type { ErrorDetail, Protocol, Request } from "../wire/Request.js"
import type { ResourceDecoder } from "./ResourceDecoder.js"
import { DecoderConflict } from "./ResourceDecoder.js"
import * as Validation from "./Validation.js"

/**
 * A server, as the bootstrap names it. The same one in several lists is used through the same streams.
 *
 * @since 0.1.0
 */
export interface Server {
  /** What it is recognised by: all that is needed to connect to it, as text. */
  readonly id: string
  /** What watchers are told it is called. Default: {@link id}. */
  readonly name?: string | undefined
  readonly protocol: Protocol
  /** Whether all types go over one stream (ADS), or each over one of its own. Default: true. */
  readonly isAggregated?: boolean | undefined
  /** `fail_on_data_errors`: a resource that was NACKed, deleted or refused is not used any more. Default: false. */
  readonly failOnDataErrors?: boolean | undefined
  /** `resource_timer_is_transient_error`: it names what does not exist, so silence means that it is slow. Default: false. */
  readonly resourceTimerIsTransientError?: boolean | undefined
  /** Milliseconds. Default: 15 000, or 30 000 if the timer is a transient error. */
  readonly resourceTimeout?: number | undefined
}

/**
 * What does not change.
 *
 * @since 0.1.0
 */
export interface Options {
  /** For names without an authority, the first one is the primary. */
  readonly servers: ReadonlyArray<Server>
  /** For `xdstp` names, by authority. An empty list: {@link servers}. Default: none. */
  readonly authorities: ReadonlyMap<string, ReadonlyArray<Server>>
  /** The types that can be watched. */
  readonly decoders: ReadonlyArray<ResourceDecoder>
  /** The encoded `Node`. */
  readonly node: Uint8Array | undefined
  readonly backoff: Backoff.Options
  /** Resources of one type, watched or brought by a wildcard. Default: 100 000. */
  readonly maxResources: number
  /** Bytes of the error in a NACK. Default: 4 096. */
  readonly maxErrorBytes: number
}

/**
 * The options that a client must be given, and those that it may be given.
 *
 * @since 0.1.0
 */
export type OptionsInput = Pick<Options, "servers"> & { readonly [Key in keyof Options]?: Options[Key] | undefined }

/** A stream to a server, or what there is of it between two streams. */
interface Link {
  readonly server: Server
  /** The type of a separate service; `undefined`: the aggregated one. */
  readonly typeUrl: string | undefined
  readonly stream: ClientStream.ClientStream
}

/** What falls back together: the resources of an authority; of one type if types have streams of their own. */
interface Scope {
  readonly authority: string | undefined
  readonly typeUrl: string | undefined
  readonly servers: ReadonlyArray<Server>
  /** The server of the lowest rank that is used now: it and all above it are asked. */
  readonly active: number
  /** The connectivity error that watchers were told last and that is not over. */
  readonly told: ErrorDetail | undefined
  /** Whether somebody began to watch since, and was not told. */
  readonly isNews: boolean
}

/**
 * The state. Made by {@link make}, changed by {@link step}; its fields are nobody else's business.
 *
 * @since 0.1.0
 */
export interface Client {
  readonly options: Options
  readonly cache: ClientCache.ClientCache
  readonly watches: HashMap.HashMap<number, { readonly typeUrl: string; readonly name: string }>
  readonly scopes: ReadonlyMap<string, Scope>
  readonly links: ReadonlyMap<string, Link>
  readonly paused: HashSet.HashSet<string>
}

/**
 * What happens to a client. `stream` is the one that a `Connect` named.
 *
 * @since 0.1.0
 */
export type Input =
  /** Somebody wants to know of a resource, or with the name `*` of all. Watchers have numbers that were never used. */
  | { readonly _tag: "Watch"; readonly watcher: number; readonly typeUrl: string; readonly name: string }
  | { readonly _tag: "Unwatch"; readonly watcher: number }
  /** Resources that are held are to be sent again. */
  | { readonly _tag: "Refresh"; readonly typeUrl: string; readonly names: ReadonlyArray<string> }
  /** Requests of a type are held back until `Resume`, and then are one. */
  | { readonly _tag: "Pause"; readonly typeUrl: string }
  | { readonly _tag: "Resume"; readonly typeUrl: string }
  /** A stream is open, over a connection that is there. */
  | { readonly _tag: "Connected"; readonly stream: string }
  /** The request of the last `Send` went to the connection. */
  | { readonly _tag: "Written"; readonly stream: string }
  | { readonly _tag: "Response"; readonly stream: string; readonly response: ClientResponse }
  /** The watchers have taken what this response brought: it may be answered. */
  | { readonly _tag: "Processed"; readonly stream: string; readonly typeUrl: string; readonly nonce: string }
  /** A stream ended, or could not be opened. `random`: in [0, 1), for the backoff. */
  | { readonly _tag: "Ended"; readonly stream: string; readonly error: ErrorDetail; readonly random: number }
  /** The time of {@link deadline} has come. */
  | { readonly _tag: "Deadline" }

/**
 * What a client wants done, or known.
 *
 * @since 0.1.0
 */
export type Output =
  /** Open a stream: the aggregated one, or that of a type. Then `Connected`, or `Ended`. */
  | {
      readonly _tag: "Connect"
      readonly stream: string
      readonly server: Server
      readonly typeUrl: string | undefined
    }
  /** End a stream, and report nothing of it any more. */
  | { readonly _tag: "Close"; readonly stream: string }
  /**
   * Write a request. Then `Written`: only after that there is another `Send` for this stream. Everything that is watched
   * until then is one request, so whoever begins many watches at once reports `Written` after them: in state of the world
   * every request has all the names.
   */
  | { readonly _tag: "Send"; readonly stream: string; readonly request: Request }
  | ({ readonly _tag: "Notify" } & Notice)
  /** A response was taken. The driver answers with `Processed` when the `Notify` outputs are delivered. */
  | {
      readonly _tag: "Received"
      readonly stream: string
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly validation: Validation.Validation
      /** Present: the response is NACKed with it. */
      readonly error: ErrorDetail | undefined
    }
  /** A stream ended without any response, and was not `Responsive` either. */
  | { readonly _tag: "Failed"; readonly stream: string; readonly error: ErrorDetail; readonly retryAt: number }
  /** A stream brought nothing for the time of a resource, and the server had nothing to say: that is an answer. */
  | { readonly _tag: "Responsive"; readonly stream: string }
  /** Resources are asked of another server now: of a lower rank, or of a higher one again. */
  | { readonly _tag: "Switched"; readonly authority: string | undefined; readonly server: Server }
  /** The server broke the protocol. Nothing is ended for it. */
  | {
      readonly _tag: "Violation"
      readonly stream: string
      readonly typeUrl: string
      readonly reason: ViolationReason
      readonly message: string
    }

/**
 * How a server broke the protocol.
 *
 * @since 0.1.0
 */
export type ViolationReason = "TypeNotAskedFor" | "NonceMissing" | "VersionMissing"

/** Milliseconds after a request during which a response may have crossed it. */
const crossing = 15_000

const { FAILED_PRECONDITION, INVALID_ARGUMENT, RESOURCE_EXHAUSTED } = StatusCode.codes

/**
 * A client that watches nothing: it connects to nobody.
 *
 * @since 0.1.0
 */
export const make = (given: OptionsInput): Client => ({
  options: {
    servers: given.servers,
    decoders: given.decoders ?? [],
    authorities: given.authorities ?? new Map(),
    node: given.node,
    backoff: given.backoff ?? Backoff.defaults,
    maxResources: given.maxResources ?? 100_000,
    maxErrorBytes: given.maxErrorBytes ?? 4_096
  },
  cache: ClientCache.empty,
  watches: HashMap.empty(),
  scopes: new Map(),
  links: new Map(),
  paused: HashSet.empty()
})

/**
 * The client with one more type that can be watched. Left: it has another decoder for that type.
 *
 * @since 0.1.0
 */
export const withDecoder = (self: Client, decoder: ResourceDecoder): Either.Either<Client, DecoderConflict> => {
  const { decoders } = self.options
  const known = decoders.find(({ typeUrl }) => typeUrl === decoder.typeUrl)
  if (known === decoder) return Either.right(self)
  if (known !== undefined) return Either.left(new DecoderConflict({ typeUrl: decoder.typeUrl }))
  return Either.right({ ...self, options: { ...self.options, decoders: [...decoders, decoder] } })
}

/**
 * When the client wants a `Deadline` input, in the time that `now` is given in (milliseconds); Infinity if never. There
 * may be nothing to do then.
 *
 * @since 0.1.0
 */
export const deadline = (self: Client): number => {
  let at = ClientCache.deadline(self.cache)
  for (const { stream } of self.links.values()) at = Math.min(at, ClientStream.deadline(stream))
  return at
}

/**
 * One resource, as CSDS shows it.
 *
 * @since 0.1.0
 */
export interface ResourceStatus extends Pick<Entry, "status" | "held" | "failure"> {
  readonly typeUrl: string
  readonly name: string
}

/**
 * Every resource that is watched or that a wildcard brought.
 *
 * @since 0.1.0
 */
export const dump = (self: Client): ReadonlyArray<ResourceStatus> => {
  const found: Array<ResourceStatus> = []
  for (const typeUrl of ClientCache.typeUrls(self.cache)) {
    for (const [name, { failure, held, status }] of ClientCache.entries(self.cache, typeUrl)) {
      if (!ClientCache.isRetained(self.cache, typeUrl, name)) found.push({ typeUrl, name, status, held, failure })
    }
  }
  return found
}

/**
 * Takes one input. Total: whatever a server sends, the outcome is a state and outputs.
 *
 * @param now milliseconds, never less than in the step before
 * @since 0.1.0
 */
export const step = (self: Client, input: Input, now: number): readonly [Client, ReadonlyArray<Output>] => {
  const turn = new StepDraft(self, now)
  turn.take(input)
  return turn.end()
}

/** The work of one step. */
class StepDraft {
  private cache: ClientCache.ClientCache
  private watches: Client["watches"]
  private paused: Client["paused"]
  private readonly scopes: Map<string, Scope>
  private readonly links: Map<string, Link>
  private readonly outputs: Array<Output> = []
  private readonly options: Options

  constructor(
    private readonly self: Client,
    private readonly now: number
  ) {
    this.cache = self.cache
    this.watches = self.watches
    this.paused = self.paused
    this.scopes = new Map(self.scopes)
    this.links = new Map(self.links)
    this.options = self.options
  }

  end(): readonly [Client, ReadonlyArray<Output>] {
    const { cache, links, paused, scopes, watches } = this
    return [{ ...this.self, cache, watches, scopes, links, paused }, this.outputs]
  }

  take(input: Input): void {
    switch (input._tag) {
      case "Watch":
        return this.watch(input.watcher, input.typeUrl, input.name)
      case "Unwatch":
        return this.unwatch(input.watcher)
      case "Refresh": {
        const { typeUrl } = input
        const names = input.names.map(Authority.normalize)
        for (const key of this.links.keys()) this.drive(key, { _tag: "Refresh", typeUrl, names })
        return
      }
      case "Pause":
      case "Resume": {
        const { typeUrl } = input
        this.paused = (input._tag === "Pause" ? HashSet.add : HashSet.remove)(this.paused, typeUrl)
        for (const key of this.links.keys()) this.drive(key, { _tag: input._tag, typeUrl })
        return
      }
      case "Connected":
        return this.drive(input.stream, { _tag: "Connected" })
      case "Written": {
        const writing = this.links.get(input.stream)?.stream.writing
        if (writing !== undefined) {
          this.cache = ClientCache.retain(this.cache, writing.typeUrl, input.stream, this.now + crossing)
        }
        return this.drive(input.stream, { _tag: "Written" })
      }
      case "Processed":
        return this.drive(input.stream, { _tag: "Processed", typeUrl: input.typeUrl, nonce: input.nonce })
      case "Ended": {
        // The next stream begins with what is asked for then.
        this.dropLingeringOf(input.stream)
        return this.drive(input.stream, { _tag: "Ended", error: input.error, random: input.random })
      }
      case "Response":
        return this.respond(input.stream, input.response)
      case "Deadline": {
        for (const key of Array.from(this.links.keys())) this.drive(key, { _tag: "Deadline" })
        const [cache, notices] = ClientCache.expire(this.cache, this.now)
        this.cache = cache
        return this.notify(notices)
      }
    }
  }

  private dropLingeringOf(key: string): void {
    const types = this.links.get(key)?.stream.subscriptions ?? []
    for (const { typeUrl } of types) this.cache = ClientCache.dropRetainedOf(this.cache, typeUrl, key)
  }

  private notify(notices: ReadonlyArray<Notice>): void {
    for (const notice of notices) this.outputs.push({ _tag: "Notify", ...notice })
  }

  /** Gives an input to a stream, and does what comes of it. */
  private drive(key: string, input: ClientStream.Input): void {
    const link = this.links.get(key)
    if (link === undefined) return
    const held = (typeUrl: string) => {
      const asked = ClientStream.subscription(link.stream, typeUrl)
      const isServed = (name: string) => asked !== undefined && ClientSubscriptions.serves(asked, name)
      return ClientCache.versions(this.cache, typeUrl, { server: link.server.id, isServed })
    }
    const [stream, outputs] = ClientStream.step(link.stream, input, this.now, held)
    if (stream !== link.stream) this.links.set(key, { ...link, stream })
    const { server, typeUrl } = link
    for (const output of outputs) {
      switch (output._tag) {
        case "Connect":
          this.outputs.push({ _tag: "Connect", stream: key, server, typeUrl })
          break
        case "Send":
          this.outputs.push({ _tag: "Send", stream: key, request: output.request })
          break
        case "Silent":
          if (this.owes({ ...link, stream })) break
          this.outputs.push({ _tag: "Responsive", stream: key })
          this.drive(key, { _tag: "Responsive" })
          this.restore(key)
          break
        case "TimedOut": {
          const { resourceTimeout } = stream.options
          const [cache, notices] = ClientCache.timeOut(
            this.cache,
            output.typeUrl,
            output.names,
            { name: server.name ?? server.id, resourceTimeout },
            server.resourceTimerIsTransientError ?? false,
            this.now
          )
          this.cache = cache
          this.notify(notices)
          break
        }
        case "Failed":
          this.outputs.push({ ...output, stream: key })
          for (const [name, scope] of this.scopes) {
            if (this.keyOf(scope, scope.active) === key) this.fail(name, output.error)
          }
          break
      }
    }
  }

  // Watches.

  private watch(watcher: number, typeUrl: string, given: string): void {
    if (HashMap.has(this.watches, watcher)) return
    const refuse = (code: number, message: string) =>
      this.notify([{ typeUrl, name: given, watchers: [watcher], result: { _tag: "Error", error: { code, message } } }])
    if (!this.options.decoders.some((decoder) => decoder.typeUrl === typeUrl)) {
      return refuse(INVALID_ARGUMENT, `${typeUrl} cannot be watched: there is no decoder for it`)
    }
    const parsed = given === "*" ? Either.right(given) : Authority.parse(typeUrl, given)
    if (Either.isLeft(parsed)) return refuse(INVALID_ARGUMENT, parsed.left)
    const name = parsed.right
    const scopeName = this.scopeOf(Authority.ofName(name), typeUrl)
    if (scopeName === undefined) {
      return refuse(INVALID_ARGUMENT, `the authority of ${name} is not one of those in the bootstrap`)
    }
    if (this.scopes.get(scopeName)?.servers.length === 0) {
      return refuse(FAILED_PRECONDITION, `${name} cannot be watched: the bootstrap names no server`)
    }
    this.reviveOrDrop(scopeName, typeUrl, name)
    const before = ClientCache.get(this.cache, typeUrl, name)
    if (name !== "*" && before === undefined && ClientCache.size(this.cache, typeUrl) >= this.options.maxResources) {
      const type = `${this.options.maxResources} resources of ${typeUrl}`
      return refuse(RESOURCE_EXHAUSTED, `${name} cannot be watched: there are ${type}, which is the limit`)
    }
    const isFirst =
      name === "*"
        ? !ClientCache.isWildcard(this.cache, typeUrl)
        : before === undefined || HashSet.size(before.watchers) === 0
    this.watches = HashMap.set(this.watches, watcher, { typeUrl, name })
    const [cache, notices] = ClientCache.watch(this.cache, typeUrl, name, watcher)
    this.cache = cache
    this.notify(notices)
    if (isFirst) {
      const cached = new Set(ClientCache.isCached(before) ? [name] : [])
      this.subscribe(scopeName, [[typeUrl, [name]]], cached)
    }
    this.look(scopeName, watcher, typeUrl, name)
  }

  /**
   * What lingers is used again, unless the server was told that it is not wanted and sends full state: then it is in the
   * response to the request, or in one that crossed it.
   */
  private reviveOrDrop(scopeName: string, typeUrl: string, name: string): void {
    const scope = this.scopes.get(scopeName)
    if (scope === undefined || (name !== "*" && !ClientCache.isRetained(this.cache, typeUrl, name))) return
    const subscription = this.subscriptionOf(scope, typeUrl)
    const isUntold = subscription !== undefined && HashSet.has(subscription.dropped, name)
    if (isUntold || this.options.decoders.every((each) => each.typeUrl !== typeUrl || !each.isFullState)) return
    this.cache =
      name === "*"
        ? ClientCache.dropRetainedOf(this.cache, typeUrl, this.keyOf(scope, scope.active, typeUrl))
        : ClientCache.dropRetained(this.cache, typeUrl, name)
  }

  /** What the server that is used now is asked for. */
  private subscriptionOf(scope: Scope, typeUrl: string): ClientSubscription | undefined {
    const link = this.links.get(this.keyOf(scope, scope.active, typeUrl))
    return link === undefined ? undefined : ClientStream.subscription(link.stream, typeUrl)
  }

  /** A watch began while a server cannot be reached: that may be a reason to fall back, or else is told. */
  private look(scopeName: string, watcher: number, typeUrl: string, name: string): void {
    const scope = this.scopes.get(scopeName)
    if (scope === undefined) return
    const failure = this.linkOf(scope, scope.active)?.stream.failure
    if (failure === undefined) return void this.scopes.set(scopeName, { ...scope, isNews: true })
    if (scope.told === undefined) return this.fail(scopeName, failure)
    const entry = ClientCache.get(this.cache, typeUrl, name)
    if (!ClientCache.isCached(entry) && this.canFallBack(scope)) return this.fallBack(scopeName, scope)
    const result = { _tag: entry?.held === undefined ? "Error" : "AmbientError", error: failure } as const
    this.notify([{ typeUrl, name, watchers: [watcher], result }])
  }

  private unwatch(watcher: number): void {
    const watch = Option.getOrUndefined(HashMap.get(this.watches, watcher))
    if (watch === undefined) return
    const { name, typeUrl } = watch
    this.watches = HashMap.remove(this.watches, watcher)
    const found = this.scopeOf(Authority.ofName(name), typeUrl)
    const scope = found === undefined ? undefined : this.scopes.get(found)
    if (scope === undefined) return
    const isHeard = this.subscriptionOf(scope, typeUrl)?.opened ?? false
    const isLingering = isHeard && scope.servers[scope.active]?.protocol === "StateOfTheWorld"
    const stream = isLingering ? this.keyOf(scope, scope.active, typeUrl) : undefined
    const [cache, notices] = ClientCache.unwatch(this.cache, typeUrl, name, watcher, stream)
    this.cache = cache
    this.notify(notices)
    const entry = ClientCache.get(this.cache, typeUrl, name)
    const isWatched =
      name === "*"
        ? ClientCache.isWildcard(this.cache, typeUrl)
        : entry !== undefined && HashSet.size(entry.watchers) > 0
    if (isWatched) return
    for (let rank = 0; rank <= scope.active; rank++) {
      this.drive(this.keyOf(scope, rank, typeUrl), { _tag: "Unsubscribe", typeUrl, names: [name] })
    }
  }

  // Scopes: what is asked of which server.

  /** The name of the scope of resources, which is made if it is not there; `undefined`: there is no such authority. */
  private scopeOf(authority: string | undefined, typeUrl: string): string | undefined {
    const own = authority === undefined ? [] : this.options.authorities.get(authority)
    if (own === undefined) return undefined
    const servers = own.length === 0 ? this.options.servers : own
    const isSeparate = servers.some((server) => server.isAggregated === false)
    const name = JSON.stringify([authority ?? null, isSeparate ? typeUrl : null])
    if (!this.scopes.has(name)) {
      const scope = {
        authority,
        typeUrl: isSeparate ? typeUrl : undefined,
        servers,
        active: 0,
        told: undefined,
        isNews: false
      }
      this.scopes.set(name, scope)
    }
    return name
  }

  private keyOf(scope: Scope, rank: number, typeUrl = scope.typeUrl): string {
    const server = scope.servers[rank]
    if (server === undefined) return ""
    return server.isAggregated === false ? `${server.id} ${typeUrl ?? ""}` : server.id
  }

  private linkOf(scope: Scope, rank: number): Link | undefined {
    return this.links.get(this.keyOf(scope, rank))
  }

  private isIn(scope: Scope): (typeUrl: string, name: string) => boolean {
    return (typeUrl, name) =>
      (scope.typeUrl === undefined || scope.typeUrl === typeUrl) && Authority.ofName(name) === scope.authority
  }

  /** Everything that is watched in a scope, by type. */
  private *watched(scope: Scope): Generator<readonly [typeUrl: string, names: ReadonlyArray<string>]> {
    const isIn = this.isIn(scope)
    for (const typeUrl of ClientCache.typeUrls(this.cache)) {
      const names: Array<string> = []
      if (ClientCache.isWildcard(this.cache, typeUrl) && isIn(typeUrl, "*")) names.push("*")
      for (const [name, entry] of ClientCache.entries(this.cache, typeUrl)) {
        if (HashSet.size(entry.watchers) > 0 && isIn(typeUrl, name)) names.push(name)
      }
      if (names.length > 0) yield [typeUrl, names]
    }
  }

  private subscribe(
    scopeName: string,
    wanted: Iterable<readonly [typeUrl: string, names: ReadonlyArray<string>]>,
    cached: ReadonlySet<string>,
    from = 0
  ): void {
    const scope = this.scopes.get(scopeName)
    if (scope === undefined) return
    for (const [typeUrl, names] of wanted) {
      for (let rank = from; rank <= scope.active; rank++) {
        const server = scope.servers[rank]
        if (server === undefined) continue
        const key = this.keyOf(scope, rank, typeUrl)
        if (!this.links.has(key)) this.links.set(key, this.makeLink(server, typeUrl))
        const isOpened = this.links
          .get(key)
          ?.stream.subscriptions.some((each) => each.typeUrl === typeUrl && each.opened)
        this.drive(key, { _tag: "Subscribe", typeUrl, names, cached })
        const isUntold = isOpened === true && names.includes("*") && server.protocol === "Incremental"
        if (isUntold && ClientCache.isHoldingOfOthers(this.cache, typeUrl, server.id)) {
          this.drive(key, { _tag: "Untold", typeUrl })
        }
      }
    }
  }

  private makeLink(server: Server, typeUrl: string): Link {
    const { backoff, node } = this.options
    const { protocol, resourceTimerIsTransientError: isTransient } = server
    const resourceTimeout = server.resourceTimeout ?? (isTransient === true ? 30_000 : 15_000)
    return {
      server,
      typeUrl: server.isAggregated === false ? typeUrl : undefined,
      stream: { ...ClientStream.make({ protocol, node, resourceTimeout, backoff }), paused: this.paused }
    }
  }

  /** The server of the lowest rank in use cannot be reached. */
  private fail(scopeName: string, error: ErrorDetail): void {
    const scope = this.scopes.get(scopeName)
    if (scope === undefined) return
    if (this.canFallBack(scope) && this.isNeeded(scope)) return this.fallBack(scopeName, scope)
    if (!scope.isNews && scope.told?.message === error.message && scope.told.code === error.code) return
    this.scopes.set(scopeName, { ...scope, told: error, isNews: false })
    this.notify(ClientCache.fail(this.cache, this.isIn(scope), error))
  }

  private canFallBack(scope: Scope): boolean {
    return scope.active + 1 < scope.servers.length
  }

  /** Whether somebody waits for a resource of which nothing is known. */
  private isNeeded(scope: Scope): boolean {
    for (const [typeUrl, names] of this.watched(scope)) {
      for (const name of names) {
        const isKnown =
          name === "*"
            ? ClientCache.isHolding(this.cache, typeUrl)
            : ClientCache.isCached(ClientCache.get(this.cache, typeUrl, name))
        if (!isKnown) return true
      }
    }
    return false
  }

  private fallBack(scopeName: string, scope: Scope): void {
    const next = { ...scope, active: scope.active + 1 }
    this.scopes.set(scopeName, next)
    const server = next.servers[next.active]
    if (server !== undefined) this.outputs.push({ _tag: "Switched", authority: scope.authority, server })
    for (const [typeUrl, names] of Array.from(this.watched(scope))) {
      const isCached = (name: string) => ClientCache.isCached(ClientCache.get(this.cache, typeUrl, name))
      this.subscribe(scopeName, [[typeUrl, names]], new Set(names.filter(isCached)), next.active)
    }
    for (const [typeUrl] of Array.from(this.watched(scope))) {
      this.tellAnew(this.keyOf(next, next.active, typeUrl), typeUrl)
    }
    const failure = this.linkOf(next, next.active)?.stream.failure
    if (failure !== undefined) this.fail(scopeName, failure)
  }

  /** ★ A server of higher rank gave a resource: those below it are left. */
  private goBack(scopeName: string, scope: Scope, rank: number): void {
    this.scopes.set(scopeName, { ...scope, active: rank })
    const server = scope.servers[rank]
    if (server !== undefined) this.outputs.push({ _tag: "Switched", authority: scope.authority, server })
    const watched = Array.from(this.watched(scope))
    for (let lower = rank + 1; lower <= scope.active; lower++) {
      const key = this.keyOf(scope, lower)
      const isShared = Array.from(this.scopes).some(
        ([name, other]) => name !== scopeName && this.rankOf(other, key) !== undefined
      )
      if (isShared) {
        for (const [typeUrl, names] of watched) this.drive(key, { _tag: "Unsubscribe", typeUrl, names })
      } else if (this.links.has(key)) {
        this.dropLingeringOf(key)
        this.links.delete(key)
        this.outputs.push({ _tag: "Close", stream: key })
      }
    }
    for (const [typeUrl] of watched) this.tellAnew(this.keyOf(scope, rank, typeUrl), typeUrl)
  }

  // ★ Incremental: a server sends what the client did not have when the stream began, and says that something is gone only
  // if the client had it then. What another server brought or took away since, it knows nothing of: only the first request
  // of the next stream tells it.

  /** A server changed what is held: those that were told what was held before go by what is not so any more. */
  private leaveUntold(key: string, typeUrl: string, { failed, removed, updated }: Validation.Validation): void {
    if (this.links.size === 1) return
    const nameOf = (each: { readonly name: string }) => each.name
    const changed = [...updated.map(nameOf), ...removed, ...failed.map(nameOf)]
    for (const [other, { server, stream }] of this.links) {
      const subscription = ClientStream.subscription(stream, typeUrl)
      if (other === key || server.protocol !== "Incremental" || subscription === undefined) continue
      const isServed = (name: string) =>
        HashSet.has(subscription.names, name) || (subscription.wildcard && Authority.isCovered(name))
      if (changed.some(isServed)) this.drive(other, { _tag: "Untold", typeUrl })
    }
  }

  /** Begins the next stream to a server that was not told of all that is held. */
  private tellAnew(key: string, typeUrl: string): void {
    const link = this.links.get(key)
    if (link === undefined || ClientStream.subscription(link.stream, typeUrl)?.untold !== true) return
    this.dropLingeringOf(key)
    this.outputs.push({ _tag: "Close", stream: key })
    this.drive(key, { _tag: "Restart" })
  }

  // Responses.

  private respond(key: string, response: ClientResponse): void {
    const link = this.links.get(key)
    if (link?.stream.connection !== "connected") return
    const typeUrl = response.typeUrl === "" ? (link.typeUrl ?? "") : response.typeUrl
    const subscription = ClientStream.subscription(link.stream, typeUrl)
    const decoder = this.options.decoders.find((each) => each.typeUrl === typeUrl)
    const violation = (reason: ViolationReason, message: string) =>
      this.outputs.push({ _tag: "Violation", stream: key, typeUrl, reason, message })
    if (subscription?.opened !== true || decoder === undefined) {
      this.restore(key)
      violation("TypeNotAskedFor", `a response of type ${JSON.stringify(typeUrl)}, which was not asked for: ignored`)
      return this.drive(key, { _tag: "Responsive" })
    }
    const { nonce, version } = response
    if (nonce === "") violation("NonceMissing", "a response without a nonce: it is used, and cannot be answered")
    if (version === "" && link.server.protocol === "StateOfTheWorld") {
      violation("VersionMissing", "a response without a version")
    }

    const validation = Validation.make(typeUrl === response.typeUrl ? response : { ...response, typeUrl }, decoder, {
      isNamed: (name) => HashSet.has(subscription.names, name) || ClientCache.isRetained(this.cache, typeUrl, name),
      wildcard: subscription.wildcard || ClientCache.isRetained(this.cache, typeUrl, "*"),
      ...ClientCache.inUse(this.cache, typeUrl, link.server.id),
      room: this.options.maxResources - ClientCache.size(this.cache, typeUrl)
    })
    const error = Validation.errorOf(validation.problems, this.options.maxErrorBytes)
    const isRepeat =
      error !== undefined &&
      validation.updated.length === 0 &&
      ClientSubscriptions.isRejected(subscription, version, error)
    // Names that nobody had to ask for: everything was asked for from the beginning, and this is everything.
    const isAll = validation.isComplete && ClientSubscriptions.isSilent(subscription)
    const missing = isAll
      ? Array.from(HashMap.keys(subscription.waiting)).filter((name) => !validation.seen.has(name))
      : []
    this.settle(key, typeUrl, validation, missing)
    const [cache, notices] = ClientCache.apply(
      this.cache,
      typeUrl,
      version,
      validation,
      {
        server: link.server.id,
        failOnDataErrors: link.server.failOnDataErrors ?? false,
        isServed: (name) => ClientSubscriptions.serves(subscription, name),
        isAnswered: (name) => ClientSubscriptions.isAnswered(subscription, name, this.now - crossing),
        missing,
        isRepeat,
        since: link.stream.backoff.startedAt,
        maxResources: this.options.maxResources
      },
      this.now
    )
    this.cache = cache
    this.notify(notices)
    this.restore(key, notices)
    this.leaveUntold(key, typeUrl, validation)
    this.outputs.push({ _tag: "Received", stream: key, typeUrl, nonce, version, validation, error })
    this.drive(key, { _tag: "Received", typeUrl, nonce, version, error, isRepeat })
    this.rank(key, typeUrl, validation)
  }

  /** Cancels the timers of what was seen; a resource that came needs none on any other stream either. */
  private settle(
    key: string,
    typeUrl: string,
    validation: Validation.Validation,
    missing: ReadonlyArray<string>
  ): void {
    // Most often nobody waits for anything.
    const isWaiting = Array.from(this.links.values()).some(({ stream }) => {
      const subscription = ClientStream.subscription(stream, typeUrl)
      return subscription !== undefined && !HashMap.isEmpty(subscription.waiting)
    })
    if (!isWaiting) return
    const nameOf = (each: { readonly name: string }) => each.name
    const came = [...validation.updated.map(nameOf), ...validation.unchanged.map(nameOf)]
    const { failed, rejected, removed } = validation
    const seen = [...came, ...rejected.map(nameOf), ...removed, ...failed.map(nameOf), ...missing]
    for (const other of this.links.keys()) {
      this.drive(other, { _tag: "Resolved", typeUrl, names: other === key ? seen : came })
    }
  }

  /**
   * Whether a server that answers had to say something on a new stream. ★ In incremental it says nothing of what the
   * client has already, and no server has to speak of a name that it does not know.
   */
  private owes({ server, stream }: Link): boolean {
    const isHeld = (typeUrl: string, name: string) =>
      name === "*"
        ? ClientCache.isHolding(this.cache, typeUrl)
        : ClientCache.get(this.cache, typeUrl, name)?.held !== undefined
    return stream.subscriptions.some(({ names, typeUrl, wildcard }) => {
      for (const name of wildcard ? ["*", ...names] : names) {
        const isOwed = isHeld(typeUrl, name)
          ? server.protocol === "StateOfTheWorld"
          : name === "*" || server.resourceTimerIsTransientError === true
        if (isOwed) return true
      }
      return false
    })
  }

  /**
   * The server answers: the connectivity error that was told is over. ★ Who was told of a resource just now knows already.
   */
  private restore(key: string, told: ReadonlyArray<Notice> = []): void {
    let known: Set<string> | undefined
    for (const [name, scope] of this.scopes) {
      if (scope.told === undefined || this.rankOf(scope, key) === undefined) continue
      this.scopes.set(name, { ...scope, told: undefined })
      known ??= new Set(told.map((notice) => `${notice.typeUrl} ${notice.name}`))
      const isKnown = known
      const notices = ClientCache.restore(this.cache, this.isIn(scope))
      this.notify(notices.filter((notice) => !isKnown.has(`${notice.typeUrl} ${notice.name}`)))
    }
  }

  /** The rank of a stream's server among those that a scope uses. */
  private rankOf(scope: Scope, key: string): number | undefined {
    for (let rank = 0; rank <= scope.active; rank++) if (this.keyOf(scope, rank) === key) return rank
    return undefined
  }

  /** Goes back to a server of higher rank if it gave a resource. */
  private rank(key: string, typeUrl: string, { unchanged, updated }: Validation.Validation): void {
    for (const [name, scope] of Array.from(this.scopes)) {
      const rank = this.rankOf(scope, key)
      if (rank === undefined || rank === scope.active) continue
      const isIn = this.isIn(scope)
      const isGiven = (each: { readonly name: string }) => isIn(typeUrl, each.name)
      if (updated.some(isGiven) || unchanged.some(isGiven)) this.goBack(name, scope, rank)
    }
  }
}
