/**
 * Resources as text for people and programs: rows of a table, JSON, YAML.
 *
 * @since 0.1.0
 */
import type { DescMessage, JsonValue, Message } from "@bufbuild/protobuf"
import { toBinary, toJson } from "@bufbuild/protobuf"
import * as MessageBytes from "@effect-xds/proto/MessageBytes"
import type * as ResourceType from "@effect-xds/proto/ResourceType"
import { redacted } from "@effect-xds/proto/Redaction"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { stringify } from "yaml"

/**
 * A resource that was had from somewhere.
 *
 * @since 0.1.0
 */
export interface Found {
  readonly type: ResourceType.ResourceType
  readonly name: string
  readonly version: string
  readonly value: Message
}

/**
 * The format of what a command prints.
 *
 * @since 0.1.0
 */
export type Format = "table" | "json" | "yaml"

/**
 * A message as canonical JSON. One that holds an `Any` of a type that is not known, which has no JSON, is its bytes in
 * base64 under the key `value`. Unless secrets are to be shown, `[redacted]` stands for what Envoy's API marks as
 * sensitive, and for a message that cannot be looked into.
 *
 * @since 0.1.0
 */
export const json = async (schema: DescMessage, value: Message, isShown: boolean): Promise<JsonValue> =>
  isShown ? plainJson(schema, value) : redactedJson(schema, value)

const redactedJson = async (schema: DescMessage, value: Message): Promise<JsonValue> => {
  // Only who prints resources needs it.
  const { redact } = await import("@effect-xds/proto/MessageRedaction")
  const copy = MessageBytes.decode(schema, toBinary(schema, value))
  try {
    await redact(schema, copy)
  } catch {
    return { value: redacted }
  }
  return plainJson(schema, copy)
}

const plainJson = async (schema: DescMessage, value: Message): Promise<JsonValue> => {
  const registry = await TypeRegistry.forMessage(schema, value)
  try {
    return toJson(schema, value, { registry, useProtoFieldName: true })
  } catch {
    return { value: Buffer.from(toBinary(schema, value)).toString("base64") }
  }
}

/**
 * A resource as JSON, with its type: what the files of `serve` hold.
 *
 * @since 0.1.0
 */
export const withType = async (
  { type, value }: Pick<Found, "type" | "value">,
  isShown: boolean
): Promise<Record<string, JsonValue>> => {
  const body = await json(await type.load(), value, isShown)
  return { "@type": type.typeUrl, ...(typeof body === "object" && !Array.isArray(body) ? body : {}) }
}

/**
 * A message from its bytes, which were read as one before.
 *
 * @since 0.1.0
 */
export const decode = async (type: ResourceType.ResourceType, bytes: Uint8Array): Promise<Message> =>
  MessageBytes.decode(await type.load(), bytes)

/**
 * YAML documents, each after a line `---`. Names such as `no`, which readers of YAML 1.1 take for something else, are quoted.
 *
 * @since 0.1.0
 */
export const yaml = (documents: ReadonlyArray<unknown>): string =>
  documents
    .map((document) => stringify(document, { lineWidth: 0, compat: "yaml-1.1" }))
    .join("---\n")
    .replace(/\n$/, "")

/** What a peer writes must not move the cursor, or look like a line of its own. */
const oneLine = (text: string): string => text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ")

/**
 * Columns that are as wide as they need to be; the first row is the heading.
 *
 * @since 0.1.0
 */
export const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const clean = rows.map((row) => row.map(oneLine))
  const widths: Array<number> = []
  for (const row of clean) {
    row.forEach((cell, column) => (widths[column] = Math.max(widths[column] ?? 0, cell.length)))
  }
  return clean
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd()
    )
    .join("\n")
}
