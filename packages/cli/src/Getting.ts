/**
 * `effect-xds get ADDRESS TYPE [NAME…]`: resources as a server has them now.
 *
 * @since 0.1.0
 */
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as ApiVersion from "./ApiVersion.js"
import * as Collection from "./Collection.js"
import { CommandFailure } from "./CommandFailure.js"
import * as ResourceText from "./ResourceText.js"
import * as Target from "./Target.js"
import * as Waiting from "./Waiting.js"
import * as TypeArgument from "./TypeArgument.js"

const render = (
  format: ResourceText.Format,
  found: ReadonlyArray<ResourceText.Found>,
  isShown: boolean
): Effect.Effect<string> => {
  if (format === "table") {
    const rows = found.map(({ name, type, version }) => [type.shortName, name, version])
    return Effect.succeed(ResourceText.table([["TYPE", "NAME", "VERSION"], ...rows]))
  }
  return Effect.map(
    Effect.promise(() => Promise.all(found.map((each) => ResourceText.withType(each, isShown)))),
    (documents) => (format === "yaml" ? ResourceText.yaml(documents) : JSON.stringify(documents, undefined, 2))
  )
}

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
    const connected = yield* Target.connect(address, target, false)
    const collected = yield* Waiting.saying(
      `Waiting for ${type.shortName} of ${address}`,
      names.length === 0
        ? Collection.all(connected, [type], target.timeout)
        : Collection.some(connected, type, names, target.timeout)
    )
    const { found } = collected
    if (found.length > 0) yield* Console.log(yield* render(output, found, showSecrets))
    yield* Collection.whole(collected)
    if (found.length > 0) return
    if (!connected.isFiles) yield* connected.answered([type])
    return yield* new CommandFailure({ kind: "found", message: `${address} has no ${type.shortName}` })
  }).pipe(Effect.scoped)
