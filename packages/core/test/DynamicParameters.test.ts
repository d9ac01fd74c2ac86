import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import * as DynamicParameters from "@effect-xds/core/protocol/DynamicParameters"
import * as ChangeLog from "@effect-xds/core/resource/ChangeLog"
import * as ClientView from "@effect-xds/core/resource/ClientView"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Variants from "@effect-xds/core/resource/Variants"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as Request from "@effect-xds/core/wire/Request"
import * as Response from "@effect-xds/core/wire/Response"
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  type DynamicParameterConstraints,
  DynamicParameterConstraintsSchema,
  ResourceLocatorSchema
} from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { assert, describe, it } from "@effect/vitest"

const { typeUrl } = ResourceType.RouteConfiguration
const keys = ["env", "version", ""]
const values = ["prod", "test", ""]

const { constraints: anyConstraints } = fc.letrec<{ constraints: DynamicParameters.Constraints }>((tie) => ({
  constraints: fc.oneof(
    { depthSize: "small" },
    fc.constant<DynamicParameters.Constraints>({ _tag: "Any" }),
    fc.record({
      _tag: fc.constant("Value" as const),
      key: fc.constantFrom(...keys),
      value: fc.constantFrom(...values)
    }),
    fc.record({ _tag: fc.constant("Exists" as const), key: fc.constantFrom(...keys) }),
    fc.record({
      _tag: fc.constantFrom("Or" as const, "And" as const),
      constraints: fc.array(tie("constraints"), { maxLength: 3 })
    }),
    fc.record({ _tag: fc.constant("Not" as const), constraints: tie("constraints") })
  )
}))

const anyParameters = fc
  .dictionary(fc.constantFrom(...keys), fc.constantFrom(...values))
  .map((each) => new Map(Object.entries(each)))

/** The same as written in the proposal, of the message of protobuf-es. */
const matches = ({ type }: DynamicParameterConstraints, parameters: ReadonlyMap<string, string>): boolean => {
  switch (type.case) {
    case undefined:
      return true
    case "constraint": {
      const { constraintType, key } = type.value
      return constraintType.case === "value" ? parameters.get(key) === constraintType.value : parameters.has(key)
    }
    case "orConstraints":
      return type.value.constraints.some((each) => matches(each, parameters))
    case "andConstraints":
      return type.value.constraints.every((each) => matches(each, parameters))
    case "notConstraints":
      return !matches(type.value, parameters)
  }
}

describe("constraints", () => {
  it("mean on the wire what they mean here", () => {
    fc.assert(
      fc.property(anyConstraints, anyParameters, (constraints, parameters) => {
        const bytes = DynamicParameters.encode(constraints)
        const message = fromBinary(DynamicParameterConstraintsSchema, bytes)
        assert.isUndefined(message.$unknown)
        assert.strictEqual(DynamicParameters.isMatch(constraints, parameters), matches(message, parameters))
        const read = DynamicParameters.decode(toBinary(DynamicParameterConstraintsSchema, message))
        assert.deepStrictEqual(read, constraints)
      })
    )
  })

  it("are in words", () => {
    const env = { _tag: "Value", key: "env", value: "prod" } as const
    const version = { _tag: "Not", constraints: { _tag: "Exists", key: "version" } } as const
    const both = { _tag: "And", constraints: [env, version] } as const
    assert.strictEqual(DynamicParameters.toText(both), "env=prod & !version")
    assert.strictEqual(DynamicParameters.toText({ _tag: "Not", constraints: both }), "!(env=prod & !version)")
    assert.strictEqual(
      DynamicParameters.toText({ _tag: "Or", constraints: [both, env] }),
      "(env=prod & !version) | env=prod"
    )
  })

  it("that are nested too deeply, or say nothing of a key, are refused", () => {
    let deep: DynamicParameters.Constraints = { _tag: "Any" }
    for (let depth = 0; depth < 40; depth++) deep = { _tag: "Not", constraints: deep }
    assert.throws(() => DynamicParameters.decode(DynamicParameters.encode(deep)), /nested more than 32 deep/)
    const empty = create(DynamicParameterConstraintsSchema, { type: { case: "constraint", value: { key: "env" } } })
    const bytes = toBinary(DynamicParameterConstraintsSchema, empty)
    assert.throws(() => DynamicParameters.decode(bytes), /the constraint of "env" says neither a value nor exists/)
  })

  it("★ variants whose constraints overlap are found, and only those", () => {
    fc.assert(
      fc.property(anyConstraints, anyConstraints, anyParameters, (one, other, parameters) => {
        const isBoth = DynamicParameters.isMatch(one, parameters) && DynamicParameters.isMatch(other, parameters)
        const fault = DynamicParameters.overlap([one, other])
        if (isBoth) assert.isDefined(fault)
      })
    )
    const value = (key: string, text: string) => ({ _tag: "Value", key, value: text }) as const
    const not = (constraints: DynamicParameters.Constraints) => ({ _tag: "Not", constraints }) as const
    assert.isUndefined(
      DynamicParameters.overlap([value("env", "prod"), value("env", "test"), not({ _tag: "Exists", key: "env" })])
    )
    assert.isUndefined(DynamicParameters.overlap([value("env", "prod"), not(value("env", "prod"))]))
    assert.strictEqual(
      DynamicParameters.overlap([value("env", "prod"), value("version", "v1")]),
      '"env=prod" and "version=v1" both match env=prod, version=v1'
    )
    assert.strictEqual(
      DynamicParameters.overlap([not(value("env", "prod")), not(value("env", "test"))]),
      '"!env=prod" and "!env=test" both match a client without parameters'
    )
    const many = Array.from({ length: 20 }, (_, at) => value(`${at}`, "x"))
    assert.strictEqual(DynamicParameters.overlap(many), "they have too many keys and values to compare")
  })
})

describe("locators", () => {
  const one = "xdstp://one/envoy.config.route.v3.RouteConfiguration/a"
  const parameters = new Map([
    ["", new Map([["env", "prod"]])],
    [
      "one",
      new Map([
        ["env", "test"],
        ["größe", "ü"]
      ])
    ]
  ])

  it("are what protobuf-es reads, in both variants", () => {
    const sotw = ClientRequest.encode(Request.stateOfTheWorld({ typeUrl, resourceNames: ["a", one], parameters }))
    const read = fromBinary(DiscoveryRequestSchema, sotw)
    const located = read.resourceLocators.map(({ dynamicParameters, name }) => [name, dynamicParameters])
    const expected = [
      ["a", { env: "prod" }],
      [one, { env: "test", größe: "ü" }]
    ]
    assert.deepStrictEqual(located, expected)
    assert.deepStrictEqual(read.resourceNames, [])
    const delta = Request.incremental({
      typeUrl,
      resourceNamesSubscribe: ["a", one],
      resourceNamesUnsubscribe: ["b"],
      parameters
    })
    const message = fromBinary(DeltaDiscoveryRequestSchema, ClientRequest.encode(delta))
    assert.deepStrictEqual(
      message.resourceLocatorsSubscribe.map(({ dynamicParameters, name }) => [name, dynamicParameters]),
      expected
    )
    assert.deepStrictEqual(
      message.resourceLocatorsUnsubscribe.map(({ name }) => name),
      ["b"]
    )
    assert.deepStrictEqual([message.resourceNamesSubscribe, message.resourceNamesUnsubscribe], [[], []])
  })

  it("are read beside names", () => {
    const locators = [create(ResourceLocatorSchema, { name: "b", dynamicParameters: { env: "prod" } })]
    const message = create(DeltaDiscoveryRequestSchema, {
      typeUrl,
      resourceNamesSubscribe: ["a"],
      resourceLocatorsSubscribe: locators,
      resourceLocatorsUnsubscribe: [create(ResourceLocatorSchema, { name: "c", dynamicParameters: { env: "old" } })]
    })
    const read = Either.getOrThrow(Request.decode("Incremental", toBinary(DeltaDiscoveryRequestSchema, message)))
    assert.deepStrictEqual(
      read,
      Request.incremental({
        typeUrl,
        resourceNamesSubscribe: ["a", "b"],
        resourceNamesUnsubscribe: ["c"],
        parameters: new Map([["", new Map([["env", "prod"]])]])
      })
    )
  })

  it("more than a stream remembers end it", () => {
    const long = new Map([["", new Map([["env", "x".repeat(70_000)]])]])
    const request = Request.incremental({ typeUrl, resourceNamesSubscribe: ["a"], parameters: long })
    const stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined })
    const [next, outputs] = ServerStream.step(stream, { _tag: "Request", request }, 0)
    const message = "the dynamic parameters have more than 65536 characters"
    assert.deepStrictEqual(outputs, [{ _tag: "Violation", reason: "TooManyParameters", message }])
    assert.isTrue(next.ended)
  })
})

describe("variants", () => {
  const env = (value: string) => ({ _tag: "Value", key: "env", value }) as const
  const made = (...variants: ReadonlyArray<string>) =>
    Variants.make(
      { typeUrl, name: "r" },
      variants.map((value, at) => ({ constraints: env(value), value: new Uint8Array([at]) }))
    )

  it("that are not told apart, or none, are refused in words", () => {
    const reason = (result: ReturnType<typeof made>) => (Either.isLeft(result) ? result.left.message : "")
    assert.strictEqual(reason(made()), 'RDS resource "r": it has no variants; give at least one')
    assert.strictEqual(
      reason(made("prod", "prod")),
      'RDS resource "r": its variants do not exclude each other: "env=prod" and "env=prod" both match env=prod'
    )
  })

  it("clients with the same parameters share a view of the group; without variants it is the group", () => {
    const group = Either.getOrThrow(
      ResourceGroup.update(ResourceGroup.empty, { upsert: [Either.getOrThrow(made("prod"))] })
    )
    const prod = () => new Map([["", new Map([["env", "prod"]])]])
    const view = ClientView.of(group, prod())
    assert.strictEqual(ClientView.of(group, prod()), view)
    assert.notStrictEqual(ClientView.of(group, undefined), view)
    assert.strictEqual(view.whole, group)
    const without = Either.getOrThrow(ResourceGroup.update(group, { remove: [{ typeUrl, name: "r" }] }))
    assert.strictEqual(ClientView.of(without, prod()), without)
    // What strangers say does not let the group grow.
    for (let at = 0; at < 1_000; at++) ClientView.of(group, new Map([["", new Map([["env", `${at}`]])]]))
    assert.isAtMost(group.views.size, 64)
  })

  it("the log of changes of a view is as long as for what it has of its own: there may be 64 of each group", () => {
    const plain = (name: string, content: number) =>
      Either.getOrThrow(Resource.make({ typeUrl, name, value: new Uint8Array([content]) }))
    const updated = (group: ResourceGroup.ResourceGroup, ...upsert: ReadonlyArray<Resource.Resource>) =>
      Either.getOrThrow(ResourceGroup.update(group, { upsert }))
    const entries = (of: ResourceGroup.ResourceGroup) =>
      Array.from(of.sets.values(), (set) => ChangeLog.entries(set).length)
    const many = Array.from({ length: 1_000 }, (_, at) => plain(`plain-${at}`, 0))
    let group = updated(ResourceGroup.empty, ...many, Either.getOrThrow(made("prod")))
    let view = ClientView.of(group, undefined)
    for (let change = 1; change <= 1_100; change++) {
      group = updated(group, plain(`plain-${change % 1_000}`, change))
      view = ClientView.of(group, undefined, view)
    }
    assert.isAbove(entries(group)[0] ?? 0, 900)
    assert.isAtMost(entries(view)[0] ?? 0, 512)
    assert.strictEqual(ResourceGroup.all(view).length, 1_000)
  })

  it("are named with constraints, and so are removed ones, as protobuf-es reads it", () => {
    const variant = Either.getOrThrow(made("prod", "test")).variants?.[1]?.constrained
    assert.isDefined(variant)
    const response = Response.make({
      protocol: "Incremental",
      typeUrl,
      version: "1",
      resources: [variant],
      removed: ["s"],
      removedVariants: [{ name: "r", constraints: DynamicParameters.encode(env("old")) }]
    })
    const { removedResourceNames, removedResources, resources } = fromBinary(
      DeltaDiscoveryResponseSchema,
      Response.body(response)
    )
    const [first] = resources
    // The bytes of what the message says.
    const bytesOf = (message: DynamicParameterConstraints | undefined) =>
      message === undefined ? undefined : toBinary(DynamicParameterConstraintsSchema, message)
    assert.strictEqual(first?.name, "")
    assert.strictEqual(first?.resourceName?.name, "r")
    assert.deepStrictEqual(
      bytesOf(first?.resourceName?.dynamicParameterConstraints),
      DynamicParameters.encode(env("test"))
    )
    assert.deepStrictEqual(removedResources, ["s"])
    assert.strictEqual(removedResourceNames[0]?.name, "r")
    assert.deepStrictEqual(
      bytesOf(removedResourceNames[0]?.dynamicParameterConstraints),
      DynamicParameters.encode(env("old"))
    )
  })
})
