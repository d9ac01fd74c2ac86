/**
 * Responses in JSON. Connect would serialise each in one go, however long that takes. So the text is written before, in
 * time slices, and Connect gets an empty `google.protobuf.StringValue`. Its JSON, `""`, is replaced by the text.
 */
import type { Message } from "@bufbuild/protobuf"
import { create } from "@bufbuild/protobuf"
import { StringValueSchema } from "@bufbuild/protobuf/wkt"
import { compressionGzip } from "@connectrpc/connect-node"
import type { UniversalServerResponse } from "@connectrpc/connect/protocol"
import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
import { Buffer } from "node:buffer"

/** The schema of the placeholder. */
export const schema = StringValueSchema

/** The placeholder in JSON. */
const placeholder = Buffer.from('""')

/** Texts from this size, in bytes, are compressed; as in Connect. */
const leastCompressed = 1024

/** The responses of one call. */
export class JsonResponses {
  readonly #texts: Array<Uint8Array<ArrayBuffer>> = []
  readonly #takesGzip: boolean

  /** `header`: the request headers. */
  constructor(header: Headers) {
    this.#takesGzip = /\bgzip\b/.test(header.get("accept-encoding") ?? "")
  }

  /** The placeholder message for a text. */
  put(text: Uint8Array<ArrayBuffer>): Message {
    this.#texts.push(text)
    return create(schema)
  }

  /** The answer with texts in place of placeholders. `isBare`: the whole body is one message without a prefix. */
  async unwrap(answer: UniversalServerResponse, isBare: boolean): Promise<UniversalServerResponse> {
    const { body, header } = answer
    if (!isBare) {
      const names = ["connect-content-encoding", "grpc-encoding"]
      const isGzip = names.some((name) => header?.get(name) === compressionGzip.name)
      return body === undefined ? answer : { ...answer, body: this.#enveloped(body, isGzip) }
    }
    const text = this.#texts.shift()
    // The answer is an error.
    if (text === undefined || answer.status !== 200) return answer
    const isGzip = this.#takesGzip && text.length >= leastCompressed
    const bytes = isGzip ? await compressionGzip.compress(text) : text
    if (isGzip) header?.set("content-encoding", compressionGzip.name)
    header?.set("content-length", String(bytes.length))
    return { ...answer, body: one(bytes) }
  }

  async *#enveloped(body: AsyncIterable<Uint8Array>, isGzip: boolean): AsyncGenerator<Uint8Array> {
    for await (const chunk of body) {
      // Connect yields a message with its prefix as one chunk. A message with a flag is no response: it ends the
      // stream.
      const isResponse = chunk[0] === 0 && placeholder.equals(chunk.subarray(LengthPrefix.size))
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
  const prefix = Buffer.alloc(LengthPrefix.size)
  LengthPrefix.write(prefix, bytes.length, isGzip)
  yield prefix
  yield bytes
}
