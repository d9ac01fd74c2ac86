/**
 * Real faults: servers that are stopped, killed, slow or busy, and connections that nobody answers on. A call ends by its
 * deadline, always; nothing is left; no call goes to an endpoint later than a second after it was taken away.
 */
import { Code, ConnectError, createClient } from "@connectrpc/connect"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import { Health } from "@effect-xds/proto/grpc/health/v1/health"
import { TcpProxy, Waiting } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import * as Http2 from "node:http2"
import * as Mesh from "./Mesh.js"

/** Milliseconds that a busy machine may take beside what is counted. */
const slack = 3_000

/** A gRPC server in a process of its own, which answers all that it is asked. */
const source = `
import http2 from "node:http2"
const server = http2.createServer()
server.on("stream", (stream) => {
  stream.on("error", () => {})
  stream.respond({ ":status": 200, "content-type": "application/grpc", port: server.address().port }, { waitForTrailers: true })
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
  stream.end(Buffer.from([0, 0, 0, 0, 2, 8, 1]))
})
server.listen(0, "127.0.0.1", () => process.stdout.write(String(server.address().port)))
process.stdin.on("end", () => process.exit()).resume()
`

const serving = Effect.acquireRelease(
  Effect.promise(async () => {
    const child = spawn(process.execPath, ["--input-type=module", "-e", source], { stdio: ["pipe", "pipe", "inherit"] })
    const said: ReadonlyArray<unknown> = await once(child.stdout, "data")
    return { child, port: Number(String(said[0])) }
  }),
  ({ child }) => Effect.sync(() => child.kill("SIGKILL"))
)

/** A client, and how its channel stands. */
const open = Effect.gen(function* () {
  const channels = yield* XdsChannels.XdsChannels
  let opened: XdsChannels.XdsChannel | undefined
  const spied: XdsChannels.Service = {
    ...channels,
    open: (target, options) =>
      Effect.tap(channels.open(target, options), (channel) => Effect.sync(() => void (opened = channel)))
  }
  const transport = yield* XdsTransport.make({ target: "xds:///shop" }).pipe(
    Effect.provideService(XdsChannels.XdsChannels, spied)
  )
  return { client: createClient(Health, transport), calls: () => opened?.driver.calls }
})

interface Ended {
  /** `undefined`: it was answered. */
  readonly code: Code | undefined
  /** Milliseconds from its beginning. */
  readonly took: number
  readonly port: number
  /** When it was sent. */
  readonly at: number
}

type Client = Effect.Effect.Success<typeof open>["client"]

/** Calls from four callers until they are told to end; each has a deadline. */
const load = (client: Client, timeoutMs: number) => {
  const ended: Array<Ended> = []
  let isOver = false
  const call = async (): Promise<void> => {
    const at = Date.now()
    let port = 0
    let code: Code | undefined
    try {
      await client.check({}, { timeoutMs, onHeader: (header) => void (port = Number(header.get("port"))) })
    } catch (cause) {
      code = ConnectError.from(cause).code
    }
    ended.push({ code, took: Date.now() - at, port, at })
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  const caller = async (): Promise<void> => {
    while (!isOver) await call()
  }
  const callers = Promise.all([caller(), caller(), caller(), caller()])
  const end = Effect.promise(() => {
    isOver = true
    return callers
  })
  return { ended, end }
}

const latest = (ended: ReadonlyArray<Ended>): number => Math.max(...ended.map(({ took }) => took))
const codes = (ended: ReadonlyArray<Ended>) => new Set(ended.map(({ code }) => code))

describe("real faults", () => {
  it.scopedLive("SIGSTOP: calls end by their deadline; others are answered; SIGCONT: all are", () =>
    Effect.gen(function* () {
      const [stopped, well] = yield* Effect.all([serving, serving])
      const plane = yield* Mesh.ControlPlane
      yield* plane.set(Mesh.service("shop", stopped.port, well.port))
      const { calls, client } = yield* open
      yield* Mesh.answeredBy(client, stopped.port, well.port)
      stopped.child.kill("SIGSTOP")
      const { end, ended } = load(client, 300)
      yield* Waiting.eventually(() => expect(ended.filter(({ code }) => code !== undefined).length).toBeGreaterThan(3))
      yield* end
      expect(codes(ended)).toEqual(new Set([undefined, Code.DeadlineExceeded]))
      expect(latest(ended)).toBeLessThan(300 + slack)
      expect(calls()).toBe(0)
      stopped.child.kill("SIGCONT")
      yield* Mesh.answeredBy(client, stopped.port, well.port)
    }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "a connection that nobody answers on: calls end by their deadline, and go elsewhere when it is taken away",
    () =>
      Effect.gen(function* () {
        const [behind, well] = yield* Effect.all([serving, serving])
        const { port, set } = yield* TcpProxy.make(behind.port)
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", port))
        const { calls, client } = yield* open
        yield* Mesh.answeredBy(client, behind.port)
        set("silent")
        const { end, ended } = load(client, 300)
        yield* Waiting.eventually(() => expect(ended.length).toBeGreaterThan(3))
        expect(codes(ended)).toEqual(new Set([Code.DeadlineExceeded]))
        yield* plane.set(Mesh.service("shop", well.port))
        yield* Waiting.eventually(() => expect(ended.at(-1)?.port).toBe(well.port))
        yield* end
        expect(latest(ended)).toBeLessThan(300 + slack)
        expect(calls()).toBe(0)
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "kill -9 under load: what was sent there is UNAVAILABLE; with a route that says so it is sent again, and none fails",
    () =>
      Effect.gen(function* () {
        const [first, second, well] = yield* Effect.all([serving, serving, serving])
        const plane = yield* Mesh.ControlPlane
        const shop = Mesh.service("shop", first.port, second.port, well.port)
        yield* plane.set(shop)
        const { calls, client } = yield* open
        yield* Mesh.answeredBy(client, first.port, second.port, well.port)
        const plain = load(client, 5_000)
        yield* Waiting.eventually(() => expect(plain.ended.length).toBeGreaterThan(10))
        first.child.kill("SIGKILL")
        yield* Mesh.answeredBy(client, second.port, well.port)
        yield* plain.end
        expect([undefined, Code.Unavailable]).toEqual(expect.arrayContaining([...codes(plain.ended)]))
        yield* plane.set({ ...shop, routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))] })
        // Until the client has it, a call may fail.
        yield* Effect.sleep("500 millis")
        const retried = load(client, 5_000)
        yield* Waiting.eventually(() => expect(retried.ended.length).toBeGreaterThan(10))
        second.child.kill("SIGKILL")
        yield* Mesh.answeredBy(client, well.port)
        yield* retried.end
        expect(codes(retried.ended)).toEqual(new Set([undefined]))
        expect(latest([...plain.ended, ...retried.ended])).toBeLessThan(5_000 + slack)
        expect(calls()).toBe(0)
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "a server that is slow, and one that says 503: by the deadline, and UNAVAILABLE, sent again where the route says",
    () =>
      Effect.gen(function* () {
        const slow = yield* Mesh.backend({
          onCheck: (_, signal) => new Promise((resolve) => signal.addEventListener("abort", () => resolve()))
        })
        const busy = yield* Effect.acquireRelease(
          Effect.promise(async () => {
            const server = Http2.createServer((_, response) => void response.writeHead(503).end("busy"))
            const sessions = new Set<Http2.ServerHttp2Session>()
            server.on("session", (session) => sessions.add(session))
            await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
            const listening = server.address()
            return { server, sessions, port: typeof listening === "object" && listening !== null ? listening.port : 0 }
          }),
          ({ server, sessions }) =>
            Effect.sync(() => {
              server.close()
              for (const session of sessions) session.destroy()
            })
        )
        const well = yield* serving
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", slow.port, busy.port))
        const { calls, client } = yield* open
        yield* Effect.exit(Effect.tryPromise(() => client.check({}, { timeoutMs: 300 })))
        const { end, ended } = load(client, 300)
        yield* Waiting.eventually(() =>
          expect(codes(ended)).toEqual(new Set([Code.DeadlineExceeded, Code.Unavailable]))
        )
        yield* end
        expect(latest(ended)).toBeLessThan(300 + slack)
        yield* plane.set({
          ...Mesh.service("shop", busy.port, well.port),
          routes: [Mesh.routes("shop", ["shop"], Mesh.retried("shop"))]
        })
        // One after another: the second attempt goes to the other one.
        const again = Effect.promise(async () => {
          for (let call = 0; call < 10; call++) await client.check({}, { timeoutMs: 2_000 })
        })
        yield* Waiting.eventually(Effect.sandbox(again))
        expect(calls()).toBe(0)
      }).pipe(Effect.provide(Mesh.mesh))
  )

  it.scopedLive(
    "no call goes to an endpoint later than a second after it was taken away, and no connection to it is left",
    () =>
      Effect.gen(function* () {
        let last = 0
        const old = yield* Mesh.backend({ onCheck: () => void (last = Date.now()) })
        const young = yield* Mesh.backend()
        const plane = yield* Mesh.ControlPlane
        yield* plane.set(Mesh.service("shop", old.port, young.port))
        const { calls, client } = yield* open
        yield* Mesh.answeredBy(client, old.port, young.port)
        const { end, ended } = load(client, 5_000)
        yield* Waiting.eventually(() => expect(ended.length).toBeGreaterThan(20))
        yield* plane.set(Mesh.service("shop", young.port))
        const told = Date.now()
        yield* Effect.sleep("1500 millis")
        yield* end
        expect(codes(ended)).toEqual(new Set([undefined]))
        expect(last - told).toBeLessThan(1_000)
        expect(ended.filter(({ at }) => at > told + 1_000).length).toBeGreaterThan(0)
        expect(old.connections()).toBe(0)
        expect(calls()).toBe(0)
      }).pipe(Effect.provide(Mesh.mesh))
  )
})
