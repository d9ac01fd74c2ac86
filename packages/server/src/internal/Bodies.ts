/**
 * The bodies of responses that the streams of a server send: small ones are parts of larger buffers, and a large one is known as
 * long as any stream still has bytes of it to send. Whoever comes after that has it assembled again.
 */
import type { Bodies, Response } from "@effect-xds/core/wire/Response"
import { Slab } from "@effect-xds/core/wire/Wire"

/** Those of one server. */
export const make = (): Bodies => {
  const slab = new Slab()
  // By its buffer: a transport may hold a part of a body. By a weak reference: only the transport knows when it is through.
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
