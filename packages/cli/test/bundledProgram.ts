/**
 * Before all tests: the built program as few files with everything in them. Most tests start it, many times, and to read some
 * hundred modules takes Node four times as long as what they then do. That what is published can be read, modules.test.ts and
 * program.test.ts see.
 */
import { build } from "esbuild"
import { chmodSync, copyFileSync, mkdtempSync, rmSync } from "node:fs"
import { createRequire } from "node:module"
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

export default async (project: TestProject): Promise<() => void> => {
  const directory = mkdtempSync(join(tmpdir(), "xds-cli-program-"))
  // Other users run it, too.
  chmodSync(directory, 0o755)
  // The version in it is printed.
  copyFileSync(join(home, "package.json"), join(directory, "package.json"))
  await build({
    entryPoints: [join(home, "dist", "main.js")],
    outdir: join(directory, "dist"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // As Node resolves packages.
    conditions: ["node"],
    // Its drivers are binaries: tests of stores start the program as it is published.
    external: ["@effect-xds/store-sql/*"],
    mainFields: ["main"],
    // What is CommonJS in it asks for modules of Node.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
    plugins: [
      {
        name: "exports of CommonJS",
        setup: ({ onResolve }) => {
          // What is imported while it runs would have no names but `default`: Node finds them.
          onResolve({ filter: /^yaml$/ }, ({ kind, path }) =>
            kind === "dynamic-import"
              ? { path: createRequire(import.meta.url).resolve(path), external: true }
              : undefined
          )
        }
      }
    ],
    logLevel: "error"
  })
  project.provide("bundledProgram", join(directory, "dist", "main.js"))
  return () => rmSync(directory, { recursive: true, force: true })
}
