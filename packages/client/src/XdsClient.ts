/**
 * An xDS client: watches resources on the servers of a bootstrap and sends their changes to watchers.
 *
 * It connects when the first watch begins, keeps its resources across reconnects, falls back to the next server when one cannot be
 * reached, and reads the next response after the watchers have processed the last one.
 *
 * @since 0.1.0
 */
import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf"
import { isMessage, toBinary } from "@bufbuild/protobuf"
import * as Backoff from "@effect-xds/core/client/Backoff"
import type { Server as CoreServer } from "@effect-xds/core/client/Client"
import type { ByAuthority } from "@effect-xds/core/protocol/DynamicParameters"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import type { ScopedRoutesSchema } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type { ClientConfig } from "@effect-xds/proto/envoy/service/status/v3/csds"
import * as Alarm from "@effect-xds/transport-node/Alarm"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as ClientTransport from "@effect-xds/transport/ClientTransport"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Status from "@effect-xds/transport/Status"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { Server } from "./Bootstrap.js"
import type { BackoffOptions, DynamicParameters, Options } from "./ClientOptions.js"
import { type DecoderConflict, type GetError, ResourceDoesNotExist, ResourceUnavailable } from "./GetError.js"
import * as ClientConfigs from "./internal/ClientConfig.js"
import { Driver } from "./internal/Driver.js"
import type { ServerLink } from "./internal/Environment.js"
import { Together } from "./internal/Together.js"
import * as Environment from "./internal/Environment.js"
import type { ResourceEvent } from "./ResourceEvent.js"
import type * as ScopedRoutes from "./ScopedRoutes.js"
import type { ServerConnection } from "./ServerConnection.js"
import type * as VirtualHosts from "./VirtualHosts.js"
import { WatchableType } from "./WatchableType.js"
import * as WatchableTypes from "./WatchableType.js"

export { type BackoffOptions, type DynamicParameters, type Options } from "./ClientOptions.js"
export { DecoderConflict, type GetError, ResourceDoesNotExist, ResourceUnavailable } from "./GetError.js"

const parametersOf = (self: DynamicParameters): ByAuthority => {
  const all = { ...self.authorities, ...(self.names && { "": self.names }) }
  return new Map(Object.entries(all).map(([authority, parameters]) => [authority, new Map(Object.entries(parameters))]))
}

/** Milliseconds. */
const backoffOf = ({ factor, floor, initial, jitter, max }: BackoffOptions): Backoff.Options => ({
  initial: Duration.toMillis(initial ?? Backoff.defaults.initial),
  factor: factor ?? Backoff.defaults.factor,
  max: Duration.toMillis(max ?? Backoff.defaults.max),
  jitter: jitter ?? Backoff.defaults.jitter,
  floor: Duration.toMillis(floor ?? Backoff.defaults.floor)
})

/** A type of resources, by its schema or with a decoder. */
type Type = DescMessage | WatchableType<unknown>

/**
 * The operations of a client.
 *
 * @since 0.1.0
 */
export interface Service {
  /**
   * The events of a resource, beginning with its current state. Interrupting the stream ends the watch; the last watch
   * of a name ends the subscription. The stream ends when the scope of the client closes. The name of a glob collection (`xdstp://<authority>/<type>/<path>/*`, TP1) gives the
   * events of its members, each with its own name; `DoesNotExist` of the collection itself if it has none. Fails with {@link DecoderConflict} if the type is already watched with another
   * decoder.
   */
  readonly watch: {
    <Desc extends DescMessage>(
      type: Desc,
      name: string
    ): Stream.Stream<ResourceEvent<MessageShape<Desc>>, DecoderConflict>
    <A>(type: WatchableType<A>, name: string): Stream.Stream<ResourceEvent<A>, DecoderConflict>
  }
  /** The events of every resource of a type: a wildcard subscription. */
  readonly watchAll: {
    <Desc extends DescMessage>(type: Desc): Stream.Stream<ResourceEvent<MessageShape<Desc>>, DecoderConflict>
    <A>(type: WatchableType<A>): Stream.Stream<ResourceEvent<A>, DecoderConflict>
  }
  /**
   * The events of every resource of a type, or of a collection: those of one response together, so that what changes at once can be
   * used at once. An empty list: a response that brings none, of a type and not of a collection. Of resources that change while
   * nothing is taken, the last state is told; `AmbientError` and `Recovered` are not.
   */
  readonly watchTogether: <A>(
    type: WatchableType<A>,
    name?: string
  ) => Stream.Stream<ReadonlyArray<ResourceEvent<A>>, DecoderConflict>
  /**
   * The current resource. While no server can be reached, it waits until `timeout` (default: 20 seconds, longer than
   * the resource timer). It fails with {@link ResourceUnavailable} when the scope of the client closes.
   */
  readonly get: {
    <Desc extends DescMessage>(
      type: Desc,
      name: string,
      options?: GetOptions
    ): Effect.Effect<MessageShape<Desc>, GetError>
    <A>(type: WatchableType<A>, name: string, options?: GetOptions): Effect.Effect<A, GetError>
  }
  /**
   * Virtual hosts on demand (VHDS) of a route configuration, which is watched until the scope closes. The client must speak the
   * incremental protocol. Fails with {@link DecoderConflict} if one of the types is already watched with another decoder.
   */
  readonly virtualHosts: {
    (
      routeConfiguration: string,
      options?: VirtualHosts.Options
    ): Effect.Effect<VirtualHosts.VirtualHosts<VirtualHost>, DecoderConflict, Scope.Scope>
    <R, A>(
      routeConfiguration: string,
      options: VirtualHosts.Options & { readonly types: VirtualHosts.Types<R, A> }
    ): Effect.Effect<VirtualHosts.VirtualHosts<A>, DecoderConflict, Scope.Scope>
  }
  /**
   * Scoped routes (SRDS), from the `scoped_routes` of an HTTP connection manager: the headers of a request choose its route
   * configuration, and that its virtual host, by VHDS if it says so. Scopes and route configurations are watched until the scope of
   * the Effect closes; those with `on_demand` from the first request on. The options are for all of them; `timeout` is for a
   * request as a whole. Fails with {@link DecoderConflict} as {@link Service.virtualHosts} does.
   */
  readonly scopedRoutes: (
    scopedRoutes: MessageInitShape<typeof ScopedRoutesSchema>,
    options?: VirtualHosts.Options
  ) => Effect.Effect<
    ScopedRoutes.ScopedRoutes<VirtualHost>,
    DecoderConflict | ScopedRoutes.ScopedRoutesInvalid,
    Scope.Scope
  >
  /**
   * Asks the servers again for resources that are watched, and once more on the next stream if this one ends before the answer.
   * What is held stays until then; watchers hear of it if it is another. Fails with {@link DecoderConflict} as a watch of the type does.
   */
  readonly refresh: (type: WatchableType<unknown>, names: ReadonlyArray<string>) => Effect.Effect<void, DecoderConflict>
  /**
   * Keys of a type that belong to an owner beside its resources, until the scope closes: a resource that has one is rejected
   * (NACK), and the one before stays. For virtual hosts, the keys are `<route configuration>/<domain>`, of the domains that came with the
   * route configuration, in small letters; {@link Service.virtualHosts} does it by itself. Fails with {@link DecoderConflict} as a watch of the type does.
   */
  readonly claim: (
    type: WatchableType<unknown>,
    owner: string,
    keys: Iterable<string> & object
  ) => Effect.Effect<void, DecoderConflict, Scope.Scope>
  /**
   * The state of every watched resource, as CSDS shows it: requested, ACKed, NACKed or missing, with version, time and
   * last error. Fields that Envoy's API marks as sensitive are `[redacted]`, in resources and in error texts.
   */
  readonly dump: Effect.Effect<ClientConfig>
  /** The connections to the servers that were asked so far: what a watcher waits for that is told nothing. */
  readonly connections: Effect.Effect<ReadonlyArray<ServerConnection>>
  /** The URLs of types of which a response has come, were it an empty one: a server that has nothing says so of a wildcard. */
  readonly answered: Effect.Effect<ReadonlySet<string>>
}

/**
 * Options of {@link Service.get}.
 *
 * @since 0.1.0
 */
export interface GetOptions {
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * The service tag of a client.
 *
 * @since 0.1.0
 */
export class XdsClient extends Context.Tag("@effect-xds/client/XdsClient")<XdsClient, Service>() {}

/** The id of a server: one link per server, however many lists contain it. */
const idOf = ({ address, credentials, failOnDataErrors, resourceTimerIsTransientError }: Server): string =>
  // Encoded without blanks: the core appends one as a separator.
  encodeURIComponent(JSON.stringify([address, credentials, failOnDataErrors, resourceTimerIsTransientError]))

/**
 * A client that lives until the scope closes, which ends its streams. Fails as `bootstrap` does, and with
 * `ClientTransportError` for a server whose address or credentials can never work.
 *
 * @since 0.1.0
 */
export const make = <E = never, R = never>(
  options: Options<E, R>
): Effect.Effect<
  Service,
  E | ClientTransport.ClientTransportError,
  R | ClientTransport.ClientTransport | Scope.Scope
> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { maxResources: 0, resourceTimeout: 0, watcherTimeout: 0 })
    yield* BadOption.check(options.backoff ?? {}, { initial: 0, factor: 0, max: 0, jitter: 0, floor: 0 }, "backoff")
    const transport = yield* ClientTransport.ClientTransport
    const runtime = yield* Effect.runtime()
    const clock = yield* Effect.clock
    const loop = yield* EventLoop.guarded
    const bootstrap = Effect.isEffect(options.bootstrap) ? yield* options.bootstrap : options.bootstrap
    const resourceTimeout =
      options.resourceTimeout === undefined ? undefined : Duration.toMillis(options.resourceTimeout)
    const coreServer = (server: Server): CoreServer => ({
      id: idOf(server),
      name: server.address,
      protocol: options.protocol ?? "StateOfTheWorld",
      isAggregated: options.aggregated ?? true,
      failOnDataErrors: server.failOnDataErrors,
      resourceTimerIsTransientError: server.resourceTimerIsTransientError,
      resourceTimeout
    })

    const servers = new Map<string, ServerLink>()
    for (const server of [
      ...bootstrap.servers,
      ...Array.from(bootstrap.authorities.values()).flatMap((authority) => authority.servers)
    ]) {
      const known = coreServer(server)
      if (servers.has(known.id)) continue
      servers.set(known.id, { server: known, address: server.address, channel: yield* transport.connect(server) })
    }

    // Monotonic: the wall clock may go back, and the reducers' time must not.
    const now = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
    const driver: Driver = new Driver(
      {
        ...Environment.fromRuntime(runtime, now, () => clock.unsafeCurrentTimeNanos()),
        servers,
        alarm: (at) => alarm.set(at),
        loop
      },
      {
        servers: bootstrap.servers.map(coreServer),
        authorities: new Map(
          Array.from(bootstrap.authorities, ([name, authority]) => [name, authority.servers.map(coreServer)])
        ),
        node: toBinary(NodeSchema, bootstrap.node),
        backoff: backoffOf(options.backoff ?? {}),
        dynamicParameters: options.dynamicParameters && parametersOf(options.dynamicParameters),
        watcherTimeout: Duration.toMillis(options.watcherTimeout ?? "10 seconds"),
        maxResources: options.maxResources
      }
    )
    const alarm = yield* Alarm.make(now, () => driver.onDeadline())
    yield* Effect.addFinalizer(() => Effect.sync(() => driver.close()))

    const begin = <A>(type: WatchableType<A>, name: string) => Effect.suspend(() => driver.watch(type, name))
    const end = ({ id }: { readonly id: number }) => Effect.sync(() => driver.unwatch(id))
    const watchType = <A>(type: WatchableType<A>, name: string): Stream.Stream<ResourceEvent<A>, DecoderConflict> =>
      Stream.unwrapScoped(
        Effect.map(Effect.acquireRelease(begin(type, name), end), ({ pull }) => Stream.repeatEffectChunkOption(pull))
      )

    const schemas = new Map<DescMessage, WatchableType<MessageShape<DescMessage>>>()
    const typeOf = (schema: DescMessage): WatchableType<MessageShape<DescMessage>> => {
      const known = schemas.get(schema)
      if (known !== undefined) return known
      const made = WatchableTypes.fromSchema<DescMessage>(schema, { rules: options.rules })
      schemas.set(schema, made)
      return made
    }
    const watchSchema = <Desc extends DescMessage>(
      schema: Desc,
      name: string
    ): Stream.Stream<ResourceEvent<MessageShape<Desc>>, DecoderConflict> =>
      Stream.suspend(() =>
        Stream.filterMap(watchType(typeOf(schema), name), (event): Option.Option<ResourceEvent<MessageShape<Desc>>> => {
          if (event._tag !== "Updated") return Option.some(event)
          const { value } = event
          return isMessage(value, schema) ? Option.some({ ...event, value }) : Option.none()
        })
      )

    // Overloads, because only each signature relates the schema to its value type.
    function watch<Desc extends DescMessage>(
      type: Desc,
      name: string
    ): Stream.Stream<ResourceEvent<MessageShape<Desc>>, DecoderConflict>
    function watch<A>(type: WatchableType<A>, name: string): Stream.Stream<ResourceEvent<A>, DecoderConflict>
    function watch(type: Type, name: string): Stream.Stream<ResourceEvent<unknown>, DecoderConflict> {
      return type instanceof WatchableType ? watchType(type, name) : watchSchema(type, name)
    }

    function watchAll<Desc extends DescMessage>(
      type: Desc
    ): Stream.Stream<ResourceEvent<MessageShape<Desc>>, DecoderConflict>
    function watchAll<A>(type: WatchableType<A>): Stream.Stream<ResourceEvent<A>, DecoderConflict>
    function watchAll(type: Type): Stream.Stream<ResourceEvent<unknown>, DecoderConflict> {
      return type instanceof WatchableType ? watchType(type, "*") : watchSchema(type, "*")
    }

    function get<Desc extends DescMessage>(
      type: Desc,
      name: string,
      options?: GetOptions
    ): Effect.Effect<MessageShape<Desc>, GetError>
    function get<A>(type: WatchableType<A>, name: string, options?: GetOptions): Effect.Effect<A, GetError>
    function get(type: Type, name: string, options: GetOptions = {}): Effect.Effect<unknown, GetError> {
      return Effect.suspend(() => {
        const wanted: WatchableType<unknown> = type instanceof WatchableType ? type : typeOf(type)
        return Effect.acquireUseRelease(
          begin(wanted, name),
          ({ pull }) => first(pull, wanted.typeUrl, name, options),
          end
        )
      })
    }

    const hostClient = { driver, protocol: options.protocol ?? "StateOfTheWorld", now }
    function virtualHosts(
      routeConfiguration: string,
      options?: VirtualHosts.Options
    ): Effect.Effect<VirtualHosts.VirtualHosts<VirtualHost>, DecoderConflict, Scope.Scope>
    function virtualHosts<R, A>(
      routeConfiguration: string,
      options: VirtualHosts.Options & { readonly types: VirtualHosts.Types<R, A> }
    ): Effect.Effect<VirtualHosts.VirtualHosts<A>, DecoderConflict, Scope.Scope>
    function virtualHosts<R, A>(
      routeConfiguration: string,
      options: VirtualHosts.Options & { readonly types?: VirtualHosts.Types<R, A> } = {}
    ): Effect.Effect<VirtualHosts.VirtualHosts<A | VirtualHost>, DecoderConflict, Scope.Scope> {
      const { types } = options
      return Effect.gen(function* () {
        // A client that only watches does not need them.
        const Hosts = yield* Effect.promise(() => import("./internal/Hosts.js"))
        if (types !== undefined) return yield* Hosts.make(hostClient, routeConfiguration, types, options)
        const { isVirtualHost, make } = yield* Effect.promise(() => import("./internal/HostTypes.js"))
        const hosts = yield* Hosts.make(hostClient, routeConfiguration, make(typeOf), options)
        return {
          ...hosts,
          find: (host, options) =>
            Effect.flatMap(hosts.find(host, options), (value) =>
              isVirtualHost(value) ? Effect.succeed(value) : Effect.dieMessage("not a VirtualHost")
            )
        }
      })
    }

    return {
      watch,
      watchAll,
      watchTogether: <A>(type: WatchableType<A>, name = "*") =>
        Stream.unwrapScoped(
          Effect.map(
            Effect.acquireRelease(
              Effect.suspend(() => new Together<A>(driver).begin(type, name)),
              (watch) => Effect.sync(() => watch.end())
            ),
            ({ pull }) => Stream.repeatEffectOption(pull)
          )
        ),
      get,
      virtualHosts,
      scopedRoutes: (scopedRoutes, options = {}) =>
        Effect.flatMap(
          Effect.promise(() => import("./internal/Scopes.js")),
          (Scopes) => Scopes.make({ ...hostClient, loop }, scopedRoutes, typeOf, options)
        ),
      refresh: (type, names) =>
        Effect.map(
          Effect.suspend(() => driver.withType(type)),
          () => driver.pass({ _tag: "Refresh", typeUrl: type.typeUrl, names })
        ),
      claim: (type, owner, keys) =>
        Effect.suspend(() => driver.withType(type)).pipe(
          Effect.zipRight(
            Effect.acquireRelease(
              Effect.sync(() => driver.claim()),
              (own) => Effect.sync(() => own(type.typeUrl, owner, []))
            )
          ),
          Effect.map((own) => own(type.typeUrl, owner, Array.from(keys)))
        ),
      dump: Effect.promise(() => ClientConfigs.make(bootstrap.node, options.scope ?? "", driver.dump(), loop)),
      connections: Effect.sync(() => driver.connections()),
      answered: Effect.sync(() => driver.answeredTypes())
    }
  })

/** The first decisive event of a watch: a resource or an error. */
const first = <A>(
  pull: Effect.Effect<Iterable<ResourceEvent<A>>, Option.Option<never>>,
  typeUrl: string,
  name: string,
  options: GetOptions
): Effect.Effect<A, ResourceDoesNotExist | ResourceUnavailable> => {
  const wrong = BadOption.find(options, { timeout: 0 })
  if (wrong !== undefined) return Effect.die(wrong)
  const timeout = Duration.decode(options.timeout ?? "20 seconds")
  let last = "no server answered"
  const reason = "the scope of the client has closed"
  const pulled = Effect.mapError(pull, () => new ResourceUnavailable({ typeUrl, name, reason }))
  const next: Effect.Effect<A, ResourceDoesNotExist | ResourceUnavailable> = Effect.flatMap(pulled, (events) => {
    for (const event of events) {
      switch (event._tag) {
        case "Updated":
          return Effect.succeed(event.value)
        case "DoesNotExist":
          return new ResourceDoesNotExist({ typeUrl, name, reason: event.error.message })
        case "Error":
          last = event.error.message
          // A server that cannot be reached now may come back before the timeout.
          if (event.error.code === Status.codes.UNAVAILABLE) continue
          return new ResourceUnavailable({ typeUrl, name, reason: last })
        case "AmbientError":
        case "Recovered":
          continue
      }
    }
    return next
  })
  return Effect.timeoutFail(next, {
    duration: timeout,
    onTimeout: () => {
      const reason = `nothing within ${Duration.format(timeout)}; the last that was heard: ${last}`
      return new ResourceUnavailable({ typeUrl, name, reason })
    }
  })
}

/**
 * A client that lives as long as the layer. Fails as {@link make} does.
 *
 * @example
 * import { Bootstrap, XdsClient } from "@effect-xds/client"
 * import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
 * import { ConnectClient } from "@effect-xds/transport-connect"
 * import { Effect, Layer, Stream } from "effect"
 *
 * const program = Effect.gen(function* () {
 *   const client = yield* XdsClient.XdsClient
 *   yield* Stream.runForEach(client.watch(ClusterSchema, "backend"), (event) => Effect.log(event._tag))
 * })
 *
 * const bootstrap = Bootstrap.make({ servers: ["127.0.0.1:18000"], node: { id: "app-1", cluster: "edge" } })
 * const layer = XdsClient.layer({ bootstrap }).pipe(Layer.provide(ConnectClient.layer()))
 *
 * Effect.runFork(Effect.provide(program, layer))
 *
 * @since 0.1.0
 */
export const layer = <E = never, R = never>(
  options: Options<E, R>
): Layer.Layer<XdsClient, E | ClientTransport.ClientTransportError, R | ClientTransport.ClientTransport> =>
  Layer.scoped(XdsClient, make(options))

/**
 * A client with options from a `ConfigProvider`, which lives as long as the layer.
 *
 * @example
 * import { Bootstrap, XdsClient } from "@effect-xds/client"
 * import { ConnectClient } from "@effect-xds/transport-connect"
 * import { Config, Layer } from "effect"
 *
 * const layer = XdsClient.layerConfig({
 *   bootstrap: Bootstrap.config("GRPC_XDS_BOOTSTRAP_CONFIG"),
 *   protocol: Config.withDefault(Config.literal("StateOfTheWorld", "Incremental")("XDS_PROTOCOL"), "Incremental"),
 *   watcherTimeout: Config.withDefault(Config.duration("XDS_WATCHER_TIMEOUT"), "10 seconds")
 * }).pipe(Layer.provide(ConnectClient.layer()))
 *
 * @since 0.1.0
 */
export const layerConfig = <E = never, R = never>(
  config: Config.Config.Wrap<Options<E, R>>
): Layer.Layer<
  XdsClient,
  ConfigError | E | ClientTransport.ClientTransportError,
  R | ClientTransport.ClientTransport
> => Layer.scoped(XdsClient, Effect.flatMap(Config.unwrap(config), make))
