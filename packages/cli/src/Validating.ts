/**
 * `effect-xds validate PATH`: whether files can be served, before they are.
 *
 * @since 0.1.0
 */
import type { Api } from "@effect-xds/proto/ResourceType"
import type { ResourceFile } from "@effect-xds/transport-filesystem"
import * as GroupRule from "@effect-xds/validate/GroupRule"
import * as GroupRules from "@effect-xds/validate/GroupRules"
import { InvalidMessage } from "@effect-xds/validate/InvalidMessage"
import * as Rules from "@effect-xds/validate/Rules"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as ApiVersion from "./ApiVersion.js"
import { CommandFailure } from "./CommandFailure.js"
import * as ErrorLine from "./ErrorLine.js"
import * as LocalResources from "./LocalResources.js"
import * as ResourceText from "./ResourceText.js"
import * as RuleNames from "./RuleNames.js"

/** A mistake, as the JSON has it; a place that is not known is null. */
interface Mistake {
  readonly file: string | null
  readonly line: number | null
  readonly column: number | null
  /** Inside of the document: `[1].load_assignment`; empty: all of it, or not known. Of a broken rule: inside of the resource. */
  readonly path: string
  /** One of the reasons of a file's rejection; `Rule` or `Reference`; `Envoy`: it said so itself. */
  readonly reason: ResourceFile.ResourceFileError["reason"] | "Rule" | "Reference" | "Envoy"
  /** The name by which the rule can be left out. */
  readonly rule: string | null
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
  rule: null,
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
        return { ...place, path: fault.path, reason: "Rule", rule: null, detail, message }
      })
      if (!more) return Effect.succeed(mistakes)
      const detail = `and more: the first ${maxFaults} are told`
      const message = `${LocalResources.placeOf(resource)}: ${detail}`
      return Effect.succeed([...mistakes, { ...place, path: "", reason: "Rule" as const, rule: null, detail, message }])
    })
  )

/** Where the faults of a group stand. */
const placeIn = (group: string, resources: ReadonlyArray<ResourceFile.FileResource>) => {
  const places = new Map(resources.map((each) => [`${each.typeUrl} ${each.name}`, each]))
  return (of: { readonly typeUrl: string; readonly name: string } | undefined) => {
    const resource = of && places.get(`${of.typeUrl} ${of.name}`)
    return {
      said: resource === undefined ? `group ${group}` : LocalResources.placeOf(resource),
      known: { file: resource?.file ?? null, line: resource?.line ?? null, column: null }
    }
  }
}

/** Of one group; one more line says that there are more. */
const maxGroupFaults = 1000

/** What is wrong with resources beyond their fields, but for what is said of the same place already. */
const together = (
  group: string,
  resources: ReadonlyArray<ResourceFile.FileResource>,
  off: ReadonlyArray<string>,
  told: ReadonlySet<string>
): Effect.Effect<ReadonlyArray<Mistake>> =>
  Effect.map(GroupRules.check(resources, { off, maxFaults: maxGroupFaults }), ({ faults, more }) => {
    const placeOf = placeIn(group, resources)
    const mistakes = faults.map((fault): Mistake => {
      const { known, said } = placeOf(fault)
      const detail = GroupRules.toText(fault).replace("which is not there", `which is not in group ${group}`)
      const reason = GroupRule.references.includes(fault.rule) ? "Reference" : "Rule"
      const message = `${said}: ${detail} (${fault.rule})`
      return { ...known, path: fault.path, reason, rule: fault.rule, detail, message }
    })
    const fresh = mistakes.filter((mistake) => !told.has(placeKey(mistake)))
    if (!more) return fresh
    const { known, said } = placeOf(undefined)
    const detail = `and more: the first ${maxGroupFaults} are told`
    return [
      ...fresh,
      { ...known, path: "", reason: "Rule" as const, rule: null, detail, message: `${said}: ${detail}` }
    ]
  })

const placeKey = ({ file, line, path }: Mistake): string => `${file ?? ""}:${line ?? ""} ${path}`

/** What Envoy itself says. */
const byEnvoy = (
  path: string,
  groups: ReadonlyMap<string, ReadonlyArray<ResourceFile.FileResource>>
): Effect.Effect<ReadonlyArray<Mistake>, CommandFailure> =>
  Effect.gen(function* () {
    // Only who has an Envoy needs it.
    const EnvoyCheck = yield* Effect.promise(() => import("./EnvoyCheck.js"))
    const envoy = yield* EnvoyCheck.make(path)
    const mistakes: Array<Mistake> = []
    for (const [group, resources] of groups) {
      const placeOf = placeIn(group, resources)
      for (const { resource, words } of yield* envoy.complaints(resources)) {
        const { known, said } = placeOf(resource)
        const detail = `Envoy: ${words}`
        const of = resource && GroupRules.toText({ ...resource, path: "", problem: "" })
        const message = `${said}: ${of ?? ""}${detail}`
        mistakes.push({ ...known, path: "", reason: "Envoy", rule: null, detail, message })
      }
    }
    return mistakes
  }).pipe(Effect.scoped)

/** All rules that have a name, as a table. */
const listed = Effect.suspend(() => {
  const rows = GroupRule.all.map(({ name, peers, severity, summary }) => [name, severity, peers.join(", "), summary])
  return Console.log(ResourceText.table([["RULE", "SEVERITY", "FOR", "WHAT MUST BE"], ...rows]))
})

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

interface Arguments {
  readonly api: Api
  readonly path: string
  readonly noReferences: boolean
  readonly off: ReadonlyArray<string>
  readonly listRules: boolean
  readonly envoy: string | undefined
  readonly output: "text" | "json"
}

/**
 * Runs the command.
 *
 * @since 0.1.0
 */
export const run = ({
  api,
  envoy,
  listRules,
  noReferences,
  off,
  output,
  path
}: Arguments): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    if (listRules) return yield* listed
    yield* ApiVersion.load(api)
    const without = yield* RuleNames.leftOut(
      "validate",
      "effect-xds validate --list-rules lists them",
      off,
      noReferences
    )
    const { files, groups, mistakes } = yield* LocalResources.read(path)
    const all = Array.from(groups.values()).flat()
    const rules = (yield* Effect.forEach(all, broken)).flat()
    const told = new Set(rules.map(placeKey))
    const beyond = (yield* Effect.forEach(groups, ([group, resources]) =>
      together(group, resources, without, told)
    )).flat()
    const envoys = envoy === undefined ? [] : yield* byEnvoy(envoy, groups)
    const wrong = [...mistakes.map(mistakeOf), ...rules, ...beyond, ...envoys]
    const resources = all.length
    if (output === "json") {
      const report = { path, files, groups: Array.from(groups.keys()), resources, mistakes: wrong }
      yield* Console.log(JSON.stringify(report, undefined, 2))
    } else {
      for (const { message } of wrong) yield* Console.log(ErrorLine.within(message))
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
