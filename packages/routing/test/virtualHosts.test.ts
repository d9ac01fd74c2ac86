/** A channel whose virtual host is fetched on demand (VHDS): the decision waits for it. */
import { create, toBinary } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as Decoder from "@effect-xds/routing/Decoder"
import * as RouteTable from "@effect-xds/routing/RouteTable"
import * as VirtualHost from "@effect-xds/routing/VirtualHost"
import * as XdsConfig from "@effect-xds/routing/XdsConfig"
import { describe, expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { all, to } from "./Routes.js"
import { assignmentOf, clusterOf, listenerOf, value } from "./World.js"

const ads = { configSourceSpecifier: { case: "ads" as const, value: {} } }

/** Routes with VHDS and these domains of their own. */
const routes = (...domains: ReadonlyArray<string>) =>
  RouteTable.make(
    create(RouteConfigurationSchema, {
      name: "routes",
      vhds: { configSource: ads },
      virtualHosts: domains.map((domain) => ({
        name: domain,
        domains: [domain],
        routes: [{ match: all, action: to("a") }]
      }))
    })
  )

const message = (domain: string, cluster: string) =>
  create(VirtualHostSchema, { name: domain, domains: [domain], routes: [{ match: all, action: to(cluster) }] })
const fetched = (domain: string, cluster: string) =>
  value(VirtualHost.fetched(message(domain, cluster), RouteTable.standard))

class Channel {
  private config: XdsConfig.XdsConfig
  readonly watched = new Set<string>()
  told: XdsConfig.Told | undefined
  constructor(authority: string) {
    this.config = XdsConfig.make("shop", authority)
    this.step({ _tag: "Start" })
    this.step({ _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
  }
  step(input: XdsConfig.Input): this {
    const [next, outputs] = XdsConfig.step(this.config, input)
    this.config = next
    for (const output of outputs) {
      if ("kind" in output) this.watched[output._tag === "Unwatch" ? "delete" : "add"](`${output.kind} ${output.name}`)
      else this.told = output
    }
    return this
  }
  cluster(name: string): this {
    return this.step({ _tag: "Cluster", name, known: value(clusterOf(name)) }).step({
      _tag: "Assignment",
      name,
      known: value(assignmentOf(name, [1]))
    })
  }
  get outcome(): string {
    if (this.told === undefined) return "waits"
    return this.told._tag === "Failed" ? this.told.message : Array.from(this.told.config.clusters.keys()).join()
  }
  get hosts(): ReadonlyArray<string> {
    return Array.from(this.watched).filter((each) => each.startsWith("VirtualHost"))
  }
}

const vhds = (known: XdsConfig.Known<VirtualHost.VirtualHost>): XdsConfig.Input => ({
  _tag: "VirtualHost",
  name: "routes/b.x:80",
  known
})

describe("a virtual host on demand", () => {
  it("is watched if the routes have none for the authority; nothing is told before it has come", () => {
    const channel = new Channel("B.x:80")
    channel.step({ _tag: "RouteConfiguration", name: "routes", known: value(routes("a.x")) })
    expect(channel.hosts).toEqual(["VirtualHost routes/b.x:80"])
    expect(channel.outcome).toBe("waits")
    channel.step(vhds(fetched("b.x:80", "b")))
    expect(channel.outcome).toBe("waits")
    expect(channel.cluster("b").outcome).toBe("b")
    channel.step(vhds(fetched("*", "c")))
    expect(channel.outcome).toBe("b")
    expect(channel.cluster("c").outcome).toBe("c")
    expect(channel.watched).not.toContain("Cluster b")
  })

  it("★ is asked for again when the source is another, and used until the answer is there", () => {
    const routesOf = (source: "ads" | "self") =>
      value(
        RouteTable.make(
          create(RouteConfigurationSchema, {
            name: "routes",
            vhds: { configSource: { configSourceSpecifier: { case: source, value: {} } } }
          })
        )
      )
    const outputs: Array<string> = []
    const step = (channel: XdsConfig.XdsConfig, input: XdsConfig.Input) => {
      const [next, out] = XdsConfig.step(channel, input)
      for (const each of out)
        if ("kind" in each && each.kind === "VirtualHost") outputs.push(`${each._tag} ${each.name}`)
      return next
    }
    const known = (source: "ads" | "self"): XdsConfig.Input => ({
      _tag: "RouteConfiguration",
      name: "routes",
      known: routesOf(source)
    })
    let channel = step(XdsConfig.make("shop", "b.x:80"), { _tag: "Start" })
    channel = step(channel, { _tag: "Listener", name: "shop", known: value(listenerOf("routes")) })
    for (const source of ["ads", "ads"] as const) channel = step(channel, known(source))
    channel = step(channel, vhds(fetched("b.x:80", "b")))
    const before = channel.resources.VirtualHost.get("routes/b.x:80")
    channel = step(channel, known("ads"))
    expect(channel.resources.VirtualHost.get("routes/b.x:80")).toBe(before)
    expect(outputs).toEqual(["Watch routes/b.x:80"])
    channel = step(channel, known("self"))
    expect(outputs).toEqual(["Watch routes/b.x:80", "Refresh routes/b.x:80"])
    expect(channel.resources.VirtualHost.get("routes/b.x:80")).toBe(before)
  })

  it("★ is told as changed though its clusters are the same", () => {
    const channel = new Channel("b.x:80").step({ _tag: "RouteConfiguration", name: "routes", known: value(routes()) })
    channel.step(vhds(fetched("b.x:80", "b"))).cluster("b")
    const before = channel.told
    channel.step(vhds(fetched("*.x:80", "b")))
    expect(channel.told).not.toBe(before)
  })

  it("does not exist: the channel fails, and lives again when it is made", () => {
    const channel = new Channel("b.x:80").step({ _tag: "RouteConfiguration", name: "routes", known: value(routes()) })
    channel.step(vhds({ _tag: "Failed", message: "the server does not have it" }))
    expect(channel.outcome).toBe('VirtualHost "routes/b.x:80": the server does not have it')
    channel.step(vhds(fetched("b.x:80", "b"))).cluster("b")
    expect(channel.outcome).toBe("b")
  })

  it("★ for other domains is none", () => {
    const channel = new Channel("b.x:80").step({ _tag: "RouteConfiguration", name: "routes", known: value(routes()) })
    channel.step(vhds(fetched("c.x", "b")))
    expect(channel.outcome).toBe('no virtual host of RouteConfiguration "routes" is for "b.x:80"')
  })

  it("★ with a domain of the routes is rejected; the one before stays", () => {
    const claiming = (...domains: ReadonlyArray<string>) =>
      value(
        VirtualHost.fetched(
          create(VirtualHostSchema, { name: "b", domains: [...domains], routes: [{ match: all, action: to("c") }] }),
          RouteTable.standard
        )
      )
    const channel = new Channel("b.x:80")
    channel.step({ _tag: "RouteConfiguration", name: "routes", known: value(routes("a.x", "*.y")) })
    channel.step(vhds(claiming("b.x:80", "A.x")))
    expect(channel.outcome).toBe('VirtualHost "routes/b.x:80": the domain "A.x" belongs to RouteConfiguration "routes"')
    channel.step(vhds(claiming("b.x:80", "*.y")))
    expect(channel.outcome).toContain('the domain "*.y" belongs to')
    // A host that a domain of the routes would match is none of theirs.
    channel.step(vhds(claiming("b.x:80", "c.y"))).cluster("c")
    expect(channel.outcome).toBe("c")
    channel.step(vhds(claiming("b.x:80", "a.x")))
    expect(channel.outcome).toBe("c")
  })

  it("gives way to one of the routes, and is not watched any more", () => {
    const channel = new Channel("b.x:80").step({ _tag: "RouteConfiguration", name: "routes", known: value(routes()) })
    channel.step(vhds(fetched("b.x:80", "b"))).cluster("b")
    channel.step({ _tag: "RouteConfiguration", name: "routes", known: value(routes("*")) })
    expect(channel.hosts).toEqual([])
    expect(channel.cluster("a").outcome).toBe("a")
  })

  it("is not asked for where there is no VHDS, or for an authority with a slash", () => {
    const plain = RouteTable.make(create(RouteConfigurationSchema, { name: "routes" }))
    const channel = new Channel("b.x:80").step({ _tag: "RouteConfiguration", name: "routes", known: value(plain) })
    expect([channel.hosts, channel.outcome]).toEqual([
      [],
      'no virtual host of RouteConfiguration "routes" is for "b.x:80"'
    ])
    const slash = new Channel("b/x").step({ _tag: "RouteConfiguration", name: "routes", known: value(routes()) })
    expect(slash.hosts).toEqual([])
    expect(slash.outcome).toContain('is for "b/x"')
  })

  it("is rejected with its mistakes", () => {
    const { decode } = Decoder.virtualHost()
    expect(Either.isRight(decode(toBinary(VirtualHostSchema, message("b.x", "b"))))).toBe(true)
    const bad = decode(toBinary(VirtualHostSchema, message("b*x", "b")))
    expect(Either.isLeft(bad) && bad.left).toContain("one * is allowed")
  })
})
