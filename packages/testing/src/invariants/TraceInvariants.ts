/**
 * What must hold of everything that happens between servers and clients, whatever goes wrong with the network: each rule
 * with the sentence it stands for, and a check that reads nothing but a trace.
 *
 * @since 0.1.0
 */
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { Output } from "@effect-xds/core/server/ServerStream"
import { byTypeUrl, Cluster, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import { areGone, areIn, States } from "../exploration/States.js"
import * as StreamHistory from "./StreamHistory.js"
import type { Invariant } from "./Invariants.js"
import * as Invariants from "./Invariants.js"
import * as ReferenceModel from "../reference/ReferenceModel.js"
import type { Event, Message, StreamName, Trace } from "./Trace.js"

/**
 * A rule and its check: what breaks it, in words; nothing if it holds.
 *
 * @since 0.1.0
 */
export interface TraceInvariant {
  readonly sentence: string
  readonly check: (trace: Trace) => ReadonlyArray<string>
}

type Request = Extract<Message, { readonly _tag: "Request" }>
type Send = Extract<Output, { readonly _tag: "Send" }>
type Response = Extract<Message, { readonly _tag: "Response" }>

const keyOf = (typeUrl: string, name: string): string => `${typeUrl} ${name}`

const inWords = (typeUrl: string, name: string): string => `${shortNameOf(typeUrl)} ${name}`

const isFullState = (typeUrl: string): boolean => byTypeUrl(typeUrl)?.family === "full-state"

/** Goes through a trace; what a step says is a problem, told with its time. */
const eachEvent = (trace: Trace, step: (event: Event) => string | undefined): ReadonlyArray<string> =>
  trace.flatMap((event) => {
    const problem = step(event)
    return problem === undefined ? [] : [`at ${(event.at / 1000).toFixed(3)} s: ${problem}`]
  })

/** A map that makes what is not there yet. */
class Table<K, V> extends Map<K, V> {
  constructor(private readonly make: () => V) {
    super()
  }
  of(key: K): V {
    const known = this.get(key)
    if (known !== undefined) return known
    const made = this.make()
    this.set(key, made)
    return made
  }
}

const requestIn = (event: Event, tag: "Sent" | "Received"): Request | undefined =>
  event._tag === tag && event.message._tag === "Request" ? event.message : undefined

const responseIn = (event: Event, tag: "Sent" | "Received"): Response | undefined =>
  event._tag === tag && event.message._tag === "Response" ? event.message : undefined

interface StoredResource extends ReferenceModel.Named {
  readonly fingerprint: string
  readonly refersTo: ReadonlyArray<string>
}

/** What the servers hold, as far as a trace is read. */
class Stores {
  /** By server and group, by type and name. */
  readonly #groups = new Map<string, Map<string, Map<string, StoredResource>>>()
  /** By server, group and key: everything it was since the server started; `undefined`: it was not there. */
  readonly #history = new Table<string, Array<string | undefined>>(() => [])
  /** When a key was changed last. */
  readonly #changed = new Map<string, number>()
  readonly #groupOf = new Map<string, string>()
  readonly #withTtl = new Set<string>()

  /** Whether it ever had a TTL. */
  hadTtl(server: string, group: string, key: string): boolean {
    return this.#withTtl.has(`${server} ${group} ${key}`)
  }

  groupOf(client: string): string {
    return this.#groupOf.get(client) ?? ""
  }

  /** `undefined`: the group is not set. */
  held(server: string, group: string) {
    return this.#groups.get(server)?.get(group)
  }

  history(server: string, group: string, key: string): ReadonlyArray<string | undefined> {
    return this.#history.get(`${server} ${group} ${key}`) ?? []
  }

  changedAt(server: string, group: string, key: string): number {
    return this.#changed.get(`${server} ${group} ${key}`) ?? Number.NEGATIVE_INFINITY
  }

  read(event: Event): void {
    if (event._tag === "Started") {
      if (event.group !== undefined) this.#groupOf.set(event.host, event.group)
      else {
        this.#groups.set(event.host, new Map())
        for (const key of Array.from(this.#history.keys())) {
          if (key.startsWith(`${event.host} `)) this.#history.delete(key)
        }
      }
    }
    if (event._tag !== "Stored") return
    const { cleared, group, removed, server, upserted } = event
    const groups = this.#groups.get(server) ?? new Map<string, never>()
    this.#groups.set(server, groups)
    const note = (key: string, fingerprint: string | undefined) => {
      this.#history.of(`${server} ${group} ${key}`).push(fingerprint)
      this.#changed.set(`${server} ${group} ${key}`, event.at)
    }
    if (cleared) {
      for (const key of groups.get(group)?.keys() ?? []) note(key, undefined)
      groups.delete(group)
      return
    }
    const held = groups.get(group) ?? new Map<string, StoredResource>()
    groups.set(group, held)
    for (const [typeUrl, resources] of Object.entries(upserted)) {
      for (const { aliases = [], fingerprint, name, refersTo, ttl } of resources) {
        if (ttl !== undefined) this.#withTtl.add(`${server} ${group} ${keyOf(typeUrl, name)}`)
        held.set(keyOf(typeUrl, name), { typeUrl, name, aliases, fingerprint, refersTo })
        note(keyOf(typeUrl, name), fingerprint)
      }
    }
    for (const [typeUrl, names] of Object.entries(removed)) {
      for (const name of names) {
        held.delete(keyOf(typeUrl, name))
        note(keyOf(typeUrl, name), undefined)
      }
    }
  }
}

/**
 * Clients answer what they got.
 *
 * @since 0.1.0
 */
export const acknowledgesWhatWasSent: TraceInvariant = {
  sentence: "an ACK or NACK names a nonce that came on this stream for this type",
  check: (trace) => {
    const came = new Table<number, Set<string>>(() => new Set())
    return eachEvent(trace, (event) => {
      if (event._tag === "Ended" && event.side === "client") came.delete(event.stream.id)
      const response = responseIn(event, "Received")
      if (response !== undefined && "stream" in event) {
        came.of(event.stream.id).add(keyOf(response.typeUrl, response.nonce))
      }
      const request = requestIn(event, "Sent")
      if (request === undefined || !("stream" in event) || request.nonce === "") return undefined
      if (came.of(event.stream.id).has(keyOf(request.typeUrl, request.nonce))) return undefined
      return `stream ${event.stream.id}: ${shortNameOf(request.typeUrl)} nonce ${request.nonce} did not come`
    })
  }
}

/**
 * The version in a NACK is the one that is in use.
 *
 * @since 0.1.0
 */
export const nackKeepsTheVersion: TraceInvariant = {
  sentence: "a NACK never advances the version",
  check: (trace) => {
    const accepted = new Map<string, string>()
    return eachEvent(trace, (event) => {
      const request = requestIn(event, "Sent")
      if (request === undefined || !("stream" in event) || event.stream.protocol === "Incremental") return undefined
      const key = `${event.stream.id} ${request.typeUrl}`
      if (request.error === undefined) {
        accepted.set(key, request.version)
        return undefined
      }
      const before = accepted.get(key) ?? ""
      if (request.version === before) return undefined
      return `stream ${event.stream.id}: the NACK of ${shortNameOf(request.typeUrl)} has version ${request.version}, in use is ${JSON.stringify(before)}`
    })
  }
}

const contentOf = (response: Response): string =>
  JSON.stringify([response.resources.map(({ fingerprint, name }) => [name, fingerprint]), response.removed])

/**
 * A NACK is no question.
 *
 * @since 0.1.0
 */
export const nackCausesNoResend: TraceInvariant = {
  sentence: "a NACK never causes a resend by itself",
  check: (trace) => {
    interface State {
      content: string
      nonce: string
      isRejected: boolean
      hasReason: boolean
      names: string
    }
    const states = new Table<string, State>(() => ({
      content: "",
      nonce: "",
      isRejected: false,
      hasReason: true,
      names: ""
    }))
    /** By server: the keys of the states of its streams. */
    const ofServer = new Table<string, Set<string>>(() => new Set())
    return eachEvent(trace, (event) => {
      if (event._tag === "Stored") {
        for (const key of ofServer.of(event.server)) states.of(key).hasReason = true
      }
      if (!("stream" in event)) return undefined
      const { stream } = event
      if (event._tag === "Ended" && event.side === "server") {
        for (const key of ofServer.of(stream.server)) {
          if (!key.startsWith(`${stream.id} `)) continue
          states.delete(key)
          ofServer.of(stream.server).delete(key)
        }
      }
      const request = requestIn(event, "Received")
      if (request !== undefined) {
        const key = `${stream.id} ${request.typeUrl}`
        ofServer.of(stream.server).add(key)
        const state = states.of(key)
        const names = JSON.stringify(request.names)
        const asks =
          stream.protocol === "Incremental"
            ? request.names.length + request.unsubscribe.length > 0
            : names !== state.names
        if (stream.protocol === "StateOfTheWorld") state.names = names
        if (asks) state.hasReason = true
        if (request.error !== undefined && request.nonce === state.nonce) state.isRejected = true
      }
      const response = responseIn(event, "Sent")
      if (response === undefined) return undefined
      const key = `${stream.id} ${response.typeUrl}`
      const state = states.of(key)
      const content = contentOf(response)
      const isAgain = state.isRejected && !state.hasReason && state.content === content
      Object.assign(state, { content, nonce: response.nonce, isRejected: false, hasReason: false })
      // Assignments are sent again after their cluster.
      if (response.typeUrl === Cluster.typeUrl) {
        states.of(`${stream.id} ${ClusterLoadAssignment.typeUrl}`).hasReason = true
      }
      return isAgain ? `stream ${stream.id}: ${shortNameOf(response.typeUrl)} is sent again after its NACK` : undefined
    })
  }
}

interface FinalWatch {
  readonly client: string
  readonly typeUrl: string
  readonly name: string
  /** By the name of the resource: what was told last of it. */
  readonly told: Map<string, { state: string | undefined; fingerprint: string; last: string }>
}

interface End {
  readonly stores: Stores
  readonly watches: ReadonlyMap<string, FinalWatch>
  /** The streams of a client that are open for it. */
  readonly streamsOf: (client: string, typeUrl: string) => ReadonlyArray<StreamName>
  /** `<client> <type> <name> <fingerprint>` of what was in responses that the client rejected. */
  readonly rejected: ReadonlySet<string>
  /** The same without the fingerprint. */
  readonly rejectedNames: ReadonlySet<string>
}

/** How things stand at the end of a trace. */
const endOf = (trace: Trace): End => {
  const stores = new Stores()
  const watches = new Map<string, FinalWatch>()
  const open = new Map<number, StreamName>()
  const rejected = new Set<string>()
  const rejectedNames = new Set<string>()
  const responses = new Map<string, Response>()
  for (const event of trace) {
    stores.read(event)
    switch (event._tag) {
      case "Watched": {
        const { client, name, typeUrl } = event
        watches.set(`${client} ${keyOf(typeUrl, name)}`, { client, typeUrl, name, told: new Map() })
        break
      }
      case "Unwatched":
        watches.delete(`${event.client} ${keyOf(event.typeUrl, event.name)}`)
        break
      case "Told": {
        const watch = watches.get(`${event.client} ${keyOf(event.typeUrl, event.watch)}`)
        const before = watch?.told.get(event.name)
        const isState = event.what === "Updated" || event.what === "DoesNotExist" || event.what === "Error"
        watch?.told.set(event.name, {
          state: isState ? event.what : before?.state,
          fingerprint: event.what === "Updated" ? event.detail : isState ? "" : (before?.fingerprint ?? ""),
          last: event.what
        })
        break
      }
      case "Opened":
        if (event.side === "client") open.set(event.stream.id, event.stream)
        break
      case "Ended":
        if (event.side === "client") open.delete(event.stream.id)
        break
      case "Received":
        if (event.message._tag === "Response") {
          responses.set(`${event.stream.id} ${event.message.nonce}`, event.message)
        }
        break
      case "Sent": {
        const { message, stream } = event
        if (message._tag !== "Request" || message.error === undefined) break
        for (const { fingerprint, name } of responses.get(`${stream.id} ${message.nonce}`)?.resources ?? []) {
          rejected.add(`${stream.client} ${keyOf(message.typeUrl, name)} ${fingerprint}`)
          rejectedNames.add(`${stream.client} ${keyOf(message.typeUrl, name)}`)
        }
        break
      }
      case "Opening":
      case "Fault":
      case "Stored":
      case "Started":
      case "Stopped":
      case "Note":
        break
    }
  }
  const streamsOf = (client: string, typeUrl: string) =>
    Array.from(open.values()).filter(
      (stream) => stream.client === client && (stream.typeUrl === undefined || stream.typeUrl === typeUrl)
    )
  return { stores, watches, streamsOf, rejected, rejectedNames }
}

/**
 * Nobody waits for ever.
 *
 * @since 0.1.0
 */
export const endsDelivered: TraceInvariant = {
  sentence: "a subscription ends delivered or does-not-exist once faults stop",
  check: (trace) => {
    const { rejected, rejectedNames, stores, streamsOf, watches } = endOf(trace)
    const problems: Array<string> = []
    for (const { client, name, told, typeUrl } of watches.values()) {
      const streams = streamsOf(client, typeUrl)
      if (streams.length === 0) {
        problems.push(`${client} has no stream for ${inWords(typeUrl, name)}`)
        continue
      }
      const group = stores.groupOf(client)
      const sets = streams.map(({ server }) => stores.held(server, group))
      // A server that knows nothing of the group is silent.
      if (sets.some((held) => held === undefined)) continue
      const isTold = isFullState(typeUrl) || streams.every(({ protocol }) => protocol === "Incremental")
      const names = new Set(name === "*" ? told.keys() : [name])
      if (name === "*") {
        for (const held of sets) {
          for (const key of held?.keys() ?? []) {
            if (key.startsWith(`${typeUrl} `)) names.add(key.slice(typeUrl.length + 1))
          }
        }
      }
      // Of `*` itself a watcher hears only that no server can be reached.
      if (name === "*") names.delete("*")
      for (const each of names) {
        const last = told.get(each)
        const isByName = streams.some(({ protocol }) => protocol === "StateOfTheWorld")
        const led = sets.flatMap((held) => {
          const own = held?.get(keyOf(typeUrl, each))
          if (own !== undefined || held === undefined || isByName) return own ?? []
          return ReferenceModel.ledTo(Array.from(held.values()), typeUrl, each) ?? []
        })
        const prints = led.map(({ fingerprint }) => fingerprint)
        const isHeld = last?.state === "Updated" && prints.includes(last.fingerprint)
        const isRejected = prints.some((print) => rejected.has(`${client} ${keyOf(typeUrl, each)} ${print}`))
        if (isHeld || isRejected) continue
        const what = `${client}: ${inWords(typeUrl, each)}`
        if (prints.length > 0) {
          problems.push(
            `${what} is there, and was told ${last === undefined ? "nothing" : (last.state ?? last.last)}${
              last?.state === "Updated" ? ` with content ${last.fingerprint}, not ${prints.join(" or ")}` : ""
            }`
          )
          continue
        }
        const isKept = last?.state === "Updated" && (!isTold || last.last === "AmbientError")
        // What was rejected, or only `*` would bring, is not in use: that it is gone then is not always told.
        const isUnused = !isTold || name === "*" || rejectedNames.has(`${client} ${keyOf(typeUrl, each)}`)
        const isOver = last?.state === "DoesNotExist" || (last?.state === "Error" && isUnused)
        if (!isKept && !isOver && (name !== "*" || last !== undefined)) {
          problems.push(`${what} is not there, and was told ${last?.state ?? "nothing"}`)
        }
      }
    }
    return problems
  }
}

/**
 * The variant makes no difference.
 *
 * @since 0.1.0
 */
export const sameForAll: TraceInvariant = {
  sentence: "state-of-the-world and incremental clients of one group end with the same resources",
  check: (trace) => {
    const { rejectedNames, stores, streamsOf, watches } = endOf(trace)
    const problems: Array<string> = []
    const first = new Map<string, { readonly client: string; readonly fingerprint: string }>()
    for (const { client, told, typeUrl } of watches.values()) {
      const servers = streamsOf(client, typeUrl).map(({ server }) => server)
      const group = stores.groupOf(client)
      for (const [name, { fingerprint, state }] of told) {
        const isThere = servers.some((server) => stores.held(server, group)?.has(keyOf(typeUrl, name)) === true)
        const wasRejected = rejectedNames.has(`${client} ${keyOf(typeUrl, name)}`)
        if (state !== "Updated" || !isThere || wasRejected) continue
        const key = `${servers.join(" ")} ${group} ${keyOf(typeUrl, name)}`
        const other = first.get(key)
        if (other === undefined) first.set(key, { client, fingerprint })
        else if (other.fingerprint !== fingerprint) {
          problems.push(
            `${inWords(typeUrl, name)} is ${fingerprint} for ${client} and ${other.fingerprint} for ${other.client}`
          )
        }
      }
    }
    return problems
  }
}

/** What a client asks of a type on one stream, as the server knows it. */
class Asked {
  isWildcard = false
  names = new Set<string>()
  /** Asked for since the last response of the type. */
  readonly recent = new Set<string>()
  #isFirst = true

  read(request: Request, protocol: StreamName["protocol"]): void {
    if (protocol === "StateOfTheWorld") {
      const names = new Set(request.names)
      for (const name of names) if (!this.names.has(name)) this.recent.add(name)
      if (this.#isFirst && names.size === 0) this.recent.add("*")
      this.isWildcard =
        names.has("*") || (names.size === 0 && (this.#isFirst || (this.isWildcard && this.names.size === 0)))
      this.names = names
    } else {
      for (const name of request.names) {
        this.names.add(name)
        this.recent.add(name)
      }
      for (const name of request.unsubscribe) this.names.delete(name)
      if (this.#isFirst && request.names.length === 0) {
        this.names.add("*")
        this.recent.add("*")
      }
      this.isWildcard = this.names.has("*")
    }
    this.#isFirst = false
  }

  wants(name: string): boolean {
    return this.isWildcard || this.names.has(name)
  }

  isRecent(name: string): boolean {
    return this.recent.has(name) || this.recent.has("*")
  }
}

/** The place of a type on an aggregated stream. */
const orderOf = (typeUrl: string): number => byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY

/** Milliseconds for which a phase waits for an ACK: the default of `phaseDeadline`. */
const phaseDeadline = 5_000

/** Milliseconds after which what waits to be deleted may go first: twice the default of `phaseDeadline`. */
const overdue = 2 * phaseDeadline

/** What waits to be deleted on one stream. When the first of it is overdue, all the rest may go with it. */
class WaitingRemovals {
  readonly #keys = new Set<string>()
  #since = Number.POSITIVE_INFINITY

  add(key: string, now: number): void {
    if (this.#keys.size === 0) this.#since = now
    this.#keys.add(key)
  }

  delete(isOver: (key: string) => boolean): void {
    for (const key of Array.from(this.#keys)) if (isOver(key)) this.#keys.delete(key)
    if (this.#keys.size === 0) this.#since = Number.POSITIVE_INFINITY
  }

  hasPassed(now: number, milliseconds: number): boolean {
    return now >= this.#since + milliseconds
  }
}

/**
 * Make before break.
 *
 * @since 0.1.0
 */
export const replacementsFirst: TraceInvariant = {
  sentence: "on ADS no response refers to something removed before its replacement was sent",
  check: (trace) => {
    const stores = new Stores()
    interface State {
      /** What the client was sent and was not taken away from it: what each refers to. */
      readonly held: Map<string, ReadonlyArray<string>>
      /** What was taken away. */
      readonly gone: Set<string>
      /** What is to be taken away. */
      readonly waiting: WaitingRemovals
      readonly asked: Table<string, Asked>
    }
    const states = new Table<number, State>(() => ({
      held: new Map(),
      gone: new Set(),
      waiting: new WaitingRemovals(),
      asked: new Table(() => new Asked())
    }))
    /** Those that a server knows of. */
    const streams = new Map<number, StreamName>()
    /** How far the clocks of servers are ahead. */
    const jumps = new Table<string, number>(() => 0)
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (event._tag === "Fault" && event.fault._tag === "ClockJump") {
        jumps.set(event.fault.host, jumps.of(event.fault.host) + Math.max(0, event.fault.by))
      }
      if (event._tag === "Stored") {
        for (const { client, id, protocol, server } of streams.values()) {
          if (server !== event.server || stores.groupOf(client) !== event.group) continue
          const { held, waiting } = states.of(id)
          const store = stores.held(server, event.group)
          for (const key of Array.from(held.keys())) {
            if (store?.has(key) === true) continue
            waiting.add(key, event.at + jumps.of(server))
            // State of the world does not tell that such a thing is gone: one that comes back is a new one.
            if (protocol === "StateOfTheWorld" && !isFullState(key.slice(0, key.indexOf(" ")))) held.delete(key)
          }
        }
      }
      if (!("stream" in event) || event.stream.typeUrl !== undefined) return undefined
      const { id, protocol, server } = event.stream
      if (event._tag === "Opened" && event.side === "server") streams.set(id, event.stream)
      if (event._tag === "Ended" && event.side === "server") {
        states.delete(id)
        streams.delete(id)
      }
      const state = states.of(id)
      const request = requestIn(event, "Received")
      if (request !== undefined) {
        const asked = state.asked.of(request.typeUrl)
        asked.read(request, protocol)
        for (const key of Array.from(state.held.keys())) {
          const name = key.slice(request.typeUrl.length + 1)
          if (key.startsWith(`${request.typeUrl} `) && !asked.wants(name)) state.held.delete(key)
        }
      }
      const response = responseIn(event, "Sent")
      if (response === undefined) return undefined
      const { removed, resources, typeUrl } = response
      const group = stores.groupOf(event.stream.client)
      const store = stores.held(server, group)
      const asked = state.asked.of(typeUrl)
      const taken = new Set(removed.map((name) => keyOf(typeUrl, name)))
      if (protocol === "StateOfTheWorld" && isFullState(typeUrl)) {
        const present = new Set(resources.map(({ name }) => keyOf(typeUrl, name)))
        for (const key of state.held.keys()) {
          if (key.startsWith(`${typeUrl} `) && !present.has(key)) taken.add(key)
        }
      }
      const isOverdue = state.waiting.hasPassed(event.at + jumps.of(server), overdue)
      let problem: string | undefined
      for (const { name, refersTo } of resources) {
        const key = keyOf(typeUrl, name)
        state.gone.delete(key)
        state.held.set(key, refersTo)
      }
      for (const { name, refersTo } of resources) {
        // What was asked for is answered at once, and what goes out with an overdue deletion is ahead of its turn.
        if (isOverdue || asked.isRecent(name)) continue
        for (const to of refersTo) {
          // Of types that come after, the new one is on its way.
          if (orderOf(typeUrl) < orderOf(to.slice(0, to.indexOf(" ")))) continue
          if (state.gone.has(to) && store?.has(to) === true) {
            problem = `stream ${id}: ${inWords(typeUrl, name)} refers to ${to.slice(to.lastIndexOf("/") + 1)}, which was taken away and is there again`
          }
        }
      }
      for (const key of taken) {
        const wasHeld = state.held.delete(key)
        state.gone.add(key)
        if (!wasHeld || isOverdue) continue
        for (const [from, refersTo] of state.held) {
          if (!refersTo.includes(key)) continue
          const now = store?.get(from)
          if (now !== undefined && now.refersTo.includes(key)) continue
          const fromType = from.slice(0, from.indexOf(" "))
          // Deletions go backwards, so that of two that go, a route goes before its listener.
          if (now === undefined && orderOf(fromType) < orderOf(typeUrl)) continue
          // State of the world does not tell that such a thing is gone.
          if (now === undefined && protocol === "StateOfTheWorld" && !isFullState(fromType)) continue
          problem = `stream ${id}: ${inWords(typeUrl, key.slice(typeUrl.length + 1))} is removed while ${from.slice(from.lastIndexOf("/") + 1)} still refers to it for the client`
        }
      }
      state.waiting.delete((key) => key.startsWith(`${typeUrl} `) && (!state.held.has(key) || store?.has(key) === true))
      asked.recent.clear()
      return problem
    })
  }
}

/**
 * Silence is no answer before its time.
 *
 * @since 0.1.0
 */
export const doesNotExistAfterTimer = (milliseconds: number): TraceInvariant => ({
  sentence:
    "does-not-exist is told only after the full timer on a connected stream, or when the server says so, or a TTL is over",
  check: (trace) => {
    /** By stream, type and name: when it was asked for, by the client's clock. */
    const askedAt = new Table<number, Map<string, number>>(() => new Map())
    const streamsOf = new Table<string, Set<number>>(() => new Set())
    /** By client and type: the names in the last full state. */
    const states = new Map<string, ReadonlySet<string>>()
    /** `<client> <type> <name>` that a server said is not there. */
    const saidGone = new Set<string>()
    /** `<client> <type> <alias>`: the resource that came by it. */
    const ownOf = new Map<string, string>()
    /** `<client> <type> <name>`: when something came by it last, by the client's clock. */
    const cameAt = new Map<string, number>()
    /** By type and name: the shortest TTL that it had. */
    const ttls = new Table<string, number>(() => Number.POSITIVE_INFINITY)
    const toldGone = new Set<string>()
    /** By client, type and name. */
    const watchedAt = new Map<string, number>()
    const jumps = new Table<string, number>(() => 0)
    return eachEvent(trace, (event) => {
      if (event._tag === "Fault" && event.fault._tag === "ClockJump") {
        jumps.set(event.fault.host, jumps.of(event.fault.host) + Math.max(0, event.fault.by))
      }
      if (event._tag === "Opened" && event.side === "client") streamsOf.of(event.stream.client).add(event.stream.id)
      if (event._tag === "Ended" && event.side === "client") {
        streamsOf.of(event.stream.client).delete(event.stream.id)
        askedAt.delete(event.stream.id)
      }
      const request = requestIn(event, "Sent")
      if (request !== undefined && "stream" in event) {
        const { client, id, protocol } = event.stream
        const asked = askedAt.of(id)
        const { names, typeUrl, unsubscribe } = request
        const all = keyOf(typeUrl, "*")
        const before = Array.from(asked.keys()).filter((key) => key.startsWith(`${typeUrl} `))
        const time = event.at + jumps.of(client)
        const everything = asked.get(all)
        // The first request without names asks for everything, and so do those after it.
        const isAll = names.length === 0 && (before.length === 0 || (everything !== undefined && before.length === 1))
        if (isAll) asked.set(all, everything ?? time)
        else {
          const given =
            protocol === "Incremental"
              ? unsubscribe.map((name) => keyOf(typeUrl, name))
              : before.filter((key) => !names.includes(key.slice(typeUrl.length + 1)))
          for (const key of given) asked.delete(key)
          for (const name of names) {
            const key = keyOf(typeUrl, name)
            if (asked.has(key)) continue
            // Under a wildcard it was asked for already, when somebody began to watch it.
            const watched = watchedAt.get(`${client} ${key}`)
            const already = everything === undefined || watched === undefined ? time : Math.max(everything, watched)
            asked.set(key, Math.min(time, already))
          }
        }
      }
      const response = responseIn(event, "Received")
      if (response !== undefined && "stream" in event) {
        const { client, protocol } = event.stream
        const { removed, resources, typeUrl } = response
        if (protocol === "StateOfTheWorld" && isFullState(typeUrl)) {
          states.set(`${client} ${typeUrl}`, new Set(resources.map(({ name }) => name)))
        }
        for (const { aliases = [], fingerprint, name } of resources) {
          if (fingerprint === "") saidGone.add(`${client} ${keyOf(typeUrl, name)}`)
          else saidGone.delete(`${client} ${keyOf(typeUrl, name)}`)
          for (const alias of aliases) if (alias !== name) ownOf.set(`${client} ${keyOf(typeUrl, alias)}`, name)
          for (const each of [name, ...aliases]) {
            cameAt.set(`${client} ${keyOf(typeUrl, each)}`, event.at + jumps.of(client))
          }
        }
        for (const name of removed) {
          saidGone.add(`${client} ${keyOf(typeUrl, name)}`)
          // Who holds it by another name, too.
          for (const [alias, own] of ownOf) {
            if (own === name && alias.startsWith(`${client} ${typeUrl} `)) saidGone.add(alias)
          }
        }
      }
      if (event._tag === "Stored") {
        for (const [typeUrl, resources] of Object.entries(event.upserted)) {
          for (const { name, ttl = Number.POSITIVE_INFINITY } of resources) {
            const key = keyOf(typeUrl, name)
            ttls.set(key, Math.min(ttls.of(key), ttl))
          }
        }
      }
      if (event._tag === "Stopped") {
        // A client that dies knows nothing of what it was told.
        const isOf = (key: string) => key.startsWith(`${event.host} `)
        for (const keys of [saidGone, toldGone]) for (const key of keys) if (isOf(key)) keys.delete(key)
        for (const map of [states, ownOf]) for (const key of map.keys()) if (isOf(key)) map.delete(key)
      }
      if (event._tag === "Watched") {
        const key = `${event.client} ${keyOf(event.typeUrl, event.name)}`
        if (!watchedAt.has(key)) watchedAt.set(key, event.at + jumps.of(event.client))
      }
      if (event._tag === "Unwatched") watchedAt.delete(`${event.client} ${keyOf(event.typeUrl, event.name)}`)
      if (event._tag !== "Told") return undefined
      const { client, name, typeUrl, what } = event
      const key = `${client} ${keyOf(typeUrl, name)}`
      if (what === "Updated") toldGone.delete(key)
      if (what !== "DoesNotExist") return undefined
      const state = states.get(`${client} ${typeUrl}`)
      const own = ownOf.get(key) ?? name
      const isOver = event.at + jumps.of(client) >= (cameAt.get(key) ?? Infinity) + ttls.of(keyOf(typeUrl, own))
      const isKnown = isOver || saidGone.has(key) || toldGone.has(key) || (state !== undefined && !state.has(name))
      toldGone.add(key)
      if (isKnown) return undefined
      const elapsed = Array.from(streamsOf.of(client), (id) => {
        const asked = askedAt.of(id)
        const everything = asked.get(keyOf(typeUrl, "*"))
        // Under a wildcard a name is asked for without being named.
        const begun = everything === undefined ? undefined : Math.max(everything, watchedAt.get(key) ?? Infinity)
        const at = Math.min(asked.get(keyOf(typeUrl, name)) ?? Infinity, begun ?? Infinity)
        return event.at + jumps.of(client) - at
      })
      const longest = Math.max(0, ...elapsed)
      if (longest >= milliseconds) return undefined
      return `${client} is told that ${inWords(typeUrl, name)} does not exist ${longest} ms after it was asked for`
    })
  }
})

/**
 * The same with the default timer of clients.
 *
 * @since 0.1.0
 */
export const doesNotExistAfterFullTimer: TraceInvariant = doesNotExistAfterTimer(15_000)

/**
 * Clients are never sent what is older than what they were sent.
 *
 * @since 0.1.0
 */
export const versionsNeverGoBack: TraceInvariant = {
  sentence: "versions never go back on one server",
  check: (trace) => {
    const stores = new Stores()
    /** By stream and key: the place in the history of what was sent last. */
    const sent = new Table<number, Map<string, number>>(() => new Map())
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (event._tag === "Ended" && event.side === "server") sent.delete(event.stream.id)
      const response = responseIn(event, "Sent")
      if (response === undefined || !("stream" in event)) return undefined
      const { client, id, server } = event.stream
      const places = sent.of(id)
      const group = stores.groupOf(client)
      const { resources, typeUrl } = response
      let problem: string | undefined
      for (const { fingerprint, name } of resources) {
        if (fingerprint === "") continue
        const key = keyOf(typeUrl, name)
        const place = stores.history(server, group, key).indexOf(fingerprint, places.get(key) ?? 0)
        if (place >= 0) places.set(key, place)
        else
          problem = `stream ${id}: ${inWords(typeUrl, name)} with content ${fingerprint} is older than what was sent, or was never stored`
      }
      return problem
    })
  }
}

/**
 * Incremental means that only changes are sent.
 *
 * @since 0.1.0
 */
export const nothingTwice: TraceInvariant = {
  sentence: "nothing is resent that the client holds (incremental)",
  check: (trace) => {
    const stores = new Stores()
    interface Held {
      /** `undefined`: the client quoted a version. */
      readonly fingerprint: string | undefined
      readonly version: string
      readonly at: number
      /** It was an answer, and may come again with a change that was under way already. */
      readonly isAnswer: boolean
      /** By which it came. */
      readonly aliases: ReadonlyArray<string>
    }
    interface State {
      readonly held: Map<string, Held>
      readonly asked: Table<string, Asked>
      /** Keys that a new or changed cluster refers to. */
      readonly warming: Set<string>
      /** The client has no clusters from before, so that it warms whatever it is sent. */
      warmsAll: boolean
    }
    const states = new Table<number, State>(() => ({
      held: new Map(),
      asked: new Table(() => new Asked()),
      warming: new Set(),
      warmsAll: true
    }))
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (!("stream" in event) || event.stream.protocol !== "Incremental") return undefined
      const { client, id, server } = event.stream
      if (event._tag === "Ended" && event.side === "server") states.delete(id)
      const state = states.of(id)
      const request = requestIn(event, "Received")
      if (request !== undefined) {
        const asked = state.asked.of(request.typeUrl)
        asked.read(request, "Incremental")
        for (const name of request.unsubscribe) state.held.delete(keyOf(request.typeUrl, name))
        for (const [name, version] of Object.entries(request.held)) {
          const key = keyOf(request.typeUrl, name)
          state.held.set(key, { fingerprint: undefined, version, at: event.at, isAnswer: false, aliases: [] })
          asked.recent.delete(name)
        }
        if (Object.keys(request.held).length > 0) {
          asked.recent.delete("*")
          if (request.typeUrl === Cluster.typeUrl) state.warmsAll = false
        }
      }
      const response = responseIn(event, "Sent")
      if (response === undefined) return undefined
      const { removed, resources, typeUrl } = response
      const group = stores.groupOf(client)
      const asked = state.asked.of(typeUrl)
      let problem: string | undefined
      for (const { aliases = [], fingerprint, name, refersTo, version } of resources) {
        if (fingerprint === "") continue
        const key = keyOf(typeUrl, name)
        const before = state.held.get(key)
        // A name that led elsewhere leads here now; or the TTL may be over.
        const isMoved = aliases.some((alias) => before?.aliases.includes(alias) !== true)
        const isRenewal = stores.hadTtl(server, group, key)
        const isSame =
          before !== undefined &&
          (before.fingerprint === undefined ? before.version === version : before.fingerprint === fingerprint)
        const isChanged = before !== undefined && stores.changedAt(server, group, key) >= before.at
        const isAnswer = asked.isRecent(name) || aliases.some((alias) => asked.isRecent(alias))
        const isWarming = state.warming.has(key) || (typeUrl === ClusterLoadAssignment.typeUrl && state.warmsAll)
        if (isSame && !isChanged && !isAnswer && !before.isAnswer && !isWarming && !isMoved && !isRenewal) {
          problem = `stream ${id}: ${inWords(typeUrl, name)} is sent again`
        }
        state.held.set(key, { fingerprint, version, at: event.at, isAnswer, aliases })
        state.warming.delete(key)
        for (const to of refersTo) if (typeUrl === Cluster.typeUrl) state.warming.add(to)
      }
      for (const name of removed) state.held.delete(keyOf(typeUrl, name))
      asked.recent.clear()
      if (typeUrl === ClusterLoadAssignment.typeUrl) state.warmsAll = false
      return problem
    })
  }
}

/**
 * Clusters do not wait for endpoints that never come.
 *
 * @since 0.1.0
 */
export const assignmentsFollowClusters: TraceInvariant = {
  sentence: "on ADS a cluster that is new or changed is followed by its assignment, even if that did not change",
  check: (trace) => {
    const stores = new Stores()
    interface State {
      readonly stream: StreamName
      /** Clusters, by name: the fingerprint that was sent, or the version that the client says it holds. */
      readonly clusters: Map<string, string>
      readonly asked: Asked
      /** Assignments that clients wait for: since when, and for which cluster. */
      readonly due: Map<string, { readonly at: number; readonly cluster: string }>
    }
    const states = new Map<number, State>()
    for (const event of trace) {
      stores.read(event)
      if (!("stream" in event) || event.stream.typeUrl !== undefined) continue
      const { id, protocol } = event.stream
      if (event._tag === "Ended" && event.side === "server") states.delete(id)
      if (event._tag === "Opened" && event.side === "server") {
        states.set(id, { stream: event.stream, clusters: new Map(), asked: new Asked(), due: new Map() })
      }
      const state = states.get(id)
      if (state === undefined) continue
      const request = requestIn(event, "Received")
      if (request?.typeUrl === Cluster.typeUrl) {
        for (const [name, version] of Object.entries(request.held)) state.clusters.set(name, version)
      }
      if (request?.typeUrl === ClusterLoadAssignment.typeUrl) {
        state.asked.read(request, protocol)
        // Who gives it up, and asks again, is answered for that.
        for (const name of request.unsubscribe) if (!state.asked.wants(name)) state.due.delete(name)
      }
      const response = responseIn(event, "Sent")
      if (response?.typeUrl === ClusterLoadAssignment.typeUrl) {
        for (const { name } of response.resources) state.due.delete(name)
        for (const name of response.removed) state.due.delete(name)
      }
      if (response?.typeUrl !== Cluster.typeUrl) continue
      for (const { fingerprint, name, refersTo, version } of response.resources) {
        const before = state.clusters.get(name)
        if (fingerprint === "" || before === fingerprint || (before !== undefined && before === version)) continue
        state.clusters.set(name, fingerprint)
        for (const to of refersTo) {
          const assignment = to.slice(ClusterLoadAssignment.typeUrl.length + 1)
          state.due.set(assignment, { at: event.at, cluster: name })
        }
      }
      for (const name of response.removed) state.clusters.delete(name)
      // A full state has all that there is.
      if (protocol === "StateOfTheWorld") {
        const present = new Set(response.resources.map(({ name }) => name))
        for (const name of Array.from(state.clusters.keys())) if (!present.has(name)) state.clusters.delete(name)
      }
    }
    // Everything is over: what is due still will never come.
    return Array.from(states.values()).flatMap(({ asked, due, stream }) =>
      Array.from(due).flatMap(([name, { at, cluster }]) => {
        const held = stores.held(stream.server, stores.groupOf(stream.client))
        if (held?.has(keyOf(ClusterLoadAssignment.typeUrl, name)) !== true || !asked.wants(name)) return []
        return [
          `stream ${stream.id}: EDS ${name} was not sent after CDS ${cluster}, sent at ${(at / 1000).toFixed(3)} s`
        ]
      })
    )
  }
}

/** The histories of a trace are the same for every rule. */
const histories = new WeakMap<Trace, ReadonlyArray<StreamHistory.StreamHistory>>()

const historiesOf = (trace: Trace): ReadonlyArray<StreamHistory.StreamHistory> => {
  const known = histories.get(trace)
  if (known !== undefined) return known
  const made = StreamHistory.ofTrace(trace)
  histories.set(trace, made)
  return made
}

/**
 * What must hold of every stream of a server, for each stream of a trace. Servers are taken to have the default options
 * for deadlines and wildcards; credit and what a server thinks of its clients are not in a trace.
 *
 * @since 0.1.0
 */
export const ofStreams = ({ check, sentence }: Invariant): TraceInvariant => ({
  sentence,
  check: (trace) =>
    historiesOf(trace).flatMap(({ history, stream }) =>
      check(history).map((problem) => `stream ${stream.id}: ${problem}`)
    )
})

/**
 * Nonces tell the responses of a stream apart.
 *
 * @since 0.1.0
 */
export const noncesAreNew: TraceInvariant = ofStreams(Invariants.noncesAreNew)

/**
 * Clients reject responses with duplicate names.
 *
 * @since 0.1.0
 */
export const noDuplicateNames: TraceInvariant = ofStreams(Invariants.noDuplicateNames)

/**
 * A group that was never set is no empty group.
 *
 * @since 0.1.0
 */
export const neverSetIsNeverAnswered: TraceInvariant = ofStreams(Invariants.neverSetIsNeverAnswered)

/**
 * Nobody is sent what was not asked for.
 *
 * @since 0.1.0
 */
export const onlyWhatWasAskedFor: TraceInvariant = ofStreams(Invariants.onlyWhatWasAskedFor)

/**
 * A response is sent because the client asked or because something changed; a NACK is no reason.
 *
 * @since 0.1.0
 */
export const nothingWithoutReason: TraceInvariant = ofStreams(Invariants.nothingWithoutReason)

/**
 * Make before break, on aggregated streams.
 *
 * @since 0.1.0
 */
export const typesInOrder: TraceInvariant = ofStreams({
  sentence: Invariants.typesInOrder.sentence,
  check: (history) => Invariants.typesInOrder.check(untilCleared(history))
})

/** A history up to the moment when its group was cleared: of what was before nothing is known then, and nothing kept. */
const untilCleared = ({ options, steps }: Invariants.History): Invariants.History => {
  const isSet = ({ input }: Invariants.Step) => Invariants.isChange(input) && input.group !== undefined
  const isCleared = ({ input }: Invariants.Step) => Invariants.isChange(input) && input.group === undefined
  const first = steps.findIndex(isSet)
  const end = steps.findIndex((step, index) => first >= 0 && index > first && isCleared(step))
  return end < 0 ? { options, steps } : { options, steps: steps.slice(0, end) }
}

/**
 * Fairness, on aggregated streams.
 *
 * @since 0.1.0
 */
export const nothingStarves: TraceInvariant = ofStreams({
  sentence: Invariants.nothingStarves.sentence,
  check: (history) => Invariants.nothingStarves.check(untilCleared(history))
})

/**
 * A client rejects the heartbeat of what it does not hold.
 *
 * @since 0.1.0
 */
export const heartbeatsAreHeld: TraceInvariant = ofStreams({
  sentence: Invariants.heartbeatsAreHeld.sentence,
  check: (history) => Invariants.heartbeatsAreHeld.check(untilCleared(history))
})

/**
 * Make before break: what refers to something is sent when the client has taken that, deletions when it has taken all.
 *
 * @since 0.1.0
 */
export const phasesWait: TraceInvariant = ofStreams({
  sentence:
    "on ADS listeners and routes wait until the clusters and endpoints of their state are acknowledged, and deletions for all of theirs, for 5 seconds at most",
  check: (history) => {
    const { options, steps } = untilCleared(history)
    if (options.typeUrl !== undefined) return []
    const isIncremental = options.protocol === "Incremental"
    let model = ReferenceModel.make(options.protocol, options.wildcardOff)
    let count = 0
    /** Responses that brought a change and are not acknowledged, by their place. */
    const awaited = new Map<number, { readonly typeUrl: string; readonly at: number }>()
    /** By type and nonce. */
    const places = new Map<string, number>()
    const rejected = new Set<string>()
    const warming = new Set<string>()
    const states = new States()
    const isLate = (typeUrl: string) => orderOf(typeUrl) > ClusterLoadAssignment.order
    /** What is waited for as of a state: responses up to the one by which the client had come to it. */
    const gateOf = (place: number, now: number, isGate: (typeUrl: string) => boolean) =>
      Array.from(awaited).find(
        ([each, { at, typeUrl }]) => each <= place && isGate(typeUrl) && now < at + phaseDeadline
      )?.[1].typeUrl
    /** The type that is waited for, whatever state a response is of. */
    const missing = (
      before: ReadonlyArray<string>,
      isOf: Parameters<States["reached"]>[1],
      now: number,
      isGate: (typeUrl: string) => boolean
    ): string | undefined => {
      const gates = states
        .reached(before, isOf)
        .flatMap((place) => (place === undefined ? [] : [gateOf(place, now, isGate)]))
      return gates.length > 0 && gates.every((gate) => gate !== undefined) ? gates[0] : undefined
    }
    /** What is wrong with a response, before the model knows of it. */
    const problemOf = ({ response, typeUrl }: Send, now: number): string | undefined => {
      const subscription = model.subscriptions.get(typeUrl)
      if (subscription === undefined || subscription.unanswered || subscription.owed.size > 0) return undefined
      if (response.heartbeats.length > 0 || response.resources.some(({ ttl }) => ttl !== undefined)) return undefined
      // What corrects a rejected response waits for nothing.
      if (rejected.has(typeUrl)) return undefined
      const others = Array.from(model.subscriptions.keys()).filter((other) => other !== typeUrl)
      const updates = response.resources.filter(
        ({ fingerprint, name }) => subscription.sent.has(name) && subscription.sent.get(name)?.identity !== fingerprint
      )
      const early = others.filter((other) => !isLate(other))
      const first =
        isLate(typeUrl) && updates.length > 0
          ? missing(
              early,
              (state) => areIn(updates, typeUrl, state),
              now,
              (other) => !isLate(other)
            )
          : undefined
      if (first !== undefined) return `${shortNameOf(typeUrl)} is changed before ${shortNameOf(first)} is acknowledged`
      const removes = ReferenceModel.pending(model, typeUrl).removals.filter((name) =>
        isIncremental
          ? // An assignment that is gone is answered at once when its cluster was sent.
            response.removed.includes(name) && !(typeUrl === ClusterLoadAssignment.typeUrl && warming.has(name))
          : !response.resources.some((each) => each.name === name)
      )
      const other =
        removes.length > 0
          ? missing(
              others,
              (state) => areGone(removes, typeUrl, state),
              now,
              (each) => each !== typeUrl
            )
          : undefined
      if (other !== undefined) return `${shortNameOf(typeUrl)} deletes before ${shortNameOf(other)} is acknowledged`
      return undefined
    }
    return steps.flatMap(({ input, now, outputs }) => {
      if (input._tag === "Request") {
        const { errorDetail, responseNonce, typeUrl } = input.request
        const place = places.get(keyOf(typeUrl, responseNonce))
        if (place !== undefined && errorDetail === undefined) {
          for (const [each, { typeUrl: of }] of awaited) if (of === typeUrl && each <= place) awaited.delete(each)
        }
        if (place !== undefined && errorDetail !== undefined) rejected.add(typeUrl)
        ;[model] = ReferenceModel.step(model, input)
      }
      if (Invariants.isChange(input)) {
        const resources = input.group === undefined ? undefined : ResourceGroups.all(input.group)
        ;[model] = ReferenceModel.step(model, { _tag: "Changed", resources })
        states.changed(resources)
        states.look(model, count, undefined)
      }
      if (input._tag === "Request") states.look(model, count, input.request.typeUrl)
      const problems: Array<string> = []
      for (const output of outputs) {
        if (output._tag !== "Send") continue
        const { nonce, response, typeUrl } = output
        const problem = problemOf(output, now)
        if (problem !== undefined) problems.push(`at ${(now / 1000).toFixed(3)} s: ${problem}`)
        const subscription = model.subscriptions.get(typeUrl)
        const isAnswer = subscription?.unanswered !== false || subscription.owed.size > 0
        const isUpdate = response.resources.some(
          ({ fingerprint, name }) => subscription?.sent.get(name)?.identity !== fingerprint
        )
        places.set(keyOf(typeUrl, nonce), ++count)
        rejected.delete(typeUrl)
        if (!isAnswer && isUpdate) awaited.set(count, { typeUrl, at: now })
        model = ReferenceModel.observe(model, response, nonce)
        for (const { assignment, name } of response.resources) {
          if (assignment !== undefined) warming.add(assignment)
          if (typeUrl === ClusterLoadAssignment.typeUrl) warming.delete(name)
        }
        states.look(model, count, typeUrl)
      }
      return problems
    })
  }
})

/**
 * Every invariant of a trace.
 *
 * @since 0.1.0
 */
export const all: Readonly<Record<string, TraceInvariant>> = {
  acknowledgesWhatWasSent,
  nackKeepsTheVersion,
  nackCausesNoResend,
  endsDelivered,
  sameForAll,
  replacementsFirst,
  doesNotExistAfterFullTimer,
  versionsNeverGoBack,
  nothingTwice,
  assignmentsFollowClusters,
  noncesAreNew,
  noDuplicateNames,
  neverSetIsNeverAnswered,
  onlyWhatWasAskedFor,
  nothingWithoutReason,
  typesInOrder,
  nothingStarves,
  heartbeatsAreHeld,
  phasesWait
}
