/**
 * `@grpc/grpc-js`, with messages as bytes.
 */
import * as Grpc from "@grpc/grpc-js"
import { Effect } from "effect"
import { adsPath } from "./RecordingServer.js"

const bytes = (message: Buffer): Buffer => message

export const connect = (
  address: string,
  credentials = Grpc.credentials.createInsecure(),
  options: Grpc.ClientOptions = {}
) =>
  Effect.acquireRelease(
    Effect.sync(() => new Grpc.Client(address, credentials, options)),
    (client) => Effect.sync(() => client.close())
  )

export interface Call {
  readonly stream: Grpc.ClientDuplexStream<Buffer, Buffer>
  readonly messages: Array<Buffer>
  readonly metadata: Promise<Grpc.Metadata>
  readonly status: Promise<Grpc.StatusObject>
}

export const open = (client: Grpc.Client, path = adsPath): Call => {
  const stream = client.makeBidiStreamRequest(path, bytes, bytes)
  const messages: Array<Buffer> = []
  stream.on("data", (message: Buffer) => messages.push(message))
  stream.on("error", () => undefined)
  const metadata = new Promise<Grpc.Metadata>((resolve) => stream.on("metadata", resolve))
  const status = new Promise<Grpc.StatusObject>((resolve) => stream.on("status", resolve))
  return { stream, messages, metadata, status }
}

export const unary = (client: Grpc.Client, path: string, message: Buffer): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, bytes, bytes, message, (error, value) => {
      if (error !== null) reject(error)
      else resolve(value ?? Buffer.alloc(0))
    })
  })
