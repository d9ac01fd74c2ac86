/**
 * Wraps requests for Connect, which would parse a whole message in one go, however long that takes. A protobuf message
 * becomes the only field of a `google.protobuf.BytesValue`; a JSON message becomes a base64 string, which is a
 * `google.protobuf.StringValue` in JSON. Connect parses either at once. The content is then read in time slices.
 */
import type { DescMessage, JsonReadOptions, Message } from "@bufbuild/protobuf"
import { isMessage } from "@bufbuild/protobuf"
import { BytesValueSchema, StringValueSchema } from "@bufbuild/protobuf/wkt"
import { Code, ConnectError } from "@connectrpc/connect"
import { compressionGzip } from "@connectrpc/connect-node"
import type { Compression } from "@connectrpc/connect/protocol"
import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
import * as JsonParts from "@effect-xds/transport-node/JsonParts"
import * as JsonText from "@effect-xds/transport-node/JsonText"
import * as MessageParts from "@effect-xds/transport-node/MessageParts"
import type { Parts } from "@effect-xds/transport-node/TimeSlices"
import * as Either from "effect/Either"
import { Buffer } from "node:buffer"

/** The schema of the wrapper. */
export const schemaOf = (isJson: boolean): typeof BytesValueSchema | typeof StringValueSchema =>
  isJson ? StringValueSchema : BytesValueSchema

/** The highest limit of a message in bytes, wrapped or not, that Connect takes: gRPC writes its length in four bytes. */
export const largest = 2 ** 32 - 1

/** The most bytes of a wrapped message. */
export const wrappedBytes = (maxBytes: number, isJson: boolean): number =>
  Math.min(largest, isJson ? 4 * Math.ceil(maxBytes / 3) + 2 : maxBytes + 6)

/** The tag and length of the field of a `BytesValue`. */
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

/** The format of the messages. */
interface Form {
  readonly isJson: boolean
  /** The limit per message. */
  readonly maxBytes: number
}

/** A gzip codec that wraps messages after inflating them. */
export const gzipOf = ({ isJson, maxBytes }: Form): Compression => ({
  name: compressionGzip.name,
  compress: compressionGzip.compress,
  decompress: async (bytes) => {
    const message = await compressionGzip.decompress(bytes, maxBytes)
    if (isJson) return quoted(Buffer.from(message.buffer, message.byteOffset, message.byteLength))
    return Buffer.concat([headOf(message.length), message])
  }
})

/** Limits for reading JSON. */
export interface JsonLimits {
  readonly maxJsonValues: number
  readonly options: Partial<JsonReadOptions>
}

/** The bytes of a wrapped message; JSON is encoded as protobuf. Throws the error to answer with. */
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

/** How a body is read, and where its held bytes are reported. */
export interface Reading extends Form {
  /** `false`: Connect reads the messages themselves. Their bytes are counted all the same. */
  readonly isWrapped: boolean
  /** The body is one message; otherwise each message has a prefix. */
  readonly isBare: boolean
  /** The whole body is compressed, and is wrapped after inflating. */
  readonly isCompressed: boolean
  /** Reports the bytes held of an incomplete message. */
  readonly onHeld: (bytes: number) => void
}

/** The body for Connect to read. */
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
      // Connect refuses messages that are too large.
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
  const prefix = Buffer.alloc(LengthPrefix.size)
  let prefixed = 0
  let left = 0
  let size = 0
  /** The chunks of an incomplete JSON message. */
  let text: Array<Uint8Array> | undefined
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length;) {
      if (prefixed < LengthPrefix.size) {
        prefix[prefixed++] = chunk[at++] ?? 0
        if (prefixed < LengthPrefix.size) continue
        left = prefix.readUInt32BE(1)
        size = 0
        // Other flags mean compressed messages and ends of streams, which are no requests.
        const isPlain = prefix[0] === 0 && left > 0
        if (isPlain && isJson && left > maxBytes) throw tooLarge(maxBytes)
        text = isPlain && isJson && isWrapped ? [] : undefined
        const head = isPlain && !isJson && isWrapped && left <= maxBytes ? headOf(left) : undefined
        const envelope = Buffer.from(prefix)
        if (head !== undefined) LengthPrefix.write(envelope, left + head.length)
        if (text === undefined) yield head === undefined ? envelope : Buffer.concat([envelope, head])
      }
      const end = Math.min(chunk.length, at + left)
      size += end - at
      left -= end - at
      // ★ A complete message is passed on: an idle stream holds nothing.
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
