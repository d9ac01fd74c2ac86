/** An Envoy that has two control planes: it turns to the second one when the first is away. */
import * as Effect from "effect/Effect"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import * as Child from "./Child.js"
import * as Seen from "./Seen.js"

const grpc = {
  api_type: "DELTA_GRPC",
  transport_api_version: "V3",
  set_node_on_first_message_only: true,
  grpc_services: [
    {
      envoy_grpc: {
        cluster_name: "control-planes",
        retry_policy: { retry_back_off: { base_interval: "0.1s", max_interval: "0.5s" } }
      }
    }
  ]
}

const endpoint = (port: number) => ({
  endpoint: { address: { socket_address: { address: "127.0.0.1", port_value: port } } }
})

/** The second control plane has a lower priority: the health check says when it is its turn. */
const bootstrap = (id: string, ports: ReadonlyArray<number>) => ({
  node: { id, cluster: "edge" },
  admin: { address: { socket_address: { address: "127.0.0.1", port_value: 0 } } },
  dynamic_resources: {
    ads_config: grpc,
    cds_config: { ads: {}, resource_api_version: "V3" },
    lds_config: { ads: {}, resource_api_version: "V3" }
  },
  static_resources: {
    clusters: [
      {
        name: "control-planes",
        type: "STATIC",
        connect_timeout: "1s",
        health_checks: [
          {
            timeout: "1s",
            interval: "0.25s",
            no_traffic_interval: "0.25s",
            unhealthy_threshold: 1,
            healthy_threshold: 1,
            tcp_health_check: {}
          }
        ],
        typed_extension_protocol_options: {
          "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": {
            "@type": "type.googleapis.com/envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
            explicit_http_config: { http2_protocol_options: {} }
          }
        },
        load_assignment: {
          cluster_name: "control-planes",
          endpoints: ports.map((port, priority) => ({ priority, lb_endpoints: [endpoint(port)] }))
        }
      }
    ]
  }
})

/** The port of a listener, in what `/listeners` says. */
const listenerPort = /"name":\s*"ingress".*?"port_value":\s*(\d+)/s

/** Starts it, and waits for its listener: `127.0.0.1:<port>`. */
export const start = (path: string, id: string, ports: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const directory = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "xds-replicas-envoy-"))),
      (made) => Effect.sync(() => rmSync(made, { recursive: true, force: true }))
    )
    const file = join(directory, "bootstrap.json")
    const admin = join(directory, "admin")
    writeFileSync(file, JSON.stringify(bootstrap(id, ports)))
    const args = [
      "-c",
      file,
      "--admin-address-path",
      admin,
      "--disable-hot-restart",
      "--concurrency",
      "1",
      "-l",
      "error"
    ]
    const output = yield* Child.startProgram(path, args)
    const port = yield* Seen.until(
      `the listener of ${id}`,
      async () => {
        try {
          const answer = await fetch(`http://${readFileSync(admin, "utf8").trim()}/listeners?format=json`)
          return listenerPort.exec(await answer.text())?.[1]
        } catch {
          return undefined
        }
      },
      output
    )
    return `127.0.0.1:${port}`
  })
