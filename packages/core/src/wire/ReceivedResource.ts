/**
 * A resource in a response, read straight from its bytes.
 *
 * The body is a slice of the message: it is decoded only if it differs from what the client holds. To keep a slice, copy it;
 * otherwise the whole message stays in memory.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import type { BinaryReader } from "@bufbuild/protobuf/wire"
import { WireType } from "@bufbuild/protobuf/wire"
import type * as Either from "effect/Either"
import { Any, Duration, Resource, ResourceName, tagOf } from "./Fields.js"
import { fields, viewOf } from "./Wire.js"

/**
 * A resource in a response: an `Any`, or an `envoy.service.discovery.v3.Resource` around one.
 *
 * @since 0.1.0
 */
export interface ReceivedResource {
  /** Empty without a wrapper: the name is then inside the encoded resource. */
  readonly name: string
  /** Version of this resource; empty without a wrapper. */
  readonly version: string
  readonly aliases: ReadonlyArray<string>
  /** Time to live in milliseconds, if it has one. */
  readonly ttl: number | undefined
  /** The type URL in the `Any`; empty without a body. */
  readonly typeUrl: string
  /** The encoded message, a view into the response; `undefined` for a wrapper without a body. */
  readonly value: Uint8Array | undefined
  /** Why the wrapper cannot be read; `undefined` if it can. */
  readonly malformed: string | undefined
  /** What was made of a large body before: see `LargeResources`. */
  readonly decoded?: Decoded | undefined
  /** Only of what is {@link Unread}. */
  readonly message?: undefined
}

/**
 * A resource that is not read yet: where its parts are in the response. Of most that come again, nothing needs to be read but the
 * bytes that are compared. It has a body, and neither aliases nor a TTL.
 *
 * @since 0.1.0
 */
export interface Unread {
  /** The response. */
  readonly message: Uint8Array
  readonly typeUrl: string
  /** Place of the body. */
  readonly at: number
  /** End of the body. */
  readonly end: number
  /** End of the name, which begins two bytes after the body. In ASCII, as the version is. 0: there is no wrapper. */
  readonly nameEnd: number
  /** Place of the version. */
  readonly versionAt: number
  /** End of the version. */
  readonly versionEnd: number
}

/**
 * A resource in a response, read or not.
 *
 * @since 0.1.0
 */
export type Received = ReceivedResource | Unread

/**
 * What the decoder of a type made of a body, for a name.
 *
 * @since 0.1.0
 */
export interface Decoded {
  /** By which decoder. */
  readonly by: unknown
  readonly name: string
  /** A copy of the body. */
  readonly bytes: Uint8Array
  /** Left: why the resource is rejected. */
  readonly result: Either.Either<unknown, string>
}

/** End of the type URL of the wrapper in state of the world, after `type.googleapis.com`. */
const WRAPPER = "/envoy.service.discovery.v3.Resource"

const tags = {
  anyTypeUrl: tagOf(Any.typeUrl),
  anyValue: tagOf(Any.value),
  version: tagOf(Resource.version),
  body: tagOf(Resource.resource),
  name: tagOf(Resource.name)
} as const

const noText: ReadonlyArray<string> = []

/**
 * Memo of the last type URL: thousands of resources in a response carry the same one, so it is decoded once.
 *
 * @since 0.1.0
 */
export class TypeUrls {
  private bytes: Uint8Array = new Uint8Array()
  private text = ""

  of(bytes: Uint8Array): string {
    if (!this.isAt(bytes, 0, bytes.byteLength)) {
      this.bytes = bytes
      this.text = decoder.decode(bytes)
    }
    return this.text
  }

  /** Whether the bytes at this place are the last type URL. */
  isAt(bytes: Uint8Array, start: number, length: number): boolean {
    if (length !== this.bytes.byteLength) return false
    for (let at = 0; at < length; at++) if (bytes[start + at] !== this.bytes[at]) return false
    return true
  }

  /** {@link isAt}; the first one is taken to be the last. */
  isNext(bytes: Uint8Array, start: number, length: number): boolean {
    if (this.bytes.byteLength === 0) this.of(bytes.subarray(start, start + length))
    return this.isAt(bytes, start, length)
  }

  get last(): string {
    return this.text
  }
}

const decoder = new TextDecoder()

/**
 * Comparison of many byte strings with views into one response: in one without changes, that is most of the cost. What reads the
 * response word by word is made once.
 *
 * @since 0.1.0
 */
export class Comparison {
  private received: DataView | undefined

  /** Whether two byte strings are the same. */
  isEqual(held: DataView, received: Uint8Array): boolean {
    return held.byteLength === received.byteLength && this.isAt(held, received, 0)
  }

  /** Whether a byte string is at this place of another one, which is long enough. */
  isAt(held: DataView, received: Uint8Array, from: number): boolean {
    const other = this.received?.buffer === received.buffer ? this.received : new DataView(received.buffer)
    this.received = other
    const length = held.byteLength
    let there = received.byteOffset + from
    let here = 0
    for (; here + 16 <= length; here += 16, there += 16) {
      const differs =
        (held.getInt32(here) ^ other.getInt32(there)) |
        (held.getInt32(here + 4) ^ other.getInt32(there + 4)) |
        (held.getInt32(here + 8) ^ other.getInt32(there + 8)) |
        (held.getInt32(here + 12) ^ other.getInt32(there + 12))
      if (differs !== 0) return false
    }
    for (; here < length; here++, there++) if (held.getUint8(here) !== other.getUint8(there)) return false
    return true
  }
}

/**
 * Whether two byte strings are the same.
 *
 * @since 0.1.0
 */
export const equals = (one: Uint8Array, other: Uint8Array): boolean => new Comparison().isEqual(viewOf(one), other)

/** Start of a hash (FNV-1a), and what it is multiplied by. */
const basis = 0x811c9dc5
const prime = 0x01000193

/**
 * A number for a name in ASCII, to find it by: see {@link nameHash}. Names may have the same.
 *
 * @since 0.1.0
 */
export const hashOf = (name: string): number => {
  let hash = basis
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), prime)
  return hash >>> 0
}

/** Whether a text is that of these bytes, which are ASCII. */
const isText = (text: string, bytes: Uint8Array, from: number, end: number): boolean => {
  if (text.length !== end - from) return false
  for (let at = 0; at < text.length; at++) if (text.charCodeAt(at) !== bytes[from + at]) return false
  return true
}

/** Whether bytes are ASCII. */
const isAscii = (bytes: Uint8Array, from: number, end: number): boolean => {
  for (let at = from; at < end; at++) if ((bytes[at] ?? 0) > 0x7f) return false
  return true
}

/**
 * The resource, read.
 *
 * @since 0.1.0
 */
export const read = (self: Received): ReceivedResource => {
  if (self.message === undefined) return self
  const { at, end, message, nameEnd, typeUrl, versionAt, versionEnd } = self
  return {
    name: isWrapped(self) ? decoder.decode(message.subarray(end + 2, nameEnd)) : "",
    version: isWrapped(self) ? decoder.decode(message.subarray(versionAt, versionEnd)) : "",
    aliases: noText,
    ttl: undefined,
    typeUrl,
    value: message.subarray(at, end),
    malformed: undefined
  }
}

/**
 * The aliases, without reading the rest.
 *
 * @since 0.1.0
 */
export const aliasesOf = (self: Received): ReadonlyArray<string> => (self.message === undefined ? self.aliases : noText)

/**
 * Bytes of the body; 0 without one.
 *
 * @since 0.1.0
 */
export const sizeOf = (self: Received): number =>
  self.message === undefined ? (self.value?.byteLength ?? 0) : self.end - self.at

/**
 * Whether name and version are beside the body.
 *
 * @since 0.1.0
 */
export const isWrapped = ({ nameEnd }: Unread): boolean => nameEnd !== 0

/**
 * Whether a wrapped resource has this name.
 *
 * @since 0.1.0
 */
export const isNamed = ({ end, message, nameEnd }: Unread, name: string): boolean =>
  isText(name, message, end + 2, nameEnd)

/**
 * Whether a wrapped resource has this version.
 *
 * @since 0.1.0
 */
export const isVersion = ({ message, versionAt, versionEnd }: Unread, version: string): boolean =>
  isText(version, message, versionAt, versionEnd)

/**
 * Whether these bytes are the body.
 *
 * @since 0.1.0
 */
export const isBody = ({ at, end, message }: Unread, held: DataView, comparison: Comparison): boolean =>
  held.byteLength === end - at && comparison.isAt(held, message, at)

/**
 * {@link hashOf} of the name; without a wrapper of the text in field 1 of the body, if that comes first and is short, else 0.
 *
 * @since 0.1.0
 */
export const nameHash = (self: Unread): number => {
  const { at, end, message, nameEnd } = self
  if (isWrapped(self)) return hashAt(message, end + 2, nameEnd)
  const from = at + 2
  const textEnd = from + (message[at + 1] ?? 0)
  return message[at] !== 0x0a || textEnd > end || textEnd >= from + 0x80 ? 0 : hashAt(message, from, textEnd)
}

const hashAt = (bytes: Uint8Array, from: number, end: number): number => {
  let hash = basis
  for (let at = from; at < end; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), prime)
  return hash >>> 0
}

/** `google.protobuf.Any` */
const readAny = (bytes: Uint8Array, typeUrls: TypeUrls): { typeUrl: string; value: Uint8Array } => {
  const any = { typeUrl: "", value: bytes.subarray(0, 0) }
  fields(bytes, (reader, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === Any.typeUrl) any.typeUrl = typeUrls.of(reader.bytes())
    else if (field === Any.value) any.value = reader.bytes()
    else return false
    return true
  })
  return any
}

/**
 * Decodes the next resource of a state-of-the-world response. Throws the errors of protobuf-es for malformed bytes.
 *
 * Fast path: the type URL seen last, then a value, and nothing else; such a resource is read in place.
 *
 * @since 0.1.0
 */
export const decode = (bytes: Uint8Array, reader: BinaryReader, typeUrls: TypeUrls): Received => {
  const start = reader.pos
  const end = reader.uint32() + reader.pos
  const length = bytes[reader.pos + 1] ?? 0
  const first = reader.pos + 2
  if (
    end <= reader.len &&
    bytes[reader.pos] === tags.anyTypeUrl &&
    length < 0x80 &&
    bytes[first + length] === tags.anyValue &&
    typeUrls.isNext(bytes, first, length)
  ) {
    reader.pos = first + length + 1
    const size = reader.uint32()
    const at = reader.pos
    if (at + size === end && !typeUrls.last.endsWith(WRAPPER)) {
      reader.pos = end
      return { message: bytes, typeUrl: typeUrls.last, at, end, nameEnd: 0, versionAt: 0, versionEnd: 0 }
    }
  }
  reader.pos = start
  return decodeAny(reader.bytes(), typeUrls)
}

/**
 * Decodes the next resource of an incremental response. Throws the errors of protobuf-es for malformed bytes.
 *
 * Fast path: a version, a body of the type seen last and a name, in this order, short, and nothing else; such a resource is read
 * in place.
 *
 * @since 0.1.0
 */
export const decodeWrapped = (bytes: Uint8Array, reader: BinaryReader, typeUrls: TypeUrls): Received => {
  const start = reader.pos
  const end = reader.uint32() + reader.pos
  const version = reader.pos + 2
  const versionEnd = version + (bytes[version - 1] ?? 0)
  if (
    end <= reader.len &&
    bytes[version - 2] === tags.version &&
    versionEnd < version + 0x80 &&
    bytes[versionEnd] === tags.body
  ) {
    reader.pos = versionEnd + 1
    const bodyEnd = reader.uint32() + reader.pos
    const length = bytes[reader.pos + 1] ?? 0
    const first = reader.pos + 2
    const name = bodyEnd + 2
    if (
      bodyEnd < end &&
      bytes[reader.pos] === tags.anyTypeUrl &&
      length < 0x80 &&
      bytes[first + length] === tags.anyValue &&
      typeUrls.isNext(bytes, first, length) &&
      bytes[bodyEnd] === tags.name &&
      name + (bytes[name - 1] ?? 0) === end &&
      end < name + 0x80
    ) {
      reader.pos = first + length + 1
      const size = reader.uint32()
      const at = reader.pos
      // Other texts take the slow path, which names the fault of invalid UTF-8.
      if (at + size === bodyEnd && isAscii(bytes, name, end) && isAscii(bytes, version, versionEnd)) {
        reader.pos = end
        return {
          message: bytes,
          typeUrl: typeUrls.last,
          at,
          end: bodyEnd,
          nameEnd: end,
          versionAt: version,
          versionEnd
        }
      }
    }
  }
  reader.pos = start
  return decodeResource(reader.bytes(), typeUrls)
}

const decodeAny = (bytes: Uint8Array, typeUrls: TypeUrls): ReceivedResource => {
  const any = readAny(bytes, typeUrls)
  if (any.typeUrl.endsWith(WRAPPER)) return decodeResource(any.value, typeUrls)
  return { name: "", version: "", aliases: noText, ttl: undefined, ...any, malformed: undefined }
}

const decodeResource = (bytes: Uint8Array, typeUrls: TypeUrls): ReceivedResource => {
  let name = ""
  let version = ""
  let aliases: Array<string> | undefined
  let ttl: number | undefined
  let body: { typeUrl: string; value: Uint8Array } | undefined
  let malformed: string | undefined
  try {
    fields(bytes, (reader, field, type) => {
      if (type !== WireType.LengthDelimited) return false
      switch (field) {
        case Resource.version:
          version = reader.string(true)
          return true
        case Resource.resource:
          body = readAny(reader.bytes(), typeUrls)
          return true
        case Resource.name:
          name = reader.string(true)
          return true
        case Resource.aliases:
          ;(aliases ??= []).push(reader.string(true))
          return true
        case Resource.ttl:
          ttl = decodeDuration(reader)
          return true
        case Resource.resourceName:
          name ||= decodeName(reader)
          return true
        default:
          return false
      }
    })
  } catch (cause) {
    malformed = Reason.of(cause)
  }
  return { name, version, aliases: aliases ?? noText, ttl, typeUrl: "", value: undefined, ...body, malformed }
}

const decodeDuration = (reader: BinaryReader): number => {
  const duration = { seconds: 0, nanos: 0 }
  fields(reader.bytes(), (inner, field, type) => {
    if (type !== WireType.Varint) return false
    if (field === Duration.seconds) duration.seconds = Number(inner.int64())
    else if (field === Duration.nanos) duration.nanos = inner.int32()
    else return false
    return true
  })
  return duration.seconds * 1_000 + duration.nanos / 1e6
}

/**
 * The name in an `envoy.service.discovery.v3.ResourceName`. Throws the errors of protobuf-es for malformed bytes.
 *
 * @since 0.1.0
 */
export const decodeName = (reader: BinaryReader): string => decodeVariant(reader).name

/**
 * {@link decodeName}, and whether it names a variant: there are constraints beside it.
 *
 * @since 0.1.0
 */
export const decodeVariant = (reader: BinaryReader): { readonly name: string; readonly isVariant: boolean } => {
  let name = ""
  let isVariant = false
  fields(reader.bytes(), (inner, field, type) => {
    if (type !== WireType.LengthDelimited) return false
    if (field === ResourceName.name) name = inner.string(true)
    else if (field === ResourceName.dynamicParameterConstraints) isVariant = inner.bytes().byteLength > 0
    else return false
    return true
  })
  return { name, isVariant }
}

/**
 * A received resource; omitted fields are empty.
 *
 * @since 0.1.0
 */
export const make = (received: Partial<ReceivedResource>): ReceivedResource => ({
  name: "",
  version: "",
  aliases: noText,
  ttl: undefined,
  typeUrl: "",
  value: undefined,
  malformed: undefined,
  ...received
})
