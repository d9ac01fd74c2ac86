import { create, toBinary } from "@bufbuild/protobuf"
import { anyPack, DurationSchema } from "@bufbuild/protobuf/wkt"
import * as Client from "@effect-xds/core/client/Client"
import * as ClientCache from "@effect-xds/core/client/ClientCache"
import * as ResponseOrder from "@effect-xds/core/client/ResponseOrder"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as PlainData from "@effect-xds/core/PlainData"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import type { Protocol } from "@effect-xds/core/wire/Request"
import { viewOf } from "@effect-xds/core/wire/Wire"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  DeltaDiscoveryResponseSchema,
  DiscoveryResponseSchema,
  ResourceSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Cluster } from "@effect-xds/proto/ResourceType"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as ClientStep from "./ClientStep.js"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as fc from "fast-check"

const { typeUrl } = Cluster
const given = process.env["XDS_SEED"] ?? "20260101"
const seed = given === "random" ? Date.now() % 2 ** 31 : Number(given)

interface Sent {
  readonly name: string
  readonly content: number
  readonly version: string
  readonly ttl?: boolean
  readonly aliases?: ReadonlyArray<string>
}

interface Script {
  readonly resources: ReadonlyArray<Sent>
  readonly removed: ReadonlyArray<string>
}

const anyOf = ({ content, name }: Sent) =>
  anyPack(ClusterSchema, create(ClusterSchema, { name, altStatName: content === 0 ? "" : "s".repeat(20 * content) }))

/** What protobuf-es writes of a response. */
const encode = (protocol: Protocol, { removed, resources }: Script, nonce: string): Uint8Array =>
  protocol === "StateOfTheWorld"
    ? toBinary(
        DiscoveryResponseSchema,
        create(DiscoveryResponseSchema, { typeUrl, versionInfo: nonce, nonce, resources: resources.map(anyOf) })
      )
    : toBinary(
        DeltaDiscoveryResponseSchema,
        create(DeltaDiscoveryResponseSchema, {
          typeUrl,
          nonce,
          removedResources: [...removed],
          resources: resources.map((each) =>
            create(ResourceSchema, {
              name: each.name,
              version: each.version,
              aliases: [...(each.aliases ?? [])],
              resource: anyOf(each),
              ...(each.ttl === true ? { ttl: create(DurationSchema, { seconds: 5n }) } : {})
            })
          )
        })
      )

const decode = (protocol: Protocol, script: Script, nonce = "1") =>
  Either.getOrThrow(ClientResponse.decode(protocol, encode(protocol, script, nonce)))

const received = (protocol: Protocol, ...resources: ReadonlyArray<Sent>) =>
  decode(protocol, { resources, removed: [] }).resources

const unread = (resource: ReceivedResource.Received | undefined): ReceivedResource.Unread => {
  assert(resource?.message !== undefined)
  return resource
}

/** What compares the body of a resource. */
const bodyOf = (resource: ReceivedResource.Received | undefined): DataView =>
  viewOf(ReceivedResource.read(unread(resource)).value ?? new Uint8Array())

const placed = ({ name, version }: Sent, resource: ReceivedResource.Received) =>
  ResponseOrder.place(name, { version, bytes: bodyOf(resource), isPlain: true })

/** A client that watches the wildcard and two names. */
const clientOf = (protocol: Protocol) => {
  const decoder = ResourceDecoder.make({ typeUrl, decode: (value) => Either.right(value) })
  let state = Client.make({ servers: [{ id: "server", protocol }], decoders: [decoder] })
  let stream = ""
  const step = (input: Client.Input): ReadonlyArray<Client.Output> => {
    const [next, outputs] = ClientStep.step(state, input, 1)
    state = next
    for (const output of outputs) if (output._tag === "Connect") stream = output.stream
    return outputs
  }
  const watched = ["*", "b", "é"]
  const watching = new Set<number>()
  /** Watches a name, or not any more. */
  const toggle = (watcher: number): void => {
    const name = watched[watcher]
    if (name === undefined) return
    if (watching.delete(watcher)) step({ _tag: "Unwatch", watcher })
    else {
      watching.add(watcher)
      step({ _tag: "Watch", watcher, typeUrl, name })
    }
    step({ _tag: "Written", stream })
  }
  for (const watcher of watched.keys()) toggle(watcher)
  step({ _tag: "Connected", stream })
  step({ _tag: "Written", stream })
  return {
    receive: (response: ClientResponse.ClientResponse) => {
      const outputs = step({ _tag: "Response", stream, response })
      step({ _tag: "Written", stream })
      step({ _tag: "Processed", stream, typeUrl, nonce: response.nonce })
      return outputs
    },
    toggle,
    cache: () => state.cache
  }
}

/** Two of them are each other's bytes, read as Latin-1. */
const names = ["a", "b", "c", "é", "Ã©", "d".repeat(200), "xdstp://x/envoy.config.cluster.v3.Cluster/e?b=1&a=2"]

const sent = fc.record<Sent>({
  name: fc.constantFrom(...names),
  content: fc.nat(2),
  version: fc.constantFrom("1", "2", "é", "")
})
const rare = fc.record<Sent>({
  name: fc.constantFrom(...names),
  content: fc.nat(2),
  version: fc.constantFrom("1", "2"),
  ttl: fc.boolean(),
  aliases: fc.subarray(["b", "c", "é"])
})
const script = fc.record<Script>({
  resources: fc.array(fc.oneof({ weight: 9, arbitrary: sent }, { weight: 1, arbitrary: rare }), { maxLength: 8 }),
  removed: fc.oneof({ weight: 4, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: fc.subarray(names) })
})
/** Responses that are like the one before, as those of servers are: some of it again, in some order. A watcher may go or come before. */
const scripts = fc.array(fc.tuple(script, fc.boolean(), fc.nat(), fc.nat(9)), { maxLength: 8 }).map((all) => {
  let last: Script = { resources: [], removed: [] }
  return all.map(([next, isAgain, turn, toggled]) => {
    const { length } = last.resources
    const at = length === 0 ? 0 : turn % length
    const turned = turn % 3 === 0 ? [...last.resources.slice(at), ...last.resources.slice(0, at)] : last.resources
    last = isAgain ? { resources: [...turned, ...next.resources.slice(0, turn % 2)], removed: next.removed } : next
    return { ...last, toggled }
  })
})

describe("resources that are not read until that is needed", () => {
  for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
    it(`lead to what they lead to when they are read: ${protocol}`, () => {
      let count = 0
      fc.assert(
        fc.property(scripts, (responses) => {
          const [one, other] = [clientOf(protocol), clientOf(protocol)]
          for (const [index, each] of responses.entries()) {
            for (const client of [one, other]) client.toggle(each.toggled)
            const response = decode(protocol, each, String(index + 1))
            count += response.resources.filter((resource) => resource.message !== undefined).length
            const again = decode(protocol, each, String(index + 1))
            const outputs = one.receive(response)
            assert.deepStrictEqual(
              outputs,
              other.receive({ ...again, resources: again.resources.map(ReceivedResource.read) })
            )
            assert.deepStrictEqual(one.cache(), other.cache())
          }
        }),
        { seed, numRuns: Number(process.env["XDS_RUNS"] ?? "400") }
      )
      assert.isAbove(count, 200)
    })
  }

  it("are data, and say what they are when they are read", () => {
    for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
      const resource = unread(received(protocol, { name: "cluster", content: 1, version: "7" })[0])
      const isWrapped = protocol === "Incremental"
      const { name, value, version } = ReceivedResource.read(resource)
      assert.deepStrictEqual([name, version], isWrapped ? ["cluster", "7"] : ["", ""])
      assert.strictEqual(ReceivedResource.isWrapped(resource), isWrapped)
      assert.strictEqual(ReceivedResource.nameHash(resource), ReceivedResource.hashOf("cluster"))
      assert.strictEqual(ReceivedResource.sizeOf(resource), value?.byteLength)
      assert.deepStrictEqual(PlainData.read(PlainData.print(resource)), resource)
      assert.deepStrictEqual(structuredClone(resource), resource)
    }
  })

  it("have texts in ASCII: others are read at once, and invalid UTF-8 is told", () => {
    const [ascii, name, version] = received(
      "Incremental",
      { name: "a", content: 0, version: "1" },
      { name: "é", content: 0, version: "1" },
      { name: "a", content: 0, version: "é" }
    )
    assert.isDefined(ascii?.message)
    assert.isUndefined(name?.message)
    assert.isUndefined(version?.message)
    const bytes = encode("Incremental", { resources: [{ name: "é", content: 0, version: "1" }], removed: [] }, "1")
    const at = bytes.lastIndexOf(0xc3)
    bytes[at] = 0xff
    const { resources } = Either.getOrThrow(ClientResponse.decode("Incremental", bytes))
    const [resource] = resources
    assert(resource !== undefined)
    assert.isDefined(ReceivedResource.read(resource).malformed)
  })
})

describe("the order of a response", () => {
  const comparison = new ReceivedResource.Comparison()
  const findIn = (index: ResponseOrder.PlaceIndex, resource: ReceivedResource.Received | undefined) =>
    index.unchanged(ReceivedResource.nameHash(unread(resource)), unread(resource), comparison)
  const all = Array.from({ length: 2_000 }, (_, number) => ({ name: `cluster-${number}`, content: 1, version: "1" }))
  const indexOf = (protocol: Protocol, sent: ReadonlyArray<Sent>) => {
    const resources = received(protocol, ...sent)
    return new ResponseOrder.PlaceIndex(resources.flatMap((each, at) => (sent[at] ? [placed(sent[at], each)] : [])))
  }

  it("finds what is unchanged by its name, in any order", () => {
    for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
      const index = indexOf(protocol, all)
      const found = received(protocol, ...all.toReversed()).map((each) => findIn(index, each))
      assert.deepStrictEqual(
        found.map((each) => each?.name),
        all.toReversed().map(({ name }) => name)
      )
      for (const { name } of all) assert.strictEqual(index.named(name)?.name, name)
      assert.isUndefined(index.named("another"))
    }
  })

  it("does not find what has another body, version or name", () => {
    const one = { name: "cluster-7", content: 1, version: "1" }
    const index = indexOf("Incremental", all)
    const isFound = (sent: Sent) => {
      const [resource] = received("Incremental", sent)
      return findIn(index, resource) !== undefined
    }
    assert.isTrue(isFound(one))
    assert.isFalse(isFound({ ...one, content: 2 }))
    assert.isFalse(isFound({ ...one, version: "2" }))
    assert.isFalse(isFound({ ...one, name: "cluster-7x" }))
    // The body alone does not say which it is: two endpoints (LEDS) may be equal.
    const [other] = received("Incremental", { ...one, name: "cluster-8" })
    const [mine] = received("Incremental", one)
    assert(other !== undefined && mine !== undefined)
    const held = ResponseOrder.place("cluster-7", {
      version: "1",
      bytes: bodyOf(other),
      isPlain: true
    })
    assert.isFalse(ResponseOrder.isUnchanged(held, unread(other), comparison))
    const use = { version: "1", bytes: bodyOf(mine), isPlain: false }
    assert.isFalse(ResponseOrder.isUnchanged(ResponseOrder.place("cluster-7", use), unread(mine), comparison))
  })

  it("looks at no more than 16 places for a name: names may be chosen so that they meet", () => {
    const chosen = Array.from({ length: 20_000 }, (_, number) => `chosen-${number}`)
      .filter((name) => (ReceivedResource.hashOf(name) & 127) === 5)
      .slice(0, 60)
      .map((name) => ({ name, content: 1, version: "1" }))
    assert.lengthOf(chosen, 60)
    const index = indexOf("StateOfTheWorld", chosen)
    const found = received("StateOfTheWorld", ...chosen).map((each) => findIn(index, each)?.name)
    assert.lengthOf(
      found.filter((name) => name !== undefined),
      16
    )
    for (const [at, name] of found.entries()) if (name !== undefined) assert.strictEqual(name, chosen[at]?.name)
    assert.lengthOf(
      chosen.filter(({ name }) => index.named(name)?.name === name),
      16
    )
  })

  it("is not indexed for a few of many", () => {
    const client = clientOf("Incremental")
    client.receive(decode("Incremental", { resources: all, removed: [] }))
    const { unchanged } = ClientCache.inUse(client.cache(), typeUrl, "server", 1)
    const whole = ClientCache.inUse(client.cache(), typeUrl, "server", 1_000)
    const [resource] = received("Incremental", all[1_000] ?? { name: "", content: 0, version: "" })
    assert.isUndefined(unchanged(unread(resource), undefined, comparison))
    assert.strictEqual(whole.unchanged(unread(resource), undefined, comparison)?.name, "cluster-1000")
  })
})
