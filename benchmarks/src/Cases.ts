/** The named cases. */
import { setTimeout } from "node:timers/promises"
import type { Bench, Session, Setup } from "./Bench.js"
import { check } from "./Bench.js"
import { CaseError } from "./Child.js"
import * as Fixtures from "./Fixtures.js"
import type { Load } from "./Load.js"
import type { Peer, ServerPeer } from "./Peer.js"
import type { Measurement, Row, Target } from "./Result.js"
import { both, figureOf, median } from "./Result.js"
import type { Resend } from "./servers/Commands.js"

export interface Case {
  readonly name: string
  /** In one line. */
  readonly title: string
  readonly run: (bench: Bench) => Promise<ReadonlyArray<Row>>
}

const measured = (values: ReadonlyArray<number>, note?: string): Measurement => ({ _tag: "Measured", values, note })

const ratio = (peer: Peer, atMost: number): Target => ({ _tag: "Ratio", peer, atMost })
const value = (atMost: number): Target => ({ _tag: "Value", atMost })
const sameAs = (row: string, atMost: number): Target => ({ _tag: "Row", row, atMost })

const caches = ["gcp-snapshot", "gcp-linear"] as const

const number = (value: number): string => String(value).replace(/\B(?=(\d{3})+$)/g, " ")

const connectionsOf = ({ connections, streams }: Setup): string =>
  connections === streams ? "a connection each" : `${number(connections)} connections`

/** One resource changes, and every stream is sent it. */
const fanOut = async (
  bench: Bench,
  setup: Setup,
  peers: ReadonlyArray<ServerPeer>,
  targets: ReadonlyArray<Target>,
  label = `${number(setup.count)} clusters, ${number(setup.streams)} streams, ${connectionsOf(setup)}`
): Promise<Row> => {
  const resources = setup.incremental ? 1 : setup.count
  const measurements = await bench.each(peers, label, (peer) =>
    bench.with(peer, setup, async (session) => {
      await bench.connect(session, setup)
      return measured(await bench.updates(session, { streams: setup.streams, resources }))
    })
  )
  return { label, figure: "server CPU per update", unit: "ms", measurements, targets, notes: [] }
}

const fanOutDelta: Case = {
  name: "fanout-delta",
  title: "1 cluster changes, incremental ADS wildcard streams, until every ACK is processed",
  run: async (bench) => {
    const streams = bench.size(1000, 200)
    const connections = 20
    const setup = { kind: "clusters", streams, connections, incremental: true } as const
    const large = bench.size(10_000, 2_000)
    const small = bench.size(1_000, 200)
    const huge = bench.size(100_000, 10_000)
    const few = bench.size(100, 50)
    const peers = ["ours", ...caches] as const
    const targets = [ratio("gcp-snapshot", 1 / 100), ratio("gcp-linear", 1 / 40)]
    const more = bench.settings.quick ? (["ours"] as const) : peers
    const first = await fanOut(bench, { ...setup, count: large }, peers, targets)
    const fewFirst = { ...setup, count: large, streams: few }
    const row = await fanOut(bench, fewFirst, ["ours"], [])
    return [
      first,
      await fanOut(bench, { ...setup, count: large, connections: streams }, more, targets),
      await fanOut(bench, { ...setup, count: small }, more, [sameAs(first.label, 1.1)]),
      row,
      await fanOut(bench, { ...setup, count: huge, streams: few }, more, [sameAs(row.label, 1.2)])
    ]
  }
}

const fanOutFloor: Case = {
  name: "fanout-floor",
  title: "the same with 10 clusters: nothing but sending and ACKs",
  run: async (bench) => {
    const streams = bench.size(1000, 200)
    const setup = { kind: "clusters", count: 10, streams, incremental: true } as const
    const peers = ["ours", ...caches, "bare"] as const
    const targets = [ratio("gcp-linear", 1)]
    const rows = [
      await fanOut(bench, { ...setup, connections: 20 }, peers, targets),
      await fanOut(bench, { ...setup, connections: streams }, peers, targets)
    ]
    // How long a change to very many streams keeps the event loop from everything else.
    const many = { ...setup, streams: bench.size(10_000, 2_000), connections: 20 }
    const label = `${number(many.count)} clusters, ${number(many.streams)} streams, 20 connections`
    const notes: Array<string> = []
    const measurements = await bench.each(["ours"], label, (peer) =>
      bench.with(peer, many, async (session) => {
        const { load, server } = session
        const expected = { streams: many.streams, resources: 1 }
        await bench.connect(session, many)
        await bench.updates(session, expected, { updates: 5 })
        const values: Array<number> = []
        for (let repeat = 0; repeat < bench.settings.repeats; repeat++) {
          const changes = 10
          for (let change = 0; change < changes; change++) await server.prepare([bench.changed("clusters", change)])
          await server.quietCpuMilliseconds()
          await server.startDelay()
          for (let change = 0; change < changes; change++) {
            await load.mark(expected)
            await server.apply()
            await load.wait(expected, 120)
          }
          const { max, p50, p99 } = await server.stopDelay()
          values.push(p99)
          notes.push(`median ${p50.toFixed(1)} ms, p99 ${p99.toFixed(1)} ms, longest ${max.toFixed(1)} ms`)
        }
        return measured(values)
      })
    )
    const figure = "p99 of the event-loop delay during fan-out"
    return [...rows, { label, figure, unit: "ms", measurements, targets: [value(10)], notes }]
  }
}

const fullState: Case = {
  name: "full-sotw",
  title: "1 cluster changes, state-of-the-world ADS streams are sent all",
  run: async (bench) => {
    const setup = {
      kind: "clusters",
      count: bench.size(1000, 200),
      streams: bench.size(500, 100),
      connections: 20,
      incremental: false
    } as const
    const targets = [ratio("gcp-snapshot", 1 / 30), ratio("gcp-linear", 1 / 3), ratio("bare", 1.3)]
    return [await fanOut(bench, setup, ["ours", ...caches, "bare"], targets)]
  }
}

const namedAssignments: Case = {
  name: "named-eds",
  title: "1 of many assignments changes, streams ask for 100 overlapping names, 10 streams are concerned",
  run: async (bench) => {
    const streams = bench.size(1000, 200)
    const count = streams * 10
    const setup = {
      kind: "assignments",
      count,
      streams,
      connections: 20,
      incremental: true,
      named: { perStream: 100, stride: 10 }
    } as const
    const label = `${number(count)} assignments, ${number(streams)} streams, 20 connections`
    const measurements = await bench.each(["ours", ...caches], label, (peer) =>
      bench.with(peer, setup, async (session) => {
        await bench.connect(session, setup)
        return measured(await bench.updates(session, { streams: 10, resources: 1 }, { updates: 40 }))
      })
    )
    const targets = [ratio("gcp-snapshot", 1 / 200), ratio("gcp-linear", 1)]
    return [{ label, figure: "server CPU per update", unit: "ms", measurements, targets, notes: [] }]
  }
}

const firstSync: Case = {
  name: "first-sync",
  title: "incremental wildcard streams connect and are sent everything",
  run: async (bench) => {
    const rows: Array<Row> = []
    for (const count of [bench.size(10_000, 1_000), bench.size(1_000, 200)]) {
      const streams = bench.size(1000, 200)
      const setup = { kind: "clusters", count, streams, connections: 20, incremental: true } as const
      const label = `${number(count)} clusters, ${number(streams)} streams, 20 connections`
      const again: Partial<Record<Peer, Measurement>> = {}
      const measurements = await bench.each(["ours", ...caches, "bare"], label, async (peer) => {
        const values: Array<number> = []
        const later: Array<number> = []
        const { repeats } = bench.settings
        for (let repeat = 0; repeat < repeats; repeat++) {
          // A fresh server each time: that is what clients meet after a restart.
          await bench.with(peer, setup, async (session) => {
            await bench.profiled(session.server, async () => {
              values.push(await bench.connect(session, setup))
            })
            // And what they meet when the network was away.
            await session.load.close()
            later.push(await bench.connect(session, setup))
          })
          bench.progress(`${repeat + 1} of ${repeats}`)
        }
        again[peer] = both(again[peer], measured(later))
        return measured(values)
      })
      const targets = [ratio("gcp-snapshot", 1 / 50), ratio("gcp-linear", 1 / 5)]
      const row = { figure: "server CPU in all", unit: "ms", notes: [] } as const
      rows.push(
        { ...row, label, measurements, targets },
        { ...row, label: `${label}, again to the same server`, measurements: again, targets: [] }
      )
    }
    return rows
  }
}

/** What a peer costs in a process of its own for each repeat. */
const inFresh = async (
  bench: Bench,
  setup: Setup,
  peer: ServerPeer,
  measure: (session: Session) => Promise<number>
): Promise<Measurement> => {
  const values: Array<number> = []
  const { repeats } = bench.settings
  for (let repeat = 0; repeat < repeats; repeat++) {
    await bench.with(peer, setup, (session) =>
      bench.profiled(session.server, async () => {
        values.push(await measure(session))
      })
    )
    bench.progress(`${repeat + 1} of ${repeats}`)
  }
  return measured(values)
}

const fresh: Case = {
  name: "fresh",
  title: "a herd of incremental streams at a process that has just started, which has compiled nothing yet",
  run: async (bench) => {
    const streams = bench.size(1000, 200)
    const peers = ["ours", "gcp-linear", "bare"] as const
    const rows: Array<Row> = []
    for (const { connections, http2Only } of [
      { connections: 20, http2Only: false },
      { connections: streams, http2Only: false },
      { connections: streams, http2Only: true }
    ]) {
      const setup = { kind: "clusters", count: 10, streams, connections, incremental: true, http2Only } as const
      const label = `10 clusters, ${number(streams)} new streams, ${connectionsOf(setup)}${http2Only ? ", HTTP/2 only" : ""}`
      const measurements = await bench.each(peers, label, (peer) =>
        inFresh(bench, setup, peer, (session) => bench.connect(session, setup))
      )
      const targets = [ratio("gcp-linear", 2)]
      rows.push({ label, figure: "server CPU in all", unit: "ms", measurements, targets, notes: [] })
    }
    const named = {
      kind: "assignments",
      count: streams * 10,
      streams,
      connections: 20,
      incremental: true,
      named: { perStream: 100, stride: 10 }
    } as const
    const label = `${number(named.count)} assignments, ${number(streams)} new streams ask for 100 of them each, 20 connections`
    const update: Partial<Record<Peer, Measurement>> = {}
    const measurements = await bench.each(["ours", "gcp-linear"], label, async (peer) => {
      const updates: Array<number> = []
      const first = await inFresh(bench, named, peer, async (session) => {
        const cpu = await bench.connect(session, named)
        const expected = { streams: 10, resources: 1 }
        const third = [1, 2, 3].map((index) => bench.changed("assignments", index * 100))
        for (const change of third) await session.server.prepare([change])
        await bench.update(session, expected)
        const before = await bench.update(session, expected)
        updates.push((await bench.update(session, expected)) - before)
        return cpu
      })
      update[peer] = both(update[peer], measured(updates))
      return first
    })
    const row = { unit: "ms", notes: [] } as const
    const alone = {
      kind: "clusters",
      count: bench.size(100_000, 20_000),
      streams: 1,
      connections: 1,
      incremental: true
    } as const
    const first = `${number(alone.count)} clusters, the first client`
    const mainThread: Partial<Record<Peer, Measurement>> = {}
    const whole = await bench.each(["ours", "gcp-linear"], first, async (peer) => {
      const main: Array<number> = []
      const all = await inFresh(bench, alone, peer, async (session) => {
        await session.server.quietCpuMilliseconds()
        const before = session.server.mainThreadMilliseconds()
        const cpu = await bench.connect(session, alone)
        main.push(session.server.mainThreadMilliseconds() - before)
        return cpu
      })
      // Go has no thread of its own for what clients wait for.
      if (peer !== "gcp-linear") mainThread[peer] = both(mainThread[peer], measured(main))
      return all
    })
    rows.push(
      { ...row, label: first, figure: "server CPU in all", measurements: whole, targets: [] },
      {
        ...row,
        label: `${first}, for which it waits`,
        figure: "CPU of the server's main thread",
        measurements: mainThread,
        targets: [value(200)]
      },
      { ...row, label, figure: "server CPU in all", measurements, targets: [ratio("gcp-linear", 1.2)] },
      {
        ...row,
        label: `${number(named.count)} assignments, the third change of one after that, 10 streams concerned`,
        figure: "server CPU per update",
        measurements: update,
        targets: [ratio("gcp-linear", 1)]
      }
    )
    return rows
  }
}

const idleMemory: Case = {
  name: "idle-memory",
  title: "resident memory per idle stream after first sync, garbage collected",
  run: async (bench) => {
    const row = async (
      setup: Setup,
      peers: ReadonlyArray<ServerPeer>,
      targets: ReadonlyArray<Target>
    ): Promise<Row> => {
      const label = `${number(setup.count)} clusters, ${number(setup.streams)} streams, ${connectionsOf(setup)}`
      const notes: Array<string> = []
      const measurements = await bench.each(peers, label, async (peer) => {
        const values: Array<number> = []
        for (let repeat = 0; repeat < bench.settings.repeats; repeat++) {
          await bench.with(peer, setup, async (session) => {
            const { server } = session
            const settle = async (): Promise<number> => {
              for (let round = 0; round < bench.size(3, 1); round++) {
                await server.collectGarbage()
                await setTimeout(500)
              }
              return server.residentBytes()
            }
            // What the server makes of the resources by itself is not the streams'.
            await server.quietCpuMilliseconds(60)
            const before = await settle()
            await bench.connect(session, setup)
            const asIs = server.residentBytes()
            const after = await settle()
            values.push((after - before) / setup.streams / 1024)
            const megabytes = [before, asIs, after].map((bytes) => Math.round(bytes / 1e6))
            notes.push(
              `${peer}: ${String(megabytes[0])} MB before, ${String(megabytes[1])} MB after first sync, ` +
                `${String(megabytes[2])} MB after collection`
            )
          })
        }
        return measured(values)
      })
      return { label, figure: "memory per idle stream", unit: "KB", measurements, targets, notes }
    }
    const streams = bench.size(1000, 200)
    const setup = { kind: "clusters", count: bench.size(10_000, 1_000), streams, incremental: true } as const
    const peers = ["ours", ...caches] as const
    return [
      await row({ ...setup, connections: 20 }, peers, [value(30)]),
      await row({ ...setup, connections: streams }, bench.settings.quick ? ["ours"] : peers, [value(50)]),
      await row({ ...setup, count: bench.size(1_000, 200), connections: 20 }, ["ours"], [value(30)]),
      await row({ ...setup, count: bench.size(100_000, 5_000), connections: 20 }, ["ours"], [value(30)])
    ]
  }
}

const reconnect: Case = {
  name: "reconnect",
  title: "incremental clients that hold everything come back with initial_resource_versions",
  run: async (bench) => {
    const streams = bench.size(1000, 200)
    const count = bench.size(10_000, 1_000)
    const setup = { kind: "clusters", count, streams, connections: 20, incremental: true } as const
    const label = `${number(count)} clusters, ${number(streams)} streams, 20 connections`
    const measurements = await bench.each(["ours", ...caches, "transport", "bare"], label, async (peer) => {
      const values: Array<number> = []
      for (let repeat = 0; repeat < bench.settings.repeats; repeat++) {
        await bench.with(peer, setup, async (session) => {
          const { load, server } = session
          await bench.connect(session, { ...setup, streams: 1 }, { record: true })
          await load.close()
          await bench.profiled(server, async () => {
            const start = await server.quietCpuMilliseconds()
            // Servers may answer with an empty response or not at all.
            await load.mark({ streams, resources: 0 })
            await load.open({ ...bench.clients(setup, server), initial: true })
            values.push((await server.quietCpuMilliseconds(600)) - start)
          })
          const { resources } = await load.counts()
          if (resources > 0) throw new CaseError(`${resources} resources were sent to clients that have them`)
          // They are there and served.
          await server.prepare([bench.changed("clusters", 1)])
          await bench.update(session, { streams, resources: 1 })
        })
        bench.progress(`${repeat + 1} of ${bench.settings.repeats}`)
      }
      return measured(values)
    })
    const targets = [ratio("gcp-linear", 1 / 10)]
    return [{ label, figure: "server CPU in all, no resource sent", unit: "ms", measurements, targets, notes: [] }]
  }
}

const message: Case = {
  name: "message",
  title: "one small response to one stream and its ACK: every stream gets one of its own, round after round",
  run: async (bench) => {
    const streams = bench.size(500, 200)
    const setup = {
      kind: "assignments",
      count: streams,
      streams,
      connections: 20,
      incremental: true,
      named: { perStream: 1, stride: 1 }
    } as const
    const label = `${number(streams)} streams, 20 connections`
    const run = (peer: ServerPeer): Promise<Measurement> =>
      bench.with(peer, setup, async (session) => {
        const { load, server } = session
        const expected = { streams, resources: 1 }
        const rounds = bench.size(20, 10)
        await bench.connect(session, setup)
        const batch = async (): Promise<number> => {
          for (let round = 0; round < rounds; round++) {
            const changes: Array<Fixtures.Encoded> = []
            for (let index = 0; index < streams; index++) changes.push(bench.changed("assignments", index))
            await server.prepare(changes)
          }
          const start = await server.quietCpuMilliseconds()
          for (let round = 0; round < rounds; round++) {
            await load.mark(expected)
            await server.apply()
            await load.wait(expected, 60)
          }
          const end = await server.quietCpuMilliseconds()
          check(await load.counts(), expected, "the last round")
          return ((end - start) * 1000) / (rounds * streams)
        }
        for (let warmUp = 0; warmUp < bench.size(5, 2); warmUp++) await batch()
        return measured(await bench.repeat(server, batch))
      })
    const figure = "server CPU per response and ACK"
    const loops = await bench.each(["transport", "bare", "grpc-js"], label, run)
    const whole = await bench.each(["ours"], `${label}, whole server`, run)
    const { bare, "grpc-js": grpc } = loops
    const targets = [ratio("bare", 1.3), ratio("grpc-js", 1)]
    const peers = { ...(bare && { bare }), ...(grpc && { "grpc-js": grpc }) }
    return [
      { label: `${label}, transport alone`, figure, unit: "µs", measurements: loops, targets, notes: [] },
      // Its work includes encoding the changed resources; the loops are given bytes.
      {
        label: `${label}, whole server`,
        figure,
        unit: "µs",
        measurements: { ...whole, ...peers },
        targets: [ratio("bare", 2)],
        notes: []
      }
    ]
  }
}

/** Waits until every client has a state. */
const endOn = async (load: Load, wanted: number, limitSeconds: number): Promise<void> => {
  const end = Date.now() + limitSeconds * 1000
  for (;;) {
    const behind = (await load.digests()).filter(({ digest }) => digest !== wanted)
    if (behind.length === 0) return
    if (Date.now() > end) {
      const sum = (of: "streams" | "slow"): number => behind.reduce((all, entry) => all + entry[of], 0)
      throw new CaseError(
        `${sum("streams")} clients (${sum("slow")} slow) did not end on the last state within ${limitSeconds} s`
      )
    }
    await setTimeout(200)
  }
}

const churn: Case = {
  name: "churn",
  title: "50 changes a second, one tenth of the clients slow: who ends where, and when",
  run: async (bench) => {
    const streams = bench.size(500, 100)
    const slow = streams / 10
    const seconds = bench.size(60, 4)
    const perSecond = 50
    const touched = bench.size(100, 30)
    const setup = {
      kind: "clusters",
      count: bench.size(1000, 200),
      streams,
      connections: 20 + slow,
      incremental: true
    } as const
    const label = `${number(setup.count)} clusters, ${number(streams)} streams, ${slow} of them slow, ${seconds} s`
    const notes: Array<string> = []
    const memory: Partial<Record<Peer, Measurement>> = {}
    const cpu: Partial<Record<Peer, Measurement>> = {}
    const latency = await bench.each(["ours", ...caches], label, (peer) =>
      bench.with(peer, setup, async (session) => {
        const { load, server } = session
        await bench.connect(session, setup, {
          connections: 20,
          track: true,
          // A third of what the changes are.
          slow: { streams: slow, bytesPerSecond: 10_000 }
        })
        await load.throttle()
        const state = new Map<string, Fixtures.Encoded>()
        for (let index = 0; index < setup.count; index++) {
          const resource = Fixtures.resource("clusters", index, 0)
          state.set(resource.name, resource)
        }
        const total = seconds * perSecond
        let first = 0
        for (let change = 0; change < total; change++) {
          const resource = bench.changed("clusters", change % touched)
          if (change === 0) first = Fixtures.sequenceOf(resource)
          state.set(resource.name, resource)
          await server.prepare([resource])
        }
        const wanted = Fixtures.digest(state.values())
        const resident: Array<number> = []
        const sent: Array<number> = []
        await load.mark({ streams, resources: 0 })
        const start = await server.quietCpuMilliseconds()
        await bench.profiled(server, async () => {
          const sample = setInterval(() => resident.push(server.residentBytes()), 500)
          const saying = setInterval(() => {
            bench.progress(
              `${sent.length} of ${total} changes, ${Math.round(server.residentBytes() / 1e6)} MB resident`
            )
          }, 5000)
          try {
            const applied: Array<Promise<void>> = []
            const begin = performance.now()
            for (let change = 0; change < total; change++) {
              const due = begin + (change * 1000) / perSecond
              if (due > performance.now()) await setTimeout(due - performance.now())
              sent.push((performance.timeOrigin + performance.now()) * 1e6)
              const apply = server.apply()
              // Looked at below, when all are on their way.
              apply.catch(() => undefined)
              applied.push(apply)
            }
            const end = await Promise.race([Promise.all(applied), setTimeout(120_000, "late")])
            if (end === "late") throw new CaseError("it did not apply all changes within 120 s after the last was due")
            await endOn(load, wanted, 120)
          } finally {
            clearInterval(sample)
            clearInterval(saying)
          }
        })
        const used = (await server.quietCpuMilliseconds()) - start
        const { maxResponses, minResponses } = await load.counts()
        // Otherwise there was no slow client.
        if (minResponses > total / 2)
          throw new CaseError(`slow clients took ${minResponses} of ${total} changes one by one`)
        const arrivals = await load.latencies()
        const delays: Array<number> = []
        for (let change = 0; change < total; change++) {
          const arrival = arrivals[first + change]
          if (arrival?.streams !== streams - slow)
            throw new CaseError(`change ${change} did not reach every fast client`)
          delays.push((arrival.last - (sent[change] ?? 0)) / 1e6)
        }
        delays.sort((left, right) => left - right)
        const at = (part: number): number => delays[Math.min(delays.length - 1, Math.floor(delays.length * part))] ?? 0
        const third = Math.floor(resident.length / 3)
        const megabytes = (values: ReadonlyArray<number>): number => median(values) / 1e6
        const growth = megabytes(resident.slice(-third)) - megabytes(resident.slice(0, third))
        memory[peer] = both(memory[peer], measured([growth]))
        cpu[peer] = both(cpu[peer], measured([used / total]))
        notes.push(
          `${peer}: every client ended on the last state, fast ones after up to ${maxResponses} responses, slow ones ` +
            `after as few as ${minResponses}; to the last fast client: median ${at(0.5).toFixed(1)} ms, ` +
            `p99 ${at(0.99).toFixed(1)} ms, longest ${at(1).toFixed(1)} ms; resident memory, median of each third: ` +
            [resident.slice(0, third), resident.slice(third, 2 * third), resident.slice(-third)]
              .map((values) => `${megabytes(values).toFixed(0)} MB`)
              .join(", ")
        )
        return measured([at(0.99)])
      })
    )
    return [
      {
        label,
        figure: "p99 from change to last fast client",
        unit: "ms",
        measurements: latency,
        targets: [value(50)],
        notes
      },
      {
        label: `${label}: CPU`,
        figure: "server CPU per change",
        unit: "ms",
        measurements: cpu,
        targets: [],
        notes: []
      },
      {
        label: `${label}: memory`,
        figure: "resident memory, last third less first",
        unit: "MB",
        measurements: memory,
        isDifference: true,
        targets: [value(20)],
        notes: []
      }
    ]
  }
}

const updateCost: Case = {
  name: "update-cost",
  title: "one resource among many is updated, no client connected",
  run: async (bench) => {
    const rows: Array<Row> = []
    const add = async (
      count: number,
      label: string,
      encoded: boolean,
      peers: ReadonlyArray<ServerPeer>,
      targets: ReadonlyArray<Target>
    ): Promise<void> => {
      const setup = { kind: "clusters", count, streams: 0, connections: 0, incremental: true } as const
      const measurements = await bench.each(peers, label, (peer) =>
        bench.with(peer, setup, async ({ server }) => {
          // The snapshot cache takes a whole snapshot for each.
          const updates = peer === "gcp-snapshot" ? 10 : bench.size(2000, 500)
          const batch = async (): Promise<number> => {
            for (let update = 0; update < updates; update++) {
              await server.prepare([bench.changed("clusters", (update * 7919) % count)], encoded)
            }
            await server.quietCpuMilliseconds()
            return (await server.applyAll()) / updates
          }
          for (let warmUp = 0; warmUp < (peer === "gcp-snapshot" ? 3 : bench.size(10, 2)); warmUp++) await batch()
          return measured(await bench.repeat(server, batch))
        })
      )
      rows.push({ label, figure: "server CPU per update", unit: "µs", measurements, targets, notes: [] })
    }
    const few = `${number(1_000)} clusters`
    for (const count of [1_000, 10_000, bench.size(100_000, 20_000)]) {
      const targets = count === 1_000 ? [] : [sameAs(few, 1.2)]
      await add(count, `${number(count)} clusters`, false, ["ours", ...caches], [...targets, value(25)])
    }
    await add(10_000, `${number(10_000)} clusters, given as bytes`, true, ["ours"], [value(10)])
    return rows
  }
}

const clientUpdate: Case = {
  name: "client-update",
  title:
    "a client that holds all clusters is sent a response in which 1 changed: from its bytes to the watcher and the ACK",
  run: async (bench) => {
    const count = bench.size(10_000, 2_000)
    const fixtures = bench.fixtures("clusters", count)
    const row = async (what: string, incremental: boolean, resend: Resend): Promise<Row> => {
      const label = `${number(count)} clusters, ${what}`
      const isSmall = resend === "nothing"
      const updates = isSmall ? bench.size(2000, 500) : bench.size(10, 4)
      const measurements = await bench.each(["ours", "protobuf-es", "grpc-js-xds"], label, async (peer) => {
        const client = bench.client(peer)
        try {
          await client.load({ fixtures, kind: "clusters", incremental, resend })
          // Numbered anew for each peer, so that all are sent the same bytes.
          let sequence = 0
          const batch = async (): Promise<number> => {
            for (let update = 0; update < updates; update++) {
              sequence++
              await client.prepare(Fixtures.resource("clusters", (sequence * 7919) % count, sequence))
            }
            return (await client.applyAll()) / updates / (isSmall ? 1 : 1000)
          }
          for (let warmUp = 0; warmUp < bench.size(5, 2); warmUp++) await batch()
          return measured(await bench.repeat(client, batch))
        } finally {
          await client.stop()
        }
      })
      // Of those that decode everything, the one that is cheaper here. Who is sent one resource has no choice but to
      // decode it.
      const figure = (peer: Peer): number => figureOf(measurements[peer]) ?? Number.POSITIVE_INFINITY
      const cheaper = figure("protobuf-es") <= figure("grpc-js-xds") ? "protobuf-es" : "grpc-js-xds"
      const targets = isSmall ? [] : [ratio(cheaper, 1 / 10)]
      const unit = isSmall ? "µs" : "ms"
      return { label, figure: "client CPU per response", unit, measurements, targets, notes: [] }
    }
    return [
      await row("state of the world, in the same order", false, "all"),
      await row("state of the world, in another order each time", false, "shuffled"),
      await row("incremental, only what changed", true, "nothing"),
      await row("incremental, all of them again", true, "all")
    ]
  }
}

export const all: ReadonlyArray<Case> = [
  fanOutDelta,
  fanOutFloor,
  fullState,
  namedAssignments,
  firstSync,
  fresh,
  idleMemory,
  reconnect,
  message,
  churn,
  updateCost,
  clientUpdate
]
