/**
 * An xDS control plane: serves the resources of a {@link SnapshotStore} on a transport.
 *
 * @since 0.1.0
 */
import type * as InterestIndex from "@effect-xds/core/server/InterestIndex"
import type * as Steps from "@effect-xds/core/Steps"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as ByteBudget from "@effect-xds/transport-node/ByteBudget"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Status from "@effect-xds/transport/Status"
import * as TransportMetrics from "@effect-xds/transport/TransportMetrics"
import type * as Cause from "effect/Cause"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as LogLevel from "effect/LogLevel"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type { ClientStatus } from "./ConnectedClient.js"
import { FanOuts } from "./FanOuts.js"
import { ChangeTimes } from "./internal/ChangeTimes.js"
import type { Environment, Group, Work } from "./internal/Environment.js"
import { Connection } from "./internal/Connection.js"
import { Secrets } from "./internal/Secrets.js"
import * as Bodies from "./internal/Bodies.js"
import * as GroupNames from "./internal/GroupNames.js"
import * as MissingResources from "./internal/MissingResources.js"
import * as Settings from "./internal/Settings.js"
import * as StreamSpan from "./internal/StreamSpan.js"
import * as LogThrottle from "@effect-xds/transport-node/LogThrottle"
import * as TimerTable from "@effect-xds/transport-node/TimerTable"
import * as Subscribers from "./internal/Subscribers.js"
import * as Worker from "./internal/Worker.js"
import type { ServerEvent } from "./ServerEvent.js"
import * as GroupSource from "./GroupSource.js"
import * as XdsServerMetrics from "./XdsServerMetrics.js"
import type { Options, Revocation } from "./ServerOptions.js"

export { Refusal } from "./Refusal.js"
export type { GroupSettings, Wildcards, Options, Revocation } from "./ServerOptions.js"

/**
 * A running server.
 *
 * @since 0.1.0
 */
export interface Service {
  /** The address: `127.0.0.1:18000`. */
  readonly address: string
  /**
   * Every open stream: its client, subscriptions, and sent, ACKed and NACKed versions. If there are many, others run in
   * between, and each is as it was when its turn came.
   */
  readonly status: Effect.Effect<ReadonlyArray<ClientStatus>>
  /**
   * Whether a client of the group subscribes to this name or alias. If that is a wildcard domain of VHDS, `main/*.example`: to any
   * host that it matches, which takes a look at every name.
   */
  readonly isSubscribed: (group: string, typeUrl: string, name: string) => boolean
  /**
   * Events from now on, until the server ends. A subscriber that is too slow gets a `Lost` with the number of missed events,
   * after those that were kept for it.
   */
  readonly events: Stream.Stream<ServerEvent>
}

/**
 * The service tag of a server.
 *
 * @since 0.1.0
 */
export class XdsServer extends Context.Tag("@effect-xds/server/XdsServer")<XdsServer, Service>() {}

/** The number of streams that are rechecked before others run. */
const recheckedAtATime = 100

/** The number of streams whose status is made before others run. */
const statusesAtATime = 32

/** The status of every stream that is open when it is made. */
const statuses = function* (connections: ReadonlySet<Connection>): Steps.Steps<ReadonlyArray<ClientStatus>> {
  const all: Array<ClientStatus> = []
  // Not those that come meanwhile: there would be no end.
  for (const connection of Array.from(connections)) {
    if (!connections.has(connection)) continue
    all.push(connection.status())
    if (all.length % statusesAtATime === 0) yield
  }
  return all
}

/** Milliseconds that deadlines are rounded up to: thousands of streams cost at most a hundred wake-ups a second. */
const deadlineTick = 10

/** The handler of a stream that is refused at once. */
const deaf: ServerTransport.StreamHandler = {
  onRequest: () => undefined,
  onWritable: () => undefined,
  onEnd: () => undefined
}

/** The least that limits and durations may be. */
const least = {
  groupTimeout: 0,
  phaseDeadline: 0,
  firstRequestTimeout: 0,
  fetchTimeout: 0,
  missingWait: 0,
  missingTimeout: 0,
  missingAgainAfter: 0,
  maxNames: 0,
  maxNameLength: 0,
  maxTypes: 0,
  maxNodeFields: 0,
  maxClientBytes: 0,
  maxStreams: 0,
  maxStreamsPerGroup: 0,
  maxEarlyRequests: 0,
  maxResponseBytes: 0,
  eventCapacity: 0,
  maxEventNames: 0,
  maxMissingCalls: 0,
  maxMissingCallsPerGroup: 0,
  maxMissingNames: 0,
  maxMissingBytes: 0
} as const

/**
 * A server that serves until the scope closes, which ends its streams. Fails with `ServerTransportError` if its transport
 * cannot serve.
 *
 * @since 0.1.0
 */
export const make = <R = never>(
  options: Options<R>
): Effect.Effect<
  Service,
  ServerTransport.ServerTransportError,
  GroupSource.GroupSource | ServerTransport.ServerTransport | Scope.Scope | R
> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, least)
    const source = yield* GroupSource.GroupSource
    const transport = yield* ServerTransport.ServerTransport
    const runtime = yield* Effect.runtime<R>()
    const clock = yield* Effect.clock
    const loop = yield* EventLoop.guarded
    const fanOuts = yield* FanOuts
    // The hash seed of the name map: clients must not be able to guess it.
    const seed = Math.floor(Math.random() * 2 ** 32)
    const maxStreams = options.maxStreams ?? 100_000
    const connections = new Set<Connection>()
    const groups = new Map<string, Group>()
    const subscribers = Subscribers.make(options.eventCapacity ?? 1_024)
    const refusing = new TransportMetrics.Refusing("maxClientBytes")
    const full = new TransportMetrics.Refusing("maxStreams")
    let lastId = 0

    // Monotonic: the wall clock may go back, and the reducers' time must not.
    const now = (): number => Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)

    const log = LogThrottle.make(runtime, now)
    const span = yield* StreamSpan.make((cause) => {
      const reason = Redaction.ofDefect(cause)
      log(LogLevel.Error, "defect tracer", `the tracer failed: ${reason}; the stream goes on without its span`)
    })

    // One clock reading for all work of a slice.
    const worker = Worker.make(loop, now, (work: Work, at) => {
      work.queued = false
      work.run(at)
    })
    const enqueue = (work: Work): void => {
      if (work.queued) return
      work.queued = true
      worker.add(work, work.isLong)
    }
    const later = (work: Work): void => {
      enqueue(work)
      worker.startLater()
    }
    const deadlines = yield* TimerTable.make<Connection>({
      now,
      tick: deadlineTick,
      onCount: (change) => XdsServerMetrics.deadlines.unsafeModify(change, []),
      onDue: (due) => {
        for (const connection of due) {
          connection.markDue()
          enqueue(connection)
        }
        worker.start()
      }
    })

    /** Called when a stream left a group; `slices` remove its subscriptions. */
    const left = (group: Group, slices: InterestIndex.Slices | undefined): void => {
      if (group.fanOut.size === 0) {
        // The group's last state is dropped, too.
        groups.delete(group.name)
        return
      }
      if (slices === undefined) return
      const rest: Work = {
        queued: false,
        isLong: true,
        run: () => {
          if (slices.next().done !== true) enqueue(rest)
        }
      }
      later(rest)
    }

    const missing =
      options.onMissing === undefined
        ? undefined
        : yield* MissingResources.make({ ...options, onMissing: options.onMissing }, runtime, {
            now,
            log,
            publish: subscribers.publish,
            later,
            some: (work) => Slices.some(loop, work),
            group: (name) => groups.get(name)
          })
    const environment: Environment<Connection> = {
      some: (work) => Slices.some(loop, work),
      bodies: Bodies.make(),
      settings: Settings.of(options),
      clock,
      now,
      deadline: deadlines.set,
      later,
      group: (name) => {
        const known = groups.get(name)
        if (known !== undefined) return known
        const resources = source.unsafeGet(name)
        const group: Group = { name, fanOut: fanOuts.make(name, resources, seed), changes: new ChangeTimes() }
        groups.set(name, group)
        return group
      },
      leave: (connection, group, stream) => {
        if (connections.delete(connection)) {
          XdsServerMetrics.streams.unsafeModify(-1, [])
          full.set(false)
        }
        if (group !== undefined && stream !== undefined) left(group, group.fanOut.leave(stream))
      },
      move: (from, stream, to, phases) => left(from, from.fanOut.move(stream, to.fanOut, phases)),
      publish: subscribers.publish,
      log,
      missing,
      span,
      secrets: new Secrets(),
      admitting: new ByteBudget.ByteBudget(options.maxClientBytes ?? ByteBudget.defaultLimit, "admitting"),
      refusing,
      revoked: (origin, group) => revocation?.(origin(), group),
      nameOf: GroupNames.make(options.group, runtime)
    }

    let revocation: Revocation | undefined
    if (options.revocations !== undefined) {
      const recheck = (next: Revocation): void => {
        revocation = next
        const open = Array.from(connections).values()
        const rest: Work = {
          queued: false,
          isLong: true,
          run: () => {
            let count = 0
            for (const connection of open) {
              connection.recheck()
              // Others run in between.
              if (++count === recheckedAtATime) return enqueue(rest)
            }
          }
        }
        later(rest)
      }
      yield* Stream.runForEach(options.revocations, (next) => Effect.sync(() => recheck(next))).pipe(
        // Without a log line it would look as if nothing were revoked any more. It may also be interrupted, or fail in spite of
        // its type.
        Effect.catchAllCause((cause: Cause.Cause<unknown>) =>
          Effect.logError("the stream of revocations failed: the last one stays in force, no other follows", cause)
        ),
        // A stream that does not end is interrupted, but not waited for.
        Effect.disconnect,
        Effect.forkScoped
      )
    }
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        for (const connection of connections) connection.end(Status.make("UNAVAILABLE", "the control plane shuts down"))
        subscribers.end()
        worker.stop()
        refusing.set(false)
        full.set(false)
      })
    )
    yield* source.listen((name, resources) => {
      const group = groups.get(name)
      if (group === undefined) return
      const before = group.fanOut.group
      group.changes.note(before, resources, now())
      group.fanOut.publish(resources, ({ owner }, isConflated) => {
        if (isConflated) XdsServerMetrics.conflations.unsafeUpdate(1, [])
        enqueue(owner)
      })
      missing?.changed(group, before)
      worker.start()
    })
    const address = yield* transport.serve((stream) => {
      if (connections.size >= maxStreams) {
        full.set(true)
        XdsServerMetrics.violations.unsafeUpdate(1, [])
        environment.log(LogLevel.Warning, "maxStreams", `${maxStreams} streams are open; no more are accepted`)
        const status = Status.make("RESOURCE_EXHAUSTED", `the control plane serves its ${maxStreams} streams already`)
        span(StreamSpan.attributesOf(stream.method))?.end(clock.unsafeCurrentTimeNanos(), Exit.fail(status))
        stream.end(status)
        return deaf
      }
      const connection = new Connection(environment, ++lastId, stream)
      connections.add(connection)
      XdsServerMetrics.streams.unsafeModify(1, [])
      return connection
    })
    yield* Effect.logInfo(`xDS is served on ${address}`)

    return {
      address,
      status: Effect.suspend(() => Slices.steps(loop, statuses(connections))),
      isSubscribed: (group, typeUrl, name) => groups.get(group)?.fanOut.isSubscribed(typeUrl, name) ?? false,
      events: subscribers.stream
    }
  })

/**
 * A server that lives as long as the layer. Fails as {@link make} does.
 *
 * @since 0.1.0
 */
export const layer = <R = never>(
  options: Options<R>
): Layer.Layer<
  XdsServer,
  ServerTransport.ServerTransportError,
  GroupSource.GroupSource | ServerTransport.ServerTransport | R
> => Layer.scoped(XdsServer, make(options))

/**
 * A server with options from a `ConfigProvider`, which lives as long as the layer. Functions are passed unchanged.
 *
 * @example
 * import { SnapshotStore, XdsServer } from "@effect-xds/server"
 * import { ConnectServer } from "@effect-xds/transport-connect"
 * import { Config, Layer } from "effect"
 *
 * const layer = XdsServer.layerConfig({
 *   group: Config.succeed((node) => node.cluster),
 *   controlPlane: Config.string("XDS_CONTROL_PLANE"),
 *   phaseDeadline: Config.withDefault(Config.duration("XDS_PHASE_DEADLINE"), "5 seconds")
 * }).pipe(Layer.provide([ConnectServer.layer({ port: 18000 }), SnapshotStore.layerMemory()]))
 *
 * @since 0.1.0
 */
export const layerConfig = <R = never>(
  config: Config.Config.Wrap<Options<R>>
): Layer.Layer<
  XdsServer,
  ConfigError | ServerTransport.ServerTransportError,
  GroupSource.GroupSource | ServerTransport.ServerTransport | R
> => Layer.scoped(XdsServer, Effect.flatMap(Config.unwrap(config), make))
