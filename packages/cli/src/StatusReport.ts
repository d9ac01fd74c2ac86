/**
 * `effect-xds status ADDRESS`: the clients of a control plane, and what each was sent, took and rejected.
 *
 * @since 0.1.0
 */
import * as StatusTable from "@effect-xds/admin/StatusTable"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { CommandFailure } from "./CommandFailure.js"
import * as ErrorLine from "./ErrorLine.js"
import * as AnsweredReport from "./AnsweredReport.js"
import * as ResourceText from "./ResourceText.js"
import * as Waiting from "./Waiting.js"

const urlOf = (address: string): string =>
  `${/^https?:\/\//.test(address) ? address.replace(/\/+$/, "") : `http://${address}`}/status`

const fetchReport = (address: string): Effect.Effect<unknown, CommandFailure> => {
  const url = urlOf(address)
  const fail = (reason: string) =>
    new CommandFailure({
      kind: "failed",
      message: `${url} gives no answer: ${ErrorLine.within(reason)}; the address is that of the admin port`
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
    const report = AnsweredReport.read(body)
    if (report === undefined) {
      const message = `${urlOf(address)} is not the status of a control plane`
      return yield* new CommandFailure({ kind: "failed", message })
    }
    yield* Console.log(StatusTable.lines(report).join("\n"))
  })
