/**
 * `node benchmarks/dist/herd.js [--rate 2000] [--seconds 5] [--clusters 10000] [--held 0.5]`: clients that come all at once, as
 * after a restart: so many new connections a second, a part of which says that it holds all resources. What a client that was
 * there hears of a change meanwhile, how long the event loop is held, what memory it takes, and whether anybody is refused.
 */
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import * as Benches from "./Bench.js"
import { CaseError } from "./Child.js"
import * as Fixtures from "./Fixtures.js"
import * as GoPrograms from "./GoPrograms.js"
import { Load } from "./Load.js"
import { load as systemLoad, machine } from "./Machine.js"

const { values } = parseArgs({
  options: {
    rate: { type: "string", default: "2000" },
    seconds: { type: "string", default: "5" },
    clusters: { type: "string", default: "10000" },
    held: { type: "string", default: "0.5" },
    profile: { type: "string" }
  }
})
const rate = Number(values.rate)
const clusters = Number(values.clusters)
const streams = Math.round(rate * Number(values.seconds))
const holding = Math.round(streams * Number(values.held))
const changesPerSecond = 10

const say = (text: string): void => console.log(text)
const program = await GoPrograms.load(say)
if ("missing" in program) throw new Error(program.missing)

const bench = Benches.ofOurs(program.path, say)
const setup = { kind: "clusters", count: clusters, streams: 1, connections: 1, incremental: true } as const

const at = (sorted: ReadonlyArray<number>, part: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0
const milliseconds = (value: number): string => `${value.toFixed(1)} ms`
const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`

/** Whether a figure is within its target, in a word. */
const judged = (isMet: boolean, target: string): string => `target ${target}: ${isMet ? "met" : "MISSED"}`

const { cores, cpu } = machine()
say(`Node ${process.version}, ${cores} cores of ${cpu}, load ${systemLoad().toFixed(1)}`)
say(
  `${clusters} clusters; ${rate} new connections a second for ${values.seconds} s, ${holding} of ${streams} hold all; ` +
    `${changesPerSecond} changes a second`
)

await bench.with("ours", setup, async (session) => {
  const { load: watcher, server } = session
  const plain = new Load(program.path, bench.progress)
  const returning = new Load(program.path, bench.progress)
  try {
    const clients = bench.clients(setup, server)
    // One that was there, and one whose versions the returning ones quote.
    await bench.connect(session, setup, { track: true })
    await returning.mark({ streams: 1, resources: clusters })
    await returning.open({ ...clients, record: true })
    await returning.wait({ streams: 1, resources: clusters }, 60)
    await returning.close()

    const changes = Math.ceil((Number(values.seconds) + 120) * changesPerSecond)
    const first = Fixtures.sequenceOf(bench.changed("clusters", 0))
    const began = await server.quietCpuMilliseconds()
    const resident: Array<number> = []
    const sent: Array<number> = []
    const sample = setInterval(() => resident.push(server.residentBytes()), 100)
    const start = performance.now()
    let isOver = false
    if (values.profile !== undefined) await server.startProfile()
    else await server.startDelay()

    /** Changes come until the herd is served. */
    const changing = async (): Promise<void> => {
      for (let change = 0; change < changes && !isOver; change++) {
        await server.prepare([bench.changed("clusters", (change * 7919) % clusters)])
        const due = start + (change * 1_000) / changesPerSecond
        if (due > performance.now()) await setTimeout(due - performance.now())
        sent.push((performance.timeOrigin + performance.now()) * 1e6)
        await server.apply()
      }
    }
    /** A herd of clients, until each has its first answer: those that hold all are sent what has changed since, or nothing. */
    const herd = async (load: Load, count: number, initial: boolean): Promise<void> => {
      if (count === 0) return
      const expected = { streams: count, resources: initial ? 0 : clusters }
      await load.mark(expected)
      await load.open({
        ...clients,
        connections: count,
        streams: count,
        initial,
        perSecond: (rate * count) / streams
      })
      await load.wait(expected, 120, server.guardMemory)
    }
    const changed = changing()
    await Promise.all([herd(plain, streams - holding, false), herd(returning, holding, true)])
    const served = (performance.now() - start) / 1_000
    isOver = true
    await changed
    clearInterval(sample)
    if (values.profile !== undefined) {
      await server.stopProfile(values.profile)
      return say(`profile: ${values.profile}`)
    }
    const delay = await server.stopDelay()
    const used = (await server.quietCpuMilliseconds()) - began
    const end = server.residentBytes()
    const peak = Math.max(...resident)

    const arrivals = await watcher.latencies()
    const latencies: Array<number> = []
    for (const [index, time] of sent.entries()) {
      const last = arrivals[first + 1 + index]?.last
      if (last === undefined || last === 0) throw new CaseError(`change ${index} did not arrive`)
      latencies.push((last - time) / 1e6)
    }
    latencies.sort((one, other) => one - other)
    const p99 = at(latencies, 0.99)
    say(
      `served after ${served.toFixed(1)} s, ${Math.round(used)} ms of CPU, ${(used / streams).toFixed(2)} ms a client`
    )
    say(
      `a change at a client that was there: median ${milliseconds(at(latencies, 0.5))}, p99 ${milliseconds(p99)}, ` +
        `longest ${milliseconds(latencies.at(-1) ?? 0)} of ${latencies.length}; ${judged(p99 <= 50, "p99 ≤ 50 ms")}`
    )
    say(
      `event loop held: p99 ${milliseconds(delay.p99)}, longest ${milliseconds(delay.max)}; ` +
        judged(delay.max <= 20, "≤ 20 ms")
    )
    say(
      `memory: at most ${megabytes(peak)}, ${megabytes(end)} at the end; ` +
        judged(peak <= 1.5 * end, "at most 1.5 × the end")
    )
    say(
      `refused: ${(await plain.counts()).streams + (await returning.counts()).streams === streams ? "nobody" : "some"}`
    )
  } finally {
    await Promise.all([plain.stop(), returning.stop()])
  }
})
