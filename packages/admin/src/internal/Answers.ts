/** The answers of the admin port, for any HTTP server. */
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { Client, GroupReport } from "@effect-xds/server"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import type { Answer } from "@effect-xds/transport-node/HttpListener"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as PrometheusText from "../PrometheusText.js"
import type { GroupStatus } from "../StatusReport.js"
import * as StatusReport from "../StatusReport.js"
import * as StatusTable from "../StatusTable.js"
import * as ConfigDump from "./ConfigDump.js"
import * as Sorting from "./Sorting.js"

/**
 * Options for the answers. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Why the control plane is not ready; empty if it is. Default: it is ready as soon as it serves. */
  readonly notReady?: Effect.Effect<ReadonlyArray<string>> | undefined
  /** Further members of `/status`, written as JSON. Default: none. */
  readonly details?: Effect.Effect<Readonly<Record<string, unknown>>> | undefined
  /**
   * The most answers of `/metrics`, `/status` and `/config_dump` written at a time; further requests of them are refused
   * with 503. Probes and other short answers do not count. Default 16.
   */
  readonly maxRequests?: number | undefined
}

const paths = ["/healthz", "/readyz", "/metrics", "/status", "/config_dump"]

/** Characters of a client's text that an answer repeats. */
export const longest = 200

/** A plain-text answer. */
export const text = (status: number, body: string): Answer => ({
  status,
  headers: { "content-type": "text/plain" },
  body: `${body}\n`
})

/** Pieces are joined up to this many characters: an HTTP chunk per resource would cost more than the resource. */
const pieceSize = 16_384

async function* inPieces(parts: AsyncIterable<string> | Iterable<string>): AsyncGenerator<string> {
  let piece = ""
  // Clients of the control plane must not wait for a large answer. There may be no piece in a slice.
  const pause = Slices.pauses(EventLoop.process)
  for await (const part of parts) {
    piece += part
    if (piece.length >= pieceSize) {
      yield piece
      piece = ""
    }
    const wait = pause()
    if (wait !== undefined) await wait
  }
  if (piece !== "") yield piece
}

const json = (parts: AsyncIterable<string> | Iterable<string>): Answer => ({
  status: 200,
  headers: { "content-type": "application/json" },
  body: inPieces(parts)
})

const wordsOf = ({ omitted, rules }: GroupReport.Broken): ReadonlyArray<string> => {
  const words = rules.map(({ message }) => message)
  return omitted === 0 ? words : [...words, `and ${omitted} more`]
}

const groupOf = (store: SnapshotStore.Service, group: string): Effect.Effect<GroupStatus> =>
  Effect.map(store.get(group), (found) => {
    const stored = Option.getOrUndefined(found)
    return {
      group,
      resources: Object.fromEntries(
        Array.from(stored?.seen?.sets ?? [], ([typeUrl, set]) => [
          ResourceType.shortNameOf(typeUrl),
          ResourceSet.size(set)
        ])
      ),
      ...(stored?.invalid !== undefined && { invalid: stored.invalid.map(({ message }) => message) }),
      ...(stored?.broken !== undefined && { broken: wordsOf(stored.broken) })
    }
  })

/** The limits of transports that are reached, so that new clients are refused. */
const refused: Effect.Effect<ReadonlyArray<string>> = Effect.map(Metric.snapshot, (pairs) =>
  pairs.flatMap(({ metricKey, metricState }) => {
    if (metricKey.name !== TransportMetrics.refusingName || !MetricState.isGaugeState(metricState)) return []
    if (Number(metricState.value) <= 0) return []
    const limit = metricKey.tags.find(({ key }) => key === "limit")?.value ?? "a limit"
    // The metric names the option, for operators; the answer names what there is too much of.
    const what = limit
      .replace(/^max/, "")
      .replace(/\B(?=[A-Z])/g, " ")
      .toLowerCase()
    return [`newcomers are refused, the limit of ${what} is reached`]
  })
)

/** Answers a request of the HTTP server. */
export type Respond = (request: {
  readonly method: string
  readonly url: string
}) => Effect.Effect<Answer, never, Scope.Scope>

/** Answers every request; those for other paths with 404. */
export const make = (
  options: Options = {}
): Effect.Effect<Respond, never, XdsServer.XdsServer | SnapshotStore.SnapshotStore> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { maxRequests: 0 })
    const server = yield* XdsServer.XdsServer
    const store = yield* SnapshotStore.SnapshotStore
    const clock = yield* Effect.clock
    const { details = Effect.succeed({}), maxRequests = 16, notReady = Effect.succeed([]) } = options
    let requests = 0

    /** Counts an answer until its scope closes; `false`: there are too many. */
    const begin = Effect.acquireRelease(
      Effect.sync(() => {
        if (requests >= maxRequests) return false
        requests++
        return true
      }),
      (hasBegun) => Effect.sync(() => (hasBegun ? requests-- : requests))
    )

    const status = (group: string | undefined, format: string) =>
      Effect.gen(function* () {
        if (format !== "json" && format !== "text") {
          return text(400, `format=${format.slice(0, longest)} is not known; it is json or text`)
        }
        const all = yield* server.status
        const clients = group === undefined ? all : all.filter((client) => client.group === group)
        const reasons = yield* notReady
        const extra = yield* details
        const monotonic = Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
        const wallClock = clock.unsafeCurrentTimeMillis()
        const ofClient = (client: Client.ClientStatus): StatusReport.ClientStatus =>
          StatusReport.ofClient(client, (millis) => millis + wallClock - monotonic)
        const at = new Date(wallClock).toISOString()
        function* shown(): Generator<StatusReport.ClientStatus> {
          for (const client of clients) yield ofClient(client)
        }
        if (format === "text") {
          const table = StatusTable.linesInSteps({ at, not_ready: reasons, clients: shown() })
          return text(200, (yield* Slices.steps(EventLoop.process, table)).join("\n"))
        }
        const known = yield* store.groups
        const names =
          group === undefined
            ? yield* Slices.steps(EventLoop.process, Sorting.sorted(known, Sorting.byText))
            : known.filter((name) => name === group)
        const head = JSON.stringify({ ...extra, at, not_ready: reasons }).slice(0, -1)
        async function* parts(): AsyncGenerator<string> {
          yield `${head},"groups":[`
          let comma = ""
          for (const name of names) {
            yield `${comma}\n${JSON.stringify(await Effect.runPromise(groupOf(store, name)))}`
            comma = ","
          }
          yield `],"clients":[`
          comma = ""
          for (const client of shown()) {
            yield `${comma}\n${JSON.stringify(client)}`
            comma = ","
          }
          yield "]}\n"
        }
        return json(parts())
      })

    /** ★ Only long answers are counted: whoever reads them slowly must not make probes fail. */
    const counted = (answer: Effect.Effect<Answer>): Effect.Effect<Answer, never, Scope.Scope> =>
      Effect.flatMap(begin, (hasBegun) =>
        hasBegun ? answer : Effect.succeed(text(503, `${maxRequests} requests are being answered, the limit`))
      )

    const answer = (path: string, query: URLSearchParams): Effect.Effect<Answer, never, Scope.Scope> => {
      const valueOf = (name: string): string | undefined => query.get(name) ?? undefined
      switch (path) {
        case "/healthz":
          return Effect.succeed(text(200, "ok"))
        case "/readyz":
          return Effect.zipWith(notReady, refused, (own, refusals) => [...own, ...refusals]).pipe(
            Effect.map((reasons) =>
              reasons.length === 0 ? text(200, "ready") : text(503, `not ready: ${reasons.join("; ")}`)
            )
          )
        case "/metrics":
          return counted(
            Effect.map(Metric.snapshot, (pairs) => ({
              status: 200,
              headers: { "content-type": PrometheusText.contentType },
              body: PrometheusText.format(pairs)
            }))
          )
        case "/status":
          return counted(status(valueOf("group"), valueOf("format") ?? "json"))
        case "/config_dump": {
          const filter = { group: valueOf("group"), type: valueOf("type"), name: valueOf("name") }
          return counted(Effect.sync(() => json(ConfigDump.dump(store, filter))))
        }
        default:
          return Effect.succeed(text(404, `${path.slice(0, longest)} is not served; these are: ${paths.join(", ")}`))
      }
    }

    return ({ method, url }) =>
      Effect.gen(function* () {
        if (method !== "GET" && method !== "HEAD") {
          const refusal = text(405, `the admin port is read with GET, not with ${method}`)
          return { ...refusal, headers: { ...refusal.headers, allow: "GET, HEAD" } }
        }
        const mark = url.indexOf("?")
        const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1))
        return yield* answer(mark < 0 ? url : url.slice(0, mark), query)
      })
  })
