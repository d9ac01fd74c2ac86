/**
 * The driver of one stream: it holds the transport's stream, passes inputs to the reducer and executes its outputs,
 * synchronously and without a fiber. Core decides what is sent, and when the reducer gets its inputs: see
 * `GroupStream`.
 */
import type { FanOut } from "@effect-xds/core/server/FanOut"
import type { GroupStream, Some } from "@effect-xds/core/server/GroupStream"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import type { PhaseOptions } from "@effect-xds/core/server/StreamState"
import type * as Steps from "@effect-xds/core/Steps"
import type * as Request from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import * as Redaction from "@effect-xds/proto/Redaction"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ByteBudget, Holder } from "@effect-xds/transport-node/ByteBudget"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import type { Refusing } from "@effect-xds/transport/TransportMetrics"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type * as Tracer from "effect/Tracer"
import type * as Client from "../ConnectedClient.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"
import * as AckLatency from "./AckLatency.js"
import * as Admission from "./Admission.js"
import type { ChangeTimes } from "./ChangeTimes.js"
import type * as GroupNames from "./GroupNames.js"
import type { MissingResources } from "./MissingResources.js"
import * as ResponseSize from "./ResponseSize.js"
import type * as Secrets from "./Secrets.js"
import * as Settings from "./Settings.js"
import * as StreamReport from "./StreamReport.js"
import * as StreamSpan from "./StreamSpan.js"
import * as UnansweredResponses from "./UnansweredResponses.js"

/** The streams of one group, and the times of its changes. */
export interface Group {
  readonly name: string
  readonly fanOut: FanOut<Connection>
  readonly changes: ChangeTimes
}

/** An item of the server's work queue. */
export interface Work {
  /** Whether it is in the queue. */
  queued: boolean
  readonly run: (now: number) => void
}

/** What a connection uses of its server. */
export interface Environment extends StreamReport.Report {
  readonly settings: Settings.Settings
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  readonly deadline: (connection: Connection, at: number) => void
  /** Runs some steps of the work; returns its result, or `undefined` if a turn ends before. */
  readonly some: Some
  readonly bodies: Response.Bodies
  /** Runs the work again in a later turn. */
  readonly later: (work: Work) => void
  /** The group of that name, even if it has no streams yet. */
  readonly group: (name: string) => Group
  /** The stream ended; `stream` is set if it was served. */
  readonly leave: (
    connection: Connection,
    group: Group | undefined,
    stream: GroupStream<Connection> | undefined
  ) => void
  /** Moves the stream to another group. */
  readonly move: (from: Group, stream: GroupStream<Connection>, to: Group, phases: PhaseOptions) => void
  readonly span: StreamSpan.StreamSpan
  readonly secrets: Secrets.Secrets
  /** Gets every subscribed name without a resource; `undefined` if there is no hook. */
  readonly missing: MissingResources | undefined
  /** The bytes held for clients whose group is not known yet. */
  readonly admitting: ByteBudget
  /** Whether clients are refused for lack of room. */
  readonly refusing: Refusing
  /**
   * Why a client may no longer read a group; `undefined` if it may. Called when it is served, and after every
   * revocation.
   */
  readonly revoked: (origin: () => Client.Origin, group: string) => Status.Status | undefined
  /** Calls the application's `group` function; throws what it throws. */
  readonly nameOf: (node: Node, origin: Client.Origin) => GroupNames.Given
}

type Phase =
  | { readonly _tag: "Opening" }
  /** The group is being searched. */
  | { readonly _tag: "Admitting"; readonly early: Array<Request.Request> }
  | { readonly _tag: "Serving"; readonly group: Group; readonly stream: GroupStream<Connection> }
  | { readonly _tag: "Ended" }

/** The name of the application's function. */
const groupFunction = "the group function"

const tooManyStreams = (group: string, { maxStreams }: Settings.OfGroup): Status.Status =>
  Status.make(
    "RESOURCE_EXHAUSTED",
    `group ${JSON.stringify(group)} has its ${maxStreams} streams already, the limit for one group`
  )

const opening: Phase = { _tag: "Opening" }
const ended: Phase = { _tag: "Ended" }

type Send = ServerStream.Output & { readonly _tag: "Send" }

/** A response whose body is being written. */
interface Unwritten {
  readonly output: Send
  readonly work: Steps.Steps<Uint8Array>
}

/** The longest possible nonce. */
const longestNonce = String(Number.MAX_SAFE_INTEGER)

/** Without the node, which would keep the request's bytes in memory. */
const withoutNode = (request: Request.Request): Request.Request =>
  request.node === undefined ? request : { ...request, node: undefined }

/** Steps of a stream in one turn. A long step takes a turn by itself. */
const stepsPerTurn = 64

/** Violations that exceed a limit, as opposed to malformed requests. */
const limits: ReadonlySet<ServerStream.ViolationReason> = new Set([
  "TooManyNames",
  "NameTooLong",
  "NamesCollide",
  "TooManyTypes",
  "TooManyParameters"
])

/** Responses from this many resources are encoded in turns of their own. */
const manyResources = 1_000

/** One stream of one client. */
export class Connection implements ServerTransport.StreamHandler, Work, Holder, StreamReport.Subject {
  private phase: Phase = opening
  private node: Client.NodeIdentity | undefined
  /** The resources that the client may quote in a NACK. */
  private unanswered = UnansweredResponses.none
  private unacked = AckLatency.none
  private oversized = ResponseSize.none
  /** {@link run} is running. */
  private stepping = false
  /** The group is not set. */
  private waiting = false
  /** A large response whose body is encoded in later turns. */
  private unsent: Unwritten | undefined
  /** The transport must not read on. */
  private busy = false
  private due = false
  /** Whether it is in the server's work queue. */
  queued = false
  /** When the stream ends without a first request, a group, or the answer of a unary call. */
  private giveUpAt: number
  private stopSearch: (() => void) | undefined
  private readonly connectedAt: number
  readonly span: Tracer.Span | undefined

  constructor(
    private readonly environment: Environment,
    readonly id: number,
    private readonly accepted: ServerTransport.AcceptedStream
  ) {
    this.connectedAt = environment.clock.unsafeCurrentTimeMillis()
    this.giveUpAt = environment.now() + environment.settings.firstRequestTimeout
    this.span = environment.span(StreamSpan.attributesOf(accepted.method))
    environment.deadline(this, this.giveUpAt)
  }

  // Called by the transport.

  readonly onRequest = (request: Request.Request): void => {
    const { maxNameLength } = this.environment.settings
    if (this.phase._tag !== "Ended" && request.typeUrl.length > maxNameLength) {
      const message = `a type URL has ${request.typeUrl.length} characters; at most ${maxNameLength} are allowed`
      return this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
    }
    switch (this.phase._tag) {
      case "Opening":
        return this.open(request)
      case "Admitting": {
        const { early } = this.phase
        const { maxEarlyRequests } = this.environment.settings
        if (early.length < maxEarlyRequests) early.push(withoutNode(request))
        else {
          const message = `more than ${maxEarlyRequests} requests before the group of the stream was known`
          this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
        }
        return
      }
      case "Serving":
        this.phase.stream.request(this.withoutSecrets(withoutNode(request)))
        return this.run()
      case "Ended":
        return
    }
  }

  readonly onWritable = (): void => {
    if (this.phase._tag !== "Serving") return
    this.phase.stream.writable()
    this.run()
  }

  readonly onEnd = (reason: string): void => this.finish(Redaction.text(reason))

  // Called by the server.

  /** The deadline has come; {@link run} follows. */
  markDue(): void {
    this.due = true
    if (this.phase._tag === "Serving") this.phase.stream.deadlineReached()
  }

  /** Ends the stream with a status. `exit`: that of its span. */
  end(status: Status.Status, exit: Exit.Exit<void, Status.Status> = Exit.void): void {
    if (this.phase._tag === "Ended") return
    this.finish(status.code === "OK" ? "answered" : `${status.code}: ${status.message}`, exit)
    this.accepted.end(status)
  }

  /** Checks again whether the client may go on; if not, its stream ends. */
  recheck(): void {
    if (this.phase._tag === "Serving") this.endIfRevoked(this.phase.group.name)
  }

  /** Called only if this request alone exceeds the budget. */
  evict(): void {
    this.refuse(Status.make("RESOURCE_EXHAUSTED", "the first request is too large"))
  }

  // Reports.

  get report(): StreamReport.Report {
    return this.environment
  }

  client(): Client.ConnectedClient {
    const group = this.phase._tag === "Serving" ? this.phase.group.name : undefined
    return { id: this.id, node: this.node, group, peer: this.accepted.peer }
  }

  status(): Client.ClientStatus {
    return {
      ...this.client(),
      method: this.accepted.method,
      connectedAt: this.connectedAt,
      waiting: this.waiting,
      oversized: this.oversized,
      types: this.phase._tag === "Serving" ? ServerStream.status(this.phase.stream.state) : []
    }
  }

  // Before it is served.

  private open(request: Request.Request): void {
    const { settings } = this.environment
    const asking = Admission.read(request, settings)
    if ("_tag" in asking) return this.deny(asking)
    const { identity, node } = asking
    this.node = identity
    let given: GroupNames.Given
    try {
      given = this.environment.nameOf(node, this.origin())
    } catch (cause) {
      return this.fail(groupFunction, cause)
    }
    const first = withoutNode(request)
    if (given._tag === "Searched") {
      if (this.hold(Admission.weight(request, settings))) this.admit(given.search, node.clientFeatures, first)
      return
    }
    const group = Admission.groupName(given.name, groupFunction, settings)
    if (typeof group === "string") this.serve(group, node.clientFeatures, [first])
    else this.deny(group)
  }

  /** Waits until the group is known. Nothing here keeps the node in memory. */
  private admit(search: GroupNames.Search, features: ReadonlyArray<string>, first: Request.Request): void {
    this.phase = { _tag: "Admitting", early: [first] }
    // Later requests stay in the socket.
    this.setBusy(true)
    this.giveUpAt = this.environment.now() + this.environment.settings.groupTimeout
    this.environment.deadline(this, this.giveUpAt)
    let last: unknown
    // Several names in one turn are one move.
    const moving: Work = { queued: false, run: () => this.move(last) }
    const stop = search(
      (name) => {
        last = name
        if (this.phase._tag === "Serving") this.environment.later(moving)
        else this.found(name, features)
      },
      (exit) => {
        this.stopSearch = undefined
        this.searched(exit)
      }
    )
    if (this.hasEnded()) stop?.()
    else this.stopSearch = stop
  }

  /** The name of the group was found. */
  private found(given: unknown, features: ReadonlyArray<string>): void {
    if (this.phase._tag !== "Admitting") return
    const { early } = this.phase
    this.admitted()
    const name = Admission.groupName(given, groupFunction, this.environment.settings)
    if (typeof name === "string") this.serve(name, features, early)
    else this.deny(name)
  }

  /** A later name was found: moves the stream, unless it is in that group already. */
  private move(given: unknown): void {
    if (this.phase._tag !== "Serving") return
    const { group: from, stream } = this.phase
    const { environment } = this
    const name = Admission.groupName(given, groupFunction, environment.settings)
    if (typeof name !== "string") return this.deny(name)
    if (name === from.name) return
    const entered = this.enter(name, () => ({
      own: environment.settings.ofGroup(name),
      group: environment.group(name)
    }))
    if (entered === undefined) return
    const { group, own } = entered
    this.setWaiting(false)
    const { makeBeforeBreak, phaseDeadline } = own
    environment.move(from, stream, group, { makeBeforeBreak, phaseDeadline })
    this.phase = { _tag: "Serving", group, stream }
    if (group.fanOut.size > own.maxStreams) return this.refuse(tooManyStreams(name, own))
    this.span?.attribute("xds.group", name)
    StreamReport.moved(this, from.name)
    environment.later(this)
  }

  /** The search for the group has ended. */
  private searched(exit: Exit.Exit<void, unknown>): void {
    if (this.hasEnded()) return
    if (Exit.isSuccess(exit)) {
      // A Stream may end, but not before its first name.
      if (this.phase._tag === "Admitting") this.fail(groupFunction, new Error("its stream of names ended without one"))
      return
    }
    this.admitted()
    const refusal = Cause.failureOrCause(exit.cause)
    if (refusal._tag === "Left") this.deny(Admission.refusal(refusal.left, groupFunction))
    else this.fail(groupFunction, Cause.squash(refusal.right))
  }

  private admitted(): void {
    this.environment.admitting.delete(this)
    this.environment.refusing.set(false)
  }

  /** Counts the bytes held until the group is known. `false`: there is no room, and the client is refused. */
  private hold(bytes: number): boolean {
    const { admitting } = this.environment
    if (admitting.size > 0 && !admitting.hasRoom(bytes)) {
      const message = "the control plane finds the groups of as many clients as it has room for; try again"
      this.environment.refusing.set(true)
      this.refuse(Status.make("UNAVAILABLE", message))
      return false
    }
    admitting.set(this, bytes)
    return !this.hasEnded()
  }

  private origin(): Client.Origin {
    const { accepted } = this
    return {
      method: accepted.method,
      peer: accepted.peer,
      // Lazy: few functions read them.
      get headers() {
        return accepted.headers
      }
    }
  }

  private endIfRevoked(group: string): void {
    const what = "the function of revocations"
    try {
      const revoked: unknown = this.environment.revoked(() => this.origin(), group)
      if (revoked !== undefined) this.deny(Admission.refusal(revoked, what))
    } catch (cause) {
      this.fail(what, cause)
    }
  }

  /**
   * Calls the settings and the store for a group. `undefined`: the client may not read it, or a call failed; the stream
   * has ended.
   */
  private enter<A>(name: string, ask: () => A): A | undefined {
    // The permission may have been revoked meanwhile.
    this.endIfRevoked(name)
    if (this.hasEnded()) return undefined
    try {
      return ask()
    } catch (cause) {
      if (cause instanceof Settings.FunctionFailed) this.fail(cause.what, cause.cause)
      else this.fail("the store", cause)
      return undefined
    }
  }

  private serve(name: string, features: ReadonlyArray<string>, requests: ReadonlyArray<Request.Request>): void {
    const { settings } = this.environment
    const { unary } = this.accepted.method
    const isWhole = unary || this.accepted.whole === true
    const entered = this.enter(name, () => {
      const own = settings.ofGroup(name)
      const options = Settings.streamOptions(settings, own, this.accepted.method, features)
      const sizes = isWhole
        ? { maxResponseBytes: Number.POSITIVE_INFINITY, namesPerResponse: Number.POSITIVE_INFINITY }
        : { maxResponseBytes: settings.maxResponseBytes - this.suffix(longestNonce).byteLength }
      const group = this.environment.group(name)
      return { own, group, stream: group.fanOut.join({ ...options, ...sizes }, this) }
    })
    if (entered === undefined) return
    const { group, own, stream } = entered
    this.phase = { _tag: "Serving", group, stream }
    if (group.fanOut.size > own.maxStreams) {
      return this.refuse(tooManyStreams(name, own))
    }
    this.giveUpAt = unary ? this.environment.now() + settings.fetchTimeout : Number.POSITIVE_INFINITY
    this.span?.attribute("xds.node.id", this.node?.id)
    this.span?.attribute("xds.group", name)
    StreamReport.connected(this)
    stream.writable()
    for (const request of requests) stream.request(this.withoutSecrets(request))
    this.run()
  }

  // While it is served.

  /** Redacts first: an error text may quote sensitive fields of resources. */
  private withoutSecrets(request: Request.Request): Request.Request {
    const { errorDetail, typeUrl } = request
    const { unanswered } = this
    this.unanswered = UnansweredResponses.after(unanswered, request)
    if (errorDetail === undefined) return request
    const message = this.environment.secrets.redact(errorDetail.message, {
      typeUrl,
      sent: UnansweredResponses.quotable(unanswered, typeUrl),
      group: this.phase._tag === "Serving" ? this.phase.group.fanOut.group : undefined
    })
    return { ...request, errorDetail: { code: errorDetail.code, message } }
  }

  /**
   * Steps the reducer until there is no work, or a turn is over. A nested call only leaves an input.
   */
  run(now = this.environment.now()): void {
    if (this.stepping || this.phase._tag === "Ended") return
    if (this.due && now >= this.giveUpAt) return this.giveUp()
    this.due = false
    const { environment } = this
    if (this.phase._tag !== "Serving") return environment.deadline(this, this.giveUpAt)
    const { stream } = this.phase
    this.stepping = true
    try {
      if (this.unsent === undefined) this.feed(stream, now)
      else this.sendLong(this.unsent)
    } catch (cause) {
      // The reducer is total and transports do not throw. If one does, only this stream ends.
      this.fail("serving the stream", cause)
    }
    this.stepping = false
    if (this.hasEnded()) return
    this.setWaiting(ServerStream.isWaiting(stream.state))
    environment.deadline(this, Math.min(stream.deadline(), this.giveUpAt))
    const isBusy = this.unsent !== undefined || stream.hasWork()
    if (isBusy) environment.later(this)
    this.setBusy(isBusy)
  }

  private feed(stream: GroupStream<Connection>, now: number): void {
    const { some } = this.environment
    const isResumed = stream.isUnfinished()
    for (let left = stepsPerTurn; left > 0; left--) {
      const outputs = stream.take(now, some)
      if (outputs === undefined) return
      for (const output of outputs) this.handle(output, now)
      if (isResumed || this.unsent !== undefined || stream.isLong() || this.hasEnded()) return
    }
  }

  private handle(output: ServerStream.Output, now: number): void {
    if (this.phase._tag !== "Serving") return
    const { group } = this.phase
    switch (output._tag) {
      case "Send":
        this.measure(output, group)
        if (!this.isLong(output)) return this.send(output)
        this.unsent = { output, work: Response.writing(output.response, this.environment.bodies) }
        return
      case "Subscribed":
        return StreamReport.subscribed(this, output)
      case "Named":
        return StreamReport.named(this, output, this.environment.settings.maxEventNames)
      case "Missing":
        return this.environment.missing?.asked(group, output.typeUrl, output.names)
      case "Acked": {
        const answered = AckLatency.answeredBy(this.unacked, output)
        this.unacked = AckLatency.after(this.unacked, output)
        return StreamReport.acked(this, output, answered, now)
      }
      case "Nacked":
        this.unacked = AckLatency.after(this.unacked, output)
        return StreamReport.nacked(this, output)
      case "Ignored":
        return StreamReport.ignored(this, output)
      case "Waiting":
        return StreamReport.waiting(this, output, group.name)
      case "Violation": {
        const isLimit = limits.has(output.reason)
        return this.refuse(Status.make(isLimit ? "RESOURCE_EXHAUSTED" : "INVALID_ARGUMENT", output.message))
      }
    }
  }

  /** Begins to measure the time to the ACK of a response with a change. */
  private measure(send: Send, { changes }: Group): void {
    const since = send.from === undefined ? undefined : changes.after(send.typeUrl, send.from)
    if (since !== undefined) this.unacked = AckLatency.sent(this.unacked, send, since)
  }

  /** Whether a response is encoded in turns after the one that made it. */
  private isLong({ response }: Send): boolean {
    return response.resources.length >= manyResources && !Response.isWritten(response, this.environment.bodies)
  }

  private sendLong({ output, work }: Unwritten): void {
    const { done, value } = work.next()
    if (done !== true) return
    this.unsent = undefined
    this.send(output, value)
  }

  private send(output: Send, body = Response.body(output.response, this.environment.bodies)): void {
    const { nonce, response, typeUrl } = output
    const { unary } = this.accepted.method
    const suffix = this.suffix(nonce)
    const size = body.byteLength + suffix.byteLength
    StreamReport.sent(this, output, size)
    if (response.resources.length > 0 && !unary) {
      this.unanswered = UnansweredResponses.sent(this.unanswered, typeUrl, nonce, response.resources)
    }
    this.judgeSize(output, size)
    const more = this.accepted.write({ body, suffix })
    if (unary) this.end(Status.ok)
    else if (more) this.onWritable()
  }

  private judgeSize(output: Send, bytes: number): void {
    // A transport with whole responses has no gRPC limit.
    if (this.accepted.whole === true) return
    const { maxResponseBytes } = this.environment.settings
    if (bytes <= maxResponseBytes) {
      this.oversized = ResponseSize.withSmall(this.oversized, output.typeUrl)
      return
    }
    this.oversized = ResponseSize.withLarge(this.oversized, output.typeUrl, bytes)
    StreamReport.oversized(this, output, bytes, maxResponseBytes)
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

  private setBusy(busy: boolean): void {
    if (busy === this.busy) return
    this.busy = busy
    this.accepted.setReading?.(!busy)
  }

  private hasEnded(): boolean {
    return this.phase._tag === "Ended"
  }

  // How it ends.

  /** Ends the stream because of its client. */
  private refuse({ code, message }: Status.Status): void {
    const status = Status.make(code, Redaction.text(message))
    StreamReport.refused(this, status)
    this.end(status, Exit.fail(status))
  }

  /** Ends the stream because of a defect: of the application, or of this server. */
  private fail(what: string, cause: unknown): void {
    const shown = StreamReport.failed(this, what, cause, this.accepted.headers)
    this.end(Status.make("INTERNAL", `${what} failed in the control plane; its log says why`), Exit.die(shown))
  }

  private deny(denial: Admission.Denial): void {
    if (denial._tag === "Refused") this.refuse(denial.status)
    else this.fail(denial.what, denial.cause)
  }

  private giveUp(): void {
    this.due = false
    if (this.phase._tag === "Opening") {
      const seconds = this.environment.settings.firstRequestTimeout / 1000
      return this.refuse(Status.make("DEADLINE_EXCEEDED", `no request within ${seconds} s of opening the stream`))
    }
    if (this.phase._tag === "Admitting") {
      return this.refuse(Status.make("UNAVAILABLE", "the control plane took too long to find the group of the stream"))
    }
    const { fetchTimeout } = this.environment.settings
    const group = this.phase._tag === "Serving" ? this.phase.group : undefined
    const why =
      group === undefined || group.fanOut.group !== undefined
        ? "there was no answer"
        : `group ${JSON.stringify(group.name)} was not set`
    const status = Status.make("UNAVAILABLE", `${why} within ${fetchTimeout / 1000} s`)
    this.end(status, Exit.fail(status))
  }

  private finish(reason: string, exit: Exit.Exit<void, Status.Status> = Exit.void): void {
    const { phase } = this
    if (phase._tag === "Ended") return
    const client = this.client()
    this.setWaiting(false)
    this.stopSearch?.()
    this.stopSearch = undefined
    this.environment.admitting.delete(this)
    this.phase = ended
    if (phase._tag === "Serving") this.environment.leave(this, phase.group, phase.stream)
    else this.environment.leave(this, undefined, undefined)
    this.unsent = undefined
    this.unanswered = UnansweredResponses.none
    this.environment.deadline(this, Number.POSITIVE_INFINITY)
    StreamReport.ended(this, client, reason, exit)
  }
}
