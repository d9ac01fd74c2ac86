/** Probes of real servers on loopback. */
import type * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import type * as Probe from "@effect-xds/discovery/Probe"
import * as NodeProber from "@effect-xds/discovery-node/NodeProber"
import type * as Prober from "@effect-xds/discovery-node/Prober"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type * as NodeHttp2 from "node:http2"
import { mkdtempSync, rmSync } from "node:fs"
import * as Net from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Servers from "./Servers.js"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const http = (given: Partial<Probe.Http> = {}): Probe.Http => ({
  _tag: "Http",
  codec: "HTTP1",
  method: "GET",
  path: "/health",
  host: "",
  headers: [],
  send: bytes(""),
  expected: [{ start: 200, end: 201 }],
  retriable: [{ start: 503, end: 504 }],
  receive: [],
  responseBufferSize: 1024,
  serviceName: undefined,
  ...given
})
const http2 = (given: Partial<Probe.Http> = {}) => http({ codec: "HTTP2", ...given })
const tcp = (send: string, ...receive: ReadonlyArray<string>): Probe.Tcp => ({
  _tag: "Tcp",
  send: bytes(send),
  receive: receive.map(bytes)
})
const grpc = (given: Partial<Probe.Grpc> = {}): Probe.Grpc => ({
  _tag: "Grpc",
  service: "",
  host: "",
  headers: [],
  ...given
})

const open = (address: string, probe: Probe.Probe, given: Partial<Prober.Target> = {}) =>
  NodeProber.make.open({
    address,
    hostname: "",
    cluster: "shop",
    timeout: 1_000,
    reuseConnection: true,
    probe,
    ...given
  })

/** The results of probes one after the other, with the reuse that they allow, and with their words. */
const told = (address: string, probe: Probe.Probe, times = 1, given: Partial<Prober.Target> = {}) =>
  Effect.gen(function* () {
    const ask = yield* open(address, probe, given)
    const results = []
    let isFresh = true
    for (let n = 0; n < times; n++) {
      const result: HealthCheck.Result = yield* ask(isFresh)
      isFresh = result._tag === "Network" || result.closes === true
      results.push(result)
    }
    return results
  })

/** The same without words. */
const asked = (...of: Parameters<typeof told>) =>
  Effect.map(told(...of), (results) =>
    results.map((result) => {
      const { why, ...rest } = { why: undefined, ...result }
      expect(why === undefined).toBe(result._tag === "Success")
      return rest
    })
  )

/** Why each of the probes failed. */
const reasons = (...of: Parameters<typeof told>) =>
  Effect.map(told(...of), (results) => results.map((result) => ("why" in result ? result.why : result._tag)))

const tags = (results: ReadonlyArray<{ readonly _tag: string }>) => results.map(({ _tag }) => _tag)

describe("any kind", () => {
  const kinds: ReadonlyArray<readonly [string, Probe.Probe]> = [
    ["HTTP/1", http()],
    ["HTTP/2", http2()],
    ["TCP", tcp("ping", "pong")],
    ["a TCP connection alone", tcp("")],
    ["gRPC", grpc()]
  ]

  it.scopedLive.each(kinds)("%s: nobody listens", ([, probe]) =>
    Effect.gen(function* () {
      const address = yield* Servers.nobody
      expect(yield* asked(address, probe, 2)).toEqual([{ _tag: "Network" }, { _tag: "Network" }])
      expect(yield* asked("/no/such/pipe", probe)).toEqual([{ _tag: "Network" }])
      expect(yield* asked("", probe)).toEqual([{ _tag: "Network" }])
    })
  )

  it.scopedLive("why a probe failed is told", () =>
    Effect.gen(function* () {
      const nobody = yield* Servers.nobody
      const ends = yield* Servers.tcp((socket) => socket.once("data", () => socket.end()))
      const reset = yield* Servers.tcp((socket) => socket.once("data", () => socket.resetAndDestroy()))
      const wrong = yield* Servers.tcp((socket) => socket.once("data", () => socket.write("no\r\n\r\n\0".repeat(99))))
      for (const [, probe] of kinds) {
        expect(yield* reasons(nobody, probe)).toEqual([`connect ECONNREFUSED ${nobody}`])
        expect(yield* reasons("/no/such/pipe", probe)).toEqual(["connect ENOENT /no/such/pipe"])
      }
      const each = (address: string) => Effect.forEach(kinds.slice(0, 3), ([, probe]) => reasons(address, probe))
      const ended = "the host closed the connection"
      expect(yield* each(ends.address)).toEqual([["the connection ended before the answer"], [ended], [ended]])
      expect(yield* each(reset.address)).toEqual([["read ECONNRESET"], ["read ECONNRESET"], ["read ECONNRESET"]])
      for (const [codec, probe] of [
        ["HTTP/1", http()],
        ["HTTP/2", http2()]
      ] as const) {
        expect(yield* reasons(wrong.address, probe)).toEqual([`it does not begin as ${codec} does`])
      }
      const stream = yield* Servers.http2((stream, { ":path": path }) => {
        if (path === "/reset") stream.close(7)
        else if (path === "/goaway") stream.session?.goaway(11)
        else stream.respond({ ":status": 500 }, { endStream: true })
      })
      const of = (path: string) => reasons(stream.address, http2({ path }))
      expect(yield* Effect.forEach(["/reset", "/goaway", "/"], of)).toEqual([
        ["RST_STREAM with the error 7"],
        ["GOAWAY with the error 11"],
        ["status 500"]
      ])
      expect(yield* reasons(nobody, http2(), 1, { hostname: "a\r\nb" })).toEqual([
        expect.stringMatching(/cannot be written/)
      ])
    })
  )

  const talking = kinds.filter(([name]) => name !== "a TCP connection alone")

  it.scopedLive.each(talking)("%s: reset, an end, the end of one half, wrong bytes and an end", ([, probe]) =>
    Effect.gen(function* () {
      const reset = yield* Servers.tcp((socket) => socket.once("data", () => socket.resetAndDestroy()))
      const ends = yield* Servers.tcp((socket) => socket.once("data", () => socket.destroy()))
      const half = yield* Servers.tcp((socket) => socket.once("data", () => socket.end()))
      const wrong = yield* Servers.tcp((socket) => socket.once("data", () => socket.end("no\r\n\r\n\0".repeat(99))))
      for (const { address } of [reset, ends, half, wrong]) {
        expect(yield* asked(address, probe, 2)).toEqual([{ _tag: "Network" }, { _tag: "Network" }])
      }
    })
  )

  it.scopedLive.each(talking)("%s: silence; who is interrupted closes the connection, and can ask again", ([, probe]) =>
    Effect.gen(function* () {
      const silent = yield* Servers.tcp((socket) => {
        socket.on("end", () => socket.end())
        socket.resume()
      })
      const ask = yield* open(silent.address, probe)
      for (const n of [1, 2]) {
        const fiber = yield* Effect.fork(ask(false))
        yield* eventually(() => {
          expect(silent.connections()).toBe(n)
          expect(silent.open()).toBe(1)
        })
        expect(Exit.isInterrupted(yield* Fiber.interrupt(fiber))).toBe(true)
        yield* eventually(() => expect(silent.open()).toBe(0))
      }
    })
  )

  it.scopedLive.each(talking)("%s: the connection closes with the scope", ([, probe]) =>
    Effect.gen(function* () {
      const silent = yield* Servers.tcp((socket) => socket.resume().on("end", () => socket.end()))
      const scope = yield* Scope.make()
      const ask = yield* Scope.extend(open(silent.address, probe), scope)
      const fiber = yield* Effect.fork(ask(true))
      yield* eventually(() => expect(silent.open()).toBe(1))
      yield* Scope.close(scope, Exit.void)
      yield* eventually(() => expect(silent.open()).toBe(0))
      yield* Fiber.interrupt(fiber)
    })
  )
})

describe("TCP", () => {
  it.scopedLive("a connection alone is enough, and is closed; nothing is sent", () =>
    Effect.gen(function* () {
      let said = 0
      const server = yield* Servers.tcp((socket) => {
        socket.on("data", ({ length }) => {
          said += length
        })
        socket.on("end", () => socket.end())
      })
      const results = yield* asked(server.address, tcp(""), 2)
      expect(results).toEqual([
        { _tag: "Success", closes: true },
        { _tag: "Success", closes: true }
      ])
      yield* eventually(() => {
        expect(server.connections()).toBe(2)
        expect(server.open()).toBe(0)
      })
      expect(said).toBe(0)
    })
  )

  it.scopedLive("bytes in order with gaps, in pieces, over one connection", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const server = yield* Servers.tcp((socket) =>
        socket.on("data", (data) => {
          heard.push(data.toString())
          // What comes late is not for the next probe.
          socket.write("..po")
          setImmediate(() => socket.write("ng..!po"))
        })
      )
      expect(yield* asked(server.address, tcp("ping", "pong", "!"), 3)).toEqual([
        { _tag: "Success", closes: false },
        { _tag: "Success", closes: false },
        { _tag: "Success", closes: false }
      ])
      expect([heard, server.connections()]).toEqual([["ping", "ping", "ping"], 1])
    })
  )

  it.scopedLive("wrong bytes are waited out", () =>
    Effect.gen(function* () {
      const server = yield* Servers.tcp((socket) =>
        socket.on("data", () => {
          socket.write("gnop")
          setImmediate(() => socket.write("pon"))
          setImmediate(() => setImmediate(() => socket.write("pong")))
        })
      )
      // Had the first bytes been an answer, it would not be this one.
      expect(yield* asked(server.address, tcp("ping", "pong"), 1)).toEqual([{ _tag: "Success", closes: false }])
    })
  )

  it.scopedLive("without reuse each probe has its own connection; one that closed meanwhile is opened again", () =>
    Effect.gen(function* () {
      const server = yield* Servers.says("pong")
      const probe = tcp("ping", "pong")
      expect(yield* asked(server.address, probe, 3, { reuseConnection: false })).toEqual(
        Array.from({ length: 3 }, () => ({ _tag: "Success", closes: true }))
      )
      expect(server.connections()).toBe(3)
      const closing = yield* Servers.tcp((socket) =>
        socket.on("data", () => {
          socket.end("pong")
        })
      )
      const ask = yield* open(closing.address, probe)
      for (const n of [1, 2]) {
        expect(yield* ask(n === 1)).toEqual({ _tag: "Success", closes: false })
        yield* eventually(() => expect(closing.open()).toBe(0))
      }
    })
  )

  it.scopedLive("a server that changes its mind", () =>
    Effect.gen(function* () {
      const server = yield* Servers.tcp((socket, n) =>
        socket.on("data", () => (n === 2 ? socket.destroy() : socket.end("pong")))
      )
      const ask = yield* open(server.address, tcp("ping", "pong"))
      expect(tags([yield* ask(true), yield* ask(true), yield* ask(true)])).toEqual(["Success", "Network", "Success"])
    })
  )

  it.scopedLive("a pipe", () =>
    Effect.gen(function* () {
      const home = mkdtempSync(join(tmpdir(), "probe-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(home, { recursive: true })))
      const path = join(home, "pipe")
      const server = Net.createServer((socket) => socket.on("data", () => socket.write("pong")).on("error", () => {}))
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void server.listen(path, () => resume(Effect.void))),
        () => Effect.sync(() => server.close())
      )
      expect(tags(yield* asked(path, tcp("ping", "pong")))).toEqual(["Success"])
    })
  )

  it.scopedLive("★ a path that is too long is not cut: there somebody else listens", () =>
    Effect.gen(function* () {
      const home = mkdtempSync(join(tmpdir(), "probe-"))
      yield* Effect.addFinalizer(() => Effect.sync(() => rmSync(home, { recursive: true })))
      const longest = process.platform === "linux" ? 107 : 103
      const path = join(home, "pipe").padEnd(longest, "a")
      const server = Net.createServer((socket) => socket.on("data", () => socket.write("pong")).on("error", () => {}))
      yield* Effect.acquireRelease(
        Effect.async<void>((resume) => void server.listen(path, () => resume(Effect.void))),
        () => Effect.sync(() => server.close())
      )
      expect(tags(yield* asked(path, tcp("ping", "pong")))).toEqual(["Success"])
      const why = `the path ${path}b has ${longest + 1} bytes, and that of a Unix socket at most ${longest}; choose a shorter one`
      for (const probe of [tcp("ping", "pong"), http(), http2(), grpc()]) {
        expect(yield* told(`${path}b`, probe)).toEqual([{ _tag: "Network", why }])
      }
      const [abstract] = yield* told(`@${"a".repeat(longest)}`, tcp("ping", "pong"))
      expect(JSON.stringify(abstract)).toContain("the path @aaa")
    })
  )
})

describe("HTTP/1", () => {
  it.scopedLive("what is asked: method, path, host, headers, body", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const server = yield* Servers.http1((request, response) => {
        const { headers, method, url } = request
        let body = ""
        request.on("data", (chunk: Buffer) => {
          body += chunk.toString()
        })
        request.on("end", () => {
          heard.push({ method, url, body, host: headers.host, "x-a": headers["x-a"], agent: headers["user-agent"] })
          response.end()
        })
      })
      yield* asked(server.address, http())
      const probe = http({ method: "POST", path: "/?a", host: "checker", headers: [["x-a", "1,2"]], send: bytes("?") })
      yield* asked(server.address, probe)
      yield* asked(server.address, probe, 1, { hostname: "endpoint" })
      const plain = { body: "", agent: undefined, "x-a": undefined }
      const full = { method: "POST", url: "/?a", body: "?", "x-a": "1,2", agent: undefined }
      expect(heard).toEqual([
        { ...plain, method: "GET", url: "/health", host: "shop" },
        { ...full, host: "checker" },
        { ...full, host: "endpoint" }
      ])
    })
  )

  it.scopedLive("a host's name that no header can hold is no answer", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http1((_request, response) => response.end())
      for (const probe of [http(), http2(), grpc()]) {
        expect(yield* asked(server.address, probe, 1, { hostname: "a\r\nb" })).toEqual([{ _tag: "Network" }])
      }
      expect(tags(yield* asked(server.address, http(), 1, { hostname: "bücher" }))).toEqual(["Success"])
    })
  )

  it.scopedLive("a server that changes its mind, over one connection", () =>
    Effect.gen(function* () {
      let n = 0
      const statuses = [200, 503, 404, 200]
      const server = yield* Servers.http1((_request, response) => {
        const headers = n === 2 ? { "X-Envoy-Immediate-Health-Check-Fail": "" } : { "X-Envoy-Degraded": "" }
        response.writeHead(statuses[n++] ?? 500, headers).end("well")
      })
      expect(yield* asked(server.address, http(), 4)).toEqual([
        { _tag: "Success", isDegraded: true, closes: false },
        { _tag: "Retriable", closes: false },
        { _tag: "Immediate", isExcluded: true, closes: false },
        { _tag: "Success", isDegraded: true, closes: false }
      ])
      expect(server.connections()).toBe(1)
    })
  )

  it.scopedLive("an answer comes slowly: it counts when it is whole", () =>
    Effect.gen(function* () {
      const begun = Servers.once()
      let finish = (): void => undefined
      const server = yield* Servers.http1((_request, response) => {
        response.write("all is ")
        finish = () => response.end("well")
        begun.happen()
      })
      const ask = yield* open(server.address, http({ receive: [bytes("all"), bytes("well")] }))
      const fiber = yield* Effect.fork(ask(true))
      yield* begun.happened
      expect(yield* Fiber.poll(fiber)).toMatchObject({ _tag: "None" })
      finish()
      expect((yield* Fiber.join(fiber))._tag).toBe("Success")
    })
  )

  it.scopedLive("the body: in the first bytes, in all of it; none of HEAD", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http1((_request, response) => response.end(`${".".repeat(2_000)}well`))
      const receive = [bytes("well")]
      const ask = (given: Partial<Probe.Http>) => Effect.map(asked(server.address, http({ receive, ...given })), tags)
      expect(yield* ask({})).toEqual(["Immediate"])
      expect(yield* ask({ responseBufferSize: 2_004 })).toEqual(["Success"])
      expect(yield* ask({ responseBufferSize: 2_003 })).toEqual(["Immediate"])
      expect(yield* ask({ responseBufferSize: Number.POSITIVE_INFINITY })).toEqual(["Success"])
      expect(yield* ask({ responseBufferSize: Number.POSITIVE_INFINITY, method: "HEAD" })).toEqual(["Immediate"])
    })
  )

  it.scopedLive("an answer that ends in its middle is none", () =>
    Effect.gen(function* () {
      const server = yield* Servers.tcp((socket) =>
        socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nwell"))
      )
      expect(yield* asked(server.address, http())).toEqual([{ _tag: "Network" }])
    })
  )

  it.scopedLive("which connections are used again", () =>
    Effect.gen(function* () {
      const answer = (text: string) => Servers.says(`HTTP/1.${text}\r\ncontent-length: 0\r\n\r\n`)
      const count = (text: string, given: Partial<Prober.Target> = {}) =>
        Effect.gen(function* () {
          const server = yield* answer(text)
          const results = yield* asked(server.address, http(), 3, given)
          return [...new Set(results.map((result) => "closes" in result && result.closes)), server.connections()]
        })
      expect(yield* count("1 200 OK")).toEqual([false, 1])
      expect(yield* count("1 200 OK\r\nconnection: Close")).toEqual([true, 3])
      expect(yield* count("0 200 OK")).toEqual([true, 3])
      expect(yield* count("0 200 OK\r\nconnection: keep-alive")).toEqual([false, 1])
      expect(yield* count("1 200 OK", { reuseConnection: false })).toEqual([true, 3])
      // Another protocol is an answer, too.
      const upgrade = yield* Servers.says(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n"
      )
      const probe = http({ expected: [{ start: 101, end: 102 }] })
      expect(tags(yield* asked(upgrade.address, probe, 2))).toEqual(["Success", "Success"])
      expect(upgrade.connections()).toBe(2)
    })
  )

  it.scopedLive("fresh: another connection", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http1((_request, response) => response.end())
      const ask = yield* open(server.address, http())
      expect(tags([yield* ask(true), yield* ask(false), yield* ask(true)])).toEqual(["Success", "Success", "Success"])
      expect(server.connections()).toBe(2)
    })
  )
})

describe("HTTP/2", () => {
  it.scopedLive("what is asked, and answered, over one connection", () =>
    Effect.gen(function* () {
      const heard: Array<NodeHttp2.IncomingHttpHeaders> = []
      let n = 0
      const server = yield* Servers.http2((stream, headers) => {
        heard.push(headers)
        stream.respond({ ":status": [200, 503, 404][n++] ?? 500, "x-envoy-degraded": "" })
        stream.end("all is well")
      })
      const probe = http2({ host: "checker", headers: [["x-a", "1"]], receive: [bytes("all"), bytes("well")] })
      expect(yield* asked(server.address, probe, 3)).toEqual([
        { _tag: "Success", isDegraded: true, closes: false },
        { _tag: "Retriable", closes: false },
        { _tag: "Immediate", isExcluded: false, closes: false }
      ])
      const asks = { ":method": "GET", ":path": "/health", ":authority": "checker", ":scheme": "http", "x-a": "1" }
      expect(heard[0]).toMatchObject(asks)
      expect(server.connections()).toBe(1)
    })
  )

  it.scopedLive("a stream that is reset, before and in its middle; a body is sent", () =>
    Effect.gen(function* () {
      let body = ""
      const server = yield* Servers.http2((stream, { ":path": path }) => {
        if (path === "/reset") return stream.close(2)
        stream.respond({ ":status": 200 })
        if (path === "/middle") {
          stream.write("all is ")
          setImmediate(() => stream.destroy(new Error("no more")))
          return
        }
        stream.on("data", (chunk: Buffer) => {
          body += chunk.toString()
        })
        stream.on("end", () => stream.end())
      })
      for (const path of ["/reset", "/middle"]) {
        expect(yield* asked(server.address, http2({ path }), 2)).toEqual([{ _tag: "Network" }, { _tag: "Network" }])
      }
      const post = http2({ method: "POST", send: bytes("?") })
      expect(tags(yield* asked(server.address, post, 2))).toEqual(["Success", "Success"])
      expect(body).toBe("??")
    })
  )

  it.scopedLive.each([
    ["HTTP/2", http2()],
    ["gRPC", grpc()]
  ] as const)("%s: GOAWAY without error: the probe finishes, then there is another connection", ([, probe]) =>
    Effect.gen(function* () {
      const answer = (stream: NodeHttp2.ServerHttp2Stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
        stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
        stream.end(Buffer.of(0, 0, 0, 0, 2, 8, 1))
      }
      const during = yield* Servers.http2((stream) => {
        stream.session?.goaway(0)
        setImmediate(() => answer(stream))
      })
      expect(yield* asked(during.address, probe, 3)).toMatchObject(
        Array.from({ length: 3 }, () => ({ _tag: "Success", closes: true }))
      )
      expect(during.connections()).toBe(3)
      // Between two probes: the connection is given up.
      const after = yield* Servers.http2((stream) => {
        const { session } = stream
        stream.on("close", () => session?.goaway(0))
        answer(stream)
      })
      const ask = yield* open(after.address, probe)
      const results = [yield* ask(true)]
      while (after.connections() < 2) results.push(yield* ask(false))
      // One that was on its way when GOAWAY came may be lost; the first over the other connection is not.
      expect(results.at(-1)).toMatchObject({ _tag: "Success" })
    })
  )

  it.scopedLive.each([
    ["HTTP/2", http2()],
    ["gRPC", grpc()]
  ] as const)("%s: GOAWAY with an error is no answer", ([, probe]) =>
    Effect.gen(function* () {
      const server = yield* Servers.http2((stream) => stream.session?.goaway(11))
      expect(yield* asked(server.address, probe, 2)).toEqual([{ _tag: "Network" }, { _tag: "Network" }])
      yield* eventually(() => expect(server.open()).toBe(0))
      expect(server.connections()).toBe(2)
    })
  )

  it.scopedLive("without reuse each probe has its own connection; fresh: another one", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http2((stream) => {
        stream.respond({ ":status": 200 })
        stream.end()
      })
      yield* asked(server.address, http2(), 3, { reuseConnection: false })
      expect(server.connections()).toBe(3)
      const ask = yield* open(server.address, http2())
      expect(tags([yield* ask(true), yield* ask(false), yield* ask(true)])).toEqual(["Success", "Success", "Success"])
      expect(server.connections()).toBe(5)
    })
  )

  it.scopedLive("a connection that is no HTTP/2 any more, between two probes, is given up at once", () =>
    Effect.gen(function* () {
      let spoil = (): void => undefined
      const server = yield* Servers.tcp((socket) => {
        socket.on("end", () => socket.end())
        // SETTINGS, and HEADERS that have :status 200 and are the end.
        socket.once("data", () => socket.write(Buffer.from("00000004000000000000000101050000000188", "hex")))
        spoil = () => socket.write("HTTP/1.1 408 Request Timeout\r\n\r\n")
      })
      const ask = yield* open(server.address, http2())
      expect(yield* ask(true)).toMatchObject({ _tag: "Success", closes: false })
      spoil()
      yield* eventually(() => expect(server.open()).toBe(0))
      expect(yield* ask(false)).toMatchObject({ _tag: "Success", closes: false })
      expect(server.connections()).toBe(2)
    })
  )

  it.scopedLive("a server of HTTP/1 is no answer", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http1((_request, response) => response.end())
      for (const probe of [http2(), grpc()]) {
        expect(yield* asked(server.address, probe)).toEqual([{ _tag: "Network" }])
      }
    })
  )
})

describe("gRPC", () => {
  it.scopedLive("what is asked", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const server = yield* Servers.http2((stream, headers) => {
        stream.on("data", (chunk: Buffer) => heard.push(headers, chunk))
        stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "12" }, { endStream: true })
      })
      const probe = grpc({ service: "cart", host: "checker", headers: [["x-a", "1"]] })
      expect(yield* asked(server.address, probe)).toEqual([{ _tag: "Immediate", closes: false }])
      expect(heard).toMatchObject([
        {
          ":method": "POST",
          ":path": "/grpc.health.v1.Health/Check",
          ":authority": "checker",
          "content-type": "application/grpc",
          te: "trailers",
          "grpc-timeout": "1000m",
          "x-a": "1"
        },
        Buffer.of(0, 0, 0, 0, 6, 10, 4, ...bytes("cart"))
      ])
    })
  )

  it.scopedLive("what is no gRPC is clear at once; so is an answer without end", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http2((stream, { ":authority": host }) => {
        stream.respond({ ":status": host === "teapot" ? 418 : 200, "content-type": "application/grpc" })
        if (host === "endless") stream.write(Buffer.alloc(70_000))
      })
      for (const host of ["teapot", "endless"]) {
        expect(yield* asked(server.address, grpc({ host }), 2)).toEqual([
          { _tag: "Immediate", closes: false },
          { _tag: "Immediate", closes: false }
        ])
      }
      expect(server.connections()).toBe(2)
    })
  )

  it.scopedLive("★ an answer that is longer than 64 KiB is none, also where it is whole and says SERVING", () =>
    Effect.gen(function* () {
      // SERVING, and a field that nobody knows, so that the last frame is small.
      const rest = 65_600
      const message = Buffer.alloc(5 + 2 + 4 + rest)
      message.writeUInt32BE(message.length - 5, 1)
      message.set([8, 1, 0x7a, 0x80 | (rest & 0x7f), 0x80 | ((rest >> 7) & 0x7f), rest >> 14], 5)
      const server = yield* Servers.http2((stream) => {
        stream.respond({ ":status": 200, "content-type": "application/grpc", "grpc-status": "0" })
        stream.end(message)
      })
      expect(yield* reasons(server.address, grpc())).toEqual(["the answer is not one HealthCheckResponse"])
    })
  )

  it.scopedLive("the time that there is for it: at most eight digits", () =>
    Effect.gen(function* () {
      const heard: Array<unknown> = []
      const server = yield* Servers.http2((stream, headers) => {
        heard.push(headers["grpc-timeout"])
        stream.respond({ ":status": 404 }, { endStream: true })
      })
      for (const timeout of [0.5, 1e8 - 1, 1e8, 1e13]) yield* asked(server.address, grpc(), 1, { timeout })
      expect(heard).toEqual(["1m", "99999999m", "100000S", "99999999S"])
    })
  )

  it.scopedLive("a reset is none", () =>
    Effect.gen(function* () {
      const server = yield* Servers.http2((stream) => stream.close(7))
      expect(yield* asked(server.address, grpc(), 2)).toEqual([{ _tag: "Network" }, { _tag: "Network" }])
    })
  )
})
