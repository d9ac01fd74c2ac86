/**
 * Messages and resources in the form of traces.
 */
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import type * as Request from "@effect-xds/core/wire/Request"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import { fingerprint, type Message, type TracedResource } from "../invariants/Trace.js"
import * as Reference from "../reference/Reference.js"

/** Most resources whose references a network caches. */
const maxReferences = 10_000

/** A request in the form of traces. */
export const requestOf = (request: Request.Request): Message => {
  const { errorDetail, responseNonce: nonce, typeUrl } = request
  const error = errorDetail?.message
  return request._tag === "StateOfTheWorld"
    ? {
        _tag: "Request",
        typeUrl,
        nonce,
        version: request.versionInfo,
        names: request.resourceNames,
        unsubscribe: [],
        held: {},
        error
      }
    : {
        _tag: "Request",
        typeUrl,
        nonce,
        version: "",
        names: request.resourceNamesSubscribe,
        unsubscribe: request.resourceNamesUnsubscribe,
        held: Object.fromEntries(request.initialResourceVersions),
        error
      }
}

/** A malformed request in the form of traces. */
export const malformed: Message = {
  _tag: "Request",
  typeUrl: "",
  nonce: "",
  version: "",
  names: [],
  unsubscribe: [],
  held: {},
  error: "malformed"
}

/** Traces messages. References of a resource are read once for equal bytes. */
export class MessageTracer {
  private readonly references = new Map<string, ReadonlyArray<string>>()

  resourceOf(typeUrl: string, name: string, version: string, bytes: Uint8Array | undefined): TracedResource {
    if (bytes === undefined) return { name, fingerprint: "", version, refersTo: [] }
    const print = fingerprint(bytes)
    const key = `${typeUrl} ${name} ${print}`
    let refersTo = this.references.get(key)
    if (refersTo === undefined) {
      refersTo = Reference.of(typeUrl, name, bytes)
      // Only a cache: cleared when it is large.
      if (this.references.size >= maxReferences) this.references.clear()
      this.references.set(key, refersTo)
    }
    return { name, fingerprint: print, version, refersTo }
  }

  responseOf(protocol: Request.Protocol, bytes: Uint8Array): Message {
    const decoded = Either.getOrThrow(ClientResponse.decode(protocol, bytes))
    const { nonce, removed, resources, typeUrl, version } = decoded
    return {
      _tag: "Response",
      typeUrl,
      nonce,
      version,
      resources: resources.map(ReceivedResource.read).map(({ aliases, name, value, version }) => ({
        ...this.resourceOf(
          typeUrl,
          name === "" && value !== undefined ? (ResourceType.nameOfBytes(value) ?? "") : name,
          version,
          value
        ),
        ...(aliases.length === 0 ? {} : { aliases })
      })),
      removed
    }
  }
}
