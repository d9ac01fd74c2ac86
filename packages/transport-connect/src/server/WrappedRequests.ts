/**
 * Requests as Connect gives them: each is a whole message, and Connect would parse it in one go, however long that takes. So
 * it is wrapped on its way, and Connect takes that apart in no time: what is protobuf as the one field of a
 * `google.protobuf.BytesValue`, what is JSON as a `google.protobuf.StringValue` that holds it in base64, which is a string of JSON.
 * What was in it is read in turns.
 */
import type { DescMessage, JsonReadOptions, Message } from "@bufbuild/protobuf"
import { isMessage } from "@bufbuild/protobuf"
import { BytesValueSchema, StringValueSchema } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { compressionGzip } from "@connectrpc/connect-node"
import type { Compression } from "@connectrpc/connect/protocol"
import * as JsonParts from "@effect-xds/transport-node/JsonParts"
import * as JsonText from "@effect-xds/transport-node/JsonText"
import * as MessageParts from "@effect-xds/transport-node/MessageParts"
import type { Parts } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import { Buffer } from "node:buffer"
import { prefixBytes } from "../grpc/LengthPrefixedMessage.js"

/** What Connect reads in place of a message. */
export const schemaOf = (isJson: boolean): typeof BytesValueSchema | typeof StringValueSchema =>
  isJson ? StringValueSchema : BytesValueSchema

/** Bytes that a message has at most when it is wrapped. */
export const wrappedBytes = (maxBytes: number, isJson: boolean): number =>
  isJson ? 4 * Math.ceil(maxBytes / 3) + 2 : maxBytes + 6

/** The tag of the field in a `BytesValue`, and the length. */
const headOf = (length: number): Buffer => {
  const bytes = [0x0a]
  let rest = length
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}

const quoted = (text: Buffer): Buffer<ArrayBuffer> => Buffer.from(`"${text.toString("base64")}"`, "latin1")

const tooLarge = (limit: number): ConnectError =>
  new ConnectError(`a request in JSON has more than ${limit} bytes, the limit of this server`, Code.ResourceExhausted)

/** What the messages are. */
interface Form {
  readonly isJson: boolean
  /** Of a message. */
  readonly maxBytes: number
}

/** gzip whose messages are wrapped when they are inflated. */
export const gzipOf = ({ isJson, maxBytes }: Form): Compression => ({
  name: compressionGzip.name,
  compress: compressionGzip.compress,
  decompress: async (bytes) => {
    const message = await compressionGzip.decompress(bytes, maxBytes)
    if (isJson) return quoted(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
    return Buffer.concat([headOf(message.length), message])
  }
})

/** How JSON is read. */
export interface JsonLimits {
  readonly maxJsonValues: number
  readonly options: Partial<JsonReadOptions>
}

/** The bytes of a message that was wrapped: what was JSON is encoded. Throws the error to answer with. */
export function* unwrap(schema: DescMessage, wrapped: Message, limits: JsonLimits): Parts<Uint8Array> {
  if (isMessage(wrapped, BytesValueSchema)) return wrapped.value
  const bytes = Buffer.from(isMessage(wrapped, StringValueSchema) ? wrapped.value : "", "base64")
  const expected = { subject: "the request", kind: schema.name, maxValues: limits.maxJsonValues }
  const json = yield* JsonParts.readObject(bytes, expected)
  if (Either.isLeft(json)) {
    const { isTooMuch, message } = json.left
    if (!isTooMuch) throw new ConnectError(message, Code.InvalidArgument)
    throw new ConnectError(`${message}; send it in protobuf, which has no such limit`, Code.ResourceExhausted)
  }
  try {
    return yield* MessageParts.encode(schema, json.right, limits.options)
  } catch (cause) {
    const reason = JsonText.reasonOf(cause)
    throw new ConnectError(`the request is not a ${schema.name}: ${reason}`, Code.InvalidArgument)
  }
}

/** What a body holds, and who is told of it. */
export interface Reading extends Form {
  /** `false`: Connect is to read the messages as they are; what they hold is counted all the same. */
  readonly isWrapped: boolean
  /** The bytes come as one message; else each message has a prefix. */
  readonly isBare: boolean
  /** The whole message is compressed, and so is dealt with when it is inflated. */
  readonly isCompressed: boolean
  /** Bytes that are held of a message that is not complete. */
  readonly onHeld: (bytes: number) => void
}

/** The body as Connect is to see it. */
export const read = (body: AsyncIterable<Uint8Array>, reading: Reading): AsyncIterable<Uint8Array> =>
  reading.isBare ? bare(body, reading) : enveloped(body, reading)

async function* bare(body: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  const { isCompressed, isJson, isWrapped, maxBytes, onHeld } = reading
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    onHeld(size)
    const isTooLarge = size > maxBytes
    if (isTooLarge && isJson && !isCompressed) throw tooLarge(maxBytes)
    if (isCompressed || isTooLarge || !isWrapped) {
      // What is too large Connect refuses by itself.
      for (const before of chunks.splice(0)) yield before
      yield chunk
    } else chunks.push(chunk)
  }
  if (isCompressed || !isWrapped || size > maxBytes || size === 0) return
  if (isJson) yield quoted(Buffer.concat(chunks))
  else {
    yield headOf(size)
    yield* chunks
  }
}

async function* enveloped(body: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  const { isJson, isWrapped, maxBytes, onHeld } = reading
  const prefix = Buffer.alloc(prefixBytes)
  let prefixed = 0
  let left = 0
  let size = 0
  /** What came so far of a message in JSON. */
  let text: Array<Uint8Array> | undefined
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length;) {
      if (prefixed < prefixBytes) {
        prefix[prefixed++] = chunk[at++] ?? 0
        if (prefixed < prefixBytes) continue
        left = prefix.readUInt32BE(1)
        size = 0
        // Other flags are of compressed messages, and of the ends of streams, which are not requests.
        const isPlain = prefix[0] === 0 && left > 0
        if (isPlain && isJson && left > maxBytes) throw tooLarge(maxBytes)
        text = isPlain && isJson && isWrapped ? [] : undefined
        const head = isPlain && !isJson && isWrapped && left <= maxBytes ? headOf(left) : undefined
        const envelope = Buffer.from(prefix)
        if (head !== undefined) envelope.writeUInt32BE(left + head.length, 1)
        if (text === undefined) yield head === undefined ? envelope : Buffer.concat([envelope, head])
      }
      const end = Math.min(chunk.length, at + left)
      size += end - at
      left -= end - at
      // ★ What is whole is on its way to the server: a stream that rests holds nothing.
      onHeld(left > 0 ? size : 0)
      if (end > at) {
        const piece = chunk.subarray(at, end)
        if (text === undefined) yield piece
        else text.push(piece)
      }
      at = end
      if (left > 0) continue
      prefixed = 0
      if (text === undefined) continue
      const message = quoted(Buffer.concat(text))
      text = undefined
      prefix.writeUInt32BE(message.length, 1)
      yield Buffer.concat([prefix, message])
    }
  }
}
