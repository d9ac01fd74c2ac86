// The test projects.
//
// Most packages are one each, in threads that keep their modules. In processes are `cli`; `processes`, whose tests start processes and
// wait for them; and what would leave something to the next, each file in a process of its own. A project's threads are waited for
// before the next one's begin, and so are its processes.
import { existsSync, readdirSync } from "node:fs"
import { basename, join } from "node:path"

const here = (path: string): string => join(import.meta.dirname, path)

const alone = [
  // They count how often a method of the language is called: where one was ever replaced, what calls it stays slow.
  "packages/core/test/LargeRequest.test.ts",
  "packages/routing/test/badInput.test.ts",
  "packages/core/test/NameMap.test.ts",
  // It leaves no tags of groups' metrics for the next.
  "packages/server/test/strangers.test.ts",
  // They exchange modules, or set the user of their process.
  "packages/client/test/replay.test.ts",
  "packages/transport-filesystem/test/ChangingFile.test.ts",
  "packages/transport-filesystem/test/EntryWatch.test.ts",
  "packages/transport-filesystem/test/Parts.test.ts",
  "packages/transport-filesystem/test/PassingFault.test.ts",
  "packages/transport-filesystem/test/ReadingDefect.test.ts",
  "packages/transport-filesystem/test/ResourceDirectory.test.ts",
  "packages/transport-filesystem/test/ResponseDirectory.test.ts",
  "packages/transport-filesystem/test/ResponseFile.test.ts",
  // It takes longer than all others of its package, whose other thread would wait for it.
  "packages/transport-filesystem/test/PlainYaml.test.ts"
]

/**
 * What takes long and would begin late, where a core would wait for it: vitest begins with the largest files. The packages
 * whose files do not fill two threads come first: processes fill what they leave, for as long as there are any.
 */
export const long = [
  // In threads.
  "packages/transport-rest/test/strangers.test.ts",
  "packages/server/test/counts.test.ts",
  "packages/server/test/strangers.test.ts",
  // In processes.
  "packages/transport-filesystem/test/PlainYaml.test.ts",
  "packages/discovery-node/test/envoy.test.ts",
  "examples/grpc/test/demo.test.ts",
  "examples/replicas/test/main.test.ts",
  "examples/grpc/test/corrections.test.ts",
  "examples/client/test/main.test.ts",
  "packages/cli/test/mistakes.envoy.test.ts",
  "packages/cli/test/serve.test.ts",
  "packages/cli/test/client.test.ts",
  "packages/cli/test/program.test.ts",
  "packages/core/test/LargeRequest.test.ts",
  "packages/transport-filesystem/test/ResponseDirectory.test.ts"
].map(here)

/** More than a minute of calls by six clients: `npm run interop`. On a busy machine they fail for want of time. */
const judge = process.env["XDS_INTEROP"] === undefined ? ["examples/interop/test/scenarios.test.ts"] : []

/** In one project, so that one waits while the other computes. */
const processes = [
  "examples/*/test/**/*.test.ts",
  "packages/discovery-node/test/envoy.test.ts",
  "packages/store-sql/test/**/*.test.ts"
]

const packages = readdirSync(here("packages"))
  .filter((name) => name !== "store-sql" && existsSync(here(`packages/${name}/package.json`)))
  .map((name) => ({
    extends: true as const,
    test: {
      name,
      root: here(`packages/${name}`),
      include: ["test/**/*.test.ts"],
      exclude: [...alone, ...processes].map(here),
      globalSetup: name === "cli" ? [here("packages/cli/test/bundledProgram.ts")] : [],
      pool: name === "cli" ? ("forks" as const) : ("threads" as const)
    }
  }))

const inProcesses = (name: string, include: ReadonlyArray<string>) => ({
  extends: true as const,
  test: { name, root: import.meta.dirname, include: [...include], exclude: judge, pool: "forks" as const }
})

export default [
  ...packages,
  inProcesses("processes", processes),
  ...alone.map((file) => inProcesses(`alone-${basename(file, ".test.ts")}`, [file]))
]
