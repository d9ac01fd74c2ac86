import type { MessageInitShape } from "@bufbuild/protobuf"
import { create, toBinary } from "@bufbuild/protobuf"
import * as Collection from "@effect-xds/core/protocol/Collection"
import * as CollectionIndex from "@effect-xds/core/resource/CollectionIndex"
import * as LedsCollections from "@effect-xds/core/resource/LedsCollections"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Steps from "@effect-xds/core/Steps"
import * as Request from "@effect-xds/core/wire/Request"
import { fieldOf } from "@effect-xds/core/wire/Wire"
import { ResourceType } from "@effect-xds/proto"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { assert, describe, it } from "@effect/vitest"
import { Either, HashMap } from "effect"

const { typeUrl } = ResourceType.ClusterLoadAssignment

const resource = (name: string, content = 1) =>
  Either.getOrThrow(Resource.make({ typeUrl, name, value: new TextEncoder().encode(`${name} ${content}`) }))

const changed = (
  group: ResourceGroup.ResourceGroup,
  put: ReadonlyArray<string>,
  remove: ReadonlyArray<string> = []
): ResourceGroup.ResourceGroup =>
  Either.getOrThrow(
    ResourceGroup.update(group, {
      upsert: Array.from(new Set(put), (name) => resource(name)),
      remove: remove.map((name) => ({ typeUrl, name }))
    })
  )

describe("names of collections", () => {
  const members: ReadonlyArray<readonly [name: string, collection: string | undefined]> = [
    ["xdstp://a/T/foo/bar", "xdstp://a/T/foo/*"],
    ["xdstp://a/T/foo/bar/baz", "xdstp://a/T/foo/bar/*"],
    ["xdstp://a/T/bar", "xdstp://a/T/*"],
    ["xdstp:///T/bar", "xdstp:///T/*"],
    ["xdstp://a/T/foo/bar?some=thing", "xdstp://a/T/foo/*?some=thing"],
    ["xdstp://a/T/foo/bar?y=2&x=1", "xdstp://a/T/foo/*?x=1&y=2"],
    ["xdstp://a/T/foo/bar?x=1&x=2", "xdstp://a/T/foo/*?x=2"],
    ["xdstp://a/T/foo/bar?u=a/b", "xdstp://a/T/foo/*?u=a/b"],
    ["xdstp://a/T/foo/*bar", "xdstp://a/T/foo/*"],
    ["xdstp://a/T/foo/", "xdstp://a/T/foo/*"],
    ["xdstp://a/T/foo/*", undefined],
    ["xdstp://a/T/foo/*?x=1", undefined],
    ["xdstp://a/T/foo/bar#alt=xdstp://b/T/foo", undefined],
    ["xdstp://a/T", undefined],
    ["xdstp://a", undefined],
    ["xdstp:foo/bar", undefined],
    ["foo/bar", undefined],
    ["*", undefined],
    ["", undefined]
  ]
  for (const [name, collection] of members) {
    it(`${name} is a member of ${collection ?? "none"}`, () => assert.strictEqual(Collection.of(name), collection))
  }

  it("a collection ends with /*, before its context parameters, and has no processing directives", () => {
    const globs = ["xdstp://a/T/*", "xdstp:///T/foo/*", "xdstp://a/T/foo/*?x=1"]
    const others = [
      "*",
      "foo/*",
      "xdstp://a/*",
      "xdstp://a/T*",
      "xdstp://a/T/*/b",
      "xdstp://a/T/b?x=/*",
      "xdstp://a/T/*#alt=b"
    ]
    assert.deepStrictEqual([...globs, ...others].filter(Collection.isGlob), globs)
    assert.deepStrictEqual(["xdstp://a/T/*?y&x", "xdstp://a/T/b?y&x", "*"].map(Collection.canonical), [
      "xdstp://a/T/*?x&y",
      "xdstp://a/T/b?y&x",
      "*"
    ])
  })
})

describe("CollectionIndex", () => {
  it("is kept up from set to set as it would be made anew", () => {
    const name = (n: number) => `xdstp://a/T/${n % 3}/${n % 7}`
    let group = changed(ResourceGroup.empty, ["old", name(1), name(2)])
    const plain = (of: ResourceGroup.ResourceGroup) => {
      const set = ResourceGroup.set(of, typeUrl)
      const index = Steps.toEnd(CollectionIndex.of(set))
      return Array.from(index, ([glob, names]) => [glob, Array.from(names).sort()] as const).sort()
    }
    plain(group)
    for (let n = 0; n < 100; n++) {
      group = changed(group, n % 4 === 0 ? [] : [name(n), name(5 * n)], [name(3 * n), name(n + 1)])
      const anew = changed(
        ResourceGroup.empty,
        ResourceGroup.all(group).map((each) => each.name)
      )
      assert.isDefined(ResourceGroup.set(group, typeUrl).computed.collections?.value)
      assert.deepStrictEqual(plain(group), plain(anew))
    }
  })

  it("is not made where nobody asks for it, whoever asked for that of an empty group", () => {
    assert.strictEqual(
      HashMap.size(Steps.toEnd(CollectionIndex.of(ResourceGroup.set(ResourceGroup.empty, typeUrl)))),
      0
    )
    const group = changed(changed(ResourceGroup.empty, ["xdstp://a/T/1"]), ["xdstp://a/T/2"])
    assert.isUndefined(ResourceGroup.set(group, typeUrl).computed.collections)
  })
})

describe("a stream with a collection", () => {
  const glob = "xdstp://a/T/*"
  const open = (group: ResourceGroup.ResourceGroup): ServerStream.ServerStream => {
    const made = ServerStream.make({ protocol: "Incremental", typeUrl })
    const [set] = ServerStream.step(made, { _tag: "Changed", group }, 0)
    const [asked] = ServerStream.step(
      set,
      { _tag: "Request", request: Request.incremental({ typeUrl, resourceNamesSubscribe: [glob] }) },
      0
    )
    return ServerStream.step(asked, { _tag: "Writable" }, 0)[0]
  }

  it("is bounded, however many members come and go", () => {
    let group = changed(ResourceGroup.empty, ["xdstp://a/T/stays"])
    let stream = open(group)
    for (let n = 0; n < 2_000; n++) {
      const before = n % 2 === 0 ? [] : [`xdstp://a/T/${n - 1}`]
      group = changed(group, n % 2 === 0 ? [`xdstp://a/T/${n}`] : [], before)
      ;[stream] = ServerStream.step(stream, { _tag: "Changed", group }, n)
      ;[stream] = ServerStream.step(stream, { _tag: "Writable" }, n)
    }
    const [subscription] = stream.subscriptions
    assert(subscription !== undefined)
    assert(subscription.names.size < 200, `${subscription.names.size} names`)
    assert.isTrue(subscription.names.has("xdstp://a/T/stays"))
  })

  it("counts and shows as names what the client listed, and is found in the index by that", () => {
    const stream = open(changed(ResourceGroup.empty, ["xdstp://a/T/1", "xdstp://a/T/2"]))
    const [status] = ServerStream.status(stream)
    assert.strictEqual(status?.names, 1)
    assert.deepStrictEqual(status?.named, [glob])
    const [interest] = ServerStream.interests(stream)
    assert.deepStrictEqual(Array.from(interest?.names.keys() ?? []), [glob])
  })

  it("members do not count for the bound of names", () => {
    const names = Array.from({ length: 20 }, (_, n) => `xdstp://a/T/${n}`)
    const made = ServerStream.make({ protocol: "Incremental", typeUrl, maxNames: 2 })
    const [set] = ServerStream.step(made, { _tag: "Changed", group: changed(ResourceGroup.empty, names) }, 0)
    const request = (subscribe: ReadonlyArray<string>) =>
      ({ _tag: "Request", request: Request.incremental({ typeUrl, resourceNamesSubscribe: subscribe }) }) as const
    const [asked, outputs] = ServerStream.step(set, request([glob]), 0)
    assert.deepStrictEqual(outputs, [
      { _tag: "Subscribed", typeUrl, wildcard: false, names: 1 },
      ...outputs.filter(({ _tag }) => _tag === "Named")
    ])
    const [, more] = ServerStream.step(asked, request(["b"]), 0)
    assert.isFalse(more.some(({ _tag }) => _tag === "Violation"))
    assert.strictEqual(asked.subscriptions[0]?.collections?.globs.size, 1)
  })
})

describe("collections of endpoints in an assignment", () => {
  const leds = (ledsCollectionName: string) => ({
    lbConfig: { case: "ledsClusterLocalityConfig" as const, value: { ledsCollectionName } }
  })
  const encode = (endpoints: MessageInitShape<typeof ClusterLoadAssignmentSchema>["endpoints"]) =>
    toBinary(
      ClusterLoadAssignmentSchema,
      create(ClusterLoadAssignmentSchema, { clusterName: "a", ...(endpoints && { endpoints }) })
    )

  it("are named by localities, in canonical form", () => {
    const glob = "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*"
    const names = LedsCollections.namedIn(encode([leds(`${glob}?b&a`), {}, leds("plain"), leds("")]))
    assert.deepStrictEqual(names, [`${glob}?a&b`, "plain"])
  })

  it("the last member of the oneof on the wire counts", () => {
    const one = encode([leds("xdstp://a/T/*")])
    // load_balancer_endpoints, an empty message, at the end of the locality.
    const locality = one.slice(one.indexOf(0x12) + 2)
    const twice = fieldOf(2, new Uint8Array([...locality, ...fieldOf(7, new Uint8Array())]))
    assert.deepStrictEqual(LedsCollections.namedIn(twice), [])
    assert.deepStrictEqual(LedsCollections.namedIn(fieldOf(2, locality)), ["xdstp://a/T/*"])
  })

  it("there are none in what is no assignment", () => {
    assert.deepStrictEqual(LedsCollections.namedIn(new Uint8Array([0x12, 0x7f, 1])), [])
  })
})
