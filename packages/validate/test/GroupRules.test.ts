import { create, fromJson, toBinary } from "@bufbuild/protobuf"
import { anyPack, AnySchema } from "@bufbuild/protobuf/wkt"
import { it } from "@effect/vitest"
import { ResourceType } from "@effect-xds/proto"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { ScopedRouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import { Effect, Either } from "effect"
import { readFileSync } from "node:fs"
import { describe, expect } from "vitest"
import { GroupIndex, GroupRule, GroupRules, Rules } from "../src/index.js"
import {
  address,
  ads,
  any,
  assignment,
  chain,
  cluster,
  type Config,
  edsCluster,
  endpoint,
  type Json,
  listener,
  rdsManager,
  route,
  routes,
  upstreamTls,
  virtualHost
} from "./Config.js"
import { resources } from "./ConfigResources.js"
import { withHosts, withRegex } from "./mistakes/Groups.js"
import { mistakes } from "./mistakes/index.js"

const check = (config: Config, options?: GroupRules.Options) =>
  Effect.flatMap(
    Effect.promise(() => resources(config)),
    (all) => GroupRules.check(all, options)
  )

/** The names of the rules that are broken, in order; `field` where a message breaks its own. */
const broken = (config: Config) =>
  Effect.gen(function* () {
    const all = yield* Effect.promise(() => resources(config))
    const { faults } = yield* GroupRules.check(all)
    const verdicts = yield* Effect.forEach(all, (resource) => Effect.either(Rules.resource(resource)))
    const names = faults.map(({ rule }) => rule)
    return Array.from(new Set([...names, ...(verdicts.some(Either.isLeft) ? ["field"] : [])]))
  })

describe("★ an expression that is much work", () => {
  const twoHundred = Array.from({ length: 200 }, (_, index) => index)

  /** The rules that are broken, and how many turns others had meanwhile. */
  const broken = (regex: string) =>
    Effect.gen(function* () {
      let turns = 0
      const others = Effect.forever(
        Effect.zipRight(
          Effect.promise(() => new Promise(setImmediate)),
          Effect.sync(() => (turns += 1))
        )
      )
      const all = yield* Effect.promise(() => resources(withRegex(regex)))
      // Types are loaded once.
      yield* check(withRegex("a"))
      const { faults } = yield* Effect.raceFirst(GroupRules.check(all), others)
      return { rules: faults.map(({ rule }) => rule), turns }
    })

  it.effect.each([
    { title: "a class of thousands of classes", regex: `[${"\\pL".repeat(10_000)}]`, rules: [] },
    { title: "alternatives that are classes", regex: "\\pL|".repeat(10_000), rules: [] },
    { title: "letters in both cases", regex: `(?i)[${"B-\\xff".repeat(4_000)}]`, rules: [] },
    { title: "what is repeated", regex: twoHundred.map((index) => `${index}{1000}`).join(""), rules: ["size"] },
    { title: "what is repeated twice", regex: "(?:(?:abcdefghij){30}[(]\\)){33}".repeat(20), rules: ["size"] },
    { title: "a long text", regex: "a".repeat(65_000), rules: ["size"] },
    { title: "classes of letters", regex: "[a-z]".repeat(10_000), rules: ["size"] }
  ])("is read: $title", ({ regex, rules }) =>
    Effect.map(broken(regex), (found) => {
      expect(found.rules).toEqual(rules.map((rule) => `regular-expression-${rule}`))
    })
  )

  it.effect("is read in turns", () =>
    Effect.map(broken("(ab*|c)".repeat(9_000)), ({ rules, turns }) => {
      expect(rules).toEqual(["regular-expression-size"])
      expect(turns).toBeGreaterThan(20)
    })
  )

  it.effect("is not measured for ever: of what is left it is known that it has some instructions at least", () =>
    Effect.gen(function* () {
      const regexes = Array.from({ length: 2_000 }, () => "(?:a?){60}")
      const all = regexes.map((regex) => route({ match: { safe_regex: { regex } }, route: { cluster: "web" } }))
      const { faults } = yield* check(withHosts(virtualHost({ routes: all })), { maxFaults: 3_000 })
      expect(faults.length).toBeGreaterThan(100)
      expect(faults.length).toBeLessThan(1_000)
    })
  )
})

const toClusters = (...names: ReadonlyArray<string>): Json =>
  routes({ virtual_hosts: [virtualHost({ routes: names.map((name) => route({ route: { cluster: name } })) })] })

const byRds = (changes: Json = {}): Json => listener({ filter_chains: [chain(rdsManager())], ...changes })

const texts = (faults: ReadonlyArray<GroupRules.GroupFault>): ReadonlyArray<string> => faults.map(GroupRules.toText)

describe("A configuration with one mistake", () => {
  it.effect.each(mistakes)("$title", ({ config, rules }) =>
    Effect.map(broken(config), (found) => expect(found).toEqual(rules))
  )

  it("is refused here where Envoy refuses it, or it is said why not", () => {
    const isError = (rule: string): boolean => rule === "field" || GroupRule.find(rule)?.severity === "error"
    for (const { differs, envoy, rules, title } of mistakes) {
      const ours = rules.some(isError) ? "refuses" : "accepts"
      expect(ours !== envoy, title).toBe(differs !== undefined)
    }
  })

  it("has a title of its own", () => {
    expect(new Set(mistakes.map(({ title }) => title)).size).toBe(mistakes.length)
  })
})

describe("Rules", () => {
  /** They need more than one resource, bytes that are no JSON, or gRPC; the tests below break them. */
  const elsewhere = ["route-reference", "endpoints-reference", "scope-key-unique", "extension-known"].concat(
    "locality-unique",
    "priority-gap",
    "endpoint-unique"
  )

  it("each have a name of their own, and a configuration that breaks it", () => {
    const names = GroupRule.all.map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    const shown = new Set([...mistakes.flatMap(({ rules }) => rules), ...elsewhere])
    expect(names.filter((name) => !shown.has(name))).toEqual([])
    for (const name of names) expect(name).toMatch(/^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/)
  })

  it("are those of the table in the README", () => {
    const readme = readFileSync(new URL("../README.md", import.meta.url), "utf8")
    const rows = GroupRule.all.map(
      ({ name, peers, severity, source, summary }) =>
        `| \`${name}\` | ${severity} | ${peers.join(", ")} | ${summary} | ${source} |`
    )
    const table = readme.split("\n").filter((line) => /^\| `[a-z0-9-]+` \|/.test(line))
    expect(table).toEqual(rows)
  })

  it.effect("★ of endpoints are told with the place of each", () =>
    Effect.gen(function* () {
      const load = {
        cluster_name: "web",
        endpoints: [
          { lb_endpoints: [endpoint(), endpoint(0), {}] },
          { lb_endpoints: [{ endpoint: { additional_addresses: [{}, { address: address(0) }] } }, endpoint(80, "a")] }
        ]
      }
      const { faults } = yield* check({ clusters: [cluster("web", { load_assignment: load })] })
      const at = "load_assignment.endpoints"
      expect(faults.map(({ path }) => path)).toEqual([
        `${at}[0].lb_endpoints[1].endpoint.address.socket_address.port_value`,
        `${at}[0].lb_endpoints[2].endpoint.address`,
        `${at}[1].lb_endpoints[0].endpoint.address`,
        `${at}[1].lb_endpoints[1].endpoint.address.socket_address.address`
      ])
    })
  )

  it.effect("that are off are not told", () =>
    Effect.gen(function* () {
      const config = { clusters: [edsCluster("a")], routes: [toClusters("nope")] }
      const all = yield* check(config)
      expect(all.faults.map(({ rule }) => rule)).toEqual(["cluster-reference", "endpoints-reference"])
      const some = yield* check(config, { off: ["endpoints-reference", "no-such-rule"] })
      expect(some.faults.map(({ rule }) => rule)).toEqual(["cluster-reference"])
    })
  )
})

describe("References", () => {
  it.effect("are told once for each resource that has them, with their first place", () =>
    Effect.gen(function* () {
      const { faults } = yield* check({
        listeners: [byRds()],
        routes: [toClusters("web", "nope", "nope")],
        clusters: [cluster()]
      })
      expect(texts(faults)).toEqual([
        'routes "main": virtual_hosts[0].routes[1].route.cluster names cluster "nope", which is not there'
      ])
      expect(faults).toMatchObject([{ rule: "cluster-reference", severity: "warning", name: "main" }])
    })
  )

  it.effect("may lead to what the peer was started with", () =>
    Effect.gen(function* () {
      const present = [{ typeUrl: ResourceType.Cluster.typeUrl, name: "nope" }]
      const { faults } = yield* check({ routes: [toClusters("nope")] }, { present })
      expect(faults).toEqual([])
    })
  )

  it.effect("of listeners, clusters and TLS lead to their types", () =>
    Effect.gen(function* () {
      const { faults } = yield* check({
        listeners: [byRds()],
        clusters: [
          edsCluster("a"),
          edsCluster("b", { eds_cluster_config: { eds_config: { self: {} }, service_name: "x" } })
        ]
      })
      expect(texts(faults)).toEqual([
        'listeners "ingress": filter_chains[0].filters[0].typed_config[envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager].rds.route_config_name names route "main", which is not there',
        'clusters "a": name names endpoints "a", which is not there',
        'clusters "b": eds_cluster_config.service_name names endpoints "x", which is not there'
      ])
    })
  )

  it.effect("to what another server or a file has are not asked for", () =>
    Effect.gen(function* () {
      const elsewhere = { eds_config: { path_config_source: { path: "/eds.yaml" }, resource_api_version: "V3" } }
      const { faults } = yield* check({ clusters: [edsCluster("a", { eds_cluster_config: elsewhere })] })
      expect(faults).toEqual([])
    })
  )

  it.effect("in a circle are nothing special", () =>
    Effect.gen(function* () {
      const aggregate = (name: string, ...clusters: ReadonlyArray<string>): Json =>
        cluster(name, {
          type: undefined,
          load_assignment: undefined,
          lb_policy: "CLUSTER_PROVIDED",
          cluster_type: {
            name: "envoy.clusters.aggregate",
            typed_config: any("envoy.extensions.clusters.aggregate.v3.ClusterConfig", { clusters })
          }
        })
      const api = { name: "api", api_listener: { api_listener: rdsManager()["typed_config"] } }
      const { faults } = yield* check({
        listeners: [api],
        routes: [toClusters("a")],
        clusters: [aggregate("a", "b"), aggregate("b", "a", "b")]
      })
      expect(faults).toEqual([])
    })
  )
})

describe("What only one may have", () => {
  it.effect("is told to the second: an address", () =>
    Effect.gen(function* () {
      const { faults } = yield* check({
        listeners: ["a", "b"].map((name) => byRds({ name, address: address(80) })),
        routes: [toClusters()]
      })
      expect(texts(faults)).toEqual(['listeners "b": address must not be that of another listener'])
    })
  )

  it.effect("is told to the second: the key of a scope", () =>
    Effect.gen(function* () {
      const scope = (name: string, key: string): GroupRules.Resource => ({
        typeUrl: ResourceType.ScopedRouteConfiguration.typeUrl,
        name,
        value: toBinary(
          ScopedRouteConfigurationSchema,
          fromJson(ScopedRouteConfigurationSchema, {
            name,
            routeConfigurationName: "main",
            key: { fragments: [{ stringKey: key }] }
          })
        )
      })
      const main = yield* Effect.promise(() => resources({ routes: [toClusters()] }))
      const all = [...main, scope("a", "x"), scope("b", "y"), scope("c", "x")]
      const { faults } = yield* GroupRules.check(all)
      expect(texts(faults)).toEqual([expect.stringMatching(/"c": key must not be that of another scope$/)])
    })
  )
})

describe("Rules of gRPC alone", () => {
  const locality = (zone: string, changes: Json = {}): Json => ({
    locality: { zone },
    load_balancing_weight: 1,
    lb_endpoints: [endpoint()],
    ...changes
  })
  const endpoints = [
    { cluster_name: "web", endpoints: [locality("a"), locality("a"), locality("b", { priority: 2 })] },
    // A locality without weight is left out first.
    { cluster_name: "fine", endpoints: [locality("a"), locality("a", { load_balancing_weight: undefined })] }
  ]
  const others = { clusters: [edsCluster(), edsCluster("fine")], endpoints, routes: [toClusters("web", "fine")] }
  const api = { name: "api", api_listener: { api_listener: rdsManager()["typed_config"] } }

  it.effect("count for what a listener of gRPC leads to", () =>
    Effect.gen(function* () {
      const { faults } = yield* check({ listeners: [api], ...others })
      expect(faults.map(({ name, rule }) => `${name} ${rule}`)).toEqual([
        "web locality-unique",
        "web endpoint-unique",
        "web endpoint-unique",
        "web priority-gap"
      ])
    })
  )

  it.effect("do not count for the others", () =>
    Effect.gen(function* () {
      const { faults } = yield* check({ listeners: [byRds()], ...others })
      expect(faults).toEqual([])
    })
  )
})

describe("A check", () => {
  it.effect("names the type that the API does not have", () =>
    Effect.gen(function* () {
      const typedConfig = create(AnySchema, {
        typeUrl: "type.googleapis.com/mine.Filter",
        value: new Uint8Array([8, 1])
      })
      const message = fromJson(ListenerSchema, { name: "own", address: { pipe: { path: "/x" } } })
      message.filterChains.push(
        fromJson(ListenerSchema, { filterChains: [{ filters: [{ name: "own" }] }] }).filterChains[0] ??
          expect.unreachable()
      )
      const [filter] = message.filterChains[0]?.filters ?? []
      if (filter !== undefined) filter.configType = { case: "typedConfig", value: typedConfig }
      const resource = { typeUrl: ResourceType.Listener.typeUrl, name: "own", value: toBinary(ListenerSchema, message) }
      const { faults } = yield* GroupRules.check([resource])
      expect(texts(faults)).toEqual([
        'listeners "own": filter_chains[0].filters[0].typed_config is a mine.Filter, which Envoy\'s API does not have'
      ])
    })
  )

  it.effect("does not open what Envoy never opens, also of a resource that is read in steps", () =>
    Effect.gen(function* () {
      const typed = {
        large: any("envoy.config.core.v3.DataSource", { inline_string: "x".repeat(MessageSteps.least) }),
        bad: any("envoy.config.core.v3.CidrRange", { address_prefix: "host" }),
        empty: any("envoy.config.core.v3.DataSource")
      }
      const config = { clusters: [cluster("web", { metadata: { typed_filter_metadata: typed } })] }
      const all = yield* Effect.promise(() => resources(config))
      expect(all.every(GroupIndex.isLarge)).toBe(true)
      expect(yield* broken(config)).toEqual([])
    })
  )

  it.effect("passes over what cannot be read", () =>
    Effect.gen(function* () {
      const { faults } = yield* GroupRules.check([
        { typeUrl: ResourceType.Cluster.typeUrl, name: "a", value: new Uint8Array([0xff]) },
        { typeUrl: "type.googleapis.com/nobody.Knows", name: "b", value: new Uint8Array([1]) }
      ])
      expect(faults).toEqual([])
    })
  )

  it.effect("tells so many faults, and whether there are more", () =>
    Effect.gen(function* () {
      const config = { clusters: ["a", "b", "c"].map((name) => edsCluster(name)) }
      const two = yield* check(config, { maxFaults: 2 })
      expect([two.faults.length, two.more]).toEqual([2, true])
      const three = yield* check(config, { maxFaults: 3 })
      expect([three.faults.length, three.more]).toEqual([3, false])
    })
  )

  it.effect("reads a resource again only if its bytes are others", () =>
    Effect.gen(function* () {
      const cache = GroupRules.cache()
      const all = yield* Effect.promise(() => resources({ clusters: [edsCluster("a"), edsCluster("b")] }))
      const first = yield* GroupRules.check(all, { cache })
      expect(first.messages).toBeGreaterThan(0)
      const [a] = all
      const changed = yield* Effect.promise(() =>
        resources({ clusters: [edsCluster("b")], endpoints: [assignment("a")] })
      )
      const second = yield* GroupRules.check([...(a === undefined ? [] : [a]), ...changed], { cache })
      expect(second.messages).toBeLessThan(first.messages + 10)
      expect(texts(second.faults)).toEqual(['clusters "b": name names endpoints "b", which is not there'])
      const third = yield* GroupRules.check([...(a === undefined ? [] : [a]), ...changed], { cache })
      expect(third).toEqual({ ...second, messages: 0 })
    })
  )

  it.effect("reads one array of bytes for each type of which it is a resource", () =>
    Effect.gen(function* () {
      const at = (type: ResourceType.ResourceType, value: Uint8Array) => ({ typeUrl: type.typeUrl, name: "a", value })
      const { ClusterLoadAssignment, Listener, Runtime } = ResourceType
      const alone = yield* GroupRules.check([at(Listener, new Uint8Array())])
      expect(alone.faults).not.toEqual([])
      for (const options of [{}, { cache: GroupRules.cache() }, { cache: GroupRules.cache({ plain: false }) }]) {
        const bytes = new Uint8Array()
        // An assignment without anything says nothing, a listener must have an address.
        for (const all of [
          [at(ClusterLoadAssignment, bytes), at(Listener, bytes), at(Runtime, bytes)],
          [at(Runtime, bytes), at(ClusterLoadAssignment, bytes), at(Listener, bytes)]
        ]) {
          const { faults } = yield* GroupRules.check(all, options)
          expect(faults).toEqual(alone.faults)
        }
      }
    })
  )

  it.effect("of a virtual host by VHDS does not know how long a direct response may be", () =>
    Effect.gen(function* () {
      const body = { inline_string: "x".repeat(5000) }
      const host = virtualHost({ name: "main/a", routes: [route({ direct_response: { status: 200, body } })] })
      const table = { name: "main", max_direct_response_body_size_bytes: 10_000, vhds: { config_source: ads } }
      expect((yield* check({ listeners: [byRds()], routes: [table], virtualHosts: [host] })).faults).toEqual([])
      const inside = yield* check({ listeners: [byRds()], routes: [routes({ virtual_hosts: [host] })] })
      expect(inside.faults.map(({ rule }) => rule)).toEqual(["direct-response-size"])
    })
  )

  it.effect("of many resources lets others come between", () =>
    Effect.gen(function* () {
      const config = { clusters: Array.from({ length: 1000 }, (_, index) => cluster(`c${index}`)) }
      const all = yield* Effect.promise(() => resources(config))
      let turns = 0
      const timer = setInterval(() => turns++, 0)
      const { messages } = yield* GroupRules.check(all)
      clearInterval(timer)
      expect(messages).toBeGreaterThan(2 * 2000)
      expect(turns).toBeGreaterThanOrEqual(2)
    })
  )

  it.effect("takes steps in proportion to the size", () =>
    Effect.gen(function* () {
      const config = (count: number): Config => ({
        routes: [toClusters(...Array.from({ length: count }, (_, index) => `c${index}`))],
        clusters: Array.from({ length: count }, (_, index) => edsCluster(`c${index}`))
      })
      const small = yield* check(config(100))
      const large = yield* check(config(1000))
      expect(large.messages / small.messages).toBeLessThan(10.1)
    })
  )

  it.effect("does not go into what is nested too deep, nor into Anys without end", () =>
    Effect.gen(function* () {
      let nested = create(AnySchema, { typeUrl: "type.googleapis.com/google.protobuf.Any" })
      for (let depth = 0; depth < 200; depth++) nested = anyPack(AnySchema, nested)
      const message = create(ListenerSchema, { name: "deep", apiListener: { apiListener: nested } })
      const resource = {
        typeUrl: ResourceType.Listener.typeUrl,
        name: "deep",
        value: toBinary(ListenerSchema, message)
      }
      const { faults, messages } = yield* GroupRules.check([resource])
      expect(faults).toEqual([])
      expect(messages).toBeLessThan(150)
    })
  )

  it.effect("of chains with more combinations than anyone has ends", () =>
    Effect.gen(function* () {
      const names = Array.from({ length: 300 }, (_, index) => `n${index}`)
      const match = { server_names: names, application_protocols: names, source_ports: [1, 2, 3] }
      const chains = [chain(rdsManager()), { ...chain(rdsManager()), filter_chain_match: match }]
      const { faults } = yield* check({ listeners: [listener({ filter_chains: chains })], routes: [toClusters()] })
      expect(faults).toEqual([])
    })
  )

  it.effect("has nothing against names that are verified with an authority, which may come by SDS", () =>
    Effect.gen(function* () {
      const names = { match_typed_subject_alt_names: [{ san_type: "DNS", matcher: { exact: "a" } }] }
      const sds = { name: "ca", sds_config: { resource_api_version: "V3", path_config_source: { path: "/ca.yaml" } } }
      const contexts: ReadonlyArray<Json> = [
        { validation_context: { ...names, trusted_ca: { filename: "/ca.pem" } } },
        {
          combined_validation_context: { default_validation_context: names, validation_context_sds_secret_config: sds }
        }
      ]
      const clusters = contexts.map((context, index) =>
        cluster(`c${index}`, { transport_socket: upstreamTls(context) })
      )
      expect((yield* check({ clusters })).faults).toEqual([])
    })
  )

  it.effect("tells of long names and keys their beginnings: they may be in each of a thousand faults", () =>
    Effect.gen(function* () {
      const long = "k".repeat(100_000)
      const permissions = Array.from({ length: 20 }, () => ({ destination_ip: { address_prefix: "nope" } }))
      const rbac = any("envoy.extensions.filters.http.rbac.v3.RBACPerRoute", {
        rbac: { rules: { policies: { [long]: { permissions, principals: [{ any: true }] } } } }
      })
      const domains = Array.from({ length: 20 }, (_, index) => `d${index}`)
      const { faults } = yield* check({
        routes: [
          {
            name: "rbac",
            virtual_hosts: [{ name: "v", domains: ["*"], routes: [], typed_per_filter_config: { rbac, [long]: rbac } }]
          },
          {
            name: "twice",
            virtual_hosts: [
              { name: long, domains, routes: [] },
              { name: "v", domains, routes: [] }
            ]
          }
        ]
      })
      expect(faults.length).toBe(60)
      for (const { path, problem } of faults) expect(path.length + problem.length).toBeLessThan(800)
      expect(JSON.stringify(faults)).toContain(`policies[\\"${"k".repeat(64)}\\"… (100000 UTF-16 code units)]`)
    })
  )

  it.effect("tells no secret: neither a key that is no PEM, nor the value of a header", () =>
    Effect.gen(function* () {
      const { faults } = yield* check({
        secrets: [
          {
            name: "s",
            tls_certificate: { certificate_chain: { filename: "/x" }, private_key: { inline_string: "hunter2" } }
          }
        ],
        routes: [{ ...toClusters(), request_headers_to_add: [{ header: { key: "authorization", value: "hunter2%" } }] }]
      })
      expect(faults.map(({ rule }) => rule).sort()).toEqual(["header-format", "pem"])
      expect(JSON.stringify(faults)).not.toContain("hunter2")
    })
  )
})
