/**
 * What the first request of a stream says of its client, before it is served: its node, its group, and what it makes the server
 * hold until its group is known.
 */
import { fromBinary } from "@bufbuild/protobuf"
import type * as Request from "@effect-xds/core/wire/Request"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Status from "@effect-xds/transport/Status"
import type { NodeIdentity } from "../ConnectedClient.js"
import * as ConnectedClient from "../ConnectedClient.js"
import { Refusal } from "../Refusal.js"
import * as NodeFields from "./NodeFields.js"

/** Why a stream ends before it is served, or while it is. */
export type Denial =
  /** Because of its client. */
  | { readonly _tag: "Refused"; readonly status: Status.Status }
  /** Because of a mistake on the server's side: of a function of the application, named by `what`, or our own. */
  | { readonly _tag: "Failed"; readonly what: string; readonly cause: unknown }

const refused = (code: Status.Code, message: string): Denial => ({
  _tag: "Refused",
  status: Status.make(code, message)
})

const failed = (what: string, cause: unknown): Denial => ({ _tag: "Failed", what, cause })

/** Who asks. */
export interface Asking {
  readonly node: Node
  /** What is shown of the node. */
  readonly identity: NodeIdentity
}

/** Characters of an identity that are kept. */
const maxIdentity = 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A text that is not part of a longer one: such a part would keep all of it. */
const own = (text: string): string => decoder.decode(encoder.encode(text))

const shownText = (text: string): string =>
  Redaction.text(text.length <= maxIdentity ? text : own(`${text.slice(0, maxIdentity)}…`))

/** What is shown of a node, which may hold anything. */
const shown = (node: NodeIdentity): NodeIdentity => ({
  id: shownText(node.id),
  cluster: shownText(node.cluster),
  userAgentName: shownText(node.userAgentName),
  userAgentVersion: shownText(node.userAgentVersion)
})

/** Bytes that a field of a decoded node takes, and a name of a request, beside what it holds: about. */
const bytesPerField = 80
const bytesPerName = 64

/** Bytes that a first request, which was {@link read}, makes the server hold until the group of its client is known: about. */
export const weight = (request: Request.Request, { maxNodeFields }: { readonly maxNodeFields: number }): number => {
  let names = 0
  let bytes = 0
  if (request.node !== undefined) {
    bytes = request.node.length + bytesPerField * NodeFields.count(NodeSchema, request.node, maxNodeFields)
  }
  const add = (name: string): void => {
    names++
    bytes += name.length
  }
  if (request._tag === "StateOfTheWorld") request.resourceNames.forEach(add)
  else {
    request.resourceNamesSubscribe.forEach(add)
    names += request.initialResourceVersions.size
  }
  return bytes + bytesPerName * names
}

/** Who sent a first request. */
export const read = (
  request: Request.Request,
  { maxNodeFields }: { readonly maxNodeFields: number }
): Asking | Denial => {
  if (request.node === undefined) {
    const message = "the first request of a stream must carry the node (field `node`): it says who asks"
    return refused("INVALID_ARGUMENT", message)
  }
  try {
    // A field takes a byte at least: a short node need not be counted.
    const isShort = request.node.length <= maxNodeFields
    const fields = isShort ? 0 : NodeFields.count(NodeSchema, request.node, maxNodeFields)
    if (fields > maxNodeFields) {
      const message = `the first request's node has more than ${maxNodeFields} fields, the limit`
      return refused("RESOURCE_EXHAUSTED", message)
    }
    // A copy: what is not known in it stays bytes, and the functions of the application may keep it.
    const node = fromBinary(NodeSchema, request.node.slice())
    return { node, identity: shown(ConnectedClient.identityOf(node)) }
  } catch (cause) {
    const message = `the first request's node is not an envoy.config.core.v3.Node: ${Reason.of(cause)}`
    return refused("INVALID_ARGUMENT", message)
  }
}

/** The name of a group as a function of the application gave it. */
export const groupName = (
  given: unknown,
  by: string,
  { maxNameLength }: { readonly maxNameLength: number }
): string | Denial => {
  if (typeof given !== "string") {
    const type = given === null ? "null" : typeof given
    return failed(by, new TypeError(`it gave ${type}, not the name of a group`))
  }
  if (given.length <= maxNameLength) return given
  const message = `the name of the group has ${given.length} characters; at most ${maxNameLength} are allowed`
  return refused("RESOURCE_EXHAUSTED", message)
}

const isError = (code: string): boolean => code !== "OK" && Object.hasOwn(Status.codes, code)

/** Why a client is not served as a function of the application gave it, which may have been written without types. */
export const refusal = (given: unknown, by: string): Denial => {
  if (!(given instanceof Refusal)) {
    return failed(
      by,
      given instanceof Error ? given : new TypeError(`it failed with ${typeof given}, not with a Refusal`)
    )
  }
  if (isError(given.code)) return refused(given.code, given.reason)
  const said = JSON.stringify(given.code)
  return failed(
    by,
    new TypeError(`it gave a Refusal whose code is ${said}, not that of a gRPC status that is an error`)
  )
}
