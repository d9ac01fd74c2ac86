/** One Envoy with the clusters of a control plane and nothing else, and what its admin interface says of them. */
import * as Waiting from "@effect-xds/testing/Waiting"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { request } from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Schema from "effect/Schema"
import { callPath, envoyAddress } from "./ProbeTargets.js"

const flag = Schema.optionalWith(Schema.Boolean, { default: () => false })
const text = Schema.optionalWith(Schema.String, { default: () => "" })
const count = Schema.optionalWith(Schema.Number, { default: () => 0 })

/** A host, as both sides tell it. */
export interface HostView {
  readonly address: string
  readonly hostname: string
  readonly weight: number
  readonly priority: number
  readonly locality: string
  /** In the order of the alphabet. */
  readonly flags: ReadonlyArray<string>
}

/** How many hosts there are, as both sides count them. */
interface Counts {
  readonly total: number
  readonly healthy: number
  readonly degraded: number
  readonly excluded: number
}

export interface ClusterView {
  readonly hosts: ReadonlyArray<HostView>
  readonly counts: Counts
}

/** A cluster that Envoy uses. */
export interface EnvoyView extends ClusterView {
  /** `max_connections`, which tells one version of a cluster from the next. */
  readonly revision: number
  /** Assignments that it took. */
  readonly assignments: number
  /** The success rates of hosts in the last interval, by their addresses; of those with enough calls. */
  readonly successRates: ReadonlyMap<string, number>
}

/** What outlier detection has done to a host, as Envoy writes it down. */
const Ejection = Schema.Struct({
  cluster_name: Schema.String,
  action: Schema.Literal("EJECT", "UNEJECT"),
  enforced: flag,
  timestamp: Schema.String,
  eject_success_rate_event: Schema.optional(
    Schema.Struct({
      cluster_average_success_rate: count,
      cluster_success_rate_ejection_threshold: count
    })
  )
})

type Ejection = typeof Ejection.Type
const readEjection = Schema.decodeUnknownSync(Schema.parseJson(Ejection))

const Clusters = Schema.Struct({
  cluster_statuses: Schema.optionalWith(
    Schema.Array(
      Schema.Struct({
        name: Schema.String,
        circuit_breakers: Schema.Struct({
          thresholds: Schema.Array(Schema.Struct({ max_connections: Schema.optional(Schema.Number) }))
        }),
        host_statuses: Schema.optionalWith(
          Schema.Array(
            Schema.Struct({
              address: Schema.Struct({
                socket_address: Schema.Struct({ address: Schema.String, port_value: Schema.Number })
              }),
              hostname: text,
              weight: Schema.Number,
              priority: count,
              success_rate: Schema.optional(Schema.Struct({ value: count })),
              locality: Schema.optionalWith(Schema.Struct({ region: text, zone: text, sub_zone: text }), {
                default: () => ({ region: "", zone: "", sub_zone: "" })
              }),
              health_status: Schema.Struct({
                eds_health_status: text,
                failed_active_health_check: flag,
                failed_outlier_check: flag,
                failed_active_degraded_check: flag,
                pending_dynamic_removal: flag,
                pending_active_hc: flag,
                excluded_via_immediate_hc_fail: flag,
                active_hc_timeout: flag
              })
            })
          ),
          { default: () => [] }
        )
      })
    ),
    { default: () => [] }
  )
})

type Health = (typeof Clusters.Type)["cluster_statuses"][number]["host_statuses"][number]["health_status"]

const byStatus: Readonly<Record<string, string>> = {
  UNHEALTHY: "FAILED_EDS_HEALTH",
  TIMEOUT: "FAILED_EDS_HEALTH",
  DRAINING: "EDS_STATUS_DRAINING",
  DEGRADED: "DEGRADED_EDS_HEALTH"
}

const flagsOf = (health: Health): ReadonlyArray<string> => {
  const all: ReadonlyArray<readonly [string | undefined, boolean]> = [
    [byStatus[health.eds_health_status], true],
    ["FAILED_ACTIVE_HC", health.failed_active_health_check],
    ["FAILED_OUTLIER", health.failed_outlier_check],
    ["DEGRADED_ACTIVE_HC", health.failed_active_degraded_check],
    ["PENDING_DYNAMIC_REMOVAL", health.pending_dynamic_removal],
    ["PENDING_ACTIVE_HC", health.pending_active_hc],
    ["EXCLUDED_VIA_IMMEDIATE_HC_FAIL", health.excluded_via_immediate_hc_fail],
    ["ACTIVE_HC_TIMEOUT", health.active_hc_timeout]
  ]
  return all.flatMap(([name, isSet]) => (isSet && name !== undefined ? [name] : [])).sort()
}

/** One line for each host, sorted: hosts at one address are told apart by what else they have. */
export const lines = ({ counts, hosts }: ClusterView): ReadonlyArray<string> => [
  JSON.stringify(counts),
  ...hosts.map((host) => JSON.stringify(host)).sort()
]

const filters = "type.googleapis.com/envoy.extensions.filters"
const clusterHeader = "x-cluster"
/** Of policies that hash. */
export const hashHeader = "x-hash"

const bootstrapOf = (xds: number, dns: number, front: string, ejections: string) => {
  const socket = (port: number) => ({ socket_address: { address: "127.0.0.1", port_value: port } })
  return {
    node: { id: "envoy", cluster: "edge" },
    admin: { address: socket(0) },
    // Of all clusters that say nothing else: the resources are those that we are told, too.
    typed_dns_resolver_config: {
      name: "envoy.network.dns_resolver.cares",
      typed_config: {
        "@type": "type.googleapis.com/envoy.extensions.network.dns_resolver.cares.v3.CaresDnsResolverConfig",
        resolvers: [socket(dns)],
        dns_resolver_options: { no_default_search_domain: true },
        query_timeout_seconds: 1,
        query_tries: 1
      }
    },
    cluster_manager: {
      upstream_bind_config: { source_address: { address: envoyAddress, port_value: 0 } },
      outlier_detection: { event_log_path: ejections }
    },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        set_node_on_first_message_only: true,
        grpc_services: [{ envoy_grpc: { cluster_name: "xds" } }]
      },
      cds_config: { ads: {}, resource_api_version: "V3" }
    },
    static_resources: {
      listeners: [
        {
          name: "front",
          address: { pipe: { path: front } },
          filter_chains: [
            {
              filters: [
                {
                  name: "http",
                  typed_config: {
                    "@type": `${filters}.network.http_connection_manager.v3.HttpConnectionManager`,
                    stat_prefix: "front",
                    route_config: {
                      virtual_hosts: [
                        {
                          name: "front",
                          domains: ["*"],
                          routes: [
                            {
                              match: { prefix: "/" },
                              route: {
                                cluster_header: clusterHeader,
                                hash_policy: [{ header: { header_name: hashHeader } }]
                              }
                            }
                          ]
                        }
                      ]
                    },
                    http_filters: [{ name: "router", typed_config: { "@type": `${filters}.http.router.v3.Router` } }]
                  }
                }
              ]
            }
          ]
        }
      ],
      clusters: [
        {
          name: "xds",
          type: "STATIC",
          connect_timeout: "10s",
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
              "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
              explicit_http_config: { http2_protocol_options: {} }
            }
          },
          load_assignment: {
            cluster_name: "xds",
            endpoints: [{ lb_endpoints: [{ endpoint: { address: socket(xds) } }] }]
          }
        }
      ]
    }
  }
}

const statistic = /^cluster\.([^.]+)\.(\S+): (\d+)$/gm

export interface Called {
  /** Without a port; "undefined": no host was asked. */
  readonly address: string
  readonly status: number
  readonly isExcluded: boolean
}

export interface EnvoyClusters {
  /** All clusters in use, by their names. */
  readonly look: () => Promise<ReadonlyMap<string, EnvoyView>>
  /** Where a call to a cluster went, and how it ended. */
  readonly call: (cluster: string, headers?: Readonly<Record<string, string>>) => Promise<Called>
  /** What outlier detection has done in a cluster, in order. */
  readonly ejections: (cluster: string) => ReadonlyArray<Ejection>
  readonly close: () => Promise<void>
}

/** Starts it; `xds` and `dns` are ports on loopback. */
export const startEnvoy = async (program: string, xds: number, dns: number): Promise<EnvoyClusters> => {
  const directory = mkdtempSync(join(tmpdir(), "xds-clusters-"))
  const file = join(directory, "bootstrap.json")
  const adminFile = join(directory, "admin")
  const front = join(directory, "front")
  const ejectionFile = join(directory, "ejections")
  writeFileSync(file, JSON.stringify(bootstrapOf(xds, dns, front, ejectionFile)))
  const flags = [
    "--disable-hot-restart",
    "--concurrency",
    "1",
    "--drain-time-s",
    "1",
    "-l",
    "warning",
    "--file-flush-interval-msec",
    "50"
  ]
  const child = spawn(program, ["-c", file, "--admin-address-path", adminFile, ...flags], {
    stdio: ["ignore", "ignore", "pipe"]
  })
  let said = ""
  child.stderr.on("data", (chunk) => (said = (said + String(chunk)).slice(-20_000)))
  const over = new Promise<void>((resolve) => {
    child.once("close", () => resolve())
  })
  const close = async () => {
    child.kill("SIGKILL")
    await over
    rmSync(directory, { recursive: true, force: true })
  }
  const admin = () => (existsSync(adminFile) ? readFileSync(adminFile, "utf8") : "")
  const get = async (path: string): Promise<string> => (await fetch(`http://${admin()}/${path}`)).text()
  const isLive = async () => {
    if (!/:\d+$/.test(admin())) return false
    return get("ready").then(
      (answer) => answer.startsWith("LIVE"),
      () => false
    )
  }
  const isOver = async () => child.exitCode !== null || (await isLive())
  await Effect.runPromise(Waiting.found("Envoy to be live", isOver, { limit: "1 minute" })).catch(() => undefined)
  if (!(await isLive())) {
    await close()
    throw new Error(`Envoy does not start: … ${said.slice(-1_000)}`)
  }
  const look = async () => {
    const [json, stats] = await Promise.all([
      get("clusters?format=json"),
      get("stats?filter=" + encodeURIComponent("membership_|\\.update_success$"))
    ])
    const numbers = new Map<string, number>()
    for (const [, cluster = "", name = "", value = ""] of stats.matchAll(statistic)) {
      numbers.set(`${cluster} ${name}`, Number(value))
    }
    const found = new Map<string, EnvoyView>()
    for (const { circuit_breakers, host_statuses, name } of Schema.decodeUnknownSync(Clusters)(JSON.parse(json))
      .cluster_statuses) {
      const number = (of: string) => numbers.get(`${name} ${of}`) ?? 0
      found.set(name, {
        revision: circuit_breakers.thresholds[0]?.max_connections ?? 0,
        assignments: number("update_success"),
        successRates: new Map(
          host_statuses.flatMap(({ address: { socket_address: at }, success_rate }) =>
            success_rate === undefined ? [] : [[at.address, success_rate.value] as const]
          )
        ),
        hosts: host_statuses.map(({ address: { socket_address: at }, health_status, hostname, locality, ...rest }) => ({
          address: at.address.includes(":") ? `[${at.address}]:${at.port_value}` : `${at.address}:${at.port_value}`,
          hostname,
          weight: rest.weight,
          priority: rest.priority,
          locality: [locality.region, locality.zone, locality.sub_zone].join("/"),
          flags: flagsOf(health_status)
        })),
        counts: {
          total: number("membership_total"),
          healthy: number("membership_healthy"),
          degraded: number("membership_degraded"),
          excluded: number("membership_excluded")
        }
      })
    }
    return found
  }
  const call: EnvoyClusters["call"] = (cluster, headers = {}) =>
    new Promise<Called>((resolve, reject) => {
      const all = { ...headers, [clusterHeader]: cluster }
      const sent = request({ socketPath: front, path: callPath, headers: all }, (response) => {
        const { headers, statusCode = 0 } = response.resume()
        const address = String(headers["x-host"])
        resolve({
          address,
          status: statusCode,
          isExcluded: headers["x-envoy-immediate-health-check-fail"] !== undefined
        })
      })
      sent.on("error", reject)
      sent.end()
    })
  const ejections: EnvoyClusters["ejections"] = (cluster) =>
    (existsSync(ejectionFile) ? readFileSync(ejectionFile, "utf8") : "")
      .split("\n")
      .slice(0, -1)
      .map((line) => readEjection(line))
      .filter(({ cluster_name }) => cluster_name === cluster)
  return { look, call, ejections, close }
}
