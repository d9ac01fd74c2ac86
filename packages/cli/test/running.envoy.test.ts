/** What an Envoy that runs says of configurations with mistakes, when a server sends them. */
import { PeerProgram } from "@effect-xds/testing"
import { Schema } from "effect"
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import {
  address,
  any,
  assignment,
  chain,
  cluster,
  edsCluster,
  endpoint,
  type Json,
  listener,
  manager,
  rdsManager,
  route,
  routes,
  downstreamTls,
  virtualHost
} from "../../validate/test/Config.js"
import { mistakes } from "../../validate/test/mistakes/index.js"
import type { Mistake } from "../../validate/test/mistakes/Mistake.js"
import { controlPlane } from "../src/EnvoyBootstrap.js"
import { deadline, eventually, serve, start, temporaryDirectory } from "./ServeProcess.js"

const envoy = PeerProgram.forTest("envoy")

/** From the same server, but in a stream of its own: what is wrong with one says nothing of the others. */
const source = {
  resource_api_version: "V3",
  api_config_source: {
    api_type: "GRPC",
    transport_api_version: "V3",
    set_node_on_first_message_only: true,
    grpc_services: [{ envoy_grpc: { cluster_name: controlPlane } }]
  }
}

/**
 * What is refused by a rule of a field is refused with the whole response, so it says nothing of the others. ★ What ends an Envoy
 * ends it for all.
 */
const isRefused = ({ differs, envoy, rules, says = "" }: Mistake): boolean =>
  envoy === "refuses" && differs === undefined && !rules.includes("field") && !says.startsWith("ended with")

/** ★ Envoy makes the balancer of a cluster when it has added it: it refuses the response, and yet the cluster is there. */
const isAddedFirst = ({ rules }: Mistake): boolean => rules.includes("ring-size") || rules.includes("maglev-table-size")

/** The only resource of a configuration beside the cluster of most. */
const onlyOf = (kind: "listeners" | "clusters") =>
  mistakes
    .filter((each) => isRefused(each) && !isAddedFirst(each))
    .flatMap(({ config, title }) => {
      const [first, second] = config[kind] ?? []
      const others = Object.entries(config).filter(([name]) => name !== kind)
      const isAlone = others.every(
        ([name, list]) => name === "clusters" && JSON.stringify(list) === JSON.stringify([cluster()])
      )
      // A cluster that is missing is there among the others.
      const isWhole = first !== undefined && second === undefined && config.clusters !== undefined
      return isAlone && isWhole ? [{ title, resource: first }] : []
    })

const typed = (name: string, resource: Json): Json => ({ ...any(`envoy.config.${name}`), ...resource })

const viaRds = (name: string): Json => {
  const rds = { route_config_name: name, config_source: source }
  return listener({ name, filter_chains: [chain(rdsManager(name, { stat_prefix: name, rds }))] })
}

const table = (name: string, action: Json, domains: ReadonlyArray<string> = ["*"]): Json =>
  routes({ name, virtual_hosts: [virtualHost({ domains, routes: [route(action)] })] })

const viaEds = (name: string): Json => edsCluster(name, { eds_cluster_config: { eds_config: source } })

const endpoints = "xdstp://a/envoy.config.endpoint.v3.LbEndpoint/x/*"
const incremental = { ...source, api_config_source: { ...source.api_config_source, api_type: "DELTA_GRPC" } }

/** Assignments with a collection of endpoints: the first as it should be. */
const leds: ReadonlyArray<readonly [name: string, collection: string, source: Json]> = [
  ["e-leds", endpoints, incremental],
  ["e-leds-plain", "x", incremental],
  ["e-leds-cluster", "xdstp://a/envoy.config.cluster.v3.Cluster/x/*", incremental],
  ["e-leds-list", "xdstp://a/envoy.config.endpoint.v3.LbEndpointCollection/x", incremental],
  ["e-leds-sotw", endpoints, source],
  ["e-leds-self", endpoints, { self: {} }]
]

const byLeds = (name: string, leds_collection_name: string, leds_config: Json): Json => ({
  cluster_name: name,
  endpoints: [{ leds_cluster_locality_config: { leds_config, leds_collection_name } }]
})

const scope = (name: string): Json =>
  typed("route.v3.ScopedRouteConfiguration", {
    name,
    route_configuration_name: "r-scope",
    key: { fragments: [{ string_key: "x" }] }
  })

const scoped = listener({
  name: "scoped",
  filter_chains: [
    chain(
      manager({
        stat_prefix: "scoped",
        route_config: undefined,
        scoped_routes: {
          name: "s",
          scope_key_builder: {
            fragments: [{ header_value_extractor: { name: "x", index: 0, element_separator: "," } }]
          },
          rds_config_source: source,
          scoped_rds: { scoped_rds_config_source: source }
        }
      })
    )
  ]
})

const viaSds = listener({
  name: "sds",
  filter_chains: [
    {
      filters: [manager()],
      transport_socket: downstreamTls({ tls_certificate_sds_secret_configs: [{ name: "keyless", sds_config: source }] })
    }
  ]
})

const Stats = Schema.Struct({ stats: Schema.Array(Schema.Struct({ name: Schema.String, value: Schema.Number })) })
const Named = Schema.Struct({ name: Schema.String })
const Dump = Schema.Struct({
  configs: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        name: Schema.optional(Schema.String),
        cluster: Schema.optional(Named),
        active_state: Schema.optional(Schema.Unknown),
        warming_state: Schema.optional(Schema.Unknown)
      })
    ),
    { default: () => [] }
  )
})

const startEnvoy = async (bootstrap: string) => {
  const folder = temporaryDirectory()
  const file = join(folder, "bootstrap.yaml")
  const adminFile = join(folder, "admin")
  writeFileSync(file, bootstrap.replace("port_value: 9901", "port_value: 0"))
  const flags = "--disable-hot-restart --concurrency 1 -l warning"
  const path = envoy._tag === "Present" ? envoy.path : ""
  const running = start(path, ["-c", file, "--admin-address-path", adminFile, ...flags.split(" ")])
  const admin = await eventually(() => {
    expect(existsSync(adminFile) && readFileSync(adminFile, "utf8"), running.stderr()).toMatch(/:\d+$/)
    return readFileSync(adminFile, "utf8")
  })
  const get = async (path: string): Promise<string> => (await fetch(`http://${admin}${path}`)).text()
  const listed = async (list: string) =>
    Schema.decodeUnknownSync(Schema.parseJson(Dump))(await get(`/config_dump?resource=${list}`)).configs
  return {
    stderr: running.stderr,
    clusters: async () =>
      [...(await listed("dynamic_active_clusters")), ...(await listed("dynamic_warming_clusters"))].map(
        ({ cluster }) => cluster?.name ?? ""
      ),
    listeners: async () =>
      (await listed("dynamic_listeners"))
        .filter(({ active_state, warming_state }) => active_state !== undefined || warming_state !== undefined)
        .map(({ name }) => name ?? ""),
    stats: async () => {
      const { stats } = Schema.decodeUnknownSync(Schema.parseJson(Stats))(
        await get(`/stats?format=json&filter=${encodeURIComponent("update_(rejected|success)$")}`)
      )
      return new Map(stats.map(({ name, value }) => [name, value]))
    }
  }
}

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("An Envoy that runs", envoy), () => {
  it(
    "refuses by xDS what it refuses at its start, and what only comes by xDS",
    async () => {
      const wrongClusters = onlyOf("clusters")
      const wrongListeners = onlyOf("listeners")
      expect(wrongClusters.length).toBeGreaterThan(40)
      expect(wrongListeners.length).toBeGreaterThan(100)
      const named = (prefix: string, list: typeof wrongClusters): ReadonlyArray<Json> =>
        list.map(({ resource }, index) => ({ ...resource, name: `${prefix}${index}` }))
      const directory = temporaryDirectory()
      mkdirSync(join(directory, "edge"))
      const write = (file: string, type: string, list: ReadonlyArray<Json>): void => {
        const text = list.map((each) => JSON.stringify(typed(type, each))).join("\n---\n")
        writeFileSync(join(directory, "edge", `${file}.yaml`), text)
      }
      const clusters = [
        cluster(),
        viaEds("e-good"),
        viaEds("e-name"),
        viaEds("e-drops"),
        ...leds.map(([name]) => viaEds(name)),
        ...named("c", wrongClusters)
      ]
      write("clusters", "cluster.v3.Cluster", clusters)
      const drop = { category: "a", drop_percentage: { numerator: 1 } }
      write("endpoints", "endpoint.v3.ClusterLoadAssignment", [
        assignment("e-good"),
        assignment("e-name", endpoint(80, "a.example")),
        { ...assignment("e-drops"), policy: { drop_overloads: [drop, drop] } },
        ...leds.map(([name, collection, from]) => byLeds(name, collection, from))
      ])
      const same = ["one", "two"].map((name) => listener({ name, address: address(18_999) }))
      const named1 = [viaRds("r-good"), viaRds("r-missing"), viaRds("r-domain"), viaRds("r-validated"), scoped, viaSds]
      write("listeners", "listener.v3.Listener", [...named1, ...same, ...named("l", wrongListeners)])
      write("routes", "route.v3.RouteConfiguration", [
        table("r-good", { route: { cluster: "web" } }),
        table("r-missing", { route: { cluster: "nope" } }),
        table("r-domain", { route: { cluster: "web" } }, ["*", "*"]),
        { ...table("r-validated", { route: { cluster: "nope" } }), validate_clusters: true },
        table("r-scope", { route: { cluster: "web" } })
      ])
      const secret = { name: "keyless", tls_certificate: { certificate_chain: { filename: "/no/such/file" } } }
      writeFileSync(
        join(directory, "edge", "others.yaml"),
        [scope("one"), scope("two"), { ...any("envoy.extensions.transport_sockets.tls.v3.Secret"), ...secret }]
          .map((each) => JSON.stringify(each))
          .join("\n---\n")
      )
      const server = await serve(directory)
      const running = await startEnvoy(server.bootstrap)

      const accepted = await eventually(async () => {
        const listeners = await running.listeners()
        expect(listeners, server.stderr().slice(0, 1500) + running.stderr().slice(-2000)).toContain("r-good")
        return listeners
      })
      expect(wrongListeners.filter((_, index) => accepted.includes(`l${index}`)).map(({ title }) => title)).toEqual([])
      expect(accepted.filter((name) => name === "one" || name === "two")).toHaveLength(1)
      const names = await running.clusters()
      expect(names).toEqual(expect.arrayContaining(["web", "e-good", "e-name", "e-drops"]))
      expect(wrongClusters.filter((_, index) => names.includes(`c${index}`)).map(({ title }) => title)).toEqual([])

      await eventually(async () => {
        const stats = await running.stats()
        const seen = (name: string): ReadonlyArray<boolean> => [
          (stats.get(`${name}.update_success`) ?? 0) > 0,
          (stats.get(`${name}.update_rejected`) ?? 0) > 0
        ]
        const taken = [true, false]
        const refused = [false, true]
        expect({
          good: seen("http.r-good.rds.r-good"),
          missingCluster: seen("http.r-missing.rds.r-missing"),
          domainTwice: seen("http.r-domain.rds.r-domain"),
          missingClusterAskedFor: seen("http.r-validated.rds.r-validated"),
          endpoints: seen("cluster.e-good"),
          endpointName: seen("cluster.e-name"),
          twoDrops: seen("cluster.e-drops"),
          leds: leds.map(([name]) => seen(`cluster.${name}`)),
          sameScope: seen("http.scoped.scoped_rds.s"),
          secretWithoutKey: seen("sds.keyless")
        }).toEqual({
          good: taken,
          missingCluster: taken,
          domainTwice: refused,
          missingClusterAskedFor: refused,
          endpoints: taken,
          endpointName: refused,
          twoDrops: refused,
          leds: leds.map(([name]) => (name === "e-leds" ? taken : refused)),
          sameScope: refused,
          secretWithoutKey: refused
        })
      })
    },
    2 * deadline
  )
})
