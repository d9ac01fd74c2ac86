// The test projects: every package that has tests, by name.
//
// They run in threads that keep their modules; but not those that exchange modules, set the user of their process, or start
// processes and little else.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

export default ["packages", "examples"]
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
      globalSetup: name === "cli" ? [join(root, "test", "bundledProgram.ts")] : [],
      pool: /^(cli|transport-filesystem|example-.*)$/.test(name) ? ("forks" as const) : ("threads" as const)
    }
  }))
