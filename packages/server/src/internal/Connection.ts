/**
 * The driver of one stream: it feeds the reducer and does what that says, synchronously and with no fiber of its own.
 */
import { fromBinary } from "@bufbuild/protobuf"
import * as Heartbeat from "@effect-xds/core/server/Heartbeat"
import type * as Request from "@effect-xds/core/wire/Request"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Response from "@effect-xds/core/wire/Response"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import type * as Steps from "@effect-xds/core/Steps"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ByteBudget, Holder } from "@effect-xds/transport-node/ByteBudget"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import type { Refusing } from "@effect-xds/transport/TransportMetrics"
import * as Cause from "effect/Cause"
import type * as Clock from "effect/Clock"
import * as Exit from "effect/Exit"
import * as LogLevel from "effect/LogLevel"
import type * as Tracer from "effect/Tracer"
import * as Client from "../ConnectedClient.js"
import type { ServerEvent } from "../ServerEvent.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"
import type { InterestIndex, Slices } from "./InterestIndex.js"
import type { ChangeTimes } from "./ChangeTimes.js"
import * as NodeFields from "./NodeFields.js"
import * as Secrets from "./Secrets.js"
import * as StreamSpan from "./StreamSpan.js"
import type { LogThrottle } from "@effect-xds/transport-node/LogThrottle"

/** What a server's options say, with defaults filled in and durations in milliseconds. */
export interface Settings {
  readonly group: (node: Node, origin: Client.Origin) => string
  readonly ttl: (group: string) => Heartbeat.Mode
  readonly bodylessHeartbeats: boolean
  readonly wildcardOff: (group: string) => ReadonlySet<string>
  readonly makeBeforeBreak: (group: string) => boolean
  readonly phaseDeadline: number
  readonly maxNames: number
  readonly maxNameLength: number
  readonly maxTypes: number
  readonly maxNodeFields: number
  readonly maxStreamsPerGroup: number
  readonly maxEarlyRequests: number
  readonly maxResponseBytes: number
  readonly controlPlane: string | undefined
  readonly firstRequestTimeout: number
  readonly fetchTimeout: number
}

/** The streams of one group, and what they are served. */
export interface Group {
  readonly name: string
  /** `undefined`: it is not set. */
  resources: ResourceGroup | undefined
  readonly connections: Set<Connection>
  readonly changes: ChangeTimes
  readonly interests: InterestIndex<Connection>
}

/** What gets its turn among others. */
export interface Work {
  /** Whether it is in the queue. */
  queued: boolean
  readonly run: (now: number) => void
}

/** What a connection needs from its server. */
export interface Environment {
  readonly settings: Settings
  readonly clock: Clock.Clock
  /** Milliseconds that never go back. */
  readonly now: () => number
  readonly deadline: (connection: Connection, at: number) => void
  /** Does some of the work: what it ends with, or `undefined` if others are to have their turn before its end. */
  readonly some: <A extends object>(work: Steps.Steps<A>) => A | undefined
  readonly bodies: Response.Bodies
  /** Runs it again when others had their turn. */
  readonly later: (work: Work) => void
  readonly join: (connection: Connection, group: string) => Group
  readonly leave: (connection: Connection) => void
  readonly publish: (make: () => ServerEvent) => void
  readonly log: LogThrottle
  readonly span: StreamSpan.StreamSpan
  readonly secrets: Secrets.Secrets
  /** What those hold who are being authorized. */
  readonly authorizing: ByteBudget
  /** There was no room for somebody. */
  readonly refusing: Refusing
  /** Why a client may not go on with a group; `undefined`: it may. Asked when it is served, and after every change. */
  readonly revoked: (origin: () => Client.Origin, group: string) => Status.Status | undefined
  /** Starts the hook; the result stops it. `undefined`: there is no hook. */
  readonly authorize:
    | ((
        node: Node,
        origin: Client.Origin,
        group: string,
        onExit: (exit: Exit.Exit<string, Status.Status>) => void
      ) => () => void)
    | undefined
}

type Phase =
  | { readonly _tag: "Opening" }
  | { readonly _tag: "Authorizing"; readonly early: Array<Request.Request> }
  | { readonly _tag: "Serving"; readonly group: Group }
  | { readonly _tag: "Ended" }

const ended: Phase = { _tag: "Ended" }

/** What a client said of a response. The version is empty if it is not known. */
type Rejection = Pick<ServerStream.Output & { readonly _tag: "Nacked" }, "typeUrl" | "nonce" | "version" | "error">

/** A change that was sent and is not ACKed. */
interface Unacked {
  readonly typeUrl: string
  readonly nonce: string
  /** When the store changed, in milliseconds. */
  readonly since: number
}

/** Most of them for one stream: a client that never answers is not measured. */
const maxUnacked = 64
const noneUnacked: ReadonlyArray<Unacked> = []
/** What notes are copies of, here and below: see `noSent` in core's Subscription. */
const noUnacked: Unacked = { typeUrl: "", nonce: "", since: Number.POSITIVE_INFINITY }
const oneUnacked: ReadonlyArray<Unacked> = [noUnacked]
/** As long as one can become. */
const longestNonce = String(Number.MAX_SAFE_INTEGER)
const noneOversized: ReadonlyMap<string, number> = new Map()

/** A request without the node, which would pin the bytes it came in. */
const withoutNode = (request: Request.Request): Request.Request =>
  request.node === undefined ? request : { ...request, node: undefined }

/** Steps of a stream before others have their turn. One that deals with a part of many names is the only one in its turn. */
const stepsPerTurn = 64

/** What a client may do, but not so much of it. */
const limits: ReadonlySet<ServerStream.ViolationReason> = new Set([
  "TooManyNames",
  "NameTooLong",
  "NamesCollide",
  "TooManyTypes"
])

/** Characters of an identity that are kept. */
const maxIdentity = 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A text that is not part of a longer one: such a part would keep all of it. */
const own = (text: string): string => decoder.decode(encoder.encode(text))

const shownText = (text: string): string =>
  Redaction.text(text.length <= maxIdentity ? text : own(`${text.slice(0, maxIdentity)}…`))

/** What is shown of a node, which may hold anything. */
const shown = (node: Client.NodeIdentity): Client.NodeIdentity => ({
  id: shownText(node.id),
  cluster: shownText(node.cluster),
  userAgentName: shownText(node.userAgentName),
  userAgentVersion: shownText(node.userAgentVersion)
})

/** Bytes that a field of a decoded node takes, and a name of a request, beside what it holds: about. */
const bytesPerField = 80
const bytesPerName = 64

/** Bytes that a first request makes the server hold while its client is authorized: about. */
const weightOf = (request: Request.Request, nodeBytes: number, nodeFields: number): number => {
  let names = 0
  let bytes = nodeBytes + bytesPerField * nodeFields
  const add = (name: string): void => {
    names++
    bytes += name.length
  }
  if (request._tag === "StateOfTheWorld") request.resourceNames.forEach(add)
  else {
    request.resourceNamesSubscribe.forEach(add)
    names += request.initialResourceVersions.size
  }
  return bytes + bytesPerName * names
}

/** Responses to one stream whose answers are still to come and whose content is kept for the client's words about it. */
const maxUnanswered = 16

/** To write so many resources, or more, takes a turn by itself. */
const manyResources = 1_000

type Send = ServerStream.Output & { readonly _tag: "Send" }

/** A response whose body is being written. */
interface Unwritten {
  readonly output: Send
  readonly work: Steps.Steps<Uint8Array>
}

/** A step of the reducer that is not over, the stream before it and the time of its input. */
interface Unfinished {
  readonly work: Steps.Steps<ServerStream.Step>
  readonly before: ServerStream.ServerStream
  readonly now: number
}

interface Unanswered {
  readonly typeUrl: string
  readonly nonce: string
  readonly resources: ReadonlyArray<Resource>
}

/** Nothing is ever put into it. */
const noInputs: Array<ServerStream.Input> = []
const oneInput: ReadonlyArray<ServerStream.Input> = [{ _tag: "Writable" }]

const nothingUnanswered: ReadonlyArray<Unanswered> = []
const noUnanswered: Unanswered = { typeUrl: "", nonce: "", resources: [] }
const oneUnanswered: ReadonlyArray<Unanswered> = [noUnanswered]

/** The list with one more at its end; of those before it, the newest `most - 1`. `single`: a list of one, to copy. */
const withLast = <A>(single: ReadonlyArray<A>, all: ReadonlyArray<A>, one: A, most: number): ReadonlyArray<A> =>
  all.length === 0 ? single.with(0, one) : [...(all.length < most ? all : all.slice(1)), one]

/** One stream of one client. */
export class Connection implements ServerTransport.StreamHandler, Work, Holder {
  private phase: Phase = { _tag: "Opening" }
  private node: Client.NodeIdentity | undefined
  private stream: ServerStream.ServerStream
  private inputs = noInputs
  /** What the client may quote if it rejects it. */
  private unanswered = nothingUnanswered
  private stepping = false
  /** Whether the transport takes another response. */
  private credit = true
  private waiting = false
  /** A change that concerns this stream is yet to be given to the reducer. */
  private changed = false
  /** What the reducer was given last. */
  private given: ResourceGroup | undefined
  /** What there was before the first change that concerns this stream and is yet to be given. */
  private unaffected: ResourceGroup | undefined
  /** What the client asks for is different from what the interest index of its group has. */
  private subscribed = false
  /** What the interest index has still to note of many names. */
  private indexing: Slices | undefined
  /** A step that others have their turn in between of. Until it ends nothing else is given to the reducer. */
  private unfinished: Unfinished | undefined
  /** Was made, and is written in the next turn. */
  private unsent: Unwritten | undefined
  /** What is left before others have their turn. */
  private stepsLeft = 0
  /** The transport is not to read on. */
  private busy = false
  /** The reducer knows of a change that there was no credit for. */
  private held = false
  private due = false
  /** Whether it is in the server's work queue. */
  queued = false
  /** When the stream ends if nothing came: its first request, or the answer of a unary call. */
  private giveUpAt: number
  private stopAuthorizing: (() => void) | undefined
  /** Type URL → bytes of the last response, where that was too large. */
  private oversized: ReadonlyMap<string, number> = noneOversized
  /** Oldest first. */
  private unacked: ReadonlyArray<Unacked> = noneUnacked
  private readonly connectedAt: number
  private readonly span: Tracer.Span | undefined

  constructor(
    private readonly environment: Environment,
    readonly id: number,
    private readonly accepted: ServerTransport.AcceptedStream
  ) {
    const { protocol, typeUrl } = accepted.method
    this.stream = ServerStream.make({ protocol, typeUrl })
    this.connectedAt = environment.clock.unsafeCurrentTimeMillis()
    this.giveUpAt = environment.now() + environment.settings.firstRequestTimeout
    this.span = environment.span(StreamSpan.attributesOf(accepted.method))
    environment.deadline(this, this.giveUpAt)
  }

  // What the transport tells.

  readonly onRequest = (request: Request.Request): void => {
    const { maxNameLength } = this.environment.settings
    if (this.phase._tag !== "Ended" && request.typeUrl.length > maxNameLength) {
      const message = `a type URL has ${request.typeUrl.length} characters; at most ${maxNameLength} are allowed`
      return this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
    }
    switch (this.phase._tag) {
      case "Opening":
        return this.open(request)
      case "Authorizing": {
        const { early } = this.phase
        const { maxEarlyRequests } = this.environment.settings
        if (early.length < maxEarlyRequests) early.push(withoutNode(request))
        else {
          const message = `more than ${maxEarlyRequests} requests before the first was authorized`
          this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
        }
        return
      }
      case "Serving":
        this.queue({ _tag: "Request", request: this.withoutSecrets(withoutNode(request)) })
        return this.run()
      case "Ended":
        return
    }
  }

  readonly onWritable = (): void => {
    this.credit = true
    this.held = false
    if (this.phase._tag !== "Serving") return
    this.queue({ _tag: "Writable" })
    this.run()
  }

  readonly onEnd = (reason: string): void => this.finish(Redaction.text(reason))

  // What the server tells.

  /** The group changed in what this stream asks for; {@link run} is yet to come. */
  markChanged(before: ResourceGroup | undefined): void {
    if (this.phase._tag === "Ended") return
    if (!this.changed) this.unaffected = before
    if (this.changed || (this.held && !this.credit)) XdsServerMetrics.conflations.unsafeUpdate(1, [])
    this.changed = true
  }

  /** The deadline has come; {@link run} is yet to come. */
  markDue(): void {
    this.due = true
  }

  /** Ends the stream with a status. `exit`: how its span ends. */
  end(status: Status.Status, exit: Exit.Exit<void, Status.Status> = Exit.void): void {
    if (this.phase._tag === "Ended") return
    this.finish(status.code === "OK" ? "answered" : `${status.code}: ${status.message}`, exit)
    this.accepted.end(status)
  }

  client(): Client.ConnectedClient {
    const group = this.phase._tag === "Serving" ? this.phase.group.name : undefined
    return { id: this.id, node: this.node, group, peer: this.accepted.peer }
  }

  groupOf(): Group | undefined {
    return this.phase._tag === "Serving" ? this.phase.group : undefined
  }

  method(): ServerTransport.Method {
    return this.accepted.method
  }

  status(): Client.ClientStatus {
    return {
      ...this.client(),
      method: this.accepted.method,
      connectedAt: this.connectedAt,
      waiting: this.waiting,
      oversized: this.oversized,
      types: ServerStream.status(this.stream)
    }
  }

  /** Before anything else sees the request: what it says of resources may quote what they hold. */
  private withoutSecrets(request: Request.Request): Request.Request {
    const { errorDetail, responseNonce, typeUrl } = request
    let { unanswered } = this
    if (errorDetail === undefined && (responseNonce === "" || unanswered.length === 0)) return request
    if (errorDetail === undefined && unanswered.length === 1 && unanswered[0]?.nonce === responseNonce) {
      this.unanswered = nothingUnanswered
      return request
    }
    const sent = unanswered.filter((response) => response.typeUrl === typeUrl)
    const answered = sent.findIndex(({ nonce }) => nonce === responseNonce)
    if (answered >= 0) {
      // Responses are answered in order; Envoy answers only the last of several.
      const gone = new Set(sent.slice(0, answered + 1))
      unanswered = unanswered.filter((response) => !gone.has(response))
      this.unanswered = unanswered
    }
    if (errorDetail === undefined) return request
    const message = this.environment.secrets.redact(errorDetail.message, {
      typeUrl,
      sent: sent.map(({ resources }) => resources),
      group: this.groupOf()?.resources
    })
    return { ...request, errorDetail: { code: errorDetail.code, message } }
  }

  /** Ends the stream because of what the client did. */
  private refuse({ code, message }: Status.Status): void {
    const status = Status.make(code, Redaction.text(message))
    XdsServerMetrics.violations.unsafeUpdate(1, [])
    const subject = `${status.code} ${this.node?.id ?? this.accepted.peer.address}`
    this.environment.log(LogLevel.Warning, subject, `${Client.format(this.client())}: ${status.message}; stream ended`)
    this.end(status, Exit.fail(status))
  }

  /** Ends the stream because of a mistake on the server's side: its user's, or ours. */
  private fail(what: string, cause: unknown): void {
    // What the functions of users throw may quote what they were given: the client's headers among it.
    const secrets = Secrets.ofHeaders(this.accepted.headers)
    const without = (text: string): string => Redaction.values(text, secrets)
    const message = `${what} failed for ${Client.format(this.client())}: ${without(Reason.of(cause))}; stream ended`
    const shownCause = new Error(without(Reason.of(cause)))
    if (cause instanceof Error && cause.stack !== undefined) shownCause.stack = without(cause.stack)
    this.environment.log(LogLevel.Error, what, message, Cause.die(shownCause))
    this.end(Status.make("INTERNAL", `${what} failed in the control plane; its log says why`), Exit.die(shownCause))
  }

  private open(request: Request.Request): void {
    const { authorize, settings } = this.environment
    if (request.node === undefined) {
      const message = "the first request of a stream must carry the node (field `node`): it says who asks"
      return this.refuse(Status.make("INVALID_ARGUMENT", message))
    }
    let node: Node
    let fields: number
    try {
      // A field takes a byte at least: what is short need not be counted, unless it is to be weighed.
      const isShort = request.node.length <= settings.maxNodeFields && authorize === undefined
      fields = isShort ? 0 : NodeFields.count(NodeSchema, request.node, settings.maxNodeFields)
      if (fields > settings.maxNodeFields) {
        const message = `the first request's node has more than ${settings.maxNodeFields} fields, the limit`
        return this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
      }
      // A copy: what is not known in it stays bytes, and the user's functions may keep it.
      node = fromBinary(NodeSchema, request.node.slice())
    } catch (cause) {
      const message = `the first request's node is not an envoy.config.core.v3.Node: ${Reason.of(cause)}`
      return this.refuse(Status.make("INVALID_ARGUMENT", message))
    }
    this.node = shown(Client.identityOf(node))
    const origin = this.origin()
    let given: unknown
    try {
      given = settings.group(node, origin)
    } catch (cause) {
      return this.fail("the group function", cause)
    }
    const group = this.groupNamed(given, "the group function")
    if (group === undefined) return
    const features = node.clientFeatures
    const first = withoutNode(request)
    if (authorize === undefined) return this.serve(group, features, [first])
    if (!this.hold(weightOf(request, request.node.length, fields))) return

    const phase = { _tag: "Authorizing" as const, early: [first] }
    this.phase = phase
    // What comes after it can wait where it is.
    this.setBusy(true)
    this.giveUpAt = Number.POSITIVE_INFINITY
    this.environment.deadline(this, this.giveUpAt)
    const stop = authorize(node, origin, group, (exit) => {
      // It would hold on to the node.
      this.stopAuthorizing = undefined
      this.environment.authorizing.delete(this)
      this.environment.refusing.set(false)
      if (this.phase !== phase) return
      const what = "the authorize hook"
      if (Exit.isSuccess(exit)) {
        const allowed = this.groupNamed(exit.value, what)
        return allowed === undefined ? undefined : this.serve(allowed, features, phase.early)
      }
      const refusal = Cause.failureOrCause(exit.cause)
      if (refusal._tag === "Left") this.refuseAs(refusal.left, what)
      else this.fail(what, Cause.squash(refusal.right))
    })
    // It may have come at once.
    if (this.isAuthorizing()) this.stopAuthorizing = stop
  }

  /** The name of a group as the application gave it; `undefined`: it is none, and the stream is over. */
  private groupNamed(given: unknown, by: string): string | undefined {
    if (typeof given !== "string") {
      this.fail(by, new TypeError(`it gave ${given === null ? "null" : typeof given}, not the name of a group`))
      return undefined
    }
    const { maxNameLength } = this.environment.settings
    if (given.length <= maxNameLength) return given
    const message = `the name of the group has ${given.length} characters; at most ${maxNameLength} are allowed`
    this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
    return undefined
  }

  /** Ends the stream with a status as the application gave it. */
  private refuseAs(given: unknown, by: string): void {
    if (Status.isStatus(given)) this.refuse(given)
    else
      this.fail(by, given instanceof Error ? given : new TypeError(`it failed with ${typeof given}, not with a status`))
  }

  /** Counts what is held while it is authorized; `false`: there is no room. Who is being authorized already comes first. */
  private hold(bytes: number): boolean {
    const { authorizing } = this.environment
    if (authorizing.size > 0 && !authorizing.hasRoom(bytes)) {
      const message = "the control plane authorizes as many clients as it has room for; try again"
      this.environment.refusing.set(true)
      this.refuse(Status.make("UNAVAILABLE", message))
      return false
    }
    authorizing.set(this, bytes)
    return !this.hasEnded()
  }

  /** Only where it alone is more than there is room for. */
  evict(): void {
    this.refuse(Status.make("RESOURCE_EXHAUSTED", "the first request is too large"))
  }

  private origin(): Client.Origin {
    const { accepted } = this
    return {
      method: accepted.method,
      peer: accepted.peer,
      // Few ask for them.
      get headers() {
        return accepted.headers
      }
    }
  }

  /** Asks again whether the client may go on; if not, its stream ends. */
  recheck(): void {
    const group = this.groupOf()
    if (group === undefined) return
    this.endIfRevoked(group.name)
  }

  private endIfRevoked(group: string): void {
    const what = "the function of revocations"
    try {
      const revoked: unknown = this.environment.revoked(() => this.origin(), group)
      if (revoked !== undefined) this.refuseAs(revoked, what)
    } catch (cause) {
      this.fail(what, cause)
    }
  }

  private isAuthorizing(): boolean {
    return this.phase._tag === "Authorizing"
  }

  private serve(name: string, features: ReadonlyArray<string>, requests: ReadonlyArray<Request.Request>): void {
    const { settings } = this.environment
    const { protocol, typeUrl, unary } = this.accepted.method
    const isWhole = unary || this.accepted.whole === true
    // What allowed it may have been taken back while it was decided.
    this.endIfRevoked(name)
    if (this.hasEnded()) return
    let group: Group
    try {
      this.stream = ServerStream.make({
        protocol,
        typeUrl,
        ttl: Heartbeat.isGiven(settings.ttl(name), protocol, features),
        bodylessHeartbeats: settings.bodylessHeartbeats,
        wildcardOff: settings.wildcardOff(name),
        makeBeforeBreak: settings.makeBeforeBreak(name),
        phaseDeadline: settings.phaseDeadline,
        maxNames: settings.maxNames,
        maxNameLength: settings.maxNameLength,
        maxTypes: settings.maxTypes,
        ...(isWhole
          ? { maxResponseBytes: Number.POSITIVE_INFINITY, namesPerResponse: Number.POSITIVE_INFINITY }
          : { maxResponseBytes: settings.maxResponseBytes - this.suffix(longestNonce).byteLength })
      })
      group = this.environment.join(this, name)
    } catch (cause) {
      return this.fail("a function for TTLs, wildcards or make before break, or the store", cause)
    }
    this.phase = { _tag: "Serving", group }
    if (group.connections.size > settings.maxStreamsPerGroup) {
      const limit = `group ${JSON.stringify(name)} has its ${settings.maxStreamsPerGroup} streams already`
      return this.refuse(Status.make("RESOURCE_EXHAUSTED", `${limit}, the limit for one group`))
    }
    this.giveUpAt = unary ? this.environment.now() + settings.fetchTimeout : Number.POSITIVE_INFINITY
    this.span?.attribute("xds.node.id", this.node?.id)
    this.span?.attribute("xds.group", name)
    this.environment.publish(() => ({ _tag: "Connected", client: this.client() }))
    if (this.credit) this.queue({ _tag: "Writable" })
    for (const request of requests) this.queue({ _tag: "Request", request: this.withoutSecrets(request) })
    this.run()
  }

  /**
   * Feeds the reducer until there is nothing left, or until others are to have their turn. Whoever calls while it runs only
   * leaves an input.
   */
  run(now = this.environment.now()): void {
    if (this.stepping || this.phase._tag === "Ended") return
    const { environment } = this
    if (this.due && now >= this.giveUpAt) return this.giveUp()
    this.stepping = true
    this.stepsLeft = stepsPerTurn
    try {
      if (this.unfinished !== undefined) this.resume(this.unfinished)
      else if (this.unsent !== undefined) this.sendLong(this.unsent)
      else if (this.indexing === undefined) this.feed(now)
      else this.index(this.indexing)
    } catch (cause) {
      // The reducer is total and transports do not throw; if one does, it is this stream's end and nobody else's.
      this.fail("serving the stream", cause)
    }
    this.stepping = false
    if (this.hasEnded()) return
    this.setWaiting(ServerStream.isWaiting(this.stream))
    if (this.subscribed && this.phase._tag === "Serving") {
      this.subscribed = false
      this.indexing = this.phase.group.interests.set(this, ServerStream.interests(this.stream))
    }
    // The time that the stream wants is known when its step is over.
    const deadline = this.unfinished === undefined ? ServerStream.deadline(this.stream) : Number.POSITIVE_INFINITY
    environment.deadline(this, Math.min(deadline, this.giveUpAt))
    const isBusy = this.isBusy()
    if (isBusy) environment.later(this)
    this.setBusy(isBusy || this.phase._tag === "Authorizing")
  }

  private feed(now: number): void {
    for (let input = this.nextInput(); input !== undefined; input = this.nextInput()) {
      const before = this.stream
      const short = ServerStream.short(before, input, now)
      if (short === undefined) this.begin(before, input, now)
      else this.take(short, before, now)
      if (this.stepsLeft <= 0) return
    }
  }

  /** Takes a step that may be long. */
  private begin(before: ServerStream.ServerStream, input: ServerStream.Input, now: number): void {
    const work = ServerStream.stepping(before, input, now)
    const step = this.environment.some(work)
    if (step !== undefined) return this.take(step, before, now)
    this.unfinished = { work, before, now }
    this.stepsLeft = 0
  }

  /** Goes on with a step that is not over. */
  private resume({ before, now, work }: Unfinished): void {
    const step = this.environment.some(work)
    if (step !== undefined) {
      this.unfinished = undefined
      this.take(step, before, now)
    }
    this.stepsLeft = 0
  }

  /** Does what a step says. */
  private take([stream, outputs]: ServerStream.Step, before: ServerStream.ServerStream, now: number): void {
    this.stream = stream
    this.stepsLeft--
    for (const output of outputs) this.handle(output, before, now)
    // ★ What changed while the request was dealt with was nobody's business who asked for it then: now it may be this stream's.
    if (this.subscribed && this.given !== this.groupOf()?.resources) {
      this.changed = true
      this.unaffected = undefined
    }
    if (ServerStream.isWorking(this.stream) || ServerStream.isAnsweringInParts(this.stream)) this.stepsLeft = 0
  }

  private index(slices: Slices): void {
    this.stepsLeft = 0
    if (slices.next().done === true) this.indexing = undefined
  }

  /** Whether there is something left to do without anybody calling. */
  private isBusy(): boolean {
    if (this.phase._tag !== "Serving") return false
    if (this.unfinished !== undefined || this.unsent !== undefined || this.indexing !== undefined) return true
    if (this.inputs.length > 0) return true
    if (ServerStream.isWorking(this.stream)) return true
    return this.stepsLeft <= 0 && (this.due || this.given !== this.phase.group.resources)
  }

  private hasEnded(): boolean {
    return this.phase._tag === "Ended"
  }

  private setBusy(busy: boolean): void {
    if (busy === this.busy) return
    this.busy = busy
    this.accepted.setReading?.(!busy)
  }

  /** For the reducer. Mostly it is one: an array that grows keeps room for seventeen, and a stream rests most of its life. */
  private queue(input: ServerStream.Input): void {
    if (this.inputs.length === 0) this.inputs = oneInput.with(0, input)
    else this.inputs.push(input)
  }

  private nextInput(): ServerStream.Input | undefined {
    if (this.phase._tag !== "Serving") return undefined
    if (ServerStream.isWorking(this.stream)) return { _tag: "Continue" }
    const { resources } = this.phase.group
    if (this.given !== resources) {
      // By the time that it is concerned a stream may be many changes behind that were none of its business.
      const group = this.changed ? this.unaffected : resources
      this.unaffected = undefined
      if (this.given !== undefined && group !== undefined && group !== this.given) {
        this.given = group
        return { _tag: "Advance", group }
      }
      this.given = resources
      if (this.changed && !this.credit) this.held = true
      this.changed = false
      return { _tag: "Changed", group: resources }
    }
    const input = this.inputs.shift()
    if (this.inputs.length === 0) this.inputs = noInputs
    if (input !== undefined || !this.due) return input
    this.due = false
    return { _tag: "Deadline" }
  }

  private giveUp(): void {
    this.due = false
    if (this.phase._tag === "Opening") {
      const seconds = this.environment.settings.firstRequestTimeout / 1000
      return this.refuse(Status.make("DEADLINE_EXCEEDED", `no request within ${seconds} s of opening the stream`))
    }
    const { fetchTimeout } = this.environment.settings
    const group = this.groupOf()
    const why =
      group === undefined || group.resources !== undefined
        ? "there was no answer"
        : `group ${JSON.stringify(group.name)} was not set`
    const status = Status.make("UNAVAILABLE", `${why} within ${fetchTimeout / 1000} s`)
    this.end(status, Exit.fail(status))
  }

  private handle(output: ServerStream.Output, before: ServerStream.ServerStream, now: number): void {
    if (this.phase._tag !== "Serving") return
    const { environment } = this
    const { group } = this.phase
    switch (output._tag) {
      case "Send":
        this.measure(output, before)
        if (!this.isLong(output)) return this.send(output)
        this.unsent = { output, work: Response.writing(output.response, environment.bodies) }
        this.stepsLeft = 0
        return
      case "Subscribed":
        this.subscribed = true
        environment.publish(() => ({ ...output, client: this.client() }))
        return
      case "Acked":
        for (const { since } of this.answered(output)) {
          XdsServerMetrics.changeToAck.unsafeUpdate((now - since) / 1000, XdsServerMetrics.typeTags(output.typeUrl))
        }
        XdsServerMetrics.acks.unsafeUpdate(1, XdsServerMetrics.typeTags(output.typeUrl))
        environment.publish(() => ({ ...output, client: this.client() }))
        return
      case "Nacked":
        this.answered(output)
        return this.rejected(output, `version ${output.version}`)
      case "Ignored":
        if (output.reason === "StaleNonce") {
          XdsServerMetrics.stale.unsafeUpdate(1, XdsServerMetrics.typeTags(output.typeUrl))
        }
        if (output.error !== undefined) {
          const { error, nonce, typeUrl } = output
          const what = nonce === "" ? "something, without the nonce of a response" : `an older response, nonce ${nonce}`
          this.rejected({ error, nonce, typeUrl, version: "" }, what)
        }
        return
      case "Waiting":
        environment.publish(() => ({ ...output, group: group.name, client: this.client() }))
        environment.log(
          LogLevel.Warning,
          `Waiting ${group.name}`,
          `${Client.format(this.client())} waits for group ${JSON.stringify(group.name)}, which is not set; ` +
            `SnapshotStore.set(${JSON.stringify(group.name)}, …) answers it`
        )
        return
      case "Violation": {
        const isLimit = limits.has(output.reason)
        return this.refuse(Status.make(isLimit ? "RESOURCE_EXHAUSTED" : "INVALID_ARGUMENT", output.message))
      }
    }
  }

  /** Begins to measure how long it takes to the ACK, if a response tells of a change. */
  private measure({ nonce, typeUrl }: Send, before: ServerStream.ServerStream) {
    const from = ServerStream.revision(before, typeUrl)
    // A `*` that is asked for again has no revision: its answer is no change.
    if (from === undefined || from < 0 || from === ServerStream.revision(this.stream, typeUrl)) return
    const since = this.groupOf()?.changes.after(typeUrl, from)
    if (since === undefined) return
    this.unacked = withLast(oneUnacked, this.unacked, { ...noUnacked, typeUrl, nonce, since }, maxUnacked)
  }

  /** Takes out what is answered by an answer: clients may answer only the last of several responses. */
  private answered(answer: { readonly typeUrl: string; readonly nonce: string }): ReadonlyArray<Unacked> {
    if (this.unacked.length === 0) return noneUnacked
    const { nonce, typeUrl } = answer
    const [first] = this.unacked
    if (this.unacked.length === 1 && first?.nonce === nonce) {
      const all = this.unacked
      this.unacked = noneUnacked
      return all
    }
    const last = this.unacked.findLastIndex((each) => each.typeUrl === typeUrl && Number(each.nonce) <= Number(nonce))
    const isAnswered = (each: Unacked, index: number) => index <= last && each.typeUrl === typeUrl
    const answered = this.unacked.filter(isAnswered)
    if (answered.length > 0) {
      const left = this.unacked.filter((each, index) => !isAnswered(each, index))
      this.unacked = left.length === 0 ? noneUnacked : left
    }
    return answered
  }

  /** Tells of a NACK. `what` was rejected: in words, because it may be unknown. */
  private rejected({ error, nonce, typeUrl, version }: Rejection, what: string): void {
    const { environment } = this
    const type = ResourceType.shortNameOf(typeUrl)
    XdsServerMetrics.nacks.unsafeUpdate(1, XdsServerMetrics.typeTags(typeUrl))
    this.span?.event("xds.nack", environment.clock.unsafeCurrentTimeNanos(), {
      "xds.type": type,
      "xds.version": version,
      "xds.nonce": nonce,
      "xds.error.code": error.code,
      "xds.error.message": error.message
    })
    environment.publish(() => ({ _tag: "Nacked", client: this.client(), typeUrl, nonce, version, error }))
    environment.log(
      LogLevel.Warning,
      `NACK ${type} ${this.groupOf()?.name ?? ""} ${this.node?.id ?? ""}`,
      `${Client.format(this.client())} rejected ${type} ${what}: ${error.message}`
    )
  }

  /** Whether a response is to be written in turns after the one in which it was made. */
  private isLong({ response }: Send): boolean {
    return response.resources.length >= manyResources && !Response.isWritten(response, this.environment.bodies)
  }

  private sendLong({ output, work }: Unwritten): void {
    this.stepsLeft = 0
    const { done, value } = work.next()
    if (done !== true) return
    this.unsent = undefined
    this.send(output, value)
  }

  private send({ nonce, response, typeUrl }: Send, body = Response.body(response, this.environment.bodies)): void {
    const { environment } = this
    const suffix = this.suffix(nonce)
    const size = body.byteLength + suffix.byteLength
    const tags = XdsServerMetrics.typeTags(typeUrl)
    XdsServerMetrics.responses.unsafeUpdate(1, tags)
    XdsServerMetrics.bytes.unsafeUpdate(size, tags)
    environment.publish(() => ({
      _tag: "Sent",
      client: this.client(),
      typeUrl,
      nonce,
      version: response.version,
      resources: response.resources.length,
      removed: response.removed.length,
      bytes: size
    }))
    if (response.resources.length > 0 && !this.accepted.method.unary) {
      const one = { ...noUnanswered, typeUrl, nonce, resources: response.resources }
      this.unanswered = withLast(oneUnanswered, this.unanswered, one, maxUnanswered)
    }
    this.judgeSize(typeUrl, nonce, size)
    // Before the write: a transport may give credit back while it is being written to.
    this.credit = false
    const more = this.accepted.write({ body, suffix })
    if (this.accepted.method.unary) this.end(Status.ok)
    else if (more) this.onWritable()
  }

  /** Warns of a response that a client of gRPC may refuse: it would end the stream, and ask for the same again. */
  private judgeSize(typeUrl: string, nonce: string, bytes: number): void {
    const { environment } = this
    // Who takes each response by itself has no limit of gRPC.
    if (this.accepted.whole === true) return
    const maximum = environment.settings.maxResponseBytes
    const before = this.oversized
    if (bytes <= maximum) {
      if (!before.has(typeUrl)) return
      const left = new Map(Array.from(before).filter(([other]) => other !== typeUrl))
      this.oversized = left.size === 0 ? noneOversized : left
      return
    }
    this.oversized = new Map([...before, [typeUrl, bytes]])
    XdsServerMetrics.oversized.unsafeUpdate(1, XdsServerMetrics.typeTags(typeUrl))
    environment.publish(() => ({ _tag: "Oversized", client: this.client(), typeUrl, nonce, bytes, maximum }))
    const type = ResourceType.shortNameOf(typeUrl)
    const group = this.groupOf()?.name ?? ""
    environment.log(
      LogLevel.Warning,
      `Oversized ${type} ${group}`,
      `${type} of group ${JSON.stringify(group)} takes ${bytes} bytes in one response, more than ${maximum}: ` +
        `clients of gRPC that take no more end the stream and ask again. Let clients take larger messages ` +
        `(grpc.max_receive_message_length), or give each group fewer or smaller resources`
    )
  }

  private suffix(nonce: string): Uint8Array {
    const { controlPlane } = this.environment.settings
    const field = Response.nonceField(nonce)
    if (controlPlane === undefined) return field
    const name = Response.controlPlaneField(this.accepted.method.protocol, controlPlane)
    const suffix = new Uint8Array(field.byteLength + name.byteLength)
    suffix.set(field)
    suffix.set(name, field.byteLength)
    return suffix
  }

  private setWaiting(waiting: boolean): void {
    if (waiting === this.waiting || this.phase._tag !== "Serving") return
    this.waiting = waiting
    XdsServerMetrics.waiting.unsafeModify(waiting ? 1 : -1, XdsServerMetrics.groupTags(this.phase.group.name))
  }

  private finish(reason: string, exit: Exit.Exit<void, Status.Status> = Exit.void): void {
    if (this.phase._tag === "Ended") return
    const client = this.client()
    this.setWaiting(false)
    if (this.phase._tag === "Authorizing") this.stopAuthorizing?.()
    this.stopAuthorizing = undefined
    this.environment.authorizing.delete(this)
    // Leaves while the group is still known.
    this.environment.leave(this)
    this.phase = ended
    this.inputs = noInputs
    this.unfinished = undefined
    this.indexing = undefined
    this.unanswered = nothingUnanswered
    this.environment.deadline(this, Number.POSITIVE_INFINITY)
    XdsServerMetrics.streamsEnded.unsafeUpdate(1, [])
    this.span?.attribute("xds.end", reason)
    this.span?.end(this.environment.clock.unsafeCurrentTimeNanos(), exit)
    this.environment.publish(() => ({ _tag: "Ended", client, reason }))
  }
}
