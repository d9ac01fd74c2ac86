/**
 * A client transport that reads xDS from files, as Envoy's `path_config_source` does: the client's server is a
 * directory, in the layout of {@link ResponseDirectory}. It has `cds.json`, `lds.json` and `srds.json`, and one file
 * per resource of the other types, `eds/backend.json`. Or the server is a single file with one type.
 *
 * A file is read on the first subscription to its resources, and again when it is replaced. When it is rejected or
 * removed, its last accepted content stays in force.
 *
 * @since 0.1.0
 */
import * as BadOption from "@effect-xds/transport/BadOption"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as Status from "@effect-xds/transport/Status"
import * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import * as Stream from "effect/Stream"
import * as FileFormat from "./FileFormat.js"
import type { FileStatus } from "./FileStatus.js"
import * as FilesystemMetrics from "./FilesystemMetrics.js"
import * as ChangeSignal from "./internal/ChangeSignal.js"
import * as DirectoryWatch from "./internal/DirectoryWatch.js"
import * as EntryWatch from "./internal/EntryWatch.js"
import { FileClientStream, type Environment } from "./internal/FileClientStream.js"
import { least, withDefaults, type ReadOptions } from "./internal/ReadOptions.js"
import * as PathLookup from "./internal/PathLookup.js"
import * as ResponsePlan from "./internal/ResponsePlan.js"
import * as Retry from "./internal/Retry.js"
import * as WatchedFile from "./internal/WatchedFile.js"
import * as WayWatch from "./internal/WayWatch.js"

/**
 * Options for reading. Each has a default.
 *
 * @since 0.1.0
 */
export interface Options extends ReadOptions {
  /**
   * The format of the files in a directory; for a single file its extension decides. Default: that of the files present
   * at the start, or `json` if there are none.
   */
  readonly format?: FileFormat.FileFormat | undefined
  /** The most files read per type; above it the stream ends with RESOURCE_EXHAUSTED. Default 10 000. */
  readonly maxFiles?: number | undefined
}

/**
 * The transport, and the status of its files.
 *
 * @since 0.1.0
 */
export interface Service extends ClientTransport.Service {
  /**
   * Every file that is read now, with the file, line and column of its mistake if it was rejected, also by the client.
   */
  readonly status: Effect.Effect<ReadonlyArray<FileStatus>>
}

/**
 * The service tag of the transport, for access to its status.
 *
 * @since 0.1.0
 */
export class FileClient extends Context.Tag("@effect-xds/transport-filesystem/FileClient")<FileClient, Service>() {}

/** The path in an address, if there is one. */
const pathOf = (address: string): string | undefined => {
  const path = /^path:(?:\/\/(?=\/))?(.+)$/.exec(address)?.[1]
  return path === undefined || path.startsWith("//") ? undefined : path
}

/**
 * The transport. Addresses are `path:///etc/xds`, a directory, or `path:///etc/xds/cds.yaml`, a file; `path:xds` is
 * relative. Streams are aggregated or of one type, and state of the world; others end with UNIMPLEMENTED.
 *
 * A valid file is a response. A malformed file is a resource error with file, line and column, for its named resources;
 * a wildcard subscription gets none. While a file is missing, nothing is sent.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): Service => {
  const streams = new Set<FileClientStream>()
  return {
    connect: (server) =>
      Effect.gen(function* () {
        const fail = (reason: string) => new ClientTransport.ClientTransportError({ address: server.address, reason })
        const wrong = BadOption.find(options, { ...least, maxFiles: 0 })
        if (wrong !== undefined) return yield* fail(wrong.message)
        const path = pathOf(server.address)
        if (path === undefined) return yield* fail("files are addressed as path:///directory or path:///file.json")
        if (server.credentials._tag === "Tls") return yield* fail("files have no TLS; leave the credentials out")
        const source = yield* Effect.tryPromise({
          try: () => ResponsePlan.sourceOf(path, options.format),
          catch: (cause) => fail(PathLookup.unreadable(cause, true))
        })
        if (source._tag === "File" && FileFormat.ofPath(path) === undefined) {
          return yield* fail(`its ending is none of ${FileFormat.extensions.join(", ")}`)
        }
        const runtime = yield* Effect.runtime()
        const watch = yield* EntryWatch.make(withDefaults(options).pollInterval)
        const own = new Set<FileClientStream>()
        yield* Effect.addFinalizer(() =>
          Effect.sync(() => {
            for (const stream of [...own]) stream.end()
          })
        )
        const environment = environmentOf(server.address, source, options, watch, runtime, (stream) => {
          own.delete(stream)
          streams.delete(stream)
        })
        return {
          open: ({ protocol, typeUrl }, handler) => {
            const stream = new FileClientStream(typeUrl, handler, environment)
            own.add(stream)
            streams.add(stream)
            // The handler must not be called from within this call.
            setImmediate(() => {
              if (protocol === "StateOfTheWorld") return stream.start()
              stream.fail(Status.make("UNIMPLEMENTED", "files are state of the world only; choose that protocol"))
            })
            return stream
          }
        }
      }),
    status: Effect.sync(() => Array.from(streams).flatMap((stream) => stream.status()))
  }
}

const servicesOf = (options: Options): Context.Context<ClientTransport.ClientTransport | FileClient> => {
  const service = make(options)
  return Context.make(ClientTransport.ClientTransport, service).pipe(Context.add(FileClient, service))
}

/**
 * The transport as a layer.
 *
 * @example
 * import { Bootstrap, XdsClient } from "@effect-xds/client"
 * import { FileClient } from "@effect-xds/transport-filesystem"
 * import { Layer } from "effect"
 *
 * const bootstrap = Bootstrap.make({ servers: ["path:///etc/xds"], node: { id: "app-1", cluster: "edge" } })
 * const layer = XdsClient.layer({ bootstrap }).pipe(Layer.provide(FileClient.layer()))
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<ClientTransport.ClientTransport | FileClient> =>
  Layer.effectContext(Effect.sync(() => servicesOf(options)))

/**
 * The transport with options from a `ConfigProvider`, by default environment variables.
 *
 * @example
 * import { FileClient } from "@effect-xds/transport-filesystem"
 * import { Config } from "effect"
 *
 * const transport = FileClient.layerConfig({ maxFileBytes: Config.integer("XDS_MAX_FILE_BYTES") })
 *
 * @since 0.1.0
 */
export const layerConfig = (
  config: Config.Config.Wrap<Options>
): Layer.Layer<ClientTransport.ClientTransport | FileClient, ConfigError> =>
  Layer.effectContext(Effect.map(Config.unwrap(config), servicesOf))

const environmentOf = (
  address: string,
  source: ResponsePlan.Source,
  options: Options,
  watch: EntryWatch.EntryWatch,
  runtime: Runtime.Runtime<never>,
  onDone: (stream: FileClientStream) => void
): Environment => {
  const onDefect = (defect: unknown): void => {
    Runtime.runFork(runtime)(
      Effect.annotateLogs(Effect.logError("client failed on a stream", Cause.die(defect)), { server: address })
    )
  }
  /** Runs an effect; the result interrupts it. */
  const run = (effect: Effect.Effect<unknown>): (() => void) => {
    const cancel = Runtime.runCallback(runtime)(effect, {
      onExit: (exit) => {
        if (exit._tag === "Failure" && !Cause.isInterruptedOnly(exit.cause)) onDefect(Cause.squash(exit.cause))
      }
    })
    return () => cancel()
  }
  return {
    source,
    maxFiles: options.maxFiles ?? 10_000,
    read: (path, typeUrl, onChange) =>
      run(
        Effect.gen(function* () {
          const file = yield* WatchedFile.make(path, { ...options, typeUrl }, watch)
          const tell = Effect.gen(function* () {
            const status = yield* file.status
            const response = Option.getOrUndefined(yield* file.current)
            yield* Effect.sync(() => onChange({ status, response }))
          })
          yield* Effect.forkScoped(Stream.runForEach(file.events, () => tell))
          // The subscription begins when its fiber runs; earlier events are covered by the first look.
          yield* Effect.yieldNow()
          yield* tell
          return yield* Effect.never
        }).pipe(Effect.scoped)
      ),
    list: (folder, onChange) => run(listing(folder, source, options, onChange)),
    onRefused: () => FilesystemMetrics.rejections.unsafeUpdate(1, []),
    onDefect,
    onDone
  }
}

/** Lists a folder, and again after each change. */
const listing = (
  folder: string,
  source: ResponsePlan.Source,
  options: Options,
  onChange: (paths: ReadonlyArray<string>) => void
): Effect.Effect<never> =>
  Effect.gen(function* () {
    if (source._tag === "File") return yield* Effect.never
    const { maxDelay, pollInterval, quietPeriod } = withDefaults(options)
    const change = ChangeSignal.make(quietPeriod, maxDelay)
    const watch = yield* Effect.acquireRelease(
      Effect.sync(() =>
        // The files in the folder report that it cannot be watched.
        DirectoryWatch.make({ pollInterval, onChange: change.signal, onFailure: () => undefined })
      ),
      ({ close }) => Effect.sync(close)
    )
    let isFailing = false
    const retry = yield* Retry.make(() => isFailing, change.signal)
    const look = Effect.gen(function* () {
      // The directories on the path of any file in it are those that can replace the folder.
      yield* Effect.promise(() => WayWatch.follow(watch, `${folder}/any`))
      const files = yield* Effect.either(
        Effect.tryPromise({
          try: () => ResponsePlan.filesIn(folder, source.format),
          catch: (cause) => Retry.later(PathLookup.unreadable(cause, true))
        })
      )
      const wasFailing = isFailing
      isFailing = Either.isLeft(files)
      if (Either.isRight(files)) onChange(files.right)
      else if (!wasFailing) yield* Effect.logWarning(`${folder}: ${files.left}`)
      if (wasFailing && !isFailing) yield* Effect.logInfo(`${folder}: read again`)
      yield* retry
    })
    yield* look
    return yield* change.quiet.pipe(Effect.zipRight(look), Effect.forever)
  }).pipe(Effect.scoped)
