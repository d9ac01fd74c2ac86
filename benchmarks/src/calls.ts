/**
 * `node benchmarks/dist/calls.js [--rounds 15] [--only cost,memory,last] [--profile FOLDER]`: what a unary call through xDS costs a client, beside
 * Connect's own transport and beside grpc-js with and without xDS; the memory of 1 000 endpoints; and the time from the control
 * plane's update to the last call to an endpoint that it took away. Each client, each server and the control plane is a
 * process of its own; the clients are measured by turns, a batch each.
 */
import * as Schema from "effect/Schema"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Child } from "./Child.js"
import { load, machine, versions } from "./Machine.js"

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "15" },
    only: { type: "string", default: "cost,memory,last" },
    endpoints: { type: "string", default: "1000" },
    profile: { type: "string" }
  }
})
const rounds = Math.max(1, Number(values.rounds))
const endpoints = Math.max(2, Number(values.endpoints))
const parts = new Set(values.only.split(","))

const titles = {
  connect: "Connect, plain",
  ours: "Connect through xDS",
  "grpc-js": "grpc-js, plain",
  "grpc-js-xds": "grpc-js through xDS"
} as const
type Client = keyof typeof titles
const clients = ["connect", "ours", "grpc-js", "grpc-js-xds"] as const
const withXds = ["ours", "grpc-js-xds"] as const

/** As many calls as are under way at once, and as many as are in a batch. */
const width = 16
const batch = 1_000

interface Endpoint {
  readonly address: string
  readonly port: number
}

const decode = {
  port: Schema.decodeUnknownSync(Schema.Struct({ port: Schema.Number })),
  address: Schema.decodeUnknownSync(Schema.Struct({ address: Schema.String })),
  set: Schema.decodeUnknownSync(Schema.Struct({ at: Schema.String })),
  last: Schema.decodeUnknownSync(Schema.Struct({ last: Schema.String, calls: Schema.Number })),
  failed: Schema.decodeUnknownSync(Schema.Struct({ failed: Schema.Number, reason: Schema.optional(Schema.String) })),
  cost: Schema.decodeUnknownSync(Schema.Struct({ cpuMicroseconds: Schema.Number })),
  memory: Schema.decodeUnknownSync(Schema.Struct({ heapBytes: Schema.Number, residentBytes: Schema.Number }))
}

/** With `--profile FOLDER` each process writes a CPU profile into it. */
const profiled = (file: string): ReadonlyArray<string> =>
  values.profile === undefined
    ? []
    : [
        "--cpu-prof",
        "--cpu-prof-interval=200",
        `--cpu-prof-name=${file}-${++started}.cpuprofile`,
        `--cpu-prof-dir=${values.profile}`
      ]
let started = 0

const child = (title: string, file: string, env: Readonly<Record<string, string>> = {}): Child =>
  new Child(title, process.execPath, [...profiled(file), join(import.meta.dirname, "callers", `${file}.js`)], {
    NODE_ENV: "production",
    ...env
  })

const say = (text: string): void => console.log(text)
const sorted = (numbers: ReadonlyArray<number>): ReadonlyArray<number> => numbers.toSorted((one, other) => one - other)
const median = (numbers: ReadonlyArray<number>): number => sorted(numbers)[numbers.length >> 1] ?? 0
const spread = (numbers: ReadonlyArray<number>, digits: number): string =>
  `${median(numbers).toFixed(digits)} (${(sorted(numbers)[0] ?? 0).toFixed(digits)}–${(sorted(numbers).at(-1) ?? 0).toFixed(digits)})`
const judged = (isMet: boolean, target: string): string => `target ${target}: ${isMet ? "met" : "MISSED"}`

const shops = [child("the server", "Shop"), child("the second server", "Shop")] as const
const plane = child("the control plane", "ControlPlane")
const ports = await Promise.all(shops.map(async (shop) => decode.port(await shop.request("start")).port))
const [first = 0, second = 0] = ports
const controlPlane = decode.address(await plane.request("start")).address
const set = async (serving: ReadonlyArray<Endpoint>): Promise<bigint> =>
  BigInt(decode.set(await plane.request("set", { endpoints: serving })).at)

const open = (client: Client): Child =>
  child(titles[client], client, {
    SERVER: `127.0.0.1:${first}`,
    CONTROL_PLANE: controlPlane,
    GRPC_XDS_BOOTSTRAP_CONFIG: JSON.stringify({
      xds_servers: [{ server_uri: controlPlane, channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] }],
      node: { id: "peer", locality: {} }
    })
  })

/** Calls; the CPU time of one in microseconds. */
const call = async (caller: Child, count: number): Promise<number> => {
  const answer = await caller.request("calls", { count, width })
  const { failed, reason } = decode.failed(answer)
  if (failed > 0) throw new Error(`${failed} of ${count} calls failed: ${reason ?? ""}`)
  return decode.cost(answer).cpuMicroseconds / count
}

const cost = async (): Promise<void> => {
  await set([{ address: "127.0.0.1", port: first }])
  const callers = clients.map((client) => ({ client, caller: open(client), costs: Array<number>() }))
  for (const { caller } of callers) await call(caller, 5 * batch)
  for (let round = 0; round < rounds; round++) {
    for (const { caller, costs } of callers) costs.push(await call(caller, batch))
  }
  await Promise.all(callers.map(({ caller }) => caller.stop()))
  const costs = new Map(callers.map((each) => [each.client, each.costs]))
  const ours = costs.get("ours") ?? []
  /** How many times another client's cost ours is, in each round. */
  const ratios = (client: Client): ReadonlyArray<number> =>
    ours.map((each, round) => each / (costs.get(client)?.[round] ?? Number.NaN))
  const targets: Readonly<Partial<Record<Client, number>>> = { connect: 1.15, "grpc-js-xds": 1 }
  say(`\nCPU of a unary call in µs, ${rounds} batches of ${batch} calls, ${width} at a time`)
  for (const client of clients) {
    const most = targets[client]
    const said = most === undefined ? "" : `; ${judged(median(ratios(client)) <= most, `≤ ${most}`)}`
    const ratio = client === "ours" ? "" : `; ours ${spread(ratios(client), 2)} ×${said}`
    say(`${titles[client].padEnd(24)} ${spread(costs.get(client) ?? [], 1)}${ratio}`)
  }
}

const memory = async (): Promise<void> => {
  say(`\nMemory of ${endpoints} endpoints with a connection each: less that of the same client with one`)
  for (const client of withXds) {
    await set([{ address: "127.0.0.1", port: first }])
    const caller = open(client)
    await call(caller, 2 * batch)
    const one = decode.memory(await caller.request("memory"))
    const called = decode.last(await shops[0].request("last")).calls
    await set(
      Array.from({ length: endpoints }, (_, index) => ({
        address: `127.0.${Math.floor(index / 250)}.${(index % 250) + 1}`,
        port: first
      }))
    )
    // Calls meet every endpoint in turn, so all have a connection after some rounds.
    for (let round = 0; round < 5; round++) {
      await setTimeout(1_000)
      await call(caller, endpoints)
    }
    const all = decode.memory(await caller.request("memory"))
    const calls = decode.last(await shops[0].request("last")).calls - called
    const heap = (all.heapBytes - one.heapBytes) / endpoints
    const resident = (all.residentBytes - one.residentBytes) / endpoints
    say(
      `${titles[client].padEnd(24)} ${(heap / 1e3).toFixed(1)} KB of heap and buffers, ${(resident / 1e3).toFixed(1)} KB resident, ` +
        `an endpoint (${(all.residentBytes / 1e6).toFixed(0)} MB in all; ${calls} calls)`
    )
    await caller.stop()
  }
}

const last = async (): Promise<void> => {
  say(`\nFrom the control plane's update to the last call to an endpoint that it took away, in ms; 4 calls at a time`)
  const both = [
    { address: "127.0.0.1", port: first },
    { address: "127.0.0.1", port: second }
  ]
  for (const client of withXds) {
    await set(both)
    const caller = open(client)
    await call(caller, batch)
    const times: Array<number> = []
    await caller.request("go")
    for (let round = 0; round < rounds; round++) {
      const before = decode.last(await shops[1].request("last")).calls
      await set(both)
      await setTimeout(500)
      if (decode.last(await shops[1].request("last")).calls === before) throw new Error("the endpoint is not called")
      const at = await set(both.slice(0, 1))
      await setTimeout(1_500)
      times.push(Number(BigInt(decode.last(await shops[1].request("last")).last) - at) / 1e6)
    }
    const { failed, reason } = decode.failed(await caller.request("stop"))
    await caller.stop()
    const said = client === "ours" ? `; ${judged(Math.max(...times) <= 1_000, "≤ 1 000 ms")}` : ""
    say(
      `${titles[client].padEnd(24)} ${spread(times, 1)}; ${failed} calls failed${reason === undefined ? "" : ` (${reason})`}${said}`
    )
  }
}

const { cores, cpu } = machine()
say(`${cores} cores of ${cpu}, load ${load().toFixed(2)}`)
say(
  Object.entries(versions(undefined))
    .map(([name, version]) => `${name} ${version}`)
    .join(", ")
)
if (parts.has("cost")) await cost()
if (parts.has("memory")) await memory()
if (parts.has("last")) await last()
process.exit()
