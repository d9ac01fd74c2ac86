// The test projects: every package that has tests, by name.
//
// They run in threads that keep their modules; but not those that start processes and little else, and not those that would
// leave something to the next in their thread.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

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
  "packages/transport-filesystem/test/Parts.test.ts",
  "packages/transport-filesystem/test/ReadingDefect.test.ts",
  "packages/transport-filesystem/test/ResourceDirectory.test.ts",
  "packages/transport-filesystem/test/ResponseDirectory.test.ts",
  "packages/transport-filesystem/test/ResponseFile.test.ts",
  // It takes longer than all others of its package, whose other thread would wait for it.
  "packages/transport-filesystem/test/PlainYaml.test.ts"
].map(here)

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
  "examples/envoy/test/envoy.test.ts",
  "examples/envoy/test/heartbeat.test.ts",
  "packages/cli/test/mistakes.envoy.test.ts",
  "packages/cli/test/serve.test.ts",
  "packages/core/test/LargeRequest.test.ts",
  "packages/cli/test/client.test.ts",
  "packages/cli/test/program.test.ts",
  "examples/client/test/main.test.ts",
  "packages/transport-filesystem/test/ResponseDirectory.test.ts",
  "examples/grpc/test/demo.test.ts"
].map(here)

/** More than a minute of calls by six clients: `npm run interop`. On a busy machine they fail for want of time. */
const judge = process.env["XDS_INTEROP"] === undefined ? [here("examples/interop/test/scenarios.test.ts")] : []

const packages = ["packages", "examples"]
  .filter((folder) => existsSync(join(import.meta.dirname, folder)))
  .flatMap((folder) =>
    readdirSync(join(import.meta.dirname, folder)).map((name) => ({
      // A package and an example may have one name.
      name: folder === "examples" ? `example-${name}` : name,
      root: join(import.meta.dirname, folder, name)
    }))
  )
  .filter(({ root }) => existsSync(join(root, "package.json")))
  .map(({ name, root }) => ({
    extends: true as const,
    test: {
      name,
      root,
      include: ["test/**/*.test.ts"],
      exclude: [...alone, ...judge],
      globalSetup: name === "cli" ? [join(root, "test", "bundledProgram.ts")] : [],
      pool: /^(cli|example-.*)$/.test(name) ? ("forks" as const) : ("threads" as const)
    }
  }))

export default [
  ...packages,
  {
    extends: true as const,
    test: { name: "alone", root: import.meta.dirname, include: alone, pool: "forks" as const }
  }
]
