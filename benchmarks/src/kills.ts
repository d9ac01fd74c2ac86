/**
 * `npm run soak:store`: kill -9 again and again of processes that share a store, and of its database; some minutes.
 *
 *   --store sqlite|postgres   default: postgres
 *   --kills N                 default: 200
 *   --seed N                  which, and when. Default: 1
 *
 * Two writers and a replica serve four groups, and a client is connected to each. What must hold, whatever is killed:
 *
 * - no change that was acknowledged is lost, and none is there by half
 * - of two writers of one revision one wins: no count is acknowledged twice
 * - every replica has the same states in the same order
 * - neither a replica nor the client of one ever sees an older state after a newer one
 *
 * Ends with 1 and what was wrong.
 */
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { Postgres, SqlStore, StoreUrl } from "@effect-xds/store-sql"
import { PeerProgram, PostgresServer } from "@effect-xds/testing"
import { ConnectClient } from "@effect-xds/transport-connect"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ChildProcess } from "node:child_process"
import { fork } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { random } from "./Fixtures.js"
import type { Said } from "./stores/Member.js"
import { counter, countOf, groups } from "./stores/Member.js"

const { values } = parseArgs({
  options: {
    store: { type: "string", default: "postgres" },
    kills: { type: "string", default: "200" },
    seed: { type: "string", default: "1" }
  }
})
const kills = Number(values.kills)
const next = random(Number(values.seed))
const program = fileURLToPath(new URL("stores/Member.js", import.meta.url))

const wrong: Array<string> = []
const fault = (what: string): void => {
  if (wrong.length < 20) wrong.push(what)
}

/** By group: what was acknowledged, and by revision the state that was served first. */
const acknowledged = new Map(groups.map((group) => [group, { names: new Set<string>(), counts: new Set<number>() }]))
const states = new Map<string, string>()
const refused: Record<string, number> = {}
const totals = { acks: 0, seen: 0, byClients: 0 }

const isSaid = (message: unknown): message is Said =>
  typeof message === "object" && message !== null && "said" in message

/** A control plane that is killed and started again, on its port; it never goes back. */
class Member {
  port = 0
  /** Acknowledged or seen since it was started. */
  progress = 0
  #child: ChildProcess | undefined
  readonly #last = new Map<string, { readonly revision: number; readonly count: number }>()

  constructor(
    readonly name: string,
    private readonly url: string,
    readonly writes: boolean
  ) {}

  async start(): Promise<void> {
    this.progress = 0
    const child = fork(program, [this.name, this.url, String(this.port), String(this.writes)], { stdio: "inherit" })
    this.#child = child
    const ready = new Promise<void>((resolve, reject) => {
      child.on("message", (message) => {
        if (!isSaid(message)) return
        if (message.said === "ready") {
          this.port = message.port
          resolve()
        } else this.#hear(message)
      })
      child.once("exit", () => reject(new Error(`${this.name} ended by itself`)))
    })
    await ready
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const gone = once(child, "exit")
    child.kill("SIGKILL")
    await gone
  }

  #hear(said: Exclude<Said, { said: "ready" }>): void {
    if (said.said === "refused") {
      refused[said.tag] = (refused[said.tag] ?? 0) + 1
      return
    }
    this.progress++
    if (said.said === "ack") {
      totals.acks++
      const known = acknowledged.get(said.group)
      if (known?.counts.has(said.count)) fault(`${said.group}: count ${said.count} was acknowledged twice`)
      known?.counts.add(said.count)
      for (const name of said.names) known?.names.add(name)
      return
    }
    totals.seen++
    const { count, digest, group, revision } = said
    const last = this.#last.get(group)
    if (last !== undefined && (revision <= last.revision || count < last.count)) {
      fault(`${this.name}, ${group}: revision ${revision} (${count}) after ${last.revision} (${last.count})`)
    }
    this.#last.set(group, { revision, count })
    const key = `${group}@${revision}`
    const first = states.get(key)
    if (first === undefined) states.set(key, digest)
    else if (first !== digest) fault(`${this.name}, ${key}: another state than a replica had before`)
  }
}

/** A client of a member: what it is told of a counter never goes down. */
const client = (member: Member, group: string) => {
  let last = 0
  const layer = XdsClient.layer({
    bootstrap: Bootstrap.make({
      servers: [`127.0.0.1:${member.port}`],
      node: { id: `client-of-${member.name}`, cluster: group }
    })
  }).pipe(Layer.provide(ConnectClient.layer()))
  const watch = Effect.flatMap(XdsClient.XdsClient, ({ watch: events }) =>
    Stream.runForEach(events(ClusterSchema, counter), (event) =>
      Effect.sync(() => {
        if (event._tag !== "Updated") return
        const count = Number(event.value.altStatName.slice(1))
        if (count < last) fault(`the client of ${member.name}, ${group}: ${count} after ${last}`)
        last = count
        totals.byClients++
      })
    )
  )
  return Effect.forkScoped(Effect.provide(watch, layer))
}

/** Reads the database anew: what was acknowledged is there, and whole. */
const check = (url: string): Effect.Effect<number> =>
  Effect.gen(function* () {
    // Before it is read: what is acknowledged meanwhile may be missing.
    const expected = new Map(Array.from(acknowledged, ([group, { names }]) => [group, Array.from(names)]))
    const highest = new Map(Array.from(acknowledged, ([group, { counts }]) => [group, Math.max(0, ...counts)]))
    const database = yield* StoreUrl.open(Redacted.make(url))
    const store = yield* SqlStore.make(database, { openTimeout: "1 minute" })
    let resources = 0
    for (const group of groups) {
      const { own } = Option.getOrThrow(yield* store.get(group))
      const names = new Set(ResourceGroup.all(own).map(({ name }) => name))
      resources += names.size
      for (const name of expected.get(group) ?? []) {
        if (!names.has(name)) fault(`${group}: ${name} was acknowledged, and is lost`)
      }
      for (const name of names) {
        const other = name.endsWith("-x") ? name.replace(/x$/, "y") : name.replace(/y$/, "x")
        if (name !== counter && !names.has(other)) fault(`${group}: ${name} is there without ${other}`)
      }
      if (countOf(own) < (highest.get(group) ?? 0)) fault(`${group}: the counter went back to ${countOf(own)}`)
      // Each change has raised it by one and put in two, also one whose acknowledgement was lost.
      if (names.size !== 1 + 2 * countOf(own)) fault(`${group}: ${names.size} resources after ${countOf(own)} changes`)
    }
    return resources
  }).pipe(Effect.scoped, Effect.orDie)

const until = (isSo: () => boolean, seconds: number) =>
  Effect.promise(async () => {
    for (let turns = 0; !isSo() && turns < seconds * 100; turns++)
      await new Promise((resolve) => setTimeout(resolve, 10))
    return isSo()
  })

interface Place {
  readonly url: string
  readonly server: PostgresServer.PostgresServer | undefined
}

const place: Effect.Effect<Place, { readonly message: string }, Scope.Scope> = Effect.gen(function* () {
  if (values.store === "sqlite") {
    const folder = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "effect-xds-soak-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    return { url: `sqlite:${join(folder, "store.db")}`, server: undefined }
  }
  const peer = PeerProgram.find("postgres")
  if (peer._tag === "Missing") return yield* Effect.fail(new Error(`PostgreSQL is missing: ${peer.reason}`))
  const server = yield* PostgresServer.make(peer.path)
  return { url: server.url(), server }
})

const main = Effect.gen(function* () {
  const began = Date.now()
  const { server, url } = yield* place
  const database = server === undefined ? StoreUrl.open(Redacted.make(url)) : Postgres.make({ url: Redacted.make(url) })
  yield* Effect.scoped(
    Effect.gen(function* () {
      const store = yield* SqlStore.make(yield* database)
      for (const group of groups) yield* store.set(group, {})
    })
  )
  const members = [new Member("one", url, true), new Member("two", url, true), new Member("replica", url, false)]
  for (const member of members) yield* Effect.promise(() => member.start())
  yield* Effect.addFinalizer(() => Effect.promise(() => Promise.all(members.map((member) => member.kill()))))
  for (const [at, member] of members.entries()) yield* client(member, groups[at] ?? "")
  const killed: Record<string, number> = {}
  for (let done = 0; done < kills && wrong.length === 0; done++) {
    for (const member of members) member.progress = 0
    const moved = yield* until(() => members.every(({ progress }) => progress > 5), 60)
    if (!moved) fault(`after ${done} kills nothing moves: ${members.map(({ progress }) => progress).join(", ")}`)
    yield* Effect.sleep(next() * 100)
    const dice = Math.floor(next() * (server === undefined ? 3 : 4))
    const member = members[dice]
    const what = member === undefined ? "database" : member.writes ? "writer" : "replica"
    killed[what] = (killed[what] ?? 0) + 1
    if (member !== undefined) {
      yield* Effect.promise(async () => {
        await member.kill()
        await member.start()
      })
    } else if (server !== undefined) {
      yield* server.kill
      yield* Effect.sleep(next() * 300)
      yield* Effect.retry(server.start, { times: 20, while: () => Effect.as(Effect.sleep(500), true) })
    }
    if ((done + 1) % 20 === 0) {
      const resources = yield* check(url)
      const seconds = ((Date.now() - began) / 1_000).toFixed(0)
      process.stdout.write(
        `${done + 1} kills, ${totals.acks} changes acknowledged, ${totals.seen} seen by replicas, ${totals.byClients} by clients, ` +
          `${resources} resources, ${seconds} s\n`
      )
    }
  }
  yield* check(url)
  const of = Object.entries(killed).map(([what, count]) => `${what} ${count}`)
  const failures = Object.entries(refused).map(([tag, count]) => `${tag} ${count}`)
  process.stdout.write(`killed: ${of.join(", ")}; writes that failed: ${failures.join(", ") || "none"}\n`)
})

const outcome = await Effect.runPromiseExit(
  Effect.scoped(main).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, Logger.none)))
)
if (outcome._tag === "Failure") fault(String(outcome.cause))
process.stdout.write(wrong.length === 0 ? "nothing is wrong\n" : `WRONG: ${wrong.join("\nWRONG: ")}\n`)
process.exit(wrong.length === 0 ? 0 : 1)
