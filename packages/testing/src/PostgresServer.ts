/**
 * A PostgreSQL of its own for tests, from the peer `postgres`. It can be killed and started again. It must not run as root: as
 * root it is started as another user.
 *
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { spawn, spawnSync } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import { accessSync, chownSync, constants, cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import * as FreePort from "./network/FreePort.js"

/**
 * Error: PostgreSQL does not start.
 *
 * @since 0.1.0
 */
export class PostgresServerError extends Data.TaggedError("PostgresServerError")<{ readonly detail: string }> {
  override get message(): string {
    return `PostgreSQL does not start: ${this.detail}`
  }
}

/**
 * A server.
 *
 * @since 0.1.0
 */
export interface PostgresServer {
  readonly port: number
  /** The URL of a schema of its database; every test may have its own. Create it first. */
  readonly url: (schema?: string) => string
  /** Kills it as `kill -9` does, and waits until it is gone. */
  readonly kill: Effect.Effect<void>
  /** Starts it, if it does not run, and waits until it answers. */
  readonly start: Effect.Effect<void, PostgresServerError>
  /** Makes a standby of this server, which follows it. The server is stopped for a moment. */
  readonly standby: Effect.Effect<PostgresServer, PostgresServerError, Scope.Scope>
}

/** The user `nobody`, where this process is root. */
const nobody = process.getuid?.() === 0 ? 65_534 : undefined

const asUser = nobody === undefined ? {} : { uid: nobody, gid: nobody }

/** Milliseconds until it must be ready, on a busy machine too. */
const patience = 60_000

const environment = { LC_ALL: "C", PATH: process.env["PATH"] ?? "", TZ: "UTC" }

/** Memory, where it can be written like a folder. */
const memory = (): string | undefined => {
  try {
    accessSync("/dev/shm", constants.W_OK)
    return "/dev/shm"
  } catch {
    return undefined
  }
}

/** A new folder, which goes with the scope. */
const folderIn = (place: string): Effect.Effect<string, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => {
      const path = mkdtempSync(join(place, "effect-xds-postgres-"))
      if (nobody !== undefined) chownSync(path, nobody, nobody)
      return path
    }),
    (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
  )

/** For data, none of which is kept. */
const folder = ({ durable = false }: Options): Effect.Effect<string, never, Scope.Scope> =>
  Effect.suspend(() => folderIn((durable ? undefined : memory()) ?? tmpdir()))

/** The program, where the other user may run it: a clone may be in a folder that only its owner may read. */
const runnable = (program: string): Effect.Effect<string, PostgresServerError, Scope.Scope> => {
  const { status } = spawnSync(program, ["--version"], asUser)
  if (status === 0) return Effect.succeed(program)
  // Not in memory: programs in /dev/shm may not be run in most containers.
  return Effect.flatMap(folderIn(tmpdir()), (path) =>
    Effect.try({
      try: () => {
        cpSync(join(dirname(program), ".."), path, { recursive: true, verbatimSymlinks: true })
        return join(path, "bin", "postgres")
      },
      catch: (error) => new PostgresServerError({ detail: error instanceof Error ? error.message : String(error) })
    })
  )
}

/**
 * Options of a server.
 *
 * @since 0.1.0
 */
export interface Options {
  /** Its data are on a disk, and a commit is there when it returns; default: in memory, where there is such a place. */
  readonly durable?: boolean | undefined
}

const settings = (port: number, { durable = false }: Options): ReadonlyArray<string> =>
  [
    "listen_addresses=127.0.0.1",
    `port=${port}`,
    "unix_socket_directories=",
    `fsync=${durable ? "on" : "off"}`,
    "shared_buffers=32MB",
    "max_connections=300",
    "log_min_messages=fatal"
  ].flatMap((each) => ["-c", each])

// The program takes the shell's place. What stays beside it ends it when this process is gone, however that ended.
const guarded = 'exec 3<&0; (cat <&3 >/dev/null; kill -9 $$) 2>/dev/null & exec "$@" 3<&- </dev/null'

const ready = (child: ChildProcess): Effect.Effect<void, PostgresServerError> => {
  let said = ""
  const failed = (detail: string) => new PostgresServerError({ detail })
  const lastWords = (): string => said.trim().split("\n").at(-1) ?? ""
  return Effect.async<void, PostgresServerError>((resume) => {
    child.stderr?.on("data", (chunk: Buffer) => {
      said = `${said}${chunk.toString()}`.slice(-2_000)
      if (/ready to accept (read-only )?connections/.test(said)) resume(Effect.void)
    })
    child.on("error", (error) => resume(Effect.fail(failed(error.message))))
    child.on("exit", () => resume(Effect.fail(failed(lastWords()))))
  }).pipe(
    Effect.timeoutFail({
      duration: patience,
      onTimeout: () => failed(`it is not ready after ${patience / 1_000} s; its last words: ${lastWords()}`)
    })
  )
}

const gone = (child: ChildProcess): Effect.Effect<void> =>
  Effect.async((resume) => {
    if (child.exitCode !== null || child.signalCode !== null) resume(Effect.void)
    else child.once("exit", () => resume(Effect.void))
  })

const serverAt = (
  program: string,
  data: string,
  options: Options
): Effect.Effect<PostgresServer, PostgresServerError, Scope.Scope> =>
  Effect.gen(function* () {
    const port = yield* FreePort.any()
    let child: ChildProcess | undefined
    const end = (signal: "SIGKILL" | "SIGINT"): Effect.Effect<void> =>
      Effect.suspend(() => {
        const running = child
        child = undefined
        if (running === undefined) return Effect.void
        running.kill(signal)
        return gone(running)
      })
    const start = Effect.suspend(() => {
      if (child !== undefined) return Effect.void
      // It says that it is ready only in its log.
      const args = ["-D", data, ...settings(port, options), "-c", "log_min_messages=log"]
      child = spawn("sh", ["-c", guarded, "sh", program, ...args], {
        ...asUser,
        env: environment,
        stdio: ["pipe", "ignore", "pipe"],
        cwd: data
      })
      return ready(child)
    }).pipe(
      Effect.tapError(() => end("SIGKILL")),
      // The processes of a server that was killed end by themselves, on a busy machine after a while.
      Effect.retry({
        times: 300,
        while: ({ detail }) =>
          /Terminate any old server processes/.test(detail) ? Effect.as(Effect.sleep(100), true) : Effect.succeed(false)
      })
    )
    yield* Effect.addFinalizer(() => end("SIGKILL"))
    yield* start
    return {
      port,
      url: (schema) => {
        const options = schema === undefined ? "" : `?options=${encodeURIComponent(`-c search_path=${schema}`)}`
        return `postgres://postgres@127.0.0.1:${port}/postgres${options}`
      },
      kill: end("SIGKILL"),
      start,
      standby: Effect.gen(function* () {
        const copy = join(yield* folder(options), "data")
        yield* end("SIGINT")
        cpSync(data, copy, { recursive: true })
        writeFileSync(join(copy, "standby.signal"), "")
        writeFileSync(
          join(copy, "postgresql.auto.conf"),
          `primary_conninfo = 'host=127.0.0.1 port=${port} user=postgres'\n`
        )
        if (nobody !== undefined) spawnSync("chown", ["-R", `${nobody}:${nobody}`, copy])
        spawnSync("chmod", ["-R", "go-rwx", copy])
        yield* start
        return yield* serverAt(program, copy, options)
      })
    }
  })

/**
 * Starts a new, empty server; it goes with the scope.
 *
 * @param program the path of the peer `postgres`
 * @since 0.1.0
 */
export const make = (
  program: string,
  options: Options = {}
): Effect.Effect<PostgresServer, PostgresServerError, Scope.Scope> =>
  Effect.gen(function* () {
    const postgres = yield* runnable(program)
    const data = join(yield* folder(options), "data")
    const args = ["-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"]
    const made = spawnSync(join(dirname(postgres), "initdb"), args, {
      ...asUser,
      env: environment,
      cwd: dirname(data),
      timeout: patience,
      killSignal: "SIGKILL"
    })
    if (made.status !== 0) {
      // What could not be started said nothing, in no buffers.
      const said = made.pid === 0 ? "" : `${made.stdout.toString()}\n${made.stderr.toString()}`
      const words = said.trim().split("\n").at(-1) ?? ""
      const detail = made.error === undefined ? words : `${made.error.message}; its last words: ${words}`
      return yield* Effect.fail(new PostgresServerError({ detail: `initdb: ${detail}` }))
    }
    return yield* serverAt(postgres, data, options)
  })
