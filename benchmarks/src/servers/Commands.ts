/** What the harness says to a server, or to a client, in a process of its own: JSON lines on standard input, answers on standard output. */
import { sizeDelimitedDecodeStream } from "@bufbuild/protobuf/wire"
import { ResourceSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Schema from "effect/Schema"
import { createReadStream } from "node:fs"
import * as Inspector from "node:inspector"
import type { IntervalHistogram } from "node:perf_hooks"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { createInterface } from "node:readline"
import { writeFileSync } from "node:fs"
import { collectGarbage } from "../Garbage.js"

export interface Change {
  readonly name: string
  readonly value: Uint8Array
}

export interface Load {
  /** The file with the resources. */
  readonly fixtures: string
  readonly typeUrl: string
  readonly incremental: boolean
  /** Servers that only write: each stream is sent one resource of its own, not all. */
  readonly spread: boolean
  /** Clients: what is in a response beside the resource that changed. */
  readonly resend?: Resend | undefined
}

/** Nothing; all resources, always in the same order; all, in another order each time. */
const Resend = Schema.Literal("nothing", "all", "shuffled")
export type Resend = typeof Resend.Type

/** What a server, or a client, does at a command; `Prepared` is a change that is ready. */
export interface Server<Prepared> {
  /** Takes the resources and serves them; the address, which of a client is empty. */
  readonly load: (load: Load) => Promise<string>
  /**
   * Gets a change ready as far as its user would have it: its messages, or its bytes if they are `encoded` already; for a client the
   * response that brings it.
   */
  readonly prepare: (changes: ReadonlyArray<Change>, encoded: boolean) => Prepared
  /** Applies changes, one after the other. */
  readonly apply: (changes: ReadonlyArray<Prepared>) => Promise<void>
}

const Command = Schema.Union(
  Schema.Struct({
    id: Schema.Number,
    command: Schema.Literal("load"),
    fixtures: Schema.String,
    typeUrl: Schema.String,
    incremental: Schema.Boolean,
    spread: Schema.Boolean,
    resend: Schema.optional(Resend)
  }),
  Schema.Struct({
    id: Schema.Number,
    command: Schema.Literal("prepare"),
    changes: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.String })),
    encoded: Schema.optional(Schema.Boolean)
  }),
  Schema.Struct({
    id: Schema.Number,
    command: Schema.Literal("apply", "applyAll", "gc", "delayStart", "delayStop", "profileStart", "quit")
  }),
  Schema.Struct({ id: Schema.Number, command: Schema.Literal("profileStop"), file: Schema.String })
)

const decodeAny = Schema.decodeUnknownSync(Schema.parseJson(Command))

/** Reading a command is not what is to be measured, so the one within a measurement is read at a glance. */
const decodeCommand = (line: string): typeof Command.Type => {
  const id = /^\{"id":(\d+),"command":"apply"\}$/.exec(line)?.[1]
  return id === undefined ? decodeAny(line) : { id: Number(id), command: "apply" }
}

/** Every resource of a file of fixtures. */
export async function* fixtures(path: string): AsyncGenerator<Change> {
  for await (const { name, resource } of sizeDelimitedDecodeStream(ResourceSchema, createReadStream(path))) {
    if (resource !== undefined) yield { name, value: resource.value }
  }
}

/** Serves the harness until it says quit or goes away. */
export const serve = <Prepared>(server: Server<Prepared>): void => {
  const prepared: Array<Prepared> = []
  let delay: IntervalHistogram | undefined
  let session: Inspector.Session | undefined

  const run = async (command: typeof Command.Type): Promise<unknown> => {
    switch (command.command) {
      case "load":
        return { address: await server.load(command) }
      case "prepare":
        prepared.push(
          server.prepare(
            command.changes.map(({ name, value }) => ({ name, value: decodeBase64(value) })),
            command.encoded ?? false
          )
        )
        return {}
      case "apply":
        if (prepared.length === 0) throw new Error("nothing is prepared")
        await server.apply(prepared.splice(0, 1))
        return {}
      case "applyAll": {
        const before = process.cpuUsage()
        await server.apply(prepared.splice(0))
        const { system, user } = process.cpuUsage(before)
        return { cpuMicroseconds: system + user }
      }
      case "gc":
        await collectGarbage()
        return {}
      case "delayStart":
        delay = monitorEventLoopDelay({ resolution: 1 })
        delay.enable()
        return {}
      case "delayStop": {
        if (delay === undefined) throw new Error("the delay is not being measured")
        delay.disable()
        // The timer's own millisecond is part of every sample.
        const milliseconds = (nanoseconds: number): number => Math.max(0, nanoseconds / 1e6 - 1)
        return {
          p50: milliseconds(delay.percentile(50)),
          p99: milliseconds(delay.percentile(99)),
          max: milliseconds(delay.max)
        }
      }
      case "profileStart":
        session = new Inspector.Session()
        session.connect()
        session.post("Profiler.enable")
        session.post("Profiler.setSamplingInterval", { interval: 200 })
        session.post("Profiler.start")
        return {}
      case "profileStop": {
        const running = session
        if (running === undefined) throw new Error("no profile is being taken")
        await new Promise<void>((resolve, reject) => {
          running.post("Profiler.stop", (error, { profile }) => {
            if (error !== null) return reject(error)
            writeFileSync(command.file, JSON.stringify(profile))
            resolve()
          })
        })
        running.disconnect()
        return {}
      }
      case "quit":
        return {}
    }
  }

  // One after the other, in the order of the lines.
  let last = Promise.resolve()
  const lines = createInterface({ input: process.stdin })
  lines.on("line", (line) => {
    const command = decodeCommand(line)
    last = last.then(async () => {
      const answer = await run(command).then(
        (result) => ({ id: command.id, result }),
        (error: unknown) => ({ id: command.id, error: error instanceof Error ? error.message : String(error) })
      )
      process.stdout.write(`${JSON.stringify(answer)}\n`)
      if (command.command === "quit") process.exit()
    })
  })
  lines.on("close", () => process.exit())
}

const decodeBase64 = (text: string): Uint8Array => new Uint8Array(Buffer.from(text, "base64"))
