import { create, toBinary } from "@bufbuild/protobuf"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { VirtualHostSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { OnDemandHosts, SnapshotStore, XdsServer } from "@effect-xds/server"
import { AutoYield, MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, TestClock } from "effect"
import { capture, lines, settled } from "./OnDemandServer.js"

const VHDS = ResourceType.VirtualHost.typeUrl

const request = (names: ReadonlyArray<string>, gone: ReadonlyArray<string> = []) =>
  Request.incremental({
    typeUrl: VHDS,
    node: toBinary(NodeSchema, create(NodeSchema, { id: "n", cluster: "edge" })),
    resourceNamesSubscribe: names,
    resourceNamesUnsubscribe: gone
  })

const host = (name: string, domain = name) => create(VirtualHostSchema, { name, domains: [domain] })

/** Names of the virtual hosts of the group. */
const stored = (store: SnapshotStore.Service) =>
  Effect.map(
    store.get("edge"),
    Option.match({
      onNone: (): ReadonlyArray<string> => [],
      onSome: ({ own }) =>
        ResourceGroup.all(own)
          .flatMap(({ name, typeUrl }) => (typeUrl === VHDS ? [name] : []))
          .toSorted()
    })
  )

/** A server whose hosts are made by `resolve`. */
const serving = (
  resolve: OnDemandHosts.Options["resolve"],
  maxHosts?: number,
  /** Before each change of the hosts. */
  hold: Effect.Effect<void> = Effect.void,
  /** In the call that changes the hosts. */
  onUpdate: () => void = () => undefined
) =>
  Effect.gen(function* () {
    const store = yield* SnapshotStore.SnapshotStore
    yield* store.set("edge", { routes: [create(RouteConfigurationSchema, { name: "main" })] })
    const asked: Array<string> = []
    const hosts = yield* OnDemandHosts.make({
      resolve: (client, routes, name) => {
        asked.push(`${client.group} ${routes} ${name}`)
        return resolve(client, routes, name)
      },
      maxHosts
    }).pipe(
      Effect.provideService(SnapshotStore.SnapshotStore, {
        ...store,
        update: (group, change, options) => {
          onUpdate()
          return Effect.zipRight(hold, store.update(group, change, options))
        }
      })
    )
    const server = yield* XdsServer.make({ group: ({ cluster }) => cluster, onMissing: hosts.onMissing })
    yield* hosts.attach(server)
    const resources = Effect.map(store.get("edge"), (found) => found)
    return { asked, hosts, resources, server, store }
  })

const worldOf = (validate: "off" | "refuse") =>
  Layer.merge(SnapshotStore.layerMemory({ validate }), MemoryTransport.layer).pipe(Layer.provideMerge(capture))
const world = worldOf("off")

describe("virtual hosts on demand", () => {
  it.scoped(
    "★ the resolver is asked for the host of a route configuration whose name may have slashes; its domains are served unasked",
    () =>
      Effect.gen(function* () {
        const { asked, hosts } = yield* serving((_group, _routes, name) =>
          Effect.succeed(name.endsWith(".x") ? host("wide", "*.x") : undefined)
        )
        const client = yield* MemoryClient.open()
        client.send(request(["a/b/c.x", "a/b/other"]))
        yield* settled
        const first = yield* client.receive
        const second = client.unread() > 0 ? yield* client.receive : undefined
        expect([...first.names, ...(second?.names ?? [])]).toContain("a/b/wide")
        expect(asked.toSorted()).toEqual(["edge a/b c.x", "edge a/b other"])
        client.send(request(["a/b/d.x"]))
        yield* settled
        expect(asked).toHaveLength(2)
        expect(yield* hosts.size).toBe(1)
      }).pipe(Effect.provide(world))
  )

  it.scoped("★ above maxHosts those go that nobody subscribes to, also by an alias; else a new one is not added", () =>
    Effect.gen(function* () {
      lines.length = 0
      const { asked, hosts, server } = yield* serving(
        (_group, _routes, name) => Effect.succeed(name === "q.x" ? host("alias", "*.x") : host(name)),
        2
      )
      const client = yield* MemoryClient.open()
      client.send(request(["main/q.x", "main/b"]))
      yield* settled
      expect(yield* hosts.size).toBe(2)
      expect(server.isSubscribed("edge", VHDS, "main/q.x")).toBe(true)
      expect(server.isSubscribed("edge", VHDS, "main/alias")).toBe(false)
      expect(server.isSubscribed("edge", VHDS, "main/*.x")).toBe(true)
      expect(server.isSubscribed("edge", VHDS, "main/*.y")).toBe(false)
      expect(server.isSubscribed("other", VHDS, "main/q.x")).toBe(false)
      // Another host that the wildcard answers: the resolver does not know of it, and the virtual host must stay for it.
      client.send(request(["main/r.x"], ["main/q.x"]))
      yield* settled
      client.send(request(["main/c"]))
      yield* settled
      expect(lines.join("\n")).toContain("2 hosts are subscribed to, the most that are allowed; it is not added")
      client.send(request([], ["main/b"]))
      yield* settled
      client.send(request(["main/d"]))
      yield* settled
      expect(yield* hosts.size).toBe(2)
      // One that went is made again when it is asked for, if there is room.
      client.send(request(["main/b"], ["main/d"]))
      yield* settled
      expect(asked.filter((each) => each.endsWith(" b"))).toHaveLength(2)
      expect(asked.filter((each) => each.endsWith(" q.x"))).toHaveLength(1)
      expect(yield* hosts.size).toBe(2)
    }).pipe(Effect.provide(world))
  )

  it.scoped("★ a host that a client subscribes to while it is given up is made again at once", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch(true)
      const { asked, server, store } = yield* serving(
        (_group, _routes, name) => Effect.succeed(host(name)),
        2,
        gate.await
      )
      const client = yield* MemoryClient.open()
      client.send(request(["main/a", "main/c"]))
      yield* settled
      client.send(request([], ["main/a", "main/c"]))
      yield* settled
      // A store that takes its time: `a` is to go, and is still there.
      yield* gate.close
      client.send(request(["main/b"]))
      yield* settled
      client.send(request(["main/a"]))
      yield* settled
      yield* gate.open
      yield* settled
      expect(asked).toEqual(["edge main a", "edge main c", "edge main b", "edge main a"])
      expect(server.isSubscribed("edge", VHDS, "main/a")).toBe(true)
      expect(yield* stored(store)).toEqual(["main/a", "main/b"])
    }).pipe(Effect.provide(world))
  )

  it.scoped("★ a resolver that throws for the host that was given up is no fault of the one that took its place", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch(true)
      let isBroken = false
      const { asked, hosts } = yield* serving(
        (_group, _routes, name) => {
          if (isBroken && name === "a") throw new Error("the resolver is broken")
          return Effect.succeed(host(name))
        },
        1,
        gate.await
      )
      const client = yield* MemoryClient.open()
      client.send(request(["main/a"]))
      yield* settled
      client.send(request([], ["main/a"]))
      yield* settled
      yield* gate.close
      const called = yield* Effect.fork(hosts.onMissing("edge", VHDS, "main/b"))
      yield* settled
      client.send(request(["main/a"]))
      yield* settled
      isBroken = true
      yield* gate.open
      expect(yield* Fiber.await(called)).toEqual(Exit.void)
      expect(asked.slice(0, 3)).toEqual(["edge main a", "edge main b", "edge main a"])
    }).pipe(Effect.provide(world))
  )

  it.scoped("★ a host whose change takes longer than the call counts when it is in the store", () =>
    Effect.gen(function* () {
      const gate = yield* Effect.makeLatch(false)
      const { hosts, store } = yield* serving((_group, _routes, name) => Effect.succeed(host(name)), 1, gate.await)
      const client = yield* MemoryClient.open()
      client.send(request(["main/a"]))
      yield* settled
      // The server waits no longer; the change goes on.
      yield* TestClock.adjust("10 seconds")
      yield* settled
      yield* gate.open
      yield* settled
      expect(yield* stored(store)).toEqual(["main/a"])
      expect(yield* hosts.size).toBe(1)
      client.send(request(["main/b"]))
      yield* settled
      expect(yield* stored(store)).toEqual(["main/a"])
    }).pipe(Effect.provide(world))
  )

  for (const where of ["the same group", "another group"] as const) {
    it.scoped(`★ a host that was to be given up counts as long as it is in the store: in ${where}`, () =>
      Effect.gen(function* () {
        const { hosts, store } = yield* serving(
          (_group, _routes, name) => Effect.succeed(name === "bad" ? create(VirtualHostSchema, { name }) : host(name)),
          1
        )
        yield* store.set("other", { routes: [create(RouteConfigurationSchema, { name: "main" })] })
        const names = Effect.forEach(["edge", "other"], (group) =>
          Effect.map(store.get(group), (found) =>
            Option.match(found, {
              onNone: () => [],
              onSome: ({ own }) =>
                ResourceGroup.all(own).flatMap(({ name, typeUrl }) => (typeUrl === VHDS ? [`${group} ${name}`] : []))
            })
          )
        ).pipe(Effect.map((found) => found.flat()))
        const first = where === "the same group" ? "edge" : "other"
        yield* hosts.onMissing(first, VHDS, "main/a")
        expect(yield* names).toEqual([`${first} main/a`])
        // A virtual host without domains breaks a rule: the store refuses it, and with it the removal in the same group.
        yield* Effect.flip(Effect.as(hosts.onMissing("edge", VHDS, "main/bad"), "it is added"))
        const left = yield* names
        expect(left).toEqual(first === "edge" ? ["edge main/a"] : [])
        expect(yield* hosts.size).toBe(left.length)
        yield* hosts.onMissing("edge", VHDS, "main/c")
        expect(yield* names).toEqual(["edge main/c"])
        expect(yield* hosts.size).toBe(1)
      }).pipe(Effect.provide(worldOf("refuse")))
    )
  }

  it.scoped("one that nobody subscribes to is found among many that are subscribed to", () =>
    Effect.gen(function* () {
      const many = Array.from({ length: 500 }, (_, index) => `h${index}.x`)
      lines.length = 0
      const { hosts } = yield* serving((_client, _routes, name) => Effect.succeed(host(name)), many.length)
      const client = yield* MemoryClient.open()
      client.send(request(many.map((name) => `main/${name}`)))
      yield* settled
      expect(yield* hosts.size).toBe(many.length)
      // The newest goes, and there is room for another.
      client.send(request(["main/new.x"], ["main/h499.x"]))
      yield* settled
      expect(yield* hosts.size).toBe(many.length)
      expect(lines.join("\n")).not.toContain("it is not added")
    }).pipe(Effect.provide(world))
  )

  it.scoped(
    "★ a client that holds as many hosts as the server gives some up and asks for others: all of them come",
    () =>
      Effect.gen(function* () {
        const many = Array.from({ length: 2_000 }, (_, index) => `main/h${index}.x`)
        lines.length = 0
        const { hosts } = yield* serving((_client, _routes, name) => Effect.succeed(host(name)), many.length)
        const client = yield* MemoryClient.open()
        const received = new Set<string>()
        /** Until all have come, or nothing more comes. */
        const receive = (names: ReadonlyArray<string>) =>
          Effect.gen(function* () {
            for (let rounds = 0; rounds < 200 && !names.every((name) => received.has(name)); rounds++) {
              yield* settled
              while (client.unread() > 0) for (const name of (yield* client.receive).names) received.add(name)
            }
          })
        // How many may wait for the resolver is bounded, too.
        for (const part of [many.slice(0, 1_000), many.slice(1_000)]) {
          client.send(request(part))
          yield* receive(part)
        }
        expect(received.size).toBe(many.length)
        const others = Array.from({ length: 16 }, (_, index) => `main/other${index}.x`)
        client.send(request(others, many.slice(0, 250)))
        yield* receive(others)
        expect(others.filter((name) => !received.has(name))).toEqual([])
        expect(yield* hosts.size).toBe(many.length)
        expect(lines.join("\n")).not.toContain("it is not added")
      }).pipe(Effect.provide(world))
  )

  it.scoped("★ hosts that nobody knows leave nothing behind; a resolver that fails is logged", () =>
    Effect.gen(function* () {
      lines.length = 0
      // @ts-expect-error It gives what code without types may give.
      const resolve: OnDemandHosts.Options["resolve"] = (_group, _routes, name) => {
        if (name === "promised") return Promise.reject(new Error("away"))
        return name === "bad" ? Effect.fail(new Error("no database")) : Effect.succeed(undefined)
      }
      const { hosts } = yield* serving(resolve)
      const client = yield* MemoryClient.open()
      client.send(request(["main/stranger", "main/bad", "main/promised", "main/"]))
      yield* settled
      expect(yield* hosts.size).toBe(0)
      expect(lines.join("\n")).toContain("no database")
      expect(lines.join("\n")).toContain("resolve gave no Effect: a promise")
    }).pipe(Effect.provide(world))
  )

  it.scoped("a host that cannot be read, and a store that throws, keep no later call for the host waiting", () =>
    Effect.gen(function* () {
      let calls = 0
      const broken = Object.defineProperty(host("a"), "matcher", {
        enumerable: true,
        get: (): never => {
          throw new Error("it cannot be decoded")
        }
      })
      const { hosts, store } = yield* serving(
        () => Effect.sync(() => (++calls === 1 ? broken : host("a"))),
        undefined,
        Effect.void,
        () => {
          if (calls === 2) throw new Error("no connection")
        }
      )
      const client = yield* MemoryClient.open()
      for (const size of [0, 0, 1]) {
        client.send(request(["main/a"]))
        yield* settled
        expect(yield* hosts.size).toBe(size)
      }
      expect(calls).toBe(3)
      expect(yield* stored(store)).toEqual(["main/a"])
    }).pipe(Effect.provide(world))
  )

  it.scoped("the resolver is told who asks; who joins a call is not, and nobody is after a removal", () =>
    Effect.gen(function* () {
      const clients: Array<OnDemandHosts.Client> = []
      const { store } = yield* serving((client, _routes, name) => {
        clients.push(client)
        return Effect.succeed(host(name))
      })
      const client = yield* MemoryClient.open()
      client.send(request(["main/a"]))
      yield* settled
      const node = { id: "n", cluster: "edge", userAgentName: "", userAgentVersion: "" }
      expect(clients).toEqual([{ group: "edge", node }])
      yield* store.update("edge", { remove: { virtualHosts: ["main/a"] } })
      yield* Effect.zipRight(TestClock.adjust("2 seconds"), settled)
      expect(clients).toEqual([
        { group: "edge", node },
        { group: "edge", node: undefined }
      ])
    }).pipe(Effect.provide(world))
  )

  it.scoped("★ a virtual host that is not for the host is not added, and logged: each request would add another", () =>
    Effect.gen(function* () {
      lines.length = 0
      const { hosts } = yield* serving((_client, _routes, name) =>
        Effect.succeed(name === "wide.y" ? host("w", "*.y") : host("other.x"))
      )
      const client = yield* MemoryClient.open()
      client.send(request(["main/a.x", "main/wide.y"]))
      yield* settled
      expect(yield* hosts.size).toBe(1)
      expect(lines.join("\n")).toContain('virtual host "other.x" has no domain for it; it is not added')
    }).pipe(Effect.provide(world))
  )

  it.effect("a call that is interrupted wherever it lets others run keeps no other from being answered", () =>
    Effect.gen(function* () {
      const { hosts, store } = yield* serving((_group, _routes, name) => Effect.succeed(host(name)))
      for (const place of AutoYield.places) {
        const ask = hosts.onMissing("edge", VHDS, `main/${place}`)
        yield* Fiber.interrupt(yield* AutoYield.fork(ask, place))
        const turns = Effect.repeatN(
          Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
          10
        )
        yield* Effect.raceFirst(ask, turns)
        expect(yield* stored(store)).toContain(`main/${place}`)
      }
    }).pipe(Effect.scoped, Effect.provide(world))
  )
})
