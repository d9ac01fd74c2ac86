/** Probes over HTTP/2, with prior knowledge: requests, and calls of gRPC. */
import { create, toBinary } from "@bufbuild/protobuf"
import type { Result } from "@effect-xds/discovery/HealthCheck"
import * as Payload from "@effect-xds/discovery/Payload"
import * as Probe from "@effect-xds/discovery/Probe"
import * as ProbeAnswer from "@effect-xds/discovery/ProbeAnswer"
import { HealthCheckRequestSchema } from "@effect-xds/proto/grpc/health/v1/health"
import * as NodeHttp2 from "node:http2"
import type * as Net from "node:net"
import type { Target } from "../Prober.js"
import { type Asker, connect, endpointOf, headerText, network } from "./Asker.js"

type Headers = NodeHttp2.IncomingHttpHeaders & NodeHttp2.IncomingHttpStatusHeader

/** What a stream is asked, and how its answer is read. */
interface Question {
  readonly headers: NodeHttp2.OutgoingHttpHeaders
  readonly body: Uint8Array
  /** For one answer. */
  readonly reader: () => Reader
}

/** A result that is clear before the end. */
type Early = { readonly _tag: "Immediate" } | undefined

interface Reader {
  readonly begin: (headers: Headers) => Early
  readonly push: (bytes: Buffer) => Early
  readonly trailers: (headers: NodeHttp2.IncomingHttpHeaders) => void
  readonly end: (closes: boolean) => Result
}

const valueOf = (headers: NodeHttp2.IncomingHttpHeaders, name: string): string | undefined => {
  const value = headers[name]
  return typeof value === "string" ? value : value?.join(",")
}

const httpQuestion = (target: Target, probe: Probe.Http): Question => ({
  headers: {
    ":method": probe.method,
    ":path": probe.path,
    ":authority": headerText(Probe.hostOf(probe, target.hostname, target.cluster)),
    ...Object.fromEntries(probe.headers)
  },
  body: probe.send,
  reader: () => {
    let headers: Headers = {}
    let payload = Payload.make(probe.receive, probe.responseBufferSize)
    return {
      begin: (given) => {
        headers = given
        return undefined
      },
      push: (bytes) => {
        payload = Payload.push(payload, bytes)
        return undefined
      },
      trailers: () => undefined,
      end: (closes) => {
        const header = (name: string) => valueOf(headers, name)
        const status = headers[":status"] ?? 0
        return ProbeAnswer.ofHttp(probe, { status, header, isReceived: Payload.isFound(payload), closes })
      }
    }
  }
})

/** Bytes of an answer of gRPC; one that is longer is none of Health. */
const maxAnswer = 65_536

/** At most eight digits. */
const grpcTimeout = (milliseconds: number): string =>
  milliseconds < 1e8 ? `${Math.ceil(milliseconds)}m` : `${Math.min(Math.ceil(milliseconds / 1000), 99_999_999)}S`

const messageOf = (service: string): Uint8Array => {
  const message = toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }))
  const body = Buffer.alloc(5 + message.length)
  body.writeUInt32BE(message.length, 1)
  body.set(message, 5)
  return body
}

const immediate: Early = { _tag: "Immediate" }

const grpcQuestion = (target: Target, probe: Probe.Grpc): Question => ({
  headers: {
    ":method": "POST",
    ":path": "/grpc.health.v1.Health/Check",
    ":authority": headerText(Probe.hostOf(probe, target.hostname, target.cluster)),
    "content-type": "application/grpc",
    te: "trailers",
    "grpc-timeout": grpcTimeout(target.timeout),
    ...Object.fromEntries(probe.headers)
  },
  body: messageOf(probe.service),
  reader: () => {
    let beginning: ProbeAnswer.GrpcBeginning = { status: 0, contentType: undefined }
    let grpcStatus: string | undefined
    const chunks: Array<Buffer> = []
    let length = 0
    return {
      begin: (headers) => {
        beginning = { status: headers[":status"] ?? 0, contentType: headers["content-type"] }
        grpcStatus = valueOf(headers, "grpc-status")
        return ProbeAnswer.isGrpc(beginning) ? undefined : immediate
      },
      push: (bytes) => {
        chunks.push(bytes)
        length += bytes.length
        return length > maxAnswer ? immediate : undefined
      },
      trailers: (headers) => {
        grpcStatus = valueOf(headers, "grpc-status")
      },
      end: (closes) => ProbeAnswer.ofGrpc({ ...beginning, grpcStatus, body: Buffer.concat(chunks), closes })
    }
  }
})

export const make = (target: Target, probe: Probe.Http | Probe.Grpc): Asker => {
  const { headers, body, reader } = probe._tag === "Http" ? httpQuestion(target, probe) : grpcQuestion(target, probe)
  const endpoint = endpointOf(target.address)
  let session: NodeHttp2.ClientHttp2Session | undefined
  let socket: Net.Socket | undefined
  let running: ((result: Result) => void) | undefined

  const close = (): void => {
    running = undefined
    const closed = session
    session = undefined
    closed?.destroy()
    // ★ After GOAWAY Node only ends its half, and waits for the server to end the other.
    socket?.destroy()
    socket = undefined
  }

  const finish = (result: Result): void => {
    const done = running
    running = undefined
    if (result._tag === "Network" || result.closes === true) close()
    done?.(result)
  }

  const open = (): NodeHttp2.ClientHttp2Session => {
    // Whom it is for says each request.
    const connection = connect(endpoint)
    socket = connection
    const opened = NodeHttp2.connect("http://localhost", {
      createConnection: () => connection,
      settings: { enablePush: false }
    })
    const gone = (): void => {
      if (session === opened) finish(network)
    }
    opened.on("goaway", (code) => {
      // ★ Without an error what runs may finish, and the next probe has another connection.
      if (code !== NodeHttp2.constants.NGHTTP2_NO_ERROR || running === undefined) gone()
    })
    opened.on("error", gone)
    opened.on("close", gone)
    return opened
  }

  const begin = (on: NodeHttp2.ClientHttp2Session, done: (result: Result) => void): void => {
    running = done
    const read = reader()
    const stream = on.request(headers, { endStream: body.length === 0 })
    let isWhole = false
    const isOver = (): boolean => running !== done || session !== on
    const early = (result: Early): void => {
      if (result === undefined) return
      stream.close(NodeHttp2.constants.NGHTTP2_CANCEL)
      finish({ ...result, closes: on.closed || !target.reuseConnection })
    }
    stream.on("response", (given) => {
      if (!isOver()) early(read.begin(given))
    })
    stream.on("data", (bytes: Buffer) => {
      if (!isOver()) early(read.push(bytes))
    })
    stream.on("trailers", read.trailers)
    stream.on("end", () => {
      isWhole = true
    })
    stream.on("error", () => undefined)
    stream.on("close", () => {
      if (isOver()) return
      const isAnswer = isWhole && stream.rstCode === NodeHttp2.constants.NGHTTP2_NO_ERROR
      finish(isAnswer ? read.end(on.closed || !target.reuseConnection) : network)
    })
    if (body.length > 0) stream.end(body)
  }

  return {
    ask: (isFresh, done) => {
      // One that is closing takes no more requests.
      if (isFresh || session?.closed === true) close()
      session ??= open()
      try {
        begin(session, done)
      } catch {
        // The host's name has what no header can hold.
        close()
        done(network)
      }
      return close
    },
    close
  }
}
