/**
 * Requests as Connect gives them: each is a whole message, and Connect would parse it in one go, however long that takes. So
 * what is protobuf is wrapped on its way, as the one field of a `google.protobuf.BytesValue`: Connect takes that apart in no time,
 * and the bytes are read in turns. JSON cannot be; its values are counted on the way, and too many are refused.
 */
import { Code, ConnectError } from "@connectrpc/connect"
import { compressionGzip } from "@connectrpc/connect-node"
import type { Compression } from "@connectrpc/connect/protocol"
import * as JsonValues from "@effect-xds/transport/JsonValues"
import { Buffer } from "node:buffer"
import { prefixBytes } from "./LengthPrefixedMessage.js"

/** Bytes that wrapping adds at most. */
export const wrapBytes = 6

/** The tag of the field in a `BytesValue`, and the length. */
const headOf = (length: number): Buffer => {
  const bytes = [0x0a]
  let rest = length
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest % 0x80) | 0x80)
  bytes.push(rest)
  return Buffer.from(bytes)
}

const tooManyValues = (limit: number): ConnectError =>
  new ConnectError(`a request in JSON has more than ${limit} values, the limit of this server`, Code.ResourceExhausted)

/** What the messages are. */
interface Form {
  readonly isJson: boolean
  readonly maxJsonValues: number
}

/** gzip whose messages are wrapped, or counted, when they are inflated. */
export const gzipOf = ({ isJson, maxJsonValues }: Form): Compression => ({
  name: compressionGzip.name,
  compress: compressionGzip.compress,
  decompress: async (bytes, readMaxBytes) => {
    const message = await compressionGzip.decompress(bytes, readMaxBytes)
    if (!isJson) return wrap(message)
    if (!new JsonValues.Counter(maxJsonValues).push(message, 0, message.length)) throw tooManyValues(maxJsonValues)
    return message
  }
})

const wrap = (message: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = headOf(message.length)
  const bytes = new Uint8Array(head.length + message.length)
  bytes.set(head)
  bytes.set(message, head.length)
  return bytes
}

/** What a body holds, and who is told of it. */
export interface Reading extends Form {
  /** The bytes come as one message; else each message has a prefix. */
  readonly isBare: boolean
  /** The whole message is compressed, and so is dealt with when it is inflated. */
  readonly isCompressed: boolean
  /** Of a message. */
  readonly maxBytes: number
  /** Bytes that are held of a message that is not complete. */
  readonly onHeld: (bytes: number) => void
}

/** The body as Connect is to see it. */
export const read = (body: AsyncIterable<Uint8Array>, reading: Reading): AsyncIterable<Uint8Array> =>
  reading.isBare ? bare(body, reading) : enveloped(body, reading)

async function* bare(body: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  const { isCompressed, isJson, maxBytes, maxJsonValues, onHeld } = reading
  const counter = new JsonValues.Counter(maxJsonValues)
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    onHeld(size)
    if (isCompressed || isJson || size > maxBytes) {
      if (isJson && !isCompressed && !counter.push(chunk, 0, chunk.length)) throw tooManyValues(maxJsonValues)
      // What is too large Connect refuses by itself.
      for (const before of chunks.splice(0)) yield before
      yield chunk
    } else chunks.push(chunk)
  }
  if (isCompressed || isJson || size > maxBytes || size === 0) return
  yield headOf(size)
  yield* chunks
}

async function* enveloped(body: AsyncIterable<Uint8Array>, reading: Reading): AsyncGenerator<Uint8Array> {
  const { isJson, maxBytes, maxJsonValues, onHeld } = reading
  const prefix = Buffer.alloc(prefixBytes)
  let prefixed = 0
  let left = 0
  let size = 0
  let counter: JsonValues.Counter | undefined
  for await (const chunk of body) {
    for (let at = 0; at < chunk.length;) {
      if (prefixed < prefixBytes) {
        prefix[prefixed++] = chunk[at++] ?? 0
        if (prefixed < prefixBytes) continue
        left = prefix.readUInt32BE(1)
        size = 0
        // Other flags are of compressed messages, and of the ends of streams, which are not requests.
        const isPlain = prefix[0] === 0 && left > 0 && left <= maxBytes
        counter = isPlain && isJson ? new JsonValues.Counter(maxJsonValues) : undefined
        const head = isPlain && !isJson ? headOf(left) : undefined
        const envelope = Buffer.from(prefix)
        if (head !== undefined) envelope.writeUInt32BE(left + head.length, 1)
        yield head === undefined ? envelope : Buffer.concat([envelope, head])
      }
      const end = Math.min(chunk.length, at + left)
      if (counter?.push(chunk, at, end) === false) throw tooManyValues(maxJsonValues)
      size += end - at
      left -= end - at
      onHeld(size)
      if (end > at) yield chunk.subarray(at, end)
      at = end
      if (left === 0) prefixed = 0
    }
  }
}
