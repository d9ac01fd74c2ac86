/**
 * Reads the first request of a stream before it is served: the client's node, its group, and the bytes that it makes
 * the server hold until the group is known.
 */
import type * as Request from "@effect-xds/core/wire/Request"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import * as Given from "@effect-xds/transport/Given"
import * as Status from "@effect-xds/transport/Status"
import type { NodeIdentity } from "../ConnectedClient.js"
import * as ConnectedClient from "../ConnectedClient.js"
import { Refusal } from "../Refusal.js"
import * as NodeFields from "./NodeFields.js"

/** Why a stream ends. */
export type Denial =
  /** Because of its client. */
  | { readonly _tag: "Refused"; readonly status: Status.Status }
  /** Because of a defect: of an application's function, named in `what`, or of this server. */
  | { readonly _tag: "Failed"; readonly what: string; readonly cause: unknown }

const refused = (code: Status.Code, message: string): Denial => ({
  _tag: "Refused",
  status: Status.make(code, message)
})

const failed = (what: string, cause: unknown): Denial => ({ _tag: "Failed", what, cause })

/** The client of a first request. */
export interface Asking {
  readonly node: Node
  /** The node's identity in a printable form. */
  readonly identity: NodeIdentity
}

/** The most characters of an identity's field. */
const maxIdentity = 1024

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** A copy of a text: a substring would keep the whole text in memory. */
const own = (text: string): string => decoder.decode(encoder.encode(text))

const shownText = (text: string): string =>
  Redaction.text(text.length <= maxIdentity ? text : own(`${text.slice(0, maxIdentity)}…`))

/** A node's identity in a printable form, since a node may hold anything. */
const shown = (node: NodeIdentity): NodeIdentity => ({
  id: shownText(node.id),
  cluster: shownText(node.cluster),
  userAgentName: shownText(node.userAgentName),
  userAgentVersion: shownText(node.userAgentVersion)
})

/** Bytes of a decoded field, and of a name in a request, beside their content, roughly. */
const bytesPerField = 80
const bytesPerName = 64

/** The bytes that a {@link read} first request makes the server hold until its group is known, roughly. */
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

/** The client of a first request. */
export const read = (
  request: Request.Request,
  { maxNodeFields }: { readonly maxNodeFields: number }
): Asking | Denial => {
  if (request.node === undefined) {
    const message = "the first request of a stream must carry the node (field `node`): it says who asks"
    return refused("INVALID_ARGUMENT", message)
  }
  try {
    // A field takes at least one byte, so a short node need not be counted.
    const isShort = request.node.length <= maxNodeFields
    const fields = isShort ? 0 : NodeFields.count(NodeSchema, request.node, maxNodeFields)
    if (fields > maxNodeFields) {
      const message = `the first request's node has more than ${maxNodeFields} fields, the limit`
      return refused("RESOURCE_EXHAUSTED", message)
    }
    // A copy: its unknown fields stay bytes, and the application may keep the node.
    const node = MessageBytes.decode(NodeSchema, request.node.slice())
    return { node, identity: shown(ConnectedClient.identityOf(node)) }
  } catch (cause) {
    const message = `the first request's node is not an envoy.config.core.v3.Node: ${Reason.of(cause)}`
    return refused("INVALID_ARGUMENT", message)
  }
}

/** Checks a group name of an application's function. */
export const groupName = (
  given: unknown,
  by: string,
  { maxNameLength }: { readonly maxNameLength: number }
): string | Denial => {
  if (typeof given !== "string") {
    return failed(
      by,
      new TypeError(`it gave ${Given.kindOf(given)}, not the name of a group, or an Effect or Stream of it`)
    )
  }
  if (given.length <= maxNameLength) return given
  const message = `the name of the group has ${given.length} characters; at most ${maxNameLength} are allowed`
  return refused("RESOURCE_EXHAUSTED", message)
}

const isError = (code: string): boolean => code !== "OK" && Object.hasOwn(Status.codes, code)

/** Checks a failure of an application's function, which may be untyped code. */
export const refusal = (given: unknown, by: string): Denial => {
  if (!(given instanceof Refusal)) {
    return failed(
      by,
      given instanceof Error ? given : new TypeError(`it failed with ${Given.kindOf(given)}, not with a Refusal`)
    )
  }
  if (isError(given.code)) return refused(given.code, given.reason)
  const said = JSON.stringify(given.code)
  return failed(
    by,
    new TypeError(`it gave a Refusal whose code is ${said}, not that of a gRPC status that is an error`)
  )
}
