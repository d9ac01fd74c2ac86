/** The commands of a client, as processes, towards `serve` as a process and towards files. */
import { create, toBinary } from "@bufbuild/protobuf"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { FreePort } from "@effect-xds/testing"
import { Effect, Schema } from "effect"
import { once } from "node:events"
import { createServer as createHttpServer } from "node:http"
import { createServer as createHttp2Server } from "node:http2"
import { createServer } from "node:net"
import { join } from "node:path"
import { describe, expect, it, onTestFinished } from "vitest"
import { parse, parseAllDocuments } from "yaml"
import * as EnvoyBootstrap from "../src/EnvoyBootstrap.js"
import * as ResourceText from "../src/ResourceText.js"
import { mutualTls } from "./MutualTls.js"
import { deadline, effectXds, eventually, replaceFile, serve, directoryOf, temporaryDirectory } from "./ServeProcess.js"

const limit = 4 * deadline

const type = (name: string): string => `"@type": type.googleapis.com/envoy.config.${name}`

const cluster = (name: string, seconds = 1): string =>
  [
    type("cluster.v3.Cluster"),
    `name: ${name}`,
    `connect_timeout: ${seconds}s`,
    "type: EDS",
    "eds_cluster_config: { eds_config: { ads: {}, resource_api_version: V3 } }\n"
  ].join("\n")

const endpoints = (name: string): string => `${type("endpoint.v3.ClusterLoadAssignment")}\ncluster_name: ${name}\n`

const small = () =>
  directoryOf({
    "edge/clusters.yaml": [cluster("a"), cluster("b")].join("---\n"),
    "edge/endpoints.yaml": [endpoints("a"), endpoints("b")].join("---\n")
  })

/** Runs the program to its end. */
const run = async (...args: ReadonlyArray<string>) => {
  const process = effectXds(...args)
  const code = await process.exit
  const out = process.stdout().trimEnd()
  return { code, out, lines: out.split("\n"), error: process.stderr().trimEnd() }
}

/** The rows of a table, their cells apart. */
const cells = (lines: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  lines.map((line) => line.split(/ {2,}/))

const edge = ["--node-cluster", "edge"]

describe("get", () => {
  it("has the same of every variant, and of files", { timeout: limit }, async () => {
    const out = join(temporaryDirectory(), "out")
    const { grpc, rest } = await serve(small(), ["--files-out", out])
    const variants = [
      [...edge, grpc],
      [...edge, "--separate", grpc],
      [...edge, "--protocol", "delta", grpc],
      [...edge, "--protocol", "delta", "--separate", grpc],
      [...edge, `http://${rest}`],
      [`path:${join(out, "edge")}`]
    ]
    const outcomes = await Promise.all(
      variants.map(async (variant) => {
        const table = await run("get", ...variant, "CDS")
        const named = await run("get", ...variant, "-o", "json", "endpoints", "b")
        const resources: unknown = JSON.parse(named.out)
        const names = cells(table.lines).map(([kind, name]) => [kind, name])
        return { variant, codes: [table.code, named.code], names, resources }
      })
    )
    const resource = {
      "@type": "type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment",
      cluster_name: "b"
    }
    const names = [
      ["TYPE", "NAME"],
      ["CDS", "a"],
      ["CDS", "b"]
    ]
    expect(outcomes).toEqual(variants.map((variant) => ({ variant, codes: [0, 0], names, resources: [resource] })))
  })

  it("prints YAML that can be served", { timeout: limit }, async () => {
    const { grpc } = await serve(small())
    const { out } = await run("get", grpc, "clusters", ...edge, "--output", "yaml")
    const documents = parseAllDocuments(out).map((document) => {
      const value: unknown = document.toJS()
      return value
    })
    expect(documents).toMatchObject([{ name: "a", connect_timeout: "1s" }, { name: "b" }])
    const again = directoryOf({ "edge/all.yaml": out })
    expect((await run("validate", "--no-references", again)).code).toBe(0)
  })

  it("ends with a code and one line for what is not there", { timeout: limit }, async () => {
    const { grpc, rest } = await serve(small())
    const soon = ["--timeout", "1"]
    const outcomes = [
      [[...edge, grpc, "CDS", "a", "none"], 1, 'CDS "none" on'],
      [[...edge, "--protocol", "delta", grpc, "CDS", "none"], 1, 'CDS "none" on'],
      [[...edge, `http://${rest}`, "CDS", "none"], 1, 'CDS "none" on'],
      [[...edge, grpc, "LDS"], 1, "has no LDS"],
      [[...edge, "--protocol", "delta", grpc, "LDS"], 1, "has no LDS"],
      [[...edge, `http://${rest}`, "LDS"], 1, "has no LDS"],
      [
        ["--node-cluster", "unknown", ...soon, grpc, "CDS"],
        3,
        'did not answer within 1 s for node id "effect-xds", cluster "unknown"'
      ],
      [["--node-cluster", "unknown", "--separate", ...soon, grpc, "EDS", "a"], 3, "did not answer within 1 s for node"],
      [["--node-cluster", "unknown", ...soon, `http://${rest}`, "CDS"], 3, "or have nothing for node id"],
      [
        [...soon, grpc, "CDS"],
        3,
        "no cluster; if it chooses by the node, name one: --node-cluster, --node-id or --metadata"
      ],
      [[...edge, "127.0.0.1:1", "CDS"], 3, "127.0.0.1:1 gives no answer"],
      [[...edge, "http://127.0.0.1:1", "CDS", "a"], 3, "gives no answer"],
      [[...edge, "--tls", grpc, "CDS"], 3, "gives no answer"],
      [["path:/no/such/directory", "CDS", "a"], 3, "there is no file or directory /no/such/directory"],
      [["path:///no/such/cds.yaml", "CDS"], 3, "there is no file or directory /no/such/cds.yaml"],
      [["127.0.0.1:99999", "CDS"], 2, 'cannot use the xDS server "127.0.0.1:99999"'],
      [["--timeout", "-1", grpc, "CDS"], 2, "--timeout is a number of seconds above 0"]
    ] as const
    const seen = await Promise.all(
      outcomes.map(async ([args]) => {
        const { code, error, out } = await run("get", ...args)
        return { args, code, error, out }
      })
    )
    for (const [index, [args, code, words]] of outcomes.entries()) {
      expect(seen[index]).toMatchObject({ args, code })
      const { error = "", out = "" } = seen[index] ?? {}
      expect(error + out).toContain(words)
      expect(error.trim().split("\n")).toHaveLength(1)
      expect(error).not.toMatch(/\n\s+at /)
    }
    const { code, error, out } = await run("get", grpc, "CDX")
    expect(code).toBe(2)
    expect(out + error).toContain('"CDX" is no type of resources; did you mean CDS? There are')
  })

  it(
    "tells a server that takes connections and says nothing from one that has nothing",
    { timeout: limit },
    async () => {
      const mute = createServer(() => undefined).listen(0, "127.0.0.1")
      await once(mute, "listening")
      onTestFinished(() => void mute.close())
      const bound = mute.address()
      const address = `127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
      const soon = ["--timeout", "1"]
      const silent = `${address} gives no answer: the server takes connections and says nothing in HTTP/2`
      const ofRest = `${address} did not answer within 1 s: it may be no REST server of xDS, or have nothing for node id`
      const ofTls = `${address} gives no answer: cannot connect to ${address}: the server takes connections and says nothing in TLS`
      const outcomes = [
        [["get", ...soon, address, "CDS"], silent],
        [["get", ...soon, address, "CDS", "a"], silent],
        [["get", ...soon, `http://${address}`, "EDS", "a"], ofRest],
        [["diff", ...soon, address, small()], silent],
        // A handshake that does not end counts, too.
        [["get", ...soon, "--tls", address, "CDS"], ofTls],
        [["get", ...soon, "--tls", address, "CDS", "a"], ofTls]
      ] as const
      for (const [args, words] of outcomes) {
        const { code, error, out } = await run(...args)
        expect([args, code, out]).toEqual([args, 3, ""])
        expect(error).toContain(words)
      }
    }
  )

  it("says of files why one was not taken, and where", { timeout: limit }, async () => {
    const response = (name: string): string =>
      `resources: [{ "@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment, cluster_name: ${name} }]`
    const directory = directoryOf({
      "cds.yaml": "nonsense: [",
      "eds/a.yaml": response("a"),
      "eds/b.yaml": response('""')
    })
    const clusters = await run("get", `path:${directory}`, "CDS")
    expect([clusters.code, clusters.out]).toEqual([3, ""])
    expect(clusters.error).toMatch(new RegExp(`^effect-xds: ${directory}/cds.yaml:1:\\d+: `))
    // What is good is printed all the same.
    const assignments = await run("get", `path:${directory}`, "EDS")
    expect([assignments.code, assignments.lines.map((line) => line.split(/ +/)[1])]).toEqual([3, ["NAME", "a"]])
    expect(assignments.error).toBe(`effect-xds: ${directory}/eds/b.yaml:1:13: resources[0]: the cluster_name is empty`)
    const compared = await run("diff", `path:${directory}`, small())
    expect([compared.code, compared.out]).toEqual([3, ""])
    expect(compared.error.split("\n")).toHaveLength(2)
    const none = await run("diff", "path:/no/such/directory", small())
    expect([none.code, none.error]).toEqual([3, "effect-xds: there is no file or directory /no/such/directory"])
    const empty = directoryOf({})
    const nothing = await run("diff", "--timeout", "1", `path:${empty}`, small())
    expect([nothing.code, nothing.error]).toEqual([3, `effect-xds: path:${empty} has no file that could be read`])
  })

  it("goes over mTLS", { timeout: limit }, async () => {
    const tls = await mutualTls()
    const { grpc, rest } = await serve(small(), tls.server)
    for (const address of [grpc, `https://${rest.replace(/^https:\/\//, "")}`]) {
      const { code, error, lines } = await run("get", ...edge, ...tls.client, address, "CDS")
      expect([error, code, lines.length]).toEqual(["", 0, 3])
      expect((await run("get", ...edge, "--tls-ca", tls.ca, address, "CDS")).code).toBe(3)
    }
  })

  it("says what is wrong with TLS, and with which option it may be right", { timeout: limit }, async () => {
    const tls = await mutualTls()
    const { ca } = await mutualTls()
    const [own, clear] = await Promise.all([serve(small(), tls.server), serve(small())])
    const rest = `https://${own.rest.replace(/^https:\/\//, "")}`
    const [cert, key] = [
      join(directoryOf({ "a.pem": tls.pem.cert }), "a.pem"),
      join(directoryOf({ "a.key": "" }), "a.key")
    ]
    const outcomes = [
      [[own.grpc], 3, "it may want TLS: --tls, or --tls-ca FILE with its authority"],
      [[rest.replace("https", "http")], 3, "closed the connection without an answer; it may want TLS: https://"],
      [["--tls-ca", ca, own.grpc], 3, "is of no authority that this client trusts"],
      [["--tls-ca", ca, rest], 3, "give its authority: --tls-ca FILE"],
      [["--tls-ca", tls.ca, own.grpc], 3, ": --tls-cert FILE and --tls-key FILE"],
      [["--tls-ca", tls.ca, rest], 3, ": --tls-cert FILE and --tls-key FILE"],
      [
        ["--tls-ca", tls.ca, "--tls-server-name", "other.corp", own.grpc],
        3,
        "is not for other.corp, but for IP Address:127"
      ],
      [["--tls-ca", tls.ca, clear.grpc], 3, "is not TLS; it may be in the clear: no --tls, nor --tls-ca and the like"],
      [["--tls-ca", tls.ca, `https://${clear.rest}`], 3, "is not TLS; it may be in the clear: http://, and no --tls"],
      [["--tls-ca", "/no/such.pem", own.grpc], 3, "--tls-ca /no/such.pem cannot be read: ENOENT"],
      [["--tls-cert", cert, own.grpc], 2, "--tls-cert and --tls-key go together: give both or none"],
      [["--tls-cert", cert, "--tls-key", key, own.grpc], 3, `tls.key ${key}: it is empty`]
    ] as const
    await Promise.all(
      outcomes.map(async ([args, expected, words]) => {
        const { code, error, out } = await run("get", ...edge, ...args, "CDS")
        expect([args, code, out]).toEqual([args, expected, ""])
        expect(error).toContain(words)
        expect(error.split("\n")).toHaveLength(1)
        expect(error).not.toContain("SSL routines")
      })
    )
  })
})

describe("watch", () => {
  it("prints what happens, until it is interrupted", { timeout: limit }, async () => {
    const directory = small()
    const { grpc, rest } = await serve(directory)
    const table = effectXds("watch", ...edge, grpc, "CDS")
    const json = effectXds("watch", ...edge, "-o", "json", `http://${rest}`, "CDS", "a", "b")
    await eventually(() => {
      expect(table.stdout().trim().split("\n")).toHaveLength(2)
      expect(json.stdout().trim().split("\n")).toHaveLength(2)
    })
    replaceFile(join(directory, "edge/clusters.yaml"), cluster("a", 7))
    const Line = Schema.parseJson(
      Schema.Struct({
        event: Schema.String,
        name: Schema.String,
        resource: Schema.optional(Schema.Struct({ connect_timeout: Schema.String }))
      })
    )
    await eventually(() => {
      const words = cells(table.stdout().trim().split("\n").slice(2)).map(([, what, , name]) => `${what} ${name}`)
      expect(words.sort()).toEqual(["does not exist b", "updated a"])
      const lines = json.stdout().trim().split("\n").slice(2)
      const events = lines.map((line) => Schema.decodeUnknownSync(Line)(line))
      expect(events.map(({ event, name }) => `${event} ${name}`).sort()).toEqual(["DoesNotExist b", "Updated a"])
      expect(events.find(({ name }) => name === "a")?.resource?.connect_timeout).toBe("7s")
    })
    for (const { child, exit } of [table, json]) {
      const since = performance.now()
      child.kill("SIGINT")
      expect(await exit).toBe(0)
      // A tenth of it, where nobody else uses the machine.
      expect(performance.now() - since).toBeLessThan(deadline / 10)
    }
  })

  it("goes on when the server is not there yet", { timeout: limit }, async () => {
    const directory = small()
    const port = await Effect.runPromise(FreePort.any())
    const watch = effectXds("watch", ...edge, `127.0.0.1:${port}`, "CDS")
    await eventually(() => expect(watch.stderr()).toContain(`no xDS from 127.0.0.1:${port}`))
    const server = effectXds("serve", directory, "--port", String(port), "--no-admin")
    await eventually(() => expect(server.stdout()).toContain("Serving"))
    await eventually(() => expect(watch.stdout()).toMatch(/updated +CDS +a/))
  })
})

describe("diff", () => {
  it("says what is more, less and otherwise, and ends with 1", { timeout: limit }, async () => {
    const directory = small()
    const { grpc, rest } = await serve(directory)
    const same = await run("diff", ...edge, grpc, join(directory, "edge"))
    expect([same.out, same.code]).toEqual(["", 0])
    expect((await run("diff", ...edge, "--protocol", "delta", grpc, `http://${rest}`)).code).toBe(0)

    const other = directoryOf({
      "one.yaml": [cluster("a", 2), cluster("c"), endpoints("a"), endpoints("b")].join("---\n")
    })
    const { code, lines } = await run("diff", ...edge, grpc, join(other, "one.yaml"))
    expect(lines).toEqual(["~ CDS a", '    connect_timeout: "1s" → "2s"', "- CDS b", "+ CDS c"])
    expect(code).toBe(1)
    const some = await run("diff", ...edge, "--types", "EDS", grpc, other)
    expect([some.out, some.code]).toEqual(["", 0])
    const json: unknown = JSON.parse((await run("diff", ...edge, "-o", "json", other, grpc)).out)
    expect(json).toMatchObject([
      { change: "changed", type: "CDS", name: "a", differences: [{ path: "connect_timeout", from: "2s", to: "1s" }] },
      { change: "added", name: "b" },
      { change: "removed", name: "c" }
    ])
  })

  it("compares what a server has answered for, and ends with 3 where that is not all", { timeout: limit }, async () => {
    const typeUrl = "type.googleapis.com/envoy.config.cluster.v3.Cluster"
    const clusters = { versionInfo: "1", typeUrl, nonce: "1" }
    const ofRest = createHttpServer((request, response) => {
      if (request.url === "/v3/discovery:clusters") response.end(JSON.stringify(clusters))
    }).listen(0, "127.0.0.1")
    const bytes = toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, clusters))
    const ofGrpc = createHttp2Server()
    ofGrpc.on("stream", (stream) => {
      stream.on("error", () => undefined)
      stream.respond({ ":status": 200, "content-type": "application/grpc" })
      stream.write(Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.byteLength]), bytes]))
    })
    ofGrpc.listen(0, "127.0.0.1")
    const [grpc, rest] = await Promise.all(
      [ofGrpc, ofRest].map(async (server) => {
        await once(server, "listening")
        onTestFinished(() => void server.close())
        const bound = server.address()
        return `127.0.0.1:${typeof bound === "object" && bound !== null ? bound.port : 0}`
      })
    )
    const directory = directoryOf({ "all.yaml": [cluster("a"), endpoints("a")].join("---\n") })
    for (const address of [grpc ?? "", `http://${rest}`]) {
      // It has no clusters, and of assignments nobody knows.
      const some = await run("diff", "--timeout", "1", "--types", "CDS,EDS", address, directory)
      expect(some).toMatchObject({ code: 3, out: "+ CDS a" })
      expect(some.error).toContain(`${address} did not answer within 1 s for EDS; --types leaves out`)
      expect(await run("diff", "--types", "CDS", address, directory)).toMatchObject({ code: 1, out: "+ CDS a" })
      const none = await run("diff", "--timeout", "1", "--types", "CDS,EDS", address, address)
      expect([none.code, none.out, none.error.split("\n")]).toMatchObject([3, "", { length: 2 }])
    }
  })

  it("ends with a code and one line for sides that cannot be compared", { timeout: limit }, async () => {
    const twice = directoryOf({ "one/a.yaml": cluster("a"), "two/a.yaml": cluster("a", 2) })
    const bad = directoryOf({ "one/a.yaml": "nonsense: [" })
    const outcomes = [
      [["127.0.0.1:1", small()], 3, "127.0.0.1:1 gives no answer"],
      [[twice, twice], 2, 'CDS "a" is in the groups one and two'],
      [[bad, bad], 3, "a.yaml:1:"],
      [["--types", "CDX", twice, twice], 2, "--types is a list such as CDS,EDS"]
    ] as const
    for (const [args, code, words] of outcomes) {
      const seen = await run("diff", ...args)
      expect([args, seen.code]).toEqual([args, code])
      expect(seen.error).toContain(words)
    }
  })
})

describe("validate", () => {
  it("lists every mistake with its place, and ends with 1", { timeout: limit }, async () => {
    const directory = directoryOf({
      "edge/a.yaml": cluster("a"),
      "edge/again.yaml": cluster("a"),
      "edge/broken.json": '{\n  "name": ,\n}',
      "edge/wrong.yaml": cluster("w").replace("connect_timeout", "connect_timout"),
      "inside/lonely.yaml": cluster("lonely")
    })
    const { code, error, lines } = await run("validate", directory)
    expect(code).toBe(1)
    expect(error).toBe(`effect-xds: 4 mistakes in ${directory}`)
    const said = lines.map((line) => line.replace(/^.*?((?:edge|inside)\/)/, "$1")).sort()
    expect(said).toHaveLength(4)
    expect(said[0]).toMatch(/^edge\/again\.yaml:1.*a\.yaml/)
    expect(said[1]).toMatch(/^edge\/broken\.json:2:\d+: /)
    expect(said[2]).toMatch(/^edge\/wrong\.yaml:3:1: .*"connect_timout"; did you mean "connect_timeout"\?/)
    expect(said[3]).toMatch(/^inside\/lonely\.yaml:1: .*lonely.* is not in group inside \(endpoints-reference\)$/)
  })

  it("has nothing against what is right, references aside if they are to be", { timeout: limit }, async () => {
    const directory = small()
    const right = await run("validate", directory)
    expect([right.out, right.code]).toEqual([`${directory}: 4 resources in 2 files, 1 group, no mistakes`, 0])
    const file = join(directory, "edge/clusters.yaml")
    expect((await run("validate", file)).code).toBe(1)
    expect((await run("validate", "--no-references", file)).code).toBe(0)
    // With a field that Envoy's API has since 1.32.
    const recent = directoryOf({
      "edge/recent.yaml": `${cluster("r").trimEnd()}
stats_matcher: { reject_all: true }
`
    })
    expect((await run("validate", "--no-references", recent)).code).toBe(0)
    const missing = await run("validate", "/no/such")
    expect(missing.code).toBe(3)
    expect(missing.error).toContain("/no/such")
    expect((await run("validate", temporaryDirectory())).error).toContain("holds no files with resources")
  })
})

describe("validate, every mistake", () => {
  it("of a file is told, as text and as JSON", { timeout: limit }, async () => {
    const wrong = cluster("a").replace("connect_timeout", "connect_timout") + "lb_policy: FOO\n"
    const directory = directoryOf({ "edge/a.yaml": wrong, "edge/b.yaml": "name: {{ .Values.name }}\n" })
    const text = await run("validate", directory)
    const lines = text.lines.map((line) => line.slice(directory.length + 1).split(" ")[0])
    expect(lines).toEqual(["edge/a.yaml:3:1:", "edge/a.yaml:6:12:", "edge/b.yaml:1:7:"])
    expect([text.code, text.error]).toEqual([1, `effect-xds: 3 mistakes in ${directory}`])
    const json = await run("validate", "--output", "json", directory)
    expect(json.code).toBe(1)
    expect(JSON.parse(json.out)).toMatchObject({
      path: directory,
      files: 2,
      groups: [],
      resources: 0,
      mistakes: [
        { file: join(directory, "edge/a.yaml"), line: 3, column: 1, path: "connect_timout", reason: "Schema" },
        { line: 6, column: 12, path: "lb_policy", message: text.lines[1] },
        { line: 1, column: 7, reason: "Syntax" }
      ]
    })
    const fine = await run("validate", "-o", "json", small())
    expect([fine.code, fine.error]).toEqual([0, ""])
    expect(JSON.parse(fine.out)).toMatchObject({ groups: ["edge"], resources: 4, mistakes: [] })
    const lonely = await run("validate", "-o", "json", join(small(), "edge/clusters.yaml"))
    expect(lonely.code).toBe(1)
    expect(JSON.parse(lonely.out)).toMatchObject({ mistakes: [{ line: 1, reason: "Reference" }, {}] })
    const compared = await run("diff", "-o", "json", directory, directory)
    expect([compared.code, compared.out]).toEqual([3, ""])
    for (const line of text.lines) expect(compared.error).toContain(line)
  })
})

describe("validate, the rules of Envoy's API", () => {
  it("are told with the file, the resource and the path", { timeout: limit }, async () => {
    const slow = `${cluster("slow").trimEnd()}
outlier_detection: { interval: -5s }
health_checks: [{ timeout: 1s, interval: 1s, unhealthy_threshold: 1, healthy_threshold: 1 }]
transport_socket:
  name: tls
  typed_config:
    "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
    sni: ${"a".repeat(256)}
`
    const directory = directoryOf({ "edge/a.yaml": [cluster("fine"), slow].join("---\n") })
    const text = await run("validate", "--no-references", directory)
    expect([text.code, text.error]).toEqual([1, `effect-xds: 3 mistakes in ${directory}`])
    const place = `${join(directory, "edge/a.yaml")}:${cluster("fine").split("\n").length + 1}`
    const words = [
      "health_checks[0].health_checker must be set: one of http_health_check, tcp_health_check, grpc_health_check, custom_health_check",
      "outlier_detection.interval must be greater than 0s, is -5s",
      "transport_socket.typed_config[envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext].sni must have at most 255 bytes"
    ]
    for (const [index, each] of words.entries())
      expect(text.lines[index]).toContain(`${place}: clusters "slow": ${each}`)
    const json = await run("validate", "--no-references", "--output", "json", directory)
    expect(JSON.parse(json.out)).toMatchObject({
      groups: ["edge"],
      resources: 2,
      mistakes: [
        { file: join(directory, "edge/a.yaml"), path: "health_checks[0].health_checker", reason: "Rule" },
        { path: "outlier_detection.interval", message: text.lines[1] },
        {}
      ]
    })
  })
})

describe("validate, rules beyond single fields", () => {
  const table = `"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration
name: main
virtual_hosts: [{ name: a, domains: [a, A], routes: [{ match: { safe_regex: { regex: "a(?=b)" } }, route: { cluster: x } }] }]
`

  it("are told with their name, and left out by it", { timeout: limit }, async () => {
    const directory = directoryOf({ "edge/a.yaml": table })
    const place = `${join(directory, "edge/a.yaml")}:1`
    const all = await run("validate", directory)
    expect([all.code, all.error]).toEqual([1, `effect-xds: 3 mistakes in ${directory}`])
    expect(all.lines).toEqual([
      `${place}: routes "main": virtual_hosts[0].domains[1] must not be there twice: "A" belongs to virtual host "a" (domain-unique)`,
      expect.stringMatching(/regex must be an expression of RE2, is "a\(\?=b\)": .* \(regular-expression\)$/),
      `${place}: routes "main": virtual_hosts[0].routes[0].route.cluster names cluster "x", which is not in group edge (cluster-reference)`
    ])
    const some = await run("validate", "--off", "domain-unique", "--off", "cluster-reference", directory)
    expect([some.code, some.lines]).toEqual([1, [all.lines[1]]])
    const none = await run(
      "validate",
      "--off",
      "domain-unique",
      "--off",
      "regular-expression",
      "--no-references",
      directory
    )
    expect([none.code, none.error]).toEqual([0, ""])
    const json = await run("validate", "--output", "json", directory)
    expect(JSON.parse(json.out)).toMatchObject({
      mistakes: [
        { line: 1, path: "virtual_hosts[0].domains[1]", reason: "Rule", rule: "domain-unique", message: all.lines[0] },
        { rule: "regular-expression" },
        { reason: "Reference", rule: "cluster-reference" }
      ]
    })
  })

  it("are listed; a name that none has is told, with the nearest", { timeout: limit }, async () => {
    const { code, lines } = await run("validate", "--list-rules")
    expect(code).toBe(0)
    expect(lines[0]).toMatch(/^RULE +SEVERITY +FOR +WHAT MUST BE$/)
    expect(lines.find((line) => line.startsWith("domain-unique"))).toMatch(/ error +Envoy +No domain is there twice/)
    const wrong = await run("validate", "--off", "domain-uniq", small())
    expect([wrong.code, wrong.out]).toEqual([2, ""])
    expect(wrong.error).toContain("--off: there is no rule of that name: did you mean domain-unique?")
  })

  it("say nothing of a place of which a field's rule says something", { timeout: limit }, async () => {
    const text = cluster("a").replace(/connect_timeout: .*/, "connect_timeout: -1s")
    const directory = directoryOf({ "edge/a.yaml": text })
    const { lines } = await run("validate", "--no-references", directory)
    expect(lines).toEqual([expect.stringContaining('clusters "a": connect_timeout must be greater than 0s, is -1s')])
  })

  it("and an Envoy that cannot be started is told", { timeout: limit }, async () => {
    const { code, error } = await run("validate", "--envoy", "/no/such/envoy", small())
    expect(code).toBe(3)
    expect(error).toContain("/no/such/envoy cannot be started: ")
  })
})

/** What a reader of YAML 1.1 or of 1.2 takes for something else, if it is not quoted. */
const ambiguous = [
  "no",
  "On",
  "YES",
  "y",
  "null",
  "~",
  "1e3",
  "0x1F",
  "0o17",
  "017",
  "1_000",
  "1:30",
  "2024-01-01",
  "<<"
]

describe("YAML", () => {
  it.each(ambiguous)("says %j so that every reader takes it for a text", (name) => {
    const server = { host: "127.0.0.1", port: 18000 }
    const metadata = { [name]: name }
    const bootstrap = EnvoyBootstrap.toYaml({ server, nodeId: name, nodeCluster: name, metadata })
    const resources = ResourceText.yaml([{ name, metadata }])
    for (const schema of ["core", "yaml-1.1"] as const) {
      const read: unknown = parse(bootstrap, { schema })
      expect([schema, read]).toMatchObject([schema, { node: { id: name, cluster: name, metadata } }])
      expect([schema, parse(resources, { schema })]).toEqual([schema, { name, metadata }])
    }
  })
})

describe("bootstrap", () => {
  it("is what an Envoy and a gRPC application read", { timeout: limit }, async () => {
    const envoy = await run(
      "bootstrap",
      "envoy",
      "--server",
      "xds.example:1234",
      "--node-id",
      "n",
      "--tls-ca",
      "ca.pem"
    )
    expect(envoy.code).toBe(0)
    const read: unknown = parse(envoy.out)
    expect(read).toMatchObject({
      node: { id: "n", cluster: "default" },
      dynamic_resources: { cds_config: { ads: {} } }
    })
    expect(envoy.out).toContain("port_value: 1234")
    expect(envoy.out).toContain("filename: ca.pem")

    const grpc = await run("bootstrap", "grpc", "--node-cluster", "edge")
    const json: unknown = JSON.parse(grpc.out)
    expect(json).toEqual({
      xds_servers: [
        { server_uri: "127.0.0.1:18000", channel_creds: [{ type: "insecure" }], server_features: ["xds_v3"] }
      ],
      node: { id: "node-1", cluster: "edge", locality: {} }
    })
    expect((await run("bootstrap", "grpc", "--server", "nonsense")).code).toBe(2)
    expect((await run("bootstrap", "grpc", "--tls-cert", "c")).error).toContain("go together")
  })
})

describe("status", () => {
  it("shows each client: what it was sent, took and rejected", { timeout: limit }, async () => {
    const { admin, grpc } = await serve(small())
    expect((await run("status", admin)).out).toBe("no clients")
    const watch = effectXds("watch", ...edge, "--node-id", "w1", grpc, "CDS")
    await eventually(() => expect(watch.stdout()).toContain("updated"))
    await eventually(async () => {
      const { code, lines } = await run("status", admin)
      expect(code).toBe(0)
      expect(lines[0]).toBe("1 client: 1 acked")
      expect(cells(lines.slice(2)).map(([state, , node, group, , kind]) => [state, node, group, kind])).toEqual([
        ["STATE", "NODE", "GROUP", "TYPE"],
        ["acked", "w1", "edge", "CDS"]
      ])
    })
    const json: unknown = JSON.parse((await run("status", "-o", "json", `http://${admin}`)).out)
    expect(json).toMatchObject({ clients: [{ node: { id: "w1" } }] })
  })

  it("ends with a code and one line where there is none", { timeout: limit }, async () => {
    const { code, error } = await run("status", "127.0.0.1:1")
    expect(code).toBe(3)
    expect(error.split("\n")).toHaveLength(1)
    expect(error).toContain("http://127.0.0.1:1/status gives no answer")
    const { rest } = await serve(small())
    const other = await run("status", rest)
    expect(other.code).toBe(3)
    expect(other.error).toContain("HTTP status 404")
  })
})
