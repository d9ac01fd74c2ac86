/**
 * gRPC clients that make the calls they are asked for, and say who answered: a line of JSON each way. grpc-go does it with
 * `-asked`, grpc-js in `GrpcJsCalls.ts`.
 */
import * as PeerProgram from "@effect-xds/testing/PeerProgram"
import type { CommandExecutor } from "@effect/platform/CommandExecutor"
import type * as PlatformError from "@effect/platform/Error"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { fileURLToPath } from "node:url"
import * as ChildProcess from "../ChildProcess.js"
import * as Wait from "../Wait.js"
import * as GrpcClient from "./GrpcClient.js"

/** A name may be there more than once. */
export const Header = Schema.Tuple(Schema.String, Schema.String)
export type Header = typeof Header.Type

/** Each call is made so many times. */
export const Request = Schema.parseJson(
  Schema.Struct({ calls: Schema.Array(Schema.Array(Header)), times: Schema.Number })
)
export type Request = typeof Request.Type

/** For each call: who answered it how often, or `failed: UNAVAILABLE: …`. */
export const Answered = Schema.parseJson(Schema.Array(Schema.Record({ key: Schema.String, value: Schema.Number })))
export type Answered = typeof Answered.Type

/** A client that waits to be asked. */
export interface Client {
  readonly name: GrpcClient.Name
  readonly ask: (request: Request) => Effect.Effect<Answered, Wait.TimedOut | ChildProcess.Crashed>
}

/** Those that can be asked. */
export const names = ["grpc-js", "grpc-go"] as const

/** Starts a client that finds `xds:///greeter` at the control plane, as the node of its own name. */
export const start = (
  name: (typeof names)[number],
  controlPlane: string,
  group: string
): Effect.Effect<Client, PlatformError.PlatformError, Scope.Scope | CommandExecutor> =>
  Effect.gen(function* () {
    const questions = yield* Effect.acquireRelease(Queue.unbounded<string>(), Queue.shutdown)
    const lines: Array<string> = []
    const options = {
      name,
      onLine: (line: string) => void lines.push(line),
      env: GrpcClient.environment(name, controlPlane, group),
      input: Stream.fromQueue(questions)
    }
    const peer = PeerProgram.find(name)
    // ★ A script that ends with its input by itself: who reads it from the start to see its end loses what comes early.
    const { crash } =
      peer._tag === "Present"
        ? yield* ChildProcess.startProgram({ ...options, program: peer.path, args: ["-asked"] })
        : yield* ChildProcess.startProgram({
            ...options,
            program: process.execPath,
            args: [fileURLToPath(new URL("../../dist/replacements/GrpcJsCalls.js", import.meta.url))]
          })
    const ask = (request: Request) =>
      Effect.gen(function* () {
        yield* Queue.offer(questions, `${yield* Effect.orDie(Schema.encode(Request)(request))}\n`)
        const line = yield* Wait.until({
          what: `the answers to ${request.calls.length * request.times} calls of ${name}`,
          limit: "4 minutes",
          check: () => lines.shift(),
          seen: () => "it printed nothing"
        })
        return yield* Effect.orDie(Schema.decode(Answered)(line))
      }).pipe(Effect.raceFirst(crash))
    return { name, ask }
  })
