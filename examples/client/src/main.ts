/**
 * Watches a listener and everything behind it, and prints the picture as it changes.
 *
 *     node dist/main.js                     a demo with a control plane of its own
 *     node dist/main.js ADDRESS LISTENER    a real server, until Ctrl-C
 */
import * as NodeContext from "@effect/platform-node/NodeContext"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { ConnectClient } from "@effect-xds/transport-connect"
import * as Cause from "effect/Cause"
import * as Console from "effect/Console"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { parseArgs, styleText } from "node:util"
import * as Demo from "./Demo.js"
import * as Watch from "./Watch.js"

const usage = `usage: node dist/main.js [ADDRESS LISTENER] [options]

  ADDRESS              the xDS server: 127.0.0.1:18000; without it a demo is shown
  LISTENER             the name of the listener to begin with
  --node-id ID         who asks (default: watcher)
  --node-cluster NAME  the group to which it belongs (default: edge)
  --incremental        the incremental variant of the protocol instead of state of the world`

class UsageError extends Data.TaggedError("UsageError")<{ readonly reason: string }> {
  override get message(): string {
    return `${this.reason}\n\n${usage}`
  }
}

const read = Effect.try({
  try: () =>
    parseArgs({
      allowPositionals: true,
      options: {
        "node-id": { type: "string", default: "watcher" },
        "node-cluster": { type: "string", default: "edge" },
        incremental: { type: "boolean", default: false },
        help: { type: "boolean", default: false }
      }
    }),
  // The first sentence says it all.
  catch: (cause) =>
    new UsageError({
      reason: String(cause instanceof Error ? cause.message : cause)
        .split(". ", 1)
        .join()
    })
})

const hasColours = process.stdout.isTTY && process.stdout.hasColors()

/** Brackets say what is not there, and an exclamation mark what is wrong. */
const paint = (line: string) =>
  line.startsWith("!") ? styleText("red", line) : line.replace(/\(.*\)$/, (text) => styleText("yellow", text))

const print = (picture: string) =>
  Console.log(
    picture
      .split("\n")
      .map((line) => `   ${hasColours ? paint(line) : line}`)
      .join("\n")
  )

const main = Effect.gen(function* () {
  const { positionals, values } = yield* read
  if (values.help) return yield* Console.log(usage)
  const clientOf = (address: string) =>
    XdsClient.layer({
      bootstrap: Bootstrap.make({
        servers: [address],
        node: { id: values["node-id"], cluster: values["node-cluster"] }
      }),
      protocol: values.incremental ? "Incremental" : "StateOfTheWorld"
    }).pipe(Layer.provide(ConnectClient.layer()))

  const [address, listener, ...rest] = positionals
  if (address === undefined) return yield* Effect.scoped(Demo.run(clientOf, print))
  if (listener === undefined || rest.length > 0) {
    return yield* new UsageError({ reason: "give an address and one listener" })
  }
  yield* Watch.pictures({ kind: "listener", name: listener }).pipe(
    Stream.runForEach((picture) => Effect.zipRight(Console.log(new Date().toLocaleTimeString()), print(picture))),
    Effect.provide(clientOf(address))
  )
})

main.pipe(
  Effect.provide(NodeContext.layer),
  Effect.provide(Logger.replace(Logger.defaultLogger, Logger.prettyLogger({ stderr: true }))),
  Effect.tapErrorCause((cause) =>
    Cause.isInterruptedOnly(cause) ? Effect.void : Console.error(Cause.prettyErrors(cause)[0]?.message ?? "failed")
  ),
  NodeRuntime.runMain({ disableErrorReporting: true, disablePrettyLogger: true })
)
