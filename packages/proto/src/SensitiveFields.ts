/**
 * What the sensitive fields of an encoded message hold: private keys, passwords, session ticket keys, generic secrets and
 * whatever else Envoy's API marks with `udpa.annotations.sensitive`, at any depth, also inside of `google.protobuf.Any`.
 *
 * Works on bytes and with a table, so that nothing has to be loaded first: who must keep a text from the log has no time
 * to wait.
 *
 * @since 0.1.0
 */
import * as GeneratedFiles from "./internal/GeneratedFiles.js"

/** How to go on from a field. */
type Kind =
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

type Fields = Map<number, Kind>

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
const fieldsOf = (name: string): Fields | undefined => {
  for (const [index, { sensitive }] of GeneratedFiles.packages.entries()) {
    const found = (parsed[index] ??= parse(sensitive.split("\n"))).get(name)
    if (found !== undefined) return found
  }
  return undefined
}

/** Nobody nests messages deeper to be read; what is deeper counts as sensitive as a whole. */
const maxDepth = 100

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

const isKnown = (name: string): boolean => GeneratedFiles.has(name) || name.startsWith("google.protobuf.")

const ofType = (typeUrl: string, bytes: Uint8Array, depth: number, found: Array<Uint8Array>): void => {
  const name = typeUrl.slice(typeUrl.lastIndexOf("/") + 1)
  const fields = fieldsOf(name)
  if (fields !== undefined) inside(fields, bytes, depth, found)
  else if (!isKnown(name)) everything(bytes, depth, found)
}

const inside = (fields: Fields, bytes: Uint8Array, depth: number, found: Array<Uint8Array>): void => {
  const before = found.length
  try {
    if (depth > maxDepth) throw new Error("depth")
    const reader = new Reader(bytes)
    while (reader.next()) {
      const kind = reader.isDelimited ? fields.get(reader.field) : undefined
      if (kind !== undefined) ofKind(kind, reader.value(), depth, found)
    }
  } catch {
    // What cannot be looked into may hold anything.
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
 * The values of the sensitive fields in an encoded message, as views into its bytes. Of messages inside of it whose type
 * is not known, or that cannot be read, everything counts as sensitive. Never throws.
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
export const canHold = (typeNameOrUrl: string): boolean => {
  const name = typeNameOrUrl.slice(typeNameOrUrl.lastIndexOf("/") + 1)
  return fieldsOf(name) !== undefined || !isKnown(name)
}
