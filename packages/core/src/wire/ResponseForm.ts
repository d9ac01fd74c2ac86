/** How responses are written: those of the state of the world, and incremental ones. */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { entryOf, type Resource } from "../resource/Resource.js"
import {
  Any,
  DeltaDiscoveryResponse,
  DiscoveryResponse,
  Duration,
  Resource as Fields,
  ResourceError as Errors,
  ResourceName,
  Status
} from "./Fields.js"
import type { MeasuredWriter } from "./MeasuredWriter.js"
import type { NamedError, Response } from "./ResponseContent.js"
import type { ResourceEntry } from "./ResourceEntry.js"
import { utf8 } from "./Wire.js"

const RESOURCE_TYPE_URL = utf8("type.googleapis.com/envoy.service.discovery.v3.Resource")

const noNames: ReadonlyArray<string> = []

const writeAny = (to: MeasuredWriter, field: number, typeUrl: Uint8Array, value: Uint8Array): void => {
  const any = to.open(field)
  to.bytes(Any.typeUrl, typeUrl)
  to.bytes(Any.value, value)
  to.close(field, any)
}

const writeDuration = (to: MeasuredWriter, field: number, milliseconds: number): void => {
  const seconds = Math.floor(milliseconds / 1000)
  const duration = to.open(field)
  to.number(Duration.seconds, seconds)
  to.number(Duration.nanos, Math.round((milliseconds - seconds * 1000) * 1e6))
  to.close(field, duration)
}

/** `envoy.service.discovery.v3.ResourceName` */
const writeName = (to: MeasuredWriter, field: number, name: string, constraints: Uint8Array): void => {
  const place = to.open(field)
  to.text(ResourceName.name, name)
  to.bytes(ResourceName.dynamicParameterConstraints, constraints)
  to.close(field, place)
}

/** `envoy.service.discovery.v3.ResourceError` */
const writeError = (to: MeasuredWriter, field: number, { error, name }: NamedError): void => {
  const opened = to.open(field)
  writeName(to, Errors.resourceName, name, noConstraints)
  const detail = to.open(Errors.errorDetail)
  to.number(Status.code, error.code)
  to.text(Status.message, error.message)
  to.close(Errors.errorDetail, detail)
  to.close(field, opened)
}

const noConstraints = new Uint8Array()

/** What is written of a resource beside its content. */
type Written = Pick<Resource, "name" | "ttl" | "version" | "constraints">

/** The fields of an `envoy.service.discovery.v3.Resource`; no body if the value is `undefined`. */
const writeResource = (
  to: MeasuredWriter,
  { constraints, name, ttl, version }: Written,
  aliases: ReadonlyArray<string>,
  typeUrl: Uint8Array,
  value: Uint8Array | undefined
): void => {
  to.text(Fields.version, version)
  if (value !== undefined) writeAny(to, Fields.resource, typeUrl, value)
  if (constraints === undefined) to.text(Fields.name, name)
  else writeName(to, Fields.resourceName, name, constraints)
  for (const alias of aliases) to.text(Fields.aliases, alias)
  if (ttl !== undefined) writeDuration(to, Fields.ttl, ttl)
}

/** How the parts of a response are written. */
export interface Form {
  /** What comes before the resources. */
  readonly head: (to: MeasuredWriter, response: Response) => void
  /** The resources `from` ≤ index < `before`. */
  readonly resources: (
    to: MeasuredWriter,
    response: Response,
    typeUrl: Uint8Array,
    from: number,
    before: number
  ) => void
  /** The same of what is renewed without its body. */
  readonly heartbeats: Form["resources"]
  /** All other fields. */
  readonly tail: (to: MeasuredWriter, response: Response, typeUrl: Uint8Array) => void
}

const writeWrapped = (
  to: MeasuredWriter,
  typeUrl: Uint8Array,
  resource: Written,
  value: Uint8Array | undefined
): void => {
  const any = to.open(DiscoveryResponse.resources)
  to.bytes(Any.typeUrl, RESOURCE_TYPE_URL)
  const wrapper = to.open(Any.value)
  writeResource(to, resource, noNames, typeUrl, value)
  to.close(Any.value, wrapper)
  to.close(DiscoveryResponse.resources, any)
}

/** Whether the contents say their names: an endpoint (LEDS) holds none. */
const isNamed = ({ typeUrl }: Response): boolean => typeUrl !== ResourceType.LbEndpoint.typeUrl

const stateOfTheWorld: Form = {
  head: (to, { version }) => to.text(DiscoveryResponse.versionInfo, version),
  resources: (to, response, typeUrl, from, before) => {
    const { resources } = response
    const entryIn = entriesIn(response)
    for (let index = from; index < before; index++) {
      const resource = resources[index]
      if (resource === undefined) break
      const entry = entryIn(resource)
      if (entry !== undefined) to.part(entry.bytes, entry.anyFrom, entry.anyBefore)
      else if (isNamed(response) && resource.constraints === undefined && (!response.ttl || resource.ttl === undefined))
        writeAny(to, DiscoveryResponse.resources, typeUrl, resource.value)
      else writeWrapped(to, typeUrl, withoutTtl(resource, response), resource.value)
    }
  },
  heartbeats: (to, { heartbeats }, typeUrl, from, before) => {
    for (let index = from; index < before; index++) {
      const resource = heartbeats[index]
      if (resource !== undefined) writeWrapped(to, typeUrl, resource, undefined)
    }
  },
  tail: (to, { errors }, typeUrl) => {
    to.bytes(DiscoveryResponse.typeUrl, typeUrl)
    for (const each of errors) writeError(to, DiscoveryResponse.resourceErrors, each)
  }
}

const withoutTtl = (resource: Resource, response: Response): Written => {
  if (response.ttl || resource.ttl === undefined) return resource
  const { constraints, name, version } = resource
  return { name, version, ttl: undefined, ...(constraints !== undefined && { constraints }) }
}

const writeEntry = (
  to: MeasuredWriter,
  typeUrl: Uint8Array,
  resource: Written,
  aliases: ReadonlyArray<string>,
  value: Uint8Array | undefined
): void => {
  const wrapper = to.open(DeltaDiscoveryResponse.resources)
  writeResource(to, resource, aliases, typeUrl, value)
  to.close(DeltaDiscoveryResponse.resources, wrapper)
}

const aliasesOf = ({ aliases }: Response, name: string): ReadonlyArray<string> =>
  // A look into an empty map would hash each name.
  aliases.size === 0 ? noNames : (aliases.get(name) ?? noNames)

const incremental: Form = {
  head: (to, { version }) => to.text(DeltaDiscoveryResponse.systemVersionInfo, version),
  resources: (to, response, typeUrl, from, before) => {
    const { resources } = response
    const entryIn = entriesIn(response)
    for (let index = from; index < before; index++) {
      const resource = resources[index]
      if (resource === undefined) break
      const entry = entryIn(resource)
      if (entry !== undefined) to.encoded(entry.bytes, entry.size)
      else writeEntry(to, typeUrl, withoutTtl(resource, response), aliasesOf(response, resource.name), resource.value)
    }
  },
  heartbeats: (to, response, typeUrl, from, before) => {
    for (let index = from; index < before; index++) {
      const resource = response.heartbeats[index]
      if (resource !== undefined) writeEntry(to, typeUrl, resource, aliasesOf(response, resource.name), undefined)
    }
  },
  tail: (to, response, typeUrl) => {
    for (const name of response.absent)
      writeEntry(to, typeUrl, { name, version: "", ttl: undefined }, [name], undefined)
    to.bytes(DeltaDiscoveryResponse.typeUrl, typeUrl)
    for (const name of response.removed) to.text(DeltaDiscoveryResponse.removedResources, name, true)
    for (const { constraints, name } of response.removedVariants)
      writeName(to, DeltaDiscoveryResponse.removedResourceNames, name, constraints)
    for (const each of response.errors) writeError(to, DeltaDiscoveryResponse.resourceErrors, each)
  }
}

export const formOf = ({ protocol }: Response): Form => (protocol === "StateOfTheWorld" ? stateOfTheWorld : incremental)

/**
 * The entry of a resource, if the response has it as it was encoded when the resource was made. In a response with the state of the
 * world it is the `Any` alone. Who asks for many asks for this once: what does not depend on the resource is found then.
 */
export const entriesIn = (response: Response): ((resource: Resource) => ResourceEntry | undefined) => {
  if (response.protocol === "StateOfTheWorld" && !isNamed(response)) return noEntry
  if (response.aliases.size === 0) return response.ttl ? entryWithoutTtl : entryOf
  return (resource) => {
    if (aliasesOf(response, resource.name).length > 0) return undefined
    return response.ttl ? entryWithoutTtl(resource) : entryOf(resource)
  }
}

const noEntry = (): undefined => undefined

const entryWithoutTtl = (resource: Resource): ResourceEntry | undefined =>
  resource.ttl === undefined ? entryOf(resource) : undefined
