/**
 * A client of one type, for exhaustive exploration. It is joined by queues to a server, or to a script that sends any possible
 * response at any time.
 *
 * In every state watchers know what the client holds, and every request is correct. The server is compared with the reference
 * server. From every state, if nothing else happens, each watcher ends with the content of the store, and the server with the
 * watched names.
 * with what the store holds, and the server with what is watched.
 *
 * @since 0.1.0
 */
import type { FlowControl, Output } from "@effect-xds/core/client/FlowControl"
import * as FlowControls from "@effect-xds/core/client/FlowControl"
import * as ClientRequests from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponses from "@effect-xds/core/wire/ClientResponse"
import type { Protocol, Request } from "@effect-xds/core/wire/Request"
import * as Requests from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { Response } from "@effect-xds/core/wire/Response"
import * as Responses from "@effect-xds/core/wire/Response"
import type { Input as ServerInput, ServerStream } from "@effect-xds/core/server/ServerStream"
import * as StatusCode from "@effect-xds/core/protocol/StatusCode"
import * as ServerStreams from "@effect-xds/core/server/ServerStream"
import { fields } from "@effect-xds/core/wire/Wire"
import { byTypeUrl, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import { isChange } from "../invariants/Invariants.js"
import type { ReferenceModel } from "../reference/ReferenceModel.js"
import * as ReferenceModels from "../reference/ReferenceModel.js"
import { toResource } from "../simulation/ResourceSpec.js"
import type { Move, World } from "./Exploration.js"
import * as Keys from "./ExplorationKey.js"
import type { Ledger } from "./ExplorationLedger.js"
import * as Ledgers from "./ExplorationLedger.js"

/**
 * The options of a world.
 *
 * @since 0.1.0
 */
export interface Options {
  readonly protocol: Protocol
  readonly typeUrl: string
  /** Resources that may exist. Clients reject the content `bad`. */
  readonly contents: ReadonlyArray<readonly [name: string, content: string]>
  /** What is watched, if several watches may be of one resource: with glob collections. Default: each name, and `*`. */
  readonly watched?: ReadonlyArray<string>
  /** `store`: a server with a store that changes. `script`: any response that a server may send. */
  readonly server: "store" | "script"
  /** Most messages on their way in each direction; for a script, most unanswered responses. Default: 2. */
  readonly maxInFlight?: number
}

type Send = Pick<Extract<Output | ServerStreams.Output, { readonly _tag: "Send"; readonly nonce: string }>, "nonce"> & {
  readonly response: Response
}

/**
 * The state of the world. Its fields are private.
 *
 * @since 0.1.0
 */
export interface State {
  readonly now: number
  readonly client: FlowControl
  readonly ledger: Ledger
  readonly group: ResourceGroup
  readonly server: ServerStream
  /** The reference server. With a script it only records requests. */
  readonly model: ReferenceModel
  /** Number of responses on the stream. */
  readonly nonces: number
  readonly toServer: ReadonlyArray<Request>
  readonly toClient: ReadonlyArray<Send>
  readonly problems: ReadonlyArray<string>
}

const serverId = "s"
/** Milliseconds: a message is never on its way so long. */
const patience = 2_000
/** Milliseconds in which everything comes to rest: backoff, timers and retention. */
const restTime = 80_000
const maxTurns = 400

const CONTENT = 1000

const contentOf = (bytes: Uint8Array): string => {
  let content = ""
  fields(bytes, (reader, field) => {
    if (field !== CONTENT) return false
    content = reader.string()
    return true
  })
  return content
}

/** Each name has one watcher. It may return with the same id, because an ended watch leaves nothing behind. */
const watcherOf = (name: string): number => name.charCodeAt(name.length - 1)

/** Makes steps from a state, which itself stays as it is. */
class Run {
  private state: State
  private readonly onlooker: Ledgers.Onlooker
  /** Whether both sides do all that they can at once, without other events. */
  private isPeace = false
  private readonly isScript: boolean
  private readonly isFullState: boolean
  private readonly stream: string

  constructor(
    private readonly options: Options,
    from: State
  ) {
    this.state = from
    this.isScript = options.server === "script"
    this.isFullState = byTypeUrl(options.typeUrl)?.family === "full-state" && options.protocol === "StateOfTheWorld"
    this.stream = `${serverId} ${options.typeUrl}`
    this.onlooker = new Ledgers.Onlooker(from.client, from.ledger, from.now, (output) => this.act(output))
  }

  end(): State {
    const { client, ledger, now, problems } = this.onlooker
    return { ...this.state, client, ledger, now, problems }
  }

  private act(output: Output): void {
    if (output._tag === "Send") {
      if (this.isScript) {
        const [model] = ReferenceModels.step(this.state.model, { _tag: "Request", request: output.request })
        this.state = { ...this.state, model }
        return
      }
      this.state = { ...this.state, toServer: [...this.state.toServer, output.request] }
      this.onlooker.step({ _tag: "Written", stream: output.stream })
    }
  }

  watch(name: string): void {
    this.onlooker.step({ _tag: "Watch", watcher: watcherOf(name), typeUrl: this.options.typeUrl, name })
  }

  unwatch(name: string): void {
    this.onlooker.step({ _tag: "Unwatch", watcher: watcherOf(name) })
  }

  connected(): void {
    this.state = { ...this.state, ...newStream(this.options), nonces: 0 }
    if (!this.isScript) this.serve({ _tag: "Changed", group: this.state.group })
    this.onlooker.step({ _tag: "Connected", stream: this.stream })
  }

  ended(): void {
    this.state = { ...this.state, ...newStream(this.options), nonces: 0, toServer: [], toClient: [] }
    const error = { code: StatusCode.codes.UNAVAILABLE, message: "lost" }
    this.onlooker.step({ _tag: "Ended", stream: this.stream, error, random: 0.5 })
  }

  written(): void {
    this.onlooker.step({ _tag: "Written", stream: this.stream })
  }

  /** A watcher is done with what it was told. */
  taken(watcher: number): void {
    this.onlooker.step({ _tag: "Taken", watcher })
  }

  deadline(): void {
    this.onlooker.now = Math.max(this.onlooker.now, FlowControls.deadline(this.onlooker.client))
    this.onlooker.step({ _tag: "Deadline" })
  }

  /** Steps the server and the reference server. */
  private serve(input: ServerInput): void {
    const { group } = this.state
    const [server, outputs] = ServerStreams.step(this.state.server, input, this.onlooker.now)
    const sends = outputs.filter((output) => output._tag === "Send")
    const resources = ResourceGroups.all(group)
    const theirs = isChange(input)
      ? { _tag: "Changed" as const, resources }
      : input._tag === "Deadline" || input._tag === "Continue" || input._tag === "MissingDone"
        ? undefined
        : input
    const { problems } = this.onlooker
    for (const output of outputs) {
      if (output._tag === "Violation") problems.push(`the client broke the protocol: ${output.message}`)
    }
    if (theirs !== undefined) {
      const [model, expected] = ReferenceModels.step(this.state.model, theirs)
      this.state = { ...this.state, model }
      const show = (resources: ReadonlyArray<Resource>) =>
        resources
          .map(({ fingerprint }) => fingerprint)
          .sort()
          .join()
      const got = sends.map(({ nonce, response }) => `${nonce} ${show(response.resources)}`).join(" and ")
      const wanted = expected === undefined ? "" : `${expected.nonce} ${show(expected.resources)}`
      if (got !== wanted) problems.push(`${input._tag} is answered with "${got}", by the reference with "${wanted}"`)
    }
    this.state = { ...this.state, server, nonces: server.nonces, toClient: [...this.state.toClient, ...sends] }
    if (this.isPeace && sends.length > 0) this.serve({ _tag: "Writable" })
  }

  writable(): void {
    this.serve({ _tag: "Writable" })
  }

  set(group: ResourceGroup): void {
    this.state = { ...this.state, group }
    if (this.onlooker.ledger.connection === "open") this.serve({ _tag: "Changed", group })
  }

  serverReads(): void {
    const [request, ...toServer] = this.state.toServer
    if (request === undefined) return
    this.state = { ...this.state, toServer }
    const bytes = ClientRequests.encode(request)
    this.serve({ _tag: "Request", request: Either.getOrThrow(Requests.decode(this.options.protocol, bytes)) })
  }

  clientReads(): void {
    const [send, ...toClient] = this.state.toClient
    if (send === undefined) return
    this.state = { ...this.state, toClient }
    this.respond(send.response, send.nonce)
  }

  /** Sends a scripted response. */
  send(response: Response): void {
    const nonce = String(this.state.nonces + 1)
    const model = ReferenceModels.observe(this.state.model, response, nonce)
    this.state = { ...this.state, nonces: this.state.nonces + 1, model }
    this.respond(response, nonce)
  }

  private respond(response: Response, nonce: string): void {
    const bytes = Responses.encode(response, nonce)
    const contents = new Map(response.resources.map(({ name, value }) => [name, contentOf(value)]))
    const decoded = Either.getOrThrow(ClientResponses.decode(this.options.protocol, bytes))
    this.onlooker.respond(this.stream, decoded, contents, this.isFullState)
  }

  /** The problems after everything has come to rest. `isStuck`: watchers do not come back. */
  rest(isStuck: boolean): ReadonlyArray<string> {
    this.isPeace = true
    const end = this.onlooker.now + restTime
    let turns = 0
    for (; turns < maxTurns; turns++) {
      const { ledger } = this.onlooker
      if (ledger.connection === "connecting") this.connected()
      else if (this.isScript && ledger.isWriting) this.written()
      else if (!isStuck && Ledgers.atWork(ledger).length > 0) Ledgers.atWork(ledger).forEach((each) => this.taken(each))
      else if (this.state.toServer.length > 0) this.serverReads()
      else if (this.state.toClient.length > 0 && ledger.isReading) this.clientReads()
      else if (!this.isScript && ledger.connection === "open" && !this.state.server.credit) this.writable()
      else if (FlowControls.deadline(this.onlooker.client) <= end) this.deadline()
      else break
    }
    const problems = turns === maxTurns ? ["it never becomes quiet"] : [...this.left(), ...this.missed()]
    return [...this.onlooker.problems, ...problems].map((problem) => `in the end: ${problem}`)
  }

  /** Checks that requests match the watches, and that every response was answered. */
  private left(): ReadonlyArray<string> {
    const { protocol, typeUrl } = this.options
    const { connection, isReading, unanswered, watchers } = this.onlooker.ledger
    const problems = unanswered.map(({ nonce }) => `the response with nonce ${nonce} was not answered`)
    if (!isReading) problems.push("the next response is not read")
    if (connection !== "open") return problems
    const watched = new Set(watchers.values())
    const isAll = watched.delete("*")
    const asked = this.state.model.subscriptions.get(typeUrl)
    if (asked === undefined) return watched.size > 0 || isAll ? [...problems, "nothing was asked for"] : problems
    if (isAll !== (asked.wildcard !== "none")) problems.push(`the wildcard is ${asked.wildcard}`)
    // State of the world: beside a legacy wildcard, requests list no names.
    const isSilent = protocol === "StateOfTheWorld" && asked.wildcard === "legacy"
    const [names, wanted] = [asked.names, isSilent ? [] : watched].map((each) => Array.from(each).sort().join(","))
    if (names !== wanted) problems.push(`asked for is ${names}, and watched ${wanted}`)
    return problems
  }

  /** Checks that every watcher has the content of the store. */
  private missed(): ReadonlyArray<string> {
    if (this.isScript) return []
    const { contents, protocol, typeUrl } = this.options
    const { views, watchers } = this.onlooker.ledger
    // A wildcard that the server switched off covers nothing.
    const isOff = this.state.server.options.wildcardOff.has(typeUrl)
    const names = isOff ? [] : Array.from(new Set(contents.map(([name]) => name)))
    return Array.from(watchers).flatMap(([watcher, of]) =>
      Array.from(new Set([of, ...names])).flatMap((name) => {
        if (name === "*" || !ReferenceModels.covers(of, name)) return []
        const resource = ResourceGroups.get(this.state.group, { typeUrl, name })
        // State of the world: removals of by-name types are not sent.
        if (resource === undefined && protocol === "StateOfTheWorld" && !this.isFullState) return []
        const content = resource === undefined ? undefined : contentOf(resource.value)
        const expected = content !== undefined && Ledgers.isBad(content) ? undefined : content
        const has = views.get(watcher)?.get(name)
        return has === expected ? [] : [`watcher ${watcher} has ${String(has)} of ${name}, not ${String(expected)}`]
      })
    )
  }
}

const newStream = ({ protocol, typeUrl }: Options): Pick<State, "server" | "model"> => ({
  server: ServerStreams.make({ protocol, typeUrl }),
  model: ReferenceModels.make(protocol)
})

const ofRequest = (request: Request, last: number): string =>
  [
    Keys.age(request.responseNonce, last),
    request.errorDetail?.message ?? "",
    ...(request._tag === "StateOfTheWorld"
      ? [request.versionInfo, request.resourceNames.join(",")]
      : [
          request.resourceNamesSubscribe.join(","),
          request.resourceNamesUnsubscribe.join(","),
          Array.from(request.initialResourceVersions, ([name, version]) => `${name}=${version}`).join(",")
        ])
  ].join(";")

/** The requests to a script, in sum. Nothing else of its model is used. */
const ofAsked = ({ subscriptions }: ReferenceModel, last: number): string =>
  Array.from(subscriptions.values(), ({ lastNonce, names, wildcard }) =>
    [wildcard, Array.from(names).sort().join(","), Keys.age(lastNonce, last)].join(";")
  ).join("|")

/**
 * Makes the world.
 *
 * @since 0.1.0
 */
export const make = (options: Options): World<State> => {
  const { contents, maxInFlight = 2, protocol, server: kind, typeUrl } = options
  const isIncremental = protocol === "Incremental"
  const isScript = kind === "script"
  const resources = contents.map(([name, content]) => ({
    label: `${name}=${content}`,
    resource: toResource({ typeUrl, name, content })
  }))
  const names = Array.from(new Set(contents.map(([name]) => name)))
  const decoder = ResourceDecoder.make({
    typeUrl,
    decode: (bytes) => {
      const content = contentOf(bytes)
      return Ledgers.isBad(content) ? Either.left("its content is bad") : Either.right(content)
    }
  })
  const server = { id: serverId, protocol, isAggregated: false, failOnDataErrors: true }

  /** The responses of a script: no resource, each resource alone, all of different names, each removal. */
  const scripted = (): ReadonlyArray<readonly [label: string, response: Response]> => {
    const make = (label: string, resources: ReadonlyArray<Resource>, removed: ReadonlyArray<string> = []) =>
      [label, Responses.make({ protocol, typeUrl, version: label, resources, removed })] as const
    const all = names.flatMap((name) => resources.findLast(({ resource }) => resource.name === name) ?? [])
    return [
      make("nothing", []),
      ...resources.map(({ label, resource }) => make(label, [resource])),
      make(
        all.map(({ label }) => label).join(" and "),
        all.map(({ resource }) => resource)
      ),
      ...(isIncremental ? names.map((name) => make(`no ${name}`, [], [name])) : [])
    ]
  }
  const responses = scripted()

  const moves = (state: State): ReadonlyArray<Move<State>> => {
    const found: Array<Move<State>> = []
    const move = (label: string, make: (run: Run) => void) =>
      found.push({
        label,
        take: () => {
          const run = new Run(options, state)
          make(run)
          return run.end()
        }
      })
    const { client, group, ledger, model, now, server, toClient, toServer } = state
    const watched = new Set(ledger.watchers.values())
    const isQuiet = toClient.length === 0 && toServer.length === 0
    for (const name of options.watched ?? [...names, "*"]) {
      if (watched.has(name)) move(`unwatch ${name}`, (run) => run.unwatch(name))
      // A response that was on its way during the last `*` cannot be distinguished from one to the next `*`.
      else if (!isIncremental || (name !== "*" && options.watched === undefined) || isQuiet)
        move(`watch ${name}`, (run) => run.watch(name))
    }
    if (ledger.connection === "connecting") move("the stream is open", (run) => run.connected())
    if (ledger.connection !== "none") move("the stream ends", (run) => run.ended())
    const at = FlowControls.deadline(client)
    if (at < Number.POSITIVE_INFINITY && (isQuiet || at <= now + patience)) move("time passes", (run) => run.deadline())
    // One after another, in one order: another order leads to the same, and a watcher may also leave at any time.
    const [watcher] = Ledgers.atWork(ledger)
    if (watcher !== undefined) move(`watcher ${watcher} is done`, (run) => run.taken(watcher))
    if (isScript) {
      if (ledger.isWriting) move("the request is written", (run) => run.written())
      if (model.subscriptions.has(typeUrl) && ledger.unanswered.length < maxInFlight) {
        for (const [label, response] of responses) move(`a response: ${label}`, (run) => run.send(response))
      }
      return found
    }
    if (toServer.length > 0) move("the server takes a request", (run) => run.serverReads())
    if (toClient.length > 0 && ledger.isReading) move("the client takes a response", (run) => run.clientReads())
    if (ledger.connection === "open" && !server.credit && toClient.length < maxInFlight) {
      move("the stream is writable", (run) => run.writable())
    }
    const change = (label: string, change: Parameters<typeof ResourceGroups.update>[1]) =>
      move(`store: ${label}`, (run) => run.set(Either.getOrElse(ResourceGroups.update(group, change), () => group)))
    for (const { label, resource } of resources) {
      const held = ResourceGroups.get(group, resource)
      if (held?.fingerprint !== resource.fingerprint) change(label, { upsert: [resource] })
    }
    for (const { name } of ResourceGroups.all(group)) change(`${name} is removed`, { remove: [{ typeUrl, name }] })
    return found
  }

  return {
    name: [
      isScript ? "client" : "client and server",
      isIncremental ? "incremental" : "state of the world",
      shortNameOf(typeUrl),
      ...(options.watched === undefined ? [] : ["collections"])
    ].join(", "),
    initial: {
      now: 0,
      client: FlowControls.make({
        servers: [server],
        authorities: new Map([["x", [server]]]),
        decoders: [decoder],
        node: Uint8Array.of(1),
        watcherTimeout: Ledgers.watcherTimeout
      }),
      ledger: Ledgers.empty,
      group: ResourceGroups.empty,
      ...newStream(options),
      nonces: 0,
      toServer: [],
      toClient: [],
      problems: []
    },
    moves,
    key: ({ client, group, ledger, model, nonces, now, server, toClient, toServer }) => [
      Keys.ofFlowControl(client, nonces, now),
      Ledgers.key(ledger, nonces, now),
      Keys.ofGroup(group),
      isScript ? "" : Keys.ofServer(server, now),
      isScript ? ofAsked(model, nonces) : Keys.ofModel(model),
      toServer.map((request) => ofRequest(request, nonces)).join("|"),
      toClient
        .map(({ nonce, response: { absent, removed, resources, version } }) =>
          [
            Keys.age(nonce, nonces),
            version,
            resources.map(({ fingerprint, name }) => `${name}=${fingerprint}`).join(","),
            removed.join(","),
            absent.join(",")
          ].join(";")
        )
        .join("|")
    ],
    problems: ({ problems }) => problems,
    unfinished: (state) => [
      ...new Run(options, state).rest(false),
      ...(Ledgers.atWork(state.ledger).length > 0 ? new Run(options, state).rest(true) : [])
    ]
  }
}
