/**
 * Asks a real Envoy whether it would take the resources of a group. Envoy stops at its first mistake: which resource has it is
 * found by halves, and then the rest is asked about without it.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberId from "effect/FiberId"
import type * as Scope from "effect/Scope"
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { rmSync } from "node:fs"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { CommandFailure } from "./CommandFailure.js"
import * as StaticBootstrap from "./StaticBootstrap.js"

/**
 * What Envoy says of a resource; without one it is about the whole group.
 *
 * @since 0.1.0
 */
export interface Complaint<R> {
  readonly resource: R | undefined
  readonly words: string
}

/**
 * An Envoy that can be asked.
 *
 * @since 0.1.0
 */
export interface EnvoyCheck {
  /** Its words about a bootstrap; `undefined`: it takes it. */
  readonly verdict: (bootstrap: object) => Effect.Effect<string | undefined, CommandFailure>
  /** Its complaints about the resources of a group. */
  readonly complaints: <R extends { readonly typeUrl: string; readonly name: string; readonly value: Uint8Array }>(
    resources: ReadonlyArray<R>
  ) => Effect.Effect<ReadonlyArray<Complaint<R>>, CommandFailure>
}

/** Milliseconds for one question, and for all of a command. */
const questionTime = 30_000
const wholeTime = 120_000

/** Milliseconds for the rest of its words when it has ended: what it left running may hold its output for ever. */
const outputTime = 500

/** Of one group. Who has mended these asks again. */
const maxComplaints = 20

/** Bytes of Envoy's words that are kept, and characters that are told. */
const maxOutput = 1_000_000
const maxWords = 500

/**
 * Prepares to ask the Envoy at a path. Bootstraps are written into a directory that is gone with the scope; equal ones are asked
 * about once, also at the same time.
 *
 * @since 0.1.0
 */
export const make = (path: string): Effect.Effect<EnvoyCheck, never, Scope.Scope> =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.promise(() => mkdtemp(join(tmpdir(), "effect-xds-"))),
      // In one turn: a signal may leave no time for more, and keys may be in them.
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    const end = (yield* Clock.currentTimeMillis) + wholeTime
    const verdicts = new Map<string, Deferred.Deferred<string | undefined, CommandFailure>>()

    const question = (text: string, file: string) =>
      Effect.gen(function* () {
        // Certificates may be in it.
        yield* Effect.promise(() => writeFile(file, text, { mode: 0o600 }))
        const verdict = yield* run(path, file)
        yield* Effect.promise(() => rm(file, { force: true }))
        return verdict
      })

    const ask: EnvoyCheck["verdict"] = (bootstrap) =>
      Effect.suspend(() => {
        const text = JSON.stringify(bootstrap)
        const digest = createHash("sha256").update(text).digest("hex")
        const known = verdicts.get(digest)
        if (known !== undefined) return Deferred.await(known)
        // ★ Known from now on: who asks the same meanwhile would else have its file taken away by the first answer.
        const verdict = Deferred.unsafeMake<string | undefined, CommandFailure>(FiberId.none)
        verdicts.set(digest, verdict)
        const file = join(directory, `${digest}.json`)
        return Effect.zipRight(Effect.intoDeferred(question(text, file), verdict), Deferred.await(verdict))
      })

    return {
      verdict: ask,
      complaints: (resources) =>
        Effect.gen(function* () {
          const found: Array<Complaint<(typeof resources)[number]>> = []
          let kept = yield* StaticBootstrap.items(resources)
          const leftOut: Array<(typeof kept)[number]> = []
          for (;;) {
            const verdict = yield* ask(StaticBootstrap.make(kept, leftOut))
            if (verdict === undefined) return found
            if (found.length >= maxComplaints || (yield* Clock.currentTimeMillis) > end) {
              return [...found, { resource: undefined, words: "refuses more; no more is asked" }]
            }
            // What is refused is in the first `most` items, and not in the first `least` of them.
            let least = 0
            let most = kept.length
            let words = verdict
            while (most - least > 1) {
              const half = Math.floor((least + most) / 2)
              const part = yield* ask(StaticBootstrap.make(kept.slice(0, half), [...leftOut, ...kept.slice(half)]))
              if (part === undefined) least = half
              else {
                most = half
                words = part
              }
            }
            const culprit = kept[most - 1]
            if (culprit === undefined) return [...found, { resource: undefined, words: shortened(words, []) }]
            found.push({ resource: culprit.resource, words: shortened(words, yield* culprit.secrets) })
            leftOut.push(culprit)
            kept = kept.filter((item) => item !== culprit)
          }
        })
    }
  })

const run = (path: string, file: string): Effect.Effect<string | undefined, CommandFailure> =>
  Effect.async<string | undefined, CommandFailure>((resume) => {
    const args = ["--mode", "validate", "-c", file, "-l", "error"]
    const child = spawn(path, args, {
      stdio: ["ignore", "ignore", "pipe"],
      timeout: questionTime,
      killSignal: "SIGKILL"
    })
    let output = ""
    child.stderr.setEncoding("utf8")
    child.stderr.on("data", (chunk: string) => {
      if (output.length < maxOutput) output += chunk
    })
    child.once("error", (cause) => {
      const message = `${path} cannot be started: ${Reason.of(cause)}`
      resume(Effect.fail(new CommandFailure({ kind: "failed", message })))
    })
    child.once("close", (code, signal) => {
      if (code === 0) resume(Effect.succeed(undefined))
      else if (signal === "SIGKILL") {
        const message = `${path} gave no answer within ${questionTime / 1000} s`
        resume(Effect.fail(new CommandFailure({ kind: "failed", message })))
      } else resume(Effect.succeed(wordsIn(output) ?? `ended with ${signal ?? code ?? "nothing"}`))
    })
    child.once("exit", () => {
      // It is closed then.
      const timer = setTimeout(() => child.stderr.destroy(), outputTime)
      child.once("close", () => clearTimeout(timer))
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })

/** ★ Envoy prints whole messages, keys included; of them nothing is told. */
const wordsIn = (output: string): string | undefined => {
  const [, said] = /error initializing configuration '[^']*': ([^]*)/.exec(output) ?? []
  if (said === undefined) return undefined
  const constraint = said.lastIndexOf("Proto constraint validation failed")
  const plain = constraint >= 0 ? said.slice(constraint) : said.replace(/goo\.gle\/debug[^]*/, "")
  const line = Redaction.text(oneLine(plain.replace(/\[\d{4}-\d\d-\d\d [^]*/, ""))).trim()
  return line.replace(/[:.]$/, "")
}

/** ★ Envoy quotes what it does not understand. */
const shortened = (words: string, secrets: ReadonlyArray<string>): string => {
  let text = words
  for (const secret of secrets) if (secret !== "") text = text.replaceAll(oneLine(secret), Redaction.redacted)
  return text.length > maxWords ? `${text.slice(0, maxWords)}…` : text
}

const oneLine = (text: string): string => text.replace(/[\s\p{Cc}]+/gu, " ")
