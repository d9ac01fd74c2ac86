/**
 * Before all tests: the built program as the package has it, as few files with everything in them. Most tests start it, many times,
 * and to read some hundred modules takes Node four times as long as what they then do. That what is published can be read,
 * modules.test.ts and program.test.ts see.
 */
import { execFileSync } from "node:child_process"
import { chmodSync, copyFileSync, mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type { TestProject } from "vitest/node"

declare module "vitest" {
  export interface ProvidedContext {
    /** The path of its main module. */
    readonly bundledProgram: string
  }
}

const home = fileURLToPath(new URL("..", import.meta.url))

export default (project: TestProject): (() => void) => {
  const directory = mkdtempSync(join(tmpdir(), "xds-cli-program-"))
  // Other users run it, too.
  chmodSync(directory, 0o755)
  // The version in it is printed; and what is not in the files is there.
  copyFileSync(join(home, "package.json"), join(directory, "package.json"))
  symlinkSync(join(home, "node_modules"), join(directory, "node_modules"))
  execFileSync(process.execPath, [join(home, "scripts", "bundle.mjs"), join(directory, "dist")])
  project.provide("bundledProgram", join(directory, "dist", "Process.js"))
  return () => rmSync(directory, { recursive: true, force: true })
}
