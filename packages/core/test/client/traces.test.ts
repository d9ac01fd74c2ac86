import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Trace from "../Trace.js"
import * as ClientTrace from "./ClientTrace.js"
import * as ScopedRoutesTrace from "./ScopedRoutesTrace.js"
import * as VirtualHostsTrace from "./VirtualHostsTrace.js"
import * as WarmingTrace from "./WarmingTrace.js"

// UPDATE_TRACES=1 writes what the client puts out into the files, to be read and judged. Never in CI.
const isUpdate = process.env["UPDATE_TRACES"] === "1" && process.env["CI"] === undefined

const check = (folder: string, play: (lines: ReadonlyArray<string>) => ReadonlyArray<string>) => {
  for (const file of readdirSync(folder)
    .filter((name) => name.endsWith(".trace"))
    .sort()) {
    describe(file, () => {
      const text = readFileSync(join(folder, file), "utf8")
      const sections = Trace.sections(text)
      if (isUpdate) {
        const head = text.slice(0, text.indexOf("## "))
        const updated = sections.map(({ lines, title }) => [`## ${title}`, ...ClientTrace.tidy(play(lines))].join("\n"))
        writeFileSync(join(folder, file), head + updated.join("\n"))
      }
      it("has sections with titles of their own", () => {
        const titles = sections.map((section) => section.title)
        assert.isNotEmpty(titles)
        assert.strictEqual(new Set(titles).size, titles.length)
      })
      for (const section of sections) {
        it(section.title, () => {
          const played = Trace.essence(play(section.lines)).join("\n")
          const written = Trace.essence(section.lines).join("\n")
          if (!isUpdate) assert.strictEqual(played, written, `${file}:${section.start}`)
        })
      }
    })
  }
}

check(join(import.meta.dirname, "traces"), ClientTrace.play)
check(join(import.meta.dirname, "warming"), WarmingTrace.play)
check(join(import.meta.dirname, "vhds"), VirtualHostsTrace.play)
check(join(import.meta.dirname, "srds"), ScopedRoutesTrace.play)
