/**
 * A server that knows nothing of the protocol: to the first request of a stream it writes what it was loaded with, to a
 * change the changed response, and ACKs it drops. What remains is the cost of the transport.
 */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import type { Change, Load, Server } from "./Commands.js"
import { fixtures } from "./Commands.js"

/** Writes one response: a body that streams may share, and the nonce field of this one. */
type Write = (body: Uint8Array, nonce: Uint8Array) => void

/** Begins a stream; call the result for each of its requests, with whether the client says that it holds everything. */
type Accept = (write: Write) => (holds: boolean) => void

/** Writes one resource as a field of a response. */
export const writeResource = (
  writer: BinaryWriter,
  load: Pick<Load, "incremental" | "typeUrl">,
  version: string,
  { name, value }: Change
): void => {
  const field = (number: number): BinaryWriter => writer.tag(number, WireType.LengthDelimited)
  field(2).fork()
  if (load.incremental) {
    field(1).string(version)
    field(2).fork()
  }
  field(1).string(load.typeUrl)
  field(2).bytes(value)
  if (load.incremental) {
    writer.join()
    field(3).string(name)
  }
  writer.join()
}

const encodeBody = (load: Load, version: number, resources: Iterable<Change>): Uint8Array => {
  const writer = new BinaryWriter()
  const field = (number: number): BinaryWriter => writer.tag(number, WireType.LengthDelimited)
  field(1).string(String(version))
  // As long as a version of ours is, since a client that comes back says it for each resource.
  const digits = String(version).padStart(16, "0")
  for (const resource of resources) writeResource(writer, load, digits, resource)
  return field(4).string(load.typeUrl).finish()
}

const encodeNonce = (count: number): Uint8Array => {
  const digits = String(count)
  const bytes = Buffer.allocUnsafe(2 + digits.length)
  bytes[0] = 5 * 8 + 2
  bytes[1] = digits.length
  bytes.write(digits, 2, "latin1")
  return bytes
}

/** A server over a transport, which `listen` starts. */
export const make = (listen: (accept: Accept) => Promise<string>): Server<ReadonlyArray<Change>> => {
  const streams: Array<{ readonly write: Write; responses: number }> = []
  const resources = new Map<string, Change>()
  let load: Load | undefined
  let version = 1
  let first: ReadonlyArray<Uint8Array> = []

  const send = (stream: (typeof streams)[number], body: Uint8Array | undefined): void => {
    if (body === undefined) return
    stream.responses++
    stream.write(body, encodeNonce(stream.responses))
  }
  /** One body for all streams, or one for each. */
  const bodies = (loaded: Load, changed: Iterable<Change>): ReadonlyArray<Uint8Array> =>
    loaded.spread
      ? Array.from(changed, (resource) => encodeBody(loaded, version, [resource]))
      : [encodeBody(loaded, version, changed)]
  const accept: Accept = (write) => {
    let opened = false
    return (holds) => {
      if (opened) return
      opened = true
      const stream = { write, responses: 0 }
      streams.push(stream)
      if (!holds) send(stream, first[(streams.length - 1) % first.length])
    }
  }

  return {
    load: async (given) => {
      load = given
      for await (const resource of fixtures(given.fixtures)) resources.set(resource.name, resource)
      first = bodies(given, resources.values())
      return listen(accept)
    },
    prepare: (changes) => changes,
    apply: (all) => {
      if (load === undefined) throw new Error("nothing is loaded")
      for (const changes of all) {
        version++
        for (const change of changes) resources.set(change.name, change)
        const changed = bodies(load, load.incremental ? changes : resources.values())
        streams.forEach((stream, index) => send(stream, changed[index % changed.length]))
      }
      return Promise.resolve()
    }
  }
}
