/** A server of DNS on loopback with a port for each of those who ask, the same answers for all, and a count of questions. */
import * as Packets from "dns-packet"
import { createSocket, type Socket } from "node:dgram"
import type { Asker } from "./ProbeTargets.js"

/** Addresses of one family; none: NODATA. */
export type Answer = ReadonlyArray<string> | "NXDOMAIN" | "SERVFAIL" | "silence"

export interface Answers {
  readonly 4: Answer
  readonly 6: Answer
  /** The time to live of each record, in seconds. Default: ★ 0, with which nobody keeps them. */
  readonly ttls?: ReadonlyArray<number>
}

const codes = { NXDOMAIN: 3, SERVFAIL: 2 } as const

export class NameServer {
  private readonly names = new Map<string, Answers>()
  private readonly times = new Map<string, Array<number>>()

  private constructor(private readonly sockets: Readonly<Record<Asker, Socket>>) {}

  static async start(): Promise<NameServer> {
    const open = (): Promise<Socket> =>
      new Promise((resolve, reject) => {
        const socket = createSocket("udp4")
        socket.once("error", reject)
        socket.bind(0, "127.0.0.1", () => resolve(socket))
      })
    const server = new NameServer({ ours: await open(), envoy: await open() })
    server.listen("ours")
    server.listen("envoy")
    return server
  }

  port(asker: Asker): number {
    return this.sockets[asker].address().port
  }

  set(name: string, answers: Answers): void {
    this.names.set(name, answers)
  }

  /** How often a name was asked for, in one family. */
  asked(asker: Asker, name: string, family: 4 | 6): number {
    return this.askedAt(asker, name, family).length
  }

  /** When it was, in milliseconds. */
  askedAt(asker: Asker, name: string, family: 4 | 6): ReadonlyArray<number> {
    return this.times.get(`${asker} ${family} ${name}`) ?? []
  }

  close(): void {
    for (const socket of Object.values(this.sockets)) socket.close()
  }

  private listen(asker: Asker): void {
    const socket = this.sockets[asker]
    socket.on("message", (message, { address, port }) => {
      const { id, questions = [] } = Packets.decode(message)
      const [question] = questions
      if (question === undefined) return
      const name = question.name.toLowerCase()
      const family = question.type === "AAAA" ? 6 : 4
      const key = `${asker} ${family} ${name}`
      this.times.set(key, [...(this.times.get(key) ?? []), performance.now()])
      const answers = this.names.get(name)
      const answer = answers?.[family] ?? "NXDOMAIN"
      if (answer === "silence") return
      const code = typeof answer === "string" ? codes[answer] : 0
      const records = typeof answer === "string" ? [] : answer
      const packet = Packets.encode({
        type: "response",
        id,
        flags: 0x180 | code,
        questions,
        answers: records.map((data, index) => ({
          type: family === 6 ? "AAAA" : "A",
          name: question.name,
          ttl: answers?.ttls?.[index] ?? 0,
          data
        }))
      })
      socket.send(packet, port, address)
    })
  }
}
