/** HTTPS requests on connections that are watched, and an HTTPS server whose certificate can be exchanged. */
import type { Certificate } from "@effect-xds/testing/Certificates"
import { Effect, type Scope } from "effect"
import type { ClientRequest } from "node:http"
import type { Socket } from "node:net"
import * as NodeHttps from "node:https"
import { TLSSocket } from "node:tls"

interface Target {
  readonly url: string
  /** Certificates that are trusted, PEM. */
  readonly ca: string
}

/** Milliseconds that a request may take: a busy machine may take long, too. */
const patience = 20_000

/** Milliseconds between an answer and the next request. */
const pause = 4

/** Requests one after the other, and what became of them and of their connections. */
export class SecureRequests {
  answered = 0
  readonly failures: Array<string> = []
  opened = 0
  /** Connections that ended before these requests did. */
  lost = 0
  /** Fingerprints of the certificates that the server had, whenever it was another one than before. */
  readonly certificates: Array<string> = []
}

const requests = ({ ca, url }: Target, isKept: boolean): Effect.Effect<SecureRequests, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        // No session is resumed: a certificate is sent with each connection.
        const agent = new NodeHttps.Agent({ keepAlive: isKept, maxSockets: 1, maxCachedSessions: 0, ca })
        const seen = new SecureRequests()
        const sockets = new WeakSet<Socket>()
        let isOver = false
        let timer: NodeJS.Timeout | undefined
        const watch = (socket: Socket) => {
          if (sockets.has(socket)) return
          sockets.add(socket)
          seen.opened++
          socket.once("close", () => {
            if (!isOver) seen.lost++
          })
        }
        const send = () => {
          let isDone = false
          const done = (failure?: string) => {
            if (isOver || isDone) return
            isDone = true
            if (failure === undefined) seen.answered++
            else seen.failures.push(failure)
            timer = setTimeout(send, pause)
          }
          NodeHttps.get(url, { agent, timeout: patience }, (response) => {
            const { socket, statusCode } = response
            if (socket instanceof TLSSocket) {
              const { fingerprint256 } = socket.getPeerCertificate()
              if (seen.certificates.at(-1) !== fingerprint256) seen.certificates.push(fingerprint256)
            }
            response.on("end", () => done(statusCode === 200 ? undefined : `status ${statusCode}`))
            response.on("error", ({ message }) => done(message))
            response.resume()
          })
            .on("socket", watch)
            .on("timeout", function (this: ClientRequest) {
              this.destroy(new Error("no answer in time"))
            })
            .on("error", ({ message }) => done(message))
        }
        send()
        const end = () => {
          isOver = true
          clearTimeout(timer)
          agent.destroy()
        }
        return { end, seen }
      }),
      ({ end }) => Effect.sync(end)
    ),
    ({ seen }) => seen
  )

/** Requests on one connection that is kept. */
export const kept = (target: Target) => requests(target, true)

/** Requests on a new connection each. */
export const fresh = (target: Target) => requests(target, false)

/** A server that answers everything with its name: its address, and how its certificate is exchanged for new connections. */
export const upstream = (name: string, { cert, key }: Certificate) =>
  Effect.acquireRelease(
    Effect.async<{ readonly server: NodeHttps.Server; readonly address: string }>((resume) => {
      const server = NodeHttps.createServer({ cert, key }, (_request, response) => response.end(name))
      server.listen(0, "127.0.0.1", () => {
        const address = server.address()
        const port = typeof address === "object" && address !== null ? address.port : 0
        resume(Effect.succeed({ server, address: `127.0.0.1:${port}` }))
      })
    }),
    ({ server }) =>
      Effect.sync(() => {
        server.close()
        server.closeAllConnections()
      })
  ).pipe(
    Effect.map(({ address, server }) => ({
      address,
      renew: ({ cert, key }: Certificate) => Effect.sync(() => server.setSecureContext({ cert, key }))
    }))
  )
