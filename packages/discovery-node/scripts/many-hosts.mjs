// What health checks of many hosts cost: real sockets on loopback, the servers in a process of their own. One host of a
// hundred is silent. Each host has an address of its own,
// as Linux has them all on loopback. Run after a build:
//
//     node packages/discovery-node/scripts/many-hosts.mjs [tcp | http1 | http2 | grpc] [hosts] [seconds] [reuse | fresh]
//
// It prints the share of a core that checking takes, and how late the latest probe and the latest timeout were.
import { HealthCheckSettings, Host } from "@effect-xds/discovery"
import { HealthChecker, NodeProber, Prober } from "@effect-xds/discovery-node"
import { Effect, Either } from "effect"
import { fork } from "node:child_process"
import * as Http from "node:http"
import * as Http2 from "node:http2"
import * as Net from "node:net"
import { fileURLToPath } from "node:url"

const [kind = "http1", hosts = "10000", seconds = "30", reuse = "reuse"] = process.argv.slice(2)
const silence = (host) => host === "silent"
const lasting = { keepAliveTimeout: 3_600_000 }

const onStream = (stream, headers) => {
  stream.on("error", () => undefined)
  if (silence(headers[":authority"])) return
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: kind === "grpc" })
  stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }))
  stream.end(Buffer.of(0, 0, 0, 0, 2, 8, 1))
}

const servers = {
  tcp: () => Net.createServer((socket) => socket.on("error", () => undefined).on("data", (data) => socket.write(data))),
  http1: () => Http.createServer(lasting, ({ headers }, response) => void (silence(headers.host) || response.end())),
  http2: () => Http2.createServer().on("stream", onStream),
  grpc: () => Http2.createServer().on("stream", onStream)
}

const none = new Uint8Array()
const http = {
  _tag: "Http",
  method: "GET",
  path: "/health",
  host: "",
  headers: [],
  send: none,
  expected: [{ start: 200, end: 201 }],
  retriable: [],
  receive: [],
  responseBufferSize: 1024,
  serviceName: undefined
}
const ping = Buffer.from("ping")
const probes = {
  tcp: { _tag: "Tcp", send: ping, receive: [ping] },
  http1: { ...http, codec: "HTTP1" },
  http2: { ...http, codec: "HTTP2" },
  grpc: { _tag: "Grpc", service: "", host: "", headers: [] }
}

const serve = () => {
  const server = servers[kind]()
  server.listen(0, "0.0.0.0", 8_192, () => process.send(server.address().port))
  process.on("disconnect", () => process.exit())
}

const interval = 10_000
const timeout = 1_000
const seen = { probes: 0, timeouts: 0, lateProbe: 0, lateTimeout: 0, failures: 0 }

/** The prober of Node, looked at. */
const watched = {
  open: (target) =>
    Effect.map(NodeProber.make.open(target), (ask) => {
      let ended
      return (isFresh) =>
        Effect.suspend(() => {
          const began = performance.now()
          if (ended !== undefined) seen.lateProbe = Math.max(seen.lateProbe, began - ended - interval)
          seen.probes++
          return Effect.onExit(ask(isFresh), (exit) =>
            Effect.sync(() => {
              ended = performance.now()
              if (exit._tag === "Success") {
                if (exit.value._tag !== "Success") seen.failures++
                return
              }
              seen.timeouts++
              seen.lateTimeout = Math.max(seen.lateTimeout, ended - began - timeout)
            })
          )
        })
    })
}

const measure = (port) =>
  Effect.gen(function* () {
    const settings = Either.getOrThrow(
      HealthCheckSettings.make({
        timeout,
        interval,
        initialJitter: interval,
        unhealthyThreshold: 2,
        healthyThreshold: 2,
        reuseConnection: reuse === "reuse"
      })
    )
    const checker = { name: "", settings, probe: probes[kind] }
    const made = (probe) =>
      HealthChecker.make({ cluster: "many", checkers: [{ ...checker, probe }], on: () => undefined })
    const checks = yield* made(probes[kind])
    // Over TCP the silent ones wait for what never comes.
    const silent = yield* made(kind === "tcp" ? { ...probes.tcp, receive: [Buffer.from("pong")] } : probes[kind])
    for (const each of [checks, silent]) yield* each.trafficSeen
    for (let n = 0; n < Number(hosts); n++) {
      const isSilent = n % 100 === 0
      const checkHostname = isSilent ? "silent" : "many"
      const host = Host.make(String(n), { checkAddress: `127.1.${n >> 8}.${n & 255}:${port}`, checkHostname })
      yield* (isSilent ? silent : checks).check(host)
    }
    // The first round connects.
    yield* Effect.sleep(interval + timeout)
    const first = { ...seen }
    for (const key of Object.keys(seen)) seen[key] = 0
    const before = process.cpuUsage()
    const began = performance.now()
    yield* Effect.sleep(Number(seconds) * 1_000)
    const { system, user } = process.cpuUsage(before)
    const lasted = performance.now() - began
    const share = (user + system) / 10 / lasted
    console.log(
      `${kind}, ${reuse}: ${hosts} hosts, ${seen.probes} probes in ${(lasted / 1000).toFixed(1)} s, ${seen.timeouts} timeouts, ` +
        `${seen.failures} failures (first round ${first.failures}): ${share.toFixed(1)} % of a core ` +
        `(${(user / 10 / lasted).toFixed(1)} in our code, ${(system / 10 / lasted).toFixed(1)} in the system), ` +
        `latest probe ${seen.lateProbe.toFixed(0)} ms, latest timeout ${seen.lateTimeout.toFixed(0)} ms, ` +
        `${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`
    )
  })

if (process.send !== undefined) serve()
else {
  const child = fork(fileURLToPath(import.meta.url), process.argv.slice(2))
  child.once("message", (port) => {
    const program = Effect.provideService(Effect.scoped(measure(port)), Prober.Prober, watched)
    Effect.runPromise(program).finally(() => child.kill())
  })
}
