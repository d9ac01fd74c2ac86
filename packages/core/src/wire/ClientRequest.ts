/**
 * The bytes of discovery requests, for clients.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import type { ErrorDetail, Request } from "./Request.js"
import { fieldOf, sizeOfVarint, utf8, Writer } from "./Wire.js"

/** envoy.service.discovery.v3.DiscoveryRequest */
const SOTW = { version: 1, node: 2, names: 3, typeUrl: 4, nonce: 5, error: 6 } as const
/** envoy.service.discovery.v3.DeltaDiscoveryRequest */
const DELTA = { node: 1, typeUrl: 2, subscribe: 3, unsubscribe: 4, versions: 5, nonce: 6, error: 7 } as const
/** google.rpc.Status */
const STATUS = { code: 1, message: 2 } as const
/** An entry of a map. */
const ENTRY = { key: 1, value: 2 } as const

const nothing = new Uint8Array()

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  let size = 0
  for (const part of parts) size += part.byteLength
  const writer = new Writer(size)
  for (const part of parts) writer.raw(part)
  return writer.bytes
}

const textField = (field: number, text: string): Uint8Array => (text === "" ? nothing : fieldOf(field, utf8(text)))

/** Every ACK of state of the world repeats the list: it is encoded once. */
const lists = new WeakMap<ReadonlyArray<string>, Uint8Array>()

const listOf = (field: number, names: ReadonlyArray<string>): Uint8Array => {
  const known = lists.get(names)
  if (known !== undefined) return known
  const made = concat(names.map((name) => fieldOf(field, utf8(name))))
  lists.set(names, made)
  return made
}

const statusField = (field: number, error: ErrorDetail | undefined): Uint8Array => {
  if (error === undefined) return nothing
  const code = new Writer(1 + sizeOfVarint(error.code))
  code.varint(STATUS.code * 8 + WireType.Varint)
  code.varint(error.code)
  return fieldOf(field, concat([code.bytes, textField(STATUS.message, error.message)]))
}

/**
 * The message of a request. Both `subscribe` and `unsubscribe` lists, and those of names, are encoded once per array:
 * they are not to be changed afterwards.
 *
 * @since 0.1.0
 */
export const encode = (request: Request): Uint8Array => {
  const node = (field: number) => (request.node === undefined ? nothing : fieldOf(field, request.node))
  if (request._tag === "StateOfTheWorld") {
    return concat([
      textField(SOTW.version, request.versionInfo),
      node(SOTW.node),
      listOf(SOTW.names, request.resourceNames),
      textField(SOTW.typeUrl, request.typeUrl),
      textField(SOTW.nonce, request.responseNonce),
      statusField(SOTW.error, request.errorDetail)
    ])
  }
  const versions: Array<Uint8Array> = []
  for (const [name, version] of request.initialResourceVersions) {
    versions.push(fieldOf(DELTA.versions, concat([textField(ENTRY.key, name), textField(ENTRY.value, version)])))
  }
  return concat([
    node(DELTA.node),
    textField(DELTA.typeUrl, request.typeUrl),
    ...request.resourceNamesSubscribe.map((name) => fieldOf(DELTA.subscribe, utf8(name))),
    ...request.resourceNamesUnsubscribe.map((name) => fieldOf(DELTA.unsubscribe, utf8(name))),
    ...versions,
    textField(DELTA.nonce, request.responseNonce),
    statusField(DELTA.error, request.errorDetail)
  ])
}
