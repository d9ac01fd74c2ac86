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

/** Who asks, in words: what a server chooses by. */
const whoAsks = ({ metadata, nodeCluster, nodeId }: Target.Config): string => {
  const isNamed = nodeCluster !== "" || Object.keys(metadata).length > 0
  const missing = isNamed ? "" : "; if it chooses by the node, name one: --node-cluster, --node-id or --metadata"
  const cluster = nodeCluster === "" ? "no cluster" : `cluster ${JSON.stringify(nodeCluster)}`
  return `node id ${JSON.stringify(nodeId)}, ${cluster}${missing}`
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
    const rejections = new Target.Rejections()
    const client = yield* Target.connect(address, target, rejections.say)
    const watched = yield* Collection.watchable(type)
    const found = yield* Waiting.saying(
      `Waiting for ${type.shortName} of ${address}`,
      names.length === 0
        ? Collection.all(client, address, [type], target.timeout)
        : Effect.forEach(names, (name) => Collection.one(client, address, type, watched, name), {
            concurrency: "unbounded"
          })
    )
    if (found.length === 0) {
      yield* rejections.check
      const message = `${address} has no ${type.shortName}: nothing came within ${target.timeout} s for ${whoAsks(target)}`
      return yield* new CommandFailure({ kind: "found", message })
    }
    yield* Console.log(yield* render(output, found, showSecrets))
    yield* rejections.check
  }).pipe(Effect.scoped)
