/**
 * The scripts that every transport is to play alike, and the worlds they are played in: a store, our server over one
 * transport, and our client at its other end. A script knows nothing of the transport; where one cannot carry a script,
 * `cannot` says why.
 */
import { create } from "@bufbuild/protobuf"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import {
  type ClusterLoadAssignment,
  ClusterLoadAssignmentSchema
} from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { FreePort } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { ClientTransport, ServerTransport } from "@effect-xds/transport"
import { ConnectClient, ConnectServer } from "@effect-xds/transport-connect"
import { FileClient, ResponseDirectory } from "@effect-xds/transport-filesystem"
import { RestClient, RestServer } from "@effect-xds/transport-rest"
import { Effect, Exit, Logger, Scope, Stream } from "effect"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "vitest"

const group = "edge"

/** What a watcher has heard: `a=1`, `a DoesNotExist`. */
interface Heard {
  /** Waits until it has heard just this, whatever the order. */
  readonly hears: (...words: ReadonlyArray<string>) => Effect.Effect<void>
  /** Waits until the last that it heard is this. */
  readonly ends: (word: string) => Effect.Effect<void>
  /** Everything so far. */
  readonly soFar: () => ReadonlyArray<string>
  readonly unwatch: Effect.Effect<void>
}

/** A world to play in. Resources are written `a=1`: a name and its content; the content `bad` is rejected. */
interface World {
  readonly set: (content: Content) => Effect.Effect<void>
  readonly update: (content: Content) => Effect.Effect<void>
  readonly remove: (names: Content) => Effect.Effect<void>
  /** Without a name: everything of the type. */
  readonly watch: (type: "CDS" | "EDS", name?: string) => Effect.Effect<Heard, never, Scope.Scope>
  /** Whether the other side knows what is watched. */
  readonly isAsked: Effect.Effect<boolean>
  /** Why the other side knows that something was rejected; empty if it does not. */
  readonly rejection: Effect.Effect<string>
  /** The server goes away, loses nothing, and comes back when the result is run. */
  readonly lose: Effect.Effect<Effect.Effect<void>>
}

interface Content {
  readonly CDS?: ReadonlyArray<string>
  readonly EDS?: ReadonlyArray<string>
}

/** A transport in one of its forms. */
export interface Carrier {
  readonly name: string
  readonly isIncremental: boolean
  /** Whether there is a server that may be lost. */
  readonly hasServer: boolean
  readonly make: Effect.Effect<World, never, Scope.Scope>
}

/** What every transport is to play alike. */
export interface Script {
  readonly name: string
  readonly cannot?: (carrier: Carrier) => string | undefined
  readonly play: (world: World) => Effect.Effect<void, never, Scope.Scope>
}

// Worlds.

const clusters = WatchableType.fromSchema(ClusterSchema, {
  validate: ({ altStatName }) => (altStatName === "bad" ? "no bad content here" : undefined)
})
const assignments = WatchableType.fromSchema(ClusterLoadAssignmentSchema, {
  validate: ({ endpoints }) => (endpoints[0]?.locality?.zone === "bad" ? "no bad content here" : undefined)
})

const split = (text: string): readonly [name: string, content: string] => {
  const [name = "", content = ""] = text.split("=")
  return [name, content]
}

const clusterOf = (text: string): Cluster => {
  const [name, altStatName] = split(text)
  return create(ClusterSchema, { name, altStatName })
}

const assignmentOf = (text: string): ClusterLoadAssignment => {
  const [clusterName, zone] = split(text)
  return create(ClusterLoadAssignmentSchema, { clusterName, endpoints: [{ locality: { zone } }] })
}

const snapshotOf = ({ CDS = [], EDS = [] }: Content) => ({
  clusters: CDS.map(clusterOf),
  endpoints: EDS.map(assignmentOf)
})

const textOf = (event: ResourceEvent.ResourceEvent<Cluster | ClusterLoadAssignment>): string => {
  if (event._tag !== "Updated") return `${event.name} ${event._tag}`
  const { value } = event
  const content = value.$typeName === ClusterSchema.typeName ? value.altStatName : value.endpoints[0]?.locality?.zone
  return `${event.name}=${content}`
}

const silent = Logger.replace(Logger.defaultLogger, Logger.none)

/** Watches in a scope of its own, so that a watch can be ended. */
const watching = (client: XdsClient.Service) => (type: "CDS" | "EDS", name?: string) =>
  Effect.gen(function* () {
    const scope = yield* Effect.acquireRelease(Scope.make(), (scope) => Scope.close(scope, Exit.void))
    const events: Stream.Stream<
      ResourceEvent.ResourceEvent<Cluster | ClusterLoadAssignment>,
      XdsClient.DecoderConflict
    > = type === "CDS"
      ? name === undefined
        ? client.watchAll(clusters)
        : client.watch(clusters, name)
      : name === undefined
        ? client.watchAll(assignments)
        : client.watch(assignments, name)
    const heard: Array<string> = []
    yield* Stream.runForEach(events, (event) => Effect.sync(() => heard.push(textOf(event)))).pipe(Effect.forkIn(scope))
    const result: Heard = {
      hears: (...words) => eventually(() => expect(heard.toSorted()).toEqual(words.toSorted())),
      ends: (word) => eventually(() => expect(heard.at(-1)).toBe(word)),
      soFar: () => [...heard],
      unwatch: Scope.close(scope, Exit.void)
    }
    return result
  })

const writing = (store: SnapshotStore.Service): Pick<World, "set" | "update" | "remove"> => ({
  set: (content) => Effect.orDie(store.set(group, snapshotOf(content))),
  update: (content) => Effect.orDie(store.update(group, { upsert: snapshotOf(content) })),
  remove: ({ CDS = [], EDS = [] }) => Effect.orDie(store.update(group, { remove: { clusters: CDS, endpoints: EDS } }))
})

const clientOf = (
  address: string,
  transport: ClientTransport.Service,
  options: Pick<XdsClient.Options, "aggregated" | "protocol"> = {}
) =>
  XdsClient.make({
    bootstrap: Bootstrap.make({ servers: [address], node: { id: "one", cluster: group } }),
    resourceTimeout: "2500 millis",
    backoff: { initial: 20, floor: 10 },
    ...options
  }).pipe(Effect.provideService(ClientTransport.ClientTransport, transport), Effect.orDie)

/** Our server over a transport. */
const overNetwork = (
  name: string,
  isIncremental: boolean,
  listen: (port: number) => ServerTransport.Service,
  transport: ClientTransport.Service,
  aggregated: boolean
): Carrier => ({
  name,
  isIncremental,
  hasServer: true,
  make: Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    const serve = (port: number) =>
      XdsServer.make({ group: (node) => node.cluster }).pipe(
        Effect.provide(SnapshotStore.layerOf(store)),
        Effect.provideService(ServerTransport.ServerTransport, listen(port)),
        Effect.provide(silent),
        Effect.orDie
      )
    let scope = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(scope, Exit.void))
    const port = yield* FreePort.any()
    let server = yield* Scope.extend(serve(port), scope)
    const client = yield* clientOf(server.address, transport, {
      aggregated,
      protocol: isIncremental ? "Incremental" : "StateOfTheWorld"
    })
    return {
      ...writing(store),
      watch: watching(client),
      isAsked: Effect.map(
        Effect.suspend(() => server.status),
        (all) => all.some(({ types }) => types.length > 0)
      ),
      rejection: Effect.suspend(() => server.status).pipe(
        Effect.map((all) => all.flatMap(({ types }) => types.map(({ nacked }) => nacked?.error.message ?? "")).join(""))
      ),
      lose: Effect.gen(function* () {
        yield* Scope.close(scope, Exit.void)
        return Effect.gen(function* () {
          scope = yield* Scope.make()
          server = yield* Scope.extend(serve(port), scope)
        })
      })
    }
  }).pipe(Effect.provide(silent))
})

const overGrpc = (name: string, isIncremental: boolean, aggregated: boolean): Carrier =>
  overNetwork(
    name,
    isIncremental,
    (port) => ConnectServer.make({ port, shutdownGrace: 10 }),
    ConnectClient.make(),
    aggregated
  )

const overRest = (name: string, options: RestClient.Options): Carrier =>
  overNetwork(
    name,
    false,
    (port) => RestServer.make({ port, shutdownGrace: 10, answerTimeout: 100 }),
    RestClient.make(options),
    false
  )

const overFiles: Carrier = {
  name: "files",
  isIncremental: false,
  hasServer: false,
  make: Effect.gen(function* () {
    const store = yield* SnapshotStore.makeMemory()
    const path = yield* Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "conformance-"))),
      (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
    )
    const directory = yield* Effect.orDie(ResponseDirectory.make(path, { stepDelay: 5 }))
    const groups = Stream.filterMap(store.changes, ({ resources }) => resources)
    yield* Effect.forkScoped(directory.follow(groups))
    const transport = FileClient.make({ quietPeriod: 10 })
    return {
      ...writing(store),
      watch: watching(yield* clientOf(`path://${path}`, transport)),
      // Nobody asks for files.
      isAsked: Effect.succeed(true),
      rejection: Effect.map(transport.status, (files) => files.map(({ error }) => error?.message ?? "").join("")),
      lose: Effect.dieMessage("files have no server")
    }
  }).pipe(Effect.provide(silent))
}

/** Every transport, in every form in which our client and our server have it. */
export const carriers: ReadonlyArray<Carrier> = [
  overGrpc("gRPC ADS sotw", false, true),
  overGrpc("gRPC ADS delta", true, true),
  overGrpc("gRPC separate sotw", false, false),
  overGrpc("gRPC separate delta", true, false),
  overRest("REST polling", { refreshDelay: 20 }),
  overRest("REST long polling", { refreshDelay: 5, wait: 30_000 }),
  overFiles
]

// Scripts.

const needsServer = ({ hasServer }: Carrier): string | undefined =>
  hasServer ? undefined : "there is no server that could be lost"

const needsRemovals = ({ isIncremental }: Carrier): string | undefined =>
  isIncremental ? undefined : "state of the world has no word for the deletion of an endpoint assignment"

export const scripts: ReadonlyArray<Script> = [
  {
    name: "a wildcard brings everything, then what changes, then what is deleted",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1", "b=1"] })
        const all = yield* world.watch("CDS")
        yield* all.hears("a=1", "b=1")
        yield* world.update({ CDS: ["b=2", "c=1"] })
        yield* all.hears("a=1", "b=1", "b=2", "c=1")
        yield* world.remove({ CDS: ["a"] })
        yield* all.hears("a=1", "b=1", "b=2", "c=1", "a DoesNotExist")
      })
  },
  {
    name: "a wildcard of a type that has a resource in each response",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ EDS: ["a=1", "b=1"] })
        const all = yield* world.watch("EDS")
        yield* all.hears("a=1", "b=1")
        yield* world.update({ EDS: ["b=2", "c=1"] })
        yield* all.hears("a=1", "b=1", "b=2", "c=1")
      })
  },
  {
    name: "who asks by name is told of nothing else",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1", "b=1"], EDS: ["a=1", "b=1"] })
        const heard = [yield* world.watch("CDS", "a"), yield* world.watch("EDS", "a")]
        for (const each of heard) yield* each.hears("a=1")
        yield* world.update({ CDS: ["b=2"], EDS: ["b=2"] })
        yield* world.update({ CDS: ["a=3"], EDS: ["a=3"] })
        for (const each of heard) yield* each.hears("a=1", "a=3")
      })
  },
  {
    name: "a name that is added at an unchanged version is answered",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ EDS: ["a=1", "b=1"] })
        const a = yield* world.watch("EDS", "a")
        yield* a.hears("a=1")
        const b = yield* world.watch("EDS", "b")
        yield* b.hears("b=1")
        yield* a.hears("a=1")
      })
  },
  {
    name: "a name that is dropped and asked for again comes again, and others go on",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ EDS: ["a=1", "b=1"] })
        const [a, b] = [yield* world.watch("EDS", "a"), yield* world.watch("EDS", "b")]
        yield* a.hears("a=1")
        yield* b.hears("b=1")
        yield* a.unwatch
        yield* world.update({ EDS: ["b=2"] })
        yield* b.hears("b=1", "b=2")
        const again = yield* world.watch("EDS", "a")
        yield* again.hears("a=1")
      })
  },
  {
    name: "a name that is not there is told missing, and comes when it is made",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1"], EDS: ["a=1"] })
        const heard = [yield* world.watch("CDS", "x"), yield* world.watch("EDS", "x")]
        for (const each of heard) yield* each.hears("x DoesNotExist")
        yield* world.update({ CDS: ["x=1"], EDS: ["x=1"] })
        for (const each of heard) yield* each.hears("x DoesNotExist", "x=1")
      })
  },
  {
    name: "a deleted assignment is told missing, and comes again",
    cannot: needsRemovals,
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ EDS: ["a=1", "b=1"] })
        const all = yield* world.watch("EDS")
        yield* all.hears("a=1", "b=1")
        yield* world.remove({ EDS: ["a"] })
        yield* all.hears("a=1", "b=1", "a DoesNotExist")
        yield* world.update({ EDS: ["a=2"] })
        yield* all.ends("a=2")
      })
  },
  {
    name: "everything is deleted",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1", "b=1"] })
        const all = yield* world.watch("CDS")
        yield* all.hears("a=1", "b=1")
        yield* world.set({})
        yield* all.hears("a=1", "b=1", "a DoesNotExist", "b DoesNotExist")
      })
  },
  {
    name: "a bad resource is rejected, what is in use stays, the others are used, and it is corrected",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1", "b=1"] })
        const all = yield* world.watch("CDS")
        yield* all.hears("a=1", "b=1")
        yield* world.update({ CDS: ["a=bad", "b=2"] })
        yield* all.hears("a=1", "b=1", "b=2", "a AmbientError")
        yield* eventually(async () => expect(await Effect.runPromise(world.rejection)).toContain("no bad content here"))
        yield* world.update({ CDS: ["a=3"] })
        yield* all.ends("a=3")
      })
  },
  {
    name: "the first response is rejected, and that is no storm",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ EDS: ["a=bad"] })
        const a = yield* world.watch("EDS", "a")
        yield* a.hears("a Error")
        yield* eventually(async () => expect(await Effect.runPromise(world.rejection)).toContain("no bad content here"))
        const before = a.soFar().length
        yield* world.update({ EDS: ["b=1"] })
        yield* world.update({ EDS: ["a=1"] })
        yield* a.ends("a=1")
        expect(a.soFar().length - before).toBe(1)
      })
  },
  {
    name: "after fifty changes in a row the last one is what is known",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=0"], EDS: ["a=0"] })
        const heard = [yield* world.watch("CDS", "a"), yield* world.watch("EDS", "a")]
        for (const each of heard) yield* each.hears("a=0")
        for (let change = 1; change <= 50; change++) yield* world.update({ CDS: [`a=${change}`], EDS: [`a=${change}`] })
        for (const each of heard) {
          yield* each.ends("a=50")
          const versions = each.soFar().map((word) => Number(word.slice(2)))
          expect(versions).toEqual(versions.toSorted((one, other) => one - other))
        }
      })
  },
  {
    name: "what is made and removed again at once leaves nothing behind",
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1"] })
        const all = yield* world.watch("CDS")
        yield* all.hears("a=1")
        yield* world.update({ CDS: ["x=1"] })
        yield* world.remove({ CDS: ["x"] })
        yield* world.update({ CDS: ["a=2"] })
        // Over ADS its deletion may come after the other change, when that was ACKed.
        yield* eventually(() => {
          expect(all.soFar()).toContain("a=2")
          const x = all.soFar().filter((word) => word.startsWith("x"))
          expect([[], ["x=1", "x DoesNotExist"]]).toContainEqual(x)
        })
      })
  },
  {
    name: "a group that was never set deletes nothing, and its first state is told",
    play: (world) =>
      Effect.gen(function* () {
        const all = yield* world.watch("CDS")
        yield* eventually(Effect.map(world.isAsked, (isAsked) => expect(isAsked).toBe(true)))
        yield* world.set({ CDS: ["a=1"] })
        yield* all.ends("a=1")
        // Where each poll is answered, that there is no answer is told.
        expect(["", "* Error"]).toContain(all.soFar().slice(0, -1).join())
      })
  },
  {
    name: "a server that goes away leaves what is in use, and what it missed is told when it is back",
    cannot: needsServer,
    play: (world) =>
      Effect.gen(function* () {
        yield* world.set({ CDS: ["a=1", "b=1"] })
        const all = yield* world.watch("CDS")
        const b = yield* world.watch("CDS", "b")
        yield* all.hears("a=1", "b=1")
        const back = yield* world.lose
        yield* b.hears("b=1", "b AmbientError")
        yield* world.update({ CDS: ["a=2"] })
        yield* back
        yield* eventually(() => expect(all.soFar()).toContain("a=2"))
        yield* b.hears("b=1", "b AmbientError", "b Recovered")
        expect(
          all
            .soFar()
            .filter((word) => word.includes("="))
            .toSorted()
        ).toEqual(["a=1", "a=2", "b=1"])
      })
  },
  {
    name: "a thousand resources, one of which changes",
    play: (world) =>
      Effect.gen(function* () {
        const many = Array.from({ length: 1000 }, (_, index) => `c${index}=1`)
        yield* world.set({ CDS: many })
        const all = yield* world.watch("CDS")
        yield* eventually(() => expect(all.soFar()).toHaveLength(1000))
        yield* world.update({ CDS: ["c500=2"] })
        yield* all.ends("c500=2")
        expect(all.soFar()).toHaveLength(1001)
      })
  }
]
