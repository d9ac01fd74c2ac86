/** One server for all addresses of 127.0.0.0/8: hosts in any number, of which each says who it is. */
import * as NodeHttp from "node:http"
import type { Socket } from "node:net"
import { type Asker, askerOf, callPath } from "./ProbeTargets.js"

const noHost = { failures: 0, probeStatus: 200, closes: false }

export class LoopbackHosts {
  private readonly hosts = new Map<string, typeof noHost>()
  private readonly probes = new Map<string, number>()
  private readonly sockets = new Set<Socket>()

  private constructor(
    private readonly server: NodeHttp.Server,
    readonly port: number
  ) {}

  static async open(): Promise<LoopbackHosts> {
    const server = NodeHttp.createServer({ keepAliveTimeout: 600_000 })
    await new Promise<void>((resolve) => server.listen(0, "0.0.0.0", resolve))
    const bound = server.address()
    const hosts = new LoopbackHosts(server, typeof bound === "object" && bound !== null ? bound.port : 0)
    server.on("connection", (socket) => {
      hosts.sockets.add(socket)
      socket.on("error", () => undefined)
      socket.on("close", () => hosts.sockets.delete(socket))
    })
    server.on("request", (request, response) => hosts.answer(request, response))
    return hosts
  }

  /** How many of the next calls to a host end with 500, how its probes end, and whether it closes after a call. */
  set(address: string, host: Partial<typeof noHost>): void {
    this.hosts.set(address, { ...noHost, ...host })
  }

  /** Probes that came. */
  probed(asker: Asker, address: string): number {
    return this.probes.get(`${asker} ${address}`) ?? 0
  }

  /** Closes what connections to a host there are. */
  hangUp(address: string): void {
    for (const socket of this.sockets) if (socket.localAddress === address) socket.destroy()
  }

  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.server.close(() => resolve()))
    for (const socket of this.sockets) socket.destroy()
    await closed
  }

  private answer(request: NodeHttp.IncomingMessage, response: NodeHttp.ServerResponse): void {
    const address = request.socket.localAddress ?? ""
    const host = this.hosts.get(address) ?? noHost
    if (request.url !== callPath) {
      const key = `${askerOf(request.headers["user-agent"])} ${address}`
      this.probes.set(key, (this.probes.get(key) ?? 0) + 1)
      response.writeHead(host.probeStatus).end()
      return
    }
    const fails = host.failures > 0
    if (fails) this.hosts.set(address, { ...host, failures: host.failures - 1 })
    const closing = host.closes ? { connection: "close" } : {}
    response.writeHead(fails ? 500 : 200, { "x-host": address, ...closing }).end()
  }
}
