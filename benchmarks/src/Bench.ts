/** What cases are made of: servers and clients that are started, driven and checked, and what that costs. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CaseError } from "./Child.js"
import { Client } from "./Client.js"
import type { Encoded, Kind } from "./Fixtures.js"
import * as Fixtures from "./Fixtures.js"
import type { Program } from "./GoPrograms.js"
import type { Counts, Expected, Open } from "./Load.js"
import { Load } from "./Load.js"
import type { ClientPeer, Peer, ServerPeer } from "./Peer.js"
import { peerTitles } from "./Peer.js"
import type { Measurement } from "./Result.js"
import { both } from "./Result.js"
import { group, Server } from "./Server.js"

export interface Settings {
  readonly quick: boolean
  readonly repeats: number
  /** Undefined: every one that the case has. */
  readonly peers: ReadonlyArray<Peer> | undefined
  /** The folder with the built benchmarks of another checkout, which is measured in turn with this one. */
  readonly before: string | undefined
  /** How often each that is measured in turn is. */
  readonly rounds: number
  readonly load: string
  readonly goControlPlane: Program
  /** Takes a profile of our server, or client, during the measured part and writes it here. */
  readonly profile: string | undefined
  readonly say: (text: string) => void
}

/** What a profile can be taken of. */
type Profiled = Server | Client

/** Clients and the server they are connected to. */
export interface Session {
  readonly server: Server
  readonly load: Load
  readonly kind: Kind
  readonly count: number
}

export interface Setup {
  readonly kind: Kind
  /** Resources. */
  readonly count: number
  readonly streams: number
  readonly connections: number
  readonly incremental: boolean
  /** Names per stream, and how far the first names of two streams are apart. Default: wildcard. */
  readonly named?: { readonly perStream: number; readonly stride: number } | undefined
  /** Ours speaks HTTP/2 and nothing else, as all others do. Default: HTTP/1.1, too. */
  readonly http2Only?: boolean | undefined
}

export class Bench {
  readonly #folder = mkdtempSync(join(tmpdir(), "effect-xds-bench-"))
  readonly #fixtures = new Map<string, string>()
  readonly versions: Record<string, string> = {}
  #sequence = 0
  #where = ""
  #lastSaid = 0
  #hasProfile = false

  constructor(readonly settings: Settings) {
    process.on("exit", () => rmSync(this.#folder, { recursive: true, force: true }))
  }

  readonly progress = (text: string): void => {
    this.#lastSaid = Date.now()
    this.settings.say(`    ${this.#where}: ${text}`)
  }

  /** A smaller number when it has to be quick. */
  size(full: number, quick: number): number {
    return this.settings.quick ? quick : full
  }

  /** Who is measured, in this order: ours, and that of `before`, as often as there are rounds, one after the other. */
  #turns<P extends Peer>(peers: ReadonlyArray<P>): ReadonlyArray<P | "before"> {
    const { before, rounds } = this.settings
    const wanted = peers.filter((peer) => this.settings.peers?.includes(peer) ?? true)
    const turns = wanted.flatMap((peer): Array<P | "before"> => [
      peer,
      ...(peer === "ours" && before !== undefined ? ["before" as const] : [])
    ])
    const isOfOurs = (peer: Peer): boolean => peer === "ours" || peer === "before"
    const again = Array.from({ length: rounds - 1 }, () => turns.filter(isOfOurs)).flat()
    return [...turns, ...again]
  }

  /**
   * Measures each peer in turn. What goes wrong with one is its result, not the end. What is measured more than once has
   * the values of all rounds.
   */
  async each<P extends Peer>(
    peers: ReadonlyArray<P>,
    what: string,
    measure: (peer: P | "before") => Promise<Measurement>
  ): Promise<Partial<Record<Peer, Measurement>>> {
    const measurements: Partial<Record<Peer, Measurement>> = {}
    for (const peer of this.#turns(peers)) {
      if (this.#hasProfile) continue
      const { goControlPlane } = this.settings
      if (peer.startsWith("gcp-") && "missing" in goControlPlane) {
        measurements[peer] = { _tag: "Missing", reason: goControlPlane.missing }
        continue
      }
      this.#where = `${what}, ${peerTitles[peer]}`
      const start = Date.now()
      this.#lastSaid = start
      const alive = setInterval(() => {
        if (Date.now() - this.#lastSaid < 8000) return
        this.progress(`under way for ${Math.round((Date.now() - start) / 1000)} s`)
      }, 1000)
      try {
        const measurement = await measure(peer)
        measurements[peer] = both(measurements[peer], measurement)
        const values = measurement._tag === "Measured" ? measurement.values.map(format).join(" ") : ""
        this.progress(`${values} (${((Date.now() - start) / 1000).toFixed(1)} s)`)
      } catch (error) {
        if (!(error instanceof CaseError)) throw error
        measurements[peer] = { _tag: "Failed", reason: error.message }
        this.progress(`FAILED: ${error.message}`)
      } finally {
        clearInterval(alive)
      }
    }
    return measurements
  }

  fixtures(kind: Kind, count: number): string {
    const key = `${kind}-${count}`
    let path = this.#fixtures.get(key)
    if (path === undefined) {
      if (count >= 10_000) this.settings.say(`    writing ${count} ${kind}`)
      path = Fixtures.write(this.#folder, kind, count)
      this.#fixtures.set(key, path)
    }
    return path
  }

  /** A resource as the next change makes it. */
  changed(kind: Kind, index: number): Encoded {
    return Fixtures.resource(kind, index, ++this.#sequence)
  }

  /** Runs with a server that has the fixtures, and a load generator. */
  async with<A>(peer: ServerPeer, setup: Setup, use: (session: Session) => Promise<A>): Promise<A> {
    const { goControlPlane, load: program } = this.settings
    const { count, incremental, kind } = setup
    const fixtures = this.fixtures(kind, count)
    const server = new Server(peer, {
      before: this.settings.before ?? "",
      goControlPlane: "path" in goControlPlane ? goControlPlane.path : "",
      http2Only: setup.http2Only ?? false
    })
    const load = new Load(program, this.progress)
    try {
      await server.load({ fixtures, kind, incremental, spread: setup.named !== undefined })
      Object.assign(this.versions, server.versions)
      return await use({ server, load, kind, count })
    } catch (error) {
      const said = server.said.trim().split("\n").at(-1) ?? ""
      throw error instanceof CaseError && said !== ""
        ? new CaseError(`${error.message}; the server's log: ${said}`)
        : error
    } finally {
      await Promise.all([server.stop(), load.stop()])
    }
  }

  /** A client in a process of its own. */
  client(peer: ClientPeer): Client {
    return new Client(peer, this.settings.before ?? "")
  }

  /** How the clients of a set-up connect. */
  clients(setup: Setup, server: Server): Open {
    const { connections, count, incremental, kind, named, streams } = setup
    return {
      address: server.address,
      connections,
      streams,
      incremental,
      typeUrl: Fixtures.typeUrls[kind],
      group,
      names: named === undefined ? undefined : { fixtures: this.fixtures(kind, count), ...named }
    }
  }

  /** Connects all clients and waits until each has everything and the server rests. What that cost in CPU milliseconds. */
  async connect({ load, server }: Session, setup: Setup, options: Partial<Open> = {}): Promise<number> {
    const start = await server.quietCpuMilliseconds()
    const expected = { streams: setup.streams, resources: setup.named?.perStream ?? setup.count }
    await load.mark(expected)
    await load.open({ ...this.clients(setup, server), ...options })
    await load.wait(expected, 900, server.guardMemory)
    const end = await server.quietCpuMilliseconds()
    check(await load.counts(), expected, "the first response")
    return end - start
  }

  /**
   * Applies what was prepared first and waits until those concerned have ACKed it and the server rests. The server's CPU
   * milliseconds by then.
   */
  async update({ load, server }: Session, expected: Expected, limitSeconds = 300): Promise<number> {
    await load.mark(expected)
    await server.apply()
    await load.wait(expected, limitSeconds, server.guardMemory)
    const cpu = await server.quietCpuMilliseconds()
    const counts = await load.counts()
    check(counts, expected, "the change")
    if (counts.maxResponses !== 1) throw new CaseError(`a stream got ${counts.maxResponses} responses to one change`)
    return cpu
  }

  /**
   * CPU milliseconds of the server per update, one figure for each repeat: single resources change, one after the other,
   * each when the server rests. A repeat has `updates` of them, fewer if that takes longer than `seconds`.
   */
  async updates(
    session: Session,
    expected: Expected,
    { updates = 10, seconds = 5 }: { readonly updates?: number; readonly seconds?: number } = {}
  ): Promise<Array<number>> {
    const { count, kind, load, server } = session
    let index = 0
    let prepared = 0
    const batch = async (number: number): Promise<number> => {
      for (; prepared < number; prepared++) {
        index = (index + 7919) % count
        await server.prepare([this.changed(kind, index)])
      }
      const start = await server.quietCpuMilliseconds()
      const end = Date.now() + seconds * 1000
      let last = start
      let done = 0
      do {
        last = await this.update(session, expected)
        prepared--
        done++
      } while (done < number && Date.now() < end)
      return (last - start) / done
    }
    // Warm: as many as there is time for, without rests.
    const warm = Date.now() + this.size(5000, 1000)
    for (let done = 0; done < 200 && Date.now() < warm; done++) {
      index = (index + 7919) % count
      await server.prepare([this.changed(kind, index)])
      await load.mark(expected)
      await server.apply()
      await load.wait(expected, 300, server.guardMemory)
    }
    return this.repeat(server, () => batch(this.size(updates, 4)))
  }

  /** Measures as often as wanted. */
  async repeat(process: Profiled, measure: () => Promise<number>): Promise<Array<number>> {
    const values: Array<number> = []
    await this.profiled(process, async () => {
      for (let repeat = 0; repeat < this.settings.repeats; repeat++) values.push(await measure())
    })
    return values
  }

  /** Runs the measured part of a case, and takes the profile of it if one is wanted and there is none yet. */
  async profiled(process: Profiled, measure: () => Promise<void>): Promise<void> {
    const { profile } = this.settings
    if (profile === undefined || this.#hasProfile || process.peer !== "ours") return measure()
    this.#hasProfile = true
    await process.startProfile()
    await measure()
    await process.stopProfile(profile)
  }
}

/** Fails a case in which a server did not do the work that was asked for. */
export const check = (counts: Counts, expected: Expected, what: string): void => {
  const { maxResources, minResources, streams } = counts
  if (streams !== expected.streams) {
    throw new CaseError(`${what}: ${streams} streams got a response, expected were ${expected.streams}`)
  }
  if (minResources !== expected.resources || maxResources !== expected.resources) {
    throw new CaseError(
      `${what}: streams got ${minResources} to ${maxResources} resources, expected were ${expected.resources} each`
    )
  }
}

/** A figure with three digits. */
export const format = (value: number): string => {
  if (value >= 100)
    return Math.round(value)
      .toString()
      .replace(/\B(?=(\d{3})+$)/g, " ")
  return value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

/** For a program of its own, which runs our server once. `load`: the program of the load generator. */
export const ofOurs = (load: string, say: (text: string) => void): Bench =>
  new Bench({
    quick: false,
    repeats: 1,
    peers: ["ours"],
    before: undefined,
    rounds: 1,
    load,
    goControlPlane: { missing: "it does not take part" },
    profile: undefined,
    say
  })
