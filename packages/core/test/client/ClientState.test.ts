import * as ClientState from "@effect-xds/core/client/ClientState"
import * as FlowControl from "@effect-xds/core/client/FlowControl"
import * as PlainData from "@effect-xds/core/PlainData"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import { Cluster } from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"

const { typeUrl } = Cluster

const decoder = ResourceDecoder.make({ typeUrl, decode: (bytes) => Either.right(bytes.byteLength) })

/** A client that holds one cluster and has not answered for it. */
const holding = (): FlowControl.FlowControl => {
  const inputs: ReadonlyArray<FlowControl.Input> = [
    { _tag: "Watch", watcher: 1, typeUrl, name: "a" },
    { _tag: "Connected", stream: "s" },
    { _tag: "Written", stream: "s" },
    {
      _tag: "Response",
      stream: "s",
      response: ClientResponse.make({
        protocol: "StateOfTheWorld",
        typeUrl,
        version: "1",
        nonce: "1",
        resources: [ReceivedResource.make({ typeUrl, value: toResource({ typeUrl, name: "a", content: 1 }).value })]
      })
    }
  ]
  const made = FlowControl.make({ servers: [{ id: "s", protocol: "StateOfTheWorld" }], decoders: [decoder] })
  return inputs.reduce((state, input) => FlowControl.step(state, input, 7)[0], made)
}

describe("★ the state of a client is data: printed and restored, it goes on as before", () => {
  it("with what it holds decoded again", () => {
    const before = holding()
    const after = Either.getOrThrow(ClientState.restore(ClientState.print(before), [decoder]))
    assert.deepStrictEqual(FlowControl.dump(after), FlowControl.dump(before))
    const taken = (state: FlowControl.FlowControl) => FlowControl.step(state, { _tag: "Taken", watcher: 1 }, 8)[1]
    assert.deepStrictEqual(
      taken(after).map(({ _tag }) => _tag),
      ["Send", "Read"]
    )
    assert.deepStrictEqual(taken(after), taken(before))
  })

  const refused = (text: string, decoders: ReadonlyArray<ResourceDecoder.ResourceDecoder>): string =>
    Either.getOrThrow(Either.flip(ClientState.restore(text, decoders))).message

  it("not with a decoder that is missing, that rejects or that throws, and it says of which resource", () => {
    const text = ClientState.print(holding())
    assert.include(refused(text, []), `of ${typeUrl} "a" cannot be restored: there is no decoder`)
    const rejecting = { ...decoder, decode: () => Either.left("it is too old") }
    assert.include(refused(text, [rejecting]), `"a" cannot be restored: it is too old`)
    const throwing = {
      ...decoder,
      decode: () => {
        throw new Error("no decoder today")
      }
    }
    assert.include(refused(text, [throwing]), "no decoder today")
  })

  it("not from a text that was changed, or is none", () => {
    const text = ClientState.print(holding())
    for (const other of ["", "{}", text.slice(0, -1), text.replace('"watcherTimeout":10000', '"watcherTimeout":1')]) {
      assert.include(refused(other, [decoder]), "the text was changed")
    }
  })
})

describe("PlainData", () => {
  it("has what JSON does not have", () => {
    const value = {
      nothing: undefined,
      never: Number.POSITIVE_INFINITY,
      early: Number.NEGATIVE_INFINITY,
      none: null,
      bytes: Uint8Array.of(0, 255),
      map: new Map([[1, new Set(["a"])]]),
      hashed: HashMap.make(["a", HashSet.make(1, 2)])
    }
    const read = PlainData.read(PlainData.print(value))
    assert.deepStrictEqual(read, value)
    assert.strictEqual(PlainData.print(read), PlainData.print(value))
  })

  it("takes nothing that is no data", () => {
    for (const value of [() => 1, Symbol("s"), new Date(), [Promise.resolve()], new WeakMap()]) {
      assert.throws(() => PlainData.print(value), "is no data")
    }
  })
})
