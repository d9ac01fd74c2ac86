import { readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Trace from "./Trace.js"

// UPDATE_TRACES=1 writes what the stream puts out into the files, to be read and judged. Never in CI.
const isUpdate = process.env["UPDATE_TRACES"] === "1" && process.env["CI"] === undefined
const folder = join(import.meta.dirname, "traces")

for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".trace"))
  .sort()) {
  describe(file, () => {
    const text = readFileSync(join(folder, file), "utf8")
    const sections = Trace.sections(text)
    if (isUpdate) {
      const head = text.slice(0, text.indexOf("## "))
      const updated = sections.map((section) => [`## ${section.title}`, ...Trace.tidy(Trace.play(section))].join("\n"))
      writeFileSync(join(folder, file), head + updated.join("\n"))
    }
    it("has sections with titles of their own", () => {
      const titles = sections.map((section) => section.title)
      assert.isNotEmpty(titles)
      assert.strictEqual(new Set(titles).size, titles.length)
    })
    for (const section of sections) {
      it(section.title, () => {
        const played = Trace.essence(Trace.play(section)).join("\n")
        const written = Trace.essence(section.lines).join("\n")
        if (!isUpdate) assert.strictEqual(played, written, `${file}:${section.start}`)
        // The rules are those of v2, too. It has no ECDS and no LEDS; a message may name a type URL; and those of v2 are shorter.
        if (section.lines.some((line) => /\bECDS\b|\bLEDS\b|\.v3\.|maxResponseBytes=/.test(line))) return
        assert.deepStrictEqual(
          Trace.essence(Trace.play(section, "v2")).join("\n"),
          written,
          `v2: ${file}:${section.start}`
        )
      })
    }
  })
}
