/**
 * Responses in JSON. Connect would write each in one go, however long that takes. So it is written before, in turns, and Connect
 * is given an empty `google.protobuf.StringValue`, which is `""` in JSON: where that is in the answer the text is put.
 */
import type { Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { StringValueSchema } from "@bufbuild/protobuf/wkt"
import { compressionGzip } from "@connectrpc/connect-node"
import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import { Buffer } from "node:buffer"
import { prefixBytes } from "../grpc/LengthPrefixedMessage.js"

/** What Connect writes in place of a response. */
export const schema = StringValueSchema

/** As JSON. */
const placeholder = Buffer.from('""')

/** From so many bytes on they are compressed: Connect's own default. */
const leastCompressed = 1024

/** The flag of a message that is compressed. */
const compressed = 1

/** The responses of one call. */
export class JsonResponses {
  readonly #texts: Array<Uint8Array<ArrayBuffer>> = []
  readonly #takesGzip: boolean

  /** `header`: of the request. */
  constructor(header: Headers) {
    this.#takesGzip = /\bgzip\b/.test(header.get("accept-encoding") ?? "")
  }

  /** What Connect is to write in place of a text. */
  put(text: Uint8Array<ArrayBuffer>): Message {
    this.#texts.push(text)
    return create(schema)
  }

  /** The answer with the texts in their places. `isBare`: a message without a prefix is all of it. */
  async unwrap(answer: UniversalServerResponse, isBare: boolean): Promise<UniversalServerResponse> {
    const { body, header } = answer
    if (!isBare) {
      const names = ["connect-content-encoding", "grpc-encoding"]
      const isGzip = names.some((name) => header?.get(name) === compressionGzip.name)
      return body === undefined ? answer : { ...answer, body: this.#enveloped(body, isGzip) }
    }
    const text = this.#texts.shift()
    // It is an error.
    if (text === undefined || answer.status !== 200) return answer
    const isGzip = this.#takesGzip && text.length >= leastCompressed
    const bytes = isGzip ? await compressionGzip.compress(text) : text
    if (isGzip) header?.set("content-encoding", compressionGzip.name)
    header?.set("content-length", String(bytes.length))
    return { ...answer, body: one(bytes) }
  }

  async *#enveloped(body: AsyncIterable<Uint8Array>, isGzip: boolean): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      // Connect gives each message with its prefix in one piece. What has a flag is no response: it ends the stream.
      const isResponse = chunk[0] === 0 && placeholder.equals(chunk.subarray(prefixBytes))
      const text = isResponse ? this.#texts.shift() : undefined
      if (text === undefined) yield chunk
      else yield* enveloped(text, isGzip && text.length >= leastCompressed)
    }
  }
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield await Promise.resolve(bytes)
}

async function* enveloped(text: Uint8Array<ArrayBuffer>, isGzip: boolean): AsyncGenerator<Uint8Array> {
  const bytes = isGzip ? await compressionGzip.compress(text) : text
  const prefix = Buffer.alloc(prefixBytes)
  prefix[0] = isGzip ? compressed : 0
  prefix.writeUInt32BE(bytes.length, 1)
  yield prefix
  yield bytes
}
