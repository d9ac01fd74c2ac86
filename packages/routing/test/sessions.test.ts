import { create } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { HealthStatus } from "@effect-xds/proto/envoy/config/core/v3/health_check"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import {
  StatefulSessionPerRouteSchema,
  StatefulSessionSchema
} from "@effect-xds/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session"
import { CookieBasedSessionStateSchema } from "@effect-xds/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie"
import { HttpProtocolOptionsSchema } from "@effect-xds/proto/envoy/extensions/upstreams/http/v3/http_protocol_options"
import * as Assignment from "@effect-xds/routing/Assignment"
import * as CallHeaders from "@effect-xds/routing/CallHeaders"
import * as Endpoint from "@effect-xds/routing/Endpoint"
import * as CompiledPicker from "@effect-xds/routing/CompiledPicker"
import * as Pickers from "@effect-xds/routing/Picker"
import * as OverrideHost from "@effect-xds/routing/policy/OverrideHost"
import * as StatefulSession from "@effect-xds/routing/StatefulSession"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import { Steps, callWith, counters, outcome, silent } from "./Steps.js"
import type { RouteInit } from "./Routes.js"
import { all, split, to } from "./Routes.js"
import { World, assignmentOf, clusterOf, listenerOf, random, routesOf, value } from "./World.js"

const seconds = (count: number) => ({
  $typeName: "google.protobuf.Duration" as const,
  seconds: BigInt(count),
  nanos: 0
})

interface CookieInit {
  readonly name?: string
  readonly path?: string
  readonly ttl?: ReturnType<typeof seconds>
}

const stateOf = (cookie: CookieInit | undefined) =>
  anyPack(CookieBasedSessionStateSchema, create(CookieBasedSessionStateSchema, cookie === undefined ? {} : { cookie }))

const sessionOf = (cookie: CookieInit | undefined) =>
  create(StatefulSessionSchema, { sessionState: { name: "cookie", typedConfig: stateOf(cookie) } })

const filterOf = (cookie: CookieInit | undefined) => anyPack(StatefulSessionSchema, sessionOf(cookie))

const perRoute = (override: "off" | CookieInit) =>
  anyPack(
    StatefulSessionPerRouteSchema,
    create(StatefulSessionPerRouteSchema, {
      override:
        override === "off" ? { case: "disabled", value: true } : { case: "statefulSession", value: sessionOf(override) }
    })
  )

const filter = (typedConfig: Any) => ({
  name: "sessions",
  configType: { case: "typedConfig" as const, value: typedConfig }
})

const errorsOf = (made: Either.Either<unknown, ReadonlyArray<{ readonly path: string; readonly reason: string }>>) =>
  Either.isLeft(made) ? made.left.map(({ path, reason }) => `${reason} ${path.replace(/^.*http_filters/, "")}`) : []

describe("the filter's configuration", () => {
  const ofListener = (typedConfig: Any) => errorsOf(listenerOf("routes", [filter(typedConfig)]))
  const at = "[0].typed_config.session_state.typed_config"

  it("is taken with a cookie, also without a session state", () => {
    expect(ofListener(filterOf({ name: "host", path: "/shop", ttl: seconds(120) }))).toEqual([])
    expect(ofListener(anyPack(StatefulSessionSchema, create(StatefulSessionSchema)))).toEqual([])
  })

  it("is rejected with its mistakes", () => {
    expect(ofListener(filterOf(undefined))).toEqual([`StatefulSession ${at}.cookie`])
    expect(ofListener(filterOf({ path: "/" }))).toEqual([`StatefulSession ${at}.cookie.name`])
    expect(ofListener(filterOf({ name: "host", ttl: seconds(-1) }))).toEqual([`Duration ${at}.cookie.ttl`])
    // ★ What cannot be said in a header: each answer would fail.
    for (const name of ["日本", "a\nb", "a;b", "a=b"]) {
      expect(ofListener(filterOf({ name }))).toEqual([`StatefulSession ${at}.cookie.name`])
    }
    for (const path of ["/日本", "/a\nb", "/;Domain=example.com"]) {
      expect(ofListener(filterOf({ name: "host", path }))).toEqual([`StatefulSession ${at}.cookie.path`])
    }
    const other = create(StatefulSessionSchema, { sessionState: { name: "header", typedConfig: perRoute("off") } })
    expect(ofListener(anyPack(StatefulSessionSchema, other))).toEqual([`StatefulSession ${at}`])
    // What is for routes is none for listeners, and the other way round.
    expect(ofListener(perRoute("off"))).toEqual(["UnknownFilter [0]"])
    const routed = (config: Any): RouteInit => ({
      match: all,
      action: to("a"),
      typedPerFilterConfig: { sessions: config }
    })
    expect(errorsOf(routesOf(routed(perRoute("off"))))).toEqual([])
    expect(errorsOf(routesOf(routed(filterOf({ name: "host" }))))).toHaveLength(1)
    expect(errorsOf(routesOf(routed(perRoute({}))))).toEqual([
      `StatefulSession virtual_hosts[0].routes[0].typed_per_filter_config["sessions"].stateful_session.${at.slice(17)}.cookie.name`
    ])
  })

  it("of a cluster: which endpoints sessions go on with, and how long", () => {
    const sessions = (init: object) => Either.getOrThrow(clusterOf("a", init)).sessions
    expect(sessions({})).toEqual({ statuses: new Set(["UNKNOWN", "HEALTHY"]), idleTimeout: 3_600_000 })
    const statuses = [HealthStatus.DRAINING, HealthStatus.TIMEOUT]
    expect(sessions({ commonLbConfig: { overrideHostStatus: { statuses } } })?.statuses).toEqual(new Set(["DRAINING"]))
    const upstream = (idleTimeout: ReturnType<typeof seconds>) => ({
      upstreamConfig: {
        name: "http",
        typedConfig: anyPack(
          HttpProtocolOptionsSchema,
          create(HttpProtocolOptionsSchema, { commonHttpProtocolOptions: { idleTimeout } })
        )
      }
    })
    expect(sessions(upstream(seconds(7)))?.idleTimeout).toBe(7_000)
    const reasons = (init: object) => errorsOf(clusterOf("a", init))
    expect(reasons(upstream(seconds(-7)))).toEqual([
      "Duration upstream_config.typed_config.common_http_protocol_options.idle_timeout"
    ])
    const wrong = { upstreamConfig: { name: "x", typedConfig: filterOf({ name: "host" }) } }
    expect(reasons(wrong)).toEqual(["UpstreamConfig upstream_config.typed_config"])
  })
})

describe("cookies", () => {
  const settings = { cookie: "host", path: "", ttl: 0 }
  const encoded = Encoding.encodeBase64("10.0.0.1:80,[::1]:80;cart;v2")
  const session = (header: string, more: Partial<StatefulSession.Settings> = {}, path = "/shop/Add") =>
    StatefulSession.of({ ...settings, ...more }, path, CallHeaders.fromEntries([["cookie", header]]))

  it.each([`host=${encoded}`, `a=1; host="${encoded}"; host=x`, `a=b, host=${encoded}`])("%s", (header) => {
    expect(session(header)).toMatchObject({ hosts: ["10.0.0.1:80", "[::1]:80"], cluster: "cart;v2" })
  })

  it.each(["", "host", "ghost=1", "host=***", "a=host=1"])("%j names no host", (header) => {
    expect(session(header)).toMatchObject({ hosts: [], cluster: "" })
  })

  it("a cookie with ten thousand hosts: the first ones are looked at", () => {
    expect(session(`host=${Encoding.encodeBase64("1,".repeat(10_000))}`)?.hosts).toHaveLength(16)
  })

  it.each([
    ["/shop", "/shop/Add", true],
    ["/shop/", "/shop/Add", true],
    ["/shop/Add", "/shop/Add", true],
    ["/shop/A", "/shop/Add", false],
    ["/", "/shop/Add", true],
    ["/other", "/shop/Add", false]
  ])("path %s, call %s: %s", (path, call, is) => {
    expect(session("", { path }, call) !== undefined).toBe(is)
  })

  it("a response says where the call went, if the cookie did not", () => {
    const went = (
      more: Partial<StatefulSession.Settings>,
      header: string,
      address = "[::1]:80",
      cluster = "cart;v2"
    ) => {
      const of = session(header, more)
      assert(of !== undefined)
      return StatefulSession.setCookie(of, cluster, Endpoint.make(["10.0.0.1:80", "[::1]:80"]), address)
    }
    const there = Encoding.encodeBase64("[::1]:80,10.0.0.1:80;cart;v2")
    expect(went({}, "")).toBe(`host=${there}; HttpOnly`)
    expect(went({ path: "/shop", ttl: 120_500 }, "")).toBe(`host=${there}; HttpOnly; Path=/shop; Max-Age=120`)
    expect(went({}, `host=${encoded}`)).toBe(`host=${there}; HttpOnly`)
    expect(went({}, `host=${there}`)).toBeUndefined()
    expect(went({}, `host=${there}`, "[::1]:80", "v3")).toBe(
      `host=${Encoding.encodeBase64("[::1]:80,10.0.0.1:80;v3")}; HttpOnly`
    )
  })
})

/** A channel with sessions, and the cookie that the last call got. */
class Sessions extends World {
  cookie = ""

  constructor(
    filters: ReadonlyArray<Any> = [filterOf({ name: "host" })],
    action: RouteInit["action"] = to("a"),
    typedPerFilterConfig: Record<string, Any> = {}
  ) {
    super(random(1))
    this.onSend = (_, address, { endpoint, selected }) => {
      if (selected.session === undefined) return
      const header = StatefulSession.setCookie(selected.session, selected.cluster, endpoint, address)
      if (header !== undefined) this.cookie = header.split(";")[0] ?? ""
    }
    this.xds({ _tag: "Start" })
    this.xds({ _tag: "Listener", name: "shop", known: value(listenerOf("routes", filters.map(filter))) })
    this.route({ match: all, action, typedPerFilterConfig })
  }

  route(route: RouteInit): void {
    this.xds({ _tag: "RouteConfiguration", name: "routes", known: value(routesOf(route)) })
  }

  cluster(name: string, statuses?: ReadonlyArray<HealthStatus>, more: object = {}): this {
    const commonLbConfig = statuses === undefined ? {} : { commonLbConfig: { overrideHostStatus: { statuses } } }
    this.xds({ _tag: "Cluster", name, known: value(clusterOf(name, { ...commonLbConfig, ...more })) })
    return this
  }

  /** Endpoints `10.0.0.n:80` of one locality. */
  endpoints(name: string, healths: Readonly<Record<number, HealthStatus>>): this {
    const message = create(ClusterLoadAssignmentSchema, {
      clusterName: name,
      endpoints: [
        {
          locality: { zone: "zone" },
          loadBalancingWeight: 1,
          lbEndpoints: Object.entries(healths).map(([number, healthStatus]) => ({
            healthStatus,
            hostIdentifier: {
              case: "endpoint" as const,
              value: {
                address: {
                  address: {
                    case: "socketAddress" as const,
                    value: { address: `10.0.0.${number}`, portSpecifier: { case: "portValue" as const, value: 80 } }
                  }
                }
              }
            }
          }))
        }
      ]
    })
    this.xds({ _tag: "Assignment", name, known: value(Assignment.make(message)) })
    return this.wait(1_000)
  }

  priorities(name: string, ...numbers: ReadonlyArray<ReadonlyArray<number>>): this {
    this.xds({ _tag: "Assignment", name, known: value(assignmentOf(name, ...numbers)) })
    return this.wait(1_000)
  }

  wait(milliseconds: number): this {
    this.until(this.now + milliseconds)
    return this
  }

  /** Where so many calls go, with this cookie or the last one. */
  go(count: number, cookie = this.cookie): ReadonlyArray<string> {
    this.sent.clear()
    for (let call = 0; call < count; call++)
      this.call("/shop.Cart/Add", false, cookie === "" ? [] : [["cookie", cookie]])
    this.wait(1_000)
    return Array.from(this.sent.keys()).sort()
  }

  /** Where the session of the cookie is. */
  get host(): string {
    const value = this.cookie.slice(this.cookie.indexOf("=") + 1)
    return Either.getOrThrow(Encoding.decodeBase64String(value)).split(";")[0] ?? ""
  }
}

const { DRAINING, HEALTHY, UNHEALTHY, UNKNOWN } = HealthStatus
const listed = [UNKNOWN, HEALTHY, DRAINING]

describe("a session", () => {
  it("stays with the endpoint of its first call; calls without one take turns", () => {
    const world = new Sessions().cluster("a").endpoints("a", { 1: UNKNOWN, 2: HEALTHY, 3: UNKNOWN })
    world.go(1)
    const { cookie, host } = world
    expect(world.go(20)).toEqual([host])
    expect(world.cookie).toBe(cookie)
    expect(world.go(20, "other=1")).toHaveLength(3)
    // The connection is the one that all calls use.
    expect(world.connections.size).toBe(3)
    expect(world.faults).toEqual([])
  })

  it("★ goes on with an endpoint that is DRAINING if the cluster lists that; no other call does", () => {
    const world = new Sessions().cluster("a", listed).endpoints("a", { 1: UNKNOWN, 2: UNKNOWN })
    world.go(1)
    const { host } = world
    const [drained, other] = host === "10.0.0.1:80" ? [1, 2] : [2, 1]
    const { cookie } = world
    world.endpoints("a", { [drained]: DRAINING, [other]: UNKNOWN })
    expect(world.go(10)).toEqual([host])
    expect(world.go(10, "none=1")).toEqual([`10.0.0.${other}:80`])
    // Also if all are.
    world.endpoints("a", { [drained]: DRAINING })
    expect(world.go(10, cookie)).toEqual([host])
    expect(world.go(1, "none=1")).toEqual([])
    // One that was not connected before is connected for the session.
    const draining = new Sessions().cluster("a", listed).endpoints("a", { 1: UNKNOWN, 2: DRAINING })
    expect(draining.connections.has("10.0.0.2:80")).toBe(false)
    expect(draining.go(5, `host=${Encoding.encodeBase64("10.0.0.2:80;a")}`)).toEqual(["10.0.0.2:80"])
    expect([...world.faults, ...draining.faults]).toEqual([])
  })

  it.each([
    ["is DRAINING, which the cluster does not list", DRAINING],
    ["is UNHEALTHY", UNHEALTHY],
    ["is gone", undefined]
  ])("moves on when its endpoint %s", (_, health) => {
    const world = new Sessions().cluster("a").endpoints("a", { 1: UNKNOWN, 2: UNKNOWN })
    world.go(1)
    expect(world.go(1)).toEqual([world.host])
    const [left, other] = world.host === "10.0.0.1:80" ? [1, 2] : [2, 1]
    world.endpoints("a", { ...(health === undefined ? {} : { [left]: health }), [other]: UNKNOWN })
    expect(world.go(5)).toEqual([`10.0.0.${other}:80`])
    expect(world.host).toBe(`10.0.0.${other}:80`)
    expect(Array.from(world.connections.keys())).toEqual([`10.0.0.${other}:80`])
  })

  it("★ stays with its endpoint when that is of a lower priority (A75)", () => {
    const world = new Sessions().cluster("a").priorities("a", [1], [2])
    world.down.add("10.0.0.1:80")
    world.flip("10.0.0.1:80")
    world.go(1)
    world.priorities("a", [2], [1])
    world.go(1, "none=1")
    const cookie = `host=${Encoding.encodeBase64("10.0.0.1:80;a")}`
    expect(world.go(5, cookie)).toEqual(["10.0.0.1:80"])
    expect(world.go(5, "none=1")).toEqual(["10.0.0.2:80"])
    expect(world.faults).toEqual([])
  })

  it("whose endpoint cannot be reached waits for one attempt and moves on; the next is made after a backoff", () => {
    const world = new Sessions().cluster("a").endpoints("a", { 1: UNKNOWN, 2: UNKNOWN })
    const cookie = `host=${Encoding.encodeBase64("10.0.0.1:80;a")}`
    world.flip("10.0.0.1:80")
    world.wait(2_000)
    expect(world.go(3, cookie)).toEqual(["10.0.0.2:80"])
    expect(world.waiting).toBe(0)
    world.flip("10.0.0.1:80")
    world.wait(5_000)
    expect(world.go(3, cookie)).toEqual(["10.0.0.1:80"])
    expect(world.faults).toEqual([])
  })

  it("its connection is kept while calls come, and given up an idle_timeout after the last one", () => {
    const idle = {
      upstreamConfig: {
        name: "http",
        typedConfig: anyPack(
          HttpProtocolOptionsSchema,
          create(HttpProtocolOptionsSchema, { commonHttpProtocolOptions: { idleTimeout: seconds(60) } })
        )
      }
    }
    const world = new Sessions().cluster("a", listed, idle).endpoints("a", { 1: DRAINING, 2: UNKNOWN })
    const cookie = `host=${Encoding.encodeBase64("10.0.0.1:80;a")}`
    for (let minute = 0; minute < 10; minute++) {
      expect(world.go(1, cookie)).toEqual(["10.0.0.1:80"])
      world.wait(58_000)
      expect(world.connections.has("10.0.0.1:80")).toBe(true)
    }
    world.wait(60_000)
    expect(Array.from(world.connections.keys())).toEqual(["10.0.0.2:80"])
    expect(world.go(1, cookie)).toEqual(["10.0.0.1:80"])
    expect(world.faults).toEqual([])
  })

  it("★ stays in its cluster whatever the weights, as long as the route has it (A60)", () => {
    const world = new Sessions(undefined, split({ a: 1, b: 1 })).cluster("a").cluster("b")
    world.priorities("a", [1, 2]).priorities("b", [11, 12])
    world.go(1)
    const { cookie, host } = world
    expect(world.go(20)).toEqual([host])
    const [mine, other] = host.length === 11 ? ["a", "b"] : ["b", "a"]
    world.route({ match: all, action: split({ [mine]: 1, [other]: 1_000 }) })
    expect(world.go(20, cookie)).toEqual([host])
    world.route({ match: all, action: split({ [mine]: 0, [other]: 1 }) })
    world.wait(1_000)
    expect(world.go(20, cookie)).not.toContain(host)
    expect(world.cookie).not.toBe(cookie)
  })

  it("the settings of a route hide those of the listener", () => {
    const off = new Sessions(undefined, undefined, { sessions: perRoute("off") }).cluster("a").priorities("a", [1, 2])
    off.go(4)
    expect(off.cookie).toBe("")
    const other = new Sessions(undefined, undefined, { sessions: perRoute({ name: "own" }) }).cluster("a")
    other.priorities("a", [1, 2]).go(1)
    expect(other.cookie).toMatch(/^own=/)
    expect(other.go(10)).toEqual([other.host])
  })

  it("of a call that is tried again stays where it is", () => {
    const world = new Sessions().cluster("a").priorities("a", [1, 2, 3])
    world.go(1)
    const places: Array<string> = []
    const before = world.onSend
    world.onSend = (id, address, output) => {
      places.push(address)
      before?.(id, address, output)
      if (places.length % 4 !== 0) world.give({ _tag: "Retry", id, outcome: "Failed" })
    }
    world.go(1)
    expect(places).toEqual([world.host, world.host, world.host, world.host])
  })
})

describe("xds_override_host_experimental", () => {
  const both = Endpoint.make(["10.0.0.1:80", "[::1]:80"])
  const other = Endpoint.make(["10.0.0.2:80"])
  const config = (...endpoints: ReadonlyArray<Endpoint.Endpoint>) =>
    OverrideHost.policy.with({ ...OverrideHost.standard, endpoints, child: silent })
  const picked = (steps: Steps, hosts: ReadonlyArray<string> | undefined) =>
    outcome(CompiledPicker.pick(steps.told?.picker ?? Pickers.queue, callWith({ hosts }), counters()))

  it("says what its child says, and nothing while it is given a config", () => {
    const steps = new Steps(OverrideHost.policy).config(config(both))
    expect(steps.said).toEqual(["Create child"])
    expect(steps.child("child", "IDLE").said).toEqual(["State IDLE"])
    expect(steps.config(config(other)).said).toEqual(["Update child", "State IDLE"])
    expect(steps.exitIdle().said).toEqual(["ExitIdle child"])
  })

  it("★ an ejected endpoint gets no calls of sessions", () => {
    const steps = new Steps(OverrideHost.policy).config(config({ ...both, isEjected: true }, other))
    steps.child("child", "READY")
    expect(picked(steps, ["10.0.0.1:80"])).toBe("child READY")
    expect(picked(steps, ["10.0.0.1:80", "10.0.0.2:80"])).toBe("connect 10.0.0.2:80")
  })

  it("★ of the addresses of an endpoint that one is taken that is connected already", () => {
    const steps = new Steps(OverrideHost.policy).config(config(both, other)).child("child", "READY")
    expect(picked(steps, undefined)).toBe("child READY")
    expect(picked(steps, ["10.0.0.9:80"])).toBe("child READY")
    expect(picked(steps, ["10.0.0.1:80"])).toBe("connect 10.0.0.1:80")
    steps.isConnected = (address) => address === "[::1]:80"
    steps.sessions({ "10.0.0.1:80": 0 })
    expect(steps.said).toEqual(["Connect [::1]:80", "State READY"])
    expect(picked(steps, ["10.0.0.1:80"])).toBe("queue")
    steps.connection("[::1]:80", "READY")
    expect(picked(steps, ["10.0.0.1:80"])).toBe("[::1]:80")
    expect(steps.sessions({ "10.0.0.1:80": 5 }).said).toEqual([])
  })

  it("one address that failed: the next of the endpoint; all: the child; after the backoff again", () => {
    const steps = new Steps(OverrideHost.policy).config(config(both)).child("child", "READY")
    steps.sessions({ "[::1]:80": 0 })
    expect(steps.connection("[::1]:80", "TRANSIENT_FAILURE").said).toEqual(["Disconnect [::1]:80", "State READY"])
    expect(picked(steps, ["[::1]:80"])).toBe("connect [::1]:80")
    expect(steps.sessions({ "[::1]:80": 0 }).said).toEqual(["Connect 10.0.0.1:80", "State READY"])
    steps.connection("10.0.0.1:80", "TRANSIENT_FAILURE")
    expect(picked(steps, ["[::1]:80"])).toBe("child READY")
    // Backoff: 1 s less a fifth, as 0 is drawn; then 1.6 s less a fifth.
    expect(steps.at(799).said).toEqual([])
    expect(picked(steps.at(800), ["[::1]:80"])).toBe("connect [::1]:80")
    steps.sessions({ "[::1]:80": 800 }).connection("[::1]:80", "TRANSIENT_FAILURE")
    expect(OverrideHost.policy.deadline(steps.state)).toBe(800 + 1_280)
  })

  it("a connection that is lost is not made again before a session asks for it", () => {
    const steps = new Steps(OverrideHost.policy).config(config(other)).child("child", "READY")
    steps.sessions({ "10.0.0.2:80": 0 }).connection("10.0.0.2:80", "READY")
    expect(steps.connection("10.0.0.2:80", "IDLE").said).toEqual(["Disconnect 10.0.0.2:80", "State READY"])
    expect(picked(steps, ["10.0.0.2:80"])).toBe("connect 10.0.0.2:80")
  })

  it("looks for connections that no session uses not more often than every 5 s", () => {
    const steps = new Steps(OverrideHost.policy)
    steps.config(
      OverrideHost.policy.with({
        ...OverrideHost.standard,
        idleTimeout: 1_000,
        endpoints: [both, other],
        child: silent
      })
    )
    steps.child("child", "READY").sessions({ "10.0.0.1:80": 0, "10.0.0.2:80": 2_000 })
    expect(steps.at(1_000).said).toEqual(["Disconnect 10.0.0.1:80", "State READY"])
    expect(OverrideHost.policy.deadline(steps.state)).toBe(6_000)
    expect(steps.at(6_000).said).toEqual(["Disconnect 10.0.0.2:80", "State READY"])
    expect(OverrideHost.policy.deadline(steps.state)).toBe(Number.POSITIVE_INFINITY)
  })
})
