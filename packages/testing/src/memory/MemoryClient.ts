/**
 * A client on a {@link MemoryTransport}: sends requests, receives decoded responses, and gives credit for more.
 *
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import type { Request } from "@effect-xds/core"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { DeltaDiscoveryResponse, DiscoveryResponse } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { BadOption, type ServerTransport, Status } from "@effect-xds/transport"
import { Deferred, Effect, Exit, Mailbox } from "effect"
import { MemoryTransport } from "./MemoryTransport.js"

/**
 * A response as a client received it.
 *
 * @since 0.1.0
 */
export interface Received {
  readonly typeUrl: string
  readonly nonce: string
  readonly version: string
  /** Names of its resources, sorted. */
  readonly names: ReadonlyArray<string>
  /** `removed_resources`, sorted. */
  readonly removed: ReadonlyArray<string>
  readonly message: DiscoveryResponse | DeltaDiscoveryResponse
}

/**
 * The client's end of a stream.
 *
 * @since 0.1.0
 */
export interface Client {
  readonly send: (request: Request.Request) => void
  /** The next response, as soon as there is one. Fails with the status if the stream ended; `CANCELLED` if the client ended it. */
  readonly receive: Effect.Effect<Received, Status.Status>
  /** Number of responses that were sent and not received yet. */
  readonly unread: () => number
  /** Gives credit for more responses. */
  readonly grant: (responses?: number) => void
  /** Ends the stream from the client's side. */
  readonly end: (reason?: string) => void
  /** The status with which the stream ends. */
  readonly ended: Effect.Effect<Status.Status>
}

/**
 * The options of a stream.
 *
 * @since 0.1.0
 */
export interface OpenOptions {
  /** Default: incremental ADS. */
  readonly method?: Partial<ServerTransport.Method> | undefined
  /** Most responses that are sent before {@link Client.grant}; at least 1. Default: no limit. */
  readonly credit?: number | undefined
  readonly peer?: Partial<ServerTransport.Peer> | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}

/** A resource with a TTL is wrapped in a Resource. */
const nameOfAny = ({ typeUrl, value }: Any): string =>
  typeUrl.endsWith(`/${ResourceSchema.typeName}`)
    ? fromBinary(ResourceSchema, value).name
    : (ResourceType.nameOfBytes(value) ?? "")

const receivedOf = (protocol: Request.Protocol, { body, suffix }: ServerTransport.Outgoing): Received => {
  const bytes = new Uint8Array([...body, ...suffix])
  if (protocol === "StateOfTheWorld") {
    const message = fromBinary(DiscoveryResponseSchema, bytes)
    const { nonce, resources, typeUrl, versionInfo: version } = message
    return { typeUrl, nonce, version, names: resources.map(nameOfAny).sort(), removed: [], message }
  }
  const message = fromBinary(DeltaDiscoveryResponseSchema, bytes)
  const { nonce, removedResources, resources, systemVersionInfo: version, typeUrl } = message
  const names = resources.map(({ name }) => name).sort()
  return { typeUrl, nonce, version, names, removed: removedResources.toSorted(), message }
}

/**
 * Opens a stream to the server of the {@link MemoryTransport}. Dies if there is no server.
 *
 * @since 0.1.0
 */
export const open = (options: OpenOptions = {}): Effect.Effect<Client, never, MemoryTransport> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { credit: 1 })
    const transport = yield* MemoryTransport
    const method = { protocol: "Incremental" as const, typeUrl: undefined, unary: false, ...options.method }
    const peer = { address: "memory", identity: undefined, ...options.peer }
    const inbox = yield* Mailbox.make<Received, Status.Status>()
    const ended = yield* Deferred.make<Status.Status>()
    const over = (status: Status.Status): void => {
      inbox.unsafeDone(Exit.fail(status))
      Deferred.unsafeDone(ended, Effect.succeed(status))
    }
    let credit = options.credit ?? Number.POSITIVE_INFINITY
    const link = transport.open(
      { peer, method, headers: options.headers ?? {} },
      {
        onResponse: (outgoing) => {
          if (credit <= 0) throw new Error("written to without credit")
          inbox.unsafeOffer(receivedOf(method.protocol, outgoing))
          return --credit > 0
        },
        onEnd: (status) => {
          over(status)
        }
      }
    )
    if (link === undefined) return yield* Effect.dieMessage("no server serves on this MemoryTransport")
    return {
      send: link.send,
      receive: Effect.catchTag(inbox.take, "NoSuchElementException", Effect.die),
      unread: () => inbox.unsafeSize().pipe((size) => (size._tag === "Some" ? size.value : 0)),
      grant: (responses = 1) => {
        const blocked = credit <= 0
        credit += responses
        if (blocked) link.grant()
      },
      end: (reason = "the client went away") => {
        link.end(reason)
        over(Status.make("CANCELLED", reason))
      },
      ended: Deferred.await(ended)
    }
  })
