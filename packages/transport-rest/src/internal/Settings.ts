/** The options of a server, with defaults. */
import * as ByteBudget from "@effect-xds/transport-node/ByteBudget"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import * as BadOption from "@effect-xds/transport/BadOption"
import type * as Duration from "effect/Duration"
import type * as RestType from "../RestType.js"
import type * as DiscoveryRequest from "./DiscoveryRequest.js"
import type * as RequestBody from "./RequestBody.js"
import type * as Sessions from "./Sessions.js"

/**
 * Options for answering polls, and limits. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * How long a poll is held while nothing changed, before it is answered with 304 (long polling). Default: 0, it is
   * answered at once. A request may ask for another time, in seconds, with the query `?wait=30` or the header `Prefer:
   * wait=30`. The time is at most three quarters of `x-envoy-expected-rq-timeout-ms`, so that the answer reaches an
   * Envoy in time.
   */
  readonly wait?: Duration.DurationInput | undefined
  /** The longest time that a poll is held, whatever the request asks for. Default: 1 minute. */
  readonly maxWait?: Duration.DurationInput | undefined
  /**
   * How long the first poll of a client waits for its group: to be found, and to be set in the store. After that it is
   * answered with 503. Default: 5 seconds.
   */
  readonly answerTimeout?: Duration.DurationInput | undefined
  /**
   * How long after its last poll a client's session is kept. A later poll gets everything, whatever version it quotes.
   * It must be longer than the slowest client's `refresh_delay`. Default: 10 minutes.
   */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /**
   * The most sessions: one per client, type and list of names. Above it the session that was not polled for the longest
   * time ends; if none is idle, polls are answered with 503. Default 50 000.
   */
  readonly maxSessions?: number | undefined
  /** The most held polls; further ones are answered at once, as without long polling. Default 20 000. */
  readonly maxHeld?: number | undefined
  /** The most requests at a time, held ones included; further ones are answered with 503. Default 30 000. */
  readonly maxRequests?: number | undefined
  /** The largest body of a request in bytes; a larger one is answered with 413. Default 4 194 304; an Envoy's has 77 KB. */
  readonly maxRequestBytes?: number | undefined
  /**
   * The most values in a JSON body: members, elements, objects and arrays; above it the answer is 413. They are parsed
   * in time slices, but held in memory together. Protobuf bodies have no such limit. Default 20 000: an Envoy's node
   * has 6000.
   */
  readonly maxJsonValues?: number | undefined
  /** The most names in a request; above it the answer is 429. Default 100 000, as in the server. */
  readonly maxNames?: number | undefined
  /**
   * The most bytes that all clients together make this transport hold: incomplete and unread bodies, and the names and
   * headers of sessions. Above it the session that was not polled for the longest time ends, and if none is idle the
   * oldest. Default 268 435 456.
   */
  readonly maxClientBytes?: number | undefined
  /** How long a body may take to arrive; after that the answer is 408. Default: 10 seconds. */
  readonly bodyTimeout?: Duration.DurationInput | undefined
  /** Responses from this size, in bytes, are compressed if the client accepts gzip. Default 1024. */
  readonly compressFrom?: number | undefined
  /**
   * Whether JSON requests with unknown fields are accepted. Default `false`: the answer is 400 and names the field.
   */
  readonly ignoreUnknownFields?: boolean | undefined
  /**
   * Headers that identify a client, beside node, address and certificate: a poll that differs in one belongs to another
   * client, and its group is determined anew. Name all headers that `group` reads. Default: `authorization`, `cookie`,
   * `x-api-key`, `x-forwarded-client-cert`, `x-forwarded-for`.
   */
  readonly identityHeaders?: ReadonlyArray<string> | undefined
  /**
   * Further types beside those of the table. Their resources are bytes in the store (`isUnknownType` of
   * `Snapshot.resource`). Without a registry, a client that wants JSON is answered with 500. Default: none.
   */
  readonly types?: ReadonlyArray<RestType.RestType> | undefined
}

/** Durations are in milliseconds. */
export interface Settings extends Sessions.Limits, RequestBody.Limits, DiscoveryRequest.Limits {
  readonly wait: number
  readonly maxWait: number
  readonly answerTimeout: number
  readonly maxRequests: number
  readonly compressFrom: number
  readonly maxClientBytes: number
  readonly identityHeaders: ReadonlyArray<string>
  readonly types: ReadonlyArray<RestType.RestType>
}

/** Why the options cannot be had; `undefined`: they can. */
export const wrongWith = (options: Options): string | undefined =>
  BadOption.find(options, {
    wait: 0,
    maxWait: 0,
    answerTimeout: 0,
    idleTimeout: 0,
    bodyTimeout: 0,
    maxSessions: 0,
    maxHeld: 0,
    maxRequests: 0,
    maxRequestBytes: 0,
    maxJsonValues: 0,
    maxNames: 0,
    maxClientBytes: 0,
    compressFrom: 0
  })?.message

/** The options with their defaults. */
export const of = (options: Options): Settings => ({
  wait: Milliseconds.of(options.wait, 0),
  maxWait: Milliseconds.of(options.maxWait, "1 minute"),
  answerTimeout: Milliseconds.of(options.answerTimeout, "5 seconds"),
  idleTimeout: Milliseconds.of(options.idleTimeout, "10 minutes"),
  maxSessions: options.maxSessions ?? 50_000,
  maxHeld: options.maxHeld ?? 20_000,
  maxRequests: options.maxRequests ?? 30_000,
  maxRequestBytes: options.maxRequestBytes ?? 4 * 1024 * 1024,
  maxJsonValues: options.maxJsonValues ?? 20_000,
  maxNames: options.maxNames ?? 100_000,
  rememberedBytes: 16 * 1024 * 1024,
  maxClientBytes: options.maxClientBytes ?? ByteBudget.defaultLimit,
  bodyTimeout: Milliseconds.of(options.bodyTimeout, "10 seconds"),
  compressFrom: options.compressFrom ?? 1024,
  ignoreUnknownFields: options.ignoreUnknownFields ?? false,
  identityHeaders: options.identityHeaders ?? [
    "authorization",
    "cookie",
    "x-api-key",
    "x-forwarded-client-cert",
    "x-forwarded-for"
  ],
  types: options.types ?? []
})
