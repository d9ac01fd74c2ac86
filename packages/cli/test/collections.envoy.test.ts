/** Collections of xdstp names (TP1) and the endpoints of a locality (LEDS), as a real Envoy asks for them. */
import { FreePort, PeerProgram } from "@effect-xds/testing"
import { Effect, Schema } from "effect"
import { mkdirSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { parse, stringify } from "yaml"
import { backend, envoy, startEnvoy } from "./EnvoyProcess.js"
import { deadline, effectXds, eventually, replaceFile, serve, temporaryDirectory } from "./ServeProcess.js"

const type = (name: string) => `type.googleapis.com/${name}`
const ads = { ads: {}, resource_api_version: "V3" }

/** ★ Without a timeout: a cluster whose collection does not come is warmed for ever, and not in use without endpoints. */
const patient = { ...ads, initial_fetch_timeout: "0s" }

const listenerName = (name: string) => `xdstp://shop/envoy.config.listener.v3.Listener/edge/${name}`
const clusterName = (name: string) => `xdstp://shop/envoy.config.cluster.v3.Cluster/edge/${name}`
const endpointName = (cluster: string, name: string) =>
  `xdstp://shop/envoy.config.endpoint.v3.LbEndpoint/${cluster}/${name}`

/** @param address of its own: Envoy lets two listeners share a port that it chose */
const listener = (name: string, cluster: string, address = "127.0.0.1") => ({
  "@type": type("envoy.config.listener.v3.Listener"),
  name: listenerName(name),
  address: { socket_address: { address, port_value: 0 } },
  filter_chains: [
    {
      filters: [
        {
          name: "hcm",
          typed_config: {
            "@type": type("envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"),
            stat_prefix: name,
            route_config: {
              virtual_hosts: [
                {
                  name: "all",
                  domains: ["*"],
                  routes: [{ match: { prefix: "/" }, route: { cluster: clusterName(cluster) } }]
                }
              ]
            },
            http_filters: [
              {
                name: "router",
                typed_config: { "@type": type("envoy.extensions.filters.http.router.v3.Router") }
              }
            ]
          }
        }
      ]
    }
  ]
})

const cluster = (name: string, more: object = {}) => ({
  "@type": type("envoy.config.cluster.v3.Cluster"),
  name: clusterName(name),
  type: "EDS",
  connect_timeout: "1s",
  eds_cluster_config: { eds_config: ads, service_name: name },
  ...more
})

const inline = (name: string, port: number) => ({
  "@type": type("envoy.config.endpoint.v3.ClusterLoadAssignment"),
  cluster_name: name,
  endpoints: [{ lb_endpoints: [{ endpoint: host(port) }] }]
})

const byLeds = (name: string, ...zones: ReadonlyArray<string>) => ({
  "@type": type("envoy.config.endpoint.v3.ClusterLoadAssignment"),
  cluster_name: name,
  endpoints: zones.map((zone) => ({
    locality: { zone },
    load_balancing_weight: 1,
    leds_cluster_locality_config: { leds_config: patient, leds_collection_name: endpointName(name, `${zone}/*`) }
  }))
})

const host = (port: number) => ({ address: { socket_address: { address: "127.0.0.1", port_value: port } } })

const endpoint = (port: number) => ({
  "@type": type("envoy.config.endpoint.v3.LbEndpoint"),
  endpoint: host(port)
})

const named = (name: string, resource: object) => ({
  "@type": type("envoy.service.discovery.v3.Resource"),
  name,
  resource
})

/** A directory with the resources of one group, and what writes a file of it. */
const directoryOf = () => {
  const directory = temporaryDirectory()
  mkdirSync(join(directory, "edge"))
  return {
    directory,
    write: (name: string, ...resources: ReadonlyArray<object>) =>
      replaceFile(join(directory, "edge", `${name}.yaml`), stringify(resources))
  }
}

const Bootstrap = Schema.Struct({ dynamic_resources: Schema.Object })

/** The bootstrap that `serve` prints, with collections in place of wildcards. */
const withLocators = (printed: string): string => {
  const bootstrap: unknown = parse(printed)
  const { dynamic_resources } = Schema.decodeUnknownSync(Bootstrap)(bootstrap)
  const locators = { lds_resources_locator: listenerName("*"), cds_resources_locator: clusterName("*") }
  return stringify(Object.assign({}, bootstrap, { dynamic_resources: { ...dynamic_resources, ...locators } }))
}

describe.skipIf(envoy._tag === "Missing")(PeerProgram.title("collections in front of a real Envoy", envoy), () => {
  it(
    "listeners and clusters by collection: members come, change and go; ★ a new stream quotes none",
    async () => {
      const { directory, write } = directoryOf()
      const ports = { one: await backend("one"), two: await backend("two") }
      write("assignments", inline("cart", ports.one), inline("shop", ports.two))
      write("listeners", listener("ingress", "cart"))
      write("clusters", cluster("cart"))
      const port = String(await Effect.runPromise(FreePort.any()))
      const server = await serve(directory, ["--port", port])
      const { admin, get, stderr } = await startEnvoy(withLocators(server.bootstrap), listenerName("ingress"))
      await eventually(async () => expect(await get("/"), stderr()).toBe("one"))

      write("clusters", cluster("cart"), cluster("shop"))
      write("listeners", listener("ingress", "shop"), listener("second", "cart", "127.0.0.2"))
      await eventually(async () => expect(await get("/")).toBe("two"))
      await eventually(async () => expect(await admin("/listeners")).toContain(listenerName("second")))

      write("listeners", listener("ingress", "shop"))
      write("clusters", cluster("shop"))
      await eventually(async () => expect(await admin("/listeners")).not.toContain(listenerName("second")))
      await eventually(async () => expect(await admin("/clusters")).not.toContain(`${clusterName("cart")}::`))
      expect(await get("/")).toBe("two")

      server.child.kill("SIGKILL")
      await server.exit
      write("clusters", cluster("cart"), cluster("shop"))
      write("listeners", listener("ingress", "cart"), listener("second", "shop", "127.0.0.2"))
      const serveAgain = () => effectXds("serve", directory, "--port", port, "--rest-port", "0", "--admin-port", "0")
      const again = serveAgain()
      await eventually(async () => expect(await get("/"), again.stderr() + stderr()).toBe("one"))
      await eventually(async () => expect(await admin("/listeners")).toContain(listenerName("second")))

      // ★ What it lost in the meantime, Envoy keeps: it quotes no member of a collection, and the server cannot know.
      again.child.kill("SIGKILL")
      await again.exit
      write("clusters", cluster("cart"))
      write("listeners", listener("ingress", "shop"))
      serveAgain()
      await eventually(async () => expect(await get("/"), stderr()).toBe("two"))
      expect(await admin("/listeners")).toContain(listenerName("second"))
    },
    3 * deadline
  )

  it(
    "endpoints of a locality by LEDS; ★ a changed cluster keeps them",
    async () => {
      const { directory, write } = directoryOf()
      const [one, two] = [await backend("one"), await backend("two")]
      const endpoints = (...ports: ReadonlyArray<readonly [name: string, port: number]>) =>
        write("endpoints", ...ports.map(([name, port]) => named(endpointName("cart", name), endpoint(port))))
      write("listeners", listener("ingress", "cart"))
      write("clusters", cluster("cart"))
      write("assignments", byLeds("cart", "a"))
      endpoints(["a/1", one])
      const server = await serve(directory)
      const { admin, get, stderr } = await startEnvoy(withLocators(server.bootstrap), listenerName("ingress"))
      const answers = async () => new Set(await Promise.all(Array.from({ length: 20 }, () => get("/"))))
      const isConnected = async (seconds: number) =>
        expect(await admin("/config_dump?resource=dynamic_active_clusters")).toContain(
          `"connect_timeout": "${seconds}s"`
        )
      await eventually(async () => expect(await get("/"), stderr()).toBe("one"))

      endpoints(["a/1", one], ["a/2", two])
      await eventually(async () => expect(await answers()).toEqual(new Set(["one", "two"])))

      write("clusters", cluster("cart", { connect_timeout: "2s" }))
      await eventually(() => isConnected(2))
      expect(await answers()).toEqual(new Set(["one", "two"]))

      write("assignments", byLeds("cart", "a", "b"))
      endpoints(["a/1", one], ["b/2", two])
      await eventually(async () => expect(await admin("/clusters")).toContain(`:${two}::zone::b`))
      await eventually(async () => expect(await answers()).toEqual(new Set(["one", "two"])))

      endpoints(["b/2", two])
      await eventually(async () => expect(await answers()).toEqual(new Set(["two"])))

      // ★ A collection without endpoints is answered, too.
      write("clusters", cluster("cart", { connect_timeout: "3s" }))
      await eventually(() => isConnected(3))
      expect(await answers()).toEqual(new Set(["two"]))
      expect(server.stderr()).not.toContain("rejected")
    },
    3 * deadline
  )

  it(
    "filter chains by FCDS: a listener gets one, changes of it, and keeps it when it changes itself",
    async () => {
      const { directory, write } = directoryOf()
      write("assignments", inline("cart", await backend("one")), inline("shop", await backend("two")))
      write("clusters", cluster("cart"), cluster("shop"))
      const by = (name: string, stat_prefix = "ingress") => {
        const rest = { ...listener("ingress", "cart"), filter_chains: [] }
        const typed_config = { "@type": type("google.protobuf.StringValue"), value: name }
        const filter_chain_matcher = { on_no_match: { action: { name, typed_config } } }
        return { ...rest, stat_prefix, filter_chain_matcher, fcds_config: { name, config_source: ads } }
      }
      const chain = (name: string, cluster: string) => ({
        "@type": type("envoy.config.listener.v3.FilterChain"),
        ...listener("ingress", cluster).filter_chains[0],
        name
      })
      write("listeners", by("chain"))
      write("chains", chain("chain", "cart"))
      const server = await serve(directory)
      const { admin, get, stderr } = await startEnvoy(withLocators(server.bootstrap), listenerName("ingress"))
      await eventually(async () => expect(await get("/"), stderr() + server.stderr()).toBe("one"))
      write("chains", chain("chain", "shop"))
      await eventually(async () => expect(await get("/"), stderr() + server.stderr()).toBe("two"))
      write("listeners", by("chain", "other"))
      const listeners = () => admin("/config_dump?resource=dynamic_listeners")
      await eventually(async () => expect(await listeners()).toContain('"stat_prefix": "other"'))
      await eventually(async () => expect(await listeners()).not.toContain("warming_state"))
      expect(await get("/")).toBe("two")
      expect(server.stderr()).not.toContain("rejected")
    },
    3 * deadline
  )
})
