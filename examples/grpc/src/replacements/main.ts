/** Replaces a cluster under real gRPC clients that call without a pause, and counts the calls that fail. See `help`. */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Stream from "effect/Stream"
import { createWriteStream } from "node:fs"
import { performance } from "node:perf_hooks"
import { parseArgs } from "node:util"
import { ResourceType } from "@effect-xds/proto"
import type { Fleet } from "./Fleet.js"
import * as GrpcClient from "./GrpcClient.js"
import * as Replacements from "./Replacements.js"

const help = `npm run replacements [-- options]

Each replacement is one update: the route moves to the next version of a cluster, which is new, and the old version is
removed, both with their endpoints. Meanwhile each client calls without a pause. Ends with 1 if a call failed that the
server could have saved.

  --count N         so many replacements. Default: 1000, which takes some minutes
  --clients A,B     which clients, of ${GrpcClient.names.join(", ")}. Default: all that are here
  --events FILE     writes what the server saw, a line for each event
  --help            this text

The clients other than grpc-js are fetched and built by scripts/peers.mjs, in pinned versions; one that cannot be had is
left out, and with XDS_REQUIRE_PEERS=1 that is an error.`

const fail = (reason: string): never => {
  console.error(`${reason}\n\n${help}`)
  process.exit(1)
}

const readOptions = () => {
  try {
    return parseArgs({
      options: {
        count: { type: "string", default: "1000" },
        clients: { type: "string" },
        events: { type: "string" },
        help: { type: "boolean", default: false }
      }
    }).values
  } catch (cause) {
    return fail(cause instanceof Error ? (cause.message.split(". ")[0] ?? "") : String(cause))
  }
}

const options = readOptions()
if (options.help) {
  console.log(help)
  process.exit()
}

const replacements = Number(options.count)
if (!Number.isInteger(replacements) || replacements < 1) fail(`--count ${options.count}: give a whole number from 1 on`)

const isName = (name: string): name is GrpcClient.Name => GrpcClient.names.some((known) => known === name)
const toName = (name: string): GrpcClient.Name => (isName(name) ? name : fail(`--clients: there is no ${name}`))
const wanted = options.clients === undefined ? GrpcClient.names : options.clients.split(",").map(toName)
const clients = wanted.filter((name) => {
  const reason = GrpcClient.missing(name)
  if (reason === undefined) return true
  console.log(`${name} is left out: ${reason}`)
  if (process.env["XDS_REQUIRE_PEERS"] === "1") process.exit(1)
  return false
})
if (clients.length === 0) fail("no client is left")

const began = performance.now()
const seconds = () => ((performance.now() - began) / 1000).toFixed(1)

const writeEvents = (file: string, fleet: Fleet): void => {
  const out = createWriteStream(file)
  Effect.runFork(
    Stream.runForEach(fleet.events, (event) =>
      Effect.sync(() => {
        const time = `${performance.now().toFixed(1)} ms`
        if (event._tag === "Lost") return out.write(`${time}: ${event.count} events are missing here\n`)
        if (event._tag === "MissingRefused") return out.write(`${time} ${JSON.stringify(event)}\n`)
        const { client, ...rest } = event
        const type = "typeUrl" in event ? ` ${ResourceType.shortNameOf(event.typeUrl)}` : ""
        return out.write(`${time} ${client.node?.id ?? "?"}${type} ${JSON.stringify(rest)}\n`)
      })
    )
  )
}

let last = 0
const onProgress = ({ answered, failed, replacement }: Replacements.Progress): void => {
  const interval = process.stdout.isTTY ? 200 : 10_000
  if (replacement < replacements && performance.now() - last < interval) return
  last = performance.now()
  const line = `${replacement} of ${replacements} replacements, ${answered} calls answered, ${failed} failed, ${seconds()} s`
  process.stdout.write(process.stdout.isTTY ? `\r${line}${replacement === replacements ? "\n" : ""}` : `${line}\n`)
}

const onFailed = ({ failures, name, replacement }: Replacements.Failed): void =>
  console.log(
    `${process.stdout.isTTY ? "\n" : ""}${seconds()} s, replacement ${replacement}: ${name}: ${JSON.stringify(failures)}`
  )

const table = (results: ReadonlyArray<Replacements.Result>): string => {
  const rows = results.map(({ answered, failures, name, byClient }) => [
    name,
    String(replacements),
    String(answered),
    String(Object.values(failures).reduce((sum, count) => sum + count, 0)),
    String(byClient)
  ])
  const all = [["client", "replacements", "calls answered", "calls failed", "by the client's own fault"], ...rows]
  const widths = all[0]?.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0))) ?? []
  return all
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  ")
    )
    .join("\n")
}

const program = Effect.gen(function* () {
  console.log(`${replacements} replacements of a cluster under ${clients.join(", ")}`)
  const results = yield* Replacements.run({
    replacements,
    clients,
    onProgress,
    onFailed,
    ...(options.events !== undefined && { onFleet: (fleet) => writeEvents(options.events ?? "", fleet) })
  })
  console.log(`\n${table(results)}`)
  for (const { failures, name } of results)
    for (const [failure, count] of Object.entries(failures)) console.log(`\n${name}, ${count}: ${failure}`)
  if (results.some(({ failures }) => Object.keys(failures).length > 0)) process.exitCode = 1
})

Effect.scoped(program).pipe(
  Effect.provide(NodeContext.layer),
  Effect.provide(
    Layer.merge(
      Logger.replace(Logger.defaultLogger, Logger.withConsoleError(Logger.logfmtLogger)),
      Logger.minimumLogLevel(LogLevel.Warning)
    )
  ),
  Effect.onExit((exit) =>
    Exit.isSuccess(exit)
      ? Effect.void
      : Effect.sync(() => {
          const reason = Cause.isInterruptedOnly(exit.cause)
            ? "interrupted"
            : Cause.prettyErrors(exit.cause)[0]?.message
          console.log(`\nFAILED: ${reason ?? "for no known reason"}`)
        })
  ),
  (main) => NodeRuntime.runMain(main, { disableErrorReporting: true, disablePrettyLogger: true })
)
