/**
 * The key of a scope (SRDS): a request belongs to the scope whose key is the one that its headers make.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/scoped_route.proto
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type { ScopedRoutes_ScopeKeyBuilder } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Either from "effect/Either"
import * as Steps from "../Steps.js"
import { fields } from "../wire/Wire.js"
import type { Resource } from "./Resource.js"

/** envoy.config.route.v3.ScopedRouteConfiguration */
const KEY = 3
/** envoy.config.route.v3.ScopedRouteConfiguration.Key */
const FRAGMENTS = 1
/** envoy.config.route.v3.ScopedRouteConfiguration.Key.Fragment */
const STRING_KEY = 1

/**
 * How one fragment of a key is made from a header: its value is divided into elements, and one of them counts.
 *
 * @since 0.1.0
 */
export interface Fragment {
  readonly header: string
  /** What stands between elements. Empty: the value is one element. */
  readonly elementSeparator: string
  readonly extract:
    /** The element at a place, from 0. */
    | { readonly _tag: "Index"; readonly index: number }
    /** What follows the separator in the first element that begins with the key. */
    | { readonly _tag: "Element"; readonly key: string; readonly separator: string }
}

/**
 * How the key of a request is made: `ScopedRoutes.scope_key_builder` of an HTTP connection manager.
 *
 * @since 0.1.0
 */
export type Builder = ReadonlyArray<Fragment>

/**
 * What is wrong with a message, and where in it.
 *
 * @since 0.1.0
 */
export interface Invalid {
  readonly path: string
  readonly reason: string
}

const invalid = (path: string, reason: string): Either.Either<never, Invalid> => Either.left({ path, reason })

const fragmentIn = (
  { type }: ScopedRoutes_ScopeKeyBuilder["fragments"][number],
  path: string
): Either.Either<Fragment, Invalid> => {
  if (type.case !== "headerValueExtractor") return invalid(path, "no header_value_extractor is set; set one")
  const { elementSeparator, extractType, name: header } = type.value
  const at = `${path}.header_value_extractor`
  if (header === "") return invalid(`${at}.name`, "the name is empty; name a header")
  switch (extractType.case) {
    case "index":
      return elementSeparator === "" && extractType.value > 0
        ? invalid(`${at}.index`, `is ${extractType.value} without an element_separator; set one, or use index 0`)
        : Either.right({ header, elementSeparator, extract: { _tag: "Index", index: extractType.value } })
    case "element": {
      const { key, separator } = extractType.value
      if (key === "") return invalid(`${at}.element.key`, "the key is empty; name an element")
      if (separator === "") return invalid(`${at}.element.separator`, "the separator is empty; set one")
      return Either.right({ header, elementSeparator, extract: { _tag: "Element", key, separator } })
    }
    case undefined:
      return invalid(at, "neither index nor element is set; set one")
  }
}

/**
 * Reads a `scope_key_builder`.
 *
 * @since 0.1.0
 */
export const builderOf = (message: ScopedRoutes_ScopeKeyBuilder | undefined): Either.Either<Builder, Invalid> => {
  const fragments = message?.fragments ?? []
  if (fragments.length === 0) return invalid("scope_key_builder", "has no fragments; add one")
  return Either.all(fragments.map((each, index) => fragmentIn(each, `scope_key_builder.fragments[${index}]`)))
}

/**
 * The key of these fragments, as text.
 *
 * @since 0.1.0
 */
export const make = (fragments: ReadonlyArray<string>): string => JSON.stringify(fragments)

const fragmentOf = ({ elementSeparator, extract }: Fragment, value: string): string | undefined => {
  const elements = elementSeparator === "" ? [value] : value.split(elementSeparator)
  if (extract._tag === "Index") return elements[extract.index]
  for (const element of elements) {
    const at = extract.separator === "" ? -1 : element.indexOf(extract.separator)
    // ★ An element without a separator is a key with an empty value.
    if ((at < 0 ? element : element.slice(0, at)) === extract.key) {
      return at < 0 ? "" : element.slice(at + extract.separator.length)
    }
  }
  return undefined
}

/**
 * The key that the headers of a request make; `undefined`: one of them is missing, or has no such element. Such a request is of
 * no scope.
 *
 * @param header the first value of a header, by its name in lower case. ★ Strangers send it: Envoy looks at the first value only.
 * @since 0.1.0
 */
export const ofHeaders = (builder: Builder, header: (name: string) => string | undefined): string | undefined => {
  const made: Array<string> = []
  for (const fragment of builder) {
    const value = header(fragment.header.toLowerCase())
    const part = value === undefined ? undefined : fragmentOf(fragment, value)
    if (part === undefined) return undefined
    made.push(part)
  }
  return make(made)
}

/**
 * The key of an encoded ScopedRouteConfiguration, alone in a list; none if it has no fragments. Throws for malformed bytes. ★ Two
 * scopes with one key would be chosen by chance: a client rejects the second.
 *
 * @since 0.1.0
 */
export const keysOf = (scope: Uint8Array): ReadonlyArray<string> => {
  const fragments: Array<string> = []
  fields(scope, (reader, field, type) => {
    if (field !== KEY || type !== WireType.LengthDelimited) return false
    fields(reader.bytes(), (reader, field, type) => {
      if (field !== FRAGMENTS || type !== WireType.LengthDelimited) return false
      fragments.push(textOf(reader.bytes()))
      return true
    })
    return true
  })
  return fragments.length === 0 ? [] : [make(fragments)]
}

const textOf = (fragment: Uint8Array): string => {
  let text = ""
  fields(fragment, (reader, field, type) => {
    if (field !== STRING_KEY || type !== WireType.LengthDelimited) return false
    text = reader.string()
    return true
  })
  return text
}

/**
 * Tells of a removed scope whether one of the changed scopes has its key now. ★ Such a scope must go in the same response: a client
 * that still has it rejects the other one, which would not be sent again. Resources of other types have no keys.
 *
 * @since 0.1.0
 */
export const takenBy = function* (
  typeUrl: string,
  changed: ReadonlyArray<Pick<Resource, "value">>
): Steps.Steps<(removed: Pick<Resource, "value">) => boolean> {
  if (changed.length === 0 || !ResourceType.isOf(typeUrl, ResourceType.ScopedRouteConfiguration)) return () => false
  const taken = new Set<string>()
  let count = 0
  for (const each of changed) {
    for (const key of legible(each)) taken.add(key)
    if (++count % Steps.atOnce === 0) yield
  }
  return (removed) => legible(removed).some((key) => taken.has(key))
}

/** The keys of a scope; none if it is malformed: a client rejects it for that. */
const legible = ({ value }: Pick<Resource, "value">): ReadonlyArray<string> => {
  try {
    return keysOf(value)
  } catch {
    return []
  }
}
