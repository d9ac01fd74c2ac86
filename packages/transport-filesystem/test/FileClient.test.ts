/** A client that reads files: those that our own writer makes, in all formats, and those that people make and break. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { ClientRequest, Request, Resource, ResourceGroup } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { type DiscoveryResponse, DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { eventually } from "@effect-xds/testing/Waiting"
import { ClientTransport } from "@effect-xds/transport"
import { FileClient, FilesystemMetrics, ResponseDirectory } from "@effect-xds/transport-filesystem"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Either, Layer, Logger, Metric, Option, Stream } from "effect"
import type { Directory } from "./Directory.js"
import * as Directories from "./Directory.js"

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

const clusters = WatchableType.fromSchema(ClusterSchema, {
  validate: ({ altStatName }) => (altStatName === "bad" ? "no bad names here" : undefined)
})
const assignments = WatchableType.fromSchema(ClusterLoadAssignmentSchema)

const textOfCluster = ({ altStatName }: Cluster) => altStatName
const textOfAssignment = ({ policy }: ClusterLoadAssignment) => String(policy?.overprovisioningFactor)

const connect = (
  directory: Directory,
  name = "",
  transport: FileClient.Options = {},
  options: Partial<Parameters<typeof XdsClient.make>[0]> = {}
) =>
  Effect.map(
    Layer.build(
      XdsClient.layer({
        resourceTimeout: "2500 millis",
        backoff: { initial: 20, floor: 10 },
        ...options,
        bootstrap: Bootstrap.make({ servers: [`path://${directory.at(name)}`], node: { id: "c1" } })
      }).pipe(Layer.provideMerge(FileClient.layer({ quietPeriod: 10, ...transport })), Layer.provide(silent))
    ),
    (context) => ({
      ...Context.get(context, XdsClient.XdsClient),
      status: Context.get(context, FileClient.FileClient).status
    })
  )

/** Writes down all that is heard; errors with their words. */
const hear = <A, E>(events: Stream.Stream<ResourceEvent.ResourceEvent<A>, E>, textOf: (value: A) => string) =>
  Effect.gen(function* () {
    const heard: Array<string> = []
    const errors: Array<string> = []
    yield* Effect.forkScoped(
      Stream.runForEach(events, (event) =>
        Effect.sync(() => {
          heard.push(event._tag === "Updated" ? `${event.name}=${textOf(event.value)}` : `${event.name} ${event._tag}`)
          if ("error" in event) errors.push(event.error.message)
        })
      )
    )
    return { heard, errors }
  })

const cds = (...resources: ReadonlyArray<string>) =>
  JSON.stringify({
    type_url: ResourceType.Cluster.typeUrl,
    resources: resources.map((text) => {
      const [name, alt_stat_name] = text.split("=")
      return { "@type": ResourceType.Cluster.typeUrl, name, alt_stat_name }
    })
  })

const eds = (cluster_name: string, overprovisioning_factor: number) =>
  JSON.stringify({
    version_info: String(overprovisioning_factor),
    type_url: ResourceType.ClusterLoadAssignment.typeUrl,
    resources: [
      { "@type": ResourceType.ClusterLoadAssignment.typeUrl, cluster_name, policy: { overprovisioning_factor } }
    ]
  })

const cluster = (name: string, altStatName: string) => create(ClusterSchema, { name, altStatName })
const assignment = (clusterName: string, overprovisioningFactor: number) =>
  create(ClusterLoadAssignmentSchema, { clusterName, policy: { overprovisioningFactor } })

const resource = (typeUrl: string, name: string, value: Uint8Array) =>
  Either.getOrThrow(Resource.make({ typeUrl, name, value }))

const groupOf = (clusters: ReadonlyArray<Cluster>, assignments: ReadonlyArray<ClusterLoadAssignment>) =>
  Either.getOrThrow(
    ResourceGroup.replace(ResourceGroup.empty, [
      ...clusters.map((each) => resource(ResourceType.Cluster.typeUrl, each.name, toBinary(ClusterSchema, each))),
      ...assignments.map((each) =>
        resource(
          ResourceType.ClusterLoadAssignment.typeUrl,
          each.clusterName,
          toBinary(ClusterLoadAssignmentSchema, each)
        )
      )
    ])
  )

describe.each(["binary", "json", "yaml", "text"] as const)("What is written as %s", (format) => {
  it.scopedLive.each([true, false])("is read: all types on one stream is %s", (aggregated) =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const out = yield* ResponseDirectory.make(directory.path, { format, stepDelay: 5 })
      yield* out.write(groupOf([cluster("a", "1"), cluster("b", "1")], [assignment("e", 1), assignment("x/y z", 7)]))
      const client = yield* connect(directory, "", {}, { aggregated })
      const all = yield* hear(client.watchAll(clusters), textOfCluster)
      const one = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      const odd = yield* hear(client.watch(assignments, "x/y z"), textOfAssignment)
      yield* eventually(() => expect(all.heard.toSorted()).toEqual(["a=1", "b=1"]))
      yield* eventually(() => expect([one.heard, odd.heard]).toEqual([["e=1"], ["x/y z=7"]]))

      yield* out.write(groupOf([cluster("b", "2")], [assignment("e", 2), assignment("x/y z", 7)]))
      yield* eventually(() => expect(all.heard.slice(2).toSorted()).toEqual(["a DoesNotExist", "b=2"]))
      yield* eventually(() => expect(one.heard.slice(1)).toEqual(["e=2"]))
      expect(odd.heard).toEqual(["x/y z=7"])

      // All of a type that has a file for each resource, also a new one.
      const every = yield* hear(client.watchAll(assignments), textOfAssignment)
      yield* eventually(() => expect(every.heard.toSorted()).toEqual(["e=2", "x/y z=7"]))
      yield* out.write(groupOf([cluster("b", "2")], [assignment("e", 2), assignment("x/y z", 7), assignment("f", 3)]))
      yield* eventually(() => expect(every.heard.slice(2)).toEqual(["f=3"]))
      const states = (yield* client.status).map(({ state }) => state)
      expect(new Set(states)).toEqual(new Set(["Accepted"]))
    })
  )
})

describe("A client that reads files", () => {
  it.scopedLive.each([true, false])("takes a file without type_url: all types on one stream is %s", (aggregated) =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move(
        "cds.yaml",
        `resources: [{ "@type": ${ResourceType.Cluster.typeUrl}, name: a, alt_stat_name: "1" }]`
      )
      const client = yield* connect(directory, "", { format: "yaml" }, { aggregated })
      const all = yield* hear(client.watchAll(clusters), textOfCluster)
      yield* eventually(() => expect(all.heard).toEqual(["a=1"]))
    })
  )

  it.scopedLive("keeps what is in use when a file becomes bad, and tells file, line and column", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("cds.json", cds("a=1"))
      directory.move("eds/e.json", eds("e", 1))
      const client = yield* connect(directory)
      const all = yield* hear(client.watchAll(clusters), textOfCluster)
      const one = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      yield* eventually(() => expect([all.heard, one.heard]).toEqual([["a=1"], ["e=1"]]))
      // A version that a file does not give is made of its content.
      const first = Option.getOrThrow(yield* Stream.runHead(client.watch(clusters, "a")))
      expect(first).toMatchObject({ _tag: "Updated", name: "a" })
      expect("version" in first && first.version).toMatch(/^[0-9a-f]{16}$/)
      const rejections = (yield* Metric.value(FilesystemMetrics.rejections)).count

      directory.move("cds.json", '{\n  "resources": [,]\n}')
      directory.move("eds/e.json", eds("e", 2).replace("policy", "polizei"))
      yield* eventually(() => expect(one.heard.slice(1)).toEqual(["e AmbientError"]))
      expect(one.errors[0]).toMatch(/eds\/e\.json:1:\d+: resources\[0\].*has no field "polizei"/)
      yield* eventually(async () => {
        const rejected = (await Effect.runPromise(client.status)).filter(({ state }) => state === "Rejected")
        expect(rejected.map(({ error, resources }) => [error?.reason, error?.line, resources])).toEqual([
          ["Syntax", 2, 1],
          ["Schema", 1, 1]
        ])
      })
      expect((yield* Metric.value(FilesystemMetrics.rejections)).count - rejections).toBe(2)

      expect(all.heard).toEqual(["a=1"])

      // Corrected: one as it was, the other as it should have been.
      directory.move("cds.json", cds("a=2"))
      directory.move("eds/e.json", eds("e", 1))
      yield* eventually(() => expect(all.heard.slice(1)).toEqual(["a=2"]))
      yield* eventually(() => expect(one.heard.slice(2)).toEqual(["e Recovered"]))
      expect((yield* client.status).map(({ state }) => state)).toEqual(["Accepted", "Accepted"])
    })
  )

  it.scopedLive("tells who watches by name of a bad file of a full-state type, and deletes nothing", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("cds.json", cds("a=1", "b=1"))
      const client = yield* connect(directory)
      const a = yield* hear(client.watch(clusters, "a"), textOfCluster)
      const b = yield* hear(client.watch(clusters, "b"), textOfCluster)
      const heard = () => [a.heard, b.heard].map((words) => words.join())
      yield* eventually(() => expect(heard()).toEqual(["a=1", "b=1"]))
      directory.move("cds.json", "nonsense")
      yield* eventually(() => expect(heard()).toEqual(["a=1,a AmbientError", "b=1,b AmbientError"]))
      directory.move("cds.json", cds("a=1", "b=1", "c=1"))
      yield* eventually(() => expect([a.heard.at(-1), b.heard.at(-1)]).toEqual(["a Recovered", "b Recovered"]))
      // Who watches everything is not told of names, and no others are lost to it.
      const all = yield* hear(client.watchAll(clusters), textOfCluster)
      yield* eventually(() => expect(all.heard).toContain("c=1"))
      directory.move("cds.json", "more nonsense")
      yield* eventually(async () => {
        expect((await Effect.runPromise(client.status))[0]?.error?.message).toContain("cds.json:1:1")
      })
      directory.move("cds.json", cds("a=1", "b=2", "c=2"))
      yield* eventually(() => expect([b.heard.at(-1), all.heard.at(-1)]).toEqual(["b=2", "c=2"]))
      expect(all.heard.filter((word) => !word.includes("="))).toEqual([])
    })
  )

  it.scopedLive("tells of a file that was never good, and goes on when it is", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("cds.json", "[]")
      directory.move("eds/e.json", "{")
      const client = yield* connect(directory)
      const named = yield* hear(client.watch(clusters, "a"), textOfCluster)
      const one = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      yield* eventually(() => expect([named.heard, one.heard]).toEqual([["a Error"], ["e Error"]]))
      expect(named.errors[0]).toContain("cds.json")
      directory.move("cds.json", cds("a=1"))
      directory.move("eds/e.json", eds("e", 1))
      yield* eventually(() => expect([named.heard.slice(1), one.heard.slice(1)]).toEqual([["a=1"], ["e=1"]]))
    })
  )

  it.scopedLive("keeps what a file held that is removed, and takes what comes later", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("eds/e.json", eds("e", 1))
      const client = yield* connect(directory)
      const one = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      const late = yield* hear(client.watch(clusters, "a"), textOfCluster)
      yield* eventually(() => expect(one.heard).toEqual(["e=1"]))
      directory.remove("eds")
      yield* eventually(async () => {
        const states = (await Effect.runPromise(client.status)).map(({ resources, state }) => [state, resources])
        expect(states).toContainEqual(["Missing", 1])
      })
      yield* eventually(() => expect(late.heard).toEqual(["a DoesNotExist"]))
      directory.move("cds.json", cds("a=1"))
      directory.move("eds/e.json", eds("e", 2))
      yield* eventually(() => expect(late.heard.slice(1)).toEqual(["a=1"]))
      yield* eventually(() => expect(one.heard).toEqual(["e=1", "e=2"]))
    })
  )

  it.scopedLive("shows what it rejects itself, until it is corrected", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("cds.json", cds("a=1", "b=bad"))
      const client = yield* connect(directory)
      const all = yield* hear(client.watchAll(clusters), textOfCluster)
      yield* eventually(() => expect(all.heard.toSorted()).toEqual(["a=1", "b Error"]))
      yield* eventually(async () => {
        const [file] = await Effect.runPromise(client.status)
        expect(file).toMatchObject({ state: "Rejected", error: { reason: "Refused" } })
        expect(file?.error?.message).toContain('cds.json: resource "b": no bad names here')
      })
      directory.move("cds.json", cds("a=1", "b=2"))
      yield* eventually(async () => expect((await Effect.runPromise(client.status))[0]?.state).toBe("Accepted"))
      yield* eventually(() => expect(all.heard).toContain("b=2"))
    })
  )

  it.scopedLive("sees the exchange of a link, as Kubernetes mounts a ConfigMap", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.mount("mounted", { "cds.json": cds("a=1") })
      const client = yield* connect(directory, "mounted")
      const all = yield* hear(client.watchAll(clusters), textOfCluster)
      yield* eventually(() => expect(all.heard).toEqual(["a=1"]))
      directory.mount("mounted", { "cds.json": cds("a=2") })
      yield* eventually(() => expect(all.heard).toEqual(["a=1", "a=2"]))
    })
  )

  it.scopedLive("reads a single file, by its ending, and answers for names that are watched later", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("some.yaml", Directories.clusters("7", "a", "b"))
      const client = yield* connect(directory, "some.yaml")
      const a = yield* hear(client.watch(clusters, "a"), ({ name }) => name)
      yield* eventually(() => expect(a.heard).toEqual(["a=a"]))
      const b = yield* hear(client.watch(clusters, "b"), ({ name }) => name)
      const none = yield* hear(client.watch(clusters, "c"), ({ name }) => name)
      yield* eventually(() => expect(b.heard).toEqual(["b=b"]))
      yield* eventually(() => expect(none.heard).toEqual(["c DoesNotExist"]))
      // It is of another type.
      const other = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      yield* eventually(() => expect(other.errors[0]).toContain("some.yaml"))
    })
  )

  it.scopedLive("closes what nobody watches any more, and opens it again", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("eds/e.json", eds("e", 1))
      directory.move("eds/f.json", eds("f", 1))
      const client = yield* connect(directory)
      const files = Effect.map(client.status, (all) => all.map(({ path }) => path.replace(/.*\//, "")).sort())
      const other = yield* hear(client.watch(assignments, "f"), textOfAssignment)
      yield* eventually(() => expect(other.heard).toEqual(["f=1"]))
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { heard } = yield* hear(client.watch(assignments, "e"), textOfAssignment)
          yield* eventually(() => expect(heard).toEqual(["e=1"]))
          expect(yield* files).toEqual(["e.json", "f.json"])
        })
      )
      yield* eventually(async () => expect(await Effect.runPromise(files)).toEqual(["f.json"]))
      directory.move("eds/e.json", eds("e", 2))
      const { heard } = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      yield* eventually(() => expect(heard.at(-1)).toBe("e=2"))
    })
  )

  it.scopedLive("more files than the limit end the stream", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const client = yield* connect(directory, "", { maxFiles: 1 })
      const one = yield* hear(client.watch(assignments, "e"), textOfAssignment)
      yield* hear(client.watch(assignments, "f"), textOfAssignment)
      yield* eventually(() => expect(one.errors[0]).toContain("EDS would be more than 1 files, the limit"))
    })
  )
})

describe("A channel to files", () => {
  it.live("fails for addresses that are none", () =>
    Effect.gen(function* () {
      const to = (address: string, credentials: ClientTransport.Credentials = ClientTransport.insecure) =>
        Effect.flip(Effect.scoped(FileClient.make().connect({ address, credentials })))
      const errors = [
        yield* to("127.0.0.1:18000"),
        yield* to("path:"),
        yield* to("path://host/etc"),
        yield* to("path:///etc/xds", { _tag: "Tls" })
      ]
      expect(errors.map(({ reason }) => reason.slice(0, 20))).toEqual([
        "files are addressed ",
        "files are addressed ",
        "files are addressed ",
        "files have no TLS; l"
      ])
    })
  )

  it.scopedLive("ends streams that files do not have, and tells nothing from within a call", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      const to = yield* FileClient.make().connect({
        address: `path://${directory.path}`,
        credentials: ClientTransport.insecure
      })
      const heard: Array<string> = []
      const handler = {
        onOpen: () => heard.push("open"),
        onMessage: () => heard.push("message"),
        onEnd: ({ code }: { readonly code: string }) => heard.push(code)
      }
      to.open({ protocol: "Incremental", typeUrl: undefined }, handler)
      expect(heard).toEqual([])
      yield* eventually(() => expect(heard).toEqual(["UNIMPLEMENTED"]))
      const stream = to.open({ protocol: "StateOfTheWorld", typeUrl: ResourceType.VirtualHost.typeUrl }, handler)
      yield* eventually(() => expect(heard.slice(1)).toEqual(["open"]))
      stream.send(new Uint8Array())
      expect(heard.slice(2)).toEqual([])
      yield* eventually(() => expect(heard.slice(2)).toEqual(["UNIMPLEMENTED"]))
    })
  )

  it.scopedLive("takes an answer that comes after other responses for that, and not for a new request", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("cds.json", cds("a=1"))
      directory.move("eds/e.json", eds("e", 1))
      directory.move("eds/f.json", eds("f", 1))
      const client = FileClient.make({ quietPeriod: 5 })
      const to = yield* client.connect({
        address: `path://${directory.path}`,
        credentials: ClientTransport.insecure
      })
      const messages: Array<DiscoveryResponse> = []
      const names = (typeUrl: string) => (typeUrl === ResourceType.Cluster.typeUrl ? [] : ["e", "f"])
      const send = (request: Parameters<typeof Request.stateOfTheWorld>[0]) =>
        stream.send(
          ClientRequest.encode(Request.stateOfTheWorld({ ...request, resourceNames: names(request.typeUrl) }))
        )
      const stream = to.open(
        { protocol: "StateOfTheWorld", typeUrl: undefined },
        {
          onOpen: () => {
            for (const { typeUrl } of [ResourceType.Cluster, ResourceType.ClusterLoadAssignment]) send({ typeUrl })
          },
          onMessage: (message) => void messages.push(fromBinary(DiscoveryResponseSchema, message)),
          onEnd: () => undefined
        }
      )
      for (let credit = 0; credit < 10; credit++) stream.next()
      yield* eventually(() => expect(messages).toHaveLength(3))
      const refusals = (yield* Metric.value(FilesystemMetrics.rejections)).count
      for (const { nonce, typeUrl } of messages) {
        send({ typeUrl, responseNonce: nonce, errorDetail: { code: 3, message: `no to ${nonce}` } })
      }
      const errors = Effect.map(client.status, (files) => files.map(({ error }) => error?.detail))
      expect((yield* errors).sort()).toEqual(["no to 1", "no to 2", "no to 3"])
      expect((yield* Metric.value(FilesystemMetrics.rejections)).count - refusals).toBe(3)
      directory.move("cds.json", cds("a=2"))
      yield* eventually(() => expect(messages.at(-1)?.typeUrl).toBe(ResourceType.Cluster.typeUrl))
      const [first] = messages.slice(-1)
      expect(messages).toHaveLength(4)
      // What is asked for without an answer is sent again.
      if (first !== undefined) send({ typeUrl: first.typeUrl, responseNonce: first.nonce })
      if (first !== undefined) send({ typeUrl: first.typeUrl, responseNonce: first.nonce })
      yield* eventually(() => expect(messages).toHaveLength(5))
    })
  )

  it.scopedLive("delivers nothing without credit, and of a file only what it is then", () =>
    Effect.gen(function* () {
      const directory = yield* Directories.temporary
      directory.move("eds/e.json", eds("e", 1))
      directory.move("eds/f.json", eds("f", 1))
      const client = FileClient.make({ quietPeriod: 5 })
      const to = yield* client.connect({
        address: `path://${directory.path}`,
        credentials: ClientTransport.insecure
      })
      const { typeUrl } = ResourceType.ClusterLoadAssignment
      const versions: Array<string> = []
      const stream = to.open(
        { protocol: "StateOfTheWorld", typeUrl },
        {
          onOpen: () =>
            stream.send(ClientRequest.encode(Request.stateOfTheWorld({ typeUrl, resourceNames: ["e", "f"] }))),
          onMessage: (message) => void versions.push(fromBinary(DiscoveryResponseSchema, message).versionInfo),
          onEnd: () => undefined
        }
      )
      yield* eventually(() => expect(versions).toEqual(["1"]))
      const empty = JSON.stringify({ version_info: "2", type_url: typeUrl, resources: [] })
      directory.move("eds/e.json", empty)
      directory.move("eds/f.json", empty)
      yield* eventually(async () => {
        const files = await Effect.runPromise(client.status)
        expect(files.map(({ resources, state }) => [state, resources])).toEqual([
          ["Accepted", 0],
          ["Accepted", 0]
        ])
      })
      expect(versions).toEqual(["1"])
      stream.next()
      expect(versions).toEqual(["1", "2"])
      stream.next()
      expect(versions).toEqual(["1", "2", "2"])
      stream.next()
      expect(versions).toHaveLength(3)
    })
  )
})
