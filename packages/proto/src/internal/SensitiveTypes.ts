/** What of each type can be sensitive, from the tables of the packages that are known. */
import * as GeneratedFiles from "./GeneratedFiles.js"

/** How to go on from a field. */
export type Kind =
  /** The value itself is sensitive. */
  | { readonly _tag: "Value" }
  /** A sensitive `DataSource`: `envoy.config.core.v3`, `envoy.api.v2.core`. */
  | { readonly _tag: "Source" }
  /** Everything in the message is sensitive, whatever it is. */
  | { readonly _tag: "Everything" }
  | { readonly _tag: "Any" }
  /** A message that can hold something sensitive. */
  | { readonly _tag: "Message"; readonly fields: Fields }
  /** A map; the kind is that of its values. */
  | { readonly _tag: "Map"; readonly value: Kind }

export type Fields = Map<number, Kind>

const parse = (lines: ReadonlyArray<string>): ReadonlyMap<string, Fields> => {
  const names = lines.map((line) => line.split(" ", 1)[0]?.replace("~", "envoy.") ?? "")
  const fields: ReadonlyArray<Fields> = lines.map(() => new Map())
  const kindOf = (code: string): Kind => {
    switch (code[0]) {
      case "m":
        return { _tag: "Map", value: kindOf(code.slice(1)) }
      case "!":
        return { _tag: "Value" }
      case "d":
        return { _tag: "Source" }
      case "@":
        return { _tag: "Any" }
      case ">": {
        const inner = fields[Number(code.slice(1))]
        return inner === undefined ? { _tag: "Everything" } : { _tag: "Message", fields: inner }
      }
      default:
        return { _tag: "Everything" }
    }
  }
  for (const [index, line] of lines.entries()) {
    for (const field of line.split(" ").slice(1)) {
      const number = parseInt(field, 10)
      fields[index]?.set(number, kindOf(field.slice(String(number).length)))
    }
  }
  return new Map(names.map((name, index) => [name, fields[index] ?? new Map()]))
}

/** The tables of the packages that are known, each parsed when something is looked for the first time; none ever changes. */
const parsed: Array<ReadonlyMap<string, Fields>> = []

/** What to look at in a message of a type that can hold something sensitive. */
export const fieldsOf = (name: string): Fields | undefined => {
  for (const [index, { sensitive }] of GeneratedFiles.packages.entries()) {
    const found = (parsed[index] ??= parse(sensitive.split("\n"))).get(name)
    if (found !== undefined) return found
  }
  return undefined
}

/** What follows the last `/` of a type URL. */
export const nameOf = (typeNameOrUrl: string): string => typeNameOrUrl.slice(typeNameOrUrl.lastIndexOf("/") + 1)

export const anyName = "google.protobuf.Any"

const typedStructs: ReadonlySet<string> = new Set(["xds.type.v3.TypedStruct", "udpa.type.v1.TypedStruct"])

/** Whether messages of the type are JSON in place of a message of another type. */
export const isTypedStruct = (name: string): boolean => typedStructs.has(name)

export const isKnown = (name: string): boolean => GeneratedFiles.has(name) || name.startsWith("google.protobuf.")

/** Whether a message of the type can hold something sensitive. */
export const canHold = (name: string): boolean =>
  fieldsOf(name) !== undefined || name === anyName || isTypedStruct(name) || !isKnown(name)

/** Of each package that is known, as with the tables. */
const named: Array<ReadonlySet<string>> = []

/** A name as it is in both of its ways to write it, `private_key` and `privateKey`. */
const written = (name: string): string => name.replaceAll("_", "").toLowerCase()

/**
 * Whether a field with this name is sensitive in some message.
 *
 * @param around the name of the field that the message is in
 */
export const isSensitiveName = (name: string, around: string): boolean =>
  GeneratedFiles.packages.some(({ sensitiveNames }, index) => {
    const names = (named[index] ??= new Set(written(sensitiveNames).split("\n")))
    return names.has(written(name)) || names.has(written(`${around}.${name}`))
  })
