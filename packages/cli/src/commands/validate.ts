/**
 * `effect-xds validate PATH`: whether files can be served, before they are.
 *
 * @since 0.1.0
 */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import { Snapshot } from "@effect-xds/server"
import type { ResourceFile } from "@effect-xds/transport-filesystem"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { CommandFailure } from "../CommandFailure.js"
import * as LocalResources from "../LocalResources.js"

/** Where references stand that lead nowhere, and where they would lead. */
const dangling = (
  group: string,
  resources: ReadonlyArray<ResourceFile.FileResource>
): Effect.Effect<ReadonlyArray<string>> => {
  const places = new Map(resources.map((each) => [`${each.typeUrl} ${each.name}`, LocalResources.placeOf(each)]))
  return Effect.map(Snapshot.check(Snapshot.make({ resources })), (found) =>
    found.map(({ from, message }) => {
      const place = places.get(`${from.typeUrl} ${from.name}`) ?? `group ${group}`
      return `${place}: ${message.replace("the snapshot", `group ${group}`)}`
    })
  )
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

const details = HelpDoc.blocks([
  HelpDoc.p(
    "Says what is wrong with the files of a directory, or with one file: what cannot be read or is no message of its " +
      "type, names that are there twice, references to resources that are not there."
  ),
  HelpDoc.p("Subdirectories are groups, as for `serve`. Exit code 1: something is wrong, a line for each."),
  HelpDoc.p("effect-xds validate ./config"),
  HelpDoc.p("effect-xds validate --no-references ./config/edge/clusters.yaml")
])

/**
 * The command.
 *
 * @since 0.1.0
 */
export const validate = Command.make(
  "validate",
  {
    noReferences: Options.boolean("no-references").pipe(
      Options.withDescription("Does not ask for the resources that are referred to: they come from elsewhere")
    ),
    path: Args.text({ name: "PATH" }).pipe(Args.withDescription("A directory or a file"))
  },
  ({ noReferences, path }) =>
    Effect.gen(function* () {
      const { files, groups, mistakes } = yield* LocalResources.read(path)
      if (files === 0) {
        return yield* new CommandFailure({ kind: "found", message: `${path} holds no files with resources` })
      }
      const references = noReferences
        ? []
        : (yield* Effect.forEach(groups, ([group, resources]) => dangling(group, resources))).flat()
      const wrong = [...mistakes, ...references]
      for (const line of wrong) yield* Console.log(line)
      if (wrong.length > 0) {
        return yield* new CommandFailure({ kind: "found", message: `${count(wrong.length, "mistake")} in ${path}` })
      }
      const resources = Array.from(groups.values()).reduce((sum, each) => sum + each.length, 0)
      const what = `${count(resources, "resource")} in ${count(files, "file")}, ${count(groups.size, "group")}`
      yield* Console.log(`${path}: ${what}, no mistakes`)
    })
).pipe(Command.withDescription(details))
