/** What the options of a server say, with defaults filled in. */
import * as ByteBudget from "@effect-xds/transport-node/ByteBudget"
import * as Milliseconds from "@effect-xds/transport-node/Milliseconds"
import type * as Duration from "effect/Duration"
import type * as RestType from "../RestType.js"
import type * as DiscoveryRequest from "./DiscoveryRequest.js"
import type * as RequestBody from "./RequestBody.js"
import type * as Sessions from "./Sessions.js"

/**
 * How polls are answered, and what is bounded. Everything has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * How long every poll is held while nothing changed, before it is answered with 304 (long polling). Default: 0, it
   * is answered at once. A request may ask for another time: with the query `?wait=30` or the header
   * `Prefer: wait=30`, in seconds. However long, it is three quarters of `x-envoy-expected-rq-timeout-ms` at most, so
   * that the answer reaches an Envoy in time.
   */
  readonly wait?: Duration.DurationInput | undefined
  /** Longest that a poll is held, whoever asks for it. Default: 1 minute. */
  readonly maxWait?: Duration.DurationInput | undefined
  /**
   * How long the first poll of a client waits for the server: while its group is looked for, and while that is
   * not set. Then it is answered with 503. Default: 5 seconds.
   */
  readonly answerTimeout?: Duration.DurationInput | undefined
  /**
   * How long after its last poll a client is forgotten; if it polls later it is sent everything, whatever
   * version it quotes. To be longer than the slowest client's `refresh_delay`. Default: 10 minutes.
   */
  readonly idleTimeout?: Duration.DurationInput | undefined
  /**
   * Sessions: one for each client, type and list of names. More end those that were not polled for the longest time;
   * if none can be ended, polls are answered with 503. Default 50 000.
   */
  readonly maxSessions?: number | undefined
  /** Polls that are held at a time; more are answered at once, as without long polling. Default 20 000. */
  readonly maxHeld?: number | undefined
  /** Requests at a time, with those that are held; more are answered with 503. Default 30 000. */
  readonly maxRequests?: number | undefined
  /** The largest body of a request in bytes; a larger one is answered with 413. Default 4 194 304; an Envoy's has 77 KB. */
  readonly maxRequestBytes?: number | undefined
  /**
   * Values in a JSON body: members, elements, objects and arrays; with more it is answered with 413. They are
   * read in turns, but held all at a time. Protobuf bodies have no such limit. Default 20 000: an Envoy's node has 6000.
   */
  readonly maxJsonValues?: number | undefined
  /** Names in a request; with more it is answered with 429. Default 100 000, as that of the server. */
  readonly maxNames?: number | undefined
  /**
   * Bytes that clients make this transport hold, of all together: bodies that are not complete or not read yet, and names and
   * headers of sessions, idle or not. When there are more, the session that nobody polled for the longest time ends, and if
   * none is idle the oldest. Default 268 435 456.
   */
  readonly maxClientBytes?: number | undefined
  /** How long a body may take to come; then it is answered with 408. Default: 10 seconds. */
  readonly bodyTimeout?: Duration.DurationInput | undefined
  /** Bytes from which on a response is compressed where the client accepts gzip. Default 1024. */
  readonly compressFrom?: number | undefined
  /**
   * Takes JSON requests with fields that this version does not know. Default `false`: they are answered with 400, which
   * names the field.
   */
  readonly ignoreUnknownFields?: boolean | undefined
  /**
   * Headers by which clients are told apart, besides node, address and certificate: a poll that differs in one is of
   * another client, whose group is asked for. Name all that `group` looks at. Default:
   * `authorization`, `cookie`, `x-api-key`, `x-forwarded-client-cert`, `x-forwarded-for`.
   */
  readonly identityHeaders?: ReadonlyArray<string> | undefined
  /**
   * Types that are served beside those of the table. Their resources are bytes in the store (`isUnknownType` of
   * `Snapshot.resource`); a client that wants JSON of one without a registry is answered with 500. Default: none.
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

/** With the defaults. */
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
