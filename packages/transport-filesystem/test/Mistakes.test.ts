/** What a person is told of files that are wrong in several places, or in ways that nobody thinks of. */
import { create, fromJson, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { expect, it } from "@effect/vitest"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { ResourceFile } from "@effect-xds/transport-filesystem"
import { Effect } from "effect"
import { describe } from "vitest"
import { temporary } from "./Directory.js"

const type = '"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster'

/** Every mistake, without the name of the file; empty: none. */
const mistakes = (file: string, text: string | Uint8Array) =>
  ResourceFile.parseResources({ file, bytes: typeof text === "string" ? new TextEncoder().encode(text) : text }).pipe(
    Effect.as([]),
    Effect.catchAll((error) => Effect.succeed(error.all.map(({ message }) => message.slice(2))))
  )

const address = (port: string): string =>
  `{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }`

const cluster = (port: string): string =>
  `${type}\nname: a\nload_assignment:\n  cluster_name: a\n  endpoints:\n  - lb_endpoints:\n    - ${address(port)}\n`

describe("every mistake of a file is told", () => {
  it.effect("in the fields of its resources, in all documents, in the order of the places", () =>
    Effect.gen(function* () {
      const text = [
        type,
        "nmae: a",
        "connect_timeout: 3",
        "lb_policy: FOO",
        "---",
        type,
        "name: b",
        "x: 1",
        "---",
        "foo: [",
        "---",
        `- { ${type}, name: c, lb_subset_config: { a: 1, b: 2 } }`,
        "- 7",
        `- { ${type}, name: b }`,
        `- { ${type}, name: b }`,
        ""
      ].join("\n")
      const found = yield* mistakes("a.yaml", text)
      const starts = [
        'yaml:2:1: nmae: envoy.config.cluster.v3.Cluster has no field "nmae"; did you mean "name"?',
        "yaml:3:18: connect_timeout: expected a duration",
        'yaml:4:12: lb_policy: "FOO" is no value of ',
        'yaml:8:1: x: envoy.config.cluster.v3.Cluster has no field "x"',
        "yaml:11:1: Flow sequence in block collection must be sufficiently indented",
        "yaml:12:96: [0].lb_subset_config.a: ",
        "yaml:12:102: [0].lb_subset_config.b: ",
        "yaml:13:3: [1]: expected a resource, an object with",
        'yaml:15:3: [3]: the CDS resource "b" stands in line 14 already; keep one'
      ]
      expect(found.map((message, index) => message.slice(0, starts[index]?.length))).toEqual(starts)
    })
  )

  it.effect("up to a bound, and that there are more", () =>
    Effect.gen(function* () {
      const list = Array.from({ length: 1_000 }, (_, index) => ({ "@type": "envoy.Nothing", name: `c${index}` }))
      const found = yield* mistakes("a.json", JSON.stringify(list, undefined, 1))
      expect(found).toHaveLength(101)
      expect(found[0]).toMatch(/^json:3:12: \[0\]\.@type: "envoy\.Nothing" is not a type of the Envoy v3 API/)
      expect(found[100]).toMatch(/^json:403:12: more mistakes; those before are the first 100$/)
    })
  )
})

describe("numbers that the API forbids", () => {
  it.effect("are told with their bounds", () =>
    Effect.gen(function* () {
      const path = "load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value"
      expect(yield* mistakes("a.yaml", cluster("65535"))).toEqual([])
      expect(yield* mistakes("a.yaml", cluster("70000"))).toEqual([
        `yaml:7:82: ${path}: 70000 is over 65535, the most allowed`
      ])
      expect(yield* mistakes("a.yaml", cluster('"70000"'))).toEqual([
        `yaml:7:82: ${path}: 70000 is over 65535, the most allowed`
      ])
      const many = `${type}\nname: a\nouttier: 1\noutlier_detection: { max_ejection_percent: 101 }\n`
      expect(yield* mistakes("a.yaml", many)).toEqual([
        expect.stringMatching(/^yaml:3:1: outtier: /),
        "yaml:4:44: outlier_detection.max_ejection_percent: 101 is over 100, the most allowed"
      ])
    })
  )

  it.effect("are found inside of an Any, and where a number must be over a bound", () =>
    Effect.gen(function* () {
      const text = `${type}\nname: a\ntransport_socket:\n  name: x\n  typed_config:\n    "@type": type.googleapis.com/envoy.config.listener.v3.Listener\n    address: { socket_address: { address: a, port_value: 65536 } }\n`
      expect(yield* mistakes("a.yaml", text)).toEqual([
        "yaml:7:58: transport_socket.typed_config.address.socket_address.port_value: 65536 is over 65535, the most allowed"
      ])
      const hash = `${type}\nname: a\nmaglev_lb_config: { table_size: 5000012 }\n`
      expect(yield* mistakes("a.yaml", hash)).toEqual([
        "yaml:3:33: maglev_lb_config.table_size: 5000012 is over 5000011, the most allowed"
      ])
    })
  )
})

describe("a template that was not rendered", () => {
  it.effect("is told as that, at each placeholder", () =>
    Effect.gen(function* () {
      const said = "{{ begins a placeholder of a template; render the template first, and give what comes out"
      const text = `{{- range .Values.all }}\n---\n${type}\nname: {{ .name }}\n{{- end }}\n`
      expect(yield* mistakes("a.yaml", text)).toEqual([`yaml:1:1: ${said}`, `yaml:4:7: ${said}`, `yaml:5:1: ${said}`])
      expect(yield* mistakes("a.json", `{\n  "name": {{ name }}\n}`)).toEqual([`json:2:11: ${said}`])
      // Braces in a text are no placeholder.
      expect(yield* mistakes("a.yaml", `${type}\nname: "a {{ b }}"\n`)).toEqual([])
    })
  )
})

describe("nesting and aliases without end", () => {
  const deep = "nested deeper than 250 levels; nothing in xDS is"
  it.effect.each([
    ["a.yaml", "[".repeat(100_000), `yaml:1:252: ${deep}`],
    ["a.yaml", "[".repeat(10_000) + "]".repeat(10_000), `yaml:1:252: ${deep}`],
    ["a.yaml", "{a: ".repeat(10_000) + "}".repeat(10_000), `yaml:1:1002: ${deep}`],
    ["a.yaml", `${"- ".repeat(100_000)}a`, `yaml:1:503: ${deep}`],
    ["a.yaml", Array.from({ length: 2_000 }, (_, i) => `${" ".repeat(i)}a:`).join("\n"), `yaml:251:251: ${deep}`],
    ["a.json", "[".repeat(1_000_000), `json:1:252: ${deep}`]
  ] as const)("%s %# is told where it is too deep, and does not end the process", ([file, text, message]) =>
    Effect.gen(function* () {
      expect(yield* mistakes(file, text)).toEqual([message])
    })
  )

  it.effect("aliases of what has aliases are told where they are too deep together", () =>
    Effect.gen(function* () {
      const line = (name: string, inside: string): string =>
        `${name}: &${name} ${"[".repeat(100)}${inside}${"]".repeat(100)}`
      const text = (levels: number): string =>
        [line("a", "x"), line("b", "*a"), `c: ${"[".repeat(levels)}*b${"]".repeat(levels)}`].join("\n")
      expect(yield* mistakes("a.yaml", text(50))).toEqual([`yaml:3:54: ${deep}`])
      expect((yield* mistakes("a.yaml", text(49))).join()).not.toContain(deep)
    })
  )

  it.effect.each([
    [
      "aliases",
      (i: number): string => `a${i + 1}: &a${i + 1} [${Array.from({ length: 9 }, () => `*a${i}`).join(",")}]`,
      "a0: &a0 [x]"
    ],
    [
      "merge keys",
      (i: number): string => `a${i + 1}: &a${i + 1} {<<: [${Array.from({ length: 9 }, () => `*a${i}`).join(",")}]}`,
      "a0: &a0 {x: 1}"
    ]
  ] as const)("%s that multiply are told", ([, line, first]) =>
    Effect.gen(function* () {
      const [found = ""] = yield* mistakes(
        "a.yaml",
        [first, ...Array.from({ length: 30 }, (_, i) => line(i))].join("\n")
      )
      expect(found).toMatch(/^yaml:\d+:\d+: its aliases stand for too many values; write them out$/)
    })
  )

  it.effect("an alias inside of what it stands for, or without an anchor", () =>
    Effect.gen(function* () {
      expect(yield* mistakes("a.yaml", `${type}\nname: a\nmetadata: &x { a: *x }`)).toEqual([
        "yaml:3:19: this alias stands inside of what it stands for"
      ])
      expect(yield* mistakes("a.yaml", `${type}\nname: *x`)).toEqual([
        'yaml:2:7: there is no anchor before this alias; a string that begins with "*" goes in quotes'
      ])
    })
  )
})

describe("other files that are none", () => {
  it.effect("tabs, keys twice, endless keys, bytes that are not text", () =>
    Effect.gen(function* () {
      expect(yield* mistakes("a.yaml", `${type}\nname: a\nmetadata:\n\tx: 1\n`)).toEqual([
        "yaml:4:1: a tab indents this line; YAML takes only spaces"
      ])
      expect(yield* mistakes("a.yaml", `${type}\nname: a\nname: b\n`)).toEqual([
        "yaml:3:1: this key stands twice in its object; keep one"
      ])
      expect(yield* mistakes("a.yaml", `${type}\n${"k".repeat(2_000)}: 1`)).toEqual([
        "yaml:2:1: this key is longer than 1024 characters; a quote or a colon may be missing"
      ])
      expect(yield* mistakes("a.yaml", Uint8Array.of(0x61, 0x0a, 0xff, 0xfe))).toEqual([
        "yaml:2:1: these bytes are not UTF-8; save the file as UTF-8"
      ])
      expect(yield* mistakes("a.yaml", "x".repeat(5_000_000))).toEqual([
        expect.stringMatching(/^yaml:1:1: expected a /)
      ])
      expect(yield* mistakes("a.yaml", "")).toEqual([expect.stringMatching(/^yaml: the file is empty/)])
    })
  )

  it.scoped("a directory, a pipe, what is not there, and what is too large", () =>
    Effect.gen(function* () {
      const directory = yield* temporary
      const reason = (name: string, options = {}) =>
        ResourceFile.readResources(directory.at(name), options).pipe(
          Effect.flip,
          Effect.map(({ message }) => message.slice(directory.at(name).length + 2))
        )
      directory.make("d.yaml")
      expect(yield* reason("d.yaml")).toBe("it is not a regular file")
      directory.pipe("p.yaml")
      expect(yield* reason("p.yaml")).toBe("it is not a regular file")
      expect(yield* reason("none.yaml")).toBe("there is no such file")
      directory.write("large.yaml", "x".repeat(1_000))
      expect(yield* reason("large.yaml", { maxFileBytes: 100 })).toBe(
        "it has 1000 bytes, the limit for a file is 100; divide it"
      )
    })
  )
})

// `npm run large-files` reads 130 000 of them, and `serve.test.ts` of the program does so with small ones in JSON.
describe("thousands of resources in a file", () => {
  const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
  const namesOf = (length: number) => Array.from({ length }, (_, index) => `cluster-${index}`)
  // As people write them: some 400 bytes each.
  const jsonOf = (name: string) => ({
    "@type": typeUrl,
    name,
    type: "EDS",
    connect_timeout: "1s",
    eds_cluster_config: { eds_config: { ads: {}, resource_api_version: "V3" }, service_name: name },
    lb_policy: "LEAST_REQUEST",
    circuit_breakers: { thresholds: [{ max_connections: 1024 }] },
    health_checks: [
      {
        timeout: "1s",
        interval: "5s",
        unhealthy_threshold: 3,
        healthy_threshold: 2,
        http_health_check: { path: "/ok" }
      }
    ]
  })
  const yamlOf = (name: string) =>
    `"@type": ${typeUrl}
name: ${name}
type: EDS
connect_timeout: 1s
eds_cluster_config:
  eds_config: { ads: {}, resource_api_version: V3 }
  service_name: ${name}
lb_policy: LEAST_REQUEST
circuit_breakers:
  thresholds:
    - max_connections: 1024
health_checks:
  - timeout: 1s
    interval: 5s
    unhealthy_threshold: 3
    healthy_threshold: 2
    http_health_check: { path: /ok }
`
  const itemOf = (name: string) => `- ${yamlOf(name).trimEnd().replaceAll("\n", "\n  ")}\n`
  const textOf = (name: string) =>
    `resources { [${typeUrl}] { name: "${name}" type: EDS connect_timeout { seconds: 1 } eds_cluster_config { ` +
    `eds_config { ads {} resource_api_version: V3 } service_name: "${name}" } lb_policy: LEAST_REQUEST ` +
    `circuit_breakers { thresholds { max_connections { value: 1024 } } } health_checks { timeout { seconds: 1 } ` +
    `interval { seconds: 5 } unhealthy_threshold { value: 3 } healthy_threshold { value: 2 } ` +
    `http_health_check { path: "/ok" } } } }\n`
  const binaryOf = (names: ReadonlyArray<string>) => {
    const bytes = (name: string) => {
      const { "@type": type, ...cluster } = jsonOf(name)
      return { ...anyPack(ClusterSchema, fromJson(ClusterSchema, cluster)), typeUrl: type }
    }
    const response = create(DiscoveryResponseSchema, { typeUrl, resources: names.map(bytes) })
    return toBinary(DiscoveryResponseSchema, response)
  }
  const files: ReadonlyArray<{
    readonly file: string
    readonly count: number
    /** Of each resource, where the format tells. */
    readonly lines: number
    readonly content: (names: ReadonlyArray<string>) => string | Uint8Array
  }> = [
    {
      file: "list.json",
      count: 3_000,
      lines: 1,
      content: (names) => `[${names.map((name) => JSON.stringify(jsonOf(name))).join(",\n")}]`
    },
    {
      file: "response.json",
      count: 2_000,
      lines: 1,
      content: (names) => `{"resources":[${names.map((name) => JSON.stringify(jsonOf(name))).join(",\n")}]}`
    },
    { file: "list.yaml", count: 3_000, lines: 17, content: (names) => names.map(itemOf).join("") },
    {
      file: "response.yaml",
      count: 2_000,
      lines: 17,
      content: (names) => `version_info: "1"\nresources:\n${names.map(itemOf).join("")}`
    },
    {
      file: "documents.yaml",
      count: 2_000,
      lines: 18,
      content: (names) => names.map((name) => `---\n${yamlOf(name)}`).join("")
    },
    { file: "response.txtpb", count: 3_000, lines: 1, content: (names) => names.map(textOf).join("") },
    { file: "response.pb", count: 3_000, lines: 0, content: binaryOf }
  ]
  for (const { content, count, file, lines } of files) {
    it.effect(`${count} in ${file}`, () =>
      Effect.gen(function* () {
        const given = content(namesOf(count))
        const bytes = typeof given === "string" ? new TextEncoder().encode(given) : given
        const found = yield* ResourceFile.parseResources({ file, bytes })
        expect(found.map(({ name }) => name)).toEqual(namesOf(count))
        expect((found.at(-1)?.line ?? 0) - (found[0]?.line ?? 0)).toBe((count - 1) * lines)
      })
    )
  }

  it.effect("a long YAML list says where an element is wrong", () =>
    Effect.gen(function* () {
      const text = namesOf(1_000).map((name) => `- ${type}\n  ${name === "cluster-777" ? "nmae" : "name"}: ${name}\n`)
      expect(yield* mistakes("a.yaml", text.join(""))).toEqual([
        'yaml:1556:3: [777].nmae: envoy.config.cluster.v3.Cluster has no field "nmae"; did you mean "name"?'
      ])
    })
  )
})
