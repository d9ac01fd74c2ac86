/** Hosts on loopback whose probes end as they are told, in the same way for each of those who probe. */
import * as Grpc from "@grpc/grpc-js"
import { type ChildProcessByStdio, spawn } from "node:child_process"
import * as NodeHttp from "node:http"
import * as Net from "node:net"
import { join } from "node:path"
import { createInterface } from "node:readline"
import type { Readable, Writable } from "node:stream"

export type Asker = "ours" | "envoy"

/** Where connections of Envoy come from: nothing else tells probes over TCP apart. */
export const envoyAddress = "127.0.0.2"

/**
 * How a probe ends. HTTP knows all of them; gRPC no "retriable", "degraded" and "excluded"; TCP "ok", "reset" and "silent".
 * "silent": it is held until it takes too long, or the target is told how the next ones end.
 */
export type Result = "ok" | "degraded" | "unavailable" | "retriable" | "excluded" | "reset" | "silent"

/** How a call ends, over HTTP: with 500, or with a header that says that checks fail. */
export type CallResult = "error" | "excluded"

/** Where calls go, that are no probes. */
export const callPath = "/call"

/** "grpc" is a server of grpc-js, "grpcio" one of grpcio. */
export type Kind = "http" | "grpc" | "grpcio" | "tcp"

/** The answer to a probe over HTTP: a status that is believed at once, and one that may be tried again. */
export const retriable = 502
const unavailable = 503

interface Held {
  readonly asker: Asker
  readonly answer: (result: Result) => void
}

/** One host. */
export class ProbeTarget {
  private results: ReadonlyArray<Result> = ["ok"]
  private readonly counts = { ours: 0, envoy: 0 }
  private since = { ours: 0, envoy: 0 }
  private held: Array<Held> = []
  private nextCall: CallResult | undefined
  private close: (() => Promise<void>) | undefined

  private constructor(readonly kind: Kind) {}

  /** `grpcio`: the program of grpcio, if targets of it are wanted. */
  static async open(kind: Kind, address: string, port: number, grpcio?: Grpcio): Promise<ProbeTarget> {
    const target = new ProbeTarget(kind)
    if (kind !== "grpcio") target.close = await openers[kind](target, address, port)
    else if (grpcio === undefined) throw new Error("there is no grpcio")
    else target.close = await grpcio.open(target, `${address}:${port}`)
    return target
  }

  /** How the next probes of each asker end, those that are held first; all after them as the last of these. */
  set(results: ReadonlyArray<Result>): void {
    this.results = results
    this.since = { ours: 0, envoy: 0 }
    for (const { answer, asker } of this.held.splice(0)) this.ask(asker, answer, false)
  }

  /** How the next call ends; others are well. */
  setCall(result: CallResult): void {
    this.nextCall = result
  }

  /** Whether the call that was to end so has not come yet. */
  get awaitsCall(): boolean {
    return this.nextCall !== undefined
  }

  call(): CallResult | undefined {
    const result = this.nextCall
    this.nextCall = undefined
    return result
  }

  /** Probes that came. */
  asked(asker: Asker): number {
    return this.counts[asker]
  }

  /** Whether all that was told has happened, and the last probe is held. */
  isHolding(asker: Asker): boolean {
    return this.isSilent && this.since[asker] >= this.results.length
  }

  get isSilent(): boolean {
    return this.results.at(-1) === "silent"
  }

  /** A probe. Gives what is to be called if nobody waits for its answer any more. */
  ask(asker: Asker, answer: (result: Result) => void, isNew = true): () => void {
    if (isNew) this.counts[asker]++
    const result = this.results[Math.min(this.since[asker]++, this.results.length - 1)] ?? "ok"
    const held: Held = { asker, answer }
    if (result === "silent") this.held.push(held)
    else answer(result)
    return () => {
      this.held = this.held.filter((each) => each.answer !== answer)
    }
  }

  async stop(): Promise<void> {
    this.held = []
    await this.close?.()
  }
}

export const askerOf = (userAgent: unknown): Asker => (String(userAgent).startsWith("Envoy") ? "envoy" : "ours")

const listen = (server: Net.Server, address: string, port: number): Promise<() => Promise<void>> => {
  const sockets = new Set<Net.Socket>()
  server.on("connection", (socket: Net.Socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined)
    socket.on("close", () => sockets.delete(socket))
  })
  return new Promise((resolve, reject) => {
    server.once("error", reject)
    server.listen(port, address, () =>
      resolve(
        () =>
          new Promise((closed) => {
            server.close(() => closed())
            for (const socket of sockets) socket.destroy()
          })
      )
    )
  })
}

const excluded = { "x-envoy-immediate-health-check-fail": "true" }

const http = (target: ProbeTarget, address: string, port: number): Promise<() => Promise<void>> =>
  listen(
    NodeHttp.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      if (request.url === callPath) {
        const result = target.call()
        const headers = { "x-host": address, ...(result === "excluded" ? excluded : {}) }
        response.writeHead(result === "error" ? 500 : 200, headers).end()
        return
      }
      const answer = (result: Result): void => {
        switch (result) {
          case "ok":
            response.end()
            break
          case "degraded":
            response.writeHead(200, { "x-envoy-degraded": "" }).end()
            break
          case "unavailable":
            response.writeHead(unavailable).end()
            break
          case "retriable":
            response.writeHead(retriable).end()
            break
          case "excluded":
            response.writeHead(unavailable, excluded).end()
            break
          case "reset":
            request.socket.resetAndDestroy()
            break
          case "silent":
        }
      }
      response.on("close", target.ask(askerOf(request.headers["user-agent"]), answer))
    }),
    address,
    port
  )

const tcp = (target: ProbeTarget, address: string, port: number): Promise<() => Promise<void>> =>
  listen(
    Net.createServer((socket) => {
      let drop = (): void => undefined
      socket.once("close", () => drop())
      socket.on("data", () => {
        drop = target.ask(socket.remoteAddress === envoyAddress ? "envoy" : "ours", (result) => {
          if (result === "ok") socket.write("pong")
          else if (result === "reset") socket.resetAndDestroy()
        })
      })
    }),
    address,
    port
  )

const bytes = (value: Buffer): Buffer => value

/** The method of the health service, with bytes in and out. */
export const checkMethod = {
  path: "/grpc.health.v1.Health/Check",
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes,
  requestDeserialize: bytes,
  responseSerialize: bytes,
  responseDeserialize: bytes
} as const

const grpc = async (target: ProbeTarget, address: string, port: number): Promise<() => Promise<void>> => {
  const server = new Grpc.Server()
  const check: Grpc.handleUnaryCall<Buffer, Buffer> = (call, answer) => {
    const drop = target.ask(askerOf(call.metadata.get("user-agent")[0]), (result) => {
      if (result === "ok") answer(null, Buffer.of(8, 1))
      else if (result === "unavailable") answer(null, Buffer.of(8, 2))
      else answer({ code: Grpc.status.UNAVAILABLE, details: "not now" })
    })
    call.on("cancelled", drop)
  }
  server.addService({ check: checkMethod }, { check })
  await new Promise<void>((resolve, reject) =>
    server.bindAsync(`${address}:${port}`, Grpc.ServerCredentials.createInsecure(), (error) =>
      error === null ? resolve() : reject(error)
    )
  )
  return () => {
    server.forceShutdown()
    return Promise.resolve()
  }
}

const openers = { http, tcp, grpc } satisfies Record<
  Exclude<Kind, "grpcio">,
  (target: ProbeTarget, address: string, port: number) => Promise<() => Promise<void>>
>

/** Servers of grpcio in one process, which asks here how each probe ends. */
export class Grpcio {
  private readonly targets = new Map<string, ProbeTarget>()
  private readonly opened = new Map<string, () => void>()

  private constructor(private readonly child: ChildProcessByStdio<Writable, Readable, null>) {
    createInterface({ input: child.stdout }).on("line", (line) => this.read(line))
  }

  /** `packages`: the folder with grpcio. */
  static start(packages: string): Grpcio {
    const program = join(import.meta.dirname, "health_server.py")
    const env = { ...process.env, PYTHONPATH: packages }
    return new Grpcio(spawn("python3", [program, "--ask"], { env, stdio: ["pipe", "pipe", "inherit"] }))
  }

  async open(target: ProbeTarget, address: string): Promise<() => Promise<void>> {
    this.targets.set(address, target)
    const opened = new Promise<void>((resolve) => this.opened.set(address, resolve))
    this.child.stdin.write(`open ${address}\n`)
    await opened
    return () => {
      this.targets.delete(address)
      return Promise.resolve()
    }
  }

  async stop(): Promise<void> {
    const over = new Promise<void>((resolve) => this.child.once("exit", () => resolve()))
    this.child.stdin.end()
    await over
  }

  private read(line: string): void {
    const [what = "", address = "", ...userAgent] = line.split(" ")
    if (what === "opened") this.opened.get(address)?.()
    else {
      // A probe of a host that is gone is answered, too: a thread waits for it.
      const answer = (result: Result): void => void this.child.stdin.write(`${what} ${result}\n`)
      const target = this.targets.get(address)
      if (target === undefined) answer("reset")
      else target.ask(askerOf(userAgent.join(" ")), answer)
    }
  }
}
