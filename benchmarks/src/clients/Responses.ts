/** Gives a client responses as a server would send them, and looks at what it made of them. */
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire"
import { createHash } from "node:crypto"
import * as Fixtures from "../Fixtures.js"
import type { Change, Load } from "../servers/Commands.js"
import * as Commands from "../servers/Commands.js"
import { writeResource } from "../servers/WriteLoop.js"

/** What the client must know after a response. */
interface Expected {
  readonly name: string
  /** The `alt_stat_name` of the cluster: it says which change made it. */
  readonly mark: string
}

export interface Client {
  /** Takes a response. */
  readonly receive: (response: Uint8Array) => void
  /** Throws if the last response did not bring what it should. */
  readonly check: (changed: ReadonlyArray<Expected>, sent: number) => void
}

const expectedOf = (change: Change): Expected => ({
  name: change.name,
  mark: Fixtures.mark(Fixtures.sequenceOf(change))
})

const text = (field: number, value: string): Uint8Array =>
  new BinaryWriter().tag(field, WireType.LengthDelimited).string(value).finish()

/** The responses of one stream. */
class Responses {
  readonly #parts: Array<Uint8Array> = []
  readonly #places = new Map<string, number>()
  readonly #order: Array<number> = []
  #count = 0

  constructor(
    private readonly load: Load,
    resources: Iterable<Change>
  ) {
    for (const resource of resources) {
      this.#places.set(resource.name, this.#parts.length)
      this.#order.push(this.#parts.length)
      this.#parts.push(this.#encode(resource))
    }
  }

  #encode(resource: Change): Uint8Array {
    const writer = new BinaryWriter()
    // By its content: a resource that is sent again has the version it had.
    const version = createHash("sha256").update(resource.value).digest("hex").slice(0, 16)
    writeResource(writer, this.load, version, resource)
    return writer.finish()
  }

  #response(parts: ReadonlyArray<Uint8Array>): Uint8Array {
    const count = String(++this.#count)
    const body = [text(1, count), ...parts, text(4, this.load.typeUrl), text(5, count)]
    return new Uint8Array(Buffer.concat(body))
  }

  #inOrder(): ReadonlyArray<Uint8Array> {
    return this.#order.flatMap((place) => this.#parts[place] ?? [])
  }

  /** Orders the resources at random, every time in the same way for every client. */
  #shuffle(): void {
    const next = Fixtures.random(this.#count)
    for (let last = this.#order.length - 1; last > 0; last--) {
      const other = Math.floor(next() * (last + 1))
      const place = this.#order[last] ?? 0
      this.#order[last] = this.#order[other] ?? 0
      this.#order[other] = place
    }
  }

  first(): Uint8Array {
    return this.#response(this.#inOrder())
  }

  /** The response to a change, and how many resources it has. */
  next(change: Change): { readonly response: Uint8Array; readonly sent: number } {
    const place = this.#places.get(change.name)
    if (place === undefined) throw new Error(`${change.name} is not among the fixtures`)
    const part = this.#encode(change)
    this.#parts[place] = part
    if (this.load.resend === "nothing") return { response: this.#response([part]), sent: 1 }
    if (this.load.resend === "shuffled") this.#shuffle()
    return { response: this.#response(this.#inOrder()), sent: this.#parts.length }
  }
}

/** Drives a client as the harness says, until that says quit or goes away. */
export const serve = (connect: (load: Load) => Client): void => {
  let stream: { readonly client: Client; readonly responses: Responses } | undefined
  Commands.serve<() => void>({
    load: async (load) => {
      const resources: Array<Change> = []
      for await (const resource of Commands.fixtures(load.fixtures)) resources.push(resource)
      const responses = new Responses(load, resources)
      const client = connect(load)
      client.receive(responses.first())
      client.check(resources.map(expectedOf), resources.length)
      stream = { client, responses }
      return ""
    },
    prepare: (changes) => {
      const [change] = changes
      if (stream === undefined || change === undefined) throw new Error("nothing is loaded, or nothing changes")
      const { client, responses } = stream
      const expected = [expectedOf(change)]
      const { response, sent } = responses.next(change)
      return () => {
        client.receive(response)
        client.check(expected, sent)
      }
    },
    apply: (changes) => {
      for (const take of changes) take()
      return Promise.resolve()
    }
  })
}
