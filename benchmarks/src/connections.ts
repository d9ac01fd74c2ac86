/**
 * `npm run soak:connections` (`node benchmarks/dist/connections.js [--connections 10000] [--minutes 30] [--clusters 10000]
 * [--names 100] [--changes 50] [--coming 100] [--burst 0]`): one process with many connections for a long time. Each has a stream
 * that asks for `--names` clusters (0: for all, by the wildcard), and 20 of them ask for all and are watched. Clients come and go and
 * clusters change all the while. With `--burst`, in the middle of the time so many changes are made at once: all streams fall behind,
 * and must catch up. Each minute: the CPU of the server, beside that of a fixed piece of work (the yardstick), which says how quick the
 * machine was; its memory, and how far the slowest watched stream was behind; in the end the open files, when all clients have left.
 * Ends with 1 if a target is missed, and at once if a stream is gone.
 */
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Benches from "./Bench.js"
import { CaseError } from "./Child.js"
import * as Fixtures from "./Fixtures.js"
import * as GoPrograms from "./GoPrograms.js"
import { type Arrivals, Load } from "./Load.js"
import { load as systemLoad, machine } from "./Machine.js"
import { Yardstick } from "./Yardstick.js"

const { values } = parseArgs({
  options: {
    connections: { type: "string", default: "10000" },
    minutes: { type: "string", default: "30" },
    clusters: { type: "string", default: "10000" },
    names: { type: "string", default: "100" },
    changes: { type: "string", default: "50" },
    coming: { type: "string", default: "100" },
    burst: { type: "string", default: "0" }
  }
})
const connections = Number(values.connections)
const minutes = Number(values.minutes)
const clusters = Number(values.clusters)
const changesPerSecond = Number(values.changes)
/** Clients that come in a second; as many go. They are two seconds' worth at the most, and part of the connections. */
const coming = Number(values.coming)
/** Changes that are made at once, in the middle of the time. */
const burst = Number(values.burst)
const names = Math.min(clusters, Number(values.names))
/** With the wildcard all streams are watched. */
const watched = names === 0 ? connections - 2 * coming : 20
const staying = connections - 2 * coming - (names === 0 ? 0 : watched)
if (staying < 1) throw new Error("--connections has to be more than twice --coming")

const say = (text: string): void => console.log(text)
const program = await GoPrograms.load(say)
if ("missing" in program) throw new Error(program.missing)

const bench = Benches.ofOurs(program.path, say)
const setup = {
  kind: "clusters",
  count: clusters,
  incremental: true,
  // Each name is asked for by as many streams as another one.
  named: names === 0 ? undefined : { perStream: names, stride: Math.max(1, Math.floor(clusters / staying)) }
} as const
/** What a stream gets at first. */
const resources = names === 0 ? clusters : names

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`
const mean = (numbers: ReadonlyArray<number>): number =>
  numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length)
const third = (numbers: ReadonlyArray<number>, which: 0 | 2): ReadonlyArray<number> => {
  const size = Math.max(1, Math.floor(numbers.length / 3))
  return which === 0 ? numbers.slice(0, size) : numbers.slice(-size)
}
const missed: Array<string> = []
const judged = (isMet: boolean, target: string): string => {
  if (!isMet) missed.push(target)
  return `target ${target}: ${isMet ? "met" : "MISSED"}`
}

const { cores, cpu } = machine()
say(`Node ${process.version}, ${cores} cores of ${cpu}, load ${systemLoad().toFixed(1)}`)
say(
  `${clusters} clusters, ${connections} connections that ask for ${names === 0 ? "all" : names}, for ${minutes} minutes; ` +
    `${coming} clients come and go and ${changesPerSecond} clusters change a second`
)

await bench.with("ours", { ...setup, streams: staying, connections: staying }, async (session) => {
  const { load: crowd, server } = session
  const watcher = names === 0 ? crowd : new Load(program.path, bench.progress)
  const guests = [new Load(program.path, bench.progress), new Load(program.path, bench.progress)] as const
  try {
    const filesAtFirst = server.openFiles()
    await bench.connect(session, { ...setup, streams: staying, connections: staying }, { track: names === 0 })
    if (watcher !== crowd) {
      const all = { ...setup, named: undefined, streams: watched, connections: watched }
      await bench.connect({ ...session, load: watcher }, all, { track: true })
    }
    say(
      `${staying} streams have what they asked for; ${megabytes(server.residentBytes())}, ${server.openFiles()} open files`
    )

    const begin = performance.now()
    const end = begin + minutes * 60_000
    const isOver = (): boolean => performance.now() >= end
    const first = Fixtures.sequenceOf(bench.changed("clusters", 0))
    /** When each change was made, in nanoseconds since 1970. */
    const made: Array<number> = []
    let served = 0

    /** Where the burst is among the changes. */
    let bursting: { readonly from: number; readonly last: number } | undefined
    const wallNanoseconds = (): number => (performance.timeOrigin + performance.now()) * 1e6
    const prepareNext = (): Promise<void> => server.prepare([bench.changed("clusters", (prepared++ * 7919) % clusters)])
    let prepared = 0
    const changing = async (): Promise<void> => {
      let due = begin
      for (; !isOver(); due += 1_000 / changesPerSecond) {
        await prepareNext()
        if (due > performance.now()) await setTimeout(due - performance.now())
        if (burst > 0 && bursting === undefined && performance.now() > (begin + end) / 2) {
          for (let more = 1; more < burst; more++) await prepareNext()
          bursting = { from: made.length, last: made.length + burst - 1 }
          const now = wallNanoseconds()
          for (let each = 0; each < burst; each++) made.push(now)
          await server.applyAll()
          due = performance.now()
          continue
        }
        made.push(wallNanoseconds())
        await server.apply()
      }
    }
    /** Clients that come in the course of a second, and go. */
    const visiting = async (guest: Load, after: number): Promise<void> => {
      await setTimeout(after)
      while (!isOver()) {
        const next = performance.now() + 2_000
        const expected = { streams: coming, resources }
        await guest.mark(expected)
        await guest.open({
          ...bench.clients({ ...setup, connections: coming, streams: coming }, server),
          perSecond: coming
        })
        await guest.wait(expected, 60)
        served += coming
        await guest.close()
        if (next > performance.now()) await setTimeout(next - performance.now())
      }
    }
    const yardstick = new Yardstick()
    const measuring = async (): Promise<void> => {
      while (!isOver()) {
        yardstick.measure()
        await setTimeout(Math.min(2_000, Math.max(0, end - performance.now())))
      }
    }
    const cpus: Array<number> = []
    /** The same, as multiples of a fixed piece of work in each second. */
    const scaled: Array<number> = []
    const resident: Array<number> = []
    const behind: Array<number> = []
    /** When all watched streams had a change, in nanoseconds since 1970; `undefined`: not yet. */
    const arrivedAt = (arrivals: Arrivals, change: number): number | undefined => {
      const arrival = arrivals[first + 1 + change]
      return arrival?.streams === watched ? arrival.last : undefined
    }
    /** When the slowest stream had the last change that the burst made more than a second late; `undefined`: not yet. */
    const caughtUpAt = (arrivals: Arrivals, { from, last }: { readonly from: number; readonly last: number }) => {
      let caughtUp = arrivedAt(arrivals, last)
      const begun = made[from] ?? 0
      for (let change = last + 1; caughtUp !== undefined && change < made.length; change++) {
        const time = made[change] ?? 0
        if (time > begun + 60e9) break
        const arrived = arrivedAt(arrivals, change)
        if ((arrived ?? wallNanoseconds()) - time > 1e9) caughtUp = arrived
      }
      return caughtUp
    }
    /** How far the slowest stream was behind in the changes of the last minute, in milliseconds; not because of the burst. */
    const slowest = async (from: number): Promise<number> => {
      const arrivals = await watcher.latencies()
      if (watcher !== crowd) await crowd.counts()
      const now = wallNanoseconds()
      const since = bursting === undefined ? now : (made[bursting.from] ?? now)
      const until = bursting === undefined ? now : (caughtUpAt(arrivals, bursting) ?? now)
      let most = 0
      for (let index = from; index < made.length; index++) {
        const time = made[index] ?? now
        if (time >= since && time <= until) continue
        // A change that is under way is as late as it is old.
        most = Math.max(most, (arrivedAt(arrivals, index) ?? now) - time)
      }
      return most / 1e6
    }
    const watching = async (): Promise<void> => {
      let from = 0
      let used = server.cpuMilliseconds()
      let at = performance.now()
      while (!isOver()) {
        await setTimeout(Math.min(60_000, Math.max(0, end - performance.now())))
        const now = server.cpuMilliseconds()
        const load = (now - used) / (performance.now() - at)
        used = now
        at = performance.now()
        const late = await slowest(from)
        from = made.length
        const unit = yardstick.median()
        cpus.push(load)
        scaled.push((1_000 * load) / unit)
        resident.push(server.residentBytes())
        behind.push(late)
        say(
          `minute ${cpus.length}: ${(100 * load).toFixed(0)} % of a core (yardstick ${unit.toFixed(1)} ms), ${megabytes(server.residentBytes())}, slowest stream ` +
            `${late.toFixed(0)} ms behind, ${made.length} changes, ${served} clients came and went, ${server.openFiles()} open files`
        )
      }
    }
    await Promise.all([changing(), visiting(guests[0], 0), visiting(guests[1], 1_000), measuring(), watching()])

    const arrivals = await watcher.latencies()
    await Promise.all([crowd.close(), watcher.close()])
    await server.quietCpuMilliseconds()
    const files = server.openFiles()
    const [before, after] = [mean(third(cpus, 0)), mean(third(cpus, 2))]
    const [units, unitsThen] = [mean(third(scaled, 0)), mean(third(scaled, 2))]
    const [held, heldThen] = [mean(third(resident, 0)), mean(third(resident, 2))]
    const most = Math.max(...behind)
    say(
      `CPU ${(100 * before).toFixed(0)} % in the first third, ${(100 * after).toFixed(0)} % in the last, ` +
        `${(unitsThen / units).toFixed(2)} × by the yardstick; ` +
        judged(unitsThen <= 1.1 * units, "at most 1.1 × the first, by the yardstick")
    )
    say(
      `memory ${megabytes(held)} in the first third, ${megabytes(heldThen)} in the last; ` +
        judged(heldThen <= 1.1 * held, "at most 1.1 × the first")
    )
    say(`slowest stream ${most.toFixed(0)} ms behind; ${judged(most <= 1_000, "≤ 1 000 ms")}`)
    if (bursting !== undefined) {
      const at = caughtUpAt(arrivals, bursting)
      const took = at === undefined ? Number.POSITIVE_INFINITY : (at - (made[bursting.from] ?? at)) / 1e6
      const when =
        at === undefined
          ? "was not within a second until the end"
          : `stayed within a second after ${took.toFixed(0)} ms`
      say(`${burst} changes at once: the slowest stream ${when}; ${judged(took <= 30_000, "≤ 30 000 ms")}`)
    }
    say(`${files} open files, ${filesAtFirst} at the start; ${judged(files <= filesAtFirst, "as at the start")}`)
  } catch (error) {
    if (error instanceof CaseError) say(`the server's memory: ${megabytes(server.residentBytes())}`)
    throw error
  } finally {
    await Promise.all([...guests, ...(watcher === crowd ? [] : [watcher])].map((each) => each.stop()))
  }
})
process.exit(missed.length > 0 ? 1 : 0)
