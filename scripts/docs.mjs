// `npm run docs`: the API reference of all packages in docs/api, made of their docstrings, and a look at the links of all pages.
//
//   --check   writes nothing: whether every link leads somewhere
//
// Ends with 1 if a link of a docstring or of a page leads nowhere.
import { spawnSync } from "node:child_process"
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs"
import { dirname, join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import * as Options from "./options.mjs"

const home = dirname(dirname(fileURLToPath(import.meta.url)))
const { check } = Options.parse(import.meta.url, { check: { type: "boolean", default: false } })

/** The Markdown pages below a folder, but those of others. */
const pagesBelow = (folder, depth) =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (/^(\.|node_modules$|dist$|gen$|packed$|api$)/.test(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return depth > 0 ? pagesBelow(path, depth - 1) : []
    return entry.name.endsWith(".md") ? [path] : []
  })

/** A page without its code. */
const prose = (page) => page.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "code")

/** The anchors of a page, as GitHub makes them from headings. */
const anchorsOf = (path) =>
  new Set(
    [
      ...readFileSync(path, "utf8")
        .replace(/^```[\s\S]*?^```/gm, "")
        .matchAll(/^#+ +(.*)$/gm)
    ].map(([, title]) =>
      title
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .trim()
        .replaceAll(" ", "-")
    )
  )

/** Links of a page that lead nowhere. Those into the web are not followed. */
const brokenLinks = (path) =>
  [...prose(readFileSync(path, "utf8")).matchAll(/\]\(([^)\s]+)\)/g)].flatMap(([, target]) => {
    if (/^[a-z]+:/.test(target)) return []
    const [file, anchor] = target.split("#")
    const at = file === "" ? path : join(dirname(path), decodeURIComponent(file))
    const where = relative(home, path)
    if (!existsSync(at)) return [`${where}: ${target} leads to no file`]
    if (anchor === undefined || statSync(at).isDirectory() || !at.endsWith(".md")) return []
    return anchorsOf(at).has(anchor) ? [] : [`${where}: ${target} leads to no heading of ${relative(home, at)}`]
  })

const pages = pagesBelow(home, 3)
const broken = pages.flatMap(brokenLinks)

const typedoc = fileURLToPath(import.meta.resolve("typedoc/package.json")).replace("package.json", "bin/typedoc")
const made = spawnSync(process.execPath, [typedoc, ...(check ? ["--emit", "none"] : [])], {
  cwd: home,
  encoding: "utf8",
  env: { ...process.env, NO_COLOR: "1" },
  timeout: 5 * 60_000
})
if (made.status !== 0)
  broken.push(...`${made.stdout}${made.stderr}`.split("\n").filter((line) => /error|warning/.test(line)))

for (const problem of broken) process.stdout.write(`docs: ${problem}\n`)
process.stdout.write(
  broken.length > 0
    ? `docs: FAILED, ${broken.length} ${broken.length === 1 ? "link leads" : "links lead"} nowhere\n`
    : `docs: ${check ? "" : "docs/api is made; "}the links of the docstrings and of ${pages.length} pages lead somewhere\n`
)
process.exitCode = broken.length > 0 ? 1 : 0
