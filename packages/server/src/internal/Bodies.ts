/**
 * The response bodies of a server's streams. Small ones are cut from larger buffers. A large one is shared as long as a
 * stream still sends its bytes; after that it is assembled again.
 */
import type { Bodies, KeptPieces, Response } from "@effect-xds/core/wire/Response"
import { formName } from "@effect-xds/core/wire/Response"
import type { Piece } from "@effect-xds/core/wire/ResponsePieces"
import { Slab } from "@effect-xds/core/wire/Wire"
import { PieceRoom } from "./PieceRoom.js"

/** Most responses of one form that pieces are taken from: a response of all resources is one or a few messages. */
const maxEarlier = 8

/** Bytes, by their buffer, since a transport may hold a part of them; weakly, since only the transport knows when it has sent them. */
class Held {
  readonly #buffer: WeakRef<ArrayBufferLike>
  readonly #from: number
  readonly #size: number

  constructor({ buffer, byteLength, byteOffset }: Uint8Array) {
    this.#buffer = new WeakRef(buffer)
    this.#from = byteOffset
    this.#size = byteLength
  }

  /** The bytes, as long as somebody sends them, or others of the same buffer. */
  get bytes(): Uint8Array | undefined {
    const buffer = this.#buffer.deref()
    return buffer === undefined ? undefined : new Uint8Array(buffer, this.#from, this.#size)
  }
}

interface HeldPiece {
  readonly resources: Piece["resources"]
  readonly held: Held
}

const pieces = (): KeptPieces => {
  const large = new WeakMap<Response, ReadonlyArray<HeldPiece>>()
  /** By form, the latest first. */
  const recent = new Map<string, ReadonlyArray<WeakRef<Response>>>()
  /** By the last part, which all of them lead to. */
  const rooms = new WeakMap<Response, PieceRoom>()
  return {
    room: (response) => {
      let last = response
      while (last.next !== undefined) last = last.next
      const known = rooms.get(last) ?? new PieceRoom()
      rooms.set(last, known)
      return known
    },
    get: (response) => {
      const all: Array<Uint8Array> = []
      for (const { held } of large.get(response) ?? []) {
        const { bytes } = held
        if (bytes === undefined) return undefined
        all.push(bytes)
      }
      return all.length === 0 ? undefined : all
    },
    set: (response, pieces) => {
      large.set(
        response,
        pieces.map(({ bytes, resources }) => ({ resources, held: new Held(bytes) }))
      )
      const form = formName(response)
      const others = (recent.get(form) ?? []).filter((each) => each.deref() !== undefined)
      recent.set(form, [new WeakRef(response), ...others].slice(0, maxEarlier))
    },
    earlier: function* (response) {
      for (const each of recent.get(formName(response)) ?? []) {
        const known = each.deref()
        for (const { held, resources } of (known && large.get(known)) ?? []) {
          const { bytes } = held
          if (bytes !== undefined) yield { resources, bytes }
        }
      }
    }
  }
}

/** The bodies of one server. */
export const make = (): Bodies => {
  const slab = new Slab()
  const large = new WeakMap<Response, Held>()
  return {
    allocate: (size) => slab.allocate(size),
    get: (response) => large.get(response)?.bytes,
    set: (response, body) => void large.set(response, new Held(body)),
    pieces: pieces()
  }
}
