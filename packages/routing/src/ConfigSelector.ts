/**
 * What a configuration means for a call: its route and its cluster, chosen once, with its deadline, retries and hash.
 *
 * @see https://github.com/grpc/proposal/blob/master/A31-xds-timeout-support-and-config-selector.md
 * @since 0.1.0
 */
import type { Any } from "@bufbuild/protobuf/wkt"
import type { CallHeaders } from "./CallHeaders.js"
import type { CallStatus } from "./CallStatus.js"
import * as Status from "./CallStatus.js"
import * as Draws from "./Draw.js"
import * as HashPolicy from "./HashPolicy.js"
import * as ScopeTables from "./internal/ScopeTables.js"
import type { Listener } from "./Listener.js"
import type { Call } from "./Matcher.js"
import type { RetryPolicy } from "./RetryPolicy.js"
import * as RouteAction from "./RouteAction.js"
import * as RouteScopes from "./RouteScope.js"
import * as StatefulSession from "./StatefulSession.js"
import * as VirtualHost from "./VirtualHost.js"
import type { Config } from "./XdsConfig.js"

/**
 * How a call is made. It stays so for all attempts.
 *
 * @since 0.1.0
 */
export interface Selected {
  readonly _tag: "Selected"
  readonly cluster: string
  /** Milliseconds for the whole call; Infinity: no limit. */
  readonly timeout: number
  readonly retry: RetryPolicy | undefined
  /** `undefined`: it is drawn. */
  readonly hash: bigint | undefined
  readonly autoHostRewrite: boolean
  /** Settings of HTTP filters by the filter's name: those of the cluster, else of the route, else of the virtual host. */
  readonly filters: ReadonlyMap<string, Any>
  /** `undefined`: the call belongs to no session. */
  readonly session: StatefulSession.Session | undefined
}

/**
 * Why a call cannot be made.
 *
 * @since 0.1.0
 */
export interface Failed {
  readonly _tag: "Failed"
  readonly status: CallStatus
}

/**
 * The routes of the call's scope are not known yet.
 *
 * @since 0.1.0
 */
export interface Waits {
  readonly _tag: "Waits"
  /** The key of the scope. */
  readonly key: string
}

/**
 * What a channel brings to its calls.
 *
 * @since 0.1.0
 */
export interface Channel {
  /** A random number of 64 bits. */
  readonly id: bigint
}

// ★ The call's random numbers from here on: those before are for its picks (`CompiledPicker`). The number that chose the
// cluster would else choose the locality too, and some localities of some clusters would get no calls.
const DRAW_SELECTION = 8_192

/**
 * Chooses for a call, ★ whatever the state of the clusters.
 *
 * @param caller milliseconds until the caller's deadline
 * @since 0.1.0
 */
export const select = (config: Config, channel: Channel, call: Call, caller?: number): Selected | Failed | Waits => {
  const { listener } = config
  const { headers, path } = call
  const chosen = virtualHostOf(config, headers)
  if (chosen._tag !== "VirtualHost") return chosen
  const { virtualHost } = chosen
  const draw = Draws.after(call.draw, DRAW_SELECTION)
  const match = VirtualHost.match(virtualHost, { path, headers, draw })
  const where = `virtual host ${JSON.stringify(virtualHost.name)}`
  if (match._tag === "NoRoute") {
    return { _tag: "Failed", status: Status.unavailable("NoRoute", `no route of ${where} matches ${path}`) }
  }
  if (match._tag === "ActionNotRoute") {
    const message = `the action of route ${JSON.stringify(match.route)} of ${where} is ${match.action}, not route`
    return { _tag: "Failed", status: Status.unavailable("ActionNotRoute", message) }
  }
  const { action, filters } = match.route
  const target = RouteAction.cluster(action.clusters, Draws.after(draw, match.draws))
  const ofCluster = "filters" in target ? target.filters : []
  const overrides = new Map([...virtualHost.filters, ...filters, ...ofCluster])
  const session = sessionOf(listener, overrides, call)
  // ★ The cluster of the session, if the route has it: so a session stays where it is whatever the weights say (A60).
  const isOfRoute = session !== undefined && RouteAction.has(action.clusters, session.cluster)
  return {
    _tag: "Selected",
    cluster: isOfRoute ? session.cluster : target.cluster,
    timeout: RouteAction.timeout(action, listener.maxStreamDuration, caller),
    retry: action.retry,
    hash: HashPolicy.hash(action.hash, headers, channel.id),
    autoHostRewrite: action.autoHostRewrite,
    filters: overrides,
    session
  }
}

/** The virtual host of the listener, or that of the scope that the headers name. */
const virtualHostOf = (
  { listener: { routes }, scopes, virtualHost }: Config,
  headers: CallHeaders
): (ScopeTables.Outcome & { readonly _tag: "VirtualHost" }) | Failed | Waits => {
  if (virtualHost !== undefined) return { _tag: "VirtualHost", virtualHost }
  const fail = (status: CallStatus): Failed => ({ _tag: "Failed", status })
  if (routes._tag !== "Scoped" || scopes === undefined) {
    return fail(Status.unavailable("NoVirtualHost", "there is no virtual host"))
  }
  const of = `the scopes of ${JSON.stringify(routes.name)}`
  const key = RouteScopes.keyOf(routes, headers)
  if (key === undefined) {
    const words = `the headers make no key for ${of}: a header is missing, or has no such element`
    return fail(Status.unavailable("NoScope", words))
  }
  if (RouteScopes.find(scopes.scopes, key) === undefined) {
    return fail(Status.unavailable("NoScope", `none of ${of} has the key ${key}`))
  }
  const outcome = ScopeTables.outcomeOf(scopes, key)
  if (outcome === undefined) return { _tag: "Waits", key }
  return outcome._tag === "Failed" ? fail(Status.unavailable("Resource", outcome.message)) : outcome
}

const sessionOf = (
  { filters }: Listener,
  overrides: ReadonlyMap<string, Any>,
  { headers, path }: Call
): StatefulSession.Session | undefined => {
  let session: StatefulSession.Session | undefined
  for (const { config, name } of filters) {
    if (config?.typeUrl !== StatefulSession.filterType) continue
    const settings = StatefulSession.read(overrides.get(name) ?? config)
    if (settings !== undefined) session = StatefulSession.of(settings, path, headers)
  }
  return session
}
