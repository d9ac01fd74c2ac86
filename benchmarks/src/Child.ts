/** A process that takes JSON lines and answers them. It lives no longer than this one. */
import * as Schema from "effect/Schema"
import type { ChildProcess } from "node:child_process"
import { spawn } from "node:child_process"
import { basename } from "node:path"
import { createInterface } from "node:readline"

/** What a case cannot go on after: in words, for the table. */
export class CaseError extends Error {
  override readonly name = "CaseError"
}

const Answer = Schema.parseJson(
  Schema.Struct({
    id: Schema.Number,
    result: Schema.optional(Schema.Unknown),
    error: Schema.optional(Schema.String)
  })
)
const decodeAnswer = Schema.decodeUnknownSync(Answer)

const running = new Set<ChildProcess>()
process.on("exit", () => {
  for (const child of running) child.kill("SIGKILL")
})
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130))

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

export class Child {
  readonly #child: ChildProcess
  readonly #pending = new Map<number, Pending>()
  readonly #exited: Promise<void>
  #lastId = 0
  #said = ""
  #end: string | undefined

  constructor(
    private readonly title: string,
    command: string,
    args: ReadonlyArray<string>,
    env: Readonly<Record<string, string>> = {}
  ) {
    const child = spawn(command, args, { stdio: ["pipe", "pipe", "pipe"], env: { ...process.env, ...env } })
    this.#child = child
    running.add(child)
    // The process may be gone before it has read everything; its exit says so.
    child.stdin.on("error", () => undefined)
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      this.#said = (this.#said + text).slice(-4000)
    })
    createInterface({ input: child.stdout }).on("line", (line) => this.#onAnswer(line))
    this.#exited = new Promise((resolve) => {
      const end = (reason: string): void => {
        if (this.#end !== undefined) return
        running.delete(child)
        this.#end = reason
        for (const { reject } of this.#pending.values()) reject(this.#gone())
        this.#pending.clear()
        resolve()
      }
      child.on("error", (error) => end(`${basename(command)} does not start: ${error.message}`))
      child.on("close", (code, signal) =>
        end(signal === null ? `exit code ${code ?? "unknown"}` : `killed by ${signal}`)
      )
    })
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** What it wrote to standard error, the end of it. */
  get said(): string {
    return this.#said
  }

  #gone(): CaseError {
    const said = this.#said.trim().split("\n").slice(-5).join(" | ")
    return new CaseError(`${this.title} has ended (${this.#end ?? "?"})${said === "" ? "" : `: ${said}`}`)
  }

  #onAnswer(line: string): void {
    const answer = decodeAnswer(line)
    const pending = this.#pending.get(answer.id)
    this.#pending.delete(answer.id)
    if (answer.error === undefined) pending?.resolve(answer.result)
    else pending?.reject(new CaseError(`${this.title}: ${answer.error}`))
  }

  request(command: string, fields: Readonly<Record<string, unknown>> = {}): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#end !== undefined) return reject(this.#gone())
      const id = ++this.#lastId
      this.#pending.set(id, { resolve, reject })
      this.#child.stdin?.write(`${JSON.stringify({ id, command, ...fields })}\n`)
    })
  }

  /** Ends it, kindly if it answers within two seconds. */
  async stop(): Promise<void> {
    if (this.#end !== undefined) return
    const timer = setTimeout(() => this.#child.kill("SIGKILL"), 2000)
    await this.request("quit").catch(() => undefined)
    await this.#exited
    clearTimeout(timer)
  }
}
