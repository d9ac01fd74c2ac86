/**
 * What the sensitive fields of an encoded message hold: private keys, passwords, session ticket keys, generic secrets and
 * whatever else Envoy's API marks with `udpa.annotations.sensitive`, at any depth, also inside of `google.protobuf.Any`.
 *
 * Works on bytes and with a table, so that nothing has to be loaded first: who must keep a text from the log has no time
 * to wait.
 *
 * @since 0.1.0
 */
import { base64Decode } from "@bufbuild/protobuf/wire"
import { StructSchema } from "@bufbuild/protobuf/wkt"
import * as MessageBytes from "./MessageBytes.js"
import type { Fields, Kind } from "./internal/SensitiveTypes.js"
import * as SensitiveTypes from "./internal/SensitiveTypes.js"
import { jsonOfStruct } from "./internal/StructSteps.js"
import * as TypedStruct from "./internal/TypedStruct.js"

/** Nobody nests messages deeper to be read; what is deeper counts as sensitive as a whole. */
const maxDepth = 100

const encoder = new TextEncoder()
const decoder = new TextDecoder()

/** Fields of one message, one after the other, without a copy and without an object for each. */
class Reader {
  field = 0
  /** Of the value of a length-delimited field: from `start` to `at`. */
  start = 0
  isDelimited = false
  private at = 0

  constructor(readonly bytes: Uint8Array) {}

  /** `false`: the end. Throws for what is no message. */
  next(): boolean {
    if (this.at >= this.bytes.byteLength) return false
    const tag = this.varint()
    this.field = Math.floor(tag / 8)
    this.isDelimited = false
    if (this.field === 0) throw new Error("field 0")
    switch (tag % 8) {
      case 0:
        this.varint()
        return true
      case 1:
        return this.skip(8)
      case 2: {
        const length = this.varint()
        this.isDelimited = true
        this.start = this.at
        return this.skip(length)
      }
      case 5:
        return this.skip(4)
      default:
        // Groups are not in proto3.
        throw new Error("wire type")
    }
  }

  value(): Uint8Array {
    return this.bytes.subarray(this.start, this.at)
  }

  private skip(length: number): true {
    this.at += length
    if (this.at > this.bytes.byteLength) throw new Error("end")
    return true
  }

  private varint(): number {
    let value = 0
    let unit = 1
    for (let count = 0; count < 10; count++) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw new Error("end")
      value += (byte & 0x7f) * unit
      if (byte < 0x80) return value
      unit *= 128
    }
    throw new Error("varint")
  }
}

const isMessage = (bytes: Uint8Array): boolean => {
  if (bytes.byteLength === 0) return false
  try {
    const reader = new Reader(bytes)
    while (reader.next()) {
      /* only whether it can be read */
    }
    return true
  } catch {
    return false
  }
}

/** Shorter ones that only may be sensitive say nothing, and looked for in a text they would leave nothing of it. */
const minUnknown = 6

/** Strings and bytes of a message of which nothing is known, and of those inside of it. */
const everything = (bytes: Uint8Array, depth: number, found: Array<Uint8Array>): void => {
  if (depth > maxDepth || !isMessage(bytes)) {
    found.push(bytes)
    return
  }
  const reader = new Reader(bytes)
  while (reader.next()) {
    if (!reader.isDelimited) continue
    const value = reader.value()
    // It may be a text or a message; who looks for it in a text does not mind which.
    if (value.byteLength >= minUnknown) found.push(value)
    if (isMessage(value)) everything(value, depth + 1, found)
  }
}

/** The file or variable that a DataSource names is no secret: it says where that is, and people need to know it. */
const source = { inlineBytes: 2, inlineString: 3 } as const

const ofSource = (bytes: Uint8Array, found: Array<Uint8Array>): void => {
  const reader = new Reader(bytes)
  while (reader.next()) {
    const isInline = reader.field === source.inlineBytes || reader.field === source.inlineString
    if (isInline && reader.isDelimited) found.push(reader.value())
  }
}

const ofAny = (bytes: Uint8Array, depth: number, found: Array<Uint8Array>): void => {
  let typeUrl = ""
  let value: Uint8Array | undefined
  const reader = new Reader(bytes)
  while (reader.next()) {
    if (!reader.isDelimited) continue
    if (reader.field === 1) typeUrl = decoder.decode(reader.value())
    else if (reader.field === 2) value = reader.value()
  }
  if (value !== undefined) ofType(typeUrl, value, depth, found)
}

/** What says where a secret is, in a message that is JSON. */
const places: ReadonlySet<string> = new Set(["filename", "environment_variable", "environmentVariable", "path"])

const ofTypedStruct = (bytes: Uint8Array, found: Array<Uint8Array>): void => {
  let typeUrl = ""
  // A field that comes again is merged.
  const pieces: Array<Uint8Array> = []
  const reader = new Reader(bytes)
  while (reader.next()) {
    if (!reader.isDelimited) continue
    if (reader.field === 1) typeUrl = decoder.decode(reader.value())
    else if (reader.field === 2) pieces.push(reader.value())
  }
  const add = (text: string, key: string, isSure: boolean): string => {
    const each = encoder.encode(text)
    if (isSure ? !places.has(key) : each.byteLength >= minUnknown) found.push(each)
    const inBase64 = key === "inline_bytes" || key === "inlineBytes" ? decoded(text) : undefined
    if (inBase64 !== undefined) found.push(inBase64)
    return text
  }
  for (const piece of pieces)
    TypedStruct.replaceTexts(typeUrl, jsonOfStruct(MessageBytes.decode(StructSchema, piece)), add)
}

/** What base64 stands for; `undefined`: it is none. */
const decoded = (text: string): Uint8Array | undefined => {
  try {
    return base64Decode(text)
  } catch {
    return undefined
  }
}

const ofType = (typeUrl: string, bytes: Uint8Array, depth: number, found: Array<Uint8Array>): void => {
  const name = SensitiveTypes.nameOf(typeUrl)
  const fields = SensitiveTypes.fieldsOf(name)
  if (fields !== undefined) inside(fields, bytes, depth, found)
  else if (SensitiveTypes.isTypedStruct(name)) guarded(bytes, depth, found, () => ofTypedStruct(bytes, found))
  else if (name === SensitiveTypes.anyName) guarded(bytes, depth, found, () => ofAny(bytes, depth + 1, found))
  else if (!SensitiveTypes.isKnown(name)) everything(bytes, depth, found)
}

const inside = (fields: Fields, bytes: Uint8Array, depth: number, found: Array<Uint8Array>): void =>
  guarded(bytes, depth, found, () => {
    const reader = new Reader(bytes)
    while (reader.next()) {
      const kind = reader.isDelimited ? fields.get(reader.field) : undefined
      if (kind !== undefined) ofKind(kind, reader.value(), depth, found)
    }
  })

/** What cannot be looked into may hold anything. */
const guarded = (bytes: Uint8Array, depth: number, found: Array<Uint8Array>, look: () => void): void => {
  const before = found.length
  try {
    if (depth > maxDepth) throw new Error("depth")
    look()
  } catch {
    found.length = before
    found.push(bytes)
  }
}

const ofKind = (kind: Kind, value: Uint8Array, depth: number, found: Array<Uint8Array>): void => {
  switch (kind._tag) {
    case "Value":
      found.push(value)
      return
    case "Source":
      return ofSource(value, found)
    case "Everything":
      return everything(value, depth + 1, found)
    case "Any":
      return ofAny(value, depth + 1, found)
    case "Message":
      return inside(kind.fields, value, depth + 1, found)
    case "Map": {
      const entry = new Reader(value)
      while (entry.next()) {
        if (entry.field === 2 && entry.isDelimited) ofKind(kind.value, entry.value(), depth, found)
      }
    }
  }
}

/**
 * The values of the sensitive fields in an encoded message. Of messages inside of it whose type is not known, or that cannot
 * be read, everything counts as sensitive; of a `TypedStruct` each text below a field that has the name of a sensitive one. Never
 * throws.
 *
 * @param typeNameOrUrl of the message
 * @since 0.1.0
 */
export const values = (typeNameOrUrl: string, bytes: Uint8Array): ReadonlyArray<Uint8Array> => {
  const found: Array<Uint8Array> = []
  ofType(typeNameOrUrl, bytes, 0, found)
  return found
}

/**
 * Whether a message of this type can hold something sensitive. A type that is not known can.
 *
 * @since 0.1.0
 */
export const canHold = (typeNameOrUrl: string): boolean => SensitiveTypes.canHold(SensitiveTypes.nameOf(typeNameOrUrl))
