/** One Envoy with many RouteConfigurations: a header of the request says which one is used. */
import { toJson } from "@bufbuild/protobuf"
import { type RouteConfiguration, RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import * as Waiting from "@effect-xds/testing/Waiting"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { type ClientHttp2Session, connect } from "node:http2"
import { connect as connectSocket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { clusterHeader, clusters, type Request } from "./RouteGenerator.js"

const scopeHeader = "x-configuration"
const type = (name: string, config: object = {}) => ({ "@type": `type.googleapis.com/${name}`, ...config })
const pipe = (path: string) => ({ pipe: { path } })

const listener = (name: string, path: string, routing: object) => ({
  name,
  address: pipe(path),
  filter_chains: [
    {
      filters: [
        {
          name: "http",
          typed_config: type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
            stat_prefix: name,
            codec_type: "AUTO",
            ...routing,
            http_filters: [{ name: "router", typed_config: type("envoy.extensions.filters.http.router.v3.Router") }]
          })
        }
      ]
    }
  ]
})

const bootstrapOf = (directory: string, configurations: ReadonlyArray<RouteConfiguration>) => {
  const upstream = join(directory, "up")
  return {
    static_resources: {
      listeners: [
        listener("front", join(directory, "front"), {
          scoped_routes: {
            name: "scopes",
            scope_key_builder: {
              fragments: [{ header_value_extractor: { name: scopeHeader, element_separator: "", index: 0 } }]
            },
            scoped_route_configurations_list: {
              scoped_route_configurations: configurations.map((configuration): object => ({
                name: configuration.name,
                key: { fragments: [{ string_key: configuration.name }] },
                route_configuration: toJson(RouteConfigurationSchema, configuration)
              }))
            }
          }
        }),
        listener("up", upstream, {
          route_config: {
            virtual_hosts: [
              { name: "up", domains: ["*"], routes: [{ match: { prefix: "/" }, direct_response: { status: 200 } }] }
            ]
          }
        })
      ],
      clusters: clusters.map((name) => ({
        name,
        type: "STATIC",
        connect_timeout: "10s",
        load_assignment: {
          cluster_name: name,
          endpoints: [{ lb_endpoints: [{ endpoint: { address: pipe(upstream) } }] }]
        }
      }))
    },
    layered_runtime: {
      layers: [
        {
          name: "static",
          static_layer: {
            "envoy.features.enable_all_deprecated_features": true,
            // A difference: gRPC joins the values of one header by commas (A28), and so did Envoy until 1.36. Now it
            // compares one by one, if this is not off.
            "envoy.reloadable_features.match_headers_individually": false
          }
        }
      ]
    }
  }
}

const opened = (path: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connectSocket(path, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on("error", () => resolve(false))
  })

/** Starts it. `close` ends it. Fails with what it says if it does not take a configuration. */
export const startEnvoy = async (program: string, configurations: ReadonlyArray<RouteConfiguration>) => {
  // A path of a socket is short.
  const directory = mkdtempSync(join(tmpdir(), "xds-routes-"))
  const file = join(directory, "bootstrap.json")
  writeFileSync(file, JSON.stringify(bootstrapOf(directory, configurations)))
  const flags = ["-c", file, "--disable-hot-restart", "--concurrency", "1", "-l", "error"]
  const child = spawn(program, flags, { stdio: ["ignore", "ignore", "pipe"] })
  let said = ""
  child.stderr.on("data", (chunk) => (said += String(chunk)))
  const over = new Promise<void>((resolve) => {
    child.once("close", () => resolve())
  })
  const sessions: Array<ClientHttp2Session> = []
  const close = async () => {
    for (const session of sessions) session.destroy()
    child.kill("SIGKILL")
    await over
    rmSync(directory, { recursive: true, force: true })
  }
  const path = join(directory, "front")
  const isOver = async () => child.exitCode !== null || (await opened(path))
  await Effect.runPromise(Waiting.found("Envoy to serve", isOver, { limit: "1 minute" })).catch(() => undefined)
  if (!(await opened(path))) {
    await close()
    // It quotes the configuration, and says at the end what is wrong.
    throw new Error(`Envoy does not serve: … ${said.slice(-1_000)}`)
  }
  const session = connect("http://envoy", { createConnection: () => connectSocket(path) })
  session.on("error", () => undefined)
  sessions.push(session)
  /** The name of the route that a request takes; `undefined`: none. */
  const route = (configuration: string, { authority, headers, path }: Request): Promise<string | undefined> =>
    new Promise((resolve, reject) => {
      const lists = new Map<string, Array<string>>()
      for (const [name, value] of headers) lists.set(name, [...(lists.get(name) ?? []), value])
      const stream = session.request(
        {
          ":method": "POST",
          ":authority": authority,
          ":path": path,
          "content-type": "application/grpc",
          [scopeHeader]: configuration,
          [clusterHeader]: "c0",
          ...Object.fromEntries(lists)
        },
        { endStream: true }
      )
      stream.setTimeout(60_000, () => stream.destroy(new Error("no answer of Envoy within a minute")))
      stream.on("response", (answered) => {
        const named = answered["x-route"]
        resolve(typeof named === "string" ? named : undefined)
      })
      stream.on("error", reject)
      stream.resume()
    })
  return { route, close }
}
