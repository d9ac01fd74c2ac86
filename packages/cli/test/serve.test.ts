import { PeerProgram } from "@effect-xds/testing"
import { Schema } from "effect"
import { execFile } from "node:child_process"
import { once } from "node:events"
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { request } from "node:https"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { describe, expect, it, onTestFinished } from "vitest"
import { mutualTls } from "./MutualTls.js"
import {
  deadline,
  effectXds,
  eventually,
  replaceFile,
  serve,
  type ServeProcess,
  directoryOf,
  temporaryDirectory
} from "./ServeProcess.js"

const example = fileURLToPath(new URL("../../../examples/serve/config", import.meta.url))
const grpcurl = PeerProgram.forTest("grpcurl")
const limit = 3 * deadline

const clusterType = "type.googleapis.com/envoy.config.cluster.v3.Cluster"

const cluster = (name: string, seconds = 1): string =>
  `"@type": ${clusterType}\nname: ${name}\nconnect_timeout: ${seconds}s\n`

const Discovered = Schema.Struct({
  resources: Schema.optional(Schema.Array(Schema.Struct({ name: Schema.String })))
})

/** What a client with this node is given over REST; `undefined`: its group is not served. */
const fetchClusters = async (
  { rest }: Pick<ServeProcess, "rest">,
  node: { readonly id?: string; readonly cluster?: string; readonly metadata?: object },
  known?: string
): Promise<ReadonlyArray<string> | undefined> => {
  const response = await fetch(`http://${rest}/v3/discovery:clusters?wait=0`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-envoy-expected-rq-timeout-ms": "400" },
    body: JSON.stringify({ node, ...(known !== undefined && { version_info: known }) })
  })
  if (response.status !== 200) return undefined
  const { resources = [] } = Schema.decodeUnknownSync(Discovered)(await response.json())
  return resources.map(({ name }) => name).sort()
}

const one = { id: "one", cluster: "edge" }

describe("serve", () => {
  it.each([
    [["serve", "/no/such/directory"], 3, "/no/such/directory: there is no such file or directory"],
    [["serve", "package.json"], 3, "it is a file; serve wants the directory that it stands in"],
    [["serve", example, "--tls-cert", "a.pem"], 2, "TLS needs both --tls-cert and --tls-key"],
    [["serve", example, "--tls-cert", "/no/a.pem", "--tls-key", "/no/b.pem", "--port", "0"], 3, "cannot be read"],
    [["serve", example, "--files-out", join(example, "out")], 2, "what is written would be read again"],
    [["serve", example, "--files-out", "/dev/null/out"], 3, "it cannot be written to"],
    [["serve", example, "--host", "192.0.2.1"], 3, "this machine has no such address"],
    [["serve", example, "--port", "70000"], 2, "--port is a number from 0 (any free port) to 65535"],
    [["serve", example, "--group-by", "name"], 2, "--group-by is cluster, id or metadata.KEY"],
    [["serve"], 2, "serve: DIR is missing: effect-xds serve [OPTIONS] DIR"],
    [["serve", example, "--prot", "1"], 2, "there is no option --prot: did you mean --port?"]
  ])("%j ends with %d and one line", { timeout: limit }, async (args, code, message) => {
    const process = effectXds(...args)
    expect(await process.exit).toBe(code)
    const lines = process.stderr().trim().split("\n")
    expect(lines.at(-1)).toContain(message)
    expect(process.stderr()).not.toMatch(/^ +at /m)
    expect(process.stdout()).toBe("")
  })

  it("names a port that is in use", { timeout: limit }, async () => {
    const other = Http.createServer().listen(0, "127.0.0.1")
    await once(other, "listening")
    onTestFinished(() => void other.close())
    const address = other.address()
    const port = String(typeof address === "object" && address !== null ? address.port : 0)
    for (const args of [
      ["--port", port],
      ["--port", "0", "--rest-port", port],
      ["--port", "0", "--admin-port", port]
    ]) {
      const process = effectXds("serve", example, ...args)
      expect(await process.exit).toBe(3)
      expect(process.stderr()).toMatch(
        new RegExp(`^effect-xds: cannot serve .*127.0.0.1:${port}: the port is in use`, "m")
      )
      expect(process.stderr()).not.toMatch(/^ +at /m)
    }
  })

  it("without subdirectories serves everyone; with them by --group-by", { timeout: limit }, async () => {
    const flat = await serve(directoryOf({ "a.yaml": cluster("a") }))
    expect(await fetchClusters(flat, { id: "x", cluster: "whatever" })).toEqual(["a"])
    const files = { "a.yaml": cluster("a"), "edge/b.yaml": cluster("b"), "one/c.yaml": cluster("c") }
    const directory = directoryOf(files)
    const byCluster = await serve(directory)
    expect(await fetchClusters(byCluster, one)).toEqual(["b"])
    expect(await fetchClusters(byCluster, { id: "x", cluster: "default" })).toEqual(["a"])
    expect(await fetchClusters(byCluster, { id: "x", cluster: "whatever" })).toBeUndefined()
    const byId = await serve(directory, ["--group-by", "id"])
    expect(await fetchClusters(byId, one)).toEqual(["c"])
    const byMetadata = await serve(directory, ["--group-by", "metadata.team.name"])
    expect(await fetchClusters(byMetadata, { ...one, metadata: { "team.name": "edge" } })).toEqual(["b"])
    const strict = await serve(directoryOf({ "a.yaml": cluster("a") }), ["--group-by", "cluster"])
    expect(await fetchClusters(strict, one)).toBeUndefined()
  })

  it("★ gives a client that came before the first subdirectory what is in it", { timeout: limit }, async () => {
    const directory = directoryOf({})
    const { get, grpc } = await serve(directory)
    const client = effectXds("get", "--timeout", "60", "--node-cluster", "edge", grpc, "CDS")
    await eventually(async () => {
      expect((await get("/metrics")).body).toMatch(/^xds_transport_client_bytes\{kind="admitting"\} [1-9]/m)
    })
    mkdirSync(join(directory, "edge"))
    writeFileSync(join(directory, "edge/a.yaml"), cluster("a"))
    expect([await client.exit, client.stdout()]).toEqual([0, expect.stringContaining("CDS   a")])
  })

  it(
    "★ moves a connected client to the first subdirectory that is its own, and takes nothing away",
    { timeout: limit },
    async () => {
      const directory = directoryOf({ "all.yaml": `${cluster("a")}---\n${cluster("b")}` })
      const server = await serve(directory)
      const watch = (name: string) => effectXds("watch", "--node-cluster", name, server.grpc, "CDS")
      const [edge, other] = [watch("edge"), watch("other")]
      await eventually(() => {
        for (const each of [edge, other]) expect(each.stdout()).toMatch(/CDS {2}a[^]*CDS {2}b|CDS {2}b[^]*CDS {2}a/)
      })
      mkdirSync(join(directory, "edge"))
      // Of a file that moves nothing is gone.
      renameSync(join(directory, "all.yaml"), join(directory, "edge/all.yaml"))
      await eventually(() => expect(other.stdout()).toMatch(/does not exist +CDS {2}a/))
      writeFileSync(join(directory, "edge/c.yaml"), cluster("c"))
      await eventually(() => expect(edge.stdout()).toContain("CDS  c"))
      expect(edge.stdout()).not.toContain("does not exist")
      expect(edge.stdout().match(/updated/g)).toHaveLength(3)
      expect(server.stderr()).toContain('nodes without one of their own stay in "default" until they connect again: 1')
      // Who has none of its own stays, until that comes.
      writeFileSync(join(directory, "top.yaml"), cluster("top"))
      await eventually(() => expect(other.stdout()).toContain("CDS  top"))
      mkdirSync(join(directory, "other"))
      writeFileSync(join(directory, "other/d.yaml"), cluster("d"))
      await eventually(() => expect(other.stdout()).toMatch(/updated +CDS {2}d[^]*does not exist +CDS {2}top/))
      expect(edge.stdout()).not.toContain("CDS  top")
    }
  )

  it("takes CRLF and byte order marks, and says what is wrong with empty files", { timeout: limit }, async () => {
    const directory = directoryOf({
      "edge/crlf.yaml": `${cluster("a")}---\n${cluster("b")}`.replaceAll("\n", "\r\n"),
      "edge/bom.yaml": `\ufeff${cluster("c")}`,
      "edge/bom.json": `\ufeff${JSON.stringify({ "@type": clusterType, name: "d" })}`
    })
    const server = await serve(directory)
    expect(await fetchClusters(server, one)).toEqual(["a", "b", "c", "d"])
    const empty = join(directory, "edge", "empty.yaml")
    writeFileSync(empty, "")
    await eventually(() => expect(server.stderr()).toContain(`${empty}: the file is empty`))
    replaceFile(join(directory, "edge", "bom.yaml"), "\r\n\r\n")
    await eventually(() => expect(server.stderr()).toContain("bom.yaml: the file holds no document"))
    expect(await fetchClusters(server, one)).toEqual(["a", "b", "c", "d"])
  })

  it("gives TTLs to every client", { timeout: limit }, async () => {
    const wrapped = `"@type": type.googleapis.com/envoy.service.discovery.v3.Resource\nttl: 30s\nresource:\n`
    const file = `${wrapped}  ${cluster("a").trim().replaceAll("\n", "\n  ")}\n`
    const { rest } = await serve(directoryOf({ "a.yaml": file }))
    const response = await fetch(`http://${rest}/v3/discovery:clusters`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ node: one })
    })
    expect(await response.json()).toMatchObject({ resources: [{ ttl: "30s", resource: { name: "a" } }] })
  })

  it("warns when it serves in the clear to others than this machine", { timeout: limit }, async () => {
    const warning = "without TLS everyone who reaches the port can read what is served"
    expect((await serve(example, ["--host", "0.0.0.0"])).stderr()).toContain(`0.0.0.0: ${warning}`)
    expect((await serve(example)).stderr()).not.toContain(warning)
  })

  it("waits with a group that was never good, is not ready, and says why", { timeout: limit }, async () => {
    const directory = directoryOf({ "edge/a.yaml": cluster("a"), "edge/b.yaml": cluster("b").replace("name", "nmae") })
    const server = await serve(directory)
    const { body, status } = await server.get("/readyz")
    expect(status).toBe(503)
    expect(body).toContain(`group "edge" was never good: ${directory}/edge/b.yaml:2:1: `)
    expect((await server.get("/healthz")).status).toBe(200)
    expect(await fetchClusters(server, one)).toBeUndefined()
    replaceFile(join(directory, "edge", "b.yaml"), cluster("b"))
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["a", "b"]))
    expect((await server.get("/readyz")).status).toBe(200)
  })

  it("serves a list of 130 000, and goes on with the other groups", { timeout: 6 * deadline }, async () => {
    const list = Array.from({ length: 130_000 }, (_, index) => ({ "@type": clusterType, name: `cluster-${index}` }))
    const directory = directoryOf({ "edge/a.yaml": cluster("a"), "large/b.json": JSON.stringify(list) })
    const server = await serve(directory)
    expect((await server.get("/readyz")).status).toBe(200)
    expect(await fetchClusters(server, one)).toEqual(["a"])
    expect(server.stdout()).toContain("130001 resources in 2 groups")
    replaceFile(join(directory, "edge", "a.yaml"), cluster("c"))
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["c"]))
  })

  it("keeps what was good when files are right but do not go together", { timeout: limit }, async () => {
    const host = (name: string, domain: string): string =>
      `"@type": type.googleapis.com/envoy.service.discovery.v3.Resource\nname: routes/${name}\nresource:\n` +
      `  "@type": type.googleapis.com/envoy.config.route.v3.VirtualHost\n  name: ${name}\n  domains: [${domain}]\n`
    const directory = directoryOf({
      "edge/a.yaml": cluster("a"),
      "edge/one.yaml": host("one", "a.example"),
      "edge/two.yaml": host("two", "b.example")
    })
    const server = await serve(directory)
    expect((await server.get("/readyz")).status).toBe(200)
    // Two hosts of a domain: whom would a client get?
    replaceFile(join(directory, "edge", "two.yaml"), host("two", "a.example"))
    await eventually(() => expect(server.stderr()).toMatch(/edge: .*a\.example.*its last good state stays in force/))
    expect((await server.get("/readyz")).body).toContain("a.example")
    replaceFile(join(directory, "edge", "a.yaml"), cluster("b"))
    replaceFile(join(directory, "edge", "two.yaml"), host("two", "c.example"))
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["b"]))
    await eventually(async () => expect((await server.get("/readyz")).status).toBe(200))
    expect((await server.get("/config_dump?type=VHDS")).body).toContain("c.example")
  })

  it("keeps the last good state of a group with a resource that clients would refuse", { timeout: limit }, async () => {
    const broken = `# Too soon.\n${cluster("b", 0)}`
    const directory = directoryOf({ "edge/a.yaml": cluster("a"), "large/b.yaml": cluster("b", 2) })
    const server = await serve(directory)
    replaceFile(join(directory, "large", "b.yaml"), broken)
    const place = join(directory, "large", "b.yaml")
    const words = `${place}:2: clusters "b": connect_timeout must be greater than 0s, is 0s`
    await eventually(() => expect(server.stderr()).toContain(`large: ${words}`))
    expect(server.stderr()).toContain("--validate warn serves it all the same (its last good state stays in force)")
    expect((await server.get("/readyz")).body).toContain("connect_timeout must be greater than 0s")
    // The others go on.
    replaceFile(join(directory, "edge", "a.yaml"), cluster("c"))
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["c"]))
    expect((await server.get("/config_dump?group=large")).body).toContain('"connectTimeout":"2s"')
    replaceFile(place, broken.replace("0s", "1s"))
    await eventually(async () => expect((await server.get("/readyz")).status).toBe(200))
    expect((await server.get("/config_dump?group=large")).body).toContain('"connectTimeout":"1s"')
  })

  it("serves it with --validate warn, and says so; with off it says nothing", { timeout: limit }, async () => {
    const broken = cluster("a", 0)
    const words = 'clusters "a": connect_timeout must be greater than 0s, is 0s'
    const warning = await serve(directoryOf({ "edge/a.yaml": broken }), ["--validate", "warn"])
    expect(await fetchClusters(warning, one)).toEqual(["a"])
    expect(warning.stderr()).toMatch(/WARN.*edge: .*a\.yaml:1: clusters "a": connect_timeout .*; clients may refuse it/)
    expect(JSON.stringify(await warning.json("/status"))).toContain(JSON.stringify(words).slice(1, -1))
    const off = await serve(directoryOf({ "edge/a.yaml": broken }), ["--validate", "off"])
    expect(await fetchClusters(off, one)).toEqual(["a"])
    expect(off.stderr()).not.toContain("connect_timeout")
  })

  const routeTo = (name: string): string =>
    `"@type": type.googleapis.com/envoy.config.route.v3.RouteConfiguration\nname: main\nvirtual_hosts:\n- name: all\n` +
    `  domains: ["*"]\n  routes: [{ match: { prefix: / }, route: { cluster: ${name} } }]\n`

  it(
    "warns of rules over a group: at the start, and of a change; not twice, and not of those that are off",
    { timeout: limit },
    async () => {
      const directory = directoryOf({ "edge/a.yaml": cluster("a"), "edge/routes.yaml": routeTo("kart") })
      const server = await serve(directory)
      const place = join(directory, "edge", "routes.yaml")
      const words = (name: string): string =>
        `edge: ${place}:1: routes "main": virtual_hosts[0].routes[0].route.cluster names cluster "${name}", which is not there ` +
        "(cluster-reference)"
      await eventually(() => expect(server.stderr()).toContain(words("kart")))
      expect((await server.get("/readyz")).status).toBe(200)
      expect(JSON.stringify(await server.json("/status"))).toContain("(cluster-reference)")
      replaceFile(join(directory, "edge", "a.yaml"), cluster("b"))
      await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["b"]))
      replaceFile(place, routeTo("card"))
      await eventually(() => expect(server.stderr()).toContain(words("card")))
      expect(server.stderr().split(words("kart"))).toHaveLength(2)
      replaceFile(place, routeTo("b"))
      await eventually(async () =>
        expect(JSON.stringify(await server.json("/status"))).not.toContain("(cluster-reference)")
      )
      const silent = await serve(directoryOf({ "edge/routes.yaml": routeTo("kart"), "edge/a.yaml": cluster("a") }), [
        "--off",
        "cluster-reference"
      ])
      expect(await fetchClusters(silent, one)).toEqual(["a"])
      expect(silent.stderr()).not.toContain("which is not there")
    }
  )

  it(
    "keeps the last good state of a group that breaks rules, with --group-rules refuse",
    { timeout: limit },
    async () => {
      const directory = directoryOf({
        "edge/a.yaml": cluster("a"),
        "large/b.yaml": cluster("b"),
        "large/routes.yaml": routeTo("b")
      })
      const server = await serve(directory, ["--group-rules", "refuse"])
      const place = join(directory, "large", "routes.yaml")
      replaceFile(place, routeTo("kart"))
      await eventually(() =>
        expect(server.stderr()).toMatch(
          /large: .*routes\.yaml:1: routes "main": .* names cluster "kart", which is not there \(cluster-reference\); --group-rules warn serves it all the same \(its last good state stays in force\)/
        )
      )
      expect((await server.get("/readyz")).body).toContain('names cluster "kart"')
      // The others go on.
      replaceFile(join(directory, "edge", "a.yaml"), cluster("c"))
      await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["c"]))
      expect((await server.get("/config_dump?group=large")).body).not.toContain("kart")
      replaceFile(join(directory, "large", "b.yaml"), cluster("kart"))
      await eventually(async () => expect((await server.get("/readyz")).status).toBe(200))
      expect((await server.get("/config_dump?group=large")).body).toContain("kart")
    }
  )

  it("keeps everything while the directory is away, and goes on when it is back", { timeout: limit }, async () => {
    const directory = join(directoryOf({ "config/edge/a.yaml": cluster("a") }), "config")
    const server = await serve(directory)
    renameSync(directory, `${directory}-away`)
    await eventually(() => expect(server.stderr()).toContain(`${directory}: not there`))
    expect(await fetchClusters(server, one)).toEqual(["a"])
    expect(JSON.stringify(await server.json("/status"))).toContain(`"missing":["${directory}"`)
    writeFileSync(join(`${directory}-away`, "edge", "b.yaml"), cluster("b"))
    renameSync(`${directory}-away`, directory)
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["a", "b"]))
  })

  it("keeps what a file held that may not be read any more", { timeout: limit }, async () => {
    const directory = directoryOf({ "edge/a.yaml": cluster("a"), "edge/b.yaml": cluster("b") })
    chmodSync(directory, 0o755)
    // Root may read everything.
    const isRoot = process.getuid?.() === 0
    const server = await serve(directory, [], isRoot ? { uid: 65_534, gid: 65_534 } : {})
    const file = join(directory, "edge", "b.yaml")
    chmodSync(file, 0o000)
    writeFileSync(join(directory, "edge", "c.yaml"), cluster("c"))
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["a", "b", "c"]))
    await eventually(() => expect(server.stderr()).toContain(`${file}: permission denied: this process may not read`))
    chmodSync(file, 0o644)
    replaceFile(file, cluster("d"))
    await eventually(async () => expect(await fetchClusters(server, one)).toEqual(["a", "c", "d"]))
    // A directory of which nothing may be read is a mistake in the command.
    if (!isRoot) return
    const closed = directoryOf({ "a.yaml": cluster("a") })
    await expect(serve(closed, [], { uid: 65_534, gid: 65_534 })).rejects.toThrow("this user may not read it")
  })

  it("serves 10 000 files, and reads only the one that changes", { timeout: limit }, async () => {
    const directory = temporaryDirectory()
    mkdirSync(join(directory, "edge"))
    for (let index = 0; index < 10_000; index++) {
      writeFileSync(join(directory, "edge", `${index}.yaml`), cluster(`c${index}`))
    }
    const server = await serve(directory)
    // On a busy machine so many may take longer than a client waits.
    await eventually(async () => expect(await fetchClusters(server, one)).toHaveLength(10_000))
    replaceFile(join(directory, "edge", "5000.yaml"), cluster("changed"))
    await eventually(() => expect(server.stderr()).toContain("edge: 1 resource new or changed, 1 removed"))
    await eventually(async () => expect(await fetchClusters(server, one)).toContain("changed"))
  })

  it("logs as JSON, ready line included", { timeout: limit }, async () => {
    const process = effectXds("serve", example, "--port", "0", "--no-admin", "--log-format", "json")
    const ready = await eventually(() => {
      const lines = process.stderr().trim().split("\n")
      const parsed: ReadonlyArray<unknown> = lines.map((line): unknown => JSON.parse(line))
      const found = parsed.find((line) => JSON.stringify(line).includes('"ready"'))
      expect(found).toBeDefined()
      return found
    })
    expect(ready).toMatchObject({
      message: "ready",
      logLevel: "INFO",
      annotations: {
        directory: example,
        groups: ["edge", "internal"]
      }
    })
    expect(JSON.stringify(ready)).toMatch(/"grpc":"127\.0\.0\.1:\d+"/)
    expect(process.stdout()).toBe("")
    process.child.kill("SIGTERM")
    expect(await process.exit).toBe(0)
  })
})

describe("serve --files-out", () => {
  /** Every file that an Envoy may read; throws if one is not whole. */
  const readAll = (directory: string): ReadonlyArray<string> =>
    readdirSync(directory, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".json"))
      .filter((name) => !name.split("/").some((part) => part.startsWith(".")))
      .map((name) => {
        JSON.parse(readFileSync(join(directory, name), "utf8"))
        return name
      })

  it("writes each group, and what changes", { timeout: limit }, async () => {
    const directory = temporaryDirectory()
    cpSync(example, directory, { recursive: true })
    const out = join(temporaryDirectory(), "out")
    await serve(directory, ["--files-out", out])
    const files = ["cds.json", "eds/cart.json", "eds/shop-v1.json", "eds/shop-v2.json", "lds.json", "rds/public.json"]
    await eventually(() => expect(readAll(join(out, "edge")).slice().sort()).toEqual(files))
    await eventually(() => expect(readAll(join(out, "internal")).slice().sort()).toContain("eds/shop.json"))
    const endpoints = join(directory, "edge", "endpoints.yaml")
    replaceFile(endpoints, readFileSync(endpoints, "utf8").replace("port_value: 8083", "port_value: 8093"))
    await eventually(() => expect(readFileSync(join(out, "edge", "eds", "cart.json"), "utf8")).toContain("8093"))
  })

  it("killed in the middle of writing leaves no half file, and the next one goes on", { timeout: limit }, async () => {
    const assignments = 300
    const text = (port: number): string =>
      Array.from(
        { length: assignments },
        (_, index) =>
          `"@type": type.googleapis.com/envoy.config.endpoint.v3.ClusterLoadAssignment\ncluster_name: c${index}\n` +
          `endpoints: [{ lb_endpoints: [{ endpoint: { address: { socket_address: { address: 127.0.0.1, port_value: ${port} } } } }] }]\n`
      ).join("---\n")
    const directory = directoryOf({ "edge/eds.yaml": text(1) })
    const out = join(temporaryDirectory(), "out")
    const written = (port: number): number =>
      readAll(out).filter((name) => readFileSync(join(out, name), "utf8").includes(`"port_value": ${port}\n`)).length
    let killedInside = 0
    let port = 1
    // A writer that is quick may be done before it is killed: then once more.
    for (let round = 0; round < 3 || (killedInside === 0 && round < 20); round++) {
      const server = await serve(directory, ["--files-out", out])
      await eventually(() => expect(existsSync(join(out, "edge", "eds")) && written(port)).toBe(assignments))
      port++
      replaceFile(join(directory, "edge", "eds.yaml"), text(port))
      // At another point in each round.
      await eventually(() => expect(written(port)).toBeGreaterThan((round % 3) * 80))
      server.child.kill("SIGKILL")
      await server.exit
      const done = written(port)
      if (done < assignments) killedInside++
      expect(readAll(out)).toHaveLength(assignments + 2)
    }
    expect(killedInside).toBeGreaterThan(0)
    await serve(directory, ["--files-out", out])
    await eventually(() => expect(written(port)).toBe(assignments))
    const rest = readdirSync(out, { recursive: true, encoding: "utf8" }).filter((name) => name.includes("xds-tmp"))
    expect(rest).toEqual([])
  })
})

describe("serve with TLS", () => {
  it("takes only clients that the authority signed", { timeout: limit }, async () => {
    const { pem, server: tls } = await mutualTls()
    const { ca, cert, key } = pem
    const server = await serve(example, tls)
    expect(server.bootstrap).toContain("UpstreamTlsContext")
    const post = (url: string, credentials: object): Promise<string> =>
      new Promise((resolve, reject) => {
        const headers = { "content-type": "application/json" }
        const call = request(url, { method: "POST", headers, ca, ...credentials }, (response) => {
          let text = ""
          response.on("data", (chunk: Buffer) => (text += chunk.toString()))
          response.on("end", () => resolve(text))
        })
        call.on("error", reject)
        call.end(JSON.stringify({ node: { id: "a", cluster: "edge" } }))
      })
    for (const address of [server.rest, server.grpc]) {
      const url =
        address === server.rest
          ? `https://${address}/v3/discovery:clusters`
          : `https://${address}/envoy.service.cluster.v3.ClusterDiscoveryService/FetchClusters`
      expect(await post(url, { cert, key })).toContain("shop-v1")
      await expect(post(url, {})).rejects.toThrow()
    }
  })
})

describe.skipIf(grpcurl._tag === "Missing")(PeerProgram.title("serve and grpcurl", grpcurl), () => {
  const run = async (...args: ReadonlyArray<string>): Promise<string> => {
    const { stdout } = await promisify(execFile)(grpcurl._tag === "Present" ? grpcurl.path : "", [...args])
    return stdout
  }

  it("lists, describes and calls it by reflection alone", { timeout: limit }, async () => {
    const { grpc } = await serve(example)
    const services = await run("-plaintext", grpc, "list")
    expect(services.split("\n")).toContain("envoy.service.discovery.v3.AggregatedDiscoveryService")
    const method = "envoy.service.discovery.v3.AggregatedDiscoveryService.StreamAggregatedResources"
    expect(await run("-plaintext", grpc, "describe", method)).toContain(
      "stream .envoy.service.discovery.v3.DiscoveryRequest"
    )
    const type = "envoy.config.cluster.v3.Cluster.LbPolicy"
    expect(await run("-plaintext", grpc, "describe", type)).toContain("LEAST_REQUEST")
    // Listeners hold messages in Any, of which it learns by reflection too.
    const body = JSON.stringify({ node: { id: "a", cluster: "edge" } })
    const service = "envoy.service.listener.v3.ListenerDiscoveryService"
    const response: unknown = JSON.parse(await run("-plaintext", "-d", body, grpc, `${service}/FetchListeners`))
    expect(response).toMatchObject({
      resources: [{ name: "ingress", filterChains: [{ filters: [{ typedConfig: { statPrefix: "ingress" } }] }] }]
    })
    expect(JSON.parse(await run("-plaintext", grpc, "grpc.health.v1.Health/Check"))).toEqual({ status: "SERVING" })
  })
})
