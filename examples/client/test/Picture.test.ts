import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Cluster_DiscoveryType, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Either from "effect/Either"
import { describe, expect, it } from "vitest"
import * as Part from "../src/Part.js"
import * as Picture from "../src/Picture.js"

/** What the client would tell of a resource that a server sent, or why it would reject it. */
const decode = <Desc extends DescMessage>(kind: Part.Resource["kind"], schema: Desc, init: MessageInitShape<Desc>) => {
  const type = Part.types[kind]
  return Either.map(type.decoder.decode(toBinary(schema, create(schema, init)), ""), type.open)
}

const part = <Desc extends DescMessage>(
  kind: Part.Resource["kind"],
  schema: Desc,
  init: MessageInitShape<Desc>
): Part.Part => {
  const opened = Either.getOrThrow(decode(kind, schema, init))
  if (opened === undefined) throw new Error("not decoded by this type")
  return opened.value
}

const listener = (routeConfigName: string) =>
  part("listener", ListenerSchema, {
    address: address("0.0.0.0", 10_000),
    filterChains: [1, 2].map(() => ({
      filters: [{ configType: { case: "typedConfig", value: manager(routeConfigName) } } as const]
    }))
  })

const manager = (routeConfigName: string) =>
  anyPack(
    HttpConnectionManagerSchema,
    create(HttpConnectionManagerSchema, { routeSpecifier: { case: "rds", value: { routeConfigName } } })
  )

const address = (host: string, port: number) => {
  const value = { address: host, portSpecifier: { case: "portValue", value: port } } as const
  return { address: { case: "socketAddress", value } } as const
}

const routes = (...all: ReadonlyArray<readonly [path: string, weights: Readonly<Record<string, number>>]>) =>
  part("route", RouteConfigurationSchema, {
    virtualHosts: [
      {
        domains: ["*"],
        routes: all.map(([path, weights]) => {
          const clusters = Object.entries(weights).map(([name, weight]) => ({ name, weight }))
          return {
            match: { pathSpecifier: { case: "prefix", value: path } },
            action: {
              case: "route",
              value: { clusterSpecifier: { case: "weightedClusters", value: { clusters } } }
            }
          } as const
        })
      }
    ]
  })

const cluster = (name: string) =>
  part("cluster", ClusterSchema, {
    name,
    clusterDiscoveryType: { case: "type", value: Cluster_DiscoveryType.EDS }
  })

const assignment = (...endpoints: ReadonlyArray<readonly [host: string, port: number]>) => ({
  endpoints: [
    {
      lbEndpoints: endpoints.map(
        ([host, port]) => ({ hostIdentifier: { case: "endpoint", value: { address: address(host, port) } } }) as const
      )
    }
  ]
})

const endpoints = (...all: ReadonlyArray<readonly [host: string, port: number]>) =>
  part("endpoints", ClusterLoadAssignmentSchema, assignment(...all))

const resourceOf = (key: string): Part.Resource => {
  const [kind, name = ""] = key.split(" ")
  if (kind === "listener" || kind === "route" || kind === "cluster" || kind === "endpoints") return { kind, name }
  throw new Error(`${key}: no such kind`)
}

/** The picture of the listener `in` after these parts came, or what was said of them. */
const after = (
  heard: ReadonlyArray<readonly [key: string, what: Part.Part | "DoesNotExist" | "AmbientError" | "Recovered"]>,
  before = Picture.make({ kind: "listener", name: "in" })
) =>
  heard.reduce((picture, [key, what]) => {
    const resource = resourceOf(key)
    const { name } = resource
    if (what === "Recovered") return Picture.hear(picture, { resource, event: { _tag: what, name } })
    if (typeof what === "string") {
      return Picture.hear(picture, { resource, event: { _tag: what, name, error: { code: 3, message: "bad luck" } } })
    }
    return Picture.hear(picture, { resource, event: { _tag: "Updated", name, value: what, version: "1" } })
  }, before)

const lines = (picture: Picture.Picture) => Picture.draw(picture).split("\n")

describe("the picture", () => {
  it("grows with what is heard, and says what is waited for", () => {
    const steps = [
      ["listener in", listener("main")],
      ["route main", routes(["/", { blue: 90, green: 10 }])],
      ["cluster blue", cluster("blue")],
      ["cluster green", cluster("green")],
      ["endpoints blue", endpoints(["10.0.0.1", 8080], ["::1", 8080])]
    ] as const
    expect(Picture.draw(after([]))).toBe("listener in (waiting)")
    expect(lines(after(steps.slice(0, 1)))).toEqual(["listener in on 0.0.0.0:10000", "└─ route main  (waiting)"])
    expect(lines(after(steps.slice(0, 3)))).toEqual([
      "listener in on 0.0.0.0:10000",
      "└─ route main",
      "   ├─ 90 % cluster blue   (waiting for endpoints)",
      "   └─ 10 % cluster green  (waiting)"
    ])
    expect(lines(after(steps)).slice(2)).toEqual([
      "   ├─ 90 % cluster blue   10.0.0.1:8080 [::1]:8080",
      "   └─ 10 % cluster green  (waiting for endpoints)"
    ])
  })

  it("names the paths of several routes, shares that are not whole, and a cluster as often as it is used", () => {
    const picture = after([
      ["listener in", listener("main")],
      ["route main", routes(["/a", { blue: 1 }], ["/", { blue: 1, green: 2 }])],
      ["cluster blue", cluster("blue")],
      ["endpoints blue", endpoints(["10.0.0.1", 1])]
    ])
    expect(lines(picture).slice(2)).toEqual([
      "   ├─ * /a  100 % cluster blue   10.0.0.1:1",
      "   ├─ * /  33.3 % cluster blue   10.0.0.1:1",
      "   └─ * /  66.7 % cluster green  (waiting)"
    ])
  })

  it("shows endpoints that a cluster holds itself, and the first five of many", () => {
    const many = Array.from({ length: 7 }, (_, index) => ["10.0.0.1", index + 1] as const)
    const fixed = part("cluster", ClusterSchema, { name: "c", loadAssignment: assignment(...many) })
    expect(fixed).toEqual({
      text: "10.0.0.1:1 10.0.0.1:2 10.0.0.1:3 10.0.0.1:4 10.0.0.1:5 and 2 more",
      links: []
    })
    expect(endpoints().text).toBe("(no endpoints)")
  })

  it("says what does not exist, and below the tree what is wrong with what stays in use", () => {
    const good = after([
      ["listener in", listener("main")],
      ["route main", routes(["/", { blue: 1 }])],
      ["cluster blue", cluster("blue")],
      ["endpoints blue", endpoints(["10.0.0.1", 1])]
    ])
    const rejected = after([["endpoints blue", "AmbientError"]], good)
    expect(lines(rejected)).toEqual([...lines(good), "! endpoints blue: bad luck"])
    expect(lines(after([["endpoints blue", "Recovered"]], rejected))).toEqual(lines(good))
    expect(lines(after([["endpoints blue", "DoesNotExist"]], good)).at(-1)).toBe(
      "   └─ 100 % cluster blue  (endpoints: does not exist)"
    )
    const lost = [...good.known.keys()].map((key) => [key, "AmbientError"] as const)
    expect(lines(after(lost, good)).at(-1)).toBe("! all of this: bad luck")
  })

  it("wants what has a place in it, and forgets what nothing leads to any more", () => {
    const picture = after([
      ["listener in", listener("main")],
      ["route main", routes(["/", { blue: 1 }])],
      ["cluster blue", cluster("blue")],
      ["endpoints blue", endpoints(["10.0.0.1", 1])]
    ])
    expect([...Picture.resources(picture).keys()]).toEqual([
      "listener in",
      "route main",
      "cluster blue",
      "endpoints blue"
    ])
    const moved = after([["route main", routes(["/", { green: 1 }])]], picture)
    expect([...Picture.resources(moved).keys()]).toEqual(["listener in", "route main", "cluster green"])
    expect([...moved.known.keys()]).toEqual(["listener in", "route main"])
    // Said of it before its watch had ended.
    expect(after([["endpoints blue", endpoints(["10.0.0.2", 1])]], moved)).toEqual(moved)
  })

  it("rejects what is of no use, with the reason", () => {
    const bad = decode("endpoints", ClusterLoadAssignmentSchema, assignment(["10.0.0.1", 1], ["10.0.0.2", 0]))
    expect(bad).toEqual(Either.left("endpoint 10.0.0.2 has no port"))
    const value = { ...manager("main"), value: Uint8Array.of(0x0a, 0xff) }
    const broken = decode("listener", ListenerSchema, { apiListener: { apiListener: value } })
    expect(Either.getOrThrow(Either.flip(broken))).toMatch(/^not a \S+HttpConnectionManager: /)
  })
})
