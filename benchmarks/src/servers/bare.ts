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

/** Calls back for each message, across chunks. */
const reader = (onMessage: () => void): ((chunk: Buffer) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  return (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (bytes.length >= 5) {
      const end = 5 + bytes.readUInt32BE(1)
      if (bytes.length < end) break
      onMessage()
      bytes = bytes.subarray(end)
    }
    rest = bytes
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
          stream.on("data", reader(onRequest))
        })
        server.listen(0, "127.0.0.1", () => {
          const address = server.address()
          resolve(`127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`)
        })
      })
  )
)
