/**
 * Discovery requests, read straight from their bytes.
 *
 * Almost every request is an ACK: a nonce, a version, a type URL and perhaps names. Nothing else is decoded. The node, 60 KB
 * from an Envoy, stays a slice of the message until it is needed.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/service/discovery/v3/discovery.proto
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as Authority from "../protocol/Authority.js"
import type { Protocol } from "../protocol/Protocol.js"
import type { HeldVersions } from "../resource/HeldVersions.js"

import type { ByAuthority, Parameters } from "../protocol/DynamicParameters.js"
import { DeltaDiscoveryRequest, DiscoveryRequest, MapEntry, ResourceLocator, Status } from "./Fields.js"
import { fields } from "./Wire.js"

export type { Protocol } from "../protocol/Protocol.js"

/**
 * Why a client rejected a response: a `google.rpc.Status` without its details.
 *
 * @since 0.1.0
 */
export interface ErrorDetail {
  /** A gRPC status code. Envoy gives 13 (INTERNAL), gRPC 3 (INVALID_ARGUMENT). */
  readonly code: number
  /** The client's message. Free text, often truncated; never compare it. */
  readonly message: string
}

/**
 * A `DiscoveryRequest`.
 *
 * @since 0.1.0
 */
export interface StateOfTheWorldRequest {
  readonly _tag: "StateOfTheWorld"
  readonly typeUrl: string
  /** The version that the client uses. Only a hint. */
  readonly versionInfo: string
  readonly resourceNames: ReadonlyArray<string>
  /** Nonce of the response that this request ACKs or NACKs; empty if there is none. */
  readonly responseNonce: string
  /** Present in a NACK only. */
  readonly errorDetail: ErrorDetail | undefined
  /** The encoded `Node`, if the request has one. */
  readonly node: Uint8Array | undefined
  /** What the locators of a request say beside names (TP2); their names are among the others. Absent without locators. */
  readonly parameters?: ByAuthority
}

/**
 * A `DeltaDiscoveryRequest`.
 *
 * @since 0.1.0
 */
export interface IncrementalRequest {
  readonly _tag: "Incremental"
  readonly typeUrl: string
  readonly resourceNamesSubscribe: ReadonlyArray<string>
  readonly resourceNamesUnsubscribe: ReadonlyArray<string>
  /** Name → version of what the client holds from an earlier stream. */
  readonly initialResourceVersions: HeldVersions
  readonly responseNonce: string
  readonly errorDetail: ErrorDetail | undefined
  readonly node: Uint8Array | undefined
  /** See {@link StateOfTheWorldRequest}. */
  readonly parameters?: ByAuthority
}

/**
 * A discovery request of either variant.
 *
 * @since 0.1.0
 */
export type Request = StateOfTheWorldRequest | IncrementalRequest

/**
 * Error: bytes that are not a discovery request.
 *
 * @since 0.1.0
 */
export class MalformedRequest extends Data.TaggedError("MalformedRequest")<{
  readonly protocol: Protocol
  /** Bytes of the message. */
  readonly size: number
  readonly reason: string
}> {
  override get message(): string {
    const name = this.protocol === "StateOfTheWorld" ? "DiscoveryRequest" : "DeltaDiscoveryRequest"
    return `${this.size} bytes are not a ${name}: ${this.reason}`
  }
}

const noStrings: ReadonlyArray<string> = []
const noVersions: ReadonlyMap<string, string> = new Map()

// Plain requests: for tests, and for transports that do not read protobuf.

/**
 * A state-of-the-world request; omitted fields are empty.
 *
 * @since 0.1.0
 */
export const stateOfTheWorld = (
  request: { readonly typeUrl: string } & Partial<Omit<StateOfTheWorldRequest, "_tag">>
): StateOfTheWorldRequest => ({
  versionInfo: "",
  resourceNames: noStrings,
  responseNonce: "",
  errorDetail: undefined,
  node: undefined,
  ...request,
  _tag: "StateOfTheWorld"
})

/**
 * An incremental request; omitted fields are empty.
 *
 * @since 0.1.0
 */
export const incremental = (
  request: { readonly typeUrl: string } & Partial<Omit<IncrementalRequest, "_tag">>
): IncrementalRequest => ({
  resourceNamesSubscribe: noStrings,
  resourceNamesUnsubscribe: noStrings,
  initialResourceVersions: noVersions,
  responseNonce: "",
  errorDetail: undefined,
  node: undefined,
  ...request,
  _tag: "Incremental"
})

/**
 * The part of `initial_resource_versions` that a transport has already taken out of the bytes, to keep it once for many
 * clients.
 *
 * @since 0.1.0
 */
export interface ReadVersions {
  /** Size of that part in bytes. */
  readonly bytes: number
  /** All that the client holds: that part, and `others` from the rest of the bytes. */
  readonly versions: (others: ReadonlyMap<string, string>) => HeldVersions
}

/**
 * Reads a request from its bytes. The node is a view into them, not a copy.
 *
 * @param held the part that was read before. Without it every client has a map of its own.
 * @since 0.1.0
 */
export const decode = (
  protocol: Protocol,
  bytes: Uint8Array,
  held?: ReadVersions
): Either.Either<Request, MalformedRequest> => {
  const reader = new Reader(protocol, bytes, held)
  const request = reader.read(Number.POSITIVE_INFINITY)
  return request ?? reader.malformed("it does not end")
}

/**
 * Reads a request in slices: one of 4 MB may have two million fields.
 *
 * @since 0.1.0
 */
export class Reader {
  private readonly reader: BinaryReader
  /** Field numbers of the open groups. No request has groups; their content is skipped field by field. */
  private readonly groups: Array<number> = []
  private readonly visit: Visit
  private readonly result: () => Request

  /** Parameters as for {@link decode}. */
  constructor(
    private readonly protocol: Protocol,
    private readonly bytes: Uint8Array,
    private readonly held?: ReadVersions
  ) {
    this.reader = new BinaryReader(bytes)
    const { result, visit } = protocol === "StateOfTheWorld" ? stateOfTheWorldVisit() : incrementalVisit(held)
    this.visit = visit
    this.result = result
  }

  /** Reads up to `count` fields; `undefined` if there are more. */
  read(count: number): Either.Either<Request, MalformedRequest> | undefined {
    const { reader, visit } = this
    try {
      for (let left = count; reader.pos < reader.len; left--) {
        if (left <= 0) return undefined
        const tag = reader.tag()
        const field = tag[0]
        const type = tag[1]
        if (type === WireType.StartGroup) this.groups.push(field)
        else if (type === WireType.EndGroup) this.endGroup(field)
        else if (this.groups.length > 0 || !visit(reader, field, type)) reader.skip(type, field)
      }
      return this.groups.length > 0 ? this.malformed("a group does not end") : Either.right(this.result())
    } catch (cause) {
      return this.malformed(Reason.of(cause))
    }
  }

  private endGroup(field: number): void {
    if (this.groups.pop() !== field) throw new Error(`field ${field}: the end of a group that did not begin`)
  }

  malformed(reason: string): Either.Either<Request, MalformedRequest> {
    const size = this.bytes.byteLength + (this.held?.bytes ?? 0)
    return Either.left(new MalformedRequest({ protocol: this.protocol, size, reason }))
  }
}

type Visit = (reader: BinaryReader, field: number, type: WireType) => boolean

interface Decoding {
  readonly visit: Visit
  readonly result: () => Request
}

const stateOfTheWorldVisit = (): Decoding => {
  let typeUrl = ""
  let versionInfo = ""
  let responseNonce = ""
  let resourceNames: Array<string> | undefined
  let parameters: Map<string, Parameters> | undefined
  let errorDetail: ErrorDetail | undefined
  let node: Uint8Array | undefined
  const visit: Visit = (reader, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    switch (field) {
      case DiscoveryRequest.versionInfo:
        versionInfo = reader.string(true)
        return true
      case DiscoveryRequest.node:
        node = reader.bytes()
        return true
      case DiscoveryRequest.resourceNames:
        ;(resourceNames ??= []).push(reader.string(true))
        return true
      case DiscoveryRequest.resourceLocators:
        ;(resourceNames ??= []).push(decodeLocator(reader, (parameters ??= new Map<string, Parameters>())))
        return true
      case DiscoveryRequest.typeUrl:
        typeUrl = reader.string(true)
        return true
      case DiscoveryRequest.responseNonce:
        responseNonce = reader.string(true)
        return true
      case DiscoveryRequest.errorDetail:
        errorDetail = decodeStatus(reader)
        return true
      default:
        return false
    }
  }
  const result = (): StateOfTheWorldRequest => ({
    _tag: "StateOfTheWorld",
    typeUrl,
    versionInfo,
    resourceNames: resourceNames ?? noStrings,
    responseNonce,
    errorDetail,
    node,
    ...(parameters !== undefined && { parameters })
  })
  return { visit, result }
}

const incrementalVisit = (held: ReadVersions | undefined): Decoding => {
  let typeUrl = ""
  let responseNonce = ""
  let subscribe: Array<string> | undefined
  let unsubscribe: Array<string> | undefined
  let parameters: Map<string, Parameters> | undefined
  let versions: Map<string, string> | undefined
  let errorDetail: ErrorDetail | undefined
  let node: Uint8Array | undefined
  const visit: Visit = (reader, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    switch (field) {
      case DeltaDiscoveryRequest.node:
        node = reader.bytes()
        return true
      case DeltaDiscoveryRequest.typeUrl:
        typeUrl = reader.string(true)
        return true
      case DeltaDiscoveryRequest.resourceNamesSubscribe:
        ;(subscribe ??= []).push(reader.string(true))
        return true
      case DeltaDiscoveryRequest.resourceNamesUnsubscribe:
        ;(unsubscribe ??= []).push(reader.string(true))
        return true
      case DeltaDiscoveryRequest.resourceLocatorsSubscribe:
        ;(subscribe ??= []).push(decodeLocator(reader, (parameters ??= new Map<string, Parameters>())))
        return true
      case DeltaDiscoveryRequest.resourceLocatorsUnsubscribe:
        // What it is not subscribed to any more says nothing of the client.
        ;(unsubscribe ??= []).push(decodeLocator(reader, new Map()))
        return true
      case DeltaDiscoveryRequest.initialResourceVersions: {
        const [name, version] = decodeMapEntry(reader)
        ;(versions ??= new Map()).set(name, version)
        return true
      }
      case DeltaDiscoveryRequest.responseNonce:
        responseNonce = reader.string(true)
        return true
      case DeltaDiscoveryRequest.errorDetail:
        errorDetail = decodeStatus(reader)
        return true
      default:
        return false
    }
  }
  const result = (): IncrementalRequest => ({
    _tag: "Incremental",
    typeUrl,
    resourceNamesSubscribe: subscribe ?? noStrings,
    resourceNamesUnsubscribe: unsubscribe ?? noStrings,
    initialResourceVersions: held?.versions(versions ?? noVersions) ?? versions ?? noVersions,
    responseNonce,
    errorDetail,
    node,
    ...(parameters !== undefined && { parameters })
  })
  return { visit, result }
}

/**
 * Most fields of a message inside a request. Such a message is read in one go, and a hostile one may have a million fields. A
 * NACK has a code, a message and some details; a map entry has a key and a value.
 */
const mostInside = 1_024

const fieldsInside = (
  reader: BinaryReader,
  name: string,
  visit: (reader: BinaryReader, field: number, type: WireType) => boolean
): void => {
  let left = mostInside
  fields(reader.bytes(), (inner, field, type) => {
    // A group is skipped as one field, whatever is in it.
    if (left-- <= 0 || type === WireType.StartGroup)
      throw new Error(`${name} has more than ${mostInside} fields, or a group`)
    return visit(inner, field, type)
  })
}

const decodeStatus = (reader: BinaryReader): ErrorDetail => {
  let code = 0
  let message = ""
  fieldsInside(reader, "error_detail", (inner, field, type) => {
    if (field === Status.code && type === WireType.Varint) {
      code = inner.int32()
      return true
    }
    if (field === Status.message && type === WireType.LengthDelimited) {
      message = inner.string(true)
      return true
    }
    return false
  })
  return { code, message }
}

/** The name in a locator. What it says beside it is put under the authority of the name. */
const decodeLocator = (reader: BinaryReader, into: Map<string, Parameters>): string => {
  let name = ""
  const parameters = new Map<string, string>()
  fieldsInside(reader, "a resource locator", (inner, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === ResourceLocator.name) name = inner.string(true)
    else if (field === ResourceLocator.dynamicParameters) {
      const [key, value] = decodeMapEntry(inner, "an entry of dynamic_parameters")
      parameters.set(key, value)
    } else return false
    return true
  })
  into.set(Authority.ofName(name) ?? "", parameters)
  return name
}

const decodeMapEntry = (
  reader: BinaryReader,
  where = "an entry of initial_resource_versions"
): readonly [name: string, version: string] => {
  let name = ""
  let version = ""
  fieldsInside(reader, where, (inner, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === MapEntry.key) name = inner.string(true)
    else if (field === MapEntry.value) version = inner.string(true)
    else return false
    return true
  })
  return [name, version]
}
