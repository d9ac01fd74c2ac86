// Server CPU per small response and its ACK: ConnectServer beside a bare node:http2 loop that does the same framing.
// 500 streams on 20 connections; each answers a response with an ACK and gets the next one. The server, and the clients,
// each have a process of their own; servers take turns, and the medians are compared.
//
//   npx tsc -b && node bench/message.mjs
import { ConnectServer } from "@effect-xds/transport-connect"
import { Effect, Logger } from "effect"
import { fork } from "node:child_process"
import * as Http2 from "node:http2"
import { fileURLToPath } from "node:url"

const connections = 20
const streamsPerConnection = 25
const warmUp = 40
const messages = 200
const rounds = 5

const path = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources"

const field = (number, bytes) => Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes])
const text = (number, value) => field(number, Buffer.from(value))
const typeUrl = "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment"

/** A response of about 220 bytes, one EDS resource, without its nonce; and the ACK of it. */
const body = Buffer.concat([
  text(1, "f3c1b2a4958671d0"),
  field(2, Buffer.concat([text(1, typeUrl.slice(0, 40)), field(2, Buffer.alloc(70, 65))])),
  text(4, typeUrl)
])
const nonceOf = (count) => text(5, String(count))
const ack = Buffer.concat([text(1, "f3c1b2a4958671d0"), text(3, "service/a"), text(4, typeUrl), text(5, "1234")])

const frame = (message) => {
  const buffer = Buffer.allocUnsafe(5 + message.length)
  buffer[0] = 0
  buffer.writeUInt32BE(message.length, 1)
  message.copy(buffer, 5)
  return buffer
}

/** Calls back for each message, across chunks. */
const reader = (onMessage) => {
  let rest = Buffer.alloc(0)
  return (chunk) => {
    let bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
    while (bytes.length >= 5) {
      const end = 5 + bytes.readUInt32BE(1)
      if (bytes.length < end) break
      onMessage(bytes.subarray(5, end))
      bytes = bytes.subarray(end)
    }
    rest = bytes
  }
}

const bare = () =>
  new Promise((resolve) => {
    const server = Http2.createServer({ settings: { maxConcurrentStreams: 1000 } })
    server.on("stream", (stream) => {
      let count = 0
      stream.on("error", () => {})
      stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true })
      stream.on(
        "data",
        reader(() => {
          const nonce = nonceOf(count++)
          const buffer = Buffer.allocUnsafe(5 + body.length + nonce.length)
          buffer[0] = 0
          buffer.writeUInt32BE(body.length + nonce.length, 1)
          body.copy(buffer, 5)
          nonce.copy(buffer, 5 + body.length)
          stream.write(buffer)
        })
      )
    })
    server.listen(0, "127.0.0.1", () => resolve(server.address().port))
  })

const ours = () =>
  new Promise((resolve) => {
    const accept = (stream) => {
      let count = 0
      return {
        onRequest: () => void stream.write({ body, suffix: nonceOf(count++) }),
        onWritable: () => {},
        onEnd: () => {}
      }
    }
    ConnectServer.make()
      .serve(accept)
      .pipe(
        Effect.tap((address) => Effect.sync(() => resolve(Number(address.split(":").at(-1))))),
        Effect.zipRight(Effect.never),
        Effect.provide(Logger.remove(Logger.defaultLogger)),
        Effect.scoped,
        Effect.runPromise
      )
  })

const serve = async (which) => {
  let start
  process.on("message", (message) => {
    if (message === "start") start = process.cpuUsage()
    else {
      const { system, user } = process.cpuUsage(start)
      process.send({ system, user, rss: process.memoryUsage.rss() }, () => process.exit())
    }
  })
  process.send({ port: await (which === "bare" ? bare() : ours()) })
}

/** Opens the streams; the function it returns has each of them take that many responses and ACK all but the last. */
const load = (port) => {
  const streams = []
  let left = 0
  let each = 0
  let onDone = () => {}
  for (let connection = 0; connection < connections; connection++) {
    const session = Http2.connect(`http://127.0.0.1:${port}`)
    for (let index = 0; index < streamsPerConnection; index++) {
      const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" })
      const self = { stream, count: 0 }
      stream.on(
        "data",
        reader(() => {
          if (++self.count < each) stream.write(frame(ack))
          else if (--left === 0) onDone()
        })
      )
      streams.push(self)
    }
  }
  return (count) =>
    new Promise((resolve) => {
      left = streams.length
      each = count
      onDone = resolve
      for (const self of streams) {
        self.count = 0
        self.stream.write(frame(ack))
      }
    })
}

const next = (child) => new Promise((resolve) => child.once("message", resolve))

const measure = async (which) => {
  const self = fileURLToPath(import.meta.url)
  const server = fork(self, ["serve", which], {
    execArgv: process.argv.includes("--cpu-prof") ? ["--cpu-prof", `--cpu-prof-name=${which}.cpuprofile`] : []
  })
  const { port } = await next(server)
  const client = fork(self, ["load", String(port)])
  await next(client)
  server.send("start")
  client.send("go")
  await next(client)
  server.send("stop")
  const { rss, system, user } = await next(server)
  client.kill()
  const count = connections * streamsPerConnection * messages
  return { cpu: (system + user) / count, user: user / count, rss }
}

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]

const [role, argument] = process.argv.slice(2)
if (role === "serve") await serve(argument)
else if (role === "load") {
  const run = load(Number(argument))
  await run(warmUp)
  process.once("message", async () => {
    await run(messages)
    process.send("done")
  })
  process.send("warm")
} else {
  const results = { bare: [], ours: [] }
  for (let round = 0; round < rounds; round++) {
    for (const which of ["bare", "ours"]) {
      const result = await measure(which)
      results[which].push(result.cpu)
      process.stdout.write(
        `${which} ${result.cpu.toFixed(2)} µs CPU per response and ACK (${result.user.toFixed(2)} user), ${(result.rss / 1e6).toFixed(0)} MB\n`
      )
    }
  }
  const [bareMedian, oursMedian] = [median(results.bare), median(results.ours)]
  process.stdout.write(
    `medians of ${rounds}: bare ${bareMedian.toFixed(2)} µs, ours ${oursMedian.toFixed(2)} µs, ratio ${(oursMedian / bareMedian).toFixed(2)}\n`
  )
}
