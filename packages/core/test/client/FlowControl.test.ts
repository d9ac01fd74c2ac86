import * as FlowControl from "@effect-xds/core/client/FlowControl"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import { Cluster, ClusterLoadAssignment } from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const CDS = Cluster.typeUrl
const EDS = ClusterLoadAssignment.typeUrl

const decoderOf = (typeUrl: string) => ResourceDecoder.make({ typeUrl, decode: () => Either.right("value") })

/** A client with its streams `p` and, if it has to, `f`; what comes of each input in short words. */
const play = () => {
  let now = 0
  const server = (id: string) => ({ id, protocol: "StateOfTheWorld" }) as const
  let state = FlowControl.make({
    servers: [server("p"), server("f")],
    decoders: [decoderOf(CDS), decoderOf(EDS)],
    watcherTimeout: 5_000
  })
  const short = (typeUrl: string) => (typeUrl === CDS ? "CDS" : "EDS")
  const words = (output: FlowControl.Output): ReadonlyArray<string> => {
    switch (output._tag) {
      case "Send":
        return output.request.responseNonce === ""
          ? []
          : [`${output.request.errorDetail === undefined ? "ACK" : "NACK"} ${output.request.responseNonce}`]
      case "Read":
        return [`Read ${output.stream}`]
      case "Stuck":
        return [`Stuck ${short(output.typeUrl)} ${output.names.join(" ")}`]
      case "Notify":
        return [`${output.watchers.join(" ")} ${output.result._tag}`]
      case "Close":
        return [`Close ${output.stream}`]
      default:
        return []
    }
  }
  const step = (input: FlowControl.Input): ReadonlyArray<string> => {
    const [next, outputs] = FlowControl.step(state, input, now)
    state = next
    const said = outputs.flatMap(words)
    for (const output of outputs) {
      if (output._tag === "Send") said.push(...step({ _tag: "Written", stream: output.stream }))
    }
    return said
  }
  return {
    state: () => state,
    step,
    watch: (watcher: number, typeUrl: string, name: string) => step({ _tag: "Watch", watcher, typeUrl, name }),
    unwatch: (watcher: number) => step({ _tag: "Unwatch", watcher }),
    taken: (watcher: number) => step({ _tag: "Taken", watcher }),
    connected: (stream = "p") => step({ _tag: "Connected", stream }),
    end: (stream = "p") => step({ _tag: "Ended", stream, error: { code: 14, message: "lost" }, random: 0.5 }),
    respond: (typeUrl: string, nonce: string, names: ReadonlyArray<string>, stream = "p") =>
      step({
        _tag: "Response",
        stream,
        response: ClientResponse.make({
          protocol: "StateOfTheWorld",
          typeUrl,
          version: nonce,
          nonce,
          resources: names.map((name) =>
            ReceivedResource.make({ typeUrl, value: toResource({ typeUrl, name, content: Number(nonce) }).value })
          )
        })
      }),
    wait: (milliseconds: number) => {
      now += milliseconds
      const said: Array<string> = []
      while (FlowControl.deadline(state) <= now) said.push(...step({ _tag: "Deadline" }))
      return said
    }
  }
}

/** Watchers 1 and 2 of a, 3 of b; the stream is open. */
const open = () => {
  const client = play()
  client.watch(1, EDS, "a")
  client.watch(2, EDS, "a")
  client.watch(3, EDS, "b")
  client.connected()
  return client
}

describe("★ a response is answered, and the next one read, when its watchers are done with it", () => {
  it("all of them, in any order", () => {
    const client = open()
    assert.deepStrictEqual(client.respond(EDS, "1", ["a", "b"]), ["1 2 Updated", "3 Updated"])
    assert.deepStrictEqual(client.taken(3), [])
    assert.deepStrictEqual(client.taken(1), [])
    assert.deepStrictEqual(client.taken(1), [])
    assert.deepStrictEqual(client.taken(2), ["ACK 1", "Read p"])
    assert.deepStrictEqual(client.taken(2), [])
    assert.isEmpty(client.state().deliveries)
  })

  it("at once if nobody was told", () => {
    const client = open()
    client.respond(EDS, "1", [])
    assert.deepStrictEqual(client.respond(EDS, "2", []), ["ACK 2", "Read p"])
  })

  it("a watch that ends is done with it, and its response is answered before the name is given up", () => {
    const client = open()
    client.respond(EDS, "1", ["b"])
    assert.deepStrictEqual(client.unwatch(3), ["ACK 1", "Read p", "ACK 1"])
    assert.isEmpty(client.state().deliveries)
  })

  it("who was told of nothing does not count", () => {
    const client = open()
    client.respond(EDS, "1", ["a"])
    assert.deepStrictEqual(client.taken(3), [])
    assert.deepStrictEqual(client.taken(2), [])
    assert.deepStrictEqual(client.taken(1), ["ACK 1", "Read p"])
  })

  it("what was not asked for is not answered, and the next one is read", () => {
    assert.deepStrictEqual(open().respond(CDS, "1", ["a"]), ["Read p"])
  })
})

describe("★ a watcher that does not come back delays a response by the watcher timeout, and no longer", () => {
  it("then it is answered, and the watcher named", () => {
    const client = open()
    client.respond(EDS, "1", ["a", "b"])
    client.taken(1)
    assert.deepStrictEqual(client.wait(4_999), [])
    assert.deepStrictEqual(client.wait(1), ["Stuck EDS a b", "ACK 1", "Read p"])
    assert.deepStrictEqual(client.taken(2), [])
    // The next response waits for it anew.
    assert.deepStrictEqual(client.respond(EDS, "2", ["a"]), ["1 2 Updated"])
    assert.deepStrictEqual(client.wait(5_000), ["Stuck EDS a a", "ACK 2", "Read p"])
  })

  it("a server that is not waited for puts it off no longer: the last response is answered", () => {
    const client = open()
    client.respond(EDS, "1", ["a"])
    client.wait(3_000)
    client.respond(EDS, "2", ["b"])
    assert.lengthOf(client.state().deliveries, 1)
    client.taken(3)
    assert.deepStrictEqual(client.wait(2_000), ["Stuck EDS a a", "ACK 2", "Read p"])
  })
})

describe("a stream that is over", () => {
  it("has nothing to answer and nothing to read", () => {
    const client = open()
    client.respond(EDS, "1", ["a", "b"])
    client.end()
    assert.isEmpty(client.state().deliveries)
    for (const watcher of [1, 2, 3]) assert.deepStrictEqual(client.taken(watcher), [])
    client.wait(1_000)
    client.connected()
    assert.deepStrictEqual(client.taken(1), [])
  })

  it("★ is not read, nor waited for, when it is closed by what another server gave", () => {
    const client = play()
    client.watch(1, EDS, "a")
    client.watch(2, EDS, "b")
    client.end()
    client.connected("f")
    assert.deepStrictEqual(client.respond(EDS, "1", ["a"], "f"), ["1 Updated"])
    client.wait(1_500)
    client.connected("p")
    assert.deepStrictEqual(client.respond(EDS, "2", ["b"], "p"), ["2 Updated", "Close f"])
    assert.deepStrictEqual(client.taken(1), [])
    assert.deepStrictEqual(client.taken(2), ["ACK 2", "Read p"])
  })
})

it("★ a second decoder of one type is a failure that says which, and nothing changes", () => {
  const state = FlowControl.make({ servers: [{ id: "p", protocol: "Incremental" }] })
  const decoder = decoderOf(CDS)
  const first = Either.getOrThrow(FlowControl.withDecoder(state, decoder))
  assert.strictEqual(Either.getOrThrow(FlowControl.withDecoder(first, decoder)), first)
  const second = FlowControl.withDecoder(first, decoderOf(CDS))
  assert.deepInclude(Either.getOrThrow(Either.flip(second)), { _tag: "DecoderConflict", typeUrl: CDS })
  assert.isTrue(Either.isRight(FlowControl.withDecoder(first, decoderOf(EDS))))
})
