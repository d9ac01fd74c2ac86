/** Paths whose route is known beforehand: the same routes as one by one, whatever stands before them. */
import { expect, it } from "@effect/vitest"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as Draw from "@effect-xds/routing/Draw"
import * as Fraction from "@effect-xds/discovery/Fraction"
import * as HeaderMatcher from "@effect-xds/routing/HeaderMatcher"
import * as PathMatcher from "@effect-xds/routing/PathMatcher"
import * as RouteIndex from "@effect-xds/routing/RouteIndex"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import * as VirtualHost from "@effect-xds/routing/VirtualHost"
import * as Either from "effect/Either"
import { Generator } from "./RouteGenerator.js"
import { host, type RouteInit, tableOf, to } from "./Routes.js"
import { random } from "./World.js"

const path = (value: string, cluster: string): RouteInit => ({
  match: { pathSpecifier: { case: "path", value } },
  action: to(cluster)
})
const header = [{ name: "h", headerMatchSpecifier: { case: "presentMatch" as const, value: true } }]
const quarter = { defaultValue: { numerator: 25 } }
const prefix = (value: string, cluster: string): RouteInit => ({
  match: { pathSpecifier: { case: "prefix", value } },
  action: to(cluster)
})

const certainOf = (...routes: Array<RouteInit>) => {
  const [virtualHost] = Either.getOrThrow(tableOf([host(...routes)])).virtualHosts
  return Object.fromEntries(
    Array.from(virtualHost?.index.get().certain.keys() ?? [], (text) => {
      const match = virtualHost && RouteIndex.find(virtualHost.index.get(), text)
      const isRoute = match?._tag === "Route" && match.route.action.clusters._tag === "Cluster"
      return [text, isRoute ? match.route.action.clusters.cluster : match?._tag]
    })
  )
}

it("a path is certain unless a route that may match before it asks for more than the path", () => {
  const exact = path("/s/m", "exact")
  expect(certainOf(exact)).toEqual({ "/s/m": "exact" })
  expect(certainOf(exact, path("/s/m", "second"))).toEqual({ "/s/m": "exact" })
  expect(certainOf(prefix("/s", "prefix"), exact)).toEqual({ "/s/m": "prefix" })
  expect(certainOf(exact, prefix("/s", "prefix"))).toEqual({ "/s/m": "exact" })
  expect(certainOf({ ...exact, action: { case: "nonForwardingAction", value: {} } })).toEqual({
    "/s/m": "ActionNotRoute"
  })
  const uncertain: ReadonlyArray<RouteInit["match"]> = [
    { pathSpecifier: { case: "path", value: "/s/m" }, headers: header },
    { pathSpecifier: { case: "path", value: "/s/m" }, runtimeFraction: quarter },
    { pathSpecifier: { case: "prefix", value: "/" }, headers: header },
    { pathSpecifier: { case: "safeRegex", value: { regex: "/s/.*" } } },
    { pathSpecifier: { case: "path", value: "/S/M" }, caseSensitive: false, headers: header }
  ]
  for (const match of uncertain) {
    if (match === undefined) continue
    expect(certainOf({ match, action: to("first") }, exact)).toEqual({})
    expect(certainOf(exact, { match, action: to("first") })).toEqual({ "/s/m": "exact" })
  }
})

/** Route after route. */
const scan = (virtualHost: VirtualHost.VirtualHost, call: Parameters<typeof VirtualHost.match>[1]): number => {
  let draws = 0
  return virtualHost.routes.findIndex((route) => {
    if (route._tag === "Ignored") return false
    const { fraction, headers, path } = route.matcher
    if (!PathMatcher.matches(path, call.path)) return false
    if (!headers.every((header) => HeaderMatcher.matches(header, call.headers))) return false
    return fraction === undefined || Fraction.includes(fraction, Draw.at(call.draw, draws++), "current")
  })
}

it("generated tables give the route that a scan gives", () => {
  let certain = 0
  let calls = 0
  for (let seed = 1; seed <= 60; seed++) {
    const generator = new Generator(random(seed))
    const made = RouteTable.make(generator.configuration("routes"))
    if (Either.isLeft(made)) continue
    for (let n = 0; n < 20; n++) {
      const { authority, headers, path } = generator.request()
      const virtualHost = RouteTable.virtualHost(made.right, authority)
      if (virtualHost === undefined) continue
      const call = { path, headers: CallHeaders.fromEntries(headers), draw: () => 0.5 }
      const match = VirtualHost.match(virtualHost, call)
      const route = virtualHost.routes[scan(virtualHost, call)]
      calls++
      if (virtualHost.index.get().certain.has(path)) certain++
      expect(RouteTable.match(made.right, authority, call)).toEqual(match)
      if (match._tag === "Route") expect(match.route).toBe(route)
      else if (match._tag === "NoRoute") expect(route).toBeUndefined()
      else expect(route).toMatchObject({ _tag: "NotRoute", name: match.route })
    }
  }
  expect(calls).toBeGreaterThan(500)
  expect(certain).toBeGreaterThan(20)
})

it("of many virtual hosts each has its own outcomes, also where their paths are the same, or as many", () => {
  const own = ["even", "odd", "none"]
  const hosts = Array.from({ length: 500 }, (_, at) => {
    const last = own[at % 3] ?? ""
    return {
      ...host(path("/s/m", `c${at}`), ...(last === "none" ? [] : [path(`/s/${last}`, `${last}${at}`)])),
      domains: [`h${at}`]
    }
  })
  const table = Either.getOrThrow(tableOf(hosts))
  for (let round = 0; round < 2; round++) {
    for (const [at, each] of table.virtualHosts.entries()) {
      const to = (text: string) => table.called.find(table.called.numberOf(`h${at}`) ?? -1, text)
      expect(to("/s/m")).toMatchObject({ route: { action: { clusters: { cluster: `c${at}` } } } })
      expect(to("/s/m")).toBe(each && RouteIndex.find(each.index.get(), "/s/m"))
      for (const [kind, last] of own.entries()) {
        const match = to(`/s/${last}`)
        if (kind !== at % 3 || last === "none") expect(match).toBeUndefined()
        else expect(match).toMatchObject({ route: { action: { clusters: { cluster: `${last}${at}` } } } })
      }
    }
  }
  expect(table.called.numberOf("h500")).toBeUndefined()
  expect(new Set(table.virtualHosts.map((each) => each?.index.get().certain)).size).toBe(3)
})

it("authorities that a wildcard takes are remembered, so many and not more, and not their case", () => {
  const hosts = [
    { ...host(path("/s/m", "any")), domains: ["*"] },
    { ...host(path("/s/m", "shop")), domains: ["*.shop", "*.Other"] }
  ]
  const table = Either.getOrThrow(tableOf(hosts))
  const to = (authority: string) => {
    const match = RouteTable.match(table, authority, { path: "/s/m", headers: CallHeaders.empty, draw: () => 0.5 })
    return match._tag === "Route" && match.route.action.clusters._tag === "Cluster"
      ? match.route.action.clusters.cluster
      : match._tag
  }
  for (let round = 0; round < 2; round++) {
    for (let at = 0; at < 5_000; at++) expect(to(`${at}.shop`)).toBe("shop")
    expect(table.called.authorities).toBe(4_096)
    expect([to("A.SHOP"), to("a.other"), to("x".repeat(1_000)), to("a.shop:80")]).toEqual([
      "shop",
      "shop",
      "any",
      "any"
    ])
  }
})
