/** The resources of a store's groups as JSON, produced while it is read. */
import { toJson } from "@bufbuild/protobuf"
import type { Resource } from "@effect-xds/core"
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type * as Steps from "@effect-xds/core/Steps"
import * as Reason from "@effect-xds/proto/Reason"
import * as MessageRedaction from "@effect-xds/proto/MessageRedaction"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import type { SnapshotStore } from "@effect-xds/server"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Sorting from "./Sorting.js"

/** Which resources to include; `undefined` includes all. */
export interface Filter {
  readonly group: string | undefined
  /** A short name or a type URL. */
  readonly type: string | undefined
  readonly name: string | undefined
}

/** The result, while others run in between. */
const inSlices = <A extends object>(work: Steps.Steps<A>): Promise<A> =>
  Effect.runPromise(Slices.steps(EventLoop.process, work))

/** Others have their turn. */
const breathe = (): Promise<void> => Effect.runPromise(Slices.breathe(EventLoop.process))

/** Canonical proto3 JSON; or the reason why a resource has none. */
const contentOf = async ({ typeUrl, value }: Resource.Resource): Promise<unknown> => {
  try {
    const schema = await TypeRegistry.load(typeUrl)
    if (schema === undefined) throw new Error(`the type ${typeUrl} is not known`)
    const { message } = await inSlices(MessageSteps.decode(schema, value))
    const isLarge = value.byteLength >= MessageSteps.least
    await MessageRedaction.redact(schema, message, isLarge ? Slices.pauses(EventLoop.process) : undefined)
    const registry = await TypeRegistry.forMessage(schema, message)
    if (isLarge) await breathe()
    const json = toJson(schema, message, { registry })
    // What writes the text has a turn of its own.
    if (isLarge) await breathe()
    return { "@type": typeUrl, ...Object(json) }
  } catch (cause) {
    return { "@type": typeUrl, error: `cannot be shown: ${Reason.of(cause)}`, bytes: value.byteLength }
  }
}

const partsOf = async (resource: Resource.Resource): Promise<object> => ({
  version: resource.version,
  ...(resource.aliases.length > 0 && { aliases: resource.aliases }),
  ...(resource.ttl !== undefined && { ttl_ms: resource.ttl }),
  resource: await contentOf(resource)
})

const entryOf = async (resource: Resource.Resource): Promise<string> => {
  const { error, name, variants } = resource
  if (error !== undefined) return JSON.stringify({ name, error })
  if (variants === undefined) return JSON.stringify({ name, ...(await partsOf(resource)) })
  const all: Array<object> = []
  for (const { constraints, plain } of variants) {
    all.push({ constraints: DynamicParameters.toText(constraints), ...(await partsOf(plain)) })
  }
  return JSON.stringify({ name, variants: all })
}

const orderOf = (typeUrl: string): number => ResourceType.byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY

const byName: Sorting.Order<Resource.Resource> = (one, other) => Sorting.byText(one.name, other.name)

const sorting = function* (set: ResourceSet.ResourceSet) {
  return yield* Sorting.sorted(yield* ResourceSet.listing(set), byName)
}

/**
 * The JSON in pieces, one resource at a time, so that a store of any size needs the memory of one resource. Each group
 * is read when its turn comes.
 */
export async function* dump(store: SnapshotStore.Service, filter: Filter): AsyncGenerator<string> {
  yield '{"groups":['
  let groupComma = ""
  const groups =
    filter.group === undefined
      ? await inSlices(Sorting.sorted(await Effect.runPromise(store.groups), Sorting.byText))
      : [filter.group]
  for (const group of groups) {
    const resources = Option.getOrUndefined(await Effect.runPromise(store.get(group)))?.seen
    if (resources === undefined) continue
    yield `${groupComma}\n{"group":${JSON.stringify(group)},"types":[`
    groupComma = ","
    let typeComma = ""
    const sets = Array.from(resources.sets).sort(([one], [other]) => orderOf(one) - orderOf(other))
    for (const [typeUrl, set] of sets) {
      const type = ResourceType.shortNameOf(typeUrl)
      if (filter.type !== undefined && filter.type !== type && filter.type !== typeUrl) continue
      const head = JSON.stringify({ type, type_url: typeUrl, version: set.version }).slice(0, -1)
      yield `${typeComma}\n${head},"resources":[`
      typeComma = ","
      let comma = ""
      const named = filter.name === undefined ? undefined : ResourceSet.find(set, filter.name)
      const wanted = filter.name === undefined ? await inSlices(sorting(set)) : named === undefined ? [] : [named]
      for (const resource of wanted) {
        yield `${comma}\n${await entryOf(resource)}`
        comma = ","
      }
      yield "]}"
    }
    yield "]}"
  }
  yield "]}\n"
}
