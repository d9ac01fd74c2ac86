/**
 * Plain assignments: most have endpoints with IP addresses and ports and little else, break no rule over a group and refer to nothing.
 * That is seen from their bytes, without a message. Endpoints are what changes most in a group, and after a restart there are
 * thousands of assignments.
 */
import * as InternetText from "../InternetText.js"
import { delimited, tagOf, varint } from "./Tag.js"

const localityTags = [tagOf(1, delimited), tagOf(2, delimited), tagOf(3, delimited)]

/** It may not be plain. Control flow only, within this file. */
const notPlain = new Error("not a plain assignment")

/** The fields of one message after the other. Throws {@link notPlain} at what no plain assignment has, malformed bytes included. */
class Fields {
  /** Where the next field begins, or the value of the present one. */
  at = 0

  constructor(readonly bytes: Uint8Array) {}

  number(): number {
    let value = 0
    for (let factor = 1; factor <= 2 ** 28; factor *= 128) {
      const byte = this.bytes[this.at++]
      if (byte === undefined) throw notPlain
      value += (byte & 127) * factor
      if (byte < 128 && value < 2 ** 32) return value
    }
    // Larger than what it is read into.
    throw notPlain
  }

  /** The end of what begins here, which is inside of `end`. */
  inside(end: number): number {
    const length = this.number()
    if (this.at + length > end) throw notPlain
    return this.at + length
  }

  /** ASCII alone. */
  text(end: number): string {
    let text = ""
    for (; this.at < end; this.at++) {
      const byte = this.bytes[this.at] ?? 128
      if (byte >= 128) throw notPlain
      text += String.fromCharCode(byte)
    }
    return text
  }
}

/** The number in a `google.protobuf.UInt32Value`. */
const wrapped = (fields: Fields, end: number): number => {
  let value = 0
  while (fields.at < end) {
    if (fields.number() !== tagOf(1, varint)) throw notPlain
    value = fields.number()
  }
  return value
}

/** Region, zone and subzone, which no text mixes up. */
const locality = (fields: Fields, end: number): string => {
  const texts = ["", "", ""]
  while (fields.at < end) {
    const place = localityTags.indexOf(fields.number())
    if (place < 0) throw notPlain
    texts[place] = fields.text(fields.inside(end))
  }
  return JSON.stringify(texts)
}

/** `envoy.config.core.v3.SocketAddress`: address and port. */
const socket = (fields: Fields, end: number): string => {
  let address = ""
  let port = 0
  while (fields.at < end) {
    const tag = fields.number()
    if (tag === tagOf(2, delimited)) address = fields.text(fields.inside(end))
    else if (tag === tagOf(1, varint)) fields.number()
    else if (tag === tagOf(3, varint)) port = fields.number()
    else throw notPlain
  }
  if (port === 0 || !InternetText.isIp(address)) throw notPlain
  return `${address}:${port}`
}

/** `envoy.config.core.v3.Metadata` with Structs alone, into which no rule over a group looks. */
const metadata = (fields: Fields, end: number): void => {
  while (fields.at < end) {
    if (fields.number() !== tagOf(1, delimited)) throw notPlain
    fields.at = fields.inside(end)
  }
}

/** `envoy.config.core.v3.Address`, which has a socket address. */
const addressOf = (fields: Fields, end: number): string => {
  if (fields.number() !== tagOf(1, delimited) || fields.inside(end) !== end) throw notPlain
  return socket(fields, end)
}

/** `Endpoint`: its address. */
const host = (fields: Fields, end: number): string => {
  let address: string | undefined
  while (fields.at < end) {
    const tag = fields.number()
    if (tag === tagOf(1, delimited) && address === undefined) address = addressOf(fields, fields.inside(end))
    else if (tag === tagOf(3, delimited)) fields.at = fields.inside(end)
    else throw notPlain
  }
  if (address === undefined) throw notPlain
  return address
}

/** `LbEndpoint`: its address. */
const endpoint = (fields: Fields, end: number): string => {
  let address: string | undefined
  while (fields.at < end) {
    const tag = fields.number()
    if (tag === tagOf(1, delimited) && address === undefined) address = host(fields, fields.inside(end))
    else if (tag === tagOf(2, varint)) fields.number()
    else if (tag === tagOf(3, delimited)) metadata(fields, fields.inside(end))
    else if (tag === tagOf(4, delimited)) wrapped(fields, fields.inside(end))
    else throw notPlain
  }
  if (address === undefined) throw notPlain
  return address
}

/** What the localities of an assignment have so far. */
interface Seen {
  readonly localities: Set<string>
  readonly priorities: Set<number>
  readonly addresses: Set<string>
}

/** Whether something was not there before. */
const isNew = <A>(set: Set<A>, value: A): boolean => {
  const { size } = set
  return set.add(value).size > size
}

const group = (fields: Fields, end: number, seen: Seen): void => {
  let where: string | undefined
  let priority = 0
  let weight: number | undefined
  while (fields.at < end) {
    const tag = fields.number()
    if (tag === tagOf(1, delimited) && where === undefined) where = locality(fields, fields.inside(end))
    else if (tag === tagOf(2, delimited)) {
      if (!isNew(seen.addresses, endpoint(fields, fields.inside(end)))) throw notPlain
    } else if (tag === tagOf(3, delimited) && weight === undefined) weight = wrapped(fields, fields.inside(end))
    else if (tag === tagOf(5, varint)) priority = fields.number()
    else if (tag === tagOf(9, delimited)) metadata(fields, fields.inside(end))
    else throw notPlain
  }
  // What has no weight is left out before gRPC looks.
  if ((weight ?? 0) === 0) return
  if (!isNew(seen.localities, `${priority} ${where ?? ""}`)) throw notPlain
  seen.priorities.add(priority)
}

/**
 * Whether the bytes of an `envoy.config.endpoint.v3.ClusterLoadAssignment` are sure to break no rule over a group and to refer to
 * nothing; `false`: it has to be read.
 */
export const isPlain = (bytes: Uint8Array): boolean => {
  const fields = new Fields(bytes)
  const end = bytes.byteLength
  const seen: Seen = { localities: new Set(), priorities: new Set(), addresses: new Set() }
  try {
    while (fields.at < end) {
      const tag = fields.number()
      if (tag === tagOf(1, delimited)) fields.at = fields.inside(end)
      else if (tag === tagOf(2, delimited)) group(fields, fields.inside(end), seen)
      else return false
    }
  } catch (error) {
    if (error === notPlain) return false
    throw error
  }
  // None is missing before another.
  for (const priority of seen.priorities) if (priority >= seen.priorities.size) return false
  return true
}
