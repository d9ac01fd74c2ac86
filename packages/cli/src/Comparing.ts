/**
 * `effect-xds diff A B`: what two states differ in, each a server's or that of files.
 *
 * @since 0.1.0
 */
import type { JsonValue, Message } from "@bufbuild/protobuf"
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import { existsSync } from "node:fs"
import * as ApiVersion from "./ApiVersion.js"
import * as Collection from "./Collection.js"
import { CommandFailure } from "./CommandFailure.js"
import * as ErrorLine from "./ErrorLine.js"
import * as Differences from "./Differences.js"
import * as LocalResources from "./LocalResources.js"
import * as ResourceText from "./ResourceText.js"
import * as Target from "./Target.js"
import * as Waiting from "./Waiting.js"
import * as TypeArgument from "./TypeArgument.js"

/** A resource to compare. */
interface Side {
  readonly type: ResourceType.ResourceType
  readonly name: string
  readonly json: JsonValue
  /** What is printed of it. */
  readonly shown: JsonValue
}

type State = ReadonlyMap<string, Side>

/** What can be said of one side. */
interface Read {
  readonly state: State
  /** Types that cannot be compared, and why. */
  readonly unanswered: ReadonlyArray<ResourceType.ResourceType>
  readonly reason: string
}

/** A resource that is different; without differences it is on one side only. */
interface Change {
  readonly change: "added" | "removed" | "changed"
  readonly type: string
  readonly name: string
  readonly differences: ReadonlyArray<Differences.Difference>
}

const keyOf = ({ type, name }: Pick<Side, "type" | "name">): string => `${type.typeUrl} ${name}`

/** Those of which a server gives all; the others are asked for by name: VHDS, LEDS, FCDS. */
const comparable = (api: ResourceType.Api) =>
  ApiVersion.typesOf(api).filter(({ wildcardByDefault }) => wildcardByDefault)

const typesOf = (
  list: string,
  api: ResourceType.Api
): Effect.Effect<ReadonlyArray<ResourceType.ResourceType>, CommandFailure> =>
  Effect.suspend(() => {
    const types: Array<ResourceType.ResourceType> = []
    for (const text of list.split(",")) {
      const type = TypeArgument.parse(text.trim(), api)
      if (type === undefined) {
        const message = `diff: --types is a list such as CDS,EDS; ${TypeArgument.wrong(text.trim(), api)}`
        return Effect.fail(new CommandFailure({ kind: "usage", message }))
      }
      types.push(type)
    }
    return Effect.succeed(types)
  })

/** Secrets are compared, too, and not printed unless that is wanted. */
const sideOf = async (
  type: ResourceType.ResourceType,
  name: string,
  value: Message,
  isShown: boolean
): Promise<Side> => {
  const schema = await type.load()
  const json = await ResourceText.json(schema, value, true)
  return { type, name, json, shown: isShown ? json : await ResourceText.json(schema, value, false) }
}

const ofFiles = (
  path: string,
  types: ReadonlyArray<ResourceType.ResourceType>,
  isShown: boolean
): Effect.Effect<Read, CommandFailure> =>
  Effect.gen(function* () {
    const { groups, mistakes } = yield* LocalResources.read(path)
    if (mistakes.length > 0) {
      const lines = mistakes.map(({ message }) => ErrorLine.within(message)).join("\n")
      return yield* new CommandFailure({ kind: "failed", message: `${path} cannot be compared:\n${lines}` })
    }
    const state = new Map<string, Side>()
    const owners = new Map<string, string>()
    for (const [group, resources] of groups) {
      for (const { name, typeUrl, value } of resources) {
        const type = types.find((each) => each.typeUrl === typeUrl)
        if (type === undefined) continue
        const key = keyOf({ type, name })
        const owner = owners.get(key)
        if (owner !== undefined) {
          const message = `${type.shortName} ${JSON.stringify(name)} is in the groups ${owner} and ${group} of ${path}`
          return yield* new CommandFailure({ kind: "usage", message: `${message}; give the directory of one of them` })
        }
        owners.set(key, group)
        const side = yield* Effect.promise(async () =>
          sideOf(type, name, await ResourceText.decode(type, value), isShown)
        )
        state.set(key, side)
      }
    }
    return { state, unanswered: [], reason: "" }
  })

const ofServer = (
  address: string,
  target: Target.Config,
  types: ReadonlyArray<ResourceType.ResourceType>,
  isShown: boolean
): Effect.Effect<Read, CommandFailure> =>
  Effect.gen(function* () {
    const connected = yield* Target.connect(address, target, false)
    const collected = yield* Waiting.saying(`Waiting for ${address}`, Collection.all(connected, types, target.timeout))
    const { found, unanswered } = collected
    // What did not come is no difference.
    yield* Collection.whole(collected)
    if (connected.isFiles ? found.length === 0 : unanswered.length === types.length) yield* connected.answered(types)
    const state = new Map<string, Side>()
    for (const { name, type, value } of found) {
      state.set(keyOf({ type, name }), yield* Effect.promise(() => sideOf(type, name, value, isShown)))
    }
    const names = unanswered.map(({ shortName }) => shortName).join(", ")
    const reason = `${address} did not answer within ${target.timeout} s for ${names}; --types leaves out what it does not serve`
    return { state, unanswered, reason }
  }).pipe(Effect.scoped)

const compare = (from: State, to: State, types: ReadonlySet<ResourceType.ResourceType>): ReadonlyArray<Change> => {
  const keys = Array.from(new Set([...from.keys(), ...to.keys()]))
  const changes = keys.flatMap((key): ReadonlyArray<Change & { readonly order: number }> => {
    const [one, other] = [from.get(key), to.get(key)]
    const either = one ?? other
    if (either === undefined || !types.has(either.type)) return []
    const differences =
      one === undefined || other === undefined
        ? []
        : Differences.between(one.json, other.json, { from: one.shown, to: other.shown })
    if (one !== undefined && other !== undefined && differences.length === 0) return []
    const change = one === undefined ? "added" : other === undefined ? "removed" : "changed"
    const { name, type } = either
    return [{ change, type: type.shortName, name, differences, order: type.order }]
  })
  return changes
    .sort((one, other) => one.order - other.order || (one.name < other.name ? -1 : 1))
    .map(({ change, differences, name, type }) => ({ change, type, name, differences }))
}

const signs = { added: "+", removed: "-", changed: "~" } as const

/** Longer values are cut: the names of the places matter most. */
const longest = 100

const short = (value: JsonValue | undefined): string => {
  const text = value === undefined ? "nothing" : JSON.stringify(value)
  return text.length > longest ? `${text.slice(0, longest)}…` : text
}

const linesOf = ({ change, differences, name, type }: Change): ReadonlyArray<string> => [
  `${signs[change]} ${type} ${name}`,
  ...differences.map(({ from, path, to }) => `    ${path}: ${short(from)} → ${short(to)}`)
]

interface Arguments extends Target.Config {
  readonly from: string
  readonly to: string
  readonly types: string | undefined
  readonly output: ResourceText.Format
  readonly showSecrets: boolean
}

/**
 * Runs the command.
 *
 * @since 0.1.0
 */
export const run = (target: Arguments): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const { from, output, showSecrets, to } = target
    const { api } = target
    yield* ApiVersion.load(api)
    const types = target.types === undefined ? comparable(api) : yield* typesOf(target.types, api)
    const read = (side: string) =>
      existsSync(side) ? ofFiles(side, types, showSecrets) : ofServer(side, target, types, showSecrets)
    const [one, other] = yield* Effect.all([read(from), read(to)], { concurrency: "unbounded" })
    const unanswered = [one, other].filter((side) => side.unanswered.length > 0)
    // Where a side may have something or nothing, the other one's is no difference.
    const answered = new Set(types)
    for (const type of unanswered.flatMap((side) => side.unanswered)) answered.delete(type)
    const changes = compare(one.state, other.state, answered)
    if (output === "json") yield* Console.log(JSON.stringify(changes, undefined, 2))
    else if (output === "yaml") yield* Console.log(ResourceText.yaml([changes]))
    else for (const line of changes.flatMap(linesOf)) yield* Console.log(line)
    if (unanswered.length > 0) {
      return yield* new CommandFailure({ kind: "failed", message: unanswered.map(({ reason }) => reason).join("\n") })
    }
    if (changes.length > 0) return yield* new CommandFailure({ kind: "found", message: "" })
  })
