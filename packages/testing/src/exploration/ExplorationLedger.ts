/**
 * An observer's knowledge of a client: its watchers and their events, and the responses of the present stream, answered or not.
 * With it every step of a client is checked by rules from the specification alone.
 *
 * @since 0.1.0
 */
import { unknownVersion } from "@effect-xds/core/client/CacheVersions"
import type { ResourceStatus } from "@effect-xds/core/client/Client"
import type { FlowControl, Input, Output } from "@effect-xds/core/client/FlowControl"
import * as FlowControls from "@effect-xds/core/client/FlowControl"
import type { ClientResponse } from "@effect-xds/core/wire/ClientResponse"
import type { Request } from "@effect-xds/core/wire/Request"
import { covers } from "../reference/ReferenceModel.js"
import * as Keys from "./ExplorationKey.js"

/**
 * A response that the client has not answered yet.
 *
 * @since 0.1.0
 */
export interface Unanswered {
  readonly nonce: string
  readonly isRejected: boolean
  /** Watchers that were told of it and did not come back. */
  readonly watchers: ReadonlySet<number>
  /** When it came, in milliseconds. */
  readonly at: number
}

/**
 * The ledger. The fields from `nonce` on belong to the stream.
 *
 * @since 0.1.0
 */
export interface Ledger {
  /** Watcher → watched name, or `*`. */
  readonly watchers: ReadonlyMap<number, string>
  /** Watcher → name → the value in use by its events. */
  readonly views: ReadonlyMap<number, ReadonlyMap<string, unknown>>
  /** State of the world: the version of the last response that was accepted whole. */
  readonly accepted: string
  /** What the request asked for that was the last one before it; `*` for everything. */
  readonly covered: ReadonlySet<string>
  /** Whether a watch ended since, or before it and began again. */
  readonly isLess: boolean
  /** Whether a watch began after another one had ended, and no request was made since: what comes answers one from before. */
  readonly isAgain: boolean
  /** Whether a later request of the stream asks for everything, first or again, and no response was accepted since. */
  readonly isWidened: boolean
  /** What the last request asked for. */
  readonly asked: ReadonlySet<string>
  readonly connection: "none" | "connecting" | "open"
  /** When the stream was opened, in milliseconds. */
  readonly openedAt: number
  readonly isAsked: boolean
  /** Whether a request is being written. */
  readonly isWriting: boolean
  /** Nonce of the last response. */
  readonly nonce: string
  /** Oldest first. */
  readonly unanswered: ReadonlyArray<Unanswered>
  /** Whether the next response is read. */
  readonly isReading: boolean
}

/**
 * The ledger before the first event.
 *
 * @since 0.1.0
 */
export const empty: Ledger = {
  watchers: new Map(),
  views: new Map(),
  accepted: "",
  covered: new Set(),
  isLess: false,
  isAgain: false,
  isWidened: false,
  asked: new Set(),
  connection: "none",
  openedAt: 0,
  isAsked: false,
  isWriting: false,
  nonce: "",
  unanswered: [],
  isReading: true
}

/** Milliseconds after which a requested name that did not come counts as missing. */
const resourceTimeout = 15_000

/**
 * Milliseconds that watchers have for a response in explored worlds.
 *
 * @since 0.1.0
 */
export const watcherTimeout = 10_000

/**
 * Watchers that were told of a response and did not come back, each once.
 *
 * @since 0.1.0
 */
export const atWork = ({ unanswered }: Ledger): ReadonlyArray<number> =>
  Array.from(new Set(unanswered.flatMap(({ watchers }) => Array.from(watchers)))).sort()

/**
 * The ledger as text, for the key of a state. Views are left out: they equal what the client holds, or a rule is broken.
 *
 * @param last number of responses on the stream
 * @since 0.1.0
 */
export const key = (self: Ledger, last: number, now: number): string =>
  Object.values({
    watchers: Array.from(self.watchers.keys()).sort().join(","),
    views: "",
    accepted: self.accepted,
    covered: Array.from(self.covered).sort().join(","),
    isLess: self.isLess,
    isAgain: self.isAgain,
    isWidened: self.isWidened,
    asked: Array.from(self.asked).sort().join(","),
    connection: self.connection,
    openedAt: self.connection === "open" ? Math.min(now - self.openedAt, resourceTimeout) : 0,
    isAsked: self.isAsked,
    isWriting: self.isWriting,
    nonce: Keys.age(self.nonce, last),
    unanswered: self.unanswered
      .map(({ at, isRejected, nonce, watchers }) =>
        [
          Keys.age(nonce, last),
          isRejected,
          Array.from(watchers).sort().join(" "),
          watchers.size > 0 ? now - at : "taken"
        ].join(" ")
      )
      .join(","),
    isReading: self.isReading
  } satisfies Record<keyof Ledger, string | number | boolean>).join(";")

const without = (self: Unanswered, watcher: number): Unanswered => {
  if (!self.watchers.has(watcher)) return self
  const watchers = new Set(self.watchers)
  watchers.delete(watcher)
  return { ...self, watchers }
}

/**
 * A client and its ledger, stepped together.
 *
 * @since 0.1.0
 */
export class Onlooker {
  readonly problems: Array<string> = []

  constructor(
    public client: FlowControl,
    public ledger: Ledger,
    public now: number,
    /** The world's reaction to an output, after it is recorded. */
    private readonly act: (output: Output) => void
  ) {}

  private note(change: Partial<Ledger>): void {
    this.ledger = { ...this.ledger, ...change }
  }

  /** Steps the client, records the outputs and checks them. */
  step(input: Input): void {
    this.before(input)
    const [client, outputs] = FlowControls.step(this.client, input, this.now)
    this.client = client
    const told = new Set(outputs.flatMap((output) => (output._tag === "Notify" ? output.watchers : [])))
    const isReceived = outputs.some(({ _tag }) => _tag === "Received")
    for (const output of outputs) {
      switch (output._tag) {
        case "Connect":
          this.note({ connection: "connecting" })
          break
        case "Send":
          this.sent(output.request)
          break
        case "Notify":
          this.told(input, output)
          break
        case "Received":
          this.received(output, told)
          break
        case "Read":
          this.read(input._tag === "Response" && !isReceived)
          break
        case "Stuck":
          this.stuck()
          break
        case "Violation":
          this.problems.push(`the server broke the protocol: ${output.message}`)
          break
        case "Close":
        case "Failed":
        case "Responsive":
        case "Switched":
          break
      }
      this.act(output)
    }
    this.compare()
  }

  private before(input: Input): void {
    const { unanswered, views, watchers } = this.ledger
    switch (input._tag) {
      case "Watch":
        this.note({
          watchers: new Map(watchers).set(input.watcher, input.name),
          views: new Map(views).set(input.watcher, new Map()),
          isAgain: this.ledger.isAgain || this.ledger.isLess
        })
        break
      case "Unwatch": {
        const [others, rest] = [new Map(watchers), new Map(views)]
        others.delete(input.watcher)
        rest.delete(input.watcher)
        this.note({
          watchers: others,
          views: rest,
          isLess: true,
          unanswered: unanswered.map((each) => without(each, input.watcher))
        })
        break
      }
      case "Connected":
        this.note({ connection: "open", openedAt: this.now })
        break
      case "Ended": {
        const { accepted, covered, isLess } = this.ledger
        this.note({ ...empty, watchers, views, accepted, covered, isLess })
        break
      }
      case "Written":
        this.note({ isWriting: false })
        break
      case "Taken":
        this.note({ unanswered: unanswered.map((each) => without(each, input.watcher)) })
        break
      case "Response":
        this.note({ isReading: false })
        break
      case "Refresh":
      case "Pause":
      case "Resume":
      case "Own":
      case "Deadline":
    }
  }

  /** The next response may be read: no watcher is at work, or what came last is nothing to them. */
  private read(isNothing: boolean): void {
    const pending = atWork(this.ledger)
    if (!isNothing && pending.length > 0)
      this.problems.push(`it reads on while watchers are at work: ${pending.join()}`)
    this.note({ isReading: true })
  }

  /** Watchers are waited for no longer. */
  private stuck(): void {
    const { unanswered } = this.ledger
    const last = unanswered.find(({ watchers }) => watchers.size > 0)
    if (last === undefined || this.now < last.at + watcherTimeout) {
      this.problems.push(`watchers are stuck, says the client, before they had ${watcherTimeout} ms`)
    }
    this.note({ unanswered: unanswered.map((each) => ({ ...each, watchers: new Set<number>() })) })
  }

  private received(
    { error, nonce, version }: Extract<Output, { readonly _tag: "Received" }>,
    told: ReadonlySet<number>
  ): void {
    const { asked, isAgain, isWidened, unanswered, watchers } = this.ledger
    const watched = new Set(watchers.values())
    // What nobody watches may be kept for a while, or not. A response may have crossed the request for everything.
    const isLess = isAgain || isWidened || Array.from(asked).some((name) => !watched.has(name))
    if (error === undefined) this.note({ accepted: version, covered: asked, isLess, isWidened: false })
    this.note({
      nonce,
      unanswered: [...unanswered, { nonce, isRejected: error !== undefined, watchers: told, at: this.now }]
    })
  }

  private told(input: Input, { name, result, watchers }: Extract<Output, { readonly _tag: "Notify" }>): void {
    const views = new Map(this.ledger.views)
    for (const watcher of watchers) {
      const view = new Map(views.get(watcher))
      if (!views.has(watcher)) this.problems.push(`watcher ${watcher} is told of ${name} though it left`)
      if (result._tag === "Updated") view.set(name, result.value)
      else if (result._tag === "DoesNotExist" || result._tag === "Error") view.delete(name)
      views.set(watcher, view)
    }
    this.note({ views })
    const { connection, openedAt } = this.ledger
    const isTimely = connection === "open" && this.now >= openedAt + resourceTimeout
    if (input._tag === "Deadline" && result._tag === "DoesNotExist" && !isTimely) {
      this.problems.push(`${name} does not exist, says the client, before the stream lasted ${resourceTimeout} ms`)
    }
  }

  private sent(request: Request): void {
    const { connection, isAsked, isWriting, nonce, unanswered, watchers } = this.ledger
    const wrong = (problem: string) => this.problems.push(`${JSON.stringify(request)}: ${problem}`)
    if (connection !== "open") wrong("there is no stream")
    if (isWriting) wrong("the request before it is not written yet")
    if ((request.node === undefined) !== isAsked) wrong("the node is in the first request of a stream, and in no other")
    const of = new Set(watchers.values())
    const answered = unanswered.find((each) => each.nonce === request.responseNonce)
    if ((request.errorDetail !== undefined) !== (answered?.isRejected === true)) {
      wrong("it must have an error if it answers a response that was rejected, and only then")
    }
    if (answered !== undefined && answered.watchers.size > 0)
      wrong("it answers a response that the watchers have not taken")
    if (request._tag === "StateOfTheWorld") {
      if (request.responseNonce !== nonce) wrong(`its nonce is not that of the last response, ${nonce}`)
      this.quoted(request, wrong)
      if (!isAsked && request.resourceNames.length === 0 && !of.has("*")) wrong("it asks for everything")
      this.note({ unanswered: [] })
    } else {
      if (request.responseNonce !== "" && request.responseNonce !== unanswered[0]?.nonce) {
        wrong(`the oldest response without an answer has the nonce ${unanswered[0]?.nonce ?? "of none"}`)
      }
      if (!isAsked && request.resourceNamesSubscribe.length === 0 && !of.has("*")) wrong("it asks for everything")
      if (isAsked && request.initialResourceVersions.size > 0) wrong("versions are told in the first request")
      // ★ A rejected member of a collection is quoted in no version of a server, so that its removal is told.
      const versionOf = ({ held, status }: ResourceStatus) =>
        held?.version ?? (status === "Nacked" ? unknownVersion : undefined)
      const held = new Map(FlowControls.dump(this.client).map((each) => [each.name, versionOf(each)]))
      for (const [name, version] of request.initialResourceVersions) {
        if (held.get(name) !== version) wrong(`${name} is held in version ${held.get(name) ?? "none"}`)
      }
      if (request.responseNonce !== "") this.note({ unanswered: unanswered.slice(1) })
    }
    this.note({ isAsked: true, isWriting: true })
  }

  /** ★ The version is the last one accepted, but not of what the client gave up or never asked for: some servers send nothing then. */
  private quoted(
    { resourceNames, versionInfo }: Extract<Request, { readonly _tag: "StateOfTheWorld" }>,
    wrong: (problem: string) => void
  ): void {
    const { accepted, asked: before, covered, isAgain, isAsked, isLess, isWidened, watchers } = this.ledger
    const isEverything = Array.from(watchers.values()).includes("*")
    const asked = new Set(resourceNames.length === 0 && isEverything ? ["*"] : resourceNames)
    const isAll = !isLess && Array.from(asked).every((name) => covered.has(name))
    if (versionInfo !== accepted && (isAll || versionInfo !== "")) wrong(`the version accepted last is ${accepted}`)
    if (versionInfo !== "" && isEverything && !covered.has("*")) wrong(`${accepted} is not the version of everything`)
    const isNew = asked.has("*") && (isAgain || !before.has("*"))
    this.note({ asked, isAgain: false, isWidened: isAsked && (isWidened || isNew) })
  }

  /** Every watcher was told what is held, and nothing else; none is waited for too long. */
  private compare(): void {
    const isLate = ({ at, watchers }: Unanswered) => watchers.size > 0 && this.now > at + watcherTimeout
    if (this.ledger.unanswered.some(isLate))
      this.problems.push(`watchers are waited for longer than ${watcherTimeout} ms`)
    const held = new Map<string, unknown>()
    for (const each of FlowControls.dump(this.client)) if (each.held !== undefined) held.set(each.name, each.held.value)
    for (const [watcher, of] of this.ledger.watchers) {
      const view = this.ledger.views.get(watcher) ?? new Map<string, unknown>()
      for (const name of new Set([of, ...held.keys(), ...view.keys()])) {
        if (name === "*" || !covers(of, name)) continue
        if (view.get(name) !== held.get(name)) {
          this.problems.push(
            `watcher ${watcher} was told ${String(view.get(name))} of ${name}; held is ${String(held.get(name))}`
          )
        }
      }
    }
  }

  /** Checks that watched names of a response are held after it. Full state: names that it lacks are not. */
  respond(stream: string, response: ClientResponse, contents: ReadonlyMap<string, string>, isFullState: boolean): void {
    const watched = Array.from(this.ledger.watchers.values())
    this.step({ _tag: "Response", stream, response })
    const held = new Map(FlowControls.dump(this.client).map((each) => [each.name, each.held?.value]))
    const look = (name: string, expected: string | undefined) => {
      if (!watched.some((of) => covers(of, name))) return
      if (held.get(name) !== expected) {
        this.problems.push(`${name} is ${expected ?? "nothing"} in the response, and held is ${String(held.get(name))}`)
      }
    }
    for (const [name, content] of contents) look(name, isBad(content) ? undefined : content)
    for (const name of response.removed) look(name, undefined)
    if (isFullState) for (const name of held.keys()) if (!contents.has(name)) look(name, undefined)
  }
}

/**
 * Whether clients reject this content.
 *
 * @since 0.1.0
 */
export const isBad = (content: string): boolean => content === "bad"
