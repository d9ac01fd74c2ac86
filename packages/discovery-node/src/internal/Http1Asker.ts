/**
 * Probes over HTTP/1. ★ Not with `node:http`: its agent, requests and answers cost more than the sockets, and a probe
 * wants little of them.
 */
import type { Result } from "@effect-xds/discovery/HealthCheck"
import * as Payload from "@effect-xds/discovery/Payload"
import * as Probe from "@effect-xds/discovery/Probe"
import * as ProbeAnswer from "@effect-xds/discovery/ProbeAnswer"
import * as ProbeHeaders from "@effect-xds/discovery/ProbeHeaders"
import type * as Net from "node:net"
import type { Target } from "../Prober.js"
import * as SocketAddress from "../SocketAddress.js"
import { type Asker, connect, headerText, isClosed, network, unwritable } from "./Asker.js"
import { Http1Response } from "./Http1Response.js"

/** RFC 9110, section 9.3: those of which a server expects a body. */
const wantBody: ReadonlySet<string> = new Set(["PATCH", "POST", "PUT"])

/** The bytes of the request; `undefined`: it would not be one. */
const requestOf = (target: Target, probe: Probe.Http): Buffer | undefined => {
  const { method, path, send } = probe
  const headers: ReadonlyArray<Probe.Header> = [
    ["host", headerText(Probe.hostOf(probe, target.hostname, target.cluster))],
    ["connection", target.reuseConnection ? "keep-alive" : "close"],
    ...(send.length > 0 || wantBody.has(method) ? [["content-length", String(send.length)] as const] : []),
    ...probe.headers
  ]
  const isWritable = headers.every(([name, value]) => ProbeHeaders.isName(name) && ProbeHeaders.isValue(value))
  if (!isWritable || !ProbeHeaders.isName(method) || !/^[\x21-\x7e\x80-\xff]+$/.test(path)) return undefined
  const lines = [`${method} ${path} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), "", ""]
  return Buffer.concat([Buffer.from(lines.join("\r\n"), "latin1"), send])
}

interface Running {
  readonly response: Http1Response
  payload: Payload.Payload
  readonly done: (result: Result) => void
}

export const make = (target: Target, probe: Probe.Http): Asker => {
  const { reuseConnection } = target
  const endpoint = SocketAddress.make(target.address)
  const request = requestOf(target, probe)
  const search = Payload.make(probe.receive, probe.responseBufferSize)
  let socket: Net.Socket | undefined
  let running: Running | undefined

  const close = (): void => {
    running = undefined
    socket?.destroy()
    socket = undefined
  }

  const finish = (done: (result: Result) => void, result: Result): void => {
    running = undefined
    if (result._tag === "Network" || result.closes === true) close()
    done(result)
  }

  /** Whether the answer has come to its end. */
  const look = (on: Net.Socket): void => {
    if (running === undefined) return
    const { done, payload, response } = running
    if (response.fault !== undefined) finish(done, network(response.fault))
    else if (response.isDone) {
      const read = {
        status: response.status,
        header: (name: string) => response.header(name),
        isReceived: Payload.isFound(payload),
        // What is not sent yet would be before the next request.
        closes: !reuseConnection || response.closes || on.writableLength > 0
      }
      finish(done, ProbeAnswer.ofHttp(probe, read))
    }
  }

  const open = (): Net.Socket => {
    const opened = connect(endpoint)
    const ends = (): void => {
      if (socket !== opened) return
      running?.response.end()
      look(opened)
      if (socket === opened) close()
    }
    const fails = (why: string): void => {
      if (socket !== opened) return
      if (running === undefined) close()
      else finish(running.done, network(why))
    }
    opened.on("data", (bytes) => {
      if (socket !== opened) return
      // What comes when nobody has asked is not for the next probe.
      if (running === undefined) return close()
      running.response.push(bytes)
      look(opened)
    })
    opened.on("end", ends)
    opened.on("error", (error) => fails(error.message))
    opened.on("close", () => fails(isClosed))
    return opened
  }

  return {
    ask: (isFresh, done) => {
      if (request === undefined) {
        done(unwritable)
        return close
      }
      if (isFresh) close()
      socket ??= open()
      const asked: Running = {
        response: new Http1Response(probe.method === "HEAD", (bytes) => {
          asked.payload = Payload.push(asked.payload, bytes)
        }),
        payload: search,
        done
      }
      running = asked
      socket.write(request)
      return close
    },
    close
  }
}
