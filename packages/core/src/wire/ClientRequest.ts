/**
 * Encoder of discovery requests, for clients.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import * as DynamicParameters from "../protocol/DynamicParameters.js"
import { DeltaDiscoveryRequest as Delta, DiscoveryRequest, MapEntry, ResourceLocator, Status } from "./Fields.js"
import type { ErrorDetail, Request, StateOfTheWorldRequest } from "./Request.js"
import { fieldOf, sizeOfVarint, utf8, Writer } from "./Wire.js"

const nothing = new Uint8Array()

const concat = (parts: ReadonlyArray<Uint8Array>): Uint8Array => {
  let size = 0
  for (const part of parts) size += part.byteLength
  const writer = new Writer(new Uint8Array(size))
  for (const part of parts) writer.raw(part)
  return writer.bytes
}

const textField = (field: number, text: string): Uint8Array => (text === "" ? nothing : fieldOf(field, utf8(text)))

const namesField = (field: number, names: ReadonlyArray<string>): Uint8Array =>
  concat(names.map((name) => fieldOf(field, utf8(name))))

/** Names, with what the client says of itself in locators (TP2). A client that says nothing gives names only. */
const namesOrLocators = (
  names: ReadonlyArray<string>,
  field: number,
  locatorField: number,
  { parameters }: Pick<Request, "parameters">
): Uint8Array =>
  parameters === undefined ? namesField(field, names) : concat(names.map(locator(locatorField, parameters)))

const locator = (field: number, parameters: DynamicParameters.ByAuthority) => (name: string) =>
  fieldOf(
    field,
    concat([
      textField(ResourceLocator.name, name),
      ...Array.from(DynamicParameters.ofName(parameters, name), ([key, value]) =>
        fieldOf(
          ResourceLocator.dynamicParameters,
          concat([textField(MapEntry.key, key), textField(MapEntry.value, value)])
        )
      )
    ])
  )

const statusField = (field: number, error: ErrorDetail | undefined): Uint8Array => {
  if (error === undefined) return nothing
  const code = new Writer(new Uint8Array(1 + sizeOfVarint(error.code)))
  code.varint(Status.code * 8 + WireType.Varint)
  code.varint(error.code)
  return fieldOf(field, concat([code.bytes, textField(Status.message, error.message)]))
}

const encodeWith = (request: Request, listOf: (request: StateOfTheWorldRequest) => Uint8Array): Uint8Array => {
  const node = (field: number) => (request.node === undefined ? nothing : fieldOf(field, request.node))
  if (request._tag === "StateOfTheWorld") {
    return concat([
      textField(DiscoveryRequest.versionInfo, request.versionInfo),
      node(DiscoveryRequest.node),
      listOf(request),
      textField(DiscoveryRequest.typeUrl, request.typeUrl),
      textField(DiscoveryRequest.responseNonce, request.responseNonce),
      statusField(DiscoveryRequest.errorDetail, request.errorDetail)
    ])
  }
  const versions: Array<Uint8Array> = []
  for (const [name, version] of request.initialResourceVersions) {
    versions.push(
      fieldOf(
        Delta.initialResourceVersions,
        concat([textField(MapEntry.key, name), textField(MapEntry.value, version)])
      )
    )
  }
  return concat([
    node(Delta.node),
    textField(Delta.typeUrl, request.typeUrl),
    namesOrLocators(
      request.resourceNamesSubscribe,
      Delta.resourceNamesSubscribe,
      Delta.resourceLocatorsSubscribe,
      request
    ),
    namesOrLocators(
      request.resourceNamesUnsubscribe,
      Delta.resourceNamesUnsubscribe,
      Delta.resourceLocatorsUnsubscribe,
      request
    ),
    ...versions,
    textField(Delta.responseNonce, request.responseNonce),
    statusField(Delta.errorDetail, request.errorDetail)
  ])
}

const resourceNames = (request: StateOfTheWorldRequest): Uint8Array =>
  namesOrLocators(request.resourceNames, DiscoveryRequest.resourceNames, DiscoveryRequest.resourceLocators, request)

/**
 * The bytes of a request.
 *
 * @since 0.1.0
 */
export const encode = (request: Request): Uint8Array => encodeWith(request, resourceNames)

/** A list of names and its bytes. */
interface EncodedNames {
  readonly names: ReadonlyArray<string>
  readonly bytes: Uint8Array
}

/**
 * {@link encode} for the requests of one stream. In state of the world every ACK repeats the names: as long as the array is the
 * same, it is encoded once per type. Do not change the array afterwards.
 *
 * @since 0.1.0
 */
export class Encoder {
  readonly #last = new Map<string, EncodedNames>()

  encode(request: Request): Uint8Array {
    return encodeWith(request, this.#listOf)
  }

  readonly #listOf = (request: StateOfTheWorldRequest): Uint8Array => {
    const { resourceNames: names, typeUrl } = request
    const known = this.#last.get(typeUrl)
    if (known?.names === names) return known.bytes
    const bytes = resourceNames(request)
    this.#last.set(typeUrl, { names, bytes })
    return bytes
  }
}
