/**
 * Commands with their arguments and options: how they are described, and read from a command line. What a command does is
 * loaded when it runs, so that this says what is wrong, or helps, within the time that Node takes to start.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import { parseArgs } from "node:util"
import type { CommandFailure } from "./CommandFailure.js"
import * as Spelling from "./Spelling.js"

/**
 * A value that was read, or what is wrong with the text, as the rest of a sentence that begins with the name of the
 * option or argument. The text itself is not quoted: it may be a password that stands in the wrong place.
 *
 * @since 0.1.0
 */
export type Reading<A> = { readonly value: A } | { readonly mistake: string }

/**
 * An option: a flag if it takes no value.
 *
 * @since 0.1.0
 */
export interface Option<A> {
  /** What the help calls its value: `PORT`, `json|yaml`; `undefined`: a flag. */
  readonly value: string | undefined
  /** One letter. */
  readonly short: string | undefined
  readonly description: string
  readonly isRepeated: boolean
  /** Of the texts that were given, in their order; none if the option was not. */
  readonly read: (given: ReadonlyArray<string>) => Reading<A>
}

/**
 * An argument: told by its place.
 *
 * @since 0.1.0
 */
export interface Argument<A> {
  readonly name: string
  readonly description: string
  readonly isOptional: boolean
  /** Takes all that follow; the last one only. */
  readonly isRepeated: boolean
  readonly read: (given: ReadonlyArray<string>) => Reading<A>
}

type Values<Described> = {
  readonly [Key in keyof Described]: Described[Key] extends Option<infer A> | Argument<infer A> ? A : never
}

/**
 * What a command does, loaded: ends well, or with a failure that says why.
 *
 * @since 0.1.0
 */
export type Action = Effect.Effect<void, CommandFailure>

/**
 * A command. Either it runs, or it has commands of its own.
 *
 * @since 0.1.0
 */
export interface Command {
  readonly name: string
  /** One line, for lists of commands. */
  readonly summary: string
  /** Paragraphs. */
  readonly details: ReadonlyArray<string>
  /** What follows the name of the program. */
  readonly examples: ReadonlyArray<string>
  readonly arguments: ReadonlyArray<Argument<unknown>>
  /** By their long names, without dashes. */
  readonly options: ReadonlyMap<string, Option<unknown>>
  readonly commands: ReadonlyArray<Command>
  /** Whether its ending takes time that others wait for: a server's does. */
  readonly endsOrderly: boolean
  /** Whether it goes on until somebody ends it: for others, that is a failure. */
  readonly isEndless: boolean
  readonly start: (
    texts: ReadonlyMap<string, ReadonlyArray<string>>,
    places: ReadonlyArray<string>
  ) => Reading<() => Promise<Action>>
}

// ---------------------------------------------------------------------------------------------------------------------
// Options

const last = (given: ReadonlyArray<string>): string | undefined => given[given.length - 1]

const option = <A>(
  value: string,
  description: string,
  initial: A,
  read: (text: string) => Reading<A>,
  short?: string
): Option<A> => ({
  value,
  short,
  description,
  isRepeated: false,
  read: (given) => {
    const text = last(given)
    return text === undefined ? { value: initial } : read(text)
  }
})

/** @since 0.1.0 */
export const flag = (description: string): Option<boolean> => ({
  value: undefined,
  short: undefined,
  description,
  isRepeated: false,
  read: (given) => ({ value: given.length > 0 })
})

/** @since 0.1.0 */
export const text = <A extends string | undefined>(value: string, description: string, initial: A) =>
  option<A | string>(value, description, initial, (given) => ({ value: given }))

/**
 * Texts, once for each.
 *
 * @since 0.1.0
 */
export const texts = (value: string, description: string): Option<ReadonlyArray<string>> => ({
  value,
  short: undefined,
  description,
  isRepeated: true,
  read: (given) => ({ value: given })
})

/**
 * A text that stands for something else; `wrong` is what the value should be.
 *
 * @since 0.1.0
 */
export const parsed = <A, B>(
  value: string,
  description: string,
  initial: B,
  parse: (text: string) => A | undefined,
  wrong: string
) =>
  option<A | B>(value, description, initial, (given) => {
    const found = parse(given)
    return found === undefined ? { mistake: `is ${wrong}` } : { value: found }
  })

/** @since 0.1.0 */
export const choice = <const A extends string>(
  choices: ReadonlyArray<A>,
  description: string,
  initial: A,
  short?: string
): Option<A> =>
  option(
    choices.join("|"),
    description,
    initial,
    (given) => {
      const found = choices.find((each) => each === given)
      if (found !== undefined) return { value: found }
      const near = Spelling.nearest(given, choices)
      const meant = near === undefined ? "" : `; did you mean ${near}?`
      return { mistake: `is one of ${choices.join(", ")}${meant}` }
    },
    short
  )

/**
 * `KEY=VALUE`, once for each.
 *
 * @since 0.1.0
 */
export const pairs = (description: string): Option<Readonly<Record<string, string>>> => ({
  value: "KEY=VALUE",
  short: undefined,
  description,
  isRepeated: true,
  read: (given) => {
    if (given.some((each) => each.indexOf("=") < 1)) return { mistake: "is KEY=VALUE" }
    return {
      value: Object.fromEntries(
        given.map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)])
      )
    }
  }
})

// ---------------------------------------------------------------------------------------------------------------------
// Arguments

/** @since 0.1.0 */
export const argument = (name: string, description: string): Argument<string> => ({
  name,
  description,
  isOptional: false,
  isRepeated: false,
  read: ([given]) => (given === undefined ? { mistake: "is missing" } : { value: given })
})

/** @since 0.1.0 */
export const optionalArgument = (name: string, description: string, initial: string): Argument<string> => ({
  ...argument(name, description),
  isOptional: true,
  read: ([given]) => ({ value: given ?? initial })
})

/** @since 0.1.0 */
export const repeatedArgument = (name: string, description: string): Argument<ReadonlyArray<string>> => ({
  name,
  description,
  isOptional: true,
  isRepeated: true,
  read: (given) => ({ value: given })
})

// ---------------------------------------------------------------------------------------------------------------------
// Commands

const nameOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const isComplete = <Described extends object>(
  described: Described,
  values: Readonly<Record<string, unknown>>
): values is Values<Described> & Readonly<Record<string, unknown>> =>
  Object.keys(described).every((key) => Object.hasOwn(values, key))

type Described = Readonly<Record<string, Option<unknown>>>
type Placed = Readonly<Record<string, Argument<unknown>>>

/**
 * A command that runs. The names of options are made of the keys: `nodeId` is `--node-id`.
 *
 * @since 0.1.0
 */
export const command = <O extends Described, A extends Placed>(
  described: Pick<Command, "name" | "summary" | "details" | "examples"> & {
    readonly endsOrderly?: boolean | undefined
    readonly isEndless?: boolean | undefined
    readonly arguments: A
    readonly options: O
    readonly load: (values: Values<O> & Values<A>) => Promise<Action>
  }
): Command => ({
  ...described,
  endsOrderly: described.endsOrderly === true,
  isEndless: described.isEndless === true,
  arguments: Object.values(described.arguments),
  options: new Map(Object.entries(described.options).map(([key, each]) => [nameOf(key), each])),
  commands: [],
  start: (texts, places) => {
    const values: Record<string, unknown> = {}
    let left = places
    for (const [key, each] of Object.entries(described.arguments)) {
      const taken = each.isRepeated ? left : left.slice(0, 1)
      left = left.slice(taken.length)
      const reading = each.read(taken)
      if ("mistake" in reading) return { mistake: `${each.name} ${reading.mistake}` }
      values[key] = reading.value
    }
    if (left.length > 0) {
      const taken = places.length - left.length
      const some = `takes ${taken} argument${taken === 1 ? "" : "s"}, not ${places.length}`
      return { mistake: taken === 0 ? "takes no arguments" : some }
    }
    for (const [key, each] of Object.entries(described.options)) {
      const reading = each.read(texts.get(nameOf(key)) ?? [])
      if ("mistake" in reading) return { mistake: `--${nameOf(key)} ${reading.mistake}` }
      values[key] = reading.value
    }
    const both = { ...described.options, ...described.arguments }
    if (!isComplete<O & A>(both, values)) return { mistake: "cannot be read" }
    return { value: () => described.load(values) }
  }
})

/**
 * A command that has others.
 *
 * @since 0.1.0
 */
export const family = (
  described: Pick<Command, "name" | "summary" | "details" | "examples" | "commands"> & {
    readonly options?: Described | undefined
  }
): Command => ({
  ...described,
  endsOrderly: false,
  isEndless: false,
  arguments: [],
  options: new Map(Object.entries(described.options ?? {}).map(([key, each]) => [nameOf(key), each])),
  start: () => ({ mistake: "a command is missing" })
})

/**
 * What a command line asks for.
 *
 * @since 0.1.0
 */
export type Request =
  | { readonly _tag: "Help"; readonly path: ReadonlyArray<Command> }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Completions"; readonly shell: string }
  | { readonly _tag: "Run"; readonly command: Command; readonly load: () => Promise<Action> }
  /** A line, without the name of the program. */
  | { readonly _tag: "Mistake"; readonly message: string }

/** As it is called: `effect-xds bootstrap envoy`. */
const titleOf = (path: ReadonlyArray<Command>): string => path.map(({ name }) => name).join(" ")

/**
 * How a command is called: `effect-xds get [OPTIONS] ADDRESS TYPE [NAME…]`.
 *
 * @since 0.1.0
 */
export const usageOf = (path: ReadonlyArray<Command>): string => {
  const command = path[path.length - 1]
  if (command === undefined) return ""
  if (command.commands.length > 0) return `${titleOf(path)} COMMAND`
  const places = command.arguments.map(({ isOptional, isRepeated, name }) => {
    const text = isRepeated ? `${name}…` : name
    return isOptional ? `[${text}]` : text
  })
  return [titleOf(path), ...(command.options.size > 0 ? ["[OPTIONS]"] : []), ...places].join(" ")
}

/**
 * Reads what follows the program and the script in `process.argv`.
 *
 * @since 0.1.0
 */
export const read = (root: Command, args: ReadonlyArray<string>): Request => {
  const mistake = (message: string): Request => ({ _tag: "Mistake", message })
  const path = [root]
  let command = root
  let rest = args
  while (command.commands.length > 0) {
    const [word] = rest
    const help = `${titleOf(path)} --help lists the commands`
    if (word === undefined) {
      return command === root
        ? { _tag: "Help", path }
        : mistake(`${titleOf(path.slice(1))}: a command is missing; ${help}`)
    }
    if (word === "--help" || word === "-h" || word === "help") return { _tag: "Help", path }
    if (word === "--version") return { _tag: "Version" }
    if (command === root && (word === "--completions" || word.startsWith("--completions="))) {
      const shell = word.includes("=") ? word.slice(word.indexOf("=") + 1) : rest[1]
      return shell === "bash" || shell === "zsh" || shell === "fish"
        ? { _tag: "Completions", shell }
        : mistake("--completions is one of bash, zsh, fish")
    }
    const names = command.commands.map(({ name }) => name)
    if (word.startsWith("-")) {
      const [name = ""] = word.split("=")
      if (command.commands.some(({ options }) => options.has(name.replace(/^--/, "")))) {
        return mistake(`${name} goes behind the command: ${titleOf(path)} COMMAND ${name} …`)
      }
      const known = [...Array.from(command.options.keys(), (each) => `--${each}`), "--help"]
      return mistake(`there is no option ${name}${meant(name, known)} (${help})`)
    }
    const found = command.commands.find(({ name }) => name === word)
    if (found === undefined)
      return mistake(`there is no command ${JSON.stringify(word)}${meant(word, names)} (${help})`)
    path.push(found)
    command = found
    rest = rest.slice(1)
  }
  return readOptions(path, command, rest)
}

const meant = (word: string, words: ReadonlyArray<string>): string => {
  const near = Spelling.nearest(word, words)
  return near === undefined ? "" : `: did you mean ${near}?`
}

const kindOf = (value: string | undefined): "boolean" | "string" => (value === undefined ? "boolean" : "string")

const readOptions = (path: ReadonlyArray<Command>, command: Command, args: ReadonlyArray<string>): Request => {
  const mistake = (message: string): Request => ({ _tag: "Mistake", message: `${titleOf(path.slice(1))}: ${message}` })
  const options = Object.fromEntries(
    Array.from(command.options, ([name, { short, value }]) => [
      name,
      {
        type: kindOf(value),
        multiple: true,
        ...(short !== undefined && { short })
      }
    ])
  )
  const { tokens } = parseArgs({
    args: Array.from(args),
    options: { ...options, help: { type: "boolean", short: "h" } },
    strict: false,
    allowPositionals: true,
    tokens: true
  })
  const texts = new Map<string, Array<string>>()
  const places: Array<string> = []
  if (tokens.some((token) => token.kind === "option" && token.name === "help")) return { _tag: "Help", path }
  for (const token of tokens) {
    if (token.kind === "positional") places.push(token.value)
    if (token.kind !== "option") continue
    const { name, rawName, value } = token
    const found = command.options.get(name)
    if (found === undefined) {
      const known = [...Array.from(command.options.keys(), (each) => `--${each}`), "--help"]
      return mistake(`there is no option ${rawName}${meant(rawName, known)} (${titleOf(path)} --help lists them)`)
    }
    if (found.value === undefined) {
      if (token.inlineValue === true) return mistake(`${rawName} takes no value`)
      texts.set(name, ["true"])
      continue
    }
    const isNext = value !== undefined && !token.inlineValue && value.startsWith("--")
    if (value === undefined || isNext) return mistake(`${rawName} needs a value: ${rawName} ${found.value}`)
    texts.set(name, [...(texts.get(name) ?? []), value])
  }
  const reading = command.start(texts, places)
  if ("value" in reading) return { _tag: "Run", command, load: reading.value }
  const isPlace = !reading.mistake.startsWith("--")
  return mistake(isPlace ? `${reading.mistake}: ${usageOf(path)}` : reading.mistake)
}
