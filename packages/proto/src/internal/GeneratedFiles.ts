/** Which generated files there are: those of this package, and those that were added. */
import type { DescFile } from "@bufbuild/protobuf"
import { files, types } from "#generated-types"
import { names, table } from "./SensitiveTable.js"

/**
 * What a package with generated types has beside them: which file defines what, and what can hold something sensitive.
 *
 * @since 0.1.0
 */
export interface GeneratedTypes {
  /** One loader for each generated file. */
  readonly files: ReadonlyArray<() => Promise<DescFile>>
  /** Fully qualified type name → index in `files`. */
  readonly types: ReadonlyMap<string, number>
  /** The messages that can hold something sensitive, as `scripts/sensitive.mjs` writes them. */
  readonly sensitive: string
  /** The names of fields that are sensitive, a line each, as `scripts/sensitive.mjs` writes them. */
  readonly sensitiveNames: string
}

/** The first are this package's own. */
export const packages: Array<GeneratedTypes> = [{ files, types, sensitive: table, sensitiveNames: names }]

/** Whether a generated file defines a type with this name. */
export const has = (name: string): boolean => packages.some(({ types }) => types.has(name))

/** Imports the file that defines a type; `undefined`: none does. */
export const load = async (name: string): Promise<DescFile | undefined> => {
  for (const { files, types } of packages) {
    const index = types.get(name)
    if (index !== undefined) return files[index]?.()
  }
  return undefined
}
