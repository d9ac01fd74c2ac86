/**
 * What `--help` prints: plain text that fits into a hundred columns.
 *
 * @since 0.1.0
 */
import type { Command, Option } from "./CommandLine.js"
import { usageOf } from "./CommandLine.js"

/** Columns. */
const width = 100

/** A left column that is wider has its right one below. */
const widestLeft = 34

const wrap = (text: string, columns: number): ReadonlyArray<string> => {
  const lines: Array<string> = []
  let line = ""
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > columns) {
      lines.push(line)
      line = word
    } else {
      line = line === "" ? word : `${line} ${word}`
    }
  }
  return [...lines, line]
}

const table = (rows: ReadonlyArray<readonly [left: string, right: string]>): ReadonlyArray<string> => {
  const lefts = rows.map(([left]) => left.length).filter((length) => length <= widestLeft)
  const left = lefts.reduce((most, length) => Math.max(most, length), 0)
  const indent = " ".repeat(left + 4)
  return rows.flatMap(([name, text]) => {
    const [first = "", ...others] = wrap(text, width - indent.length)
    const below = others.map((each) => indent + each)
    return name.length > left
      ? [`  ${name}`, indent + first, ...below]
      : [`  ${name.padEnd(left)}  ${first}`.trimEnd(), ...below]
  })
}

const section = (heading: string, lines: ReadonlyArray<string>): ReadonlyArray<string> =>
  lines.length === 0 ? [] : ["", heading, ...lines]

const optionRow = ([name, { description, short, value }]: readonly [string, Option<unknown>]): readonly [
  string,
  string
] => {
  const long = value === undefined ? `--${name}` : `--${name} ${value}`
  return [short === undefined ? long : `-${short}, ${long}`, description]
}

const leaves = (path: ReadonlyArray<Command>): ReadonlyArray<ReadonlyArray<Command>> => {
  const command = path[path.length - 1]
  if (command === undefined || command.commands.length === 0) return [path]
  return command.commands.flatMap((each) => leaves([...path, each]))
}

/**
 * The help of the last command of a path, which begins with the program.
 *
 * @since 0.1.0
 */
export const render = (path: ReadonlyArray<Command>): string => {
  const [program] = path
  const command = path[path.length - 1]
  if (program === undefined || command === undefined) return ""
  const title = path.map(({ name }) => name).join(" ")
  const commands = command.commands.length === 0 ? [] : leaves([command])
  return [
    ...wrap(`${title}: ${command.summary}`, width),
    ...section("USAGE", [`  ${usageOf(path)}`]),
    ...command.details.flatMap((paragraph) => ["", ...wrap(paragraph, width)]),
    ...section(
      "COMMANDS",
      table(
        commands.map((leaf) => [
          leaf
            .slice(1)
            .map(({ name }) => name)
            .join(" "),
          leaf[leaf.length - 1]?.summary ?? ""
        ])
      )
    ),
    ...section("ARGUMENTS", table(command.arguments.map(({ description, name }) => [name, description]))),
    ...section("OPTIONS", table([...Array.from(command.options, optionRow), ["-h, --help", "Prints this"]])),
    ...section(
      "EXAMPLES",
      command.examples.map((example) => `  ${example}`)
    ),
    ...(commands.length === 0 ? [] : ["", `${title} COMMAND --help tells what a command takes.`])
  ].join("\n")
}
