/**
 * The driver of a client: feeds the reducer and does what that says, synchronously. It owns the streams and the watchers.
 */
import * as Client from "@effect-xds/core/client/Client"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import type { ErrorDetail, Protocol } from "@effect-xds/core/wire/Request"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as SensitiveFields from "@effect-xds/proto/SensitiveFields"
import type * as ClientTransport from "@effect-xds/transport/ClientTransport"
import type { LogThrottle } from "@effect-xds/transport-node/LogThrottle"
import * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as LogLevel from "effect/LogLevel"
import type * as Tracer from "effect/Tracer"
import type { ResourceEvent } from "../ResourceEvent.js"
import type { WatchableType } from "../WatchableType.js"
import { Observations } from "./Observations.js"
import { Watcher, type Bearing } from "./Watcher.js"

/** A server: how the core knows it, how it is called in words, and the way to it. */
export interface ServerLink {
  readonly server: Client.Server
  readonly address: string
  readonly channel: ClientTransport.Channel
}

export interface Environment {
  /** By the id of the server. */
  readonly servers: ReadonlyMap<string, ServerLink>
  /** Milliseconds that never go back. */
  readonly now: () => number
  readonly random: () => number
  readonly alarm: (at: number) => void
  /** Does work when what runs now is done. */
  readonly soon: (work: () => void) => void
  readonly log: LogThrottle
  readonly span: (attributes: Record<string, unknown>) => Tracer.Span
  readonly nanos: () => bigint
  /** Milliseconds that watchers have to take what a response brought before reading goes on without them. */
  readonly watcherTimeout: number
}

/** A stream that is opening or open. */
interface OpenStream {
  readonly link: ServerLink
  readonly port: ClientTransport.ClientStream
  readonly encoder: ClientRequest.Encoder
  readonly span: Tracer.Span
}

/** A response that is not answered yet, because watchers are at work on it. */
interface Unanswered {
  readonly open: OpenStream
  readonly typeUrl: string
  readonly nonce: string
  readonly until: number
  readonly watchers: Set<number>
}

/** A watcher, and how it is told of values of its type. */
interface Registered {
  readonly typeUrl: string
  readonly name: string
  readonly tell: (name: string, result: Client.Output & { readonly _tag: "Notify" }) => boolean
}

const never = Number.POSITIVE_INFINITY

/** Resources that are looked into when a server says something; more would take too long, and only patterns are left. */
const maxQuoted = 2_000

/** Milliseconds from a change until resources are counted for the metric. */
const countDelay = 5_000

/** Why a stream ended. An orderly end is none of the server's failures, but who waits for a resource has no server now. */
const errorOf = ({ code, message }: Status.Status): ErrorDetail =>
  code === "OK"
    ? { code: Status.codes.UNAVAILABLE, message: "the server ended the stream" }
    : { code: Status.codes[code], message: message === "" ? `the server ended the stream with ${code}` : message }

export class Driver {
  private state: Client.Client
  private readonly inputs: Array<Client.Input> = []
  private stepping = false
  private closed = false
  private readonly types = new Map<string, WatchableType<unknown>>()
  private readonly watchers = new Map<number, Registered>()
  private lastWatcher = 0
  private readonly streams = new Map<string, OpenStream>()
  private readonly unanswered = new Map<string, Unanswered>()
  private readonly observations = new Observations()
  private countAt = never
  /** Watchers that were told something in the present step. */
  private told = new Set<number>()

  constructor(
    private readonly environment: Environment,
    options: Parameters<typeof Client.make>[0]
  ) {
    this.state = Client.make(options)
  }

  /** Brings the metric of resources up to date: all are looked at, so not at every change. */
  private count(): void {
    this.countAt = never
    this.observations.resources(this.dump())
  }

  /** What is known of every resource. */
  dump(): ReadonlyArray<Client.ResourceStatus> {
    return Client.dump(this.state)
  }

  /** Begins a watch; `*`: of everything. Throws for a type that is known with another decoder. */
  watch<A>(type: WatchableType<A>, name: string): Watcher<ResourceEvent<A>> {
    this.learn(type)
    const id = ++this.lastWatcher
    const watcher = new Watcher<ResourceEvent<A>>(id, () => this.onIdle(id))
    const tell = (at: string, { result }: Client.Output & { readonly _tag: "Notify" }): boolean => {
      const [bearing, event] = eventOf(type, at, result)
      if (event === undefined) return false
      watcher.offer(at, bearing, event)
      return true
    }
    this.watchers.set(id, { typeUrl: type.typeUrl, name, tell })
    this.run({ _tag: "Watch", watcher: id, typeUrl: type.typeUrl, name })
    return watcher
  }

  unwatch(id: number): void {
    if (!this.watchers.delete(id)) return
    this.onIdle(id)
    this.run({ _tag: "Unwatch", watcher: id })
  }

  private learn<A>(type: WatchableType<A>): void {
    const known = this.types.get(type.typeUrl)
    if (known === type) return
    if (known !== undefined) {
      throw new Error(`${type.typeUrl} is watched with another decoder already; make one WatchableType and keep it`)
    }
    this.types.set(type.typeUrl, type)
    this.state = Client.withDecoder(this.state, type.decoder)
  }

  /** The deadline has come. */
  onDeadline(): void {
    const now = this.environment.now()
    for (const [key, { typeUrl, until, watchers }] of Array.from(this.unanswered)) {
      if (until > now) continue
      const names = Array.from(watchers, (id) => JSON.stringify(this.watchers.get(id)?.name ?? "")).slice(0, 3)
      const seconds = this.environment.watcherTimeout / 1000
      this.environment.log(
        LogLevel.Warning,
        `stuck ${typeUrl}`,
        `a watcher of ${ResourceType.shortNameOf(typeUrl)} ${names.join(", ")} did not come back within ${seconds} s; ` +
          `reading goes on without it, and it will be told the last state only`
      )
      this.observations.stuck(typeUrl, watchers.size)
      this.answer(key)
    }
    if (now >= this.countAt) this.count()
    this.run({ _tag: "Deadline" })
  }

  /** Ends all streams. */
  close(): void {
    this.closed = true
    for (const key of Array.from(this.streams.keys())) this.forget(key, "the client ends", true)
  }

  /** Feeds the reducer until there is nothing left. */
  private run(first: Client.Input): void {
    this.inputs.push(first)
    if (this.stepping || this.closed) return
    this.stepping = true
    for (let input = this.inputs.shift(); input !== undefined; input = this.inputs.shift()) {
      const now = this.environment.now()
      const [state, outputs] = Client.step(this.state, input, now)
      this.state = state
      if (this.countAt === never && (input._tag !== "Deadline" || outputs.length > 0)) this.countAt = now + countDelay
      this.told = new Set()
      for (const output of outputs) {
        this.attempt("stream" in output ? output.stream : undefined, output._tag, () => this.handle(output))
      }
      // What is not answered, since it was not asked for, must not keep the next one from being read.
      if (input._tag === "Response" && !outputs.some(({ _tag }) => _tag === "Received")) this.next(input.stream)
    }
    this.stepping = false
    this.setAlarm()
  }

  /**
   * Does what may call a transport or the event loop, which are anybody's. What throws is the end of its stream: the others
   * go on, and the reducer is told, so that it tries again.
   */
  private attempt(key: string | undefined, what: string, work: () => void): void {
    try {
      work()
    } catch (cause) {
      const address = key === undefined ? "the client" : this.addressOf(key)
      const message = `${what} failed in the transport or the event loop: ${Reason.of(cause)}`
      this.environment.log(LogLevel.Error, `defect ${address} ${what}`, `${address}: ${message}`, Cause.die(cause))
      if (key === undefined) return
      this.ended(key, { code: Status.codes.INTERNAL, message }, true)
    }
  }

  /** The next response of a stream may come. */
  private next(key: string): void {
    const open = this.streams.get(key)
    if (open !== undefined) this.attempt(key, "Read", () => open.port.next())
  }

  private setAlarm(): void {
    let at = Math.min(Client.deadline(this.state), this.countAt)
    for (const { until } of this.unanswered.values()) at = Math.min(at, until)
    this.environment.alarm(this.closed ? never : at)
  }

  private handle(output: Client.Output): void {
    const { environment } = this
    switch (output._tag) {
      case "Connect":
        return this.connect(output)
      case "Close":
        return this.forget(output.stream, "not needed any more", true)
      case "Send": {
        const open = this.streams.get(output.stream)
        open?.port.send(open.encoder.encode(output.request))
        // A moment later: ten thousand watches that begin together are then two requests, not ten thousand with ever
        // longer lists.
        environment.soon(() => {
          if (open !== undefined && this.streams.get(output.stream) === open) {
            this.run({ _tag: "Written", stream: output.stream })
          }
        })
        return
      }
      case "Notify": {
        for (const id of output.watchers)
          if (this.watchers.get(id)?.tell(output.name, output) === true) this.told.add(id)
        return
      }
      case "Received":
        return this.onReceived(output)
      case "Responsive":
        this.observations.answered(this.addressOf(output.stream))
        return
      case "Failed": {
        const address = this.addressOf(output.stream)
        this.observations.failed(address)
        const seconds = Math.max(0, output.retryAt - environment.now()) / 1000
        const { message } = output.error
        environment.log(
          LogLevel.Warning,
          `failed ${address} ${message}`,
          `no xDS from ${address}: ${message}; the next try is in ${seconds.toFixed(1)} s`
        )
        return
      }
      case "Switched": {
        const address = environment.servers.get(output.server.id)?.address ?? output.server.id
        const what = output.authority === undefined ? "resources" : `resources of ${JSON.stringify(output.authority)}`
        environment.log(LogLevel.Warning, `switched ${address}`, `${what} are asked of ${address} now`)
        return
      }
      case "Violation":
        environment.log(
          LogLevel.Warning,
          `violation ${output.stream} ${output.reason}`,
          `${this.addressOf(output.stream)} breaks the protocol: ${output.message}`
        )
        return
    }
  }

  private addressOf(key: string): string {
    return (
      this.streams.get(key)?.link.address ?? this.environment.servers.get(key.split(" ", 1)[0] ?? key)?.address ?? key
    )
  }

  // Streams.

  private connect({ server, stream: key, typeUrl }: Client.Output & { readonly _tag: "Connect" }): void {
    const link = this.environment.servers.get(server.id)
    if (link === undefined) return
    const { protocol } = server
    const span = this.environment.span({
      "xds.server": link.address,
      "xds.protocol": protocol,
      "xds.service": typeUrl === undefined ? "ADS" : ResourceType.shortNameOf(typeUrl)
    })
    // A stream that was given up may still have something to say.
    const isCurrent = (): boolean => this.streams.get(key) === open
    const port = link.channel.open(
      { protocol, typeUrl },
      {
        onOpen: () => {
          if (isCurrent()) this.run({ _tag: "Connected", stream: key })
        },
        onMessage: (message) => {
          if (isCurrent()) this.onMessage(key, protocol, message)
        },
        onEnd: (status) => {
          if (isCurrent()) this.ended(key, this.withoutSecrets(errorOf(status)), false)
        }
      }
    )
    const open: OpenStream = { link, port, encoder: new ClientRequest.Encoder(), span }
    this.streams.set(key, open)
  }

  private onMessage(key: string, protocol: Protocol, message: Uint8Array): void {
    const decoded = ClientResponse.decode(protocol, message)
    if (Either.isRight(decoded)) {
      this.observations.answered(this.addressOf(key))
      const { right: response } = decoded
      const errors = response.errors.map(({ error, name }) => ({ name, error: this.withoutSecrets(error) }))
      const said = errors.length === 0 ? response : { ...response, errors }
      return this.run({ _tag: "Response", stream: key, response: said })
    }
    const address = this.addressOf(key)
    this.environment.log(LogLevel.Warning, `malformed ${address}`, `${address}: ${decoded.left.message}; stream ended`)
    this.ended(key, { code: Status.codes.INTERNAL, message: decoded.left.message }, true)
  }

  /** Before anything else sees it: what a server says may quote what it sent. */
  private withoutSecrets({ code, message }: ErrorDetail): ErrorDetail {
    const resources = this.dump()
    const secrets =
      resources.length > maxQuoted
        ? []
        : resources.flatMap(({ held, typeUrl }) =>
            held === undefined ? [] : SensitiveFields.values(typeUrl, held.bytes)
          )
    return { code, message: Redaction.values(message, secrets) }
  }

  /** A stream is over. `end`: the transport is to be told, because it was ended here. */
  private ended(key: string, error: ErrorDetail, end: boolean): void {
    this.forget(key, error.message, end)
    this.run({ _tag: "Ended", stream: key, error, random: this.environment.random() })
  }

  /** Nothing is heard of this stream any more. */
  private forget(key: string, reason: string, end: boolean): void {
    const open = this.streams.get(key)
    if (open === undefined) return
    this.streams.delete(key)
    this.unanswered.delete(key)
    if (end) this.attempt(undefined, "End", () => open.port.end())
    open.span.attribute("xds.end", reason)
    open.span.end(this.environment.nanos(), Exit.void)
  }

  // Answers: a response is answered, and the next one read, when the watchers are done with it.

  private onReceived(output: Client.Output & { readonly _tag: "Received" }): void {
    const { error, nonce, stream: key, typeUrl, validation } = output
    const open = this.streams.get(key)
    if (open === undefined) return
    const address = open.link.address
    this.observations.received(address, typeUrl, validation)
    if (error !== undefined) {
      const type = ResourceType.shortNameOf(typeUrl)
      const text = `${type} version ${JSON.stringify(output.version)} from ${address} is rejected: ${error.message}`
      this.environment.log(LogLevel.Warning, `NACK ${address} ${typeUrl} ${error.message}`, text)
    }
    const watchers = this.told
    this.told = new Set()
    this.unanswered.set(key, {
      open,
      typeUrl,
      nonce,
      until: this.environment.now() + this.environment.watcherTimeout,
      watchers
    })
    if (watchers.size === 0) this.answer(key)
  }

  private onIdle(id: number): void {
    for (const [key, { watchers }] of Array.from(this.unanswered)) {
      if (watchers.delete(id) && watchers.size === 0) this.answer(key)
    }
  }

  private answer(key: string): void {
    const waiting = this.unanswered.get(key)
    if (waiting === undefined) return
    this.unanswered.delete(key)
    this.run({ _tag: "Processed", stream: key, typeUrl: waiting.typeUrl, nonce: waiting.nonce })
    if (this.streams.get(key) === waiting.open) this.next(key)
  }
}

const eventOf = <A>(
  type: WatchableType<A>,
  name: string,
  result: (Client.Output & { readonly _tag: "Notify" })["result"]
): readonly [Bearing, ResourceEvent<A> | undefined] => {
  switch (result._tag) {
    case "Updated": {
      const opened = type.open(result.value)
      return ["State", opened && { _tag: "Updated", name, value: opened.value, version: result.version }]
    }
    case "DoesNotExist":
    case "Error":
      return ["State", { _tag: result._tag, name, error: result.error }]
    case "AmbientError":
      return ["Ambient", { _tag: "AmbientError", name, error: result.error }]
    case "Recovered":
      return ["Recovered", { _tag: "Recovered", name }]
  }
}
