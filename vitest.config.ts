import { join } from "node:path"
import { defineConfig } from "vitest/config"
import projects from "./vitest.workspace.ts"

// Tests run on the sources of our packages: the condition is the first in each package's exports.
const conditions = ["@effect-xds/source", "module", "node", "import", "default"]

export default defineConfig({
  resolve: { conditions },
  ssr: { resolve: { conditions } },
  test: {
    projects,
    setupFiles: [join(import.meta.dirname, "scripts", "turn.mjs")],
    // A hang is found all the same, and a machine that is busy with other work is none.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // All cores: a test waits for sockets and processes as often as it computes, and the default leaves one core to nobody.
    maxWorkers: "100%",
    minWorkers: 1,
    // What is imported stays for the next file of tests: half of what most of them take is imports.
    poolOptions: { threads: { isolate: false } },
    // Lines: what differs in ten thousand of them would keep a worker busy for minutes, and vitest gives it up after one.
    diff: { truncateThreshold: 1_000 },
    reporters: ["default", "./scripts/SummaryReporter.mjs"],
    server: { deps: { external: [/packages\/proto\/gen\//] } }
  }
})
