/**
 * `effect-xds get ADDRESS TYPE [NAME…]`: resources as a server has them now.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Collection from "../Collection.js"
import { CommandFailure } from "../CommandFailure.js"
import * as ResourceText from "../ResourceText.js"
import * as Target from "../Target.js"
import * as TypeArgument from "../TypeArgument.js"

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

const details = HelpDoc.blocks([
  HelpDoc.p("Prints resources as a server has them now: those named, or all of the type."),
  HelpDoc.p(
    `ADDRESS is ${Target.addressHelp}. What JSON and YAML print with --show-secrets, a directory of \`serve\` may hold.`
  ),
  HelpDoc.p("Exit code 3: a resource does not exist. 4: the server gives no answer."),
  HelpDoc.p("effect-xds get --node-cluster edge 127.0.0.1:18000 CDS"),
  HelpDoc.p("effect-xds get --output yaml --protocol delta 127.0.0.1:18000 clusters backend"),
  HelpDoc.p("effect-xds get --tls-ca ca.pem https://xds.example:18001 LDS"),
  HelpDoc.p("effect-xds get path:/var/lib/envoy/xds EDS backend")
])

/**
 * The command.
 *
 * @since 0.1.0
 */
export const get = Command.make(
  "get",
  {
    target: Target.options,
    showSecrets: ResourceText.showSecrets,
    output: ResourceText.option("table: names and versions; json, yaml: the resources"),
    address: Args.text({ name: "ADDRESS" }).pipe(Args.withDescription(Target.addressHelp)),
    type: TypeArgument.argument,
    names: Args.text({ name: "NAME" }).pipe(Args.withDescription("Default: all"), Args.repeated)
  },
  ({ address, names, output, showSecrets, target, type }) =>
    Effect.gen(function* () {
      const client = yield* Target.connect(address, target, true)
      const watched = yield* Collection.watchable(type)
      const found = yield* Target.saying(
        `Waiting for ${type.shortName} of ${address}`,
        names.length === 0
          ? Collection.all(client, address, [type], target.timeout)
          : Effect.forEach(names, (name) => Collection.one(client, address, type, watched, name), {
              concurrency: "unbounded"
            })
      )
      if (found.length === 0) {
        const who = `node id ${JSON.stringify(target.nodeId)}, cluster ${JSON.stringify(target.nodeCluster)}`
        const message = `${address} has no ${type.shortName} for ${who}: nothing came within ${target.timeout} s`
        return yield* new CommandFailure({ kind: "missing", message })
      }
      yield* Console.log(yield* render(output, found, showSecrets))
    }).pipe(Effect.scoped)
).pipe(Command.withDescription(details))
