/** A temporary directory, and the ways in which programs change files in it. */
import { Effect } from "effect"
import { execFileSync } from "node:child_process"
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"

export class Directory {
  #count = 0
  constructor(readonly path: string) {}

  at(...names: ReadonlyArray<string>): string {
    return join(this.path, ...names)
  }

  /** Writes into the file itself. */
  write(name: string, content: string | Uint8Array): void {
    mkdirSync(dirname(this.at(name)), { recursive: true })
    writeFileSync(this.at(name), content)
  }

  /** Writes a temporary file beside it and renames that. */
  move(name: string, content: string | Uint8Array): void {
    const temporary = join(dirname(name), `.${++this.#count}.tmp`)
    this.write(temporary, content)
    renameSync(this.at(temporary), this.at(name))
  }

  /** As Kubernetes mounts a ConfigMap: links to files in `..data`, which is a link that is exchanged. */
  mount(directory: string, files: Readonly<Record<string, string>>): void {
    const version = `..${++this.#count}`
    for (const [name, content] of Object.entries(files)) this.write(join(directory, version, name), content)
    // The one before is still there when the link is exchanged.
    const old = readdirSync(this.at(directory)).filter((name) => /^\.\.\d+$/.test(name) && name !== version)
    old.splice(old.indexOf(`..${this.#count - 1}`), 1)
    symlinkSync(version, this.at(directory, "..data_tmp"))
    renameSync(this.at(directory, "..data_tmp"), this.at(directory, "..data"))
    for (const name of Object.keys(files)) {
      if (!readdirSync(this.at(directory)).includes(name)) symlinkSync(join("..data", name), this.at(directory, name))
    }
    for (const name of old) rmSync(this.at(directory, name), { recursive: true })
  }

  link(target: string, name: string): void {
    symlinkSync(target, this.at(`${name}_tmp`))
    renameSync(this.at(`${name}_tmp`), this.at(name))
  }

  /** A named pipe. */
  pipe(name: string): void {
    execFileSync("sh", ["-c", 'mkfifo "$0"', this.at(name)])
  }

  rename(from: string, to: string): void {
    renameSync(this.at(from), this.at(to))
  }

  remove(name: string): void {
    rmSync(this.at(name), { recursive: true })
  }

  make(name: string): void {
    mkdirSync(this.at(name), { recursive: true })
  }

  mode(name: string, mode: number): void {
    chmodSync(this.at(name), mode)
  }
}

export const temporary = Effect.acquireRelease(
  Effect.sync(() => new Directory(mkdtempSync(join(tmpdir(), "xds-files-")))),
  ({ path }) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** Runs without the rights of root, whom no mode keeps from reading. */
export const unprivileged = Effect.acquireRelease(
  Effect.sync(() => {
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid?.(65_534)
    return isRoot
  }),
  (isRoot) =>
    Effect.sync(() => {
      if (isRoot) process.seteuid?.(0)
    })
)

export const cluster = (name: string, timeout = 1): string =>
  `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: ${name}\nconnect_timeout: ${timeout}s\n`

export const clusters = (version: string, ...names: ReadonlyArray<string>): string =>
  [
    `version_info: "${version}"`,
    "type_url: type.googleapis.com/envoy.config.cluster.v3.Cluster",
    names.length === 0 ? "resources: []" : "resources:",
    ...names.map((name) => `- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\n  name: ${name}`)
  ].join("\n")
