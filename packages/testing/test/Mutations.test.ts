import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import { assert, it } from "@effect/vitest"

// The faults themselves take minutes: `npm run mutations`. A line that was changed would only be missed there.
it("every fault of the mutation proof can still be put in", async () => {
  const home = join(import.meta.dirname, "..", "..", "..")
  const { stdout } = await promisify(execFile)(process.execPath, [join(home, "scripts", "mutations.mjs"), "--check"])
  const [, count] = /^(\d+) faults can be put in\.\n$/.exec(stdout) ?? []
  assert(Number(count) >= 25, stdout)
})
