/**
 * Scoped routes (SRDS): the headers of a call make a key, the key names a scope, and the scope says where the routes are.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/scoped_route.proto
 * @since 0.1.0
 */
import * as ScopeKey from "@effect-xds/core/resource/ScopeKey"
import * as Steps from "@effect-xds/core/Steps"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import type { ScopedRouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import type { ScopedRoutes as ScopedRoutesMessage } from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import * as Either from "effect/Either"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import * as CallHeaders from "./CallHeaders.js"
import type { RouteError } from "./RouteError.js"
import { Collector } from "./RouteError.js"
import * as RouteTables from "./RouteTable.js"
import type { RouteTable } from "./RouteTable.js"

/**
 * Where routes are: in a RouteConfiguration to watch, or given.
 *
 * @since 0.1.0
 */
export type Routes =
  { readonly _tag: "Rds"; readonly name: string } | { readonly _tag: "Inline"; readonly table: RouteTable }

/**
 * A scope.
 *
 * @since 0.1.0
 */
export interface RouteScope {
  readonly name: string
  /** The key of its calls, as `ScopeKey.make` of `@effect-xds/core` writes it. */
  readonly key: string
  readonly routes: Routes
}

/**
 * The scopes of a listener.
 *
 * @since 0.1.0
 */
export interface RouteScopes {
  readonly byName: HashMap.HashMap<string, RouteScope>
  readonly byKey: HashMap.HashMap<string, RouteScope>
  /** What they were before, and the keys of which something changed since; `undefined`: they are new. */
  readonly since: { readonly byKey: RouteScopes["byKey"]; readonly keys: ReadonlySet<string> } | undefined
}

/**
 * The scoped routes of a listener.
 *
 * @since 0.1.0
 */
export interface Scoped {
  readonly _tag: "Scoped"
  /** `ScopedRoutes.name`. */
  readonly name: string
  readonly builder: ScopeKey.Builder
  readonly scopes:
    | { readonly _tag: "Given"; readonly scopes: RouteScopes }
    /** `name`: `*`, or a collection. */
    | { readonly _tag: "Watched"; readonly name: string }
}

/**
 * No scopes.
 *
 * @since 0.1.0
 */
export const none: RouteScopes = { byName: HashMap.empty(), byKey: HashMap.empty(), since: undefined }

/**
 * A scope by its name; `undefined`: there is none any more.
 *
 * @since 0.1.0
 */
export type Change = readonly [name: string, scope: RouteScope | undefined]

/**
 * {@link change} in steps.
 *
 * @since 0.1.0
 */
export const changeInSteps = function* (self: RouteScopes, changes: ReadonlyArray<Change>): Steps.Steps<RouteScopes> {
  const byName = HashMap.beginMutation(self.byName)
  const byKey = HashMap.beginMutation(self.byKey)
  const keys = new Set<string>()
  // ★ All that go, before any that come: a key may move from one scope to another.
  yield* Steps.each(changes, ([name]) => {
    const before = Option.getOrUndefined(HashMap.get(byName, name))
    if (before === undefined) return
    keys.add(before.key)
    HashMap.remove(byName, name)
    if (Option.getOrUndefined(HashMap.get(byKey, before.key)) === before) HashMap.remove(byKey, before.key)
  })
  yield* Steps.each(changes, ([name, scope]) => {
    if (scope === undefined) return
    keys.add(scope.key)
    HashMap.set(byName, name, scope)
    HashMap.set(byKey, scope.key, scope)
  })
  const since = { byKey: self.byKey, keys }
  return { byName: HashMap.endMutation(byName), byKey: HashMap.endMutation(byKey), since }
}

/** Most keys of a part. */
const atOnce = 64

/**
 * The way to changed scopes in parts, of which the last is all of it. ★ A key goes from one scope to another within one part.
 *
 * @since 0.1.0
 */
export const parts = function* (after: RouteScopes): Generator<RouteScopes, void> {
  const { byKey, since } = after
  const keys = Array.from(since?.keys ?? [])
  let before = since?.byKey ?? byKey
  for (let at = 0; at + atOnce < keys.length; at += atOnce) {
    const part = keys.slice(at, at + atOnce)
    let next = before
    for (const key of part) {
      const scope = find(after, key)
      next = scope === undefined ? HashMap.remove(next, key) : HashMap.set(next, key, scope)
    }
    yield { ...after, byKey: next, since: { byKey: before, keys: new Set(part) } }
    before = next
  }
  const rest = new Set(keys.slice(Math.max(0, Math.ceil(keys.length / atOnce) - 1) * atOnce))
  yield { ...after, since: { byKey: before, keys: rest } }
}

/**
 * The scopes after changes that are made at once. A name is in them once.
 *
 * @since 0.1.0
 */
export const change = (self: RouteScopes, changes: ReadonlyArray<Change>): RouteScopes =>
  Steps.toEnd(changeInSteps(self, changes))

/**
 * The scope with a key.
 *
 * @since 0.1.0
 */
export const find = ({ byKey }: RouteScopes, key: string): RouteScope | undefined =>
  Option.getOrUndefined(HashMap.get(byKey, key))

/**
 * The key of a call; `undefined`: a header is missing, or has no such element. ★ Of an RPC only those headers are seen that matchers
 * see.
 *
 * @since 0.1.0
 */
export const keyOf = ({ builder }: Scoped, headers: CallHeaders.CallHeaders): string | undefined =>
  ScopeKey.ofHeaders(builder, (name) => CallHeaders.see(headers, name))

/**
 * Reads a scope that was fetched. Left: all its mistakes.
 *
 * @since 0.1.0
 */
export const make = (
  message: ScopedRouteConfiguration,
  options: RouteTables.Options = {}
): Either.Either<RouteScope, ReadonlyArray<RouteError>> => {
  const errors = new Collector()
  const scope = scopeOf(message, "", options, errors)
  return scope === undefined ? Either.left(errors.errors) : Either.right(scope)
}

/** @param path of the scope, with a dot at its end; empty for one that was fetched */
const scopeOf = (
  { key, name, routeConfiguration, routeConfigurationName }: ScopedRouteConfiguration,
  path: string,
  options: RouteTables.Options,
  errors: Collector
): RouteScope | undefined => {
  const before = errors.count
  if (name === "") errors.add(`${path}name`, "RouteScope", "the name is empty; name the scope")
  const fragments: Array<string> = []
  for (const [index, { type }] of (key?.fragments ?? []).entries()) {
    if (type.case === "stringKey") fragments.push(type.value)
    else errors.add(`${path}key.fragments[${index}]`, "RouteScope", "no string_key is set; set one")
  }
  if (key === undefined || key.fragments.length === 0) {
    errors.add(`${path}key`, "RouteScope", "has no fragments; add one")
  }
  const made = { name, key: ScopeKey.make(fragments) }
  if (routeConfiguration !== undefined) {
    const table = RouteTables.make(routeConfiguration, options)
    if (Either.isRight(table)) {
      return errors.count > before ? undefined : { ...made, routes: { _tag: "Inline", table: table.right } }
    }
    for (const error of table.left) {
      errors.add(`${path}route_configuration.${error.path}`, error.reason, error.message)
    }
    return undefined
  }
  if (routeConfigurationName === "") {
    errors.add(path === "" ? "route_configuration_name" : path.slice(0, -1), "RouteScope", "has no routes; name them")
  }
  return errors.count > before ? undefined : { ...made, routes: { _tag: "Rds", name: routeConfigurationName } }
}

/**
 * Reads the scoped routes of a listener; `undefined`: they have mistakes, which are then with `errors`.
 *
 * @since 0.1.0
 */
export const scoped = (
  message: ScopedRoutesMessage,
  path: string,
  options: RouteTables.Options,
  errors: Collector
): Scoped | undefined => {
  const { configSpecifier, name, rdsConfigSource, scopeKeyBuilder } = message
  const before = errors.count
  if (name === "") errors.add(`${path}.name`, "RouteScope", "the name is empty; name the scoped routes")
  const builder = ScopeKey.builderOf(scopeKeyBuilder)
  if (Either.isLeft(builder)) errors.add(`${path}.${builder.left.path}`, "RouteScope", builder.left.reason)
  let scopes: Scoped["scopes"] | undefined
  switch (configSpecifier.case) {
    case "scopedRouteConfigurationsList":
      scopes = { _tag: "Given", scopes: given(configSpecifier.value.scopedRouteConfigurations, path, options, errors) }
      break
    case "scopedRds": {
      const { scopedRdsConfigSource, srdsResourcesLocator } = configSpecifier.value
      checkSource(scopedRdsConfigSource, `${path}.scoped_rds.scoped_rds_config_source`, "scopes", errors)
      checkSource(rdsConfigSource, `${path}.rds_config_source`, "routes", errors)
      scopes = { _tag: "Watched", name: srdsResourcesLocator === "" ? "*" : srdsResourcesLocator }
      break
    }
    case undefined:
      errors.add(path, "RouteScope", "neither scoped_rds nor scoped_route_configurations_list is set; set one")
  }
  if (Either.isLeft(builder) || scopes === undefined || errors.count > before) return undefined
  return { _tag: "Scoped", name, builder: builder.right, scopes }
}

const checkSource = (source: ConfigSource | undefined, path: string, what: string, errors: Collector): void => {
  const kind = source?.configSourceSpecifier.case
  if (kind === "ads" || kind === "self") return
  errors.add(path, "RouteSource", `only ads and self are supported as the source of ${what}`)
}

/** The scopes that stand in the listener. */
const given = (
  messages: ReadonlyArray<ScopedRouteConfiguration>,
  path: string,
  options: RouteTables.Options,
  errors: Collector
): RouteScopes => {
  const list = `${path}.scoped_route_configurations_list`
  if (messages.length === 0) errors.add(list, "RouteScope", "there are no scopes; add one")
  const names = new Set<string>()
  const keys = new Set<string>()
  const changes: Array<Change> = []
  for (const [index, message] of messages.entries()) {
    const at = `${list}.scoped_route_configurations[${index}]`
    // As Envoy: what is fetched is for scopes that are fetched.
    if (message.routeConfiguration === undefined) {
      const words = "has its routes elsewhere; set route_configuration, or fetch the scopes by scoped_rds"
      errors.add(at, "RouteScope", words)
      continue
    }
    const scope = scopeOf(message, `${at}.`, options, errors)
    if (scope === undefined) continue
    if (keys.has(scope.key)) errors.add(`${at}.key`, "RouteScope", `${scope.key} is there twice; keys are unique`)
    if (names.has(scope.name)) {
      errors.add(`${at}.name`, "RouteScope", `${JSON.stringify(scope.name)} is there twice; names are unique`)
    }
    keys.add(scope.key)
    names.add(scope.name)
    changes.push([scope.name, scope])
  }
  return change(none, changes)
}
