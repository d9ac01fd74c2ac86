// How a generated module becomes a descriptor. scripts/generate.mjs puts it into each gen/, in place of protobuf-es' function.
import { fileDesc as fromImports } from "@bufbuild/protobuf/codegenv2"

const seen = new WeakMap()

/** A file as those see it who import it: with its types and what it imports publicly, and nothing else that it imports. */
const asImported = (file) => {
  let known = seen.get(file)
  if (known === undefined) {
    known = { ...file, dependencies: file.proto.publicDependency.map((index) => asImported(file.dependencies[index])) }
    seen.set(file, known)
  }
  return known
}

/**
 * The same as protobuf-es makes. That one looks for a field's type in all files below the one that it makes, and goes to each of them
 * by every way there is: before the first cluster, through thousands for each of a hundred files. A type is in a file that is
 * imported, or publicly imported by that one; no others are given to it.
 */
export const fileDesc = (base64, imports = []) => {
  const file = fromImports(base64, imports.map(asImported))
  file.dependencies.splice(0, file.dependencies.length, ...imports)
  return file
}
