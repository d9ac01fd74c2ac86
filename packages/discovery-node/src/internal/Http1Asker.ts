/** Probes over HTTP/1. */
import type { Result } from "@effect-xds/discovery/HealthCheck"
import * as Payload from "@effect-xds/discovery/Payload"
import * as Probe from "@effect-xds/discovery/Probe"
import * as ProbeAnswer from "@effect-xds/discovery/ProbeAnswer"
import * as NodeHttp from "node:http"
import type { Target } from "../Prober.js"
import { type Asker, connect, endpointOf, headerText, network } from "./Asker.js"

export const make = (target: Target, probe: Probe.Http): Asker => {
  const { reuseConnection } = target
  const endpoint = endpointOf(target.address)
  // One for each target: its connection is for no other. Without reuse each request has a connection of its own.
  const agent = reuseConnection && new NodeHttp.Agent({ keepAlive: true, maxSockets: 1 })
  const options: NodeHttp.RequestOptions = {
    ...endpoint,
    agent,
    createConnection: () => connect(endpoint),
    method: probe.method,
    path: probe.path,
    setHost: false,
    headers: {
      host: headerText(Probe.hostOf(probe, target.hostname, target.cluster)),
      ...Object.fromEntries(probe.headers)
    }
  }
  let running: NodeHttp.ClientRequest | undefined

  const close = (): void => {
    const request = running
    running = undefined
    request?.destroy()
    if (agent !== false) agent.destroy()
  }

  const finish = (request: NodeHttp.ClientRequest, done: (result: Result) => void, result: Result): void => {
    if (running !== request) return
    running = undefined
    if (result._tag === "Network") request.destroy()
    done(result)
  }

  const begin = (done: (result: Result) => void): NodeHttp.ClientRequest => {
    const request = NodeHttp.request(options)
    let payload = Payload.make(probe.receive, probe.responseBufferSize)
    const answer = ({ headers, statusCode = 0 }: NodeHttp.IncomingMessage, closes: boolean): void => {
      const header = (name: string): string | undefined => {
        const value = headers[name]
        return typeof value === "string" ? value : value?.join(",")
      }
      const read = { status: statusCode, header, isReceived: Payload.isFound(payload), closes }
      finish(request, done, ProbeAnswer.ofHttp(probe, read))
    }
    const gone = (): void => finish(request, done, network)
    request.on("response", (response) => {
      response.on("data", (bytes: Buffer) => {
        payload = Payload.push(payload, bytes)
      })
      response.on("end", () => {
        const { headers, httpVersion } = response
        const connection = headers.connection?.toLowerCase() ?? ""
        const closes = httpVersion === "1.0" ? !connection.includes("keep-alive") : connection.includes("close")
        answer(response, closes || !reuseConnection)
      })
      // It ends in its middle.
      response.on("error", gone)
    })
    request.on("upgrade", (response, socket) => {
      socket.destroy()
      answer(response, true)
    })
    request.on("error", gone)
    request.on("close", gone)
    request.end(probe.send.length > 0 ? probe.send : undefined)
    return request
  }

  return {
    ask: (isFresh, done) => {
      if (isFresh) close()
      try {
        running = begin(done)
      } catch {
        // The host's name has what no header can hold.
        done(network)
      }
      return close
    },
    close
  }
}
