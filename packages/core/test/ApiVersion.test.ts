import { create, toBinary } from "@bufbuild/protobuf"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import { incremental, stateOfTheWorld } from "@effect-xds/core/wire/Request"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"

const cds = { v2: ResourceType.typeUrlIn("v2", ResourceType.Cluster), v3: ResourceType.Cluster.typeUrl }
const eds = { v2: ResourceType.typeUrlIn("v2", ResourceType.ClusterLoadAssignment) }

/** A cluster of either version is the same bytes. */
const cluster = (api: ResourceType.Api, name: string) =>
  Either.getOrThrow(
    Resource.make({ typeUrl: cds[api], name, value: toBinary(ClusterSchema, create(ClusterSchema, { name })) })
  )

const group = (api: ResourceType.Api, ...names: ReadonlyArray<string>) =>
  Either.getOrThrow(
    ResourceGroup.replace(
      ResourceGroup.empty,
      names.map((name) => cluster(api, name))
    )
  )

const open = (options: Parameters<typeof ServerStream.make>[0], ...inputs: ReadonlyArray<ServerStream.Input>) => {
  let stream = ServerStream.make(options)
  const outputs: Array<ServerStream.Output> = []
  for (const input of inputs) {
    const [next, put] = ServerStream.step(stream, input, 0)
    stream = next
    outputs.push(...put.filter(({ _tag }) => _tag !== "Named" && _tag !== "Subscribed"))
  }
  return { stream, outputs }
}

const ads = { protocol: "Incremental", typeUrl: undefined } as const
const changed = (to: ResourceGroup.ResourceGroup): ServerStream.Input => ({ _tag: "Changed", group: to })
const ask = (typeUrl: string): ServerStream.Input => ({
  _tag: "Request",
  request: incremental({ typeUrl, resourceNamesSubscribe: ["*"] })
})
const writable: ServerStream.Input = { _tag: "Writable" }

const words = (held: ResourceType.Api, asked: string, of: ResourceType.Api) =>
  `the group holds resources of Envoy's ${held} API, and ${asked} is of ${of}`

describe("★ a client of the other version of the API is told so, and takes no answer for an empty one", () => {
  it("when it asks", () => {
    const { outputs, stream } = open(ads, writable, changed(group("v3", "a")), ask(cds.v2))
    assert.deepStrictEqual(outputs, [{ _tag: "Violation", reason: "WrongApi", message: words("v3", cds.v2, "v2") }])
    assert(stream.ended)
    const other = open(ads, writable, changed(group("v2", "a")), ask(cds.v3))
    assert.deepStrictEqual(other.outputs, [
      { _tag: "Violation", reason: "WrongApi", message: words("v2", cds.v3, "v3") }
    ])
  })

  it("when its group is set, or becomes one of the other version", () => {
    for (const before of [ResourceGroup.empty, group("v2"), group("v2", "a")]) {
      const { outputs } = open(ads, writable, changed(before), ask(cds.v2), changed(group("v3", "a")))
      assert.deepStrictEqual(outputs.at(-1), {
        _tag: "Violation",
        reason: "WrongApi",
        message: words("v3", cds.v2, "v2")
      })
    }
    const waiting = open(ads, writable, ask(cds.v2), changed(group("v3", "a")))
    assert.deepStrictEqual(
      waiting.outputs.map(({ _tag }) => _tag),
      ["Waiting", "Violation"]
    )
  })

  it("when it is moved to a group of the other version", () => {
    const phases = { makeBeforeBreak: true, phaseDeadline: 5_000 }
    const { outputs } = open(ads, writable, changed(group("v2", "a")), ask(cds.v2), {
      _tag: "Moved",
      group: group("v3", "a"),
      phases
    })
    assert.deepStrictEqual(
      outputs.map(({ _tag }) => _tag),
      ["Send", "Violation"]
    )
  })

  it("and no other client is", () => {
    for (const api of ["v2", "v3"] as const) {
      const { outputs } = open(
        ads,
        writable,
        changed(group(api, "a")),
        ask("type.googleapis.com/acme.v1.Widget"),
        ask(cds[api]),
        changed(group(api, "a", "b")),
        changed(group(api)),
        changed(ResourceGroup.empty)
      )
      assert.notInclude(
        outputs.map(({ _tag }) => _tag),
        "Violation"
      )
    }
  })
})

describe("the version of a service is not that of the resources", () => {
  const first = (service: string, typeUrl: string) =>
    open({ protocol: "StateOfTheWorld", typeUrl: service }, writable, changed(group("v3", "a")), {
      _tag: "Request",
      request: stateOfTheWorld({ typeUrl })
    }).outputs[0]

  it("the clusters of v3 are to be had from the service of v2", () => {
    for (const service of [cds.v2, cds.v3]) assert.propertyVal(first(service, cds.v3), "typeUrl", cds.v3)
  })

  it("those of another type are not", () => {
    for (const typeUrl of [eds.v2, ResourceType.Listener.typeUrl, "type.googleapis.com/acme.v1.Widget"]) {
      assert.deepInclude(first(cds.v2, typeUrl), { _tag: "Violation", reason: "WrongType" })
    }
  })
})

describe("a group holds resources of one version", () => {
  it("one with both is refused, and stays as it was", () => {
    const mixed = new ResourceGroup.MixedApis({ v2: cds.v2, v3: cds.v3 })
    const both = [cluster("v2", "a"), cluster("v3", "a")]
    assert.deepStrictEqual(ResourceGroup.replace(ResourceGroup.empty, both), Either.left(mixed))
    assert.deepStrictEqual(ResourceGroup.update(group("v2", "a"), { upsert: [cluster("v3", "b")] }), Either.left(mixed))
    assert.include(mixed.message, "a group has resources of one of them")
  })

  it("it may go from one to the other, and is of neither in between", () => {
    const next = Either.getOrThrow(ResourceGroup.replace(group("v2", "a"), [cluster("v3", "a")]))
    assert.deepStrictEqual(
      [group("v2", "a"), next, group("v2")].map((each) => ResourceGroup.apiOf(each)),
      ["v2", "v3", undefined]
    )
  })
})
