/** One element of a file: takes off the `Resource` around it, and checks it as far as a server does. */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import { fromBinary, toBinary } from "@bufbuild/protobuf"
import { type Constraints, decode as decodeConstraints } from "@effect-xds/core/protocol/DynamicParameters"
import { minimumTtl } from "@effect-xds/core/resource/Resource"
import * as VirtualHostDiscovery from "@effect-xds/core/resource/VirtualHostDiscovery"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as Reason from "@effect-xds/proto/Reason"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { Resource } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import {
  DynamicParameterConstraintsSchema,
  ResourceSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Either from "effect/Either"
import type { FileResource } from "../FileResource.js"
import * as JsonProblem from "./JsonProblem.js"
import type { Encoded } from "./MessageEncoder.js"
import { type Problem, problem, type Result } from "./Problems.js"
import type { Path } from "./SourceDocument.js"

/** A resource before it is checked. */
export interface Element {
  /** The `Any`, or its content. */
  readonly any: Encoded
  /** Whether the bytes were encoded here, from a parsed message. */
  readonly isMessage: boolean
  readonly path: Path
  readonly offset: number | undefined
}

const WRAPPER = ResourceSchema.typeName

export const urlOf = (typeNameOrUrl: string): string => `type.googleapis.com/${TypeRegistry.typeName(typeNameOrUrl)}`

const milliseconds = ({ ttl }: Resource): number | undefined =>
  ttl === undefined ? undefined : Number(ttl.seconds) * 1_000 + ttl.nanos / 1e6

/** Throws for constraints that say nothing. */
const constraintsOf = ({ resourceName }: Resource): Constraints | undefined => {
  const message = resourceName?.dynamicParameterConstraints
  return message === undefined ? undefined : decodeConstraints(toBinary(DynamicParameterConstraintsSchema, message))
}

/** A resource, with the fields of a `Resource` around it. */
export interface Unwrapped {
  readonly any: Encoded
  readonly wrapper: Resource | undefined
  readonly constraints: Constraints | undefined
}

export const unwrap = (element: Element): Result<Unwrapped> => {
  const { any, offset, path } = element
  if (TypeRegistry.typeName(any.typeUrl) !== WRAPPER)
    return Either.right({ any, wrapper: undefined, constraints: undefined })
  try {
    const wrapper = fromBinary(ResourceSchema, any.value)
    const ttl = milliseconds(wrapper)
    if (wrapper.resource === undefined) {
      return problem("Schema", "this Resource holds no resource; put the message into its field resource", path, offset)
    }
    if (ttl !== undefined && ttl < minimumTtl) {
      return problem(
        "Schema",
        `the ttl is under ${minimumTtl} ms; leave it out for a resource that stays`,
        path,
        offset
      )
    }
    const constraints = constraintsOf(wrapper)
    if (constraints !== undefined && wrapper.aliases.length > 0) {
      return problem("Schema", "a variant, which has constraints, has no aliases; leave them out", path, offset)
    }
    return Either.right({ any: wrapper.resource, wrapper, constraints })
  } catch (cause) {
    return problem("Syntax", `its bytes are not an ${WRAPPER}: ${Reason.of(cause)}`, path, offset)
  }
}

/** A virtual host of v2 has its name and domains in the same fields. */
const isVirtualHost = (message: Message | undefined): message is VirtualHost =>
  message !== undefined && ResourceType.isOf(urlOf(message.$typeName), ResourceType.VirtualHost)

/** One shared array: most resources have no aliases. */
const noAliases: ReadonlyArray<string> = []

/** A resource type, as a file names it. */
export interface NamedType {
  readonly typeUrl: string
  readonly type: ResourceType.ResourceType | undefined
  readonly schema: DescMessage
}

/** Checks a resource as far as a server does. */
export const resourceOf = (
  file: string,
  element: Element,
  { any, constraints, wrapper }: Unwrapped,
  line: number | undefined,
  named: NamedType | undefined
): Result<FileResource> => {
  const { offset, path } = element
  const fail = (reason: Problem["reason"], detail: string) => problem(reason, detail, path, offset)

  if (named === undefined) return fail("UnknownType", JsonProblem.unknownType(any.typeUrl))
  const { schema, type, typeUrl } = named

  const isHost = ResourceType.isOf(typeUrl, ResourceType.VirtualHost)
  let message: Message | undefined
  if (!element.isMessage || isHost) {
    try {
      if (isHost) message = MessageBytes.decode(schema, any.value)
      else MessageBytes.check(schema, any.value)
    } catch (cause) {
      return fail("Syntax", `its bytes are not a message of type ${schema.typeName}: ${Reason.of(cause)}`)
    }
  }
  const inside =
    type?.nameNumber === undefined ? undefined : ResourceType.nameOfBytes(any.value, undefined, type.nameNumber)
  const beside = wrapper?.resourceName?.name ?? wrapper?.name ?? ""
  const name = beside === "" ? (inside ?? "") : beside
  if (name === "" && type === undefined) {
    return fail(
      "UnknownType",
      `${schema.typeName} is not a resource type of xDS; if clients ask for it, wrap it in an ${WRAPPER} with a name`
    )
  }
  if (name === "" && type?.nameNumber === undefined) {
    return fail("BadName", `a message of type ${schema.typeName} holds no name: wrap it in an ${WRAPPER} with a name`)
  }
  if (name === "") return fail("BadName", `the ${type?.nameField === "name" ? "name" : "cluster_name"} is empty`)

  const aliases = wrapper === undefined && !isHost ? undefined : new Set(wrapper?.aliases)
  if (isVirtualHost(message)) {
    const split = VirtualHostDiscovery.split(name)
    if (split === undefined) {
      return fail("BadName", "clients ask for a virtual host as <route configuration>/<host>: name it in that form")
    }
    for (const domain of message.domains) {
      aliases?.add(VirtualHostDiscovery.nameOf(split.routeConfiguration, domain.toLowerCase()))
    }
  } else if (inside !== undefined && inside !== name) {
    const detail = `the Resource around it is named ${JSON.stringify(name)}, but the name inside is ${JSON.stringify(inside)}`
    return fail("BadName", `${detail}; leave the outer one out`)
  }
  aliases?.delete(name)
  return Either.right({
    typeUrl,
    name,
    // Copied if it is a view into a larger buffer.
    value: any.value.byteLength === any.value.buffer.byteLength ? any.value : new Uint8Array(any.value),
    version: wrapper === undefined || wrapper.version === "" ? undefined : wrapper.version,
    ttl: wrapper === undefined ? undefined : milliseconds(wrapper),
    aliases: aliases === undefined ? noAliases : Array.from(aliases),
    constraints,
    file,
    line
  })
}
