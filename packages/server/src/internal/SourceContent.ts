/** The type and the content of a resource in any of its forms. */
import type { DescMessage } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import type * as Steps from "@effect-xds/core/Steps"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as Reason from "@effect-xds/proto/Reason"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Effect from "effect/Effect"
import type { SnapshotError } from "../snapshot/SnapshotError.js"
import type { Entry, Source } from "../snapshot/Source.js"

export const isAny = (source: Source): source is Any =>
  "$typeName" in source && source.$typeName === "google.protobuf.Any"

/** The bytes of a source that is given encoded. */
export const bytesOf = (source: Source): Uint8Array | undefined =>
  isAny(source) ? source.value : "$typeName" in source ? undefined : source.value

/** Type URLs of the table by URL and by type name, so that all resources of a type share one string. */
const typeUrls: ReadonlyMap<string, string> = new Map(
  ResourceType.ofAllApis.flatMap(({ typeName, typeUrl }) => [
    [typeName, typeUrl],
    [typeUrl, typeUrl]
  ])
)

/** The type URL, with `type.googleapis.com/`. */
export const typeUrlOf = (source: Source): string => {
  const given = isAny(source) || !("$typeName" in source) ? source.typeUrl : source.$typeName
  return typeUrls.get(given) ?? `type.googleapis.com/${TypeRegistry.typeName(given)}`
}

/** Never invalidated: schemas do not change, and only known types are in it. */
const schemas = new Map<string, DescMessage>()

/** Types of v2 are known if the application loaded `@effect-xds/proto-v2`. */
const schemaOf = (typeUrl: string): Promise<DescMessage | undefined> => {
  const type = ResourceType.byTypeUrl(typeUrl)
  return type?.api === "v3" ? type.load() : TypeRegistry.load(typeUrl)
}

/** The schema of a type, if it is loaded and known. */
export const schema = (typeUrl: string): DescMessage | undefined => schemas.get(typeUrl)

/** Loads missing schemas; `undefined` if there are none, as for all but the first resources of a type. */
export const loadSchemas = (entries: ReadonlyArray<Pick<Entry, "source">>): Effect.Effect<void> | undefined => {
  let missing: Set<string> | undefined
  for (const { source } of entries) {
    const typeUrl = typeUrlOf(source)
    if (!schemas.has(typeUrl)) (missing ??= new Set()).add(typeUrl)
  }
  if (missing === undefined) return undefined
  return Effect.forEach(
    missing,
    (typeUrl) =>
      Effect.promise(() => schemaOf(typeUrl)).pipe(
        Effect.tap((schema) => {
          if (schema !== undefined) schemas.set(typeUrl, schema)
        })
      ),
    { discard: true }
  )
}

/** Why there are no bytes. */
export interface Problem {
  readonly reason: SnapshotError["reason"]
  readonly detail: string
}

/** The bytes, which are those that were given, and what of them is large. */
export type Content = MessageSteps.Encoded

/** Nothing. */
const small: MessageSteps.Large = { has: () => false }

/** Why bytes are not decoded, or a message is not encoded. */
const problemOf = (typeUrl: string, given: Uint8Array | undefined, cause: unknown): Problem =>
  given === undefined
    ? { reason: "Unencodable", detail: `it cannot be encoded: ${Reason.of(cause)}` }
    : {
        reason: "Undecodable",
        detail: `${given.byteLength} bytes are not a message of type ${TypeRegistry.typeName(typeUrl)}: ${Reason.of(cause)}`
      }

/**
 * The bytes, or why there are none; `undefined`: it is large, and encoded in steps. `isLent`: bytes that are made here may be lent,
 * until `MessageSteps.giveBack`.
 */
export const encodeSmall = (source: Source, typeUrl: string, isLent = false): Uint8Array | Problem | undefined => {
  const schema = schemas.get(typeUrl)
  const given = bytesOf(source)
  try {
    if (given !== undefined) {
      if (schema === undefined) return given
      if (given.byteLength >= MessageSteps.least) return undefined
      MessageBytes.check(schema, given)
      return given
    }
    if ("$typeName" in source && schema !== undefined) return MessageSteps.encodeSmall(schema, source, isLent)
    return { reason: "Unencodable", detail: "it is neither a message nor bytes" }
  } catch (cause) {
    return problemOf(typeUrl, given, cause)
  }
}

/** The same of what is large. */
export const encodeInSteps = function* (source: Source, typeUrl: string): Steps.Steps<Content | Problem> {
  const schema = schemas.get(typeUrl)
  const given = bytesOf(source)
  try {
    if (schema !== undefined && given !== undefined) yield* MessageSteps.check(schema, given)
    if (schema !== undefined && given === undefined && "$typeName" in source)
      return yield* MessageSteps.encode(schema, source)
    return { bytes: given ?? new Uint8Array(), large: small }
  } catch (cause) {
    return problemOf(typeUrl, given, cause)
  }
}
