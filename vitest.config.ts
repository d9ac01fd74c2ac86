import { join } from "node:path"
import { setFlagsFromString } from "node:v8"
import { defineConfig } from "vitest/config"
import { BaseSequencer } from "vitest/node"
import projects, { long } from "./vitest.workspace.ts"

// Tests run on the sources of our packages: the condition is the first in each package's exports.
// Without "import": vitest gives them to Node for `require`, too, which would get modules where it wants classes. For an import
// both add it themselves.
const conditions = ["@effect-xds/source", "module", "node", "default"]

/** The long files first. With them their projects: one project's threads are waited for before the next one's begin. */
class LongFirst extends BaseSequencer {
  override async sort(files: Parameters<BaseSequencer["sort"]>[0]): ReturnType<BaseSequencer["sort"]> {
    const place = (path: string): number => (long.includes(path) ? long.indexOf(path) : long.length)
    return (await super.sort(files)).sort((a, b) => place(a.moduleId) - place(b.moduleId))
  }
}

// V8 optimizes later: most of what tests run is over before that pays. It saves an eighth of the CPU time of core's and testing's tests,
// and a twenty-fifth where servers and clients run. With Node 20; V8 counts other things in later versions.
if (process.versions.v8.startsWith("11.3.")) setFlagsFromString("--interrupt-budget=500000")

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects,
    setupFiles: [join(import.meta.dirname, "scripts", "turn.mjs")],
    // A hang is found all the same, and a machine that is busy with other work is none.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    // All cores: a test waits for sockets and processes as often as it computes, and the default leaves one core to nobody.
    maxWorkers: "100%",
    minWorkers: 1,
    sequence: { sequencer: LongFirst },
    // What is imported stays for the next file of tests: half of what most of them take is imports.
    poolOptions: { threads: { isolate: false }, forks: { isolate: false } },
    // Lines: what differs in ten thousand of them would keep a worker busy for minutes, and vitest gives it up after one.
    diff: { truncateThreshold: 1_000 },
    reporters: ["default", "./scripts/SummaryReporter.mjs"],
    server: { deps: { external: [/packages\/proto(-v2)?\/gen\//] } }
  }
})
