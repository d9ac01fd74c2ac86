/** One Envoy with listeners that have scoped routes, from a control plane: where a request goes. */
import { toJson } from "@bufbuild/protobuf"
import {
  type ScopedRoutes,
  ScopedRoutesSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { Waiting } from "@effect-xds/testing"
import * as Effect from "effect/Effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import * as Http from "node:http"
import { tmpdir } from "node:os"
import { join } from "node:path"

const type = (name: string, config: object = {}) => ({ "@type": `type.googleapis.com/${name}`, ...config })
const filter = (name: string) => type(`envoy.extensions.filters.http.${name}`)

const listener = (name: string, path: string, routes: ScopedRoutes) => ({
  name,
  address: { pipe: { path } },
  filter_chains: [
    {
      filters: [
        {
          name: "http",
          typed_config: type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager", {
            stat_prefix: name,
            scoped_routes: toJson(ScopedRoutesSchema, routes),
            http_filters: [
              // Where scopes stand in the listener, Envoy 1.40 dies of it at a request without one.
              ...(name === "demand" ? [{ name: "on_demand", typed_config: filter("on_demand.v3.OnDemand") }] : []),
              { name: "router", typed_config: filter("router.v3.Router") }
            ]
          })
        }
      ]
    }
  ]
})

const bootstrapOf = (directory: string, controlPlane: string, all: ReadonlyArray<ScopedRoutes>) => {
  const [address, port] = controlPlane.split(":")
  return {
    node: { id: "envoy", cluster: "edge" },
    dynamic_resources: {
      ads_config: {
        api_type: "DELTA_GRPC",
        transport_api_version: "V3",
        grpc_services: [{ envoy_grpc: { cluster_name: "xds" } }]
      },
      cds_config: { ads: {}, resource_api_version: "V3" }
    },
    static_resources: {
      listeners: all.map((routes) => listener(routes.name, join(directory, routes.name), routes)),
      clusters: [
        {
          name: "xds",
          type: "STATIC",
          typed_extension_protocol_options: {
            "envoy.extensions.upstreams.http.v3.HttpProtocolOptions": type(
              "envoy.extensions.upstreams.http.v3.HttpProtocolOptions",
              { explicit_http_config: { http2_protocol_options: {} } }
            )
          },
          load_assignment: {
            cluster_name: "xds",
            endpoints: [
              {
                lb_endpoints: [{ endpoint: { address: { socket_address: { address, port_value: Number(port) } } } }]
              }
            ]
          }
        }
      ]
    }
  }
}

/** What answers a request: the text of the answer, or its status if that is not 200. */
const get = (socketPath: string, headers: Readonly<Record<string, string>>): Promise<string> =>
  new Promise((resolve, reject) => {
    const request = Http.get({ socketPath, path: "/", headers, agent: false }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (chunk: string) => (text += chunk))
      response.on("end", () => resolve(response.statusCode === 200 ? text : String(response.statusCode)))
    })
    request.on("error", reject)
  })

/** Starts it, with scopes on demand in the listener `demand`, and waits until it has read its listeners; what it says is in the error if it does not take them. */
export const start = (program: string, controlPlane: string, all: ReadonlyArray<ScopedRoutes>) =>
  Effect.gen(function* () {
    // A path of a socket is short.
    const directory = mkdtempSync(join(tmpdir(), "xds-scopes-"))
    const file = join(directory, "bootstrap.json")
    writeFileSync(file, JSON.stringify(bootstrapOf(directory, controlPlane, all)))
    const flags = ["-c", file, "--disable-hot-restart", "--concurrency", "1", "-l", "error"]
    let said = ""
    const child = yield* Effect.acquireRelease(
      Effect.sync(() => spawn(program, flags, { stdio: ["ignore", "ignore", "pipe"] })),
      (started) =>
        Effect.promise(
          () =>
            new Promise<void>((resolve) => {
              const end = () => {
                rmSync(directory, { recursive: true, force: true })
                resolve()
              }
              if (started.exitCode !== null || started.signalCode !== null) return end()
              started.once("close", end)
              started.kill("SIGKILL")
            })
        )
    )
    child.stderr.on("data", (chunk) => (said += String(chunk)))
    const ask = (name: string, headers: Readonly<Record<string, string>>) =>
      Effect.tryPromise({
        try: () => get(join(directory, name), headers),
        catch: (cause) => new Error(`${name}, ${JSON.stringify(headers)}: ${String(cause)}`)
      })
    const isReady = Effect.gen(function* () {
      if (child.exitCode !== null) return true
      const asked = yield* Effect.all(
        all.map(({ name }) => Effect.either(ask(name, {}))),
        { concurrency: "unbounded" }
      )
      return asked.every(({ _tag }) => _tag === "Right")
    })
    yield* Waiting.until("Envoy to serve", isReady, (ready) => ready)
    if (child.exitCode !== null) return yield* Effect.fail(new Error(`Envoy does not serve: … ${said.slice(-1_000)}`))
    return { ask }
  })
