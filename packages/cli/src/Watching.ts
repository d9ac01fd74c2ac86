/**
 * `effect-xds watch ADDRESS TYPE [NAME…]`: what becomes of resources, as it happens.
 *
 * @since 0.1.0
 */
import type { Message } from "@bufbuild/protobuf"
import type { ResourceEvent } from "@effect-xds/client"
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { CommandFailure } from "./CommandFailure.js"
import * as ApiVersion from "./ApiVersion.js"
import * as Collection from "./Collection.js"
import * as ResourceText from "./ResourceText.js"
import * as Target from "./Target.js"
import * as TypeArgument from "./TypeArgument.js"

type Event = ResourceEvent.ResourceEvent<Message>

const words: Record<Event["_tag"], string> = {
  Updated: "updated",
  DoesNotExist: "does not exist",
  Error: "error",
  AmbientError: "stays, with an error",
  Recovered: "recovered"
}

const line = (type: ResourceType.ResourceType, event: Event, time: Date): string => {
  const detail = event._tag === "Updated" ? event.version : "error" in event ? event.error.message : ""
  const clock = time.toTimeString().slice(0, 8)
  return ResourceText.table([[clock, words[event._tag].padEnd(20), type.shortName, event.name, detail]])
}

const record = async (type: ResourceType.ResourceType, event: Event, time: Date, isShown: boolean) => ({
  time: time.toISOString(),
  event: event._tag,
  type: type.shortName,
  name: event.name,
  ...(event._tag === "Updated" && {
    version: event.version,
    resource: await ResourceText.withType({ type, value: event.value }, isShown)
  }),
  ...("error" in event && { error: { code: event.error.code, message: event.error.message } })
})

const render = (
  format: ResourceText.Format,
  type: ResourceType.ResourceType,
  event: Event,
  time: Date,
  isShown: boolean
): Effect.Effect<string> =>
  format === "table"
    ? Effect.succeed(line(type, event, time))
    : Effect.map(
        Effect.promise(() => record(type, event, time, isShown)),
        (data) => (format === "json" ? JSON.stringify(data) : `---\n${ResourceText.yaml([data])}`)
      )

/**
 * Runs the command.
 *
 * @since 0.1.0
 */
export const run = (target: Target.Query): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const { address, names, output, showSecrets } = target
    yield* ApiVersion.load(target.api)
    const type = yield* TypeArgument.read(target.type, address, target.api)
    const { client } = yield* Target.connect(address, target, true)
    const watched = yield* Collection.watchable(type)
    const events = names.length === 0 ? [client.watchAll(watched)] : names.map((name) => client.watch(watched, name))
    const all = Stream.orDie(Stream.mergeAll(events, { concurrency: "unbounded" }))
    yield* Stream.runForEach(all, (event) =>
      Effect.flatMap(
        Effect.suspend(() => render(output, type, event, new Date(), showSecrets)),
        Console.log
      )
    )
  }).pipe(Effect.scoped)
