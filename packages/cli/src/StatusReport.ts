/**
 * `effect-xds status ADDRESS`: the clients of a control plane, and what each was sent, took and rejected.
 *
 * @since 0.1.0
 */
import * as StatusTable from "@effect-xds/admin/StatusTable"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { CommandFailure } from "./CommandFailure.js"
import * as ResourceText from "./ResourceText.js"
import * as Waiting from "./Waiting.js"

const Version = Schema.Struct({ version: Schema.String, nonce: Schema.String, at: Schema.String })

const Rejection = Schema.Struct({ code: Schema.Number, message: Schema.String })

/** What the table needs of the answer. */
const Report = Schema.Struct({
  at: Schema.String,
  not_ready: Schema.Array(Schema.String),
  clients: Schema.Array(
    Schema.Struct({
      node: Schema.NullOr(Schema.Struct({ id: Schema.String })),
      group: Schema.NullOr(Schema.String),
      address: Schema.String,
      connected_at: Schema.String,
      types: Schema.Array(
        Schema.Struct({
          type: Schema.String,
          state: Schema.Literal("waiting", "asked", "sent", "acked", "nacked"),
          sent: Schema.NullOr(Version),
          acked: Schema.NullOr(Version),
          nacked: Schema.NullOr(Schema.Struct({ ...Version.fields, error: Rejection }))
        })
      )
    })
  )
})

const urlOf = (address: string): string =>
  `${/^https?:\/\//.test(address) ? address.replace(/\/+$/, "") : `http://${address}`}/status`

const fetchReport = (address: string): Effect.Effect<unknown, CommandFailure> => {
  const url = urlOf(address)
  const fail = (reason: string) =>
    new CommandFailure({
      kind: "failed",
      message: `${url} gives no answer: ${reason}; the address is that of the admin port`
    })
  if (!URL.canParse(url)) {
    return Effect.fail(new CommandFailure({ kind: "usage", message: `${address} is no address; give host:port` }))
  }
  return Effect.tryPromise({
    try: async (signal) => {
      const response = await fetch(url, { signal })
      const body: unknown = response.ok ? await response.json() : await response.text()
      return { ok: response.ok, status: response.status, body }
    },
    catch: (cause) => {
      const reason = cause instanceof Error ? (cause.cause instanceof Error ? cause.cause.message : cause.message) : ""
      return fail(reason)
    }
  }).pipe(
    Effect.timeoutFail({ duration: "10 seconds", onTimeout: () => fail("nothing within 10 s") }),
    Effect.filterOrFail(
      ({ ok }) => ok,
      ({ status }) => fail(`HTTP status ${status}`)
    ),
    Effect.map(({ body }) => body)
  )
}

interface Arguments {
  readonly address: string
  readonly output: ResourceText.Format
}

/**
 * Runs the command.
 *
 * @since 0.1.0
 */
export const run = ({ address, output }: Arguments): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const body = yield* Waiting.saying(`Waiting for ${address}`, fetchReport(address))
    if (output === "json") return yield* Console.log(JSON.stringify(body, undefined, 2))
    if (output === "yaml") return yield* Console.log(ResourceText.yaml([body]))
    const report = yield* Effect.mapError(
      Schema.decodeUnknown(Report)(body),
      () => new CommandFailure({ kind: "failed", message: `${urlOf(address)} is not the status of a control plane` })
    )
    yield* Console.log(StatusTable.lines(report).join("\n"))
  })
