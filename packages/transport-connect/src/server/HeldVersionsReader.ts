/**
 * Reads a client's held versions (`initial_resource_versions`) from the bytes of a request while they arrive, and
 * passes the rest on. The rest is a valid request.
 */
import type { ReadVersions } from "@effect-xds/core/wire/Request"
import type { HeldVersions } from "@effect-xds/core/resource/HeldVersions"
import * as Held from "@effect-xds/core/resource/HeldVersions"
import { Numbers } from "./Numbers.js"
import { entryTag, lengthAt, longest, type VersionInterner } from "./VersionInterner.js"

/** Wire types of protobuf. */
const [varint, fixed64, lengthDelimited, fixed32] = [0, 1, 2, 5]

/** More bytes than an interned entry or the head of another field takes. */
const mostBegun = longest + 16

/** Receives the bytes that are passed on. It must copy them at once: the buffer is reused. */
export type Keep = (bytes: Uint8Array, start: number, end: number) => void

export class HeldVersionsReader implements ReadVersions {
  readonly #numbers = new Numbers()
  #taken = 0
  /** The bytes of an incomplete field, and room for those after it. */
  readonly #begun = new Uint8Array(2 * mostBegun)
  readonly #begunView = new DataView(this.#begun.buffer)
  #begunBytes = 0
  /** Bytes left of the field that is being passed on. */
  #passing = 0
  #value = 0

  constructor(
    private readonly interner: VersionInterner,
    private readonly keep: Keep
  ) {}

  /** Bytes of the entries that were interned. */
  get bytes(): number {
    return this.#taken
  }

  /** The next bytes of the request. */
  push(chunk: Uint8Array, start: number, end: number): void {
    const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let at = start
    while (at < end) {
      if (this.#begunBytes > 0) {
        const before = this.#begunBytes
        const length = before + Math.min(end - at, mostBegun)
        this.#begun.set(chunk.subarray(at, at + length - before), before)
        const next = this.#field(this.#begun, this.#begunView, 0, length)
        this.#begunBytes = next === 0 ? length : 0
        at += next === 0 ? length - before : next - before
      } else {
        const next = this.#passing > 0 ? this.#pass(chunk, at, end) : this.#field(chunk, view, at, end)
        if (next === at) {
          this.#begun.set(chunk.subarray(at, end))
          this.#begunBytes = end - at
          return
        }
        at = next
      }
    }
  }

  /** The request is complete. The rest of an incomplete field is passed on: it is malformed. */
  end(): void {
    this.keep(this.#begun, 0, this.#begunBytes)
    this.#begunBytes = 0
  }

  /** The held versions. `others`: those that were not interned. */
  versions(others: ReadonlyMap<string, string>): HeldVersions {
    return Held.joined(this.interner.versions.of(this.#numbers), others)
  }

  #pass(bytes: Uint8Array, at: number, end: number): number {
    const next = Math.min(at + this.#passing, end)
    this.keep(bytes, at, next)
    this.#passing -= next - at
    return next
  }

  /** Reads entries, or the head of another field, and returns its end; `at` if it is incomplete. */
  #field(bytes: Uint8Array, view: DataView, at: number, end: number): number {
    if (bytes[at] === entryTag) {
      if (at + 2 > end) return at
      const isOneByte = (bytes[at + 1] ?? 0) < 0x80
      if (!isOneByte && at + 3 > end) return at
      const length = lengthAt(bytes, at + 1)
      if (length >= 0 && length <= longest) {
        const entryEnd = at + (isOneByte ? 2 : 3) + length
        if (entryEnd > end) return at
        const next = this.interner.take(bytes, view, at, end, this.#numbers)
        this.#taken += next - at
        if (next > at) return next
        this.keep(bytes, at, entryEnd)
        return entryEnd
      }
    }
    const afterTag = this.#varint(bytes, at, end)
    if (afterTag < 0) return at
    const type = this.#value & 7
    let next = afterTag
    if (type === lengthDelimited || type === varint) {
      next = this.#varint(bytes, afterTag, end)
      if (next < 0) return at
    }
    this.#passing = contentBytes(type, this.#value)
    this.keep(bytes, at, next)
    return next
  }

  /** Reads a varint into `#value` and returns its end; -1 if it is incomplete. */
  #varint(bytes: Uint8Array, at: number, end: number): number {
    let value = 0
    let unit = 1
    for (let next = at; next < end; next++) {
      const byte = bytes[next] ?? 0
      value += (byte & 0x7f) * unit
      unit *= 0x80
      // A varint has at most ten bytes: a longer one is malformed, which the decoder reports.
      if (byte < 0x80 || next === at + 9) {
        this.#value = value
        return next + 1
      }
    }
    return -1
  }
}

/** The bytes after the head of a field. Groups and unknown wire types are left to the decoder of the rest. */
const contentBytes = (type: number, length: number): number => {
  switch (type) {
    case varint:
      return 0
    case fixed64:
      return 8
    case lengthDelimited:
      return length
    case fixed32:
      return 4
    default:
      return Infinity
  }
}

/** A request without its held versions. */
export interface Separated {
  readonly held: HeldVersionsReader
  readonly rest: Uint8Array
}

/** The same for a request that is complete, some bytes at a time. */
export class WholeRequestReader {
  readonly #rest: Uint8Array
  readonly #held: HeldVersionsReader
  #size = 0
  #at = 0

  constructor(
    interner: VersionInterner,
    private readonly request: Uint8Array
  ) {
    const rest = new Uint8Array(request.length)
    this.#rest = rest
    this.#held = new HeldVersionsReader(interner, (bytes, start, end) => {
      rest.set(bytes.subarray(start, end), this.#size)
      this.#size += end - start
    })
  }

  /** Reads that many more bytes; `undefined` if the request has more. */
  next(count: number): Separated | undefined {
    const end = Math.min(this.request.length, this.#at + count)
    this.#held.push(this.request, this.#at, end)
    this.#at = end
    if (end < this.request.length) return undefined
    this.#held.end()
    return { held: this.#held, rest: this.#rest.subarray(0, this.#size) }
  }
}
