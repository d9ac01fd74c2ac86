/**
 * `node benchmarks/dist/stores.js [CASE…] [--changes N] [--rounds N]`: what a store in a database costs beside the one in
 * memory, in the same run. Every store is in a process of its own, and so is the replica that follows it.
 *
 * - `one`: one of 10 000 resources changes, one after the other; until the replica has it
 * - `all`: all 10 000 change in one call
 * - `ready`: a replica opens a database with 10 groups of 10 000 resources; and what it holds then
 * - `drivers`: SQLite's drivers that are there, without a store
 *
 * The files are on the disk of the system's folder for temporary files, and every commit is waited for until it is there.
 */
import { Postgres } from "@effect-xds/store-sql"
import { PeerProgram, PostgresServer } from "@effect-xds/testing"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as delay } from "node:timers/promises"
import { parseArgs } from "node:util"
import { load, machine } from "./Machine.js"
import * as Drivers from "./stores/Drivers.js"
import { groupOf } from "./stores/StoreChild.js"
import { StoreProcess } from "./stores/StoreProcess.js"

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { changes: { type: "string", default: "500" }, rounds: { type: "string", default: "3" } }
})
const changes = Number(values.changes)
const rounds = Number(values.rounds)
const resources = 10_000
const groups = 10

const folder = mkdtempSync(join(tmpdir(), "effect-xds-stores-"))
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
const scope = Effect.runSync(Scope.make())

const names = ["memory", "SQLite", "PostgreSQL"] as const
type Name = (typeof names)[number]

const server = Effect.runSync(
  Effect.cached(
    Effect.suspend(() => {
      const peer = PeerProgram.find("postgres")
      if (peer._tag === "Missing") return Effect.succeed(undefined)
      return PostgresServer.make(peer.path, { durable: true })
    }).pipe(Scope.extend(scope))
  )
)

let files = 0
/** A new database; `undefined`: none, the store is in memory. Null: it cannot be had. */
const place = async (name: Name): Promise<string | undefined | null> => {
  if (name === "memory") return undefined
  if (name === "SQLite") return `sqlite:${join(folder, `${++files}.db`)}`
  const found = await Effect.runPromise(server)
  if (found === undefined) return null
  const schema = `s${++files}`
  const made = Effect.flatMap(
    Postgres.make({ url: Redacted.make(found.url()) }),
    ({ sql }) => sql`CREATE SCHEMA ${sql(schema)}`
  )
  await Effect.runPromise(Effect.scoped(made))
  return found.url(schema)
}

const quantile = (sorted: ReadonlyArray<number>, of: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * of))] ?? Number.NaN

interface Figures {
  readonly name: Name
  readonly sorted: ReadonlyArray<number>
}

const ms = (value: number): string => `${value.toFixed(value < 10 ? 2 : value < 100 ? 1 : 0)} ms`

const say = (what: string, all: ReadonlyArray<Figures>, of: number, target: Partial<Record<Name, number>>): void => {
  const label = of === 0.5 ? "median" : of === 1 ? "most" : `p${of * 100}`
  const base = all.find(({ name }) => name === "memory")
  for (const { name, sorted } of all) {
    const value = quantile(sorted, of)
    const ratio =
      base === undefined || name === "memory" ? "" : `; ${(value / quantile(base.sorted, of)).toFixed(1)} × memory`
    const limit = target[name]
    const met = limit === undefined ? "" : `; target ${limit} ms ${value <= limit ? "met" : "MISSED"}`
    console.log(`${what}, ${name}: ${label} ${ms(value)} of ${sorted.length}${ratio}${met}`)
  }
}

/** A store that is filled and a replica that follows it; in memory both are one. */
const pair = async (name: Name, url: string | undefined, count: number) => {
  const writer = new StoreProcess()
  await writer.ask({ ask: "open", url })
  await writer.ask({ ask: "fill", groups: 1, resources: count })
  const reader = name === "memory" ? writer : new StoreProcess()
  if (reader !== writer) await reader.ask({ ask: "open", url })
  await reader.ask({ ask: "watch", group: groupOf(0) })
  return { writer, reader }
}

/** For each store, by turns: until a change is seen, and until the call returns. */
const latency = async (what: string, count: number, turns: number, pause: number) => {
  const stores: Array<{
    name: Name
    seen: Array<number>
    written: Array<number>
    pair: Awaited<ReturnType<typeof pair>>
  }> = []
  for (const name of names) {
    const url = await place(name)
    if (url === null) console.log(`${name} is missing: node scripts/peers.mjs`)
    else stores.push({ name, seen: [], written: [], pair: await pair(name, url, resources) })
  }
  const warm = Math.ceil(turns / 10)
  for (let turn = 0; turn < turns + warm; turn++) {
    for (const { pair: both, seen, written } of stores) {
      const from = count === 1 ? (turn * 7919) % resources : 0
      const next = both.reader.nextSeen()
      const { began, ended } = await both.writer.ask({ ask: "change", group: groupOf(0), from, count })
      const at = await next
      if (turn >= warm) {
        seen.push(at - began)
        written.push(ended - began)
      }
      await delay(pause * (0.5 + Math.random()))
    }
  }
  for (const { pair: both } of stores) {
    await both.writer.stop()
    await both.reader.stop()
  }
  const sorted = (of: "seen" | "written"): ReadonlyArray<Figures> =>
    stores.map((store) => ({ name: store.name, sorted: store[of].toSorted((a, b) => a - b) }))
  return { what, seen: sorted("seen"), written: sorted("written") }
}

const cases: Readonly<Record<string, () => Promise<void>>> = {
  one: async () => {
    const { seen, what, written } = await latency("one of 10 000 seen", 1, changes, 20)
    say(what, seen, 0.5, {})
    say(what, seen, 0.99, { SQLite: 15, PostgreSQL: 30 })
    say("the call returns", written, 0.5, {})
    say("the call returns", written, 0.99, {})
  },
  all: async () => {
    // Each when the others rest: what is told of broken rules is found afterwards.
    const { seen, what, written } = await latency("10 000 at once seen", resources, Math.max(5, rounds * 3), 2_000)
    say(what, seen, 0.5, { SQLite: 500, PostgreSQL: 500 })
    say(what, seen, 1, {})
    say("the call returns", written, 0.5, {})
  },
  ready: async () => {
    const found: Array<Figures & { heap: number; resident: number }> = []
    for (const name of names) {
      const url = await place(name)
      if (url === null) continue
      const writer = new StoreProcess()
      await writer.ask({ ask: "open", url })
      const filled = await writer.ask({ ask: "fill", groups, resources })
      const times: Array<number> = name === "memory" ? [filled.ended - filled.began] : []
      let bytes = (await writer.ask({ ask: "memory" })).bytes
      for (let round = 0; round < rounds; round++) {
        const replica = new StoreProcess()
        const { began, ended } = await replica.ask({ ask: "open", url })
        if (name === "memory") {
          const again = await replica.ask({ ask: "fill", groups, resources })
          times.push(again.ended - again.began)
        } else times.push(ended - began)
        bytes = (await replica.ask({ ask: "memory" })).bytes
        await replica.stop()
      }
      await writer.stop()
      found.push({
        name,
        sorted: times.toSorted((a, b) => a - b),
        heap: bytes?.heap ?? Number.NaN,
        resident: bytes?.resident ?? Number.NaN
      })
    }
    say("10 groups of 10 000 ready", found, 0.5, { SQLite: 2_000, PostgreSQL: 2_000 })
    const base = found.find(({ name }) => name === "memory")
    for (const { heap, name, resident } of found) {
      const of = (one: number, other = Number.NaN): string =>
        `${(one / 2 ** 20).toFixed(0)} MB${name === "memory" ? "" : ` (${(one / other).toFixed(2)} × memory)`}`
      console.log(
        `what it holds, ${name}: heap and buffers ${of(heap, base?.heap)}; resident ${of(resident, base?.resident)}`
      )
    }
  },
  drivers: async () => {
    for (const line of await Drivers.measure(folder)) console.log(line)
  }
}

const wanted = positionals.length === 0 ? Object.keys(cases) : positionals
const { cores, cpu } = machine()
console.log(`Node ${process.version}, ${cores} cores of ${cpu}, load ${load().toFixed(1)}`)
try {
  for (const name of wanted) {
    const run = cases[name]
    if (run === undefined) throw new Error(`there is no case ${name}; there are ${Object.keys(cases).join(", ")}`)
    await run()
    console.log(`(load ${load().toFixed(1)})`)
  }
} finally {
  await Effect.runPromise(Scope.close(scope, Exit.void))
}
