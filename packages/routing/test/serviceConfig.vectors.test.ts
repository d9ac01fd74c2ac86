import * as RouteTable from "@effect-xds/routing/RouteTable"
import * as ServiceConfig from "@effect-xds/routing/ServiceConfig"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { all, host, split, tableOf, to } from "./Routes.js"
import type { ActionInit, MatchInit, RouteInit } from "./Routes.js"

const path = (value: string): MatchInit => ({ pathSpecifier: { case: "path", value } })
const prefix = (value: string): MatchInit => ({ pathSpecifier: { case: "prefix", value } })
const regex = (value: string): MatchInit => ({ pathSpecifier: { case: "safeRegex", value: { regex: value } } })
const route = (match: MatchInit, action: ActionInit): RouteInit => ({ match, action })

const routesOf = (...routes: ReadonlyArray<RouteInit>) =>
  RouteTable.virtualHost(Either.getOrThrow(tableOf([host(...routes)], { rules: "A28" })), "x")?.routes ?? []

const start = (options: ServiceConfig.Options | undefined, ...routes: ReadonlyArray<RouteInit>) =>
  ServiceConfig.step(ServiceConfig.empty, routesOf(...routes), options)

const names = ({ actions }: ServiceConfig.ServiceConfig) => actions.map(({ name }) => name)

const cds = (cluster: string) => [{ cds_experimental: { cluster } }]
const targets = (weights: Record<string, number>) => [
  {
    weighted_target_experimental: {
      targets: Object.fromEntries(
        Object.entries(weights).map(([name, weight]) => [name, { weight, childPolicy: cds(name) }])
      )
    }
  }
]

/** The five routes of A28's appendix; the third as it is said. */
const appendix = (third: string) => [
  route(path("/service_1/method_1"), to("cluster_1")),
  route(path("/service_1/method_2"), to("cluster_1")),
  route(prefix(third), split({ cluster_1: 75, cluster_2: 25 })),
  route(prefix("/service_2"), split({ cluster_1: 75, cluster_2: 25 })),
  route(regex("^/service_2/method_3$"), split({ cluster_1: 99, cluster_3: 1 }))
]

const printed = (third: string) => ({
  loadBalancingConfig: [
    {
      xds_routing_experimental: {
        Action: {
          "cds:cluster_1": { childPolicy: cds("cluster_1") },
          "weighted:cluster_1_cluster_2_1": { childPolicy: targets({ cluster_1: 75, cluster_2: 25 }) },
          "weighted:cluster_1_cluster_3_1": { childPolicy: targets({ cluster_1: 99, cluster_3: 1 }) }
        },
        Route: [
          { path: "/service_1/method_1", action: "cds:cluster_1" },
          { path: "/service_1/method_2", action: "cds:cluster_1" },
          { prefix: third, action: "weighted:cluster_1_cluster_2_1" },
          { prefix: "/service_2", action: "weighted:cluster_1_cluster_2_1" },
          { regex: "^/service_2/method_3$", action: "weighted:cluster_1_cluster_3_1" }
        ]
      }
    }
  ]
})

describe("service config", () => {
  it("vector 42: A28's diagram: 4 routes, 3 actions", () => {
    const [state, config] = start(
      undefined,
      route(path("/s/m1"), split({ a: 50, b: 50 })),
      route(path("/s/m2"), to("c")),
      route(path("/s2/m3"), split({ a: 10, d: 90 })),
      route(path("/s2/m4"), to("c"))
    )
    expect(names(state)).toEqual(["weighted:a_b_1", "cds:c", "weighted:a_d_1"])
    expect(JSON.stringify(config).match(/"action":/g)).toHaveLength(4)
  })

  it.each(["/service_2/method_2", "/service_2/method_1"])(
    "vector 43: ★ the appendix disagrees with itself: key for key what its routes say, third route %s",
    (third) => {
      const [, config] = start(undefined, ...appendix(third))
      // As text, so that the order of keys is compared, too.
      expect(JSON.stringify(config)).toBe(JSON.stringify(printed(third)))
    }
  )

  it("vector 44: a new weight keeps the name", () => {
    const [before] = start(undefined, route(all, split({ a: 75, b: 25 })))
    const [after] = ServiceConfig.step(before, routesOf(route(all, split({ a: 50, b: 50 }))))
    expect([names(before), names(after)]).toEqual([["weighted:a_b_1"], ["weighted:a_b_1"]])
  })

  it("vector 45: the first new action takes the name, the second a fresh one", () => {
    const [before] = start(undefined, route(all, split({ a: 50, b: 50 })))
    const [after] = ServiceConfig.step(
      before,
      routesOf(route(path("/s/m"), split({ a: 40, b: 60 })), route(all, split({ a: 30, b: 70 })))
    )
    expect(names(after)).toEqual(["weighted:a_b_1", "weighted:a_b_2"])
  })

  it("vector 46: ★ different clusters that spell the same name", () => {
    const [state] = start(
      undefined,
      route(path("/s/m"), split({ a: 50, b_c: 50 })),
      route(all, split({ a_b: 50, c: 50 }))
    )
    expect(names(state)).toEqual(["weighted:a_b_c_1", "weighted:a_b_c_2"])
  })

  it("a name that an update frees is free from the next one on", () => {
    const [first] = start(undefined, route(all, split({ a: 50, b_c: 50 })))
    const [second] = ServiceConfig.step(first, routesOf(route(all, split({ a_b: 50, c: 50 }))))
    const [third] = ServiceConfig.step(second, routesOf(route(all, split({ a: 50, b_c: 50 }))))
    expect([names(second), names(third)]).toEqual([["weighted:a_b_c_2"], ["weighted:a_b_c_1"]])
  })

  it("vector 47: one route that matches all stands alone; ★ vector 48: another does not", () => {
    expect(start(undefined, route(all, to("c")))[1]).toEqual({ loadBalancingConfig: cds("c") })
    expect(start(undefined, route(prefix("/"), split({ a: 100 })))[1]).toEqual({
      loadBalancingConfig: targets({ a: 100 })
    })
    expect(JSON.stringify(start(undefined, route(path("/s/m"), to("c")))[1])).toContain("xds_routing_experimental")
    expect(JSON.stringify(start({ singleRoute: "never" }, route(all, to("c")))[1])).toContain(
      "xds_routing_experimental"
    )
    expect(start({ singleRoute: "always" }, route(path("/s/m"), to("c")))[1]).toEqual({ loadBalancingConfig: cds("c") })
  })

  it("★ a cluster listed twice has both weights", () => {
    const twice: ActionInit = {
      case: "route",
      value: {
        clusterSpecifier: {
          case: "weightedClusters",
          value: {
            clusters: [
              { name: "a", weight: 30 },
              { name: "b", weight: 20 },
              { name: "a", weight: 50 }
            ]
          }
        }
      }
    }
    expect(start(undefined, route(all, twice))[1]).toEqual({ loadBalancingConfig: targets({ a: 80, b: 20 }) })
  })

  it("no routes left: an empty list", () => {
    expect(start(undefined)).toEqual([{ actions: [] }, { loadBalancingConfig: [] }])
  })

  it("headers and the fraction; keys of proto3", () => {
    const match: MatchInit = {
      ...all,
      headers: [
        { name: "H", headerMatchSpecifier: { case: "rangeMatch", value: { start: 1n, end: 2n } }, invertMatch: true }
      ],
      runtimeFraction: { defaultValue: { numerator: 5 } }
    }
    const fields = { prefix: "", headers: [{ name: "h", rangeMatch: { start: "1", end: "2" }, invertMatch: true }] }
    const Action = { "cds:c": { childPolicy: cds("c") } }
    expect(start(undefined, route(match, to("c")))[1]).toEqual({
      loadBalancingConfig: [
        { xds_routing_experimental: { Action, Route: [{ ...fields, match_fraction: 50_000, action: "cds:c" }] } }
      ]
    })
    expect(start({ keys: "proto3" }, route(match, to("c")))[1]).toEqual({
      loadBalancingConfig: [
        { xds_routing_experimental: { action: Action, route: [{ ...fields, matchFraction: 50_000, action: "cds:c" }] } }
      ]
    })
  })
})
