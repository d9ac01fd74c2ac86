/**
 * ★ Make before break.
 *
 * @since 0.1.0
 */
import type { StreamName } from "../Trace.js"
import { Asked } from "./Asked.js"
import { Stores } from "./Stores.js"
import {
  type Request,
  type TraceInvariant,
  Table,
  eachEvent,
  isFullState,
  requestIn,
  responseIn,
  keyOf,
  orderOf,
  inWords,
  phaseDeadline
} from "./TraceInvariant.js"

/** Milliseconds after which a pending removal may go first: twice the default of `phaseDeadline`. */
const overdue = 2 * phaseDeadline

/** The pending removals on one stream. When the first one is overdue, all the others may go with it. */
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

/** What the client of one type on one stream did not accept: what corrects that waits for nothing. */
class Unaccepted {
  /** What was new or changed, by key: the nonce of the last response that had it so. */
  readonly #since = new Map<string, number>()
  #isRejected = false

  sent(key: string, nonce: string): void {
    this.#since.set(key, Number(nonce))
  }

  read({ error, nonce }: Pick<Request, "error" | "nonce">): void {
    if (nonce === "") return
    this.#isRejected = error !== undefined
    if (error !== undefined) return
    for (const [key, since] of Array.from(this.#since)) if (since <= Number(nonce)) this.#since.delete(key)
  }

  has(key: string): boolean {
    return this.#isRejected && this.#since.has(key)
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
      /** Resources that the client was sent and that were not removed: key → what each refers to. */
      readonly held: Map<string, ReadonlyArray<string>>
      /** Removed resources. */
      readonly gone: Set<string>
      /** Pending removals. */
      readonly waiting: WaitingRemovals
      readonly asked: Table<string, Asked>
      /** By key: the fingerprint of what was sent last. */
      readonly contents: Map<string, string>
      readonly unaccepted: Table<string, Unaccepted>
    }
    const states = new Table<number, State>(() => ({
      held: new Map(),
      gone: new Set(),
      waiting: new WaitingRemovals(),
      asked: new Table(() => new Asked()),
      contents: new Map(),
      unaccepted: new Table(() => new Unaccepted())
    }))
    /** Streams that a server accepted. */
    const streams = new Map<number, StreamName>()
    /** Server → milliseconds by which its clock is ahead. */
    const jumps = new Table<string, number>(() => 0)
    return eachEvent(trace, (event) => {
      stores.read(event)
      if (event._tag === "Fault" && event.fault._tag === "ClockJump") {
        jumps.set(event.fault.host, jumps.of(event.fault.host) + Math.max(0, event.fault.by))
      }
      const lose = ({ id, protocol, server }: StreamName, store: ReturnType<Stores["held"]>) => {
        const { held, waiting } = states.of(id)
        for (const key of Array.from(held.keys())) {
          if (store?.has(key) === true) continue
          waiting.add(key, event.at + jumps.of(server))
          // State of the world does not report the removal of such a resource: one that comes back is new.
          if (protocol === "StateOfTheWorld" && !isFullState(key.slice(0, key.indexOf(" ")))) held.delete(key)
        }
      }
      if (event._tag === "Stored") {
        for (const stream of streams.values()) {
          if (stream.server !== event.server || stores.groupOf(stream) !== event.group) continue
          lose(stream, stores.held(event.server, event.group))
        }
      }
      if (event._tag === "Joined" && streams.has(event.stream.id)) {
        lose(event.stream, stores.held(event.stream.server, event.group))
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
        state.unaccepted.of(request.typeUrl).read(request)
        for (const key of Array.from(state.held.keys())) {
          const name = key.slice(request.typeUrl.length + 1)
          if (key.startsWith(`${request.typeUrl} `) && !asked.wants(name)) state.held.delete(key)
        }
        // What the client gave up does not come back for it.
        for (const key of Array.from(state.gone)) {
          const name = key.slice(request.typeUrl.length + 1)
          if (key.startsWith(`${request.typeUrl} `) && !asked.wants(name)) state.gone.delete(key)
        }
      }
      const response = responseIn(event, "Sent")
      if (response === undefined) return undefined
      const { removed, resources, typeUrl } = response
      const store = stores.held(server, stores.groupOf(event.stream))
      const asked = state.asked.of(typeUrl)
      const taken = new Set(removed.map((name) => keyOf(typeUrl, name)))
      if (protocol === "StateOfTheWorld" && isFullState(typeUrl)) {
        const present = new Set(resources.map(({ name }) => keyOf(typeUrl, name)))
        for (const key of state.held.keys()) {
          if (key.startsWith(`${typeUrl} `) && !present.has(key)) taken.add(key)
        }
      }
      const unaccepted = state.unaccepted.of(typeUrl)
      // What was asked for and is not there is said so at once; and a response that follows on a rejected one takes away what was
      // new or changed in that.
      const isDueAtOnce = (key: string) => asked.recent.has(key.slice(typeUrl.length + 1)) || unaccepted.has(key)
      const isAtOnce = new Set(Array.from(taken).filter(isDueAtOnce))
      for (const { fingerprint, name } of resources) {
        const key = keyOf(typeUrl, name)
        if (state.contents.get(key) !== fingerprint || !state.held.has(key)) unaccepted.sent(key, response.nonce)
        state.contents.set(key, fingerprint)
      }
      const isOverdue = state.waiting.hasPassed(event.at + jumps.of(server), overdue)
      let problem: string | undefined
      for (const { name, refersTo } of resources) {
        const key = keyOf(typeUrl, name)
        state.gone.delete(key)
        state.held.set(key, refersTo)
      }
      for (const { name, refersTo } of resources) {
        // A requested name is answered at once, and what goes out with an overdue removal is ahead of its turn.
        if (isOverdue || asked.isRecent(name)) continue
        for (const to of refersTo) {
          // The new resource of a later type is still on its way.
          if (orderOf(typeUrl) < orderOf(to.slice(0, to.indexOf(" ")))) continue
          if (state.gone.has(to) && store?.has(to) === true) {
            problem = `stream ${id}: ${inWords(typeUrl, name)} refers to ${to.slice(to.lastIndexOf("/") + 1)}, which was taken away and is there again`
          }
        }
      }
      for (const key of taken) {
        const wasHeld = state.held.delete(key)
        state.gone.add(key)
        if (!wasHeld || isOverdue || isAtOnce.has(key)) continue
        for (const [from, refersTo] of state.held) {
          if (!refersTo.includes(key)) continue
          const now = store?.get(from)
          if (now !== undefined && now.refersTo.includes(key)) continue
          const fromType = from.slice(0, from.indexOf(" "))
          // Removals go in reverse order: of two removed, the route goes before its listener.
          if (now === undefined && orderOf(fromType) < orderOf(typeUrl)) continue
          // State of the world does not report the removal of such a resource.
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
