import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Variants from "@effect-xds/core/resource/Variants"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"

const CDS = ResourceType.Cluster.typeUrl
const EDS = ResourceType.ClusterLoadAssignment.typeUrl
const VHDS = ResourceType.VirtualHost.typeUrl

const cluster = (name: string): Resource.Resource => {
  const message = create(ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS }
  })
  return Either.getOrThrow(Resource.make({ typeUrl: CDS, name, value: toBinary(ClusterSchema, message) }))
}

describe("bounds of a stream", () => {
  for (const [count, warms] of [
    [10_000, false],
    [10_001, true]
  ] as const) {
    it(`★ of assignments that warm clusters before EDS is asked for: ${count} clusters, ${warms ? "any may be one" : "each is known"}`, () => {
      const held = [cluster("held"), toResource({ typeUrl: EDS, name: "held", content: 1 })] as const
      const others = Array.from({ length: count }, (_, index) => cluster(`cluster-${index}`))
      const group = Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert: [...held, ...others] }))
      let stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined, phaseDeadline: 0 })
      const sent: Array<string> = []
      const step = (input: ServerStream.Input): void => {
        const [next, outputs] = ServerStream.step(stream, input, 0)
        stream = next
        for (const output of outputs) {
          if (output._tag === "Send") sent.push(...output.response.resources.map(({ name }) => name))
        }
      }
      const request = (typeUrl: string, resource: Resource.Resource): void => {
        const initialResourceVersions = new Map([[resource.name, resource.version]])
        const resourceNamesSubscribe = typeUrl === CDS ? ["*"] : [resource.name]
        step({
          _tag: "Request",
          request: Request.incremental({ typeUrl, resourceNamesSubscribe, initialResourceVersions })
        })
        for (let before = -1; before !== sent.length;) {
          before = sent.length
          step({ _tag: "Writable" })
        }
      }
      step({ _tag: "Changed", group })
      request(CDS, held[0])
      assert.lengthOf(sent, count)
      sent.length = 0
      request(EDS, held[1])
      assert.deepStrictEqual(sent, warms ? ["held"] : [])
    })
  }

  it("★ of variants that a client has: those of names, a collection and a host that it unsubscribed from are forgotten", () => {
    const variants = (typeUrl: string, name: string) =>
      Either.getOrThrow(
        Variants.make({ typeUrl, name }, [
          { constraints: { _tag: "Value", key: "env", value: "prod" }, value: new Uint8Array([1]) }
        ])
      )
    const names = Array.from({ length: 200 }, (_, index) => `name-${index}`)
    const members = names.map((name) => `xdstp://x/t/a/${name}`)
    let stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined })
    const step = (input: ServerStream.Input): void => {
      ;[stream] = ServerStream.step(stream, input, 0)
      if (input._tag !== "Writable") step({ _tag: "Writable" })
    }
    const request = (typeUrl: string, subscribe: ReadonlyArray<string>, unsubscribe: ReadonlyArray<string> = []) => {
      const parameters = new Map(["", "x"].map((authority) => [authority, new Map([["env", "prod"]])]))
      const resourceNames = { resourceNamesSubscribe: subscribe, resourceNamesUnsubscribe: unsubscribe }
      step({ _tag: "Request", request: Request.incremental({ typeUrl, ...resourceNames, parameters }) })
      step({ _tag: "Request", request: Request.incremental({ typeUrl, responseNonce: String(stream.nonces) }) })
    }
    const upsert = [
      ...[...names, ...members].map((name) => variants(EDS, name)),
      variants(VHDS, "r/*.test"),
      variants(VHDS, "r/b.org")
    ]
    step({ _tag: "Changed", group: Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert })) })
    request(EDS, ["xdstp://x/t/a/*"])
    request(EDS, names)
    request(VHDS, ["r/a.test", "r/b.test", "r/b.org"])
    assert.strictEqual(HashMap.size(stream.variants), 402)
    request(VHDS, [], ["r/a.test"])
    assert.strictEqual(HashMap.size(stream.variants), 402)
    request(VHDS, [], ["r/b.test"])
    assert.strictEqual(HashMap.size(stream.variants), 401)
    request(EDS, ["xdstp://x/t/a/name-7"], ["xdstp://x/t/a/*"])
    assert.strictEqual(HashMap.size(stream.variants), 202)
    request(EDS, [], names)
    assert.sameMembers(Array.from(HashMap.keys(stream.variants)), [`${EDS} xdstp://x/t/a/name-7`, `${VHDS} r/b.org`])
    request(EDS, ["*"])
    assert.strictEqual(HashMap.size(stream.variants), 402 - 1)
    request(EDS, [], ["*"])
    assert.strictEqual(HashMap.size(stream.variants), 2)
  })

  it("★ of names in one request: it is refused before any of them is taken", () => {
    const stream = ServerStream.make({ protocol: "StateOfTheWorld", typeUrl: undefined, maxNames: 10 })
    const resourceNames = Array.from({ length: 12 }, (_, index) => `name-${index % 2}`)
    const request = Request.stateOfTheWorld({ typeUrl: EDS, resourceNames })
    const [next, outputs] = ServerStream.step(stream, { _tag: "Request", request }, 0)
    assert.deepInclude(outputs[0], { _tag: "Violation", reason: "TooManyNames" })
    assert.isFalse(ServerStream.isWorking(next))
  })
})
