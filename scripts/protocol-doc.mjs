// `npm run check:protocol`: whether docs/protocol.md is true. Each row of its tables has a number, a rule, a side, the
// functions that do it and the traces and tests that show it. Every file, function, trace and test must be there.
//
//   --fix        corrects links to what has moved, where there is one place that it can have moved to
//   --self-test  checks a page with mistakes instead, and whether each of them is found
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { basename, dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import * as Options from "./options.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const page = "docs/protocol.md"
const header = "| # | rule | side | function | shown by |"
const sides = ["client", "server", "transport"]

/** What the check needs to know of a repository: what is there, the text of a file, and the files that links may lead to. */
const repository = () => {
  const texts = new Map()
  const under = (folder, ends) =>
    existsSync(join(home, folder))
      ? readdirSync(join(home, folder), { recursive: true })
          .map((path) => posix.join(folder, path.replaceAll("\\", "/")))
          .filter((path) => ends.some((end) => path.endsWith(end)))
      : []
  const of = (parent, folder, ends) =>
    readdirSync(join(home, parent)).flatMap((name) => under(`${parent}/${name}/${folder}`, ends))
  const ofTests = [".trace", ".test.ts"]
  return {
    exists: (path) => existsSync(join(home, path)),
    read: (path) => {
      if (!texts.has(path)) texts.set(path, readFileSync(join(home, path), "utf8"))
      return texts.get(path)
    },
    sources: () => of("packages", "src", [".ts"]),
    tests: () => [...of("packages", "test", ofTests), ...of("examples", "test", ofTests)]
  }
}

const escaped = (text) => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/**
 * Whether a source declares a name: at its top, as a function inside of another, or as a member of a class or type. Prettier
 * sets the sources, so a member has two spaces before it.
 */
const declares = (source, name) => {
  const word = escaped(name)
  const atTop = String.raw`^(?:export )?(?:abstract |async )?(?:const|let|class|interface|type|function\*?) ${word}\b`
  const inside = String.raw`^ +(?:const ${word} = (?:async )?(?:[(<]|function\b)|(?:async )?function\*? ${word}\b)`
  if (new RegExp(`${atTop}|${inside}`, "m").test(source)) return true
  const modifiers = "(?:(?:private|protected|public|readonly|static|async|get|set) )*"
  const member = new RegExp(String.raw`^  ${modifiers}\*?#?${word}\??[(:<; ]`)
  let isInside = false
  for (const line of source.split("\n")) {
    if (/^(?:export )?(?:abstract )?(?:class|interface|type) /.test(line)) isInside = true
    else if (line.startsWith("}")) isInside = false
    else if (isInside && member.test(line)) return true
  }
  return false
}

/** Names that a source declares and that have this one in them, or the other way round: it may be called so now. */
const alike = (source, name) =>
  Array.from(source.matchAll(/\b(?:const|class|function\*?) (\w{4,})/g), ([, other]) => other)
    .filter(
      (other) => other.toLowerCase().includes(name.toLowerCase()) || name.toLowerCase().includes(other.toLowerCase())
    )
    .slice(0, 5)

/** The titles of a trace's sections, or of a file's tests: there, any text that may be one. */
const titlesIn = (path, text) =>
  path.endsWith(".trace")
    ? text.split("\n").flatMap((line) => (line.startsWith("## ") ? [line.slice(3)] : []))
    : Array.from(text.matchAll(/(?:^|[\s(])(["'`])(.{8,}?)\1/gm), ([, , title]) => title)

const hasTitle = (path, text, title) =>
  path.endsWith(".trace")
    ? titlesIn(path, text).includes(title)
    : ['"', "'", "`"].some((quote) => text.includes(`${quote}${title}${quote}`))

/** The title that shares most words with this one; `undefined`: none shares many. */
const nearest = (title, titles) => {
  const words = new Set(title.split(" "))
  const shared = (other) => other.split(" ").filter((word) => words.has(word)).length
  const best = titles.reduce((one, other) => (shared(other) > shared(one) ? other : one), "")
  return shared(best) > words.size / 3 ? best : undefined
}

const linkPattern = /\[((?:\\.|[^\\\]])*)\]\(([^()\s]+)\)/g
/** The links of a line: as they stand, what they say, and the path that they lead to, from the top of the repository. */
const linksIn = (line) =>
  Array.from(line.matchAll(linkPattern), ([whole, label, target]) => ({
    whole,
    label,
    text: label.replaceAll(/\\([^A-Za-z0-9\s])/g, "$1"),
    path: /^(?:#|\w+:)/.test(target) ? undefined : posix.join(posix.dirname(page), target.split("#")[0])
  })).filter(({ path }) => path !== undefined)
const linkTo = (label, path) => `[${label}](${posix.relative(posix.dirname(page), path)})`

/** What is wrong with a link to a function, `[File.name](../path)`: words, and the right link if there is one alone. */
const functionMistake = ({ label, path, text }, { exists, read, sources }) => {
  const [file = "", ...rest] = text.split(".")
  const name = rest.join(".")
  const isNamed = basename(path, ".ts") === file
  if (isNamed && exists(path) && declares(read(path), name)) return undefined
  const places = sources().filter((other) => declares(read(other), name))
  const sameFile = places.filter((other) => basename(other, ".ts") === file)
  const where = sameFile.length > 0 ? sameFile : places.slice(0, 8)
  const why = !exists(path)
    ? `${path} is not there`
    : isNamed
      ? `${path} declares no ${name}`
      : `${label} does not begin with the name of its file, ${basename(path, ".ts")}`
  const similar = exists(path) ? alike(read(path), name) : []
  const here = similar.length > 0 ? `; that file has ${similar.join(", ")}` : ""
  const advice =
    where.length > 0
      ? `${name} is in ${where.join(", ")}${here}: link what does this`
      : `no source declares ${name}${here}: link what does this now, or say "not done: why"`
  // Another file that has the name may have another function.
  const moved = places.includes(path) ? path : sameFile.length === 1 ? sameFile[0] : undefined
  return { words: `${why}; ${advice}`, right: moved && linkTo(`${basename(moved, ".ts")}.${name}`, moved) }
}

/** The same of a link to the section of a trace or to a test, `[title](../path)`. */
const titleMistake = ({ label, path, text }, { exists, read, tests }) => {
  if (exists(path) && hasTitle(path, read(path), text)) return undefined
  const places = tests().filter((other) => hasTitle(other, read(other), text))
  const near = exists(path) ? nearest(text, titlesIn(path, read(path))) : undefined
  const why = exists(path) ? `${path} has no ${JSON.stringify(text)}` : `${path} is not there`
  const advice =
    places.length > 0
      ? `it is in ${places.join(", ")}: correct the link`
      : near === undefined
        ? "link what shows the rule now, or write it"
        : `the nearest is ${JSON.stringify(near)}: correct the title`
  return { words: `${why}; ${advice}`, right: places.length === 1 ? linkTo(label, places[0]) : undefined }
}

const cellsOf = (line) =>
  line
    .trim()
    .replaceAll(/^\||\|$/g, "")
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())

/** The mistakes of a row but for its number: words and, where there is one, the link that is wrong and the right one. */
const rowMistakes = ([, rule, side, functions, shown, ...more], files) => {
  const mistakes = []
  const tell = (words, wrong, right) => mistakes.push({ words, wrong, right })
  if (shown === undefined || more.length > 0) {
    tell("it has not five cells: number, rule, side, function, shown by; — where nothing shows what is not done")
    return mistakes
  }
  if (rule === "") tell("say what the rule is")
  if (side.split(", ").some((each) => !sides.includes(each))) {
    tell(`the side is ${JSON.stringify(side)}; give one or several of ${sides.join(", ")}`)
  }
  const isDone = !functions.startsWith("not done")
  const links = linksIn(shown)
  if (!isDone && !/^not done: ./.test(functions)) tell('say why it is not done: "not done: why"')
  if (isDone && functions.replaceAll(linkPattern, "").replaceAll(/[\s,]/g, "") !== "") {
    tell('the cell of functions has links alone, as [File.name](../path), or "not done: why"')
  }
  if (isDone && links.length === 0)
    tell("link what shows it, as [title](../path); write the trace or test if there is none")
  if (!isDone && links.length === 0 && shown !== "—") tell("what is not done is shown by —, or by what happens instead")
  for (const each of isDone ? linksIn(functions) : []) {
    const mistake = functionMistake(each, files)
    if (mistake !== undefined) tell(mistake.words, each.whole, mistake.right)
  }
  for (const each of links) {
    const mistake = titleMistake(each, files)
    if (mistake !== undefined) tell(mistake.words, each.whole, mistake.right)
  }
  return mistakes
}

/** The mistakes of a page, each with its line, and how many rows it has. */
const mistakesIn = (text, files) => {
  const mistakes = []
  const counts = new Map()
  let isTable = false
  let rows = 0
  let left = 0
  for (const [index, line] of text.split("\n").entries()) {
    const tell = (mistake) => mistakes.push({ line: index + 1, ...mistake })
    isTable = line === header || (isTable && line.startsWith("|"))
    if (!isTable) {
      for (const { label, path, whole } of linksIn(line)) {
        if (files.exists(path)) continue
        const places = files.sources().filter((other) => basename(other) === basename(path))
        const right = places.length === 1 ? linkTo(label, places[0]) : undefined
        tell({ words: `${path} is not there; correct the link ${places.join(", ")}`.trimEnd(), wrong: whole, right })
      }
      continue
    }
    if (line === header || /^\|[-|]+$/.test(line)) continue
    const cells = cellsOf(line)
    const [, specification, count] = /^(\d{3})-([1-9]\d*)$/.exec(cells[0]) ?? []
    if (specification === undefined) {
      tell({ words: `${JSON.stringify(cells[0])} is no number of a row; 000-1 is one` })
      continue
    }
    const expected = (counts.get(specification) ?? 0) + 1
    counts.set(specification, Number(count))
    if (Number(count) !== expected) {
      tell({
        words: `row ${cells[0]}: the next number is ${specification}-${expected}; number the rows one after the other`
      })
    }
    for (const { words, ...links } of rowMistakes(cells, files)) tell({ words: `row ${cells[0]}: ${words}`, ...links })
    rows++
    if (cells[3]?.startsWith("not done") === true) left++
  }
  if (rows === 0) mistakes.push({ line: 1, words: `there are no rows; a table of them begins with ${header}` })
  return { mistakes, rows, left }
}

/** The page with the links that are right instead. */
const fixed = (text, mistakes) => {
  const lines = text.split("\n")
  for (const { line, right, wrong } of mistakes) {
    if (right !== undefined) lines[line - 1] = lines[line - 1].replace(wrong, () => right)
  }
  return lines.join("\n")
}

/** What is not found of the mistakes of a page, each in a line of its own, and what of them `--fix` leaves. */
const selfTest = () => {
  const texts = new Map([
    [
      "packages/a/src/Right.ts",
      "export const found = 1\nclass Box {\n  private open(): void {\n    called()\n  }\n}\n"
    ],
    ["packages/a/src/moved/There.ts", "const moved = () => 1\n"],
    ["packages/a/test/a.trace", "# a\n\n## a * title\nx\n"],
    ["packages/a/test/a.test.ts", 'it("another title", () => 1)\n']
  ])
  const paths = Array.from(texts.keys())
  const files = {
    exists: (path) => texts.has(path),
    read: (path) => texts.get(path),
    sources: () => paths.filter((path) => path.includes("/src/")),
    tests: () => paths.filter((path) => path.includes("/test/"))
  }
  const right = "[Right.found](../packages/a/src/Right.ts)"
  const open = "[Right.open](../packages/a/src/Right.ts)"
  const shown = String.raw`[a \* title](../packages/a/test/a.trace)`
  const test = "[another title](../packages/a/test/a.test.ts)"
  /** A line, what is to be said of it (nothing: it is right), and whether `--fix` corrects it. */
  const lines = [
    ["see [it](../packages/a/src/Right.ts) and [that](https://example.org)"],
    ["see [it](../packages/a/src/There.ts)", "correct the link packages/a/src/moved/There.ts", true],
    [header],
    ["|---|---|---|---|---|"],
    [`| 000-1 | r | client | ${right} | ${shown} |`],
    [`| 000-2 | r | client, server | ${open}, ${right} | ${test}<br>${shown} |`],
    ["| 000-3 | r | transport | not done: because | — |"],
    [`| 000-5 | r | client | ${right} | ${shown} |`, "the next number is 000-4"],
    [`| 000-5 | r | client | ${right} | ${shown} |`, "the next number is 000-6"],
    [`| 000-6 | r | nobody | ${right} | ${shown} |`, 'the side is "nobody"'],
    [
      `| 000-7 | r | client | [There.moved](../packages/a/src/There.ts) | ${shown} |`,
      "is in packages/a/src/moved",
      true
    ],
    [`| 000-8 | r | client | [Right.called](../packages/a/src/Right.ts) | ${shown} |`, "no source declares called"],
    [
      `| 000-9 | r | client | [Wrong.found](../packages/a/src/Right.ts) | ${shown} |`,
      "the name of its file, Right",
      true
    ],
    [`| 000-10 | r | client | found | ${shown} |`, "the cell of functions has links alone"],
    [`| 000-11 | r | client | ${right} | — |`, "write the trace or test"],
    [`| 000-12 | r | client | ${right} | [another title](../packages/a/test/b.test.ts) |`, "it is in packages/a", true],
    [`| 000-13 | r | client | ${right} | [a * titel](../packages/a/test/a.trace) |`, 'the nearest is "a * title"'],
    ["| 000-14 | r | client | not done | — |", "say why it is not done"],
    [`| 000-15 |  | client | ${right} | ${shown} |`, "say what the rule is"],
    [`| 001-1 | r | client | [Right.foundAll](../packages/a/src/Right.ts) | ${shown} |`, "that file has found"],
    [`| 001-2 | r | client | ${right} |`, "it has not five cells"],
    [`| 1 | r | client | ${right} | ${shown} |`, "no number of a row"]
  ]
  const text = lines.map(([line]) => line).join("\n")
  const { mistakes } = mistakesIn(text, files)
  const after = mistakesIn(fixed(text, mistakes), files).mistakes
  const of = (found, index) => found.filter(({ line }) => line === index + 1).map(({ words }) => words)
  return lines.flatMap(([line, words, isFixed = false], index) => {
    const told = of(mistakes, index)
    const isTold = words === undefined ? told.length === 0 : told.some((each) => each.includes(words))
    const isLeft = words !== undefined && !isFixed
    if (isTold && of(after, index).length > 0 === isLeft) return []
    return [`self-test: ${line}\n  expected: ${words ?? "nothing"}; told: ${told.join("; ") || "nothing"}`]
  })
}

const values = Options.parse(import.meta.url, {
  fix: { type: "boolean", default: false },
  "self-test": { type: "boolean", default: false }
})

if (values["self-test"]) {
  const failures = selfTest()
  for (const failure of failures) console.error(failure)
  process.exitCode = failures.length > 0 ? 1 : 0
} else {
  const files = repository()
  let text = readFileSync(join(home, page), "utf8")
  if (values.fix) {
    text = fixed(text, mistakesIn(text, files).mistakes)
    writeFileSync(join(home, page), text)
  }
  const { left, mistakes, rows } = mistakesIn(text, files)
  for (const { line, words } of mistakes) console.error(`${page}:${line}: ${words}`)
  console.log(`protocol: ${rows} rules, ${left} of them not done`)
  process.exitCode = mistakes.length > 0 ? 1 : 0
}
