// The test projects: every package that has tests, by name.
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

export default ["packages", "examples"]
  .map((folder) => join(import.meta.dirname, folder))
  .filter((folder) => existsSync(folder))
  .flatMap((folder) => readdirSync(folder).map((name) => ({ name, root: join(folder, name) })))
  .filter(({ root }) => existsSync(join(root, "package.json")))
  .map(({ name, root }) => ({
    extends: true as const,
    test: { name, root, include: ["test/**/*.test.ts"] }
  }))
