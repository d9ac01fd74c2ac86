/**
 * The response bodies of a server's streams. Small ones are cut from larger buffers. A large one is shared as long as a
 * stream still sends its bytes; after that it is assembled again.
 */
import type { Bodies, Response } from "@effect-xds/core/wire/Response"
import { Slab } from "@effect-xds/core/wire/Wire"

/** The bodies of one server. */
export const make = (): Bodies => {
  const slab = new Slab()
  // Keyed by buffer, since a transport may hold a part of a body; weakly, since only the transport knows when it has
  // sent it.
  const large = new WeakMap<Response, WeakRef<ArrayBufferLike>>()
  return {
    allocate: (size) => slab.allocate(size),
    get: (response) => {
      const buffer = large.get(response)?.deref()
      return buffer === undefined ? undefined : new Uint8Array(buffer)
    },
    set: (response, { buffer }) => void large.set(response, new WeakRef(buffer))
  }
}
