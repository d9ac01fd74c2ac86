/** What the operating system says of a process. Linux only: /proc. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { setTimeout } from "node:timers/promises"
import { CaseError } from "./Child.js"

/** A file of /proc/PID. */
const read = (pid: number, file: string): string => {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8")
  } catch {
    throw new CaseError("the server's process has ended")
  }
}

export const hasEnded = (pid: number): boolean => !existsSync(`/proc/${pid}/status`)

/** One file of every thread. A thread may end in between. */
const readThreads = (pid: number, file: string): ReadonlyArray<string> =>
  readdirSync(`/proc/${pid}/task`).flatMap((thread) => {
    try {
      return [readFileSync(`/proc/${pid}/task/${thread}/${file}`, "utf8")]
    } catch {
      return []
    }
  })

const hasSchedstat = existsSync("/proc/self/schedstat")

/** The CPU time in a `schedstat`. */
const millisecondsIn = (schedstat: string): number => Number(schedstat.split(" ", 1)[0]) / 1e6

/**
 * CPU time of all threads so far, user and system, in milliseconds. From the nanoseconds of every thread's `schedstat`;
 * /proc/PID/stat holds the same in steps of 10 ms, and serves where there is no schedstat.
 */
export const cpuMilliseconds = (pid: number): number => {
  const stat = read(pid, "stat")
  if (hasSchedstat) {
    return readThreads(pid, "schedstat").reduce((sum, line) => sum + millisecondsIn(line), 0)
  }
  // The name, in parentheses, may hold spaces; user and system time are fields 14 and 15 of the line.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** CPU time of the main thread so far, in milliseconds; of all threads where there is no schedstat. */
export const mainThreadMilliseconds = (pid: number): number =>
  hasSchedstat ? millisecondsIn(read(pid, `task/${pid}/schedstat`)) : cpuMilliseconds(pid)

/** Whether a thread runs or waits for a core: on a busy machine a process without CPU time is not yet a process at rest. */
const wantsCpu = (pid: number): boolean => readThreads(pid, "stat").some((line) => line.includes(") R "))

/** File descriptors that are open: connections and files. */
export const openFiles = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length

/** Resident memory in bytes. */
export const residentBytes = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(read(pid, "status"))?.[1] ?? 0) * 1024

const step = 50
const stepsOfQuiet = 3
const quietMilliseconds = 0.5

/**
 * Waits until a process has stopped working: three times 50 ms with less than 0.5 ms of CPU each. By then it has read
 * and dealt with every ACK, and collected its garbage as far as it does that at once. Gives the CPU time at the
 * beginning of the quiet. A profiler never rests: beside it, less than half the time is quiet.
 */
export const quietCpuMilliseconds = async (pid: number, limitSeconds = 120, profiled = false): Promise<number> => {
  const end = Date.now() + limitSeconds * 1000
  let start = cpuMilliseconds(pid)
  let last = start
  for (let quiet = 0; quiet < stepsOfQuiet;) {
    await setTimeout(step)
    const now = cpuMilliseconds(pid)
    const isQuiet = profiled ? now - last < step / 2 : now - last < quietMilliseconds && !wantsCpu(pid)
    if (isQuiet) quiet++
    else {
      quiet = 0
      start = now
    }
    last = now
    if (Date.now() > end) throw new CaseError(`the server did not come to rest within ${limitSeconds} s`)
  }
  return start
}
