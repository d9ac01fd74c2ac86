/**
 * The response bodies of a server's streams. Small ones are cut from larger buffers. A large one is shared as long as a
 * stream still sends its bytes; after that it is assembled again.
 */
import type { Bodies, Response } from "@effect-xds/core/wire/Response"
import { formName } from "@effect-xds/core/wire/Response"
import type { Blocks } from "@effect-xds/core/wire/ResponseBlocks"
import { Slab } from "@effect-xds/core/wire/Wire"

/** Most earlier bodies of one form that parts are taken from: a response of all resources is one or a few messages. */
const maxEarlier = 8

interface Large {
  readonly buffer: WeakRef<ArrayBufferLike>
  readonly blocks: Blocks | undefined
}

/** The bodies of one server. */
export const make = (): Bodies => {
  const slab = new Slab()
  // Keyed by buffer, since a transport may hold a part of a body; weakly, since only the transport knows when it has
  // sent it.
  const large = new WeakMap<Response, Large>()
  /** By form, the latest first. */
  const recent = new Map<string, ReadonlyArray<WeakRef<Response>>>()
  const bodyOf = (known: Large | undefined): Uint8Array | undefined => {
    const buffer = known?.buffer.deref()
    return buffer === undefined ? undefined : new Uint8Array(buffer)
  }
  return {
    allocate: (size) => slab.allocate(size),
    get: (response) => bodyOf(large.get(response)),
    set: (response, { buffer }, blocks) => {
      large.set(response, { buffer: new WeakRef(buffer), blocks })
      if (blocks === undefined) return
      const form = formName(response)
      const others = (recent.get(form) ?? []).filter((each) => each.deref() !== undefined)
      recent.set(form, [new WeakRef(response), ...others].slice(0, maxEarlier))
    },
    earlier: (response) =>
      (recent.get(formName(response)) ?? []).flatMap((each) => {
        const known = large.get(each.deref() ?? response)
        const body = bodyOf(known)
        return body === undefined || known?.blocks === undefined ? [] : [{ body, blocks: known.blocks }]
      })
  }
}
