/** The resources of a store's groups as JSON, produced while it is read. */
import type { DescMessage } from "@bufbuild/protobuf"
import { toJson } from "@bufbuild/protobuf"
import type { Resource } from "@effect-xds/core"
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type * as Steps from "@effect-xds/core/Steps"
import * as Reason from "@effect-xds/proto/Reason"
import * as MessageJson from "@effect-xds/proto/MessageJson"
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

/** What is no object in JSON, or may be none. */
const isPlain = ({ typeName }: DescMessage): boolean => typeName.startsWith("google.protobuf.")

/** Canonical proto3 JSON in parts; or the reason why a resource has none. */
const contentOf = async ({ typeUrl, value }: Resource.Resource): Promise<ReadonlyArray<string>> => {
  try {
    const schema = await TypeRegistry.load(typeUrl)
    if (schema === undefined) throw new Error(`the type ${typeUrl} is not known`)
    const { message } = await inSlices(MessageSteps.decode(schema, value))
    const pause = value.byteLength < MessageSteps.least ? undefined : Slices.pauses(EventLoop.process)
    await MessageRedaction.redact(schema, message, pause)
    const registry = await TypeRegistry.forMessage(schema, message, undefined, pause)
    if (pause === undefined || isPlain(schema)) {
      return [JSON.stringify({ "@type": typeUrl, ...Object(toJson(schema, message, { registry })) })]
    }
    const parts: Array<string> = []
    for (const part of MessageJson.text(schema, message, registry, `"@type":${JSON.stringify(typeUrl)}`)) {
      if (part !== undefined) parts.push(part)
      const wait = pause()
      if (wait !== undefined) await wait
    }
    return parts
  } catch (cause) {
    return [
      JSON.stringify({ "@type": typeUrl, error: `cannot be shown: ${Reason.of(cause)}`, bytes: value.byteLength })
    ]
  }
}

/** An object in JSON to which a member is added. */
const opened = (members: object): string => `${JSON.stringify(members).slice(0, -1)},`

const partsOf = async (resource: Resource.Resource, head: object): Promise<ReadonlyArray<string>> => {
  const members = {
    ...head,
    version: resource.version,
    ...(resource.aliases.length > 0 && { aliases: resource.aliases }),
    ...(resource.ttl !== undefined && { ttl_ms: resource.ttl })
  }
  return [`${opened(members)}"resource":`, ...(await contentOf(resource)), "}"]
}

const entryOf = async (resource: Resource.Resource): Promise<ReadonlyArray<string>> => {
  const { error, name, variants } = resource
  if (error !== undefined) return [JSON.stringify({ name, error })]
  if (variants === undefined) return partsOf(resource, { name })
  const parts = [`${opened({ name })}"variants":[`]
  let comma = ""
  for (const { constraints, plain } of variants) {
    parts.push(comma)
    for (const part of await partsOf(plain, { constraints: DynamicParameters.toText(constraints) })) parts.push(part)
    comma = ","
  }
  parts.push("]}")
  return parts
}

const orderOf = (typeUrl: string): number => ResourceType.byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY

const byName: Sorting.Order<Resource.Resource> = (one, other) => Sorting.byText(one.name, other.name)

const sorting = function* (set: ResourceSet.ResourceSet) {
  return yield* Sorting.sorted(yield* ResourceSet.listing(set), byName)
}

/** A large resource is given in parts of this many characters. */
const partSize = 8_192

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
        let text = `${comma}\n`
        for (const part of await entryOf(resource)) {
          text += part
          if (text.length < partSize) continue
          yield text
          text = ""
        }
        yield text
        comma = ","
      }
      yield "]}"
    }
    yield "]}"
  }
  yield "]}\n"
}
