/** A demo in a process of its own, and the processes that it starts. */
import * as Waiting from "@effect-xds/testing/Waiting"
import { Effect } from "effect"
import { spawn, spawnSync, type ChildProcess } from "node:child_process"
import { existsSync, readdirSync, readFileSync } from "node:fs"

/** A running demo: its output, and waits that say what they saw. */
export class Demo {
  output = ""
  private readonly child: ChildProcess
  private readonly ended: Promise<number | null>

  constructor(main: string, ...args: ReadonlyArray<string>) {
    this.child = spawn(process.execPath, [main, ...args], { stdio: "pipe" })
    const onData = (chunk: Buffer) => (this.output += chunk.toString())
    this.child.stdout?.on("data", onData)
    this.child.stderr?.on("data", onData)
    this.ended = new Promise((resolve) => this.child.once("close", resolve))
  }

  get pid(): number {
    return this.child.pid ?? 0
  }

  type(line: string): void {
    this.child.stdin?.write(`${line}\n`)
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal)
  }

  /** The exit code, `null` after a SIGKILL. */
  exit(seconds: number): Promise<number | null> {
    return Promise.race([
      this.ended,
      new Promise<never>((_resolve, reject) => {
        setTimeout(
          () => reject(new Error(`no end after ${seconds} s; it printed:\n${this.output}`)),
          seconds * 1000
        ).unref()
      })
    ])
  }

  async says(pattern: RegExp, seconds: number): Promise<void> {
    const options = { limit: seconds * 1_000, seen: () => this.output }
    await Effect.runPromise(
      Waiting.found(`the demo to say ${pattern.source}`, () => pattern.test(this.output), options)
    )
  }
}

export interface Process {
  readonly pid: number
  readonly parent: number
  readonly command: string
}

/** Every process that lives. From /proc where there is one: small images come without `ps`. */
const processes = (): ReadonlyArray<Process> => {
  if (!existsSync("/proc/self/stat")) {
    const list = spawnSync("ps", ["-A", "-o", "pid=,ppid=,stat=,args="], { encoding: "utf8" }).stdout
    return Array.from(list.matchAll(/^ *(\d+) +(\d+) +([^Z ]\S*) +(.*)$/gm), ([, pid, parent, , command = ""]) => ({
      pid: Number(pid),
      parent: Number(parent),
      command
    }))
  }
  return readdirSync("/proc").flatMap((pid) => {
    try {
      const stat = /\) ([^Z]) (\d+) /.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))
      const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ")
      return stat === null ? [] : [{ pid: Number(pid), parent: Number(stat[2]), command }]
    } catch {
      // Not a process, or one that ended meanwhile.
      return []
    }
  })
}

/** The processes that a process started. */
export const childrenOf = (pid: number): ReadonlyArray<Process> => processes().filter(({ parent }) => parent === pid)

/** Waits until they are gone. */
export const areGone = async (children: ReadonlyArray<Process>, seconds: number): Promise<void> => {
  const left = () => processes().filter(({ pid }) => children.some((child) => child.pid === pid))
  const areNone = Waiting.until("their end", left, (running) => running.length === 0, { limit: seconds * 1_000 })
  await Effect.runPromise(areNone)
}
