import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { AnySchema, DurationSchema } from "@bufbuild/protobuf/wkt"
import * as Authority from "@effect-xds/core/protocol/Authority"
import * as Backoff from "@effect-xds/core/client/Backoff"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as Fields from "@effect-xds/core/wire/Fields"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import * as Request from "@effect-xds/core/wire/Request"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as Validation from "@effect-xds/core/client/Validation"
import { fieldOf, utf8 } from "@effect-xds/core/wire/Wire"
import { ControlPlaneSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { StatusSchema } from "@effect-xds/proto/google/rpc/status"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
  ResourceNameSchema,
  ResourceSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Cluster, ClusterLoadAssignment, FilterChain, LbEndpoint } from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { assert, describe, it } from "@effect/vitest"

const { typeUrl } = Cluster
const node = toBinary(NodeSchema, create(NodeSchema, { id: "n1" }))
const clusterOf = (name: string) => toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName: "é" }))
const anyOf = (value: Uint8Array, url = typeUrl) => create(AnySchema, { typeUrl: url, value })
const concat = (...parts: ReadonlyArray<Uint8Array>) => new Uint8Array(Buffer.concat(parts))

describe("ClientRequest", () => {
  it("state of the world: protobuf-es reads what it writes", () => {
    const request = Request.stateOfTheWorld({
      typeUrl,
      versionInfo: "7",
      resourceNames: ["a", "", "ü".repeat(200)],
      responseNonce: "n",
      errorDetail: { code: 3, message: "words" },
      node
    })
    const read = fromBinary(DiscoveryRequestSchema, ClientRequest.encode(request))
    assert.strictEqual(read.typeUrl, typeUrl)
    assert.strictEqual(read.versionInfo, "7")
    assert.deepStrictEqual(read.resourceNames, ["a", "", "ü".repeat(200)])
    assert.strictEqual(read.responseNonce, "n")
    assert.strictEqual(read.errorDetail?.code, 3)
    assert.strictEqual(read.errorDetail?.message, "words")
    assert.strictEqual(read.node?.id, "n1")
    assert.isUndefined(read.$unknown)
  })

  it("incremental: protobuf-es reads what it writes", () => {
    const request = Request.incremental({
      typeUrl,
      resourceNamesSubscribe: ["*", "a"],
      resourceNamesUnsubscribe: ["b"],
      initialResourceVersions: new Map([
        ["a", "1"],
        ["c", ""]
      ]),
      responseNonce: "n",
      errorDetail: { code: 13, message: "" },
      node
    })
    const read = fromBinary(DeltaDiscoveryRequestSchema, ClientRequest.encode(request))
    assert.deepStrictEqual(read.resourceNamesSubscribe, ["*", "a"])
    assert.deepStrictEqual(read.resourceNamesUnsubscribe, ["b"])
    assert.deepStrictEqual(read.initialResourceVersions, { a: "1", c: "" })
    assert.strictEqual(read.responseNonce, "n")
    assert.strictEqual(read.errorDetail?.code, 13)
    assert.strictEqual(read.node?.id, "n1")
    assert.isUndefined(read.$unknown)
  })
})

describe("ClientRequest.Encoder", () => {
  it("encodes the names of each type once, as long as they are the same array", () => {
    const encoder = new ClientRequest.Encoder()
    const lists = [["a", "b"], ["a", "b"], ["c"]]
    for (let round = 0; round < 3; round++) {
      for (const [index, resourceNames] of lists.entries()) {
        for (const url of [typeUrl, ClusterLoadAssignment.typeUrl]) {
          const request = Request.stateOfTheWorld({ typeUrl: url, resourceNames, responseNonce: `${round}${index}` })
          for (let repeat = 0; repeat < 2; repeat++)
            assert.deepStrictEqual(encoder.encode(request), ClientRequest.encode(request))
        }
      }
    }
    let read = 0
    class Watched extends Array<string> {
      override map<A>(of: (name: string, index: number, names: Array<string>) => A): Array<A> {
        read++
        return Array.from(super.values(), (name, index) => of(name, index, this))
      }
    }
    const watched = Watched.from(["a"])
    const request = Request.stateOfTheWorld({ typeUrl, resourceNames: watched })
    encoder.encode(request)
    encoder.encode({ ...request, responseNonce: "2" })
    assert.strictEqual(read, 1)
  })
})

describe("the tables of fields", () => {
  const schemas = [
    [Fields.DiscoveryRequest, DiscoveryRequestSchema],
    [Fields.DeltaDiscoveryRequest, DeltaDiscoveryRequestSchema],
    [Fields.DiscoveryResponse, DiscoveryResponseSchema],
    [Fields.DeltaDiscoveryResponse, DeltaDiscoveryResponseSchema],
    [Fields.Resource, ResourceSchema],
    [Fields.ResourceName, ResourceNameSchema],
    [Fields.ControlPlane, ControlPlaneSchema],
    [Fields.Any, AnySchema],
    [Fields.Duration, DurationSchema],
    [Fields.Status, StatusSchema]
  ] as const
  for (const [table, schema] of schemas) {
    it(`${schema.name}: each number is that of the field of this name`, () => {
      const known = new Map(schema.fields.map(({ localName, number }) => [localName, number]))
      for (const [name, number] of Object.entries(table)) {
        assert.strictEqual(known.get(name), number, `${name} = ${number}`)
      }
    })
  }
})

/** A `resource_errors` entry (TP3). */
const resourceError = (field: number, name: string) => {
  const status = concat(Uint8Array.of(1 * 8, 5), fieldOf(2, utf8("no such thing")))
  return fieldOf(field, concat(fieldOf(1, fieldOf(1, utf8(name))), fieldOf(2, status)))
}

describe("ClientResponse", () => {
  it("state of the world: reads what protobuf-es writes, resources as views", () => {
    const wrapped = create(ResourceSchema, {
      name: "b",
      version: "2",
      aliases: ["x"],
      resource: anyOf(clusterOf("b")),
      ttl: create(DurationSchema, { seconds: 2n, nanos: 500_000_000 })
    })
    const response = create(DiscoveryResponseSchema, {
      versionInfo: "7",
      typeUrl,
      nonce: "n",
      controlPlane: { identifier: "cp" },
      resources: [
        anyOf(clusterOf("a")),
        anyOf(toBinary(ResourceSchema, wrapped), "type.googleapis.com/envoy.service.discovery.v3.Resource"),
        anyOf(clusterOf("c")),
        anyOf(new Uint8Array(), ClusterLoadAssignment.typeUrl),
        create(AnySchema)
      ]
    })
    const bytes = concat(
      toBinary(DiscoveryResponseSchema, response),
      resourceError(7, "gone"),
      fieldOf(99, utf8("new"))
    )
    const read = Either.getOrThrow(ClientResponse.decode("StateOfTheWorld", bytes))
    assert.deepInclude(read, { typeUrl, version: "7", nonce: "n", removed: [] })
    assert.deepStrictEqual(read.errors, [{ name: "gone", error: { code: 5, message: "no such thing" } }])
    const [a, b, c, d, e] = read.resources.map(ReceivedResource.read)
    assert.deepStrictEqual(a?.value && Array.from(a.value), Array.from(clusterOf("a")))
    assert.strictEqual(a?.value?.buffer, bytes.buffer)
    assert.deepInclude(b, { name: "b", version: "2", aliases: ["x"], ttl: 2_500, typeUrl })
    assert.deepStrictEqual(c?.value && Array.from(c.value), Array.from(clusterOf("c")))
    assert.deepInclude(d, { typeUrl: ClusterLoadAssignment.typeUrl })
    assert.strictEqual(d?.value?.byteLength, 0)
    assert.deepInclude(e, { typeUrl: "" })
  })

  it("incremental: reads names and versions of any characters and lengths", () => {
    const texts = ["a", "~", "größer", "名前", "😀", "x".repeat(127), "x".repeat(128), "ü".repeat(63), "ü".repeat(64)]
    const pairs = texts.flatMap((name) => texts.map((version) => ({ name, version })))
    const resources = pairs.map((each) => ({ ...each, resource: anyOf(clusterOf(each.name)) }))
    const bytes = toBinary(DeltaDiscoveryResponseSchema, create(DeltaDiscoveryResponseSchema, { typeUrl, resources }))
    const read = Either.getOrThrow(ClientResponse.decode("Incremental", bytes))
    assert.deepStrictEqual(
      read.resources.map(ReceivedResource.read).map(({ name, version }) => ({ name, version })),
      pairs
    )
    for (const { name, value } of read.resources.map(ReceivedResource.read))
      assert.deepStrictEqual(value && Array.from(value), Array.from(clusterOf(name)))
  })

  it("incremental: reads what protobuf-es writes", () => {
    const response = create(DeltaDiscoveryResponseSchema, {
      systemVersionInfo: "7",
      typeUrl,
      nonce: "n",
      resources: [
        { name: "a", version: "1", resource: anyOf(clusterOf("a")) },
        { name: "b", version: "2" },
        { resourceName: { name: "c" }, resource: anyOf(clusterOf("c")) }
      ],
      removedResources: ["x"],
      removedResourceNames: [{ name: "y" }]
    })
    const bytes = concat(toBinary(DeltaDiscoveryResponseSchema, response), resourceError(9, "gone"))
    const read = Either.getOrThrow(ClientResponse.decode("Incremental", bytes))
    assert.deepInclude(read, { typeUrl, version: "7", nonce: "n", removed: ["x", "y"] })
    assert.deepStrictEqual(
      read.resources.map(ReceivedResource.read).map(({ name, value, version }) => [name, version, value !== undefined]),
      [
        ["a", "1", true],
        ["b", "2", false],
        ["c", "", true]
      ]
    )
    assert.deepStrictEqual(
      read.errors.map(({ name }) => name),
      ["gone"]
    )
  })

  it("never throws, whatever the bytes are", () => {
    const valid = toBinary(
      DiscoveryResponseSchema,
      create(DiscoveryResponseSchema, { versionInfo: "1", typeUrl, nonce: "n", resources: [anyOf(clusterOf("a"))] })
    )
    const damaged = fc
      .tuple(fc.nat(valid.length - 1), fc.nat(255), fc.nat(valid.length))
      .map(([at, byte, length]) => valid.with(at, byte).slice(0, length))
    for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
      fc.assert(
        fc.property(fc.oneof(fc.uint8Array({ maxLength: 64 }), damaged), (bytes) => {
          const read = ClientResponse.decode(protocol, bytes)
          if (Either.isLeft(read)) assert.include(read.left.message, `${bytes.byteLength} bytes are not a`)
        }),
        { seed: 1, numRuns: 2_000 }
      )
    }
  })
})

describe("Authority", () => {
  it("is that of the name", () => {
    assert.isUndefined(Authority.ofName("a"))
    assert.strictEqual(Authority.ofName("xdstp://one/t/a"), "one")
    assert.strictEqual(Authority.ofName("xdstp:///t/a"), "")
  })

  it("normal names have their context parameters in order, the last one of each key", () => {
    assert.strictEqual(Authority.normalize("a?b=1&a=2"), "a?b=1&a=2")
    assert.strictEqual(Authority.normalize("xdstp://one/t/a?b=1&a=2&b=3"), "xdstp://one/t/a?a=2&b=3")
    assert.strictEqual(Authority.normalize("xdstp://one/t/a?"), "xdstp://one/t/a")
    assert.strictEqual(Authority.normalize("xdstp://one/t/a?b=1&a=2#alt=x"), "xdstp://one/t/a?a=2&b=1#alt=x")
  })
})

describe("Backoff", () => {
  it("grows by the factor up to the maximum, jittered, and never comes before the floor", () => {
    const options = { initial: 1_000, factor: 2, max: 3_000, jitter: 0.5, floor: 100 }
    let backoff = Backoff.start(Backoff.initial, 0)
    const delays = [0, 0.5, 0.999, 0.5].map((random) => {
      const [next, at] = Backoff.fail(backoff, options, random, 0)
      backoff = next
      return at
    })
    assert.deepStrictEqual(delays, [500, 2_000, 4_497, 3_000])
    backoff = Backoff.start(Backoff.reset(backoff), 50)
    assert.strictEqual(Backoff.earliest(backoff, options, 60), 150)
    // Without a delay the floor stays, however often it fails.
    const often = { ...backoff, failures: 5_000 }
    assert.strictEqual(Backoff.fail(often, { ...options, initial: 0 }, 0.5, 60)[1], 150)
    assert.strictEqual(Backoff.fail(backoff, { ...options, floor: 5_000 }, 0, 60)[1], 5_050)
  })
})

describe("Validation", () => {
  it("cuts no character apart, and keeps to the bytes", () => {
    for (let max = 0; max < 12; max++) {
      const text = Validation.truncate("añ€😀z", max)
      assert.isAtMost(utf8(text).byteLength, max)
      assert.isTrue("añ€😀z".startsWith(text))
    }
    const problems = Array.from({ length: 1_000 }, (_, n) => `resource ${n}: ${"€".repeat(50)}`)
    const error = Validation.errorOf(problems, 4_096)
    assert.isAtMost(utf8(error?.message ?? "").byteLength, 4_096)
    assert.isTrue(error?.message.endsWith("… (1000 in all)"))
    // All of them, if there is just room.
    const few = ["ab", "cd", "ef"]
    assert.strictEqual(Validation.errorOf(few, 10)?.message, "ab; cd; ef")
    for (const max of [5, 6, 7, 8, 9]) assert.strictEqual(Validation.errorOf(few, max)?.message, "… (3 in all)")
  })
})

describe("ResourceDecoder", () => {
  const decoderOf = (type: string) => ResourceDecoder.make({ typeUrl: type, decode: () => Either.right(0) })

  it("reads a name where the table of types says; of an endpoint there is none", () => {
    const name = fieldOf(1, utf8("one"))
    const filterChain = concat(fieldOf(1, utf8("one")), fieldOf(7, utf8("seven")))
    assert.strictEqual(decoderOf(Cluster.typeUrl).nameOf(name), "one")
    assert.strictEqual(decoderOf("type.googleapis.com/own.Type").nameOf(name), "one")
    assert.strictEqual(decoderOf(FilterChain.typeUrl).nameOf(filterChain), "seven")
    assert.isUndefined(decoderOf(LbEndpoint.typeUrl).nameOf(name))
  })
})
