/**
 * Plain assignments: most have endpoints with IP addresses and ports and little else, break no rule over a group and refer to nothing.
 * That is seen from their bytes, without a message. Endpoints are what changes most in a group, and after a restart there are
 * thousands of assignments.
 */
import * as InternetText from "../InternetText.js"
import { delimited, tagOf, varint } from "./Tag.js"

const [region, zone, subzone] = [tagOf(1, delimited), tagOf(2, delimited), tagOf(3, delimited)]

/** The most localities that are compared with one another. */
const maxLocalities = 16

/** The most priorities: one bit each. */
const maxPriorities = 31

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

/**
 * Region, zone and subzone, in this order, short, ASCII and none of them empty: then two that say the same are the same bytes, and no text
 * has to be made of them.
 */
const locality = (fields: Fields, end: number): void => {
  const { bytes } = fields
  let last = 0
  while (fields.at < end) {
    const tag = bytes[fields.at++] ?? 0
    if (tag <= last || (tag !== region && tag !== zone && tag !== subzone)) throw notPlain
    last = tag
    const length = bytes[fields.at++] ?? 0
    const inside = fields.at + length
    if (length === 0 || length >= 128 || inside > end) throw notPlain
    for (; fields.at < inside; fields.at++) if ((bytes[fields.at] ?? 128) >= 128) throw notPlain
  }
}

/** What an endpoint listens at: most have an IPv4 address, which with its port is a number. */
type Host = number | string

/** `envoy.config.core.v3.SocketAddress`: address and port. */
const socket = (fields: Fields, end: number): Host => {
  let address = -1
  let text = ""
  let port = 0
  while (fields.at < end) {
    const tag = fields.number()
    if (tag === tagOf(2, delimited)) {
      const inside = fields.inside(end)
      const { at, bytes } = fields
      address = InternetText.ipv4(inside - at, (index) => bytes[at + index] ?? 0)
      if (address < 0) text = fields.text(inside)
      fields.at = inside
    } else if (tag === tagOf(1, varint)) fields.number()
    else if (tag === tagOf(3, varint)) port = fields.number()
    else throw notPlain
  }
  if (port === 0 || port > 65_535) throw notPlain
  if (address >= 0) return address * 65_536 + port
  if (!InternetText.isIp(text)) throw notPlain
  return `${text}:${port}`
}

/** `envoy.config.core.v3.Metadata` with Structs alone, into which no rule over a group looks. */
const metadata = (fields: Fields, end: number): void => {
  while (fields.at < end) {
    if (fields.number() !== tagOf(1, delimited)) throw notPlain
    fields.at = fields.inside(end)
  }
}

/** `envoy.config.core.v3.Address`, which has a socket address. */
const addressOf = (fields: Fields, end: number): Host => {
  if (fields.number() !== tagOf(1, delimited) || fields.inside(end) !== end) throw notPlain
  return socket(fields, end)
}

/** `Endpoint`: its address. */
const host = (fields: Fields, end: number): Host => {
  let address: Host | undefined
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
const endpoint = (fields: Fields, end: number): Host => {
  let address: Host | undefined
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
class Seen {
  readonly #hosts = new Set<Host>()
  /** Of each with a weight: its priority, and where it lies. */
  readonly #localities: Array<number> = []
  /** One bit each. */
  #priorities = 0

  constructor(private readonly bytes: Uint8Array) {}

  host(host: Host): void {
    const { size } = this.#hosts
    if (this.#hosts.add(host).size === size) throw notPlain
  }

  /** The same locality may come again with another priority. */
  locality(priority: number, begin: number, end: number): void {
    const all = this.#localities
    if (priority >= maxPriorities || all.length === 3 * maxLocalities) throw notPlain
    for (let at = 0; at < all.length; at += 3) {
      if (all[at] === priority && this.#isSame(all[at + 1] ?? 0, all[at + 2] ?? 0, begin, end)) throw notPlain
    }
    all.push(priority, begin, end)
    this.#priorities |= 1 << priority
  }

  /** Whether no priority is missing before another. */
  get isComplete(): boolean {
    return (this.#priorities & (this.#priorities + 1)) === 0
  }

  /** Whether two localities are the same bytes; one that begins at -1 is none. */
  #isSame(one: number, oneEnd: number, other: number, otherEnd: number): boolean {
    if (one < 0 || other < 0) return one === other
    if (oneEnd - one !== otherEnd - other) return false
    for (let at = one; at < oneEnd; at++) if (this.bytes[at] !== this.bytes[at - one + other]) return false
    return true
  }
}

const group = (fields: Fields, end: number, seen: Seen): void => {
  let [begin, before] = [-1, -1]
  let priority = 0
  let weight: number | undefined
  while (fields.at < end) {
    const tag = fields.number()
    if (tag === tagOf(1, delimited) && begin < 0) {
      before = fields.inside(end)
      begin = fields.at
      locality(fields, before)
    } else if (tag === tagOf(2, delimited)) seen.host(endpoint(fields, fields.inside(end)))
    else if (tag === tagOf(3, delimited) && weight === undefined) weight = wrapped(fields, fields.inside(end))
    else if (tag === tagOf(5, varint)) priority = fields.number()
    else if (tag === tagOf(9, delimited)) metadata(fields, fields.inside(end))
    else throw notPlain
  }
  // What has no weight is left out before gRPC looks.
  if ((weight ?? 0) > 0) seen.locality(priority, begin, before)
}

/**
 * Whether the bytes of an `envoy.config.endpoint.v3.ClusterLoadAssignment` are sure to break no rule over a group and to refer to
 * nothing; `false`: it has to be read.
 */
export const isPlain = (bytes: Uint8Array): boolean => {
  const fields = new Fields(bytes)
  const end = bytes.byteLength
  const seen = new Seen(bytes)
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
  return seen.isComplete
}
