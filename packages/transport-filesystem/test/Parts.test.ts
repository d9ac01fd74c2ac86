/** Files are read resource by resource, and mean what they mean as a whole. */
import type * as Protobuf from "@bufbuild/protobuf"
import { create, toBinary } from "@bufbuild/protobuf"
import { fromText } from "@bufbuild/protobuf/txtpb"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { describe, expect, it } from "@effect/vitest"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { TypeRegistry } from "@effect-xds/proto"
import { EventLoop } from "@effect-xds/transport"
import { ResourceFile } from "@effect-xds/transport-filesystem"
import { Effect, Either } from "effect"
import { afterEach, vi } from "vitest"

const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const encode = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : content

const read = (file: string, content: string | Uint8Array) =>
  ResourceFile.parseResources({ file, bytes: encode(content) }).pipe(
    Effect.map((resources) => resources.map(({ line, name }) => (line === undefined ? name : `${line}: ${name}`))),
    Effect.catchAll(({ all }) => Effect.succeed(all.map(({ message }) => message)))
  )

const names = (length: number) => Array.from({ length }, (_, index) => `cluster-${index}`)

const inText = (name: string): string => `resources { [${typeUrl}] { name: "${name}" } }`

const formats: Record<string, (names: ReadonlyArray<string>) => string | Uint8Array> = {
  "list.json": (names) => JSON.stringify(names.map((name) => ({ "@type": typeUrl, name }))),
  "response.json": (names) => JSON.stringify({ resources: names.map((name) => ({ "@type": typeUrl, name })) }),
  "list.yaml": (names) => names.map((name) => `- "@type": ${typeUrl}\n  name: ${name}\n`).join(""),
  "response.yaml": (names) => `resources:\n${names.map((name) => `- "@type": ${typeUrl}\n  name: ${name}\n`).join("")}`,
  "documents.yaml": (names) => names.map((name) => `---\n"@type": ${typeUrl}\nname: ${name}\n`).join(""),
  "response.txtpb": (names) => names.map(inText).join("\n"),
  "response.pb": (names) =>
    toBinary(
      DiscoveryResponseSchema,
      create(DiscoveryResponseSchema, {
        typeUrl,
        resources: names.map((name) => anyPack(ClusterSchema, create(ClusterSchema, { name })))
      })
    )
}

const options = vi.hoisted(() => ({ read: 0 }))

vi.mock("@bufbuild/protobuf", async (original) => {
  const module = await original<typeof Protobuf>()
  const getOption: typeof module.getOption = (...args) => {
    options.read++
    return module.getOption(...args)
  }
  return { ...module, getOption }
})

it.effect("the rules of a field are looked up once, and not for each resource", () =>
  Effect.gen(function* () {
    const ports = (count: number) =>
      JSON.stringify(
        names(count).map((name) => ({ "@type": typeUrl, name, health_checks: [{ unhealthy_threshold: 3 }] }))
      )
    // Before the first one was read its type is not loaded, and not known.
    yield* read("a.json", ports(2))
    const first = options.read
    expect(first).toBeGreaterThan(0)
    yield* read("a.json", ports(1_000))
    expect(options.read).toBe(first)
  })
)

afterEach(() => {
  vi.restoreAllMocks()
})

it.effect.each(Object.entries(formats))("others may run between any two resources of %s", ([file, write]) =>
  Effect.gen(function* () {
    let now = 0
    vi.spyOn(EventLoop.process, "elapsed").mockImplementation(() => (now += 10))
    const turn = vi.spyOn(EventLoop.process, "later")
    const found = yield* ResourceFile.parseResources({ file, bytes: encode(write(names(200))) })
    expect(found.map(({ name }) => name)).toEqual(names(200))
    expect(turn.mock.calls.length).toBeGreaterThanOrEqual(200)
  })
)

describe("an object whose resources are not those of a response", () => {
  const one = `{"resource": {"@type": "${typeUrl}", "name": "a"}}`
  const type = "type.googleapis.com/envoy.service.discovery.v3.DeltaDiscoveryResponse"
  it.effect.each([
    ["a.json", `{"resources": [${one}], "@type": "${type}"}`, `{"@type": "${type}", "resources": [${one}]}`],
    ["a.yaml", `resources:\n- ${one}\n"@type": ${type}\n`, `"@type": ${type}\nresources:\n- ${one}\n`]
  ] as const)("in %s", ([file, after, before]) =>
    Effect.gen(function* () {
      const found = yield* read(file, after)
      expect(found).toEqual([expect.stringContaining("DeltaDiscoveryResponse is not a resource type of xDS")])
      expect(yield* read(file, before)).toEqual(found)
    })
  )
})

it.effect("a list that turns out to be for the whole parser is read once", () =>
  Effect.gen(function* () {
    const plain = `- { "@type": "${typeUrl}", name: a }\n- { "@type": "${typeUrl}", name: b }\n`
    expect(yield* read("a.yaml", `${plain}- { "@type": "${typeUrl}", name: &c c }\n`)).toEqual(["1: a", "2: b", "3: c"])
    expect(yield* read("a.yaml", `---\n${plain}---\n- { "@type": "${typeUrl}", name: &c c }\n`)).toEqual([
      "2: a",
      "3: b",
      "5: c"
    ])
  })
)

it.effect("mistakes of syntax and of resources are told together, in their places", () =>
  Effect.gen(function* () {
    expect(
      yield* read("a.json", `[\n{"@type": "${typeUrl}", "nmae": "a"},\n{"@type": "${typeUrl}", "name": b}]`)
    ).toEqual([
      expect.stringMatching(/^a\.json:2:\d+: \[0\]\.nmae: .*did you mean "name"/),
      expect.stringMatching(/^a\.json:3:\d+: expected a value but found "b"/)
    ])
  })
)

describe("protobuf text", () => {
  const texts = [
    `${inText("a")}\n${inText("b")}`,
    `# first\n${inText("a")} # { in a comment\n, # and\n ${inText("b")};type_url: "type.googleapis.com/" 'envoy.config.cluster.v3.Cluster'\nnonce:"n"`,
    `resources: { [${typeUrl}]: < name: "a}\\"{" >; } resources < type_url: "${typeUrl}" value: "\\n\\001c" >`,
    `resources [ { [${typeUrl}] { name: "a" } }, { [${typeUrl}] { name: "b" } } ]\n${inText("c")}`,
    `version_info: "1" control_plane { identifier: '}' }\n${inText("a")}\ncanary: true`,
    `version_info # between\n : # here\n "1" # and\n "2"\n${inText("a")}`
  ]
  it.effect.each(texts)("is read field by field as it is read whole: %s", (text) =>
    Effect.gen(function* () {
      yield* Effect.promise(() => TypeRegistry.load(typeUrl))
      const registry = yield* Effect.promise(() => TypeRegistry.forJson({}))
      const whole = fromText(DiscoveryResponseSchema, text, { registry })
      const read = yield* Effect.either(ResourceFile.parseResponse({ file: "a.txtpb", bytes: encode(text) }))
      const message = Either.getOrThrow(Either.mapLeft(read, String)).message
      const byName = (one: { readonly value: Uint8Array }, other: { readonly value: Uint8Array }) =>
        Buffer.compare(one.value, other.value)
      expect({ ...message, resources: message.resources.sort(byName) }).toEqual({
        ...whole,
        resources: whole.resources.sort(byName)
      })
    })
  )

  it.effect("all mistakes are told, each in its line", () =>
    Effect.gen(function* () {
      const text = names(300).map((name, index) =>
        index % 100 === 7 ? inText(name).replace("name", "nmae") : inText(name)
      )
      const found = yield* read("a.txtpb", `version_info: 1\n${text.join("\n")}`)
      expect(found).toEqual([
        expect.stringMatching(/^a\.txtpb:1:15: expected a string/),
        expect.stringMatching(/^a\.txtpb:9:\d+: unknown field "nmae"/),
        expect.stringMatching(/^a\.txtpb:109:\d+: unknown field "nmae"/),
        expect.stringMatching(/^a\.txtpb:209:\d+: unknown field "nmae"/)
      ])
    })
  )

  it.effect("what is not closed is told", () =>
    Effect.gen(function* () {
      const found = yield* read("a.txtpb", `${inText("a")}\n${inText("b").slice(0, -1)}\n${inText("c")}`)
      expect(found).toEqual([expect.stringMatching(/^a\.txtpb:3:/)])
      expect(yield* read("a.txtpb", `${inText("a")}\n${inText("b")} }\n${inText("c")}`)).toEqual([
        expect.stringMatching(/^a\.txtpb:2:/)
      ])
      expect(yield* read("a.txtpb", `version_info: "1"\nversion_info: "2"\n${inText("a")}`)).toEqual([
        expect.stringMatching(/^a\.txtpb:2:/)
      ])
    })
  )
})
