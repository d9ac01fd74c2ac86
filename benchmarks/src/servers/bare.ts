/** Nothing but `node:http2`: the least that a server on Node costs. */
import * as Http2 from "node:http2"
import { serve } from "./Commands.js"
import * as WriteLoop from "./WriteLoop.js"

/** Up to here a response is written as one buffer; a larger one is shared by the streams, behind a head of its own. */
const copyLimit = 4096

const head = (length: number, nonce: Uint8Array, more: number): Buffer => {
  const bytes = Buffer.allocUnsafe(5 + nonce.length + more)
  bytes[0] = 0
  bytes.writeUInt32BE(length + nonce.length, 1)
  bytes.set(nonce, 5)
  return bytes
}

/** A request of this size is one of a client that lists what it holds. */
const holding = 4096

/** Calls back for each message, across chunks, with its length. What is in it is not kept. */
const reader = (onMessage: (length: number) => void): ((chunk: Buffer) => void) => {
  let prefix: Buffer = Buffer.alloc(0)
  let length = 0
  let left = 0
  return (chunk) => {
    for (let at = 0; at < chunk.length;) {
      if (left === 0) {
        const rest = 5 - prefix.length
        prefix =
          prefix.length === 0 ? chunk.subarray(at, at + rest) : Buffer.concat([prefix, chunk.subarray(at, at + rest)])
        at += rest
        if (prefix.length < 5) return
        length = left = prefix.readUInt32BE(1)
        prefix = Buffer.alloc(0)
      }
      const taken = Math.min(left, chunk.length - at)
      at += taken
      left -= taken
      if (left === 0) onMessage(length)
    }
  }
}

serve(
  WriteLoop.make(
    (accept) =>
      new Promise((resolve) => {
        const server = Http2.createServer({ settings: { maxConcurrentStreams: 1000 }, maxSessionMemory: 64 * 1024 })
        server.on("stream", (stream) => {
          stream.on("error", () => undefined)
          stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
          const onRequest = accept((body, nonce) => {
            if (body.length <= copyLimit) {
              const bytes = head(body.length, nonce, body.length)
              bytes.set(body, 5 + nonce.length)
              stream.write(bytes)
            } else {
              stream.cork()
              stream.write(head(body.length, nonce, 0))
              stream.write(body)
              stream.uncork()
            }
          })
          stream.on(
            "data",
            reader((length) => onRequest(length > holding))
          )
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          resolve(`127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
        })
      })
  )
)
