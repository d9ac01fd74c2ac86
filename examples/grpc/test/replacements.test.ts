import { expect, it } from "@effect/vitest"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { Effect, Logger, LogLevel } from "effect"
import * as Replacements from "../src/replacements/Replacements.js"
import * as Clients from "./Clients.js"

it.scopedLive(Clients.title("no call fails while a cluster is replaced by another, again and again"), () =>
  Effect.gen(function* () {
    const results = yield* Replacements.run({ replacements: 40, clients: Clients.present })
    console.log(results)
    expect(results.map(({ failures, name }) => [name, failures])).toEqual(Clients.present.map((name) => [name, {}]))
    for (const { answered } of results) expect(answered).toBeGreaterThan(40)
  }).pipe(Effect.provide(NodeContext.layer), Logger.withMinimumLogLevel(LogLevel.Warning))
)
