/**
 * Sessions: calls with a cookie go to the endpoint that the cookie names, as long as that is there.
 *
 * The HTTP filter `envoy.filters.http.stateful_session`, with cookies. The cookie says the addresses of an endpoint and its
 * cluster, `10.0.0.1:80;cart-v2`, in base64. Whoever makes the calls puts what {@link setCookie} says into the headers of a
 * response, and sends it with the next calls of the session.
 *
 * @see https://github.com/grpc/proposal/blob/master/A55-xds-stateful-session-affinity.md
 * @see https://github.com/grpc/proposal/blob/master/A60-xds-stateful-session-affinity-weighted-clusters.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import type { Any } from "@bufbuild/protobuf/wkt"
import * as Milliseconds from "@effect-xds/discovery/Milliseconds"
import * as ProbeHeaders from "@effect-xds/discovery/ProbeHeaders"
import * as Reason from "@effect-xds/proto/Reason"
import type { StatefulSession } from "@effect-xds/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session"
import {
  StatefulSessionPerRouteSchema,
  StatefulSessionSchema
} from "@effect-xds/proto/envoy/extensions/filters/http/stateful_session/v3/stateful_session"
import { CookieBasedSessionStateSchema } from "@effect-xds/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie"
import * as Either from "effect/Either"
import * as Encoding from "effect/Encoding"
import type { CallHeaders } from "./CallHeaders.js"
import * as Headers from "./CallHeaders.js"
import type { Address, Endpoint } from "./Endpoint.js"
import { Collector } from "./RouteError.js"

/**
 * The cookie of sessions.
 *
 * @since 0.1.0
 */
export interface Settings {
  readonly cookie: string
  /** Calls with another path belong to no session; empty: all calls do. */
  readonly path: string
  /** Milliseconds that the cookie is kept; 0: as long as its owner likes. */
  readonly ttl: number
}

/**
 * A call of a session.
 *
 * @since 0.1.0
 */
export interface Session {
  readonly settings: Settings
  /** What its cookie names, the first that can be used; empty: it has no cookie. */
  readonly hosts: ReadonlyArray<Address>
  /** What its cookie names; empty: none. */
  readonly cluster: string
}

const prefix = "type.googleapis.com/"
const cookieType = `${prefix}${CookieBasedSessionStateSchema.typeName}`

/**
 * The type URL of the filter's configuration in a listener.
 *
 * @since 0.1.0
 */
export const filterType = `${prefix}${StatefulSessionSchema.typeName}`

/**
 * The type URL of its configuration in virtual hosts, routes and weighted clusters.
 *
 * @since 0.1.0
 */
export const overrideType = `${prefix}${StatefulSessionPerRouteSchema.typeName}`

/**
 * Reads the configuration of the filter, or of a part of the routes. `undefined`: there are no sessions, or mistakes, which
 * are then with `errors`.
 *
 * @since 0.1.0
 */
export const make = (config: Any, path: string, errors: Collector): Settings | undefined => {
  try {
    switch (config.typeUrl) {
      case filterType:
        return settingsOf(fromBinary(StatefulSessionSchema, config.value), path, errors)
      case overrideType: {
        const { override } = fromBinary(StatefulSessionPerRouteSchema, config.value)
        if (override.case !== "statefulSession") return undefined
        return settingsOf(override.value, `${path}.stateful_session`, errors)
      }
      default:
        errors.add(path, "StatefulSession", `${config.typeUrl} is not supported; use ${filterType}`)
    }
  } catch (cause) {
    errors.add(path, "StatefulSession", `not the message that its type URL says: ${Reason.of(cause)}`)
  }
  return undefined
}

const settingsOf = ({ sessionState }: StatefulSession, path: string, errors: Collector): Settings | undefined => {
  if (sessionState === undefined) return undefined
  const at = `${path}.session_state.typed_config`
  const state = sessionState.typedConfig
  if (state?.typeUrl !== cookieType) {
    errors.add(at, "StatefulSession", `${state?.typeUrl ?? "no type"} is not supported; use ${cookieType}`)
    return undefined
  }
  const { cookie } = fromBinary(CookieBasedSessionStateSchema, state.value)
  if (cookie === undefined) {
    errors.add(`${at}.cookie`, "StatefulSession", "cookie is missing; it is required")
    return undefined
  }
  const before = errors.count
  const { name } = cookie
  if (name === "") errors.add(`${at}.cookie.name`, "StatefulSession", "the name is empty; name the cookie")
  // ★ What `set-cookie` cannot say would fail each call that the server has answered.
  else if (!ProbeHeaders.isName(name)) {
    errors.add(`${at}.cookie.name`, "StatefulSession", `${JSON.stringify(name)} is not the name of a cookie`)
  }
  if (!isPath(cookie.path)) {
    errors.add(`${at}.cookie.path`, "StatefulSession", `${JSON.stringify(cookie.path)} is not the path of a cookie`)
  }
  const ttl = cookie.ttl === undefined ? 0 : Milliseconds.make(cookie.ttl)
  if (ttl === undefined || ttl < 0) {
    errors.add(`${at}.cookie.ttl`, "Duration", ttl === undefined ? "not a valid duration" : `is negative: ${ttl} ms`)
    return undefined
  }
  return errors.count > before ? undefined : { cookie: name, path: cookie.path, ttl }
}

/** RFC 6265, section 4.1.1. */
const isPath = (text: string): boolean => /^[\x20-\x3a\x3c-\x7e]*$/.test(text)

/** What was read of configurations, which stay as they are. */
const known = new WeakMap<Any, { readonly settings: Settings | undefined }>()

/**
 * The settings that a configuration says, which is valid; `undefined`: there are no sessions.
 *
 * @since 0.1.0
 */
export const read = (config: Any): Settings | undefined => {
  let found = known.get(config)
  if (found === undefined) {
    found = { settings: make(config, "", new Collector()) }
    known.set(config, found)
  }
  return found.settings
}

/** Most addresses of a cookie that are looked at. An endpoint has two or three. */
const maxHosts = 16

/**
 * The session that a call belongs to; `undefined`: none, because of its path. ★ Of several cookies of the name the first
 * counts, and one that does not say what it should is as none.
 *
 * @since 0.1.0
 */
export const of = (settings: Settings, path: string, headers: CallHeaders): Session | undefined => {
  if (!isUnder(path, settings.path)) return undefined
  const value = cookieOf(Headers.see(headers, "cookie") ?? "", settings.cookie)
  const [hosts = "", ...cluster] = Either.getOrElse(Encoding.decodeBase64String(value), () => "").split(";")
  return {
    settings,
    hosts: hosts === "" ? [] : hosts.split(",", maxHosts),
    cluster: cluster.join(";")
  }
}

/** RFC 6265, section 5.1.4. */
const isUnder = (path: string, of: string): boolean =>
  of === "" || (path.startsWith(of) && (path.length === of.length || of.endsWith("/") || path[of.length] === "/"))

/** Cookies are parted by semicolons, and several headers by commas; neither is in the value of a cookie (RFC 6265). */
const cookieOf = (header: string, name: string): string => {
  for (const each of header.split(/[;,]/)) {
    const at = each.indexOf("=")
    if (at < 0 || each.slice(0, at).trim() !== name) continue
    return each
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, "$1")
  }
  return ""
}

/**
 * The `set-cookie` header of a response; `undefined` if the call's cookie says already where it went.
 *
 * @param cluster where the call went
 * @param address of the endpoint, that it was sent to
 * @since 0.1.0
 */
export const setCookie = (
  { cluster: before, hosts, settings }: Session,
  cluster: string,
  endpoint: Endpoint,
  address: Address
): string | undefined => {
  // ★ The one it went to comes first; the others are the same endpoint's.
  const addresses = [address, ...endpoint.addresses.filter((other) => other !== address)].join(",")
  if (before === cluster && hosts.join(",") === addresses) return undefined
  const { cookie, path, ttl } = settings
  const parts = [`${cookie}=${Encoding.encodeBase64(`${addresses};${cluster}`)}`, "HttpOnly"]
  if (path !== "") parts.push(`Path=${path}`)
  if (ttl > 0) parts.push(`Max-Age=${Math.floor(ttl / 1_000)}`)
  return parts.join("; ")
}
