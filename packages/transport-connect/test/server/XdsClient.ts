/**
 * An xDS client on a bare HTTP/2 stream, of either protocol: it does by itself only what every client does, which is to
 * name its node first and to remember nonces and names.
 */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import type { Request } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Effect, Queue } from "effect"
import type { ClientHttp2Session, IncomingHttpHeaders } from "node:http2"
import * as Http2Client from "../Http2Client.js"
import { adsPath, deltaPath, frame } from "../RecordingServer.js"
import { group } from "./ControlPlane.js"

export type Protocol = Request.Protocol

export const protocols: ReadonlyArray<Protocol> = ["StateOfTheWorld", "Incremental"]

/** A response. */
export interface Received {
  readonly typeUrl: string
  readonly nonce: string
  readonly version: string
  readonly names: ReadonlyArray<string>
  readonly removed: ReadonlyArray<string>
  /** The resources themselves. */
  readonly values: ReadonlyArray<Uint8Array>
}

/** A request of either protocol; names are the whole list in state of the world. */
interface Message {
  readonly typeUrl?: string
  readonly node?: string | undefined
  readonly group?: string
  readonly names?: Iterable<string>
  readonly unsubscribe?: Iterable<string>
  readonly version?: string
  readonly nonce?: string
  readonly error?: string
  /** Incremental: name → version of what it has from before. */
  readonly held?: Readonly<Record<string, string>>
}

/** The bytes of a request. */
export const encode = (protocol: Protocol, message: Message): Uint8Array => {
  const { error, held = {}, names = [], node, nonce = "", typeUrl = "", unsubscribe = [], version = "" } = message
  const base = {
    typeUrl,
    responseNonce: nonce,
    ...(node !== undefined && { node: create(NodeSchema, { id: node, cluster: message.group ?? group }) }),
    ...(error !== undefined && { errorDetail: { code: 13, message: error } })
  }
  return protocol === "StateOfTheWorld"
    ? toBinary(
        DiscoveryRequestSchema,
        create(DiscoveryRequestSchema, { ...base, versionInfo: version, resourceNames: [...names] })
      )
    : toBinary(
        DeltaDiscoveryRequestSchema,
        create(DeltaDiscoveryRequestSchema, {
          ...base,
          initialResourceVersions: held,
          resourceNamesSubscribe: [...names],
          resourceNamesUnsubscribe: [...unsubscribe]
        })
      )
}

const nameOf = ({ value }: Any): string => ResourceType.nameOfBytes(value) ?? ""

/** What a response says. */
export const decode = (protocol: Protocol, bytes: Uint8Array): Received => {
  if (protocol === "StateOfTheWorld") {
    const { nonce, resources, typeUrl, versionInfo: version } = fromBinary(DiscoveryResponseSchema, bytes)
    const values = resources.map(({ value }) => value)
    return { typeUrl, nonce, version, names: resources.map(nameOf).sort(), removed: [], values }
  }
  const message = fromBinary(DeltaDiscoveryResponseSchema, bytes)
  return {
    typeUrl: message.typeUrl,
    nonce: message.nonce,
    version: message.systemVersionInfo,
    names: message.resources.map(({ name }) => name).sort(),
    removed: message.removedResources.toSorted(),
    values: message.resources.map(({ resource }) => resource?.value ?? new Uint8Array())
  }
}

interface Options {
  /** Default: that of the aggregated service. */
  readonly path?: string
  readonly node?: string
  readonly group?: string
  /** Default `true`. */
  readonly read?: boolean
}

/** What a client knows of one type. */
interface Interest {
  readonly names: Set<string>
  nonce: string
  version: string
}

export class XdsClient {
  readonly call: Http2Client.Call
  readonly #inbox = Effect.runSync(Queue.unbounded<Received>())
  readonly #interests = new Map<string, Interest>()
  #named = false
  #probes = 0
  #rest: Buffer = Buffer.alloc(0)

  constructor(
    session: ClientHttp2Session,
    readonly protocol: Protocol,
    private readonly options: Options = {}
  ) {
    const path = options.path ?? (protocol === "StateOfTheWorld" ? adsPath : deltaPath)
    this.call = Http2Client.open(session, { ":path": path }, { read: false })
    if (options.read !== false) this.read()
  }

  /** Starts to read, if it did not. */
  read(): void {
    this.call.stream.on("data", (chunk: Buffer) => {
      let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
      while (bytes.length >= 5 && bytes.length >= 5 + bytes.readUInt32BE(1)) {
        const end = 5 + bytes.readUInt32BE(1)
        this.#inbox.unsafeOffer(decode(this.protocol, bytes.subarray(5, end)))
        bytes = bytes.subarray(end)
      }
      this.#rest = bytes
    })
  }

  /** The next response; dies if there is none for two minutes. */
  readonly receive: Effect.Effect<Received> = Queue.take(this.#inbox).pipe(
    Effect.tap(({ nonce, typeUrl, version }) =>
      Effect.sync(() => Object.assign(this.#interest(typeUrl), { nonce, version }))
    ),
    Effect.timeoutFail({ duration: "2 minutes", onTimeout: () => new Error("there was no response for two minutes") }),
    Effect.orDie
  )

  /** How the stream was ended: code and words. */
  readonly ended: Effect.Effect<{ readonly code: number; readonly message: string }> = Effect.promise(() =>
    this.call.closed.then(statusOf)
  )

  /**
   * What else was to be sent by now: asks for a type that nobody has, which is answered at once and after everything
   * else, and gives what came before that answer.
   */
  readonly settle: Effect.Effect<ReadonlyArray<Received>> = Effect.gen(this, function* () {
    const probe = `type.googleapis.com/test.Probe${++this.#probes}`
    this.send({ typeUrl: probe })
    const before: Array<Received> = []
    for (;;) {
      const received = yield* this.receive
      if (received.typeUrl === probe) return before
      before.push(received)
    }
  })

  /** Sends a request as it is, but for the node in the first one. */
  send(message: Message): void {
    this.write(this.#encode(message))
  }

  /** Sends the bytes of a request. */
  write(...requests: ReadonlyArray<Uint8Array>): void {
    this.call.stream.write(Buffer.concat(requests.map((request) => frame(request))))
  }

  /** Asks for names, or with none, as the first request of a type, for everything. */
  subscribe(typeUrl: string, names: Iterable<string> = []): void {
    this.write(this.subscription(typeUrl, names))
  }

  /** The request that `subscribe` would send. */
  subscription(typeUrl: string, names: Iterable<string> = []): Uint8Array {
    const interest = this.#interest(typeUrl)
    for (const name of names) interest.names.add(name)
    const { nonce, version } = interest
    return this.protocol === "StateOfTheWorld"
      ? this.#encode({ typeUrl, names: interest.names, nonce, version })
      : this.#encode({ typeUrl, names })
  }

  unsubscribe(typeUrl: string, names: Iterable<string>): void {
    const interest = this.#interest(typeUrl)
    for (const name of names) interest.names.delete(name)
    const { nonce, version } = interest
    if (this.protocol === "StateOfTheWorld") this.send({ typeUrl, names: interest.names, nonce, version })
    else this.send({ typeUrl, unsubscribe: names })
  }

  ack({ nonce, typeUrl, version }: Received): void {
    this.#reply(typeUrl, { nonce, version })
  }

  nack({ nonce, typeUrl }: Received, error: string): void {
    this.#reply(typeUrl, { nonce, error })
  }

  #reply(typeUrl: string, message: Message): void {
    const names = this.protocol === "StateOfTheWorld" ? this.#interest(typeUrl).names : []
    this.send({ typeUrl, names, ...message })
  }

  #interest(typeUrl: string): Interest {
    const interest = this.#interests.get(typeUrl) ?? { names: new Set(), nonce: "", version: "" }
    this.#interests.set(typeUrl, interest)
    return interest
  }

  #encode(message: Message): Uint8Array {
    const node = this.#named ? undefined : (this.options.node ?? "client")
    this.#named = true
    return encode(this.protocol, {
      node,
      ...(this.options.group !== undefined && { group: this.options.group }),
      ...message
    })
  }
}

/** The status in headers or trailers. */
export const statusOf = (headers: IncomingHttpHeaders): { readonly code: number; readonly message: string } => ({
  code: Number(headers["grpc-status"] ?? Number.NaN),
  message: decodeURIComponent(String(headers["grpc-message"] ?? ""))
})
