/**
 * The driver of one stream: it holds the transport's stream, passes inputs to the reducer and executes its outputs,
 * synchronously and without a fiber. Core decides what is sent, and when the reducer gets its inputs: see
 * `GroupStream`.
 */
import type { GroupStream } from "@effect-xds/core/server/GroupStream"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import type * as Request from "@effect-xds/core/wire/Request"
import * as Redaction from "@effect-xds/proto/Redaction"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import type * as Client from "../ConnectedClient.js"
import * as XdsServerMetrics from "../XdsServerMetrics.js"
import * as Admission from "./Admission.js"
import type { Environment, Group, Work } from "./Environment.js"
import type * as GroupNames from "./GroupNames.js"
import { ErrorTexts } from "./ErrorTexts.js"
import { GroupSearch } from "./GroupSearch.js"
import { ResponseWriter } from "./ResponseWriter.js"
import * as Settings from "./Settings.js"
import * as StreamReport from "./StreamReport.js"
import * as StreamSpan from "./StreamSpan.js"

type Phase =
  | { readonly _tag: "Opening" }
  /** The group is being searched. */
  | { readonly _tag: "Admitting"; readonly search: GroupSearch }
  | Serving
  | { readonly _tag: "Ended" }

interface Serving {
  readonly _tag: "Serving"
  readonly group: Group
  readonly stream: GroupStream<Work>
}

/** The name of the application's function. */
const groupFunction = "the group function"

const tooManyStreams = (group: string, { maxStreams }: Settings.OfGroup): Status.Status =>
  Status.make(
    "RESOURCE_EXHAUSTED",
    `group ${JSON.stringify(group)} has its ${maxStreams} streams already, the limit for one group`
  )

const opening: Phase = { _tag: "Opening" }
const ended: Phase = { _tag: "Ended" }

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

/** One stream of one client. */
export class Connection implements ServerTransport.StreamHandler, Work, StreamReport.Subject {
  private phase: Phase = opening
  private node: Client.NodeIdentity | undefined
  private readonly writer: ResponseWriter
  private readonly errors: ErrorTexts
  /** {@link run} is running. */
  private stepping = false
  /** The group is not set. */
  private waiting = false
  /** The transport must not read on. */
  private busy = false
  private due = false
  /** Whether it is in the server's work queue. */
  queued = false
  /** When the stream ends without a first request, a group, or the answer of a unary call. */
  private giveUpAt: number
  private search: GroupSearch | undefined
  private readonly connectedAt: number
  readonly span: StreamSpan.Span | undefined

  constructor(
    private readonly environment: Environment<Connection>,
    readonly id: number,
    private readonly accepted: ServerTransport.AcceptedStream
  ) {
    this.connectedAt = environment.clock.unsafeCurrentTimeMillis()
    this.giveUpAt = environment.now() + environment.settings.firstRequestTimeout
    this.span = environment.span(StreamSpan.attributesOf(accepted.method))
    this.writer = new ResponseWriter(environment, accepted, this)
    this.errors = new ErrorTexts(environment.secrets)
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
        if (this.phase.search.add(withoutNode(request))) return
        const message = `more than ${this.environment.settings.maxEarlyRequests} requests before the group of the stream was known`
        return this.refuse(Status.make("RESOURCE_EXHAUSTED", message))
      }
      case "Serving":
        this.receive(this.phase, withoutNode(request))
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

  /** Whether the next {@link run} goes on with a long request, a long step or a long response. */
  get isLong(): boolean {
    if (this.phase._tag !== "Serving") return false
    return this.errors.isSearching || this.writer.isWriting || this.phase.stream.isLong()
  }

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
      oversized: this.writer.oversized,
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
    if (given._tag === "Searched") return this.admit(given.search, node.clientFeatures, request)
    const group = Admission.groupName(given.name, groupFunction, settings)
    if (typeof group === "string") this.serve(group, node.clientFeatures, [withoutNode(request)])
    else this.deny(group)
  }

  /** Waits until the group is known. */
  private admit(given: GroupNames.Search, features: ReadonlyArray<string>, request: Request.Request): void {
    const { environment } = this
    const search = new GroupSearch(environment, {
      found: (name, requests) => this.found(name, features, requests),
      foundLater: (name) => this.move(name),
      ended: (exit) => this.searched(exit),
      evicted: () => this.refuse(Status.make("RESOURCE_EXHAUSTED", "the first request is too large"))
    })
    this.search = search
    if (!search.hold(Admission.weight(request, environment.settings))) {
      const message = "the control plane finds the groups of as many clients as it has room for; try again"
      return this.refuse(Status.make("UNAVAILABLE", message))
    }
    if (this.hasEnded()) return
    this.phase = { _tag: "Admitting", search }
    // Later requests stay in the socket.
    this.setBusy(true)
    this.giveUpAt = this.environment.now() + this.environment.settings.groupTimeout
    environment.deadline(this, this.giveUpAt)
    search.start(given, withoutNode(request))
  }

  /** The name of the group was found. */
  private found(given: unknown, features: ReadonlyArray<string>, requests: ReadonlyArray<Request.Request>): void {
    const name = Admission.groupName(given, groupFunction, this.environment.settings)
    if (typeof name === "string") this.serve(name, features, requests)
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

  /** The search for the group failed, or ended without a name. */
  private searched(exit: Exit.Exit<void, unknown>): void {
    // A Stream may end, but not before its first name.
    if (Exit.isSuccess(exit)) return this.fail(groupFunction, new Error("its stream of names ended without one"))
    const refusal = Cause.failureOrCause(exit.cause)
    if (refusal._tag === "Left") this.deny(Admission.refusal(refusal.left, groupFunction))
    else this.fail(groupFunction, Cause.squash(refusal.right))
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
    const entered = this.enter(name, () => {
      const own = settings.ofGroup(name)
      const options = settings.ofStream(own, this.accepted.method, features, this.writer.maxBytes)
      const group = this.environment.group(name)
      return { own, group, stream: group.fanOut.join(options, this) }
    })
    if (entered === undefined) return
    const { group, own, stream } = entered
    const phase: Serving = { _tag: "Serving", group, stream }
    this.phase = phase
    if (group.fanOut.size > own.maxStreams) {
      return this.refuse(tooManyStreams(name, own))
    }
    this.giveUpAt = unary ? this.environment.now() + settings.fetchTimeout : Number.POSITIVE_INFINITY
    this.span?.attribute("xds.node.id", this.node?.id)
    this.span?.attribute("xds.group", name)
    StreamReport.connected(this)
    stream.writable()
    for (const request of requests) this.receive(phase, request)
    this.run()
  }

  // While it is served.

  /** Redacts first: an error text may quote sensitive fields of resources. */
  private receive({ group, stream }: Serving, request: Request.Request): void {
    const sent = this.writer.requested(request)
    const { errors } = this
    // Most requests are ACKs.
    if (request.errorDetail === undefined && !errors.isSearching) return stream.request(request)
    errors.add(request, { typeUrl: request.typeUrl, sent, group: group.fanOut.group })
    errors.pass(stream, this.environment)
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
      if (this.errors.isSearching) this.errors.pass(stream, environment)
      else if (this.writer.isWriting) this.written(this.writer.goOn())
      else this.feed(stream, now)
    } catch (cause) {
      // The reducer is total and transports do not throw. If one does, only this stream ends.
      this.fail("serving the stream", cause)
    }
    this.stepping = false
    if (this.hasEnded()) return
    this.setWaiting(ServerStream.isWaiting(stream.state))
    environment.deadline(this, Math.min(stream.deadline(), this.giveUpAt))
    const isBusy = this.errors.isSearching || this.writer.isWriting || stream.hasWork()
    if (isBusy) environment.later(this)
    this.setBusy(isBusy)
  }

  private feed(stream: GroupStream<Work>, now: number): void {
    const { some } = this.environment
    const isResumed = stream.isUnfinished()
    for (let left = stepsPerTurn; left > 0; left--) {
      const outputs = stream.take(now, some)
      if (outputs === undefined) return
      outputs.forEach((output) => this.handle(output, now))
      if (isResumed || this.writer.isWriting || stream.isLong() || this.hasEnded()) return
    }
  }

  private handle(output: ServerStream.Output, now: number): void {
    if (this.phase._tag !== "Serving") return
    const { group } = this.phase
    switch (output._tag) {
      case "Send":
        return this.written(this.writer.begin(output, group.changes))
      case "Subscribed":
        return StreamReport.subscribed(this, output)
      case "Named":
        return StreamReport.named(this, output, this.environment.settings.maxEventNames)
      case "Missing":
        return this.environment.missing?.asked(group, output.typeUrl, output.names, this.node)
      case "Acked":
        return StreamReport.acked(this, output, this.writer.answered(output), now)
      case "Nacked":
        this.writer.answered(output)
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

  /** `more`: whether the stream takes more; `undefined`: nothing was written yet. */
  private written(more: boolean | undefined): void {
    if (more === undefined) return
    if (this.accepted.method.unary) this.end(Status.ok)
    else if (more) this.onWritable()
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
    this.search?.stop()
    this.phase = ended
    if (phase._tag === "Serving") this.environment.leave(this, phase.group, phase.stream)
    else this.environment.leave(this, undefined, undefined)
    this.writer.stop()
    this.errors.stop()
    this.environment.deadline(this, Number.POSITIVE_INFINITY)
    StreamReport.ended(this, client, reason, exit)
  }
}
