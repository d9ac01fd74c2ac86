/**
 * The state of a stream as JSON: it can be printed, compared, stored and restored. A restored stream continues like the
 * recorded one.
 *
 * Each object is written once, so shared objects stay shared: for example a state of the group that a phase remembers. Caches
 * are left out.
 *
 * @since 0.1.0
 */
import { base64Decode, base64Encode } from "@bufbuild/protobuf/wire"
import * as Data from "effect/Data"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import { BeforeDraft } from "../resource/Before.js"
import * as NameTrie from "../resource/NameTrie.js"
import { ResourceGroup } from "../resource/ResourceGroup.js"
import { ResourceSet } from "../resource/ResourceSet.js"
import type { ServerStream } from "./StreamState.js"
import * as NameSet from "./NameSet.js"
import * as NameTable from "./NameTable.js"

/**
 * A value in a record: itself, or `["ref", place]` for an object in the record, or `["value", text]` for a value that JSON
 * lacks (`undefined`, `Infinity`).
 *
 * @since 0.1.0
 */
export type RecordedValue = string | number | boolean | null | readonly ["ref", number] | readonly ["value", string]

/**
 * An object in a record: its kind, and its fields, entries or items. Bytes are base64.
 *
 * @since 0.1.0
 */
export interface RecordedObject {
  readonly is:
    | "Object"
    | "Array"
    | "Map"
    | "Set"
    | "HashMap"
    | "NameTrie"
    | "NameTable"
    | "NameSet"
    | "Bytes"
    | "ResourceSet"
    | "ResourceGroup"
  readonly of: ReadonlyArray<RecordedValue | readonly [RecordedValue, RecordedValue]>
}

/**
 * A stream as JSON: each object after those that it refers to, the stream last.
 *
 * @since 0.1.0
 */
export type StreamRecord = ReadonlyArray<RecordedObject>

/**
 * Error: JSON that is not the record of a stream.
 *
 * @since 0.1.0
 */
export class InvalidRecord extends Data.TaggedError("InvalidRecord")<{ readonly reason: string }> {
  override get message(): string {
    return `this is not the record of a stream: ${this.reason}; give what StreamRecord.toJSON gave`
  }
}

/**
 * Records a stream. Equal histories give equal records.
 *
 * @since 0.1.0
 */
export const toJSON = (stream: ServerStream): StreamRecord => {
  const record: Array<RecordedObject> = []
  const places = new Map<object, number>()
  const valueOf = (value: unknown): RecordedValue => {
    if (typeof value === "string" || typeof value === "boolean" || value === null) return value
    if (typeof value === "number" && Number.isFinite(value)) return value
    if (typeof value === "number") return ["value", String(value)]
    if (typeof value !== "object") return ["value", "undefined"]
    const known = places.get(value)
    if (known !== undefined) return ["ref", known]
    const place = record.push(objectOf(value)) - 1
    places.set(value, place)
    return ["ref", place]
  }
  const pairsOf = (entries: Iterable<readonly [unknown, unknown]>) =>
    Array.from(entries, ([key, value]) => [valueOf(key), valueOf(value)] as const)
  const objectOf = (value: object): RecordedObject => {
    if (Array.isArray(value)) return { is: "Array", of: value.map(valueOf) }
    if (value instanceof Uint8Array) return { is: "Bytes", of: [base64Encode(value)] }
    if (value instanceof Map || value instanceof BeforeDraft) return { is: "Map", of: pairsOf(value) }
    if (value instanceof Set) return { is: "Set", of: Array.from(value, valueOf) }
    if (HashMap.isHashMap(value)) return { is: "HashMap", of: pairsOf(value) }
    if (value instanceof NameTrie.NameTrie) return { is: "NameTrie", of: pairsOf(value) }
    if (value instanceof NameTable.NameTable) return { is: "NameTable", of: pairsOf(value) }
    if (value instanceof NameSet.NameSet) return { is: "NameSet", of: Array.from(value, valueOf) }
    // Held versions that many clients share.
    if (isHeld(value)) return { is: "Map", of: pairsOf(value) }
    const of = pairsOf(Object.entries(value))
    if (value instanceof ResourceGroup) return { is: "ResourceGroup", of }
    return { is: value instanceof ResourceSet ? "ResourceSet" : "Object", of }
  }
  valueOf(stream)
  return record
}

const isHeld = (value: object): value is Iterable<readonly [string, string]> =>
  Symbol.iterator in value && "compare" in value

const isList = (value: unknown): value is ReadonlyArray<unknown> => Array.isArray(value)

const objectFrom = (entries: Iterable<readonly [unknown, unknown]>): object => {
  const made: Record<string, unknown> = {}
  for (const [name, value] of entries) made[String(name)] = value
  return made
}

/**
 * Restores a stream from its record. Fails with {@link InvalidRecord}.
 *
 * @since 0.1.0
 */
export const fromJSON = (record: StreamRecord): Either.Either<ServerStream, InvalidRecord> => {
  const objects: Array<unknown> = []
  const valueOf = (value: unknown): unknown => {
    if (!isList(value)) return value
    const [tag, of] = value
    if (tag === "ref") return typeof of === "number" ? objects[of] : undefined
    return of === "undefined" ? undefined : Number(of)
  }
  const pairOf = (pair: unknown): [unknown, unknown] =>
    isList(pair) ? [valueOf(pair[0]), valueOf(pair[1])] : [undefined, undefined]
  const objectOf = ({ is, of }: RecordedObject): unknown => {
    switch (is) {
      case "Array":
        return of.map(valueOf)
      case "Bytes":
        return base64Decode(String(of[0]))
      case "Map":
        return new Map(of.map(pairOf))
      case "Set":
        return new Set(of.map(valueOf))
      case "HashMap":
        return HashMap.fromIterable(of.map(pairOf))
      case "NameTrie":
        return NameTrie.fromIterable(of.map(pairOf).map(([name, value]) => [String(name), value]))
      case "NameTable":
        return NameTable.fromIterable(of.map(pairOf).map(([name, value]) => [String(name), value]))
      case "NameSet":
        return NameSet.fromIterable(of.map((name) => String(valueOf(name))))
      case "ResourceGroup":
      case "ResourceSet":
      case "Object": {
        const made = objectFrom(of.map(pairOf))
        if (is === "ResourceSet" && isSetFields(made)) return new ResourceSet(made)
        if (is === "ResourceGroup" && "sets" in made && isSets(made.sets)) {
          const whole = "whole" in made && made.whole instanceof ResourceGroup ? made.whole : undefined
          return new ResourceGroup(made.sets, whole)
        }
        return made
      }
    }
  }
  try {
    for (const each of record) objects.push(objectOf(each))
  } catch (cause) {
    return Either.left(new InvalidRecord({ reason: String(cause) }))
  }
  const stream = objects.at(-1)
  return isStream(stream) ? Either.right(stream) : Either.left(new InvalidRecord({ reason: "it has no stream" }))
}

// Fields are as they were recorded, so these checks only tell the kinds of objects apart.

const isSetFields = (value: object): value is ConstructorParameters<typeof ResourceSet>[0] =>
  "cursor" in value && "fingerprints" in Object(value.cursor)

const isSets = (value: unknown): value is ResourceGroup["sets"] =>
  value instanceof Map && Array.from(value.values()).every((set) => set instanceof ResourceSet)

const isStream = (value: unknown): value is ServerStream =>
  typeof value === "object" && value !== null && "subscriptions" in value && "round" in value && "options" in value
