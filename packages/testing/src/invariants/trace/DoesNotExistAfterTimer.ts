/**
 * ★ Does-not-exist needs the full timer on a connected stream.
 *
 * @since 0.1.0
 */
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import {
  type TraceInvariant,
  Table,
  eachEvent,
  requestIn,
  keyOf,
  responseIn,
  isFullState,
  inWords
} from "./TraceInvariant.js"

/** A resource in a response. */
interface Arrival {
  readonly name: string
  /** Its key with the version, or what it is instead of that. */
  readonly content: string
  readonly key: string
  /** The time when it came before; `undefined`: it did not. */
  readonly before: number | undefined
}

/** Whether a key of a client, type and name is of a member of a collection, which has such a key, too. */
const isMemberOf = (key: string, collection: string): boolean => {
  const start = key.lastIndexOf(" ") + 1
  return `${key.slice(0, start)}${ReferenceModel.collectionOf(key.slice(start))}` === collection
}

/**
 * Silence means nothing before the timer ends.
 *
 * @since 0.1.0
 */
export const doesNotExistAfterTimer = (milliseconds: number): TraceInvariant => ({
  sentence:
    "does-not-exist is told only after the full timer on a connected stream, or when the server says so, or a TTL is over",
  check: (trace) => {
    /** By stream, type and name: the time of the request, on the client's clock. */
    const askedAt = new Table<number, Map<string, number>>(() => new Map())
    const streamsOf = new Table<string, Set<number>>(() => new Set())
    /** By client and type: the names in the last full state. */
    const states = new Map<string, ReadonlySet<string>>()
    /** `<client> <type> <name>` that a server reported missing. */
    const saidGone = new Set<string>()
    /** `<client> <type> <alias>` → the name of the resource that came by it. */
    const ownOf = new Map<string, string>()
    /** `<client> <type> <name>` → the time when a resource last came by it, on the client's clock. */
    const cameAt = new Map<string, number>()
    /** `<client> <type> <name> <version>` that the client rejected: it renews no TTL. */
    const rejected = new Set<string>()
    /** By stream, type and nonce: the resources of a response, with the time when each came before. */
    const arrivals = new Map<string, ReadonlyArray<Arrival>>()
    /** By type and name: the shortest TTL so far. */
    const ttls = new Table<string, number>(() => Number.POSITIVE_INFINITY)
    const toldGone = new Set<string>()
    /** By client, type and watch: the names of members in use, of watches of collections. */
    const inUse = new Table<string, Set<string>>(() => new Set())
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
        const { error = "" } = request
        for (const { before, content, key, name } of arrivals.get(`${id} ${keyOf(request.typeUrl, request.nonce)}`) ??
          []) {
          if (!error.includes(JSON.stringify(name))) continue
          rejected.add(content)
          if (before === undefined) cameAt.delete(key)
          else cameAt.set(key, before)
        }
        const asked = askedAt.of(id)
        const { names, typeUrl, unsubscribe } = request
        const all = keyOf(typeUrl, "*")
        const before = Array.from(asked.keys()).filter((key) => key.startsWith(`${typeUrl} `))
        const time = event.at + jumps.of(client)
        const everything = asked.get(all)
        // A first request without names is a wildcard, and so are those after it.
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
            // Under a wildcard it counts as requested since its watch started.
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
        const came: Array<Arrival> = []
        arrivals.set(`${event.stream.id} ${keyOf(typeUrl, response.nonce)}`, came)
        for (const { aliases = [], fingerprint, name, version } of resources) {
          if (fingerprint === "") saidGone.add(`${client} ${keyOf(typeUrl, name)}`)
          else {
            saidGone.delete(`${client} ${keyOf(typeUrl, name)}`)
            saidGone.delete(`${client} ${keyOf(typeUrl, ReferenceModel.collectionOf(name))}`)
          }
          for (const alias of aliases) if (alias !== name) ownOf.set(`${client} ${keyOf(typeUrl, alias)}`, name)
          const content = `${client} ${keyOf(typeUrl, name)} ${version === "" ? fingerprint : version}`
          if (rejected.has(content)) continue
          for (const each of [name, ...aliases]) {
            const key = `${client} ${keyOf(typeUrl, each)}`
            came.push({ name, content, key, before: cameAt.get(key) })
            cameAt.set(key, event.at + jumps.of(client))
          }
        }
        for (const name of removed) {
          saidGone.add(`${client} ${keyOf(typeUrl, name)}`)
          // Clients that hold it by another name, too.
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
        // A client that dies loses all that it knew.
        const isOf = (key: string) => key.startsWith(`${event.host} `)
        for (const keys of [saidGone, toldGone]) for (const key of keys) if (isOf(key)) keys.delete(key)
        for (const map of [states, ownOf, inUse]) for (const key of map.keys()) if (isOf(key)) map.delete(key)
      }
      if (event._tag === "Watched") {
        const key = `${event.client} ${keyOf(event.typeUrl, event.name)}`
        if (!watchedAt.has(key)) watchedAt.set(key, event.at + jumps.of(event.client))
      }
      if (event._tag === "Unwatched") {
        watchedAt.delete(`${event.client} ${keyOf(event.typeUrl, event.name)}`)
        inUse.delete(`${event.client} ${keyOf(event.typeUrl, event.name)}`)
      }
      if (event._tag !== "Told") return undefined
      const { client, name, typeUrl, what } = event
      const key = `${client} ${keyOf(typeUrl, name)}`
      const collection = `${client} ${keyOf(typeUrl, ReferenceModel.collectionOf(name))}`
      const members = inUse.of(`${client} ${keyOf(typeUrl, event.watch)}`)
      if (what === "Updated") {
        toldGone.delete(key)
        toldGone.delete(collection)
        members.add(name)
      }
      if (what === "DoesNotExist" || what === "Error") members.delete(name)
      if (what !== "DoesNotExist") return undefined
      const isCollection = ReferenceModel.isCollection(name)
      if (isCollection && members.size > 0) {
        return `${client} is told that ${inWords(typeUrl, name)} does not exist while it uses ${Array.from(members).join()}`
      }
      const state = states.get(`${client} ${typeUrl}`)
      const own = ownOf.get(key) ?? name
      const isOver = event.at + jumps.of(client) >= (cameAt.get(key) ?? Infinity) + ttls.of(keyOf(typeUrl, own))
      // The last member of a collection went, or all of them with it.
      const isEmptied = isCollection && Array.from(toldGone).some((each) => isMemberOf(each, key))
      const isSaid = saidGone.has(key) || saidGone.has(collection) || isEmptied
      const isKnown = isOver || isSaid || toldGone.has(key) || (state !== undefined && !state.has(name))
      toldGone.add(key)
      if (isKnown) return undefined
      const elapsed = Array.from(streamsOf.of(client), (id) => {
        const asked = askedAt.of(id)
        const everything = asked.get(keyOf(typeUrl, "*"))
        // A wildcard requests a name without listing it.
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
 * The rule with the default timer of clients.
 *
 * @since 0.1.0
 */
export const doesNotExistAfterFullTimer: TraceInvariant = doesNotExistAfterTimer(15_000)
