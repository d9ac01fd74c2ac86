/**
 * The driver of a client: passes inputs to the core and executes its outputs synchronously. It holds sockets and
 * watchers, counts and logs. Every protocol decision is the core's.
 */
import type * as Client from "@effect-xds/core/client/Client"
import * as FlowControl from "@effect-xds/core/client/FlowControl"
import * as LargeResources from "@effect-xds/core/client/LargeResources"
import type { DecoderConflict } from "@effect-xds/core/client/ResourceDecoder"
import * as Steps from "@effect-xds/core/Steps"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import type { ErrorDetail, Protocol } from "@effect-xds/core/wire/Request"
import * as Reason from "@effect-xds/proto/Reason"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Slices from "@effect-xds/transport/Slices"
import * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import * as LogLevel from "effect/LogLevel"
import type { ResourceEvent } from "../ResourceEvent.js"
import type { WatchableType } from "../WatchableType.js"
import type { ServerConnection } from "../ServerConnection.js"
import { Connections } from "./Connections.js"
import type { Environment, ServerLink, StreamSpan } from "./Environment.js"
import { Observations } from "./Observations.js"
import { ServerText } from "./ServerText.js"
import { Watcher, type Bearing } from "./Watcher.js"

type Output<Tag extends FlowControl.Output["_tag"]> = FlowControl.Output & { readonly _tag: Tag }

/** A stream that is opening or open. */
interface OpenStream {
  readonly link: ServerLink
  readonly port: ClientTransport.ClientStream
  /** Encodes the list of names once: in state of the world every ACK repeats it. */
  readonly encoder: ClientRequest.Encoder
  readonly span: StreamSpan
}

/** Who is told of a watch. */
interface Told {
  readonly tell: (output: Output<"Notify">) => void
  /** Whether it was told something that it has not processed. */
  readonly isBusy: () => boolean
  /** Nothing more is told. */
  readonly end: () => void
}

const never = Number.POSITIVE_INFINITY

/**
 * With more resources than this, server texts are redacted only by pattern: comparing with every sensitive value takes
 * too long.
 */
const maxQuoted = 2_000

/** Milliseconds from a change until resources are counted for the metric. */
const countDelay = 5_000

/** Most watchers that are woken in one turn, and inputs that are stepped: the application works then, too. */
const atOnce = 64

/** Why a stream ended. An orderly end counts as UNAVAILABLE for watchers: they have no server now. */
const errorOf = ({ code, message }: Status.Status): ErrorDetail =>
  code === "OK"
    ? { code: Status.codes.UNAVAILABLE, message: "the server ended the stream" }
    : { code: Status.codes[code], message: message === "" ? `the server ended the stream with ${code}` : message }

/** Work of the driver's own, in its turn among the inputs of the core. */
interface Aside {
  readonly _tag: "Aside"
  readonly work: () => void
}

export class Driver {
  private state: FlowControl.FlowControl
  private inputs: Array<FlowControl.Input | Aside> = []
  private stepping = false
  private closed = false
  /** By watcher id. */
  private readonly watchers = new Map<number, Told>()
  private lastWatcher = 0
  /** Watchers that are woken when many outputs are handled; `undefined`: they are woken at once. */
  private waking: Set<{ readonly wake: () => void }> | undefined
  /** Types of which a response was applied, and who wants to know. */
  private readonly answered = new Set<string>()
  private readonly onClosed = new Set<() => void>()
  private readonly onAnswers = new Map<number, { readonly typeUrl: string; readonly onAnswer: () => void }>()
  private readonly streams = new Map<string, OpenStream>()
  /** Streams with a request that was sent in this turn. */
  private unwritten = new Map<string, OpenStream>()
  private readonly observations = new Observations()
  private readonly links: Connections
  private countAt = never

  constructor(
    private readonly environment: Environment,
    options: Parameters<typeof FlowControl.make>[0]
  ) {
    this.state = FlowControl.make(options)
    this.links = new Connections(environment.now)
  }

  /** The status of every resource. */
  dump(): ReadonlyArray<Client.ResourceStatus> {
    return FlowControl.dump(this.state)
  }

  /** The connections to servers. */
  connections(): ReadonlyArray<ServerConnection> {
    return this.links.all
  }

  /** Begins a watch; `*` is a wildcard. */
  watch<A>(type: WatchableType<A>, name: string): Either.Either<Watcher<ResourceEvent<A>>, DecoderConflict> {
    return Either.map(this.withType(type), () => {
      const id = ++this.lastWatcher
      const { later } = this.environment.loop
      const watcher = new Watcher<ResourceEvent<A>>(id, name, () => this.run({ _tag: "Taken", watcher: id }), later)
      const tell = ({ name: at, result }: Output<"Notify">) => {
        const [bearing, event] = eventOf(type, at, result)
        if (event === undefined) return
        if (this.waking === undefined) return watcher.offer(at, bearing, event)
        watcher.put(at, bearing, event)
        this.waking.add(watcher)
      }
      if (this.closed) watcher.end()
      else this.watchers.set(id, { tell, isBusy: () => watcher.busy, end: () => watcher.end() })
      this.run({ _tag: "Watch", watcher: id, typeUrl: type.typeUrl, name })
      return watcher
    })
  }

  /** Adds a type. */
  withType(type: WatchableType<unknown>): Either.Either<void, DecoderConflict> {
    return Either.map(FlowControl.withDecoder(this.state, type.decoder), (state) => {
      this.state = state
    })
  }

  /** A new claim: keys of a type that belong to an owner beside its resources. No keys give it up. */
  claim(): (typeUrl: string, owner: string, keys: ReadonlyArray<string>) => void {
    const claim = ++this.lastWatcher
    return (typeUrl, owner, keys) => this.run({ _tag: "Own", typeUrl, claim, owner, keys })
  }

  /**
   * Begins a watch whose events are processed at once, by a function that must not throw.
   *
   * @param onEvent with the name in the resource itself, which is another than the watched one if that is an alias
   */
  listen<A>(
    type: WatchableType<A>,
    name: string,
    onEvent: (event: ResourceEvent<A>, ownName: string) => void
  ): Either.Either<number, DecoderConflict> {
    return Either.map(this.withType(type), () => {
      const id = ++this.lastWatcher
      const tell = ({ name: at, result }: Output<"Notify">) => {
        const [, event] = eventOf(type, at, result)
        if (event !== undefined) onEvent(event, result._tag === "Updated" ? result.ownName : at)
        this.run({ _tag: "Taken", watcher: id })
      }
      this.watchers.set(id, { tell, isBusy: () => false, end: () => undefined })
      this.run({ _tag: "Watch", watcher: id, typeUrl: type.typeUrl, name })
      return id
    })
  }

  /** Calls a function, which must not throw, after each response of a type that was applied, when all its events were told; and once if there was one. */
  listenForAnswers(typeUrl: string, onAnswer: () => void): number {
    const id = ++this.lastWatcher
    this.onAnswers.set(id, { typeUrl, onAnswer })
    // ★ In its turn: who is told of much when a watch begins is told of it in several turns.
    if (this.answered.has(typeUrl)) this.aside(() => (this.onAnswers.has(id) ? onAnswer() : undefined))
    return id
  }

  /** Does work in its turn: when what the inputs before it bring was told, however many turns that takes. It must not throw. */
  aside(work: () => void): void {
    this.run({ _tag: "Aside", work })
  }

  /** Those of which a response was applied. */
  answeredTypes(): ReadonlySet<string> {
    return new Set(this.answered)
  }

  /** Calls a function, which must not throw, when the client ends, or at once if it has ended. The result takes it back. */
  listenForEnd(onEnd: () => void): () => void {
    if (this.closed) onEnd()
    else this.onClosed.add(onEnd)
    return () => void this.onClosed.delete(onEnd)
  }

  /** Passes an input to the core. */
  pass(input: FlowControl.Input & { readonly _tag: "Refresh" }): void {
    this.run(input)
  }

  unwatch(id: number): void {
    this.onAnswers.delete(id)
    if (this.watchers.delete(id)) this.run({ _tag: "Unwatch", watcher: id })
  }

  /** Called by the alarm at the deadline. */
  onDeadline(): void {
    const now = this.environment.now()
    if (now >= this.countAt) {
      this.countAt = never
      this.observations.resources(this.dump())
    }
    this.run({ _tag: "Deadline" })
  }

  /** Ends all streams and watches. */
  close(): void {
    this.closed = true
    for (const { end } of this.watchers.values()) end()
    this.watchers.clear()
    for (const onEnd of this.onClosed) onEnd()
    this.onClosed.clear()
    for (const key of Array.from(this.streams.keys())) this.forget(key, "the client ends", true)
  }

  /** Steps the core until no inputs are left. Others wait in order while a long response is worked on. */
  private run(first: FlowControl.Input | Aside): void {
    if (this.closed) return
    this.inputs.push(first)
    if (this.stepping) return
    this.stepping = true
    this.goOn()
  }

  private goOn(): void {
    let left = atOnce
    let slice: Slices.Slice | undefined
    for (let input = this.inputs.shift(); input !== undefined; input = this.inputs.shift()) {
      if (!this.take(input)) return
      if (this.inputs.length === 0) continue
      slice ??= Slices.begin(this.environment.loop)
      if (--left === 0 || slice.isOver()) return this.goOnLater(() => true)
    }
    this.stepping = false
    this.setAlarm()
  }

  /** Works in a later turn; if the work is done then, the next inputs follow. */
  private goOnLater(work: () => boolean): void {
    this.environment.loop.later(() => {
      if (!this.closed && work()) this.goOn()
    })
  }

  /** `false`: the rest is done in later turns, which then go on with the next input. */
  private take(input: FlowControl.Input | Aside): boolean {
    if (input._tag === "Aside") {
      input.work()
      return true
    }
    if (input._tag === "Response") {
      const large = LargeResources.decode(this.state.client, input)
      return large === undefined ? this.receive(input) : this.inSlices(large, (decoded) => this.receive(decoded))
    }
    // It was told something since. Then it says again that it has processed all.
    if (input._tag === "Taken" && this.watchers.get(input.watcher)?.isBusy() === true) return true
    const now = this.environment.now()
    return this.follow(FlowControl.step(this.state, input, now), now)
  }

  private receive(input: FlowControl.Input & { readonly _tag: "Response" }): boolean {
    const now = this.environment.now()
    const long = FlowControl.stepInSteps(this.state, input, now)
    if (long === undefined) return this.follow(FlowControl.step(this.state, input, now), now)
    return this.inSlices(long, ([state, outputs]) =>
      // Types may have been added meanwhile.
      this.follow([FlowControl.withDecodersOf(state, this.state), outputs], now)
    )
  }

  /** Works for a while, and ends the work if all is done; `false`: the rest is done in later turns, which then go on. */
  private inSlices<A extends object>(work: Steps.Steps<A>, end: (result: A) => boolean): boolean {
    const done = Slices.some(this.environment.loop, work)
    if (done !== undefined) return end(done)
    this.goOnLater(() => this.inSlices(work, end))
    return false
  }

  /** The state after a step, and what is to be done then. */
  private follow([state, outputs]: ReturnType<typeof FlowControl.step>, now: number): boolean {
    this.state = state
    // Counting visits every resource, so it is delayed and not done at every change.
    if (this.countAt === never && outputs.length > 0) this.countAt = now + countDelay
    if (outputs.length > atOnce) return this.inSlices(this.handling(outputs), () => this.wake())
    for (const output of outputs) this.attempt(output)
    return true
  }

  /** Handles many outputs. Watchers are woken after all of them: one may be told of thousands of resources. */
  private *handling(outputs: ReadonlyArray<FlowControl.Output>): Steps.Steps<object> {
    const waking = new Set<{ readonly wake: () => void }>()
    this.waking = waking
    yield* Steps.each(outputs, (output) => this.attempt(output))
    return waking
  }

  /** Wakes watchers, not many in one turn; `false`: the others follow in later turns, which then go on. */
  private wake(): boolean {
    let left = atOnce
    for (const watcher of this.waking ?? []) {
      if (left-- === 0) {
        this.goOnLater(() => this.wake())
        return false
      }
      this.waking?.delete(watcher)
      watcher.wake()
    }
    this.waking = undefined
    return true
  }

  private setAlarm(): void {
    const at = Math.min(FlowControl.deadline(this.state), this.countAt)
    this.environment.alarm(this.closed ? never : at)
  }

  /**
   * Executes an output, which may call a transport. If that throws, its stream ends: other streams go on, and the core
   * learns of the end and retries.
   */
  private attempt(output: FlowControl.Output): void {
    try {
      this.handle(output)
    } catch (cause) {
      const key = "stream" in output ? output.stream : undefined
      const message = this.blame(key, output._tag, cause)
      if (key !== undefined) this.ended(key, { code: Status.codes.INTERNAL, message }, true)
    }
  }

  private blame(key: string | undefined, what: string, cause: unknown): string {
    const address = key === undefined ? "the client" : this.addressOf(key)
    const message = `${what} failed in the transport: ${Reason.of(cause)}`
    this.environment.log(LogLevel.Error, `defect ${address} ${what}`, `${address}: ${message}`, Cause.die(cause))
    return message
  }

  private handle(output: FlowControl.Output): void {
    const { environment, observations } = this
    const warn = (subject: string, message: string) => environment.log(LogLevel.Warning, subject, message)
    switch (output._tag) {
      case "Connect":
        return this.connect(output)
      case "Close":
        this.forgetInputs(output.stream)
        return this.forget(output.stream, "not needed any more", true)
      case "Send":
        return this.send(output)
      case "Read":
        return this.streams.get(output.stream)?.port.next()
      case "Notify":
        for (const id of output.watchers) this.watchers.get(id)?.tell(output)
        return
      case "Received": {
        const { error, stream, typeUrl, validation, version } = output
        const address = this.addressOf(stream)
        observations.received(address, typeUrl, validation)
        this.answered.add(typeUrl)
        for (const each of this.onAnswers.values()) if (each.typeUrl === typeUrl) each.onAnswer()
        if (error === undefined) return
        const what = `${ResourceType.shortNameOf(typeUrl)} version ${JSON.stringify(version)} from ${address}`
        return warn(`NACK ${address} ${typeUrl} ${error.message}`, `${what} is rejected: ${error.message}`)
      }
      case "Stuck": {
        const { names, typeUrl } = output
        observations.stuck(typeUrl, names.length)
        const quoted = names.slice(0, 3).map((name) => JSON.stringify(name))
        return warn(
          `stuck ${typeUrl}`,
          `a watcher of ${ResourceType.shortNameOf(typeUrl)} ${quoted.join(", ")} did not come back within ` +
            `${this.state.watcherTimeout / 1_000} s; reading goes on without it, and it will be told the last state only`
        )
      }
      case "Responsive":
        return observations.answered(this.addressOf(output.stream))
      case "Failed": {
        const address = this.addressOf(output.stream)
        observations.failed(address)
        const seconds = Math.max(0, output.retryAt - environment.now()) / 1_000
        const { message } = output.error
        return warn(
          `failed ${address} ${message}`,
          `no xDS from ${address}: ${message}; the next try is in ${seconds.toFixed(1)} s`
        )
      }
      case "Switched": {
        const address = environment.servers.get(output.server.id)?.address ?? output.server.id
        const what = output.authority === undefined ? "resources" : `resources of ${JSON.stringify(output.authority)}`
        return warn(`switched ${address}`, `${what} are asked of ${address} now`)
      }
      case "Violation":
        return warn(
          `violation ${output.stream} ${output.reason}`,
          `${this.addressOf(output.stream)} breaks the protocol: ${output.message}`
        )
    }
  }

  private addressOf(key: string): string {
    return (
      this.streams.get(key)?.link.address ?? this.environment.servers.get(key.split(" ", 1)[0] ?? key)?.address ?? key
    )
  }

  // Streams.

  private connect({ server, stream: key, typeUrl }: Output<"Connect">): void {
    const link = this.environment.servers.get(server.id)
    if (link === undefined) return
    const { protocol } = server
    this.links.connecting(link.address)
    const span = this.environment.span({
      "xds.server": link.address,
      "xds.protocol": protocol,
      "xds.service": typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(typeUrl)
    })
    // A transport may still call for a stream that was ended.
    const isCurrent = (): boolean => this.streams.get(key) === open
    const port = link.channel.open(
      { protocol, typeUrl },
      {
        onOpen: () => {
          if (!isCurrent()) return
          this.links.connected(link.address)
          this.run({ _tag: "Connected", stream: key })
        },
        onMessage: (message) => {
          if (isCurrent()) this.onMessage(key, protocol, message)
        },
        onEnd: (status) => {
          if (isCurrent()) this.ended(key, this.shown().of(errorOf(status)), false)
        }
      }
    )
    const open: OpenStream = { link, port, encoder: new ClientRequest.Encoder(), span }
    this.streams.set(key, open)
  }

  /**
   * Sends a request and reports `Written` at the end of the turn: ten thousand watches begun together cause two
   * requests, not ten thousand with ever longer lists.
   */
  private send({ request, stream: key }: Output<"Send">): void {
    const open = this.streams.get(key)
    if (open === undefined) return
    open.port.send(open.encoder.encode(request))
    if (this.unwritten.size === 0) this.environment.loop.soon(() => this.onWritten())
    this.unwritten.set(key, open)
  }

  private onWritten(): void {
    const { unwritten } = this
    this.unwritten = new Map()
    for (const [key, open] of unwritten) {
      if (this.streams.get(key) === open) this.run({ _tag: "Written", stream: key })
    }
  }

  private onMessage(key: string, protocol: Protocol, message: Uint8Array): void {
    const decoded = ClientResponse.decode(protocol, message)
    const address = this.addressOf(key)
    if (Either.isRight(decoded)) {
      this.observations.answered(address)
      const { right: response } = decoded
      const shown = this.shown()
      const errors = response.errors.map(({ error, name }) => ({ name, error: shown.of(error) }))
      const said = errors.length === 0 ? response : { ...response, errors }
      return this.run({ _tag: "Response", stream: key, response: said })
    }
    this.environment.log(LogLevel.Warning, `malformed ${address}`, `${address}: ${decoded.left.message}; stream ended`)
    this.ended(key, { code: Status.codes.INTERNAL, message: decoded.left.message }, true)
  }

  /** Redacts what a server says first: an error text may quote a sensitive field of a resource. */
  private shown(): ServerText {
    return new ServerText(() => (FlowControl.size(this.state) > maxQuoted ? [] : this.dump()))
  }

  /** A stream ended. `end`: this client ended it, so the transport must end it too. */
  private ended(key: string, error: ErrorDetail, end: boolean): void {
    this.links.ended(this.addressOf(key), error.message)
    this.forget(key, error.message, end)
    this.run({ _tag: "Ended", stream: key, error, random: this.environment.random() })
  }

  /** Forgets what a stream said that is not stepped yet. The next stream may have the same key. */
  private forgetInputs(key: string): void {
    const { inputs } = this
    if (inputs.length > 0) this.inputs = inputs.filter((input) => !("stream" in input) || input.stream !== key)
  }

  /** Forgets a stream: later calls of its transport are ignored. */
  private forget(key: string, reason: string, end: boolean): void {
    const open = this.streams.get(key)
    if (open === undefined) return
    this.streams.delete(key)
    try {
      if (end) open.port.end()
    } catch (cause) {
      this.blame(key, "End", cause)
    }
    open.span.end(reason)
  }
}

const eventOf = <A>(
  type: WatchableType<A>,
  name: string,
  result: Output<"Notify">["result"]
): readonly [Bearing, ResourceEvent<A> | undefined] => {
  switch (result._tag) {
    case "Updated": {
      const opened = type.open(result.value)
      return ["State", opened && { _tag: "Updated", name, value: opened.value, version: result.version }]
    }
    case "DoesNotExist":
      return ["Gone", { _tag: "DoesNotExist", name, error: result.error }]
    case "Error":
      return ["State", { _tag: "Error", name, error: result.error }]
    case "AmbientError":
      return ["Ambient", { _tag: "AmbientError", name, error: result.error }]
    case "Recovered":
      return ["Recovered", { _tag: "Recovered", name }]
  }
}
