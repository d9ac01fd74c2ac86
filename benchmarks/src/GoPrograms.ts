/**
 * Builds our Go programs into .peers/, once for each content. The load generator needs nothing but Go; the peer needs
 * modules from the Go module proxy.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs"
import { join } from "node:path"

/** A program, or why it cannot be had. */
export type Program = { readonly path: string } | { readonly missing: string }

const home = join(import.meta.dirname, "..")
const binaries = join(home, "..", ".peers")

const run = (
  command: string,
  args: ReadonlyArray<string>,
  folder: string,
  onTick: () => void
): Promise<{ readonly ok: boolean; readonly output: string }> =>
  new Promise((resolve) => {
    let output = ""
    const child = spawn(command, args, {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      // The toolchain that is there, or a plain word; nothing is downloaded but modules.
      env: { ...process.env, GOTOOLCHAIN: "local", GOWORK: "off", GOFLAGS: "-mod=readonly -buildvcs=false" }
    })
    const take = (text: string): void => {
      output += text
    }
    child.stdout.setEncoding("utf8").on("data", take)
    child.stderr.setEncoding("utf8").on("data", take)
    const tick = setInterval(onTick, 10_000)
    const limit = setTimeout(() => child.kill("SIGKILL"), 600_000)
    const end = (ok: boolean, note: string): void => {
      clearInterval(tick)
      clearTimeout(limit)
      resolve({ ok, output: `${output}${note}`.trim() })
    }
    child.on("error", (error) => end(false, error.message))
    child.on("close", (code, signal) => end(code === 0, signal === "SIGKILL" ? "\nstopped after 10 minutes" : ""))
  })

const contentOf = (folder: string, version: string): string => {
  const sum = createHash("sha256").update(version)
  for (const name of readdirSync(folder).sort()) {
    if (/\.go$|^go\.(mod|sum)$/.test(name)) sum.update(`\0${name}\0`).update(readFileSync(join(folder, name)))
  }
  return sum.digest("hex").slice(0, 16)
}

const lastLine = (output: string): string => output.split("\n").at(-1) ?? ""

const build = async (name: string, folder: string, say: (text: string) => void): Promise<Program> => {
  const go = await run("go", ["version"], folder, () => undefined)
  if (!go.ok) return { missing: `Go is needed (https://go.dev/dl): ${lastLine(go.output)}` }
  const path = join(binaries, `bench-${name}-${contentOf(folder, go.output)}`)
  if (existsSync(path)) return { path }
  const start = Date.now()
  say(`building ${name} with ${go.output.replace("go version ", "")}`)
  const work = join(binaries, `work-${name}-${process.pid}`)
  mkdirSync(binaries, { recursive: true })
  try {
    const built = await run("go", ["build", "-o", work, "."], folder, () => say(`still building ${name}`))
    if (!built.ok) {
      const unreachable = built.output
        .split("\n")
        .find((line) => /dial tcp|no such host|i\/o timeout|connection refused/.test(line))
      const why = unreachable === undefined ? "it does not build" : "the Go module proxy cannot be reached"
      return { missing: `${why}: ${unreachable ?? lastLine(built.output)}` }
    }
    // Others may be running; what is left from earlier days goes.
    for (const old of readdirSync(binaries).filter((file) => file.startsWith(`bench-${name}-`))) {
      if (Date.now() - statSync(join(binaries, old)).mtimeMs > 86_400_000) rmSync(join(binaries, old), { force: true })
    }
    // Renamed at the end: a program that is there is whole.
    renameSync(work, path)
    say(`built ${name}, ${((Date.now() - start) / 1000).toFixed(1)} s`)
    return { path }
  } finally {
    rmSync(work, { force: true })
  }
}

/** The load generator. */
export const load = (say: (text: string) => void): Promise<Program> => build("load", join(home, "load"), say)

/** go-control-plane with both of its caches. */
export const goControlPlane = (say: (text: string) => void): Promise<Program> =>
  build("go-control-plane", join(home, "peers", "go-control-plane"), say)
