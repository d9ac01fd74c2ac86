import { create, createRegistry, fromBinary, toBinary } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { Bootstrap, WatchableType, XdsClient, XdsClientMetrics, type ResourceEvent } from "@effect-xds/client"
import type * as Request from "@effect-xds/core/wire/Request"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as Variants from "@effect-xds/core/resource/Variants"
import * as Response from "@effect-xds/core/wire/Response"
import { ResourceType } from "@effect-xds/proto"
import { ClientResourceStatus } from "@effect-xds/proto/envoy/admin/v3/config_dump_shared"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { ListenerSchema } from "@effect-xds/proto/envoy/config/listener/v3/listener"
import { HttpConnectionManagerSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import { SecretSchema } from "@effect-xds/proto/envoy/extensions/transport_sockets/tls/v3/secret"
import { ClientConfigSchema } from "@effect-xds/proto/envoy/service/status/v3/csds"
import { ScriptedServer, SpanTracer } from "@effect-xds/testing"
import { ClientTransport, Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Cause, Effect, Either, Exit, Fiber, Layer, Logger, Metric, Option, Scope, Stream, TestClock } from "effect"

const CDS = ResourceType.Cluster.typeUrl

const cluster = (name: string, altStatName = ""): Resource.Resource =>
  Either.getOrThrow(
    Resource.make({ typeUrl: CDS, name, value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName })) })
  )
const clusters = (version: string, ...resources: ReadonlyArray<Resource.Resource>) =>
  Response.make({ protocol: "StateOfTheWorld", typeUrl: CDS, version, resources })

const logs: Array<string> = []
const capture = Logger.replace(
  Logger.defaultLogger,
  Logger.make(({ message }) => void logs.push(String(Array.isArray(message) ? message[0] : message)))
)

const bootstrap = Bootstrap.make({ servers: ["xds-1:1", "xds-2:1"], node: { id: "n1", cluster: "edge" } })
const oneServer = Bootstrap.make({ servers: ["xds-1:1"] })

const setup = (options: Partial<XdsClient.Options> = {}) =>
  XdsClient.layer({ bootstrap, ...options }).pipe(Layer.provideMerge(ScriptedServer.layer), Layer.provide(capture))

/** Watches in the background and writes down what it hears, in short. */
const watching = (name: string, take: (event: string) => Effect.Effect<void> = () => Effect.void) =>
  Effect.gen(function* () {
    const client = yield* XdsClient.XdsClient
    const heard: Array<string> = []
    const watch = name === "*" ? client.watchAll(ClusterSchema) : client.watch(ClusterSchema, name)
    const fiber = yield* Effect.fork(
      Stream.runForEach(watch, (event) => {
        heard.push(show(event))
        return take(show(event))
      })
    )
    yield* settle
    return { heard, fiber }
  })

const show = (event: ResourceEvent.ResourceEvent<Cluster>): string => {
  switch (event._tag) {
    case "Updated":
      return `${event.name}=${event.value.altStatName}@${event.version}`
    case "Recovered":
      return `${event.name} recovered`
    default:
      return `${event.name} ${event._tag}: ${event.error.message}`
  }
}

/** Without the version and the words. */
const kindOf = (event: string): string => event.replace(/[@:].*$/, "")

/** Lets all fibers run. */
const settle = Effect.repeatN(Effect.yieldNow(), 20)

const only = Effect.gen(function* () {
  const server = yield* ScriptedServer.ScriptedServer
  const [stream] = server.open()
  if (stream === undefined) return yield* Effect.dieMessage("the client opened no stream")
  return stream
})

const last = (stream: ScriptedServer.ScriptedStream): Partial<Request.StateOfTheWorldRequest> => {
  const request = stream.requests.at(-1)
  return request?._tag === "StateOfTheWorld" ? request : {}
}

describe("XdsClient", () => {
  it.effect("a collection is watched by its name: events have the names of its members", () =>
    Effect.gen(function* () {
      const collection = "xdstp://one/envoy.config.cluster.v3.Cluster/a"
      const { fiber, heard } = yield* watching(`${collection}/*?y=2&x=1`)
      const stream = yield* only
      stream.accept()
      yield* settle
      expect(last(stream).resourceNames).toEqual([`${collection}/*?x=1&y=2`])
      stream.respond(clusters("1", cluster(`${collection}/1?y=2&x=1`, "x"), cluster(`${collection}/2?x=1`, "x")), "1")
      yield* settle
      stream.respond(clusters("2", cluster(`${collection}/3?x=1&y=2`, "y")), "2")
      yield* settle
      stream.respond(clusters("3"), "3")
      yield* settle
      expect(heard.map((event) => event.slice(collection.length).replace(/DoesNotExist.*$/, "is gone"))).toEqual([
        "/1?x=1&y=2=x@1",
        "/3?x=1&y=2=y@2",
        "/1?x=1&y=2 is gone",
        "/3?x=1&y=2 is gone",
        "/*?x=1&y=2 is gone"
      ])
      yield* Fiber.interrupt(fiber)
      yield* settle
      expect(last(stream).resourceNames).toEqual([])
    }).pipe(
      Effect.provide(
        setup({
          bootstrap: Bootstrap.make({
            servers: ["xds-1:1"],
            authorities: new Map([["one", { servers: [], clientListenerResourceNameTemplate: undefined }]])
          })
        })
      )
    )
  )

  it.effect(
    "a type tells which of its resources are told again when they come again; who throws says that they are not",
    () =>
      Effect.gen(function* () {
        const client = yield* XdsClient.XdsClient
        const type = WatchableType.make({
          typeUrl: CDS,
          decode: (bytes) => Either.right(fromBinary(ClusterSchema, bytes).altStatName),
          tellsAgain: (text) => {
            if (text === "bad") throw new Error("boom")
            return text === "again"
          }
        })
        const heard: Array<string> = []
        yield* Effect.forkScoped(
          Stream.runForEach(client.watch(type, "a"), (event) =>
            Effect.sync(() => heard.push(event._tag === "Updated" ? `${event.value}@${event.version}` : event._tag))
          )
        )
        yield* settle
        const stream = yield* only
        stream.accept()
        for (const [version, text] of ["once", "once", "again", "again", "bad", "bad", "again"].entries()) {
          stream.respond(clusters(String(version), cluster("a", text)), String(version))
          yield* settle
        }
        // ★ The version is that in which it last changed.
        expect(heard).toEqual(["once@0", "again@2", "again@2", "bad@4", "again@6"])
      }).pipe(Effect.scoped, Effect.provide(setup()))
  )

  it.effect("connects when the first watch begins, tells what comes and ends with the last watch", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.ScriptedServer
      expect(server.streams).toEqual([])
      const first = yield* watching("a")
      const stream = yield* only
      expect(stream.server.address).toBe("xds-1:1")
      expect(stream.method).toEqual({ protocol: "StateOfTheWorld", typeUrl: undefined })
      expect(stream.requests).toEqual([])
      stream.accept()
      expect(last(stream)).toMatchObject({ typeUrl: CDS, resourceNames: ["a"], responseNonce: "", versionInfo: "" })
      expect(last(stream).node).toEqual(toBinary(NodeSchema, bootstrap.node))

      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      expect(first.heard).toEqual(["a=x@1"])
      expect(last(stream)).toMatchObject({
        resourceNames: ["a"],
        responseNonce: "n1",
        versionInfo: "1",
        node: undefined
      })

      // A late watcher is told at once, and nothing is asked for it.
      const requests = stream.requests.length
      const late = yield* watching("a")
      expect(late.heard).toEqual(["a=x@1"])
      expect(stream.requests.length).toBe(requests)

      yield* Fiber.interrupt(first.fiber)
      expect(stream.requests.length).toBe(requests)
      yield* Fiber.interrupt(late.fiber)
      expect(last(stream)).toMatchObject({ resourceNames: [], responseNonce: "n1" })
    }).pipe(Effect.provide(setup()))
  )

  it.effect("acknowledges a response when its watchers are done with it, and reads the next one then", () =>
    Effect.gen(function* () {
      const gate = Effect.unsafeMakeLatch(false)
      const { heard } = yield* watching("a", () => gate.await)
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      stream.respond(clusters("2", cluster("a", "y")), "n2")
      stream.respond(clusters("3", cluster("a", "z")), "n3")
      yield* settle
      expect(heard).toEqual(["a=x@1"])
      expect(last(stream)).toMatchObject({ responseNonce: "" })
      expect(stream.credit()).toBe(0)
      yield* gate.open
      yield* settle
      expect(heard).toEqual(["a=x@1", "a=y@2", "a=z@3"])
      expect(stream.requests[1]).toMatchObject({ responseNonce: "n1", versionInfo: "1" })
      expect(last(stream)).toMatchObject({ responseNonce: "n3", versionInfo: "3" })
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a stuck watcher is reported, and reading goes on without it", () =>
    Effect.gen(function* () {
      logs.length = 0
      const gate = Effect.unsafeMakeLatch(false)
      const stuck = yield* watching("a", () => gate.await)
      const stream = yield* only
      stream.accept()
      const other = yield* watching("b")
      for (let version = 1; version <= 40; version++) {
        stream.respond(clusters(`${version}`, cluster("a", `a${version}`), cluster("b", `b${version}`)), `n${version}`)
      }
      yield* settle
      expect(other.heard).toEqual(["b=b1@1"])
      yield* TestClock.adjust("10 seconds")
      yield* settle
      expect(logs.filter((line) => line.includes("did not come back"))).toEqual([
        'a watcher of CDS "a" did not come back within 10 s; reading goes on without it, and it will be told the last state only'
      ])
      // It holds up nothing for more than the timeout each time.
      yield* TestClock.adjust("400 seconds")
      yield* settle
      expect(other.heard.at(-1)).toBe("b=b40@40")
      expect(stuck.heard).toEqual(["a=a1@1"])
      yield* gate.open
      yield* settle
      expect(stuck.heard).toEqual(["a=a1@1", "a=a40@40"])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("tells that a resource does not exist after 15 seconds of silence, and not before", () =>
    Effect.gen(function* () {
      const { heard } = yield* watching("a")
      yield* TestClock.adjust("1 hour")
      const stream = yield* only
      expect(heard).toEqual([])
      stream.accept()
      yield* settle
      yield* TestClock.adjust("14999 millis")
      expect(heard).toEqual([])
      yield* TestClock.adjust("1 millis")
      yield* settle
      expect(heard).toHaveLength(1)
      expect(heard[0]).toContain("a DoesNotExist")
      // It may still come.
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      expect(heard.at(-1)).toBe("a=x@1")
    }).pipe(Effect.provide(setup()))
  )

  it.effect("rejects what is wrong, keeps what is in use and says which and why", () =>
    Effect.gen(function* () {
      logs.length = 0
      const client = yield* XdsClient.XdsClient
      const heard: Array<string> = []
      const type = WatchableType.fromSchema(ClusterSchema, {
        validate: ({ altStatName }) => (altStatName === "bad" ? "bad is not good" : undefined)
      })
      yield* Effect.fork(
        Stream.runForEach(client.watchAll(type), (event) => Effect.sync(() => heard.push(show(event))))
      )
      yield* settle
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x"), cluster("b", "x")), "n1")
      yield* settle
      stream.respond(clusters("2", cluster("a", "bad"), cluster("b", "y")), "n2")
      yield* settle
      const nack = last(stream)
      expect(nack).toMatchObject({ responseNonce: "n2", versionInfo: "1", errorDetail: { code: 3 } })
      expect(nack.errorDetail?.message).toContain('"a"')
      expect(nack.errorDetail?.message).toContain("bad is not good")
      expect(heard.slice(0, 2)).toEqual(["a=x@1", "b=x@1"])
      expect(heard).toContain("b=y@2")
      expect(heard.find((line) => line.startsWith("a AmbientError"))).toContain("bad is not good")
      expect(logs.some((line) => line.includes("is rejected") && line.includes("bad is not good"))).toBe(true)

      const { genericXdsConfigs, node } = yield* client.dump
      expect(node?.id).toBe("n1")
      expect(genericXdsConfigs.map(({ clientStatus, name, versionInfo }) => [name, clientStatus, versionInfo])).toEqual(
        [
          ["a", ClientResourceStatus.NACKED, "1"],
          ["b", ClientResourceStatus.ACKED, "2"]
        ]
      )
      expect(genericXdsConfigs[0]?.errorState).toMatchObject({ versionInfo: "2" })
      expect(genericXdsConfigs[0]?.errorState?.details).toContain("bad is not good")
    }).pipe(Effect.provide(setup()))
  )

  it.effect("rejects what breaks the rules of its type, and NACKs with these words; the good ones are used", () =>
    Effect.gen(function* () {
      logs.length = 0
      const client = yield* XdsClient.XdsClient
      const heard: Array<string> = []
      yield* Effect.fork(
        Stream.runForEach(client.watchAll(ClusterSchema), (event) => Effect.sync(() => heard.push(show(event))))
      )
      yield* settle
      const stream = yield* only
      stream.accept()
      const timed = (name: string, seconds: bigint) =>
        Either.getOrThrow(
          Resource.make({
            typeUrl: ResourceType.Cluster.typeUrl,
            name,
            value: toBinary(ClusterSchema, create(ClusterSchema, { name, connectTimeout: { seconds } }))
          })
        )
      stream.respond(clusters("1", timed("a", 1n), timed("b", 1n)), "n1")
      yield* settle
      stream.respond(clusters("2", timed("a", -5n), timed("b", 2n)), "n2")
      yield* settle
      const nack = last(stream)
      expect(nack).toMatchObject({ responseNonce: "n2", versionInfo: "1", errorDetail: { code: 3 } })
      expect(nack.errorDetail?.message).toBe('resource "a": connect_timeout must be greater than 0s, is -5s')
      expect(heard).toContain("b=@2")
      expect(heard.find((line) => line.startsWith("a AmbientError"))).toContain(
        "connect_timeout must be greater than 0s"
      )
      // A type whose rules are switched off.
      const lenient = WatchableType.fromSchema(ClusterSchema, { rules: false })
      const bytes = toBinary(ClusterSchema, create(ClusterSchema, { name: "a", connectTimeout: { seconds: -5n } }))
      expect(Either.isRight(lenient.decoder.decode(bytes, "a"))).toBe(true)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("takes what breaks rules where they are switched off", () =>
    Effect.gen(function* () {
      const { heard } = yield* watching("a")
      const stream = yield* only
      stream.accept()
      const value = toBinary(ClusterSchema, create(ClusterSchema, { name: "a", connectTimeout: { seconds: -5n } }))
      stream.respond(clusters("1", Either.getOrThrow(Resource.make({ typeUrl: CDS, name: "a", value }))), "n1")
      yield* settle
      expect(heard).toEqual(["a=@1"])
      expect(last(stream).errorDetail).toBeUndefined()
    }).pipe(Effect.provide(setup({ rules: false })))
  )

  it("checks what is in an Any where its type is registered, and tells five faults at most", () => {
    const manager = anyPack(HttpConnectionManagerSchema, create(HttpConnectionManagerSchema))
    const filters = Array.from({ length: 9 }, () => ({
      name: "f",
      configType: { case: "typedConfig", value: manager } as const
    }))
    const bytes = toBinary(ListenerSchema, create(ListenerSchema, { name: "l", filterChains: [{ filters }] }))
    const plain = WatchableType.fromSchema(ListenerSchema)
    expect(Either.isRight(plain.decoder.decode(bytes, "l"))).toBe(true)
    const inside = WatchableType.fromSchema(ListenerSchema, { registry: createRegistry(HttpConnectionManagerSchema) })
    const refused = Either.getOrThrow(Either.flip(inside.decoder.decode(bytes, "l")))
    expect(refused).toContain("HttpConnectionManager].stat_prefix must have at least 1 character")
    expect(refused.split("; ")).toHaveLength(6)
    expect(refused).toMatch(/; and more$/)
  })

  it.effect("shows of itself no secrets: neither in resources nor in what is said of them", () =>
    Effect.gen(function* () {
      const SDS = ResourceType.Secret.typeUrl
      const key = "the-private-key-of-the-edge"
      const secret = (name: string, extra = "") => {
        const value = create(SecretSchema, {
          name,
          type: {
            case: "tlsCertificate",
            value: {
              privateKey: { specifier: { case: "inlineString", value: `${key}${extra}` } },
              certificateChain: { specifier: { case: "filename", value: "/chain.pem" } }
            }
          }
        })
        return Either.getOrThrow(Resource.make({ typeUrl: SDS, name, value: toBinary(SecretSchema, value) }))
      }
      const client = yield* XdsClient.XdsClient
      // It quotes what it rejects, as Envoy does.
      const type = WatchableType.make({
        typeUrl: SDS,
        decode: (bytes) =>
          Buffer.from(bytes).includes("-bad") ? Either.left(`bad key ${key}-bad`) : Either.right(bytes)
      })
      const fiber = yield* Effect.fork(Stream.runDrain(client.watch(type, "edge")))
      yield* settle
      const stream = yield* only
      stream.accept()
      const respond = (version: string, resource: Resource.Resource) =>
        stream.respond(
          Response.make({ protocol: "StateOfTheWorld", typeUrl: SDS, version, resources: [resource] }),
          `n${version}`
        )
      respond("1", secret("edge"))
      yield* settle
      respond("2", secret("edge", "-bad"))
      yield* settle
      const config = yield* client.dump
      const [only_] = config.genericXdsConfigs
      expect(only_).toMatchObject({ name: "edge", versionInfo: "1", clientStatus: ClientResourceStatus.NACKED })
      const shown = fromBinary(SecretSchema, only_?.xdsConfig?.value ?? new Uint8Array())
      expect(shown).toMatchObject({
        name: "edge",
        type: {
          value: {
            privateKey: { specifier: { value: "[redacted]" } },
            certificateChain: { specifier: { value: "/chain.pem" } }
          }
        }
      })
      expect(only_?.errorState?.details).toContain("bad key [redacted]")
      expect(Buffer.from(toBinary(ClientConfigSchema, config)).includes("the-private-key")).toBe(false)
      yield* Fiber.interrupt(fiber)
    }).pipe(Effect.provide(setup()))
  )

  for (const failing of ["nameOf", "keysOf"]) {
    it.effect(`shows no secret that ${failing} throws, to the server either`, () =>
      Effect.gen(function* () {
        const SDS = ResourceType.Secret.typeUrl
        const key = "the-private-key-of-the-edge"
        const value = create(SecretSchema, {
          name: "edge",
          type: {
            case: "tlsCertificate",
            value: { privateKey: { specifier: { case: "inlineString", value: key } } }
          }
        })
        const client = yield* XdsClient.XdsClient
        const type = WatchableType.make({
          typeUrl: SDS,
          decode: (bytes) => Either.right(bytes),
          [failing]: () => {
            throw new Error(`no use for ${key}`)
          }
        })
        yield* Effect.fork(Stream.runDrain(client.watch(type, "edge")))
        yield* settle
        const stream = yield* only
        stream.accept()
        const resource = Either.getOrThrow(
          Resource.make({ typeUrl: SDS, name: "edge", value: toBinary(SecretSchema, value) })
        )
        stream.respond(
          Response.make({ protocol: "StateOfTheWorld", typeUrl: SDS, version: "1", resources: [resource] }),
          "n1"
        )
        yield* settle
        expect(JSON.stringify(stream.requests.at(-1))).toContain("no use for [redacted]")
      }).pipe(Effect.provide(setup()))
    )
  }

  it.effect("ends a stream that sends no response, whatever the bytes, and keeps what it holds", () =>
    Effect.gen(function* () {
      logs.length = 0
      const { heard } = yield* watching("a")
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      stream.send(Uint8Array.of(0x0a, 0xff, 0xff))
      yield* settle
      expect(stream.isOpen()).toBe(false)
      expect(logs.some((line) => line.includes("are not a DiscoveryResponse"))).toBe(true)
      yield* TestClock.adjust("1 seconds")
      const next = yield* only
      next.accept()
      expect(last(next)).toMatchObject({ resourceNames: ["a"], versionInfo: "1", responseNonce: "" })
      expect(heard).toEqual(["a=x@1"])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a response of a type that was not asked for is reported, and the next one is read", () =>
    Effect.gen(function* () {
      logs.length = 0
      const { heard } = yield* watching("a")
      const stream = yield* only
      stream.accept()
      for (let count = 0; count < 5; count++) {
        stream.respond(
          Response.make({ protocol: "StateOfTheWorld", typeUrl: ResourceType.Listener.typeUrl, version: "1" }),
          `l${count}`
        )
      }
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      expect(heard).toEqual(["a=x@1"])
      expect(logs.filter((line) => line.includes("which was not asked for"))).toHaveLength(1)
    }).pipe(Effect.provide(setup()))
  )

  it.effect("falls back to the next server for what it does not have, and returns", () =>
    Effect.gen(function* () {
      logs.length = 0
      const { heard } = yield* watching("a")
      const primary = yield* only
      primary.end(Status.make("UNAVAILABLE", "connection refused"))
      yield* settle
      const second = yield* only
      expect(second.server.address).toBe("xds-2:1")
      second.accept()
      second.respond(clusters("1", cluster("a", "from 2")), "n1")
      yield* settle
      expect(heard).toEqual(["a=from 2@1"])
      expect(logs.some((line) => line.includes("are asked of xds-2:1 now"))).toBe(true)
      yield* TestClock.adjust("2 seconds")
      const again = (yield* ScriptedServer.ScriptedServer).open().find(({ server }) => server.address === "xds-1:1")
      again?.accept()
      again?.respond(clusters("1", cluster("a", "from 1")), "n1")
      yield* settle
      expect(heard).toEqual(["a=from 2@1", "a=from 1@1"])
      expect((yield* only).server.address).toBe("xds-1:1")
    }).pipe(Effect.provide(setup()))
  )

  describe("refuses, with words", () => {
    const saidBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      Effect.map(Effect.flip(Effect.sandbox(effect)), Cause.pretty)

    it.scoped("limits and durations that are none", () =>
      Effect.gen(function* () {
        for (const name of ["maxResources", "resourceTimeout", "watcherTimeout"] as const) {
          const said = yield* saidBy(XdsClient.make({ bootstrap, [name]: Number.NaN }))
          expect(said).toContain(`${name} must be 0 or more, not NaN`)
        }
        for (const name of ["initial", "factor", "max", "jitter", "floor"] as const) {
          const said = yield* saidBy(XdsClient.make({ bootstrap, backoff: { [name]: Number.NaN } }))
          expect(said).toContain(`backoff.${name} must be 0 or more, not NaN`)
        }
      }).pipe(Effect.provide(setup()))
    )

    it.scoped("a time to wait for a resource or a host that is none", () =>
      Effect.gen(function* () {
        const client = yield* XdsClient.XdsClient
        const said = "imeout must be 0 or more, not NaN"
        const timeout = Number.NaN
        expect(yield* saidBy(client.get(ClusterSchema, "a", { timeout }))).toContain(said)
        const scoped = {
          name: "s",
          scopeKeyBuilder: {
            fragments: [
              {
                type: {
                  case: "headerValueExtractor" as const,
                  value: { name: "h", extractType: { case: "index" as const, value: 0 } }
                }
              }
            ]
          },
          configSpecifier: {
            case: "scopedRouteConfigurationsList" as const,
            value: { scopedRouteConfigurations: [] }
          }
        }
        for (const name of ["timeout", "idleTimeout", "unknownIdleTimeout"] as const) {
          expect(yield* saidBy(client.virtualHosts("main", { [name]: Number.NaN }))).toContain(said)
          expect(yield* saidBy(client.scopedRoutes(scoped, { [name]: Number.NaN }))).toContain(said)
        }
        const hosts = yield* client.virtualHosts("main")
        expect(yield* saidBy(hosts.find("a", { timeout }))).toContain(said)
        const scopes = yield* client.scopedRoutes(scoped)
        expect(yield* saidBy(scopes.find({ host: "a", headers: {} }, { timeout }))).toContain(said)
      }).pipe(Effect.provide(setup()))
    )
  })

  it.effect("watches end when the scope of the client closes, and whoever waits for a resource is told", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const client = yield* Scope.extend(XdsClient.make({ bootstrap }), scope)
      const under = Effect.provideService(XdsClient.XdsClient, client)
      const before = yield* under(watching("a"))
      const got = yield* Effect.fork(Effect.flip(client.get(ClusterSchema, "b")))
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      yield* Scope.close(scope, Exit.void)
      const after = yield* under(watching("a"))
      const late = yield* Effect.fork(Effect.flip(client.get(ClusterSchema, "b")))
      yield* settle
      const fibers: ReadonlyArray<Fiber.Fiber<unknown, unknown>> = [before.fiber, after.fiber, got, late]
      const done = yield* Effect.all(fibers.map((fiber) => Fiber.poll(fiber)))
      expect(done.map(Option.isSome)).toEqual([true, true, true, true])
      expect([before.heard, after.heard]).toEqual([["a=x@1"], []])
      const errors = [yield* Fiber.join(got), yield* Fiber.join(late)]
      const message = `${CDS} "b" cannot be had: the scope of the client has closed`
      expect(errors.map((error) => [error._tag, error.message])).toEqual([
        ["ResourceUnavailable", message],
        ["ResourceUnavailable", message]
      ])
    }).pipe(Effect.provide(ScriptedServer.layer), Effect.provide(capture))
  )

  it.effect("a server that closes each stream is not stormed", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.ScriptedServer
      yield* watching("a")
      for (let half = 0; half < 120; half++) {
        for (const stream of server.open()) {
          stream.accept()
          stream.respond(clusters("1", cluster("a", "x")), "n1")
          yield* settle
          stream.end(Status.ok)
        }
        yield* TestClock.adjust("500 millis")
      }
      // A minute, at most two streams each second.
      expect(server.streams.length).toBeGreaterThan(60)
      expect(server.streams.length).toBeLessThanOrEqual(121)
    }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  it.effect("a server that cannot be reached is tried ever less often, and watchers are told once", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.ScriptedServer
      const { heard } = yield* watching("a")
      for (let minutes = 0; minutes < 5; minutes += 1 / 30) {
        for (const stream of server.open()) stream.end(Status.make("UNAVAILABLE", "connection refused"))
        yield* TestClock.adjust("2 seconds")
      }
      expect(server.streams.length).toBeGreaterThan(8)
      expect(server.streams.length).toBeLessThan(25)
      expect(heard).toEqual(["a Error: connection refused"])
    }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  it.effect("a clock that jumps by an hour changes nothing for what is held and connected", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.ScriptedServer
      const { heard } = yield* watching("a")
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      const requests = stream.requests.length
      for (let jump = 0; jump < 3; jump++) yield* TestClock.adjust("1 hour")
      yield* settle
      expect(heard).toEqual(["a=x@1"])
      expect(stream.requests.length).toBe(requests)
      expect(server.streams).toHaveLength(1)
      stream.respond(clusters("2", cluster("a", "y")), "n2")
      yield* settle
      expect(heard).toEqual(["a=x@1", "a=y@2"])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("a stream is one span, from its opening to its end", () => {
    const ended: Array<string> = []
    const tracer = SpanTracer.make(({ name }) => ({ end: () => void ended.push(name) }))
    return Effect.gen(function* () {
      yield* watching("a")
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      yield* settle
      expect(ended.filter((name) => name === "xds.client.stream")).toEqual([])
      stream.end()
      expect(ended.filter((name) => name === "xds.client.stream")).toEqual(["xds.client.stream"])
    }).pipe(Effect.provide(Layer.provide(setup(), Layer.setTracer(tracer))))
  })

  it.effect("get gives the resource, or says that it does not exist, or what was heard last", () =>
    Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      const found = yield* Effect.fork(client.get(ClusterSchema, "a"))
      const missing = yield* Effect.fork(Effect.flip(client.get(ClusterSchema, "b")))
      yield* settle
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x")), "n1")
      expect((yield* Fiber.join(found)).altStatName).toBe("x")
      yield* TestClock.adjust("15 seconds")
      const error = yield* Fiber.join(missing)
      expect(error).toMatchObject({ _tag: "ResourceDoesNotExist", name: "b" })
      stream.end()
      const late = yield* Effect.fork(Effect.flip(client.get(ListenerSchema, "c", { timeout: "3 seconds" })))
      yield* settle
      yield* TestClock.adjust("3 seconds")
      expect((yield* Fiber.join(late)).message).toBe(
        'type.googleapis.com/envoy.config.listener.v3.Listener "c" cannot be had: nothing within 3s; the last that was heard: no server answered'
      )
    }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  it.effect("watches a type of one's own", () =>
    Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      const typeUrl = "type.googleapis.com/example.Greeting"
      const greetings = WatchableType.make({
        typeUrl,
        nameOf: (bytes) => new TextDecoder().decode(bytes).split(":")[0],
        decode: (bytes) => {
          const [, text = ""] = new TextDecoder().decode(bytes).split(":")
          return text === "" ? Either.left("a greeting needs words") : Either.right(text.length)
        }
      })
      const lengths: Array<number> = []
      yield* Effect.fork(
        Stream.runForEach(client.watch(greetings, "hello"), (event) =>
          Effect.sync(() => event._tag === "Updated" && lengths.push(event.value))
        )
      )
      yield* settle
      const stream = yield* only
      stream.accept()
      const value = new TextEncoder().encode("hello:good morning")
      const resource = Either.getOrThrow(Resource.make({ typeUrl, name: "hello", value }))
      stream.respond(Response.make({ protocol: "StateOfTheWorld", typeUrl, version: "1", resources: [resource] }), "n1")
      yield* settle
      expect(lengths).toEqual(["good morning".length])
      const other = WatchableType.make({ typeUrl, decode: () => Either.right(0) })
      for (const failed of [Effect.asVoid(Stream.runHead(client.watch(other, "hello"))), client.get(other, "hello")]) {
        const conflict = yield* Effect.flip<void | number, XdsClient.GetError, never>(failed)
        expect(conflict).toMatchObject({ _tag: "DecoderConflict", typeUrl })
        expect(conflict.message).toContain(`${typeUrl} is watched with another decoder already`)
      }
      // The first one goes on.
      stream.respond(
        Response.make({
          protocol: "StateOfTheWorld",
          typeUrl,
          version: "2",
          resources: [
            Either.getOrThrow(Resource.make({ typeUrl, name: "hello", value: new TextEncoder().encode("hello:hi") }))
          ]
        }),
        "n2"
      )
      yield* settle
      expect(lengths).toEqual(["good morning".length, "hi".length])
    }).pipe(Effect.provide(setup()))
  )

  it.effect("counts by the names of gRPC", () =>
    Effect.gen(function* () {
      yield* watching("*")
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a"), cluster("b")), "n1")
      yield* settle
      yield* TestClock.adjust("5 seconds")
      const server = Metric.tagged(XdsClientMetrics.connected, "grpc.xds.server", "xds-1:1")
      expect((yield* Metric.value(server)).value).toBe(1)
      const acked = XdsClientMetrics.resources.pipe(
        Metric.tagged("grpc.xds.cache_state", "acked"),
        Metric.tagged("grpc.xds.resource_type", "envoy.config.cluster.v3.Cluster")
      )
      expect((yield* Metric.value(acked)).value).toBe(2)
    }).pipe(Effect.provide(setup()))
  )

  it.effect(
    "★ a server that sends again at once what was rejected is answered ever later, and watchers are told once",
    () =>
      Effect.gen(function* () {
        const client = yield* XdsClient.XdsClient
        const heard: Array<string> = []
        const type = WatchableType.fromSchema(ClusterSchema, {
          validate: ({ altStatName }) => (altStatName === "bad" ? "bad is not good" : undefined)
        })
        yield* Effect.fork(
          Stream.runForEach(client.watchAll(type), (event) => Effect.sync(() => heard.push(show(event))))
        )
        yield* settle
        const stream = yield* only
        stream.accept()
        stream.respond(clusters("1", cluster("a", "x")), "1")
        yield* settle
        let sent = 0
        let seen = 0
        const serve = (turns: number, milliseconds: number) =>
          Effect.gen(function* () {
            for (let turn = 0; turn < turns; turn++) {
              if (stream.requests.length > seen) {
                seen = stream.requests.length
                stream.respond(clusters("2", cluster("a", "bad")), `n${sent++}`)
              }
              yield* settle
              yield* TestClock.adjust(milliseconds)
            }
          })
        yield* serve(9, 100)
        expect(sent).toBe(2)
        yield* serve(5 * 60, 1_000)
        expect(sent).toBeGreaterThan(10)
        expect(sent).toBeLessThan(20)
        expect(heard.map(kindOf)).toEqual(["a=x", "a AmbientError"])
      }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  const incremental = (version: string, ...resources: ReadonlyArray<Resource.Resource>) =>
    Response.make({ protocol: "Incremental", typeUrl: CDS, version, resources })

  it.effect("★ incremental: a server that has nothing new says nothing, and the outage is over", () =>
    Effect.gen(function* () {
      const a = yield* watching("a")
      const first = yield* only
      first.accept()
      first.respond(incremental("1", cluster("a", "x")), "1")
      yield* settle
      const none = yield* watching("none")
      yield* TestClock.adjust("15 seconds")
      yield* settle
      first.end()
      yield* TestClock.adjust("2 seconds")
      ;(yield* only).end(Status.make("UNAVAILABLE", "refused"))
      yield* settle
      expect(a.heard.map(kindOf)).toEqual(["a=x", "a AmbientError"])
      yield* TestClock.adjust("5 seconds")
      const second = yield* only
      second.accept()
      yield* settle
      expect(second.requests).toHaveLength(1)
      yield* TestClock.adjust("1 minute")
      yield* settle
      const late = yield* watching("a")
      expect(a.heard.map(kindOf)).toEqual(["a=x", "a AmbientError", "a recovered"])
      expect(late.heard.map(kindOf)).toEqual(["a=x"])
      expect(none.heard.map(kindOf)).toEqual(["none DoesNotExist", "none Error", "none DoesNotExist"])
    }).pipe(Effect.provide(setup({ bootstrap: oneServer, protocol: "Incremental" })))
  )

  it.effect("★ incremental: a stream that had nothing to say did not fail when it ends", () =>
    Effect.gen(function* () {
      const { heard } = yield* watching("a")
      const first = yield* only
      first.accept()
      first.respond(incremental("1", cluster("a", "x")), "1")
      yield* settle
      // Servers end streams now and then (max_connection_age).
      for (let turn = 0; turn < 3; turn++) {
        ;(yield* only).end()
        yield* settle
        yield* TestClock.adjust("500 millis")
        ;(yield* only).accept()
        yield* settle
        yield* TestClock.adjust("1 minute")
      }
      yield* settle
      expect(heard.map(kindOf)).toEqual(["a=x"])
    }).pipe(Effect.provide(setup({ bootstrap: oneServer, protocol: "Incremental" })))
  )

  it.effect("★ state of the world: a name beside a wildcard by silence is in no request", () =>
    Effect.gen(function* () {
      const all = yield* watching("*")
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x"), cluster("b", "x")), "1")
      yield* settle
      const requests = stream.requests.length
      const a = yield* watching("a")
      expect(a.heard).toEqual(["a=x@1"])
      expect(stream.requests).toHaveLength(requests)
      stream.respond(clusters("2", cluster("a", "y"), cluster("b", "x")), "2")
      yield* settle
      expect(a.heard).toEqual(["a=x@1", "a=y@2"])
      expect(last(stream)).toMatchObject({ resourceNames: [], versionInfo: "2" })
      // The wildcard ends, the name is left.
      yield* Fiber.interrupt(all.fiber)
      yield* settle
      expect(last(stream)).toMatchObject({ resourceNames: ["a"], versionInfo: "2" })
    }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  it.effect("thousands of watches that begin together are few requests", () =>
    Effect.gen(function* () {
      const client = yield* XdsClient.XdsClient
      yield* watching("first")
      const stream = yield* only
      stream.accept()
      yield* settle
      const before = stream.requests.length
      for (let index = 0; index < 1_000; index++) {
        yield* Effect.fork(Stream.runDrain(client.watch(ClusterSchema, `cluster-${index}`)))
      }
      yield* Effect.repeatN(settle, 20)
      expect(last(stream).resourceNames).toHaveLength(1_001)
      expect(stream.requests.length - before).toBeLessThan(10)
    }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  it.effect("★ a watcher that ends holds up no answer", () =>
    Effect.gen(function* () {
      const gate = Effect.unsafeMakeLatch(false)
      const { fiber } = yield* watching("a", () => gate.await)
      yield* watching("b")
      const stream = yield* only
      stream.accept()
      stream.respond(clusters("1", cluster("a", "x"), cluster("b", "x")), "n1")
      stream.respond(clusters("2", cluster("b", "y")), "n2")
      yield* settle
      expect(last(stream)).toMatchObject({ responseNonce: "" })
      expect(stream.credit()).toBe(0)
      yield* Fiber.interrupt(fiber)
      yield* settle
      expect(last(stream)).toMatchObject({ resourceNames: ["b"], responseNonce: "n2", versionInfo: "2" })
    }).pipe(Effect.provide(setup({ bootstrap: oneServer })))
  )

  const features = [
    { failOnDataErrors: true },
    { resourceTimerIsTransientError: true },
    { credentials: { _tag: "Tls" as const, ca: "ca.pem", cert: undefined, key: undefined } }
  ]
  for (const feature of features) {
    it.effect(
      `★ one address with and without ${Object.keys(feature).join()} is two servers, each with its stream`,
      () =>
        Effect.gen(function* () {
          const server = yield* ScriptedServer.ScriptedServer
          const plain = yield* watching("a")
          const marked = yield* watching("xdstp://one/envoy.config.cluster.v3.Cluster/a")
          const [first, second, ...more] = server.open()
          expect(more).toEqual([])
          first?.accept()
          second?.accept()
          first?.respond(clusters("1", cluster("a", "x")), "1")
          second?.respond(clusters("1", cluster("xdstp://one/envoy.config.cluster.v3.Cluster/a", "x")), "1")
          yield* settle
          first?.respond(clusters("2"), "2")
          second?.respond(clusters("2"), "2")
          yield* settle
          expect(plain.heard.map(kindOf)).toEqual(["a=x", "a AmbientError"])
          expect(marked.heard.map((event) => /(?:=| )\w+/.exec(event)?.[0])).toEqual([
            "=x",
            feature.failOnDataErrors === true ? " DoesNotExist" : " AmbientError"
          ])
        }).pipe(
          Effect.provide(
            setup({
              bootstrap: Bootstrap.make({
                servers: ["xds-1:1"],
                authorities: new Map([
                  [
                    "one",
                    {
                      servers: Bootstrap.make({
                        servers: [{ address: "xds-1:1", credentials: ClientTransport.insecure, ...feature }]
                      }).servers,
                      clientListenerResourceNameTemplate: undefined
                    }
                  ]
                ])
              })
            })
          )
        )
    )
  }

  it.scoped("leaves nothing behind", () =>
    Effect.gen(function* () {
      const server = yield* Effect.scoped(
        Effect.gen(function* () {
          const context = yield* Layer.build(setup())
          yield* Effect.provide(watching("a"), context)
          const scripted = yield* Effect.provide(ScriptedServer.ScriptedServer, context)
          scripted.streams[0]?.accept()
          return scripted
        })
      )
      expect(server.open()).toEqual([])
    })
  )
})

it.scoped("says its dynamic parameters with each name, and takes the variant that it gets for the resource (TP2)", () =>
  Effect.gen(function* () {
    const { heard } = yield* watching("a")
    const stream = yield* only
    stream.accept()
    yield* settle
    const parameters = new Map([["", new Map([["env", "prod"]])]])
    expect(last(stream)).toMatchObject({ resourceNames: ["a"], parameters })
    const variant = Variants.make({ typeUrl: CDS, name: "a" }, [
      { constraints: { _tag: "Value", key: "env", value: "prod" }, value: cluster("a", "one").value }
    ])
    const sent = Either.getOrThrow(variant).variants?.map(({ constrained }) => constrained) ?? []
    stream.respond(clusters("1", ...sent), "1")
    yield* settle
    expect(heard.map((event) => event.replace(/@.*$/, ""))).toEqual(["a=one"])
  }).pipe(Effect.provide(setup({ bootstrap: oneServer, dynamicParameters: { names: { env: "prod" } } })))
)
