/** Probes over HTTP/2, with prior knowledge: requests, and calls of gRPC. */
import { create, toBinary } from "@bufbuild/protobuf"
import type { Result } from "@effect-xds/discovery/HealthCheck"
import * as Payload from "@effect-xds/discovery/Payload"
import * as Probe from "@effect-xds/discovery/Probe"
import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
import * as ProbeAnswer from "@effect-xds/discovery/ProbeAnswer"
import * as ProbeHeaders from "@effect-xds/discovery/ProbeHeaders"
import { HealthCheckRequestSchema } from "@effect-xds/proto/grpc/health/v1/health"
import type * as Net from "node:net"
import type { Target } from "../Prober.js"
import * as SocketAddress from "../SocketAddress.js"
import { type Asker, connect, headerText, hasEnded, isClosed, network, unwritable } from "./Asker.js"
import * as Hpack from "./Hpack.js"
import { type Headers, Http2Connection, type Question } from "./Http2Connection.js"

/** Reads one answer. `true`: its result is clear before its end. */
interface Reader {
  readonly begin: (status: number, headers: Headers) => boolean
  readonly push: (bytes: Buffer) => boolean
  readonly trailers: (headers: Headers) => void
  readonly end: (closes: boolean) => Result
}

/** What is asked, and how an answer is read. */
interface Asked {
  /** `undefined`: it would be none. */
  readonly question: Question | undefined
  readonly reader: () => Reader
}

interface Request {
  readonly method: string
  readonly path: string
  readonly authority: string
  readonly headers: ReadonlyArray<Probe.Header>
  readonly body: Uint8Array
}

const questionOf = ({ authority, body, headers, method, path }: Request): Question | undefined => {
  const isWritable = headers.every(([name, value]) => ProbeHeaders.isName(name) && ProbeHeaders.isValue(value))
  if (!isWritable || !ProbeHeaders.isValue(authority) || !ProbeHeaders.isName(method)) return undefined
  if (!/^[\x21-\x7e\x80-\xff]+$/.test(path)) return undefined
  const pseudo = [
    [":method", method],
    [":scheme", "http"],
    [":authority", authority],
    [":path", path]
  ] as const
  return { headers: Hpack.encode([...pseudo, ...headers]), body, isHead: method === "HEAD" }
}

const httpAsked = (target: Target, probe: Probe.Http): Asked => {
  const search = Payload.make(probe.receive, probe.responseBufferSize)
  return {
    question: questionOf({
      method: probe.method,
      path: probe.path,
      authority: headerText(Probe.hostOf(probe, target.hostname, target.cluster)),
      headers: probe.headers,
      body: probe.send
    }),
    reader: () => {
      let status = 0
      let headers: Headers = new Map()
      let payload = search
      return {
        begin: (...given) => {
          ;[status, headers] = given
          return false
        },
        push: (bytes) => {
          payload = Payload.push(payload, bytes)
          return false
        },
        trailers: () => undefined,
        end: (closes) => {
          const header = (name: string) => headers.get(name)
          return ProbeAnswer.ofHttp(probe, { status, header, isReceived: Payload.isFound(payload), closes })
        }
      }
    }
  }
}

/** Bytes of an answer of gRPC; one that is longer is none of Health. */
const maxAnswer = 65_536

const none = Buffer.alloc(0)

/** At most eight digits. */
const grpcTimeout = (milliseconds: number): string =>
  milliseconds < 1e8 ? `${Math.ceil(milliseconds)}m` : `${Math.min(Math.ceil(milliseconds / 1000), 99_999_999)}S`

const messageOf = (service: string): Uint8Array =>
  LengthPrefix.prefixed(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })))

const grpcAsked = (target: Target, probe: Probe.Grpc): Asked => ({
  question: questionOf({
    method: "POST",
    path: "/grpc.health.v1.Health/Check",
    authority: headerText(Probe.hostOf(probe, target.hostname, target.cluster)),
    headers: [
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ["grpc-timeout", grpcTimeout(target.timeout)],
      ...probe.headers
    ],
    body: messageOf(probe.service)
  }),
  reader: () => {
    let beginning: ProbeAnswer.GrpcBeginning = { status: 0, contentType: undefined }
    let grpcStatus: string | undefined
    const chunks: Array<Buffer> = []
    let length = 0
    return {
      begin: (status, headers) => {
        beginning = { status, contentType: headers.get("content-type") }
        grpcStatus = headers.get("grpc-status")
        return !ProbeAnswer.isGrpc(beginning)
      },
      push: (bytes) => {
        chunks.push(bytes)
        length += bytes.length
        return length > maxAnswer
      },
      trailers: (headers) => {
        grpcStatus = headers.get("grpc-status")
      },
      end: (closes) =>
        ProbeAnswer.ofGrpc({
          ...beginning,
          grpcStatus,
          body: length > maxAnswer ? none : Buffer.concat(chunks),
          closes
        })
    }
  }
})

export const make = (target: Target, probe: Probe.Http | Probe.Grpc): Asker => {
  const { question, reader } = probe._tag === "Http" ? httpAsked(target, probe) : grpcAsked(target, probe)
  const endpoint = SocketAddress.make(target.address)
  let session: Http2Connection | undefined
  let socket: Net.Socket | undefined
  let running: ((result: Result) => void) | undefined

  const close = (): void => {
    running = undefined
    session = undefined
    socket?.destroy()
    socket = undefined
  }

  const finish = (result: Result): void => {
    const done = running
    running = undefined
    if (result._tag === "Network" || result.closes === true) close()
    done?.(result)
  }

  const open = (): Http2Connection => {
    const connection = connect(endpoint)
    socket = connection
    const opened = new Http2Connection(
      (bytes) => void connection.write(bytes),
      () => connection.writableLength
    )
    const lost = (why: string): void => {
      if (session === opened) finish(network(why))
    }
    connection.on("data", (bytes) => {
      if (session !== opened) return
      opened.push(bytes)
      // One that nobody waits for is given up at once.
      if (opened.fault !== undefined || (opened.isClosing && running === undefined)) lost(opened.fault ?? "GOAWAY")
    })
    connection.on("error", (error) => lost(error.message))
    connection.on("end", () => lost(hasEnded))
    connection.on("close", () => lost(isClosed))
    return opened
  }

  const begin = (on: Http2Connection, asks: Question, done: (result: Result) => void): void => {
    running = done
    const read = reader()
    on.ask(asks, {
      ...read,
      over: () => {
        if (running === done && session === on) finish(read.end(on.isClosing || !target.reuseConnection))
      },
      lost: (why) => {
        if (running === done && session === on) finish(network(why))
      }
    })
  }

  return {
    ask: (isFresh, done) => {
      if (question === undefined) {
        done(unwritable)
        return close
      }
      // One that is closing takes no more questions.
      if (isFresh || session?.isClosing === true) close()
      session ??= open()
      begin(session, question, done)
      return close
    },
    close
  }
}
