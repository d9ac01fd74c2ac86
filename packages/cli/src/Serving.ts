/**
 * What `effect-xds serve` does. Apart from the command, so that the others need not load the servers.
 *
 * @since 0.1.0
 */
import * as Reason from "@effect-xds/proto/Reason"
import { AdminServer } from "@effect-xds/admin"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { Api } from "@effect-xds/proto/ResourceType"
import { type Client, SnapshotStore, type Validator, XdsServer } from "@effect-xds/server"
import type { Refusal } from "@effect-xds/server/Refusal"
import type * as SqlStore from "@effect-xds/store-sql/SqlStore"
import { ServerTransport } from "@effect-xds/transport"
import * as ConnectServer from "@effect-xds/transport-connect/ConnectServer"
import type { ResourceDirectory } from "@effect-xds/transport-filesystem"
import * as CompilerBudget from "@effect-xds/transport-node/CompilerBudget"
import * as Engine from "@effect-xds/transport-node/Engine"
import * as Console from "effect/Console"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { access, constants, mkdir, realpath, stat } from "node:fs/promises"
import { relative, resolve } from "node:path"
import * as AllowList from "./AllowList.js"
import * as ApiVersion from "./ApiVersion.js"
import * as Arrivals from "./Arrivals.js"
import { CommandFailure } from "./CommandFailure.js"
import * as DirectoryFeed from "./DirectoryFeed.js"
import * as EnvoyBootstrap from "./EnvoyBootstrap.js"
import type * as GroupBy from "./GroupBy.js"
import * as LocalResources from "./LocalResources.js"
import { hasColors } from "./Colors.js"
import * as Transports from "./Transports.js"

/**
 * The arguments of the command. Paths as they were given; ports: 0 for any free one.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly api: Api
  /** Empty: there is none, and the store says what is served. */
  readonly directory: string
  /** The URL of a store; `undefined`: in memory. */
  readonly store: string | undefined
  /** Of gRPC and REST. */
  readonly host: string
  readonly port: number
  /** The path of a Unix socket for gRPC, in place of host and port. */
  readonly listen: string | undefined
  /** `undefined`: no REST, if it has no socket either. */
  readonly restPort: number | undefined
  readonly restListen: string | undefined
  readonly noHttp1: boolean
  readonly adminHost: string
  readonly adminPort: number
  readonly adminListen: string | undefined
  /** Bytes. */
  readonly maxResponseBytes: number
  readonly noAdmin: boolean
  readonly noCompilerBudget: boolean
  readonly filesOut: string | undefined
  readonly validate: Validator.Mode
  readonly groupRules: Validator.GroupMode
  /** Names of group rules that are left out. */
  readonly off: ReadonlyArray<string>
  readonly noReferences: boolean
  /** `undefined`: by cluster, or all alike if there are no subdirectories. */
  readonly groupBy: { readonly text: string; readonly by: GroupBy.GroupBy } | undefined
  /** PEM files. */
  readonly tlsCert: string | undefined
  readonly tlsKey: string | undefined
  readonly tlsClientCa: string | undefined
  /** Who may read which group: `IDENTITY=GROUP`. */
  readonly allow: ReadonlyArray<string>
  readonly allowFile: string | undefined
  /** Names of the admin port. */
  readonly adminAllowHost: ReadonlyArray<string>
  readonly logFormat: "pretty" | "json"
  /** Of the log: this and what is worse. */
  readonly logLevel: "debug" | "info" | "warning" | "error" | "none"
}

const failed = (message: string): CommandFailure => new CommandFailure({ kind: "failed", message })

const codeOf = (cause: unknown): string =>
  typeof cause === "object" && cause !== null ? String(Reflect.get(cause, "code")) : ""

const reasonOf = (cause: unknown): string => {
  switch (codeOf(cause)) {
    case "ENOENT":
      return "there is no such file or directory"
    case "EACCES":
    case "EPERM":
      return "this user may not read it"
    default:
      return Reason.of(cause)
  }
}

/** Later it may come and go; at the start a directory that is not there is a mistake in the command. */
const checkDirectory = (path: string): Effect.Effect<void, CommandFailure> =>
  Effect.tryPromise({
    try: async () => {
      if (!(await stat(path)).isDirectory()) return false
      await access(path, constants.R_OK | constants.X_OK)
      return true
    },
    catch: (cause) => failed(`${path}: ${reasonOf(cause)}; serve wants a directory with resources`)
  }).pipe(
    Effect.filterOrFail(
      (isDirectory) => isDirectory,
      () => failed(`${path}: it is a file; serve wants the directory that it stands in`)
    ),
    Effect.asVoid
  )

const makeFilesOut = (path: string, directory: string): Effect.Effect<void, CommandFailure> =>
  Effect.gen(function* () {
    const isInside = (one: string, other: string): boolean => !relative(one, other).startsWith("..")
    const overlaps = (one: string, other: string): boolean => isInside(one, other) || isInside(other, one)
    const refusal = new CommandFailure({
      kind: "usage",
      message: `--files-out ${path}: one of it and ${directory} is inside of the other; what is written would be read again`
    })
    if (directory !== "" && overlaps(resolve(directory), resolve(path))) return yield* refusal
    yield* Effect.tryPromise({
      try: async () => {
        await mkdir(path, { recursive: true, mode: 0o700 })
        await access(path, constants.W_OK)
      },
      catch: (cause) => failed(`--files-out ${path}: it cannot be written to: ${reasonOf(cause)}`)
    })
    if (directory === "") return
    const [from, to] = yield* Effect.promise(() => Promise.all([realpath(directory), realpath(path)]))
    // Links may lead there too.
    if (overlaps(from, to)) return yield* refusal
  })

type Tls = ConnectServer.TlsOptions | undefined

const tlsOf = ({ listen, restListen, tlsCert, tlsClientCa, tlsKey }: Config): Effect.Effect<Tls, CommandFailure> => {
  if (tlsCert === undefined && tlsKey === undefined && tlsClientCa === undefined) return Effect.succeed(undefined)
  if (listen !== undefined || restListen !== undefined) {
    const message =
      "there is no TLS on a Unix socket, whose permissions guard it: leave the options for TLS out, or --listen and --rest-listen"
    return Effect.fail(new CommandFailure({ kind: "usage", message }))
  }
  if (tlsCert === undefined || tlsKey === undefined) {
    const message = "TLS needs both --tls-cert and --tls-key"
    return Effect.fail(new CommandFailure({ kind: "usage", message }))
  }
  const client = tlsClientCa === undefined ? {} : { ca: resolve(tlsClientCa), requireClientCertificate: true }
  return Effect.succeed({ cert: resolve(tlsCert), key: resolve(tlsKey), ...client })
}

/** With mutual TLS somebody must say who may read what: that an authority signed a certificate says who it is, no more. */
const allowListOf = ({
  allow,
  allowFile,
  tlsClientCa
}: Config): Effect.Effect<AllowList.AllowList | undefined, CommandFailure> => {
  const isGiven = allow.length > 0 || allowFile !== undefined
  if (tlsClientCa === undefined) {
    if (!isGiven) return Effect.succeed(undefined)
    const message = "--allow and --allow-file go by clients' certificates, which are asked for with --tls-client-ca"
    return Effect.fail(new CommandFailure({ kind: "usage", message }))
  }
  if (!isGiven) {
    const message =
      "--tls-client-ca needs to know who may read which group: say --allow 'spiffe://corp/edge=edge' for each identity, " +
      "or --allow-file FILE; --allow '*=*' lets every certificate of that authority read every group"
    return Effect.fail(new CommandFailure({ kind: "usage", message }))
  }
  const rules: Array<AllowList.Rule> = []
  for (const text of allow) {
    const rule = AllowList.parseFlag(text)
    if (typeof rule === "string") {
      return Effect.fail(new CommandFailure({ kind: "usage", message: `--allow ${rule}` }))
    }
    rules.push(rule)
  }
  return AllowList.make(rules, allowFile)
}

/** Milliseconds that clients have to read the end of their streams: all ends together stay within a few seconds. */
const shutdownGrace = 2_000

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || host.startsWith("127.")

/** As the readers of the ready lines reach it. */
const reachable = (host: string): string => (host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host)

const portOf = (address: string): number => Number(address.slice(address.lastIndexOf(":") + 1))

interface Ready {
  readonly directory: string
  readonly groups: ReadonlySet<string>
  readonly resources: number
  readonly grpc: string
  readonly rest: string | undefined
  readonly admin: string | undefined
  readonly files: string | undefined
}

const nodeOf = (config: Config, { groups }: Ready) => {
  const group = Array.from(groups).sort()[0] ?? LocalResources.rootGroup
  const by = config.groupBy?.text ?? "cluster"
  return {
    nodeId: by === "id" ? group : "envoy-1",
    nodeCluster: by === "cluster" ? group : "envoy",
    metadata: by.startsWith("metadata.") ? { [by.slice("metadata.".length)]: group } : undefined
  }
}

const bootstrapOf = (config: Config, ready: Ready, tls: Tls): string =>
  EnvoyBootstrap.toYaml({
    server:
      config.listen === undefined
        ? { host: reachable(config.host), port: portOf(ready.grpc) }
        : { path: resolve(config.listen) },
    ...nodeOf(config, ready),
    tls:
      tls === undefined
        ? undefined
        : {
            ca: "ca.pem",
            ...(tls.ca !== undefined && { cert: "client-cert.pem", key: "client-key.pem" })
          }
  })

/** Of a socket there is none. */
const urlOf = (address: string): string => (address.startsWith("unix:") ? address : `http://${address}`)

const count = (number: number, what: string): string => `${number} ${what}${number === 1 ? "" : "s"}`

const linesOf = (ready: Ready): ReadonlyArray<string> => [
  `Serving ${ready.directory}: ${count(ready.resources, "resource")} in ${count(ready.groups.size, "group")}` +
    (ready.groups.size === 0 ? "" : ` (${Array.from(ready.groups).sort().slice(0, 10).join(", ")})`),
  `  gRPC   ${ready.grpc}`,
  ...(ready.rest === undefined ? [] : [`  REST   ${ready.rest}`]),
  ...(ready.files === undefined ? [] : [`  files  ${ready.files}`]),
  ...(ready.admin === undefined ? [] : [`  admin  ${urlOf(ready.admin)}  /readyz /metrics /status /config_dump`])
]

const announce = (config: Config, ready: Ready, tls: Tls): Effect.Effect<void> =>
  config.logFormat === "json"
    ? Effect.logInfo("ready").pipe(
        Effect.annotateLogs({
          directory: ready.directory,
          groups: Array.from(ready.groups),
          grpc: ready.grpc,
          rest: ready.rest,
          admin: ready.admin,
          files: ready.files
        })
      )
    : Console.log(
        [
          ...linesOf(ready),
          "",
          "A bootstrap for Envoy, for a file bootstrap.yaml and `envoy -c bootstrap.yaml`:",
          "",
          bootstrapOf(config, ready, tls)
        ].join("\n")
      )

/** What cannot be served on is one line; the rest of the log stands above it. */
const asFailure = <A, R>(
  effect: Effect.Effect<A, { readonly message: string }, R>
): Effect.Effect<A, CommandFailure, R> => Effect.mapError(effect, ({ message }) => failed(message))

/** What is served, and why not all of it is. */
interface Feed extends Pick<DirectoryFeed.DirectoryFeed, "groups" | "notReady"> {
  /** Of a directory. */
  readonly status?: DirectoryFeed.DirectoryFeed["status"] | undefined
}

/** A store whose groups others put into it. */
const ofStore = (
  store: SnapshotStore.Store,
  onGroups: (found: ReadonlyArray<string>, all: ReadonlySet<string>) => Effect.Effect<void>
): Effect.Effect<Feed, never, Scope.Scope> =>
  Effect.gen(function* () {
    const known = new Set(yield* store.groups)
    const runtime = yield* Effect.runtime()
    yield* store.listen((group, resources) => {
      if (resources === undefined) return void known.delete(group)
      if (known.has(group)) return
      known.add(group)
      Runtime.runFork(runtime)(onGroups([group], known))
    })
    return { groups: () => known, notReady: Effect.succeed([]) }
  })

interface Stores {
  readonly store: SnapshotStore.Store
  /** The same one, if it is in a database. */
  readonly durable: SqlStore.Service | undefined
}

const storeOf = (
  { groupRules, store: url, validate }: Config,
  off: ReadonlyArray<string>
): Effect.Effect<Stores, CommandFailure, Scope.Scope> => {
  const checks = { validate: { rules: validate, groupRules, off } }
  if (url === undefined) {
    return Effect.map(SnapshotStore.makeMemory(checks), (store) => ({ store, durable: undefined }))
  }
  return Effect.promise(() => import("./StoreOfUrl.js")).pipe(
    Effect.flatMap(({ open }) => open(url, checks)),
    Effect.map((durable) => ({ store: durable, durable }))
  )
}

const notFollowed = (durable: SqlStore.Service | undefined): Effect.Effect<ReadonlyArray<string>> =>
  durable === undefined
    ? Effect.succeed([])
    : Effect.map(durable.status, ({ database, revision, trouble }) =>
        trouble === undefined
          ? []
          : [
              `since ${new Date(trouble.since).toISOString()} the store ${database} is not followed: ${trouble.detail} ` +
                `(revision ${revision} is served)`
            ]
      )

const sizeOf = (store: SnapshotStore.Store, groups: ReadonlySet<string>): Effect.Effect<number> =>
  Effect.sync(() => {
    let size = 0
    for (const group of groups) {
      for (const set of store.unsafeGet(group)?.sets.values() ?? []) size += set.resources.size
    }
    return size
  })

/** The files that are not in force, and the store, for `/status`. */
const detailsOf = (
  feed: Feed | undefined,
  durable: SqlStore.Service | undefined
): Effect.Effect<Readonly<Record<string, unknown>>> =>
  Effect.gen(function* () {
    const details: Record<string, unknown> = {}
    if (feed?.status !== undefined) details["directory"] = directoryOf(yield* feed.status)
    if (durable !== undefined) details["store"] = yield* durable.status
    return details
  })

const directoryOf = ({ groups, missing, path, rejected }: ResourceDirectory.DirectoryStatus) => ({
  path,
  missing,
  rejected: [
    ...rejected.map(({ message }) => message),
    ...groups.flatMap(({ files }) => files.flatMap(({ error }) => (error === undefined ? [] : [error.message])))
  ].slice(0, 1_000),
  unpublished_groups: groups.filter(({ isPublished }) => !isPublished).map(({ group }) => group)
})

/** Only who leaves rules out needs their names. */
const leftOut = ({ noReferences, off }: Config): Effect.Effect<ReadonlyArray<string>, CommandFailure> =>
  off.length === 0 && !noReferences
    ? Effect.succeed(off)
    : Effect.flatMap(
        Effect.promise(() => import("./RuleNames.js")),
        (RuleNames) => RuleNames.leftOut("serve", "effect-xds validate lists them", off, noReferences)
      )

const serveWith = (config: Config): Effect.Effect<never, CommandFailure> =>
  Effect.gen(function* () {
    const { directory } = config
    if (directory !== "") yield* checkDirectory(directory)
    else if (config.store === undefined) {
      const message =
        "serve: DIR is missing: effect-xds serve [OPTIONS] DIR, or with --store no DIR: then what is in the store is served"
      return yield* new CommandFailure({ kind: "usage", message })
    }
    const files = config.filesOut
    if (files !== undefined) yield* makeFilesOut(files, directory)
    const tls = yield* tlsOf(config)
    const allowList = yield* allowListOf(config)

    const off = yield* leftOut(config)
    const { durable, store } = yield* storeOf(config, off)
    const hasPort = config.listen === undefined || (config.restPort !== undefined && config.restListen === undefined)
    if (tls === undefined && hasPort && !isLoopback(config.host)) {
      yield* Effect.logWarning(`${config.host}: without TLS everyone who reaches the port can read what is served`)
    }

    let feed: Feed | undefined = undefined
    const fed = yield* Deferred.make<Feed>()
    const by = config.groupBy?.by
    const isOneForAll = (known: ReadonlySet<string>): boolean =>
      by === undefined && (known.size === 0 || (known.size === 1 && known.has(LocalResources.rootGroup)))
    const nameOf = (node: Node, known: ReadonlySet<string>): string =>
      by !== undefined ? by(node) : isOneForAll(known) ? LocalResources.rootGroup : node.cluster

    const arrivals = Arrivals.make((group) => feed?.groups().has(group) ?? false)
    const onGroups = (found: ReadonlyArray<string>, all: ReadonlySet<string>): Effect.Effect<void> =>
      Effect.gen(function* () {
        yield* arrivals.tell(found)
        const left = arrivals.waiting()
        const wasOneForAll = isOneForAll(new Set(Array.from(all).filter((group) => !found.includes(group))))
        if (left === 0 || !wasOneForAll || isOneForAll(all)) return
        yield* Effect.logWarning(
          `there are groups beside "${LocalResources.rootGroup}" now, and a node's is the one that its cluster names. ` +
            `Streams of nodes without one of their own stay in "${LocalResources.rootGroup}" until they connect again: ${left}`
        )
      })

    /** ★ Whether there are subdirectories is not known before the first group: who is given a name sooner keeps it, and has nothing. */
    const isKnown = ({ groups }: Feed): boolean => by !== undefined || groups().size > 0

    let grpc = ""
    let rest: string | undefined
    const { host, listen, port, restListen, restPort } = config
    const common = { host, shutdownGrace, ...(tls !== undefined && { tls }) }
    const transports: Array<Transports.Named> = [
      {
        transport: ConnectServer.make({ ...common, port, path: listen, http1: !config.noHttp1 }),
        onServing: (address) => (grpc = address)
      }
    ]
    if (restPort !== undefined || restListen !== undefined) {
      const RestServer = yield* Effect.promise(() => import("@effect-xds/transport-rest/RestServer"))
      const transport = RestServer.make({ ...common, port: restPort, path: restListen })
      transports.push({ transport, onServing: (address) => (rest = address) })
    }
    const allowed = (peer: ServerTransport.Peer, name: string): Effect.Effect<string, Refusal> =>
      allowList === undefined ? Effect.succeed(name) : allowList.allow(peer, name)
    /** ★ Who is given the group of all, since there is no other, is moved to the one of its own when that comes. */
    const nowAndThen = (cluster: string, peer: ServerTransport.Peer): Stream.Stream<string, Refusal> => {
      const now = Stream.fromEffect(allowed(peer, LocalResources.rootGroup))
      if (cluster === "" || cluster === LocalResources.rootGroup) return now
      return Stream.concat(now, Stream.fromEffect(arrivals.follow(cluster, allowed(peer, cluster))))
    }
    const server = yield* XdsServer.make({
      maxResponseBytes: config.maxResponseBytes,
      group: (node, { method, peer }) => {
        const { cluster } = node
        if (feed !== undefined && isKnown(feed)) {
          const known = feed.groups()
          if (!method.unary && isOneForAll(known)) return nowAndThen(cluster, peer)
          const name = nameOf(node, known)
          return allowList === undefined ? name : allowList.allow(peer, name)
        }
        const known = Effect.gen(function* () {
          const feed = yield* Deferred.await(fed)
          // Thousands may wait, for at most the server's `groupTimeout`.
          while (!isKnown(feed)) yield* Effect.sleep("500 millis")
          return feed.groups()
        })
        return Stream.unwrap(
          Effect.map(known, (known) =>
            isOneForAll(known) ? nowAndThen(cluster, peer) : Stream.fromEffect(allowed(peer, nameOf(node, known)))
          )
        )
      },
      ...(allowList !== undefined && {
        revocations: Stream.map(
          allowList.revocations,
          (why) =>
            ({ peer }: Client.Origin, group: string) =>
              why(peer, group)
        )
      }),
      controlPlane: "effect-xds",
      // Envoy honours TTLs but does not say so, and who writes one wants it.
      ttl: "always"
    }).pipe(
      Effect.provide(SnapshotStore.layerOf(store)),
      Effect.provideService(ServerTransport.ServerTransport, Transports.merge(transports)),
      asFailure
    )
    const admin = config.noAdmin
      ? undefined
      : yield* AdminServer.make({
          host: config.adminHost,
          allowedHosts: config.adminAllowHost,
          allowedHostsName: "--admin-allow-host",
          port: config.adminPort,
          path: config.adminListen,
          notReady: Effect.suspend(() =>
            feed === undefined
              ? Effect.succeed([`${directory} is being read`])
              : Effect.zipWith(feed.notReady, notFollowed(durable), (own, more) => [...own, ...more])
          ),
          details: Effect.suspend(() => detailsOf(feed, durable))
        }).pipe(
          Effect.provideService(XdsServer.XdsServer, server),
          Effect.provide(SnapshotStore.layerOf(store)),
          asFailure
        )

    // ★ Not sooner: who cannot serve, as one that was started twice, may not have written to a store that others serve.
    const isSlow = Effect.delay(Effect.logInfo(`reading ${directory}`), "1 second")
    feed =
      directory === ""
        ? yield* ofStore(store, onGroups)
        : yield* Effect.raceFirst(DirectoryFeed.make(directory, store, onGroups), Effect.zipRight(isSlow, Effect.never))
    yield* Deferred.succeed(fed, feed)
    // Not sooner: with it the start takes longer.
    if (!config.noCompilerBudget) yield* CompilerBudget.raise(Engine.ofProcess)
    if (files !== undefined) {
      const FilesOut = yield* Effect.promise(() => import("./FilesOut.js"))
      yield* Effect.forkScoped(FilesOut.follow(files, store))
    }

    const groups = feed.groups()
    const resources =
      feed.status === undefined
        ? yield* sizeOf(store, groups)
        : (yield* feed.status).groups.reduce((sum, group) => sum + group.resources, 0)
    const source =
      directory === "" ? ((yield* durable?.status ?? Effect.succeed(undefined))?.database ?? "") : directory
    yield* announce(config, { directory: source, groups, resources, grpc, rest, admin: admin?.address, files }, tls)
    return yield* Effect.never
  }).pipe(Effect.scoped)

const levels = {
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
}

const loggerOf = (format: Config["logFormat"]) =>
  Logger.replace(
    Logger.defaultLogger,
    format === "json"
      ? Logger.withConsoleError(Logger.jsonLogger)
      : Logger.prettyLogger({ stderr: true, colors: hasColors(process.stderr), mode: "tty" })
  )

/**
 * Serves until it is interrupted; then it ends within a few seconds.
 *
 * @since 0.1.0
 */
export const run = (config: Config): Effect.Effect<never, CommandFailure> =>
  Effect.zipRight(ApiVersion.load(config.api), serveWith(config)).pipe(
    Effect.provide(loggerOf(config.logFormat)),
    Logger.withMinimumLogLevel(levels[config.logLevel])
  )
