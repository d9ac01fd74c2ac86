/**
 * A server behind the port that writes down what it is told, on a real socket.
 */
import type { Request } from "@effect-xds/core"
import type { ServerTransport } from "@effect-xds/transport"
import { ConnectServer } from "@effect-xds/transport-connect"
import { Effect, Logger } from "effect"

export interface Recorded {
  readonly stream: ServerTransport.AcceptedStream
  readonly requests: Array<Request.Request>
  readonly ends: Array<string>
  writable: number
}

export interface Behaviour {
  readonly onStream?: (recorded: Recorded) => void
  readonly onRequest?: (recorded: Recorded, request: Request.Request) => void
  readonly onWritable?: (recorded: Recorded) => void
  readonly onEnd?: (recorded: Recorded) => void
}

interface Log {
  readonly level: string
  readonly message: string
  readonly annotations: Record<string, unknown>
}

interface Recording {
  readonly port: number
  readonly address: string
  readonly streams: Array<Recorded>
  readonly logs: Array<Log>
}

export const serve = (options: ConnectServer.Options = {}, behaviour: Behaviour = {}) =>
  Effect.gen(function* () {
    const streams: Array<Recorded> = []
    const logs: Array<Log> = []
    const logger = Logger.make(({ annotations, logLevel, message }) => {
      const plain = Object.fromEntries(annotations)
      logs.push({ level: logLevel.label, message: String(message), annotations: plain })
    })
    const accept = (stream: ServerTransport.AcceptedStream): ServerTransport.StreamHandler => {
      const recorded: Recorded = { stream, requests: [], ends: [], writable: 0 }
      streams.push(recorded)
      behaviour.onStream?.(recorded)
      return {
        onRequest: (request) => {
          recorded.requests.push(request)
          behaviour.onRequest?.(recorded, request)
        },
        onWritable: () => {
          recorded.writable++
          behaviour.onWritable?.(recorded)
        },
        onEnd: (reason) => {
          recorded.ends.push(reason)
          behaviour.onEnd?.(recorded)
        }
      }
    }
    const address = yield* ConnectServer.make(options)
      .serve(accept)
      .pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
    const recording: Recording = { address, port: Number(address.split(":").at(-1)), streams, logs }
    return recording
  })

/** What a server does that answers every request with one small response. */
export const answering: Behaviour = {
  onRequest: ({ stream }, request) => void stream.write(response(request.typeUrl, `n${request.responseNonce}`))
}

/** `version_info` and `nonce`. */
export const response = (version: string, nonce: string): ServerTransport.Outgoing => ({
  body: field(1, Buffer.from(version)),
  suffix: field(5, Buffer.from(nonce))
})

/** A length-delimited protobuf field. */
const field = (number: number, bytes: Uint8Array): Buffer => {
  const head = [number * 8 + 2]
  let rest = bytes.length
  for (; rest > 127; rest >>>= 7) head.push((rest & 127) | 128)
  return Buffer.concat([Buffer.from([...head, rest]), bytes])
}

/** A `DiscoveryRequest` with a type URL. */
export const request = (typeUrl: string): Buffer => field(4, Buffer.from(typeUrl))

/** A gRPC message. */
export const frame = (message: Uint8Array, flag = 0): Buffer => {
  const prefix = Buffer.alloc(5)
  prefix[0] = flag
  prefix.writeUInt32BE(message.length, 1)
  return Buffer.concat([prefix, message])
}

export const adsPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"
export const deltaPath = "/envoy.service.discovery.v3.AggregatedDiscoveryService/DeltaAggregatedResources"
