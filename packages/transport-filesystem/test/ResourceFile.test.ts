import { create, createRegistry, fromBinary, toBinary, toJson, toJsonString } from "@bufbuild/protobuf"
import { toText } from "@bufbuild/protobuf/txtpb"
import { anyPack, AnySchema } from "@bufbuild/protobuf/wkt"
import { expect, it } from "@effect/vitest"
import { ResourceType, TypeRegistry } from "@effect-xds/proto"
import {
  Cluster_DiscoveryType,
  Cluster_LbPolicy,
  ClusterSchema
} from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { RouterSchema } from "@effect-xds/proto/envoy/extensions/filters/http/router/v3/router"
import {
  HttpConnectionManagerSchema,
  HttpFilterSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { DiscoveryResponseSchema, ResourceSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { ResourceFile } from "@effect-xds/transport-filesystem"
import { Effect, Either } from "effect"
import { describe } from "vitest"
import { parse as parseYaml, stringify } from "yaml"

const encode = (text: string) => new TextEncoder().encode(text)

const resources = (file: string, content: string | Uint8Array) =>
  ResourceFile.parseResources({ file, bytes: typeof content === "string" ? encode(content) : content })

const response = (file: string, content: string | Uint8Array, typeUrl?: string) =>
  ResourceFile.parseResponse({ file, bytes: typeof content === "string" ? encode(content) : content }, { typeUrl })

const names = Effect.map((found: ReadonlyArray<ResourceFile.FileResource>) => found.map(({ name }) => name))

/** The message of the error: what a person sees. */
const said = <A>(effect: Effect.Effect<A, ResourceFile.ResourceFileError>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

const cluster = (name: string) => create(ClusterSchema, { name, connectTimeout: { seconds: 1n } })

const manager = create(HttpConnectionManagerSchema, {
  statPrefix: "edge",
  httpFilters: [
    create(HttpFilterSchema, {
      name: "router",
      configType: { case: "typedConfig", value: anyPack(RouterSchema, create(RouterSchema)) }
    })
  ]
})

const listener = create(ListenerSchema, {
  name: "ingress",
  filterChains: [
    {
      filters: [
        { name: "http", configType: { case: "typedConfig", value: anyPack(HttpConnectionManagerSchema, manager) } }
      ]
    }
  ]
})

const listeners = create(DiscoveryResponseSchema, {
  versionInfo: "7",
  typeUrl: ResourceType.Listener.typeUrl,
  resources: [anyPack(ListenerSchema, listener)]
})

const formatted = async (message: typeof listeners) => {
  const registry = await TypeRegistry.forMessage(DiscoveryResponseSchema, message)
  const json = toJson(DiscoveryResponseSchema, message, { registry })
  return {
    "lds.pb": toBinary(DiscoveryResponseSchema, message),
    "lds.bin": toBinary(DiscoveryResponseSchema, message),
    "lds.json": encode(JSON.stringify(json, undefined, 2)),
    "lds.yaml": encode(stringify(json)),
    "lds.YML": encode(stringify(json)),
    "lds.pb_text": encode(toText(DiscoveryResponseSchema, message, { registry })),
    "lds.txtpb": encode(toText(DiscoveryResponseSchema, message, { registry })),
    "lds.textproto": encode(toText(DiscoveryResponseSchema, message, { registry }))
  }
}

const crlf = (bytes: Uint8Array) => encode(new TextDecoder().decode(bytes).replaceAll("\n", "\r\n"))
const withMark = (bytes: Uint8Array) => Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), bytes])

describe("one DiscoveryResponse", () => {
  it.effect("is the same in every format, also with CRLF and a byte order mark", () =>
    Effect.gen(function* () {
      const files = yield* Effect.promise(() => formatted(listeners))
      const isText = (file: string) => !/\.(pb|bin)$/.test(file)
      for (const [file, bytes] of Object.entries(files)) {
        for (const form of isText(file) ? [bytes, crlf(bytes), withMark(bytes), withMark(crlf(bytes))] : [bytes]) {
          const read = yield* response(file, form)
          expect(read.message, file).toEqual(listeners)
          expect(read).toMatchObject({ typeUrl: ResourceType.Listener.typeUrl, version: "7" })
          expect(read.resources, file).toMatchObject([
            { name: "ingress", typeUrl: ResourceType.Listener.typeUrl, value: toBinary(ListenerSchema, listener), file }
          ])
        }
      }
    })
  )

  it.effect("in binary that is cut anywhere before its end is refused", () =>
    Effect.gen(function* () {
      const whole = toBinary(DiscoveryResponseSchema, listeners)
      for (let length = 0; length < whole.byteLength; length++) {
        const result = yield* Effect.either(response("lds.pb", whole.slice(0, length)))
        const reason = Either.isLeft(result) ? result.left.reason : "accepted"
        expect(["Empty", "Syntax"], `${length} bytes`).toContain(reason)
      }
    })
  )

  it.effect("in binary gives resources that do not hold the file", () =>
    Effect.gen(function* () {
      const message = create(DiscoveryResponseSchema, {
        typeUrl: ResourceType.Cluster.typeUrl,
        resources: [anyPack(ClusterSchema, create(ClusterSchema, { name: "a" }))]
      })
      const bytes = Buffer.from(toBinary(DiscoveryResponseSchema, message))
      const [found] = yield* ResourceFile.parseResources({ file: "a.pb", bytes })
      expect(found?.value.byteLength).toBe(3)
      expect(found?.value.buffer.byteLength).toBe(3)
    })
  )

  it.effect("in binary is refused if the bytes are something else", () =>
    Effect.gen(function* () {
      expect(yield* said(response("lds.pb", "resources: []\n"))).toMatch(/^lds\.pb: its 14 bytes are not a Discovery/)
      expect(yield* said(response("lds.pb", ""))).toBe(
        "lds.pb: the file is empty; write what it should hold, or remove it"
      )
      const half = create(DiscoveryResponseSchema, {
        typeUrl: ResourceType.Cluster.typeUrl,
        resources: [{ typeUrl: ResourceType.Cluster.typeUrl, value: toBinary(ClusterSchema, cluster("a")).slice(0, 4) }]
      })
      expect(yield* said(response("cds.pb", toBinary(DiscoveryResponseSchema, half)))).toMatch(
        /^cds\.pb: resources\[0\]: its bytes are not a message of type envoy\.config\.cluster\.v3\.Cluster: /
      )
    })
  )

  it.effect("may be empty, but must say of which type", () =>
    Effect.gen(function* () {
      const none = `{"type_url": "${ResourceType.Cluster.typeUrl}", "resources": []}`
      expect((yield* response("cds.json", none)).resources).toEqual([])
      expect((yield* response("cds.json", "{}", ResourceType.Cluster.typeUrl)).resources).toEqual([])
      expect(yield* said(response("cds.json", '{"resources": []}'))).toMatch(/neither resources nor type_url/)
      for (const file of ["cds.json", "cds.yaml", "cds.pb_text"]) {
        for (const content of ["", "\ufeff", "\r\n \n"]) {
          expect((yield* Effect.flip(response(file, content))).reason, file).toBe("Empty")
        }
      }
      expect((yield* Effect.flip(response("cds.yaml", "# nothing\n---\n# here\n"))).reason).toBe("Empty")
      expect((yield* Effect.flip(response("cds.pb_text", "# nothing\n"))).reason).toBe("Empty")
    })
  )

  it.effect("holds one type, that which is wanted", () =>
    Effect.gen(function* () {
      const mixed = create(DiscoveryResponseSchema, {
        resources: [
          anyPack(ClusterSchema, cluster("a")),
          anyPack(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName: "a" }))
        ]
      })
      const json = JSON.stringify(
        toJson(DiscoveryResponseSchema, mixed, {
          registry: yield* Effect.promise(() => TypeRegistry.forMessage(DiscoveryResponseSchema, mixed))
        }),
        undefined,
        1
      )
      const error = yield* Effect.flip(response("cds.json", json))
      expect(error).toMatchObject({ reason: "WrongType", path: "resources[1]", line: 8 })
      const other = yield* Effect.flip(response("cds.json", '{"type_url": "envoy.config.cluster.v3.Cluster"}', "x/y"))
      expect(other.reason).toBe("WrongType")
      const unknown = yield* Effect.flip(
        response("cds.json", '{"type_url": "type.googleapis.com/envoy.api.v2.Cluster"}')
      )
      expect(unknown.message).toMatch(/v2 API/)
    })
  )

  it.effect("is alone in its file", () =>
    Effect.gen(function* () {
      const text = `type_url: ${ResourceType.Cluster.typeUrl}\n---\ntype_url: ${ResourceType.Cluster.typeUrl}\n`
      expect(yield* said(response("cds.yaml", text))).toMatch(/^cds\.yaml:3:1: a file holds one DiscoveryResponse/)
    })
  )
})

const one = (name: string) => `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: ${name}\n`

describe("resources", () => {
  it.effect("stand in YAML documents, lists and responses", () =>
    Effect.gen(function* () {
      expect(yield* names(resources("a.yaml", one("a")))).toEqual(["a"])
      expect(yield* names(resources("a.yaml", `---\n${one("a")}---\n# c\n---\n${one("b")}...\n`))).toEqual(["a", "b"])
      const list = (name: string) => `- "@type": envoy.config.cluster.v3.Cluster\n  name: ${name}\n`
      const all = `${one("a")}---\n${list("b")}---\nresources:\n${list("c")}`
      expect(yield* names(resources("a.yaml", all))).toEqual(["a", "b", "c"])
      expect(yield* resources("a.yaml", "[]")).toEqual([])
      expect((yield* resources("a.yaml", `${one("a")}---\n${one("b")}`)).map(({ line }) => line)).toEqual([1, 4])
    })
  )

  it.effect("stand in JSON as an object, a list or a response", () =>
    Effect.gen(function* () {
      const json = (name: string) => ({ "@type": ResourceType.Cluster.typeUrl, name })
      const read = (value: unknown) => names(resources("a.json", JSON.stringify(value)))
      expect(yield* read(json("a"))).toEqual(["a"])
      expect(yield* read([json("a"), json("b")])).toEqual(["a", "b"])
      expect(yield* read({ resources: [json("a")] })).toEqual(["a"])
      expect(yield* read([])).toEqual([])
    })
  )

  it.effect("stand in protobuf text as a response, an Any or a message that a comment names", () =>
    Effect.gen(function* () {
      const any = `[type.googleapis.com/envoy.config.cluster.v3.Cluster] { name: "a" }`
      expect(yield* names(resources("a.txtpb", `# one\n${any}\n`))).toEqual(["a"])
      expect(yield* names(resources("a.txtpb", `resources { ${any} }\nversion_info: "1"`))).toEqual(["a"])
      const two = `resources { ${any} }, resources { ${any.replace('"a"', '"b"')} };version_info: "1"`
      expect(yield* names(resources("a.txtpb", two))).toEqual(["a", "b"])
      const header =
        "# proto-file: envoy/config/cluster/v3/cluster.proto\n# proto-message: envoy.config.cluster.v3.Cluster\n"
      expect(yield* names(resources("a.txtpb", `${header}\nname: "a"\n`))).toEqual(["a"])
      expect(yield* said(resources("a.txtpb", '# proto-message: envoy.Clutter\nname: "a"\n'))).toMatch(
        /^a\.txtpb:1:18: "envoy\.Clutter" is not a type/
      )
    })
  )

  it.effect("have anchors, merge keys and long numbers in YAML", () =>
    Effect.gen(function* () {
      const text = [
        "- &base",
        '  "@type": envoy.config.cluster.v3.Cluster',
        "  name: a",
        "  connect_timeout: 3s",
        "- <<: *base",
        "  name: b",
        '- "@type": envoy.service.discovery.v3.Resource',
        "  version: '9'",
        "  ttl: 30s",
        "  aliases: [x]",
        "  resource: { <<: *base, name: c, circuit_breakers: {}, typed_dns_resolver_config: null }"
      ].join("\n")
      const [a, b, c] = yield* resources("a.yaml", text)
      expect([a?.name, b?.name, c?.name]).toEqual(["a", "b", "c"])
      expect(b?.value).toHaveLength(a?.value.length ?? 0)
      expect(c).toMatchObject({ version: "9", ttl: 30_000, aliases: ["x"], typeUrl: ResourceType.Cluster.typeUrl })
      const long = `"@type": envoy.service.runtime.v3.Runtime\nname: r\nlayer: { big: 1 }\n`
      expect(yield* names(resources("a.yaml", long))).toEqual(["r"])
    })
  )

  it.effect("have fields and extensions that Envoy's API has since 1.32, in every format", () =>
    Effect.gen(function* () {
      const text = [
        '"@type": envoy.config.cluster.v3.Cluster',
        "name: a",
        "per_connection_buffer_high_watermark_timeout: 3s",
        "stats_matcher: { reject_all: true }"
      ].join("\n")
      const [resource] = yield* resources("a.yaml", text)
      const read = fromBinary(ClusterSchema, resource?.value ?? new Uint8Array())
      expect(read.perConnectionBufferHighWatermarkTimeout?.seconds).toBe(3n)
      expect(read.statsMatcher?.statsMatcher).toEqual({ case: "rejectAll", value: true })
      expect(read.$unknown).toBeUndefined()
      const again = [
        ["a.json", toJsonString(AnySchema, anyPack(ClusterSchema, read), { registry: createRegistry(ClusterSchema) })],
        ["a.textproto", `# proto-message: ${ClusterSchema.typeName}\n${toText(ClusterSchema, read)}`]
      ] as const
      for (const [file, content] of again) {
        const [same] = yield* resources(file, content)
        expect(same?.value, file).toEqual(resource?.value)
      }
      const filter = [
        '"@type": envoy.config.listener.v3.Listener',
        "name: b",
        "fcds_config: { name: chains, config_source: { ads: {} } }",
        "filter_chains:",
        "- filters:",
        "  - name: http",
        "    typed_config:",
        `      "@type": ${HttpConnectionManagerSchema.typeName}`,
        "      stat_prefix: edge",
        "      http_filters:",
        "      - name: mcp",
        '        typed_config: { "@type": envoy.extensions.filters.http.mcp.v3.Mcp }'
      ].join("\n")
      expect(yield* names(resources("b.yaml", filter))).toEqual(["b"])
      // LEDS, named beside the endpoint, and FCDS.
      const endpoint =
        '{ "@type": envoy.config.endpoint.v3.LbEndpoint, endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: 80 } } } }'
      const others = [
        `- { "@type": envoy.service.discovery.v3.Resource, name: c, resource: ${endpoint} }`,
        '- { "@type": envoy.config.listener.v3.FilterChain, name: d, filter_chain_match: { server_names: [e] } }'
      ].join("\n")
      expect(yield* names(resources("c.yaml", others))).toEqual(["c", "d"])
    })
  )

  it.effect("★ have names of enum values in any case, in YAML and JSON, as Envoy reads them", () =>
    Effect.gen(function* () {
      const inYaml = (type: string, more = "") =>
        `"@type": type.googleapis.com/envoy.config.cluster.v3.Cluster\nname: a\ntype: ${type}\n` +
        `lb_policy: least_request\nhealth_checks: [{ http_health_check: { codec_client_type: http2 } }]\n${more}`
      const [wanted] = yield* resources("a.yaml", inYaml("STRICT_DNS").replace("http2", "HTTP2"))
      const value = fromBinary(ClusterSchema, wanted?.value ?? new Uint8Array())
      expect(value.clusterDiscoveryType).toEqual({ case: "type", value: Cluster_DiscoveryType.STRICT_DNS })
      expect(value.lbPolicy).toBe(Cluster_LbPolicy.LEAST_REQUEST)
      // The last one is read by another way: a message that is not encoded at once.
      for (const type of ["strict_dns", "Strict_dns", "sTRICT_DNS"]) {
        expect((yield* resources("a.yaml", inYaml(type)))[0]?.value).toEqual(wanted?.value)
        const json =
          `{"@type": "envoy.config.cluster.v3.Cluster", "name": "a", "type": "${type}", "lbPolicy": "least_request",` +
          `"healthChecks": [{"httpHealthCheck": {"codecClientType": "http2"}}]}`
        expect((yield* resources("a.json", json))[0]?.value).toEqual(wanted?.value)
      }
      expect(yield* said(resources("a.yaml", inYaml("strict_dnss")))).toContain('type: "strict_dnss" is no value of')
      const inText = '# proto-message: envoy.config.cluster.v3.Cluster\nname: "a" type: strict_dns'
      expect(yield* said(resources("a.txtpb", inText))).toContain("a.txtpb:2")
    })
  )

  it.effect("★ may have one value where the API has a list, in YAML and JSON, as Envoy reads them", () =>
    Effect.gen(function* () {
      const type = (name: string) => `"@type": type.googleapis.com/envoy.${name}`
      const inYaml = (list: (one: string) => string) =>
        [
          type("config.cluster.v3.Cluster"),
          "name: a",
          `common_lb_config: { override_host_status: { statuses: ${list("healthy")} } }`,
          `health_checks: ${list('{ http_health_check: { path: /, request_headers_to_remove: "" } }')}`,
          "load_assignment:",
          "  cluster_name: a",
          `  endpoints: ${list(`{ lb_endpoints: ${list("{ load_balancing_weight: 3 }")} }`)}`,
          `filters: ${list(`{ name: f, typed_config: { ${type("config.route.v3.VirtualHost")}, domains: ${list("x")} } }`)}`,
          // Not set, and a list of one empty message.
          "transport_socket_matches: null",
          `track_cluster_stats: { timeout_budgets: true }`,
          ""
        ].join("\n")
      const one = inYaml((value) => value)
      const [wanted] = yield* resources(
        "a.yaml",
        inYaml((value) => `[${value}]`)
      )
      expect(wanted?.value.byteLength).toBeGreaterThan(100)
      expect((yield* resources("a.yaml", one))[0]?.value).toEqual(wanted?.value)
      const json = JSON.stringify(parseYaml(one))
      expect((yield* resources("a.json", json))[0]?.value).toEqual(wanted?.value)
      const empty = (list: string) =>
        `${type("config.endpoint.v3.ClusterLoadAssignment")}\ncluster_name: a\nendpoints: ${list}\n`
      expect((yield* resources("a.yaml", empty("{}")))[0]?.value).toEqual(
        (yield* resources("a.yaml", empty("[{}]")))[0]?.value
      )

      // The resources of a response.
      const single = `version_info: "1"\nresources:\n${one.replaceAll(/^/gm, "  ")}`
      for (const [file, text] of [
        ["r.yaml", single],
        ["r.json", JSON.stringify(parseYaml(single))]
      ] as const) {
        expect((yield* resources(file, text)).map(({ value }) => value)).toEqual([wanted?.value])
        const { message, typeUrl } = yield* response(file, text)
        expect(typeUrl).toBe("type.googleapis.com/envoy.config.cluster.v3.Cluster")
        expect(message.resources.map(({ value }) => value)).toEqual([wanted?.value])
      }
    })
  )

  it.effect("keep what a Struct has as it is, whatever its keys are called", () =>
    Effect.gen(function* () {
      const own = { fields: { a: { null_value: "null_value", list_value: { values: 5 } } } }
      const json = {
        "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster",
        name: "a",
        // It is read as Envoy does.
        type: "strict_dns",
        metadata: { filter_metadata: { own } }
      }
      const [read] = yield* resources("a.json", JSON.stringify(json))
      const { metadata } = fromBinary(ClusterSchema, read?.value ?? new Uint8Array())
      expect(metadata?.filterMetadata["own"]).toEqual(own)
    })
  )

  it.effect("with a mistake in a value that stands for a list say where it is, by the path as it is written", () =>
    Effect.gen(function* () {
      const inYaml = (endpoints: string) =>
        `"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\ncluster_name: a\n${endpoints}\n`
      const endpoints = "endpoints:\n  lb_endpoints:\n    endpoint:\n      hostnam: x"
      expect(yield* said(resources("a.yaml", inYaml(endpoints)))).toBe(
        'a.yaml:6:7: endpoints.lb_endpoints.endpoint.hostnam: envoy.config.endpoint.v3.Endpoint has no field "hostnam"; did you mean "hostname"?'
      )
      const listed = "endpoints:\n- {}\n- lb_endpoints:\n    endpoint:\n      hostnam: x"
      expect(yield* said(resources("a.yaml", inYaml(listed)))).toContain(
        "a.yaml:7:7: endpoints[1].lb_endpoints.endpoint.hostnam: "
      )
      // No list was meant.
      expect(yield* said(resources("a.yaml", inYaml("endpoints: foo")))).toContain(
        "a.yaml:3:12: endpoints: expected a list but found a string"
      )
      // Nor has Envoy a list for one.
      expect(yield* said(resources("a.yaml", inYaml("policy: [{}]")))).toContain(
        "a.yaml:3:9: policy: expected an object"
      )
    })
  )

  it.effect("of VHDS have one alias for each domain, and a name that clients can ask for", () =>
    Effect.gen(function* () {
      const host = (name: string) =>
        `"@type": envoy.config.route.v3.VirtualHost\nname: ${name}\ndomains: [a.example, b.example]\n`
      const [found] = yield* resources("vhds.yaml", host("main/a.example"))
      expect(found).toMatchObject({ name: "main/a.example", aliases: ["main/b.example"] })
      expect(found?.value).toEqual(
        toBinary(
          VirtualHostSchema,
          create(VirtualHostSchema, { name: "main/a.example", domains: ["a.example", "b.example"] })
        )
      )
      expect(yield* said(resources("vhds.yaml", host("a.example")))).toMatch(
        /^vhds\.yaml:1:1: clients ask for a virtual/
      )
    })
  )

  it.effect("whose aliases multiply without end are refused", () =>
    Effect.gen(function* () {
      const levels = Array.from({ length: 12 }, (_, level) =>
        level === 0 ? '- &l0 ["x"]' : `- &l${level} [${Array.from({ length: 9 }, () => `*l${level - 1}`).join(", ")}]`
      )
      expect(yield* said(resources("bomb.yaml", levels.join("\n")))).toMatch(/aliases stand for too many values/)
      const deep = "[".repeat(100_000)
      expect((yield* Effect.flip(resources("deep.json", deep))).message).toMatch(/nested deeper than/)
      expect((yield* Effect.flip(resources("deep.yaml", deep))).reason).toBe("Syntax")
    })
  )
})

describe("an error says where, what and what to do", () => {
  const nested = (endpoint: string) =>
    [
      "resources:",
      '- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster',
      "  name: a",
      '- "@type": type.googleapis.com/envoy.config.cluster.v3.Cluster',
      "  name: b",
      "  load_assignment:",
      "    cluster_name: b",
      "    endpoints:",
      "    - lb_endpoints:",
      `      - endpoint: ${endpoint}`
    ].join("\n")

  const cases: ReadonlyArray<readonly [what: string, file: string, content: string, message: string]> = [
    [
      "an unknown field in YAML",
      "a.yaml",
      nested("{ adress: {} }"),
      'a.yaml:10:21: resources[1].load_assignment.endpoints[0].lb_endpoints[0].endpoint.adress: envoy.config.endpoint.v3.Endpoint has no field "adress"; did you mean "address"?'
    ],
    [
      "a string for a number",
      "a.yaml",
      nested("{ address: { socket_address: { port_value: secret } } }"),
      "a.yaml:10:62: resources[1].load_assignment.endpoints[0].lb_endpoints[0].endpoint.address.socket_address.port_value: expected number (uint32) but found a string"
    ],
    [
      "a number for a string",
      "a.yaml",
      `"@type": envoy.config.cluster.v3.Cluster\nname: 17\n`,
      "a.yaml:2:7: name: expected string but found the number 17; put it in quotes"
    ],
    [
      "a number for a duration",
      "a.json",
      `{"@type": "envoy.config.cluster.v3.Cluster",\r\n  "name": "a",\r\n  "connectTimeout": 5}`,
      'a.json:3:21: connectTimeout: expected a duration in seconds such as "0.25s" but found the number 5'
    ],
    [
      "an unknown enum value",
      "a.json",
      `[{"@type": "envoy.config.cluster.v3.Cluster", "name": "a", "type": "EDSS"}]`,
      'a.json:1:68: [0].type: "EDSS" is no value of envoy.config.cluster.v3.Cluster.DiscoveryType; it has STATIC, STRICT_DNS, LOGICAL_DNS, EDS, ORIGINAL_DST'
    ],
    [
      "two of a oneof",
      "a.yaml",
      `"@type": envoy.config.cluster.v3.Cluster\nname: a\ntype: EDS\ncluster_type: {}\n`,
      'a.yaml:4:1: cluster_type: only one of "type" and "cluster_type" may be set'
    ],
    [
      "a list where there is none",
      "a.yaml",
      `"@type": envoy.config.cluster.v3.Cluster\nname: a\nload_assignment:\n- a\n`,
      "a.yaml:4:1: load_assignment: expected an object (envoy.config.endpoint.v3.ClusterLoadAssignment) but found a list"
    ],
    [
      "a value out of range",
      "a.yaml",
      `"@type": envoy.config.cluster.v3.Cluster\nname: a\nper_connection_buffer_limit_bytes: -1\n`,
      "a.yaml:3:36: per_connection_buffer_limit_bytes: expected number (uint32) but found the number -1: it is out of range"
    ],
    [
      "an unknown type",
      "a.yaml",
      `- "@type": envoy.config.cluster.v3.Cluster\n  name: a\n- "@type": type.googleapis.com/envoy.Foo\n`,
      'a.yaml:3:12: [1].@type: "type.googleapis.com/envoy.Foo" is not a type of the Envoy v3 API; check its spelling'
    ],
    [
      "an unknown type inside",
      "a.yaml",
      `"@type": envoy.config.cluster.v3.Cluster\nname: a\ntransport_socket:\n  typed_config:\n    "@type": type.googleapis.com/envoy.api.v2.X\n`,
      'a.yaml:5:14: transport_socket.typed_config.@type: "type.googleapis.com/envoy.api.v2.X" is of the v2 API, which is no longer served; use the v3 type'
    ],
    [
      "a missing type",
      "a.yaml",
      "- name: a\n",
      'a.yaml:1:3: [0]: expected a resource, an object with "@type": "type.googleapis.com/envoy.config.cluster.v3.Cluster" or the like'
    ],
    [
      "a type that is no resource",
      "a.yaml",
      '"@type": envoy.config.core.v3.Address\n',
      "a.yaml:1:1: envoy.config.core.v3.Address is not a resource type of xDS; if clients ask for it, wrap it in an envoy.service.discovery.v3.Resource with a name"
    ],
    [
      "a missing name",
      "a.yaml",
      '\n"@type": envoy.config.endpoint.v3.ClusterLoadAssignment\n',
      "a.yaml:2:1: the cluster_name is empty"
    ],
    [
      "an endpoint of LEDS without a name beside it",
      "a.yaml",
      '"@type": envoy.config.endpoint.v3.LbEndpoint\n',
      "a.yaml:1:1: a message of type envoy.config.endpoint.v3.LbEndpoint holds no name: wrap it in an envoy.service.discovery.v3.Resource with a name"
    ],
    [
      "the same name twice",
      "a.yaml",
      `${one("a")}---\n${one("a")}`,
      'a.yaml:4:1: the CDS resource "a" stands in line 1 already; keep one'
    ],
    [
      "broken YAML",
      "a.yaml",
      "a:\n  b: [1,\n  2\n",
      "a.yaml:3:3: Flow sequence in block collection must be sufficiently indented and end with a ]"
    ],
    ["a YAML key twice", "a.yaml", `${one("a")}name: b\n`, "a.yaml:3:1: this key stands twice in its object; keep one"],
    [
      "a YAML tag",
      "a.yaml",
      one("!secret a"),
      'a.yaml:2:7: this tag is not known; a string that begins with "!" goes in quotes'
    ],
    [
      "JSON with a comma too many",
      "a.json",
      '{"a": 1,\n}',
      'a.json:2:1: expected another element after "," but found "}"'
    ],
    ["JSON that ends too early", "a.json", '{"a": [1', 'a.json:1:9: expected "," or "]" but found the end of the file'],
    ["a JSON key twice", "a.json", '{"a": 1,\n "a": 2}', 'a.json:2:2: the name "a" stands twice in this object'],
    ["a JSON string that does not end", "a.json", '{"a": "b\n}', "a.json:1:7: this string does not end on its line"],
    ["JSON with a comment", "a.json", "{} // x", 'a.json:1:4: expected the end of the file but found "/"'],
    [
      "an unknown field in text",
      "a.txtpb",
      'version_info: "1"\nresource {\n}\n',
      'a.txtpb:2:1: unknown field "resource" for message envoy.service.discovery.v3.DiscoveryResponse'
    ],
    [
      "a wrong value in text",
      "a.txtpb",
      "resources {\n  [type.googleapis.com/envoy.config.cluster.v3.Cluster] {\n    name: 17\n  }\n}\n",
      "a.txtpb:3:11: expected a string, got a number"
    ],
    [
      "an unknown field in text, after others on its line",
      "a.txtpb",
      `resources { [${ResourceType.Cluster.typeUrl}] { name: "a \\"b c" alt_stat_name: 'd' nmae: "x" } }\n`,
      'a.txtpb:1:104: unknown field "nmae" for message envoy.config.cluster.v3.Cluster'
    ],
    ["text that ends too early", "a.txtpb", "resources {\n", 'a.txtpb:1:12: unexpected end of input, expected "}"'],
    [
      "another ending",
      "a.xml",
      "<a/>",
      "a.xml: its name must end in one of .pb, .bin, .json, .yaml, .yml, .pb_text, .txtpb, .textproto"
    ]
  ]

  it.effect.each(cases)("%s", ([, file, content, message]) =>
    Effect.gen(function* () {
      const found = yield* said(resources(file, content))
      expect(found).toBe(message)
    })
  )

  it.effect("a mistake in protobuf text takes little time to find, however long its line", () =>
    Effect.gen(function* () {
      const long = "A".repeat(100_000)
      const text = `resources { [${ResourceType.Cluster.typeUrl}] { name: "${long}" nmae: "x" } }\n`
      const column = text.indexOf("nmae") + 1
      const taken = Effect.gen(function* () {
        const before = process.cpuUsage()
        expect(yield* said(resources("a.txtpb", text))).toContain(`a.txtpb:1:${column}: unknown field "nmae"`)
        const { system, user } = process.cpuUsage(before)
        return (user + system) / 1_000
      })
      // Other threads of the process are counted, too.
      expect(Math.min(yield* taken, yield* taken, yield* taken)).toBeLessThan(1_500)
    })
  )

  it.effect("bytes that are not UTF-8", () =>
    Effect.gen(function* () {
      const latin = Uint8Array.from([...encode('{"a":\n "'), 0xe4, ...encode('"}')])
      expect(yield* said(resources("a.json", latin))).toMatch(/^a\.json:2:3: these bytes are not UTF-8/)
      const wide = Uint8Array.from([0xff, 0xfe, 0x7b, 0, 0x7d, 0])
      expect(yield* said(resources("a.json", wide))).toMatch(/^a\.json:1:1: it is written in UTF-16/)
    })
  )

  it.effect("a wrapper without a resource, and one with another name", () =>
    Effect.gen(function* () {
      const wrapped = (fields: object) =>
        resources("a.json", JSON.stringify({ "@type": ResourceSchema.typeName, ...fields }))
      expect(yield* said(wrapped({ name: "a" }))).toMatch(/this Resource holds no resource/)
      const resource = { "@type": ResourceType.Cluster.typeUrl, name: "a" }
      expect(yield* said(wrapped({ name: "b", resource }))).toMatch(/is named "b", but the name inside is "a"/)
      expect(yield* said(wrapped({ ttl: "0.001s", resource }))).toMatch(/ttl is under 100 ms/)
      const address = { "@type": "envoy.config.core.v3.Address" }
      expect(yield* names(wrapped({ name: "b", resource: address }))).toEqual(["b"])
    })
  )
})
