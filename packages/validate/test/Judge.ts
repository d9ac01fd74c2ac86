/** What protoc-gen-validate generated for Go, as a process that is asked line by line. */
import type { DescMessage, Message } from "@bufbuild/protobuf"
import { toBinary } from "@bufbuild/protobuf"
import { base64Encode } from "@bufbuild/protobuf/wire"
import { Effect, Schema, type Scope } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"

const Answer = Schema.Struct({
  first: Schema.String,
  all: Schema.Array(Schema.String),
  malformed: Schema.optional(Schema.String),
  unknown: Schema.optional(Schema.Boolean)
})

type Answer = typeof Answer.Type

const decode = Schema.decodeUnknownSync(Schema.parseJson(Answer))

export interface Question {
  readonly type: DescMessage
  readonly bytes: Uint8Array
}

export interface Judge {
  /** The answers, in the order of the questions. */
  readonly ask: (questions: ReadonlyArray<Question>) => Promise<ReadonlyArray<Answer>>
}

export const question = (type: DescMessage, message: Message): Question => ({ type, bytes: toBinary(type, message) })

export const start = (path: string): Effect.Effect<Judge, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => spawn(path, [], { stdio: ["pipe", "pipe", "inherit"] })),
    (child) => Effect.sync(() => child.stdin.end())
  ).pipe(
    Effect.map((child) => {
      const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
      const isGone = new Promise<never>((_, reject) =>
        child.once("exit", (code) => reject(new Error(`the judge has ended with ${code}`)))
      )
      isGone.catch(() => undefined)
      return {
        ask: async (questions) => {
          for (const { bytes, type } of questions) {
            child.stdin.write(`${JSON.stringify({ type: type.typeName, value: base64Encode(bytes) })}\n`)
          }
          const answers: Array<Answer> = []
          while (answers.length < questions.length) {
            const line = await Promise.race([lines.next(), isGone])
            if (line.done === true) throw new Error("the judge has ended")
            answers.push(decode(line.value))
          }
          return answers
        }
      }
    })
  )
