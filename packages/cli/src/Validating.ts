/**
 * `effect-xds validate PATH`: whether files can be served, before they are.
 *
 * @since 0.1.0
 */
import * as Snapshot from "@effect-xds/server/Snapshot"
import type { ResourceFile } from "@effect-xds/transport-filesystem"
import { InvalidMessage } from "@effect-xds/validate/InvalidMessage"
import * as Rules from "@effect-xds/validate/Rules"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { CommandFailure } from "./CommandFailure.js"
import * as LocalResources from "./LocalResources.js"

/** A mistake, as the JSON has it; a place that is not known is null. */
interface Mistake {
  readonly file: string | null
  readonly line: number | null
  readonly column: number | null
  /** Inside of the document: `[1].load_assignment`; empty: all of it, or not known. Of a broken rule: inside of the resource. */
  readonly path: string
  /** One of the reasons of a file's rejection, `Rule` or `Reference`. */
  readonly reason: ResourceFile.ResourceFileError["reason"] | "Rule" | "Reference"
  /** What is wrong, without the place. */
  readonly detail: string
  /** With the place: the line that is printed as text. */
  readonly message: string
}

const mistakeOf = (error: ResourceFile.ResourceFileError): Mistake => ({
  file: error.file,
  line: error.line ?? null,
  column: error.column ?? null,
  path: error.path,
  reason: error.reason,
  detail: error.detail,
  message: error.message
})

/** Of one resource; one more line says that there are more. */
const maxFaults = 100

/** The rules of Envoy's API that a resource breaks: Envoy would refuse it, and with it all others of its type. */
const broken = (resource: ResourceFile.FileResource): Effect.Effect<ReadonlyArray<Mistake>> =>
  Rules.resource(resource, { maxFaults }).pipe(
    Effect.as([]),
    Effect.catchTag("InvalidMessage", ({ faults, more, resourceName, typeUrl }) => {
      const place = { file: resource.file, line: resource.line ?? null, column: null }
      const mistakes = faults.map((fault): Mistake => {
        const detail = new InvalidMessage({ typeUrl, resourceName, faults: [fault], more: false }).message
        const message = `${LocalResources.placeOf(resource)}: ${detail}`
        return { ...place, path: fault.path, reason: "Rule", detail, message }
      })
      if (!more) return Effect.succeed(mistakes)
      const detail = `and more: the first ${maxFaults} are told`
      const message = `${LocalResources.placeOf(resource)}: ${detail}`
      return Effect.succeed([...mistakes, { ...place, path: "", reason: "Rule" as const, detail, message }])
    })
  )

/** Where references stand that lead nowhere, and where they would lead. */
const dangling = (
  group: string,
  resources: ReadonlyArray<ResourceFile.FileResource>
): Effect.Effect<ReadonlyArray<Mistake>> => {
  const places = new Map(resources.map((each) => [`${each.typeUrl} ${each.name}`, each]))
  return Effect.map(Snapshot.check({ resources }), (found) =>
    found.map(({ from, message }) => {
      const resource = places.get(`${from.typeUrl} ${from.name}`)
      const place = resource === undefined ? `group ${group}` : LocalResources.placeOf(resource)
      const detail = message.replace("the snapshot", `group ${group}`)
      return {
        file: resource?.file ?? null,
        line: resource?.line ?? null,
        column: null,
        path: "",
        reason: "Reference" as const,
        detail,
        message: `${place}: ${detail}`
      }
    })
  )
}

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

interface Arguments {
  readonly path: string
  readonly noReferences: boolean
  readonly output: "text" | "json"
}

/**
 * Runs the command.
 *
 * @since 0.1.0
 */
export const run = ({ noReferences, output, path }: Arguments): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const { files, groups, mistakes } = yield* LocalResources.read(path)
    const references = noReferences
      ? []
      : (yield* Effect.forEach(groups, ([group, resources]) => dangling(group, resources))).flat()
    const all = Array.from(groups.values()).flat()
    const rules = (yield* Effect.forEach(all, broken)).flat()
    const wrong = [...mistakes.map(mistakeOf), ...rules, ...references]
    const resources = all.length
    if (output === "json") {
      const report = { path, files, groups: Array.from(groups.keys()), resources, mistakes: wrong }
      yield* Console.log(JSON.stringify(report, undefined, 2))
    } else {
      for (const { message } of wrong) yield* Console.log(message)
    }
    if (files === 0) {
      return yield* new CommandFailure({ kind: "found", message: `${path} holds no files with resources` })
    }
    if (wrong.length > 0) {
      return yield* new CommandFailure({ kind: "found", message: `${count(wrong.length, "mistake")} in ${path}` })
    }
    const what = `${count(resources, "resource")} in ${count(files, "file")}, ${count(groups.size, "group")}`
    if (output === "text") yield* Console.log(`${path}: ${what}, no mistakes`)
  })
