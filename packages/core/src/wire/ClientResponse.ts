/**
 * Decoder of discovery responses, for clients: reads them straight from their bytes.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @see https://github.com/cncf/xds/blob/main/proposals/TP3-xds-error-propagation.md
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import type { BinaryReader } from "@bufbuild/protobuf/wire"
import { WireType } from "@bufbuild/protobuf/wire"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import { DeltaDiscoveryResponse, DiscoveryResponse, ResourceError as Errors, Status } from "./Fields.js"
import * as Received from "./ReceivedResource.js"
import type { ErrorDetail, Protocol } from "./Request.js"
import { fields } from "./Wire.js"

/**
 * A resource that the server cannot send, and why (TP3).
 *
 * @since 0.1.0
 */
export interface ResourceError {
  readonly name: string
  readonly error: ErrorDetail
}

/**
 * A `DiscoveryResponse` or `DeltaDiscoveryResponse`.
 *
 * @since 0.1.0
 */
export interface ClientResponse {
  readonly protocol: Protocol
  readonly typeUrl: string
  /** `version_info` in state of the world; in incremental `system_version_info`, which is for debugging only. */
  readonly version: string
  readonly nonce: string
  readonly resources: ReadonlyArray<Received.Received>
  /** `removed_resources` and `removed_resource_names`, without variants that others take the place of. Incremental only. */
  readonly removed: ReadonlyArray<string>
  /** `resource_errors`. */
  readonly errors: ReadonlyArray<ResourceError>
}

/**
 * Error: bytes that are not a discovery response. They have no nonce for a NACK, so the stream must be ended.
 *
 * @since 0.1.0
 */
export class MalformedResponse extends Data.TaggedError("MalformedResponse")<{
  readonly protocol: Protocol
  /** Bytes of the message. */
  readonly size: number
  readonly reason: string
}> {
  override get message(): string {
    const name = this.protocol === "StateOfTheWorld" ? "DiscoveryResponse" : "DeltaDiscoveryResponse"
    return `${this.size} bytes are not a ${name}: ${this.reason}`
  }
}

/**
 * Reads a response from its bytes. Unknown fields are skipped.
 *
 * @since 0.1.0
 */
export const decode = (protocol: Protocol, bytes: Uint8Array): Either.Either<ClientResponse, MalformedResponse> => {
  try {
    return Either.right(protocol === "StateOfTheWorld" ? decodeStateOfTheWorld(bytes) : decodeIncremental(bytes))
  } catch (cause) {
    return Either.left(new MalformedResponse({ protocol, size: bytes.byteLength, reason: Reason.of(cause) }))
  }
}

const decodeStateOfTheWorld = (bytes: Uint8Array): ClientResponse => {
  const head = { version: "", typeUrl: "", nonce: "" }
  const resources: Array<Received.Received> = []
  const errors: Array<ResourceError> = []
  const typeUrls = new Received.TypeUrls()
  fields(bytes, (reader, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    switch (field) {
      case DiscoveryResponse.versionInfo:
        head.version = reader.string(true)
        return true
      case DiscoveryResponse.resources:
        resources.push(Received.decode(bytes, reader, typeUrls))
        return true
      case DiscoveryResponse.typeUrl:
        head.typeUrl = reader.string(true)
        return true
      case DiscoveryResponse.nonce:
        head.nonce = reader.string(true)
        return true
      case DiscoveryResponse.resourceErrors:
        errors.push(decodeResourceError(reader))
        return true
      default:
        return false
    }
  })
  return { protocol: "StateOfTheWorld", ...head, resources, removed: noNames, errors }
}

const decodeIncremental = (bytes: Uint8Array): ClientResponse => {
  const head = { version: "", typeUrl: "", nonce: "" }
  const resources: Array<Received.Received> = []
  const removed: Array<string> = []
  const errors: Array<ResourceError> = []
  let variants: Array<string> | undefined
  const typeUrls = new Received.TypeUrls()
  fields(bytes, (reader, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    switch (field) {
      case DeltaDiscoveryResponse.systemVersionInfo:
        head.version = reader.string(true)
        return true
      case DeltaDiscoveryResponse.resources:
        resources.push(Received.decodeWrapped(bytes, reader, typeUrls))
        return true
      case DeltaDiscoveryResponse.typeUrl:
        head.typeUrl = reader.string(true)
        return true
      case DeltaDiscoveryResponse.nonce:
        head.nonce = reader.string(true)
        return true
      case DeltaDiscoveryResponse.removedResources:
        removed.push(reader.string(true))
        return true
      case DeltaDiscoveryResponse.removedResourceNames: {
        const { isVariant, name } = Received.decodeVariant(reader)
        if (isVariant) (variants ??= []).push(name)
        else removed.push(name)
        return true
      }
      case DeltaDiscoveryResponse.resourceErrors:
        errors.push(decodeResourceError(reader))
        return true
      default:
        return false
    }
  })
  if (variants !== undefined) {
    // ★ A variant that another one takes the place of is removed in the same response: for this client the resource changes (TP2).
    const sent = new Set(resources.map((each) => Received.read(each).name))
    for (const name of variants) if (!sent.has(name)) removed.push(name)
  }
  return { protocol: "Incremental", ...head, resources, removed, errors }
}

const decodeResourceError = (reader: BinaryReader): ResourceError => {
  const found = { name: "", error: { code: 0, message: "" } }
  fields(reader.bytes(), (inner, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === Errors.resourceName) found.name = Received.decodeName(inner)
    else if (field === Errors.errorDetail) found.error = decodeStatus(inner)
    else return false
    return true
  })
  return found
}

const decodeStatus = (reader: BinaryReader): ErrorDetail => {
  const status = { code: 0, message: "" }
  fields(reader.bytes(), (inner, field, type) => {
    if (field === Status.code && type === WireType.Varint) status.code = inner.int32()
    else if (field === Status.message && type === WireType.LengthDelimited) status.message = inner.string()
    else return false
    return true
  })
  return status
}

const noResources: ReadonlyArray<Received.Received> = []
const noNames: ReadonlyArray<string> = []
const noErrors: ReadonlyArray<ResourceError> = []

/**
 * A response; omitted fields are empty. For tests, and for transports that do not read protobuf.
 *
 * @since 0.1.0
 */
export const make = (
  response: Pick<ClientResponse, "protocol" | "typeUrl"> & Partial<ClientResponse>
): ClientResponse => ({
  version: "",
  nonce: "",
  resources: noResources,
  removed: noNames,
  errors: noErrors,
  ...response
})
