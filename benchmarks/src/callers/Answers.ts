/** What a process of `calls.ts` is told, and how it answers: JSON lines, as `Child` writes and reads them. */
import * as Schema from "effect/Schema"
import { createInterface } from "node:readline"

const Command = Schema.parseJson(
  Schema.Struct({ id: Schema.Number, command: Schema.String }, { key: Schema.String, value: Schema.Unknown })
)
const decodeCommand = Schema.decodeUnknownSync(Command)

type Fields = Readonly<Record<string, unknown>>

/** Nanoseconds of the clock that all processes of a machine share, as text. */
export const time = (): string => process.hrtime.bigint().toString()

/** Answers each command by its function, one after the other, until it is told to quit or nobody is there any more. */
export const serve = (functions: Readonly<Record<string, (fields: Fields) => unknown>>): void => {
  const run = async (command: string, fields: Fields): Promise<unknown> => {
    if (command === "quit") return {}
    const answer = functions[command]
    if (answer === undefined) throw new Error(`it does not know the command ${JSON.stringify(command)}`)
    return await answer(fields)
  }
  let last = Promise.resolve()
  const lines = createInterface({ input: process.stdin })
  lines.on("line", (line) => {
    const { command, id, ...fields } = decodeCommand(line)
    last = last.then(async () => {
      const answer = await run(command, fields).then(
        (result) => ({ id, result }),
        (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) })
      )
      process.stdout.write(`${JSON.stringify(answer)}\n`)
      if (command === "quit") process.exit()
    })
  })
  lines.on("close", () => process.exit())
}
