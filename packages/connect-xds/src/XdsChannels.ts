/**
 * Channels: each resolves a target through an xDS client, balances calls over connections to its endpoints, and follows
 * what the control plane says. Transports and HTTP clients are made of them.
 *
 * @since 0.1.0
 */
import type { Bootstrap, FileWatcher } from "@effect-xds/client/Bootstrap"
import type { ServerConnection } from "@effect-xds/client/ServerConnection"
import { XdsClient } from "@effect-xds/client/XdsClient"
import type { Outcome } from "@effect-xds/discovery/Outlier"
import * as Resolvers from "@effect-xds/discovery-node/Resolver"
import type { Cluster, Profile } from "@effect-xds/routing/Cluster"
import type { Selected } from "@effect-xds/routing/ConfigSelector"
import type { Endpoint } from "@effect-xds/routing/Endpoint"
import { RingStore } from "@effect-xds/routing/RingStore"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Runtime from "effect/Runtime"
import type * as Scope from "effect/Scope"
import { ChannelCounters } from "./internal/ChannelCounters.js"
import { ChannelDriver } from "./internal/ChannelDriver.js"
import type { Versions } from "./internal/Carrier.js"
import type { Events } from "./internal/Connection.js"
import * as Environments from "./internal/Environment.js"
import type { Environment } from "./internal/Environment.js"
import type { Security } from "./internal/Dial.js"
import { EndpointConnection } from "./internal/EndpointConnection.js"
import type { LookedAfter } from "./internal/LookedAfter.js"
import * as Resources from "./internal/Resources.js"
import * as Secrets from "./internal/Secrets.js"
import * as UpstreamTls from "./internal/UpstreamTls.js"
import * as Target from "./Target.js"

/**
 * How channels are made.
 *
 * @since 0.1.0
 */
export interface Options {
  /**
   * The bootstrap of the client: templates of listeners' names and authorities for targets. Default: a target is the name of its
   * listener.
   */
  readonly bootstrap?: Bootstrap | undefined
  /**
   * Whether the control plane may choose `:authority` by `auto_host_rewrite` (`trusted_xds_server`, A81). Default: false.
   */
  readonly trusted?: boolean | undefined
  /**
   * Whose rules are kept. "grpc": those of clients of gRPC, with the failover of A56. "envoy": any type of cluster that finds
   * its endpoints by itself; priorities share the load by how many of their endpoints are well, degraded endpoints come last,
   * panic, outlier detection of Envoy. Health checks work in both. Default: "grpc".
   */
  readonly profile?: Profile | undefined
  /** How long a connection to an endpoint may take, with its handshake; 24 days at most. Default: 20 seconds. */
  readonly connectTimeout?: Duration.DurationInput | undefined
  /**
   * The most connections of HTTP/1.1 of a channel to an address; more calls than that wait for one of them, but for their
   * deadline. Default: 256.
   */
  readonly maxHttp1Connections?: number | undefined
}

/**
 * What a channel is to be like.
 *
 * @since 0.1.0
 */
export interface ChannelOptions {
  /**
   * Whether HTTP/1.1 is spoken where the cluster says so, or the server has nothing else. Default: false, only HTTP/2.
   */
  readonly http1?: boolean | undefined
  /** What virtual hosts are chosen by, and `:authority` of calls. Default: the target without its scheme, `/` as `%2F`. */
  readonly authority?: string | undefined
}

/**
 * A channel, as transports use it.
 *
 * @since 0.1.0
 */
export interface XdsChannel {
  readonly target: Target.Target
  readonly driver: ChannelDriver<EndpointConnection>
  readonly environment: Environment
  /** `:authority` of a call: that of the target, or the endpoint's where the control plane may say so (A81). */
  readonly authorityOf: (endpoint: Endpoint, selected: Selected) => string
  /** What became of an attempt at an endpoint. */
  readonly report: (endpoint: Endpoint, outcome: Outcome | undefined) => void
  /** An answer: its headers may say that the endpoint is to get no more calls. */
  readonly hear: (endpoint: Endpoint, answer: { readonly header: Headers }) => void
  /** The servers that resources come from. */
  readonly servers: () => ReadonlyArray<ServerConnection>
}

/**
 * The service.
 *
 * @since 0.1.0
 */
export interface Service {
  /** Opens a channel to a target, `xds:///service`, until the scope closes; then all its calls end. */
  readonly open: (
    target: string,
    options?: ChannelOptions
  ) => Effect.Effect<XdsChannel, Target.TargetError, Scope.Scope>
  /**
   * The statistics `http.<prefix>.vhds.<route configuration>.config_reload` and `….empty_update` of virtual hosts that were
   * fetched on demand, by name. `:` is `_` in them.
   */
  readonly hostStatistics: (prefix: string) => Effect.Effect<Readonly<Record<string, number>>>
}

/**
 * The service tag.
 *
 * @since 0.1.0
 */
export class XdsChannels extends Context.Tag("@effect-xds/connect-xds/XdsChannels")<XdsChannels, Service>() {}

/**
 * Makes channels of a client. ★ A client has one decoder for each type: make this once for a client.
 *
 * @since 0.1.0
 */
export const make = (options: Options = {}): Effect.Effect<Service, never, XdsClient | Scope.Scope> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, { connectTimeout: 0, maxHttp1Connections: 0 })
    const client = yield* XdsClient
    const resolver = yield* Resolvers.make()
    const isTrusted = options.trusted ?? false
    const providers = options.bootstrap?.certificateProviders ?? new Map<string, FileWatcher>()
    const names = new Set(providers.keys())
    const resources = yield* Resources.make(client, resolver, { providers: names, profile: options.profile })
    const { members } = resources
    const secrets = yield* Secrets.make(client, providers)
    // Clusters are the same values until they change.
    const secured = new WeakMap<Cluster, UpstreamTls.UpstreamTls | null>()
    const securityOf = (cluster: Cluster): UpstreamTls.UpstreamTls | null => {
      const known = secured.get(cluster)
      if (known !== undefined) return known
      // One with a mistake was rejected before.
      const made = Option.getOrUndefined(Either.getRight(UpstreamTls.make(cluster, names))) ?? null
      secured.set(cluster, made)
      return made
    }
    const rings = new RingStore()
    const connectTimeout = Math.min(Environments.longest, Duration.toMillis(options.connectTimeout ?? "20 seconds"))
    const maxSockets = options.maxHttp1Connections ?? 256
    return {
      hostStatistics: (prefix) => Effect.sync(() => resources.hosts.statistics(prefix)),
      open: (name, { authority, http1 = false } = {}) =>
        Effect.gen(function* () {
          const read = yield* Either.match(Target.make(name, options.bootstrap), {
            onLeft: Effect.fail,
            onRight: Effect.succeed
          })
          const target = authority === undefined ? read : { ...read, authority }
          const environment = yield* Environments.make
          const runFork = Runtime.runFork(yield* Effect.runtime())
          const again = Effect.unsafeMakeLatch(false)
          const versionsOf = ({ httpVersion }: Cluster): Versions => (http1 ? (httpVersion ?? "Any") : "Http2")
          const driver: ChannelDriver<EndpointConnection> = yield* Effect.acquireRelease(
            Effect.sync(
              () =>
                new ChannelDriver<EndpointConnection>({
                  name: target.listener,
                  authority: target.authority,
                  counters: new ChannelCounters(),
                  rings,
                  environment,
                  wayOf: (cluster) => `${versionsOf(cluster)} ${securityOf(cluster)?.key ?? ""}`,
                  connect: (address, events, cluster) => {
                    const tls = securityOf(cluster)
                    const security: Security | undefined =
                      tls === null
                        ? undefined
                        : (use, fail) => {
                            const fiber = runFork(
                              secrets.options(tls, target.authority).pipe(
                                Effect.flatMap((found) =>
                                  Effect.zipRight(
                                    Effect.sync(() => use(found)),
                                    Effect.never
                                  )
                                ),
                                Effect.catchAll((reason) => Effect.sync(() => fail(reason))),
                                Effect.scoped
                              )
                            )
                            return () => fiber.unsafeInterruptAsFork(fiber.id())
                          }
                    const told = reporting(members, address, cluster, events)
                    return new EndpointConnection(
                      address,
                      { security, versions: versionsOf(cluster), connectTimeout, maxSockets },
                      told
                    )
                  },
                  watch: (kind, of) => {
                    const watcher: Resources.Watcher = {
                      again,
                      tell: (news) => {
                        try {
                          driver.news(news)
                        } catch (cause) {
                          // ★ The watch goes on: what comes next may be used again.
                          runFork(Effect.logError(`${kind} ${JSON.stringify(of)} cannot be used`, cause))
                        }
                      },
                      cut: (address) => driver.cut(address)
                    }
                    const fiber = runFork(resources.watch(kind, of, watcher))
                    return () => fiber.unsafeInterruptAsFork(fiber.id())
                  },
                  refresh: (kind, of) => void runFork(resources.refresh(kind, of)),
                  detail: (kind, of) => (kind === "Cluster" ? members.waitsFor(of) : undefined),
                  resolveAgain: () => again.unsafeOpen()
                })
            ),
            (opened) => Effect.sync(() => opened.close())
          )
          driver.start()
          return {
            target,
            driver,
            environment,
            authorityOf: ({ hostname }, { autoHostRewrite }) =>
              isTrusted && autoHostRewrite ? (hostname ?? target.authority) : target.authority,
            report: ({ member }, outcome) => {
              if (member !== undefined && outcome !== undefined) members.report(member, outcome)
            },
            hear: ({ member }, answer) => {
              // Headers are made when they are looked at.
              if (member !== undefined && answer.header.has(immediateFailure)) members.passiveFailure(member)
            },
            servers: () => Effect.runSync(client.connections)
          }
        })
    }
  })

const immediateFailure = "x-envoy-immediate-health-check-fail"

/** Who looks after the members of a cluster is told what becomes of connections to them. */
const reporting = (
  members: LookedAfter,
  address: string,
  { discovery, name }: Cluster,
  { ended, gone, ready }: Events
): Events => {
  if (discovery._tag !== "Members") return { ended, gone, ready }
  let isMade = false
  const report = (outcome: Outcome): void => {
    for (const localities of discovery.assignment.priorities) {
      for (const { endpoints } of localities) {
        const endpoint = endpoints.find(({ addresses }) => addresses.includes(address))
        if (endpoint?.member !== undefined) return members.report(endpoint.member, outcome)
      }
    }
  }
  return {
    ended,
    ready: () => {
      isMade = true
      members.trafficSeen(name)
      report({ _tag: "Connected" })
      ready()
    },
    gone: (reason) => {
      if (!isMade) report({ _tag: "ConnectFailure" })
      gone(reason)
    }
  }
}

/**
 * The service, for the life of the layer.
 *
 * @since 0.1.0
 */
export const layer = (options: Options = {}): Layer.Layer<XdsChannels, never, XdsClient> =>
  Layer.scoped(XdsChannels, make(options))
