/** Scoped routes as Effects. */
import { create, isMessage, type DescMessage, type Message, type MessageInitShape } from "@bufbuild/protobuf"
import type * as CoreScopedRoutes from "@effect-xds/core/client/ScopedRoutes"
import type { DecoderConflict } from "@effect-xds/core/client/ResourceDecoder"
import * as ScopeKey from "@effect-xds/core/resource/ScopeKey"
import type { ConfigSource } from "@effect-xds/proto/envoy/config/core/v3/config_source"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import type { VirtualHost } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import {
  type ScopedRouteConfiguration,
  ScopedRouteConfigurationSchema
} from "@effect-xds/proto/envoy/config/route/v3/scoped_route"
import {
  type ScopedRoutes as ScopedRoutesMessage,
  ScopedRoutesSchema
} from "@effect-xds/proto/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Alarm from "@effect-xds/transport-node/Alarm"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Scope from "effect/Scope"
import { type Request, type ScopedRoutes, ScopedRoutesInvalid, ScopeNotFound } from "../ScopedRoutes.js"
import { type Options, VirtualHostNotFound, VirtualHostUnavailable } from "../VirtualHosts.js"
import type { WatchableType } from "../WatchableType.js"
import { endWith, least, optionsOf, type Client } from "./Hosts.js"
import * as HostTypes from "./HostTypes.js"
import { ScopeDriver } from "./ScopeDriver.js"

type Result<A> = Either.Either<A, ScopeKey.Invalid>

const invalid = (path: string, reason: string): Result<never> => Either.left({ path, reason })

const sourceOf = (path: string, source: ConfigSource | undefined): Result<void> => {
  const kind = source?.configSourceSpecifier.case
  if (kind === "ads" || kind === "self") return Either.void
  return invalid(path, `is ${kind ?? "empty"}; use ads: scopes and routes are fetched from the servers of this client`)
}

type CoreScope = CoreScopedRoutes.Scope<Message>

/** `undefined`: one without a key or without routes is never used. */
const scopeOf = (message: Message): CoreScope | undefined => {
  if (!isMessage(message, ScopedRouteConfigurationSchema)) return undefined
  const { key, onDemand, routeConfiguration, routeConfigurationName } = message
  if (key === undefined || key.fragments.length === 0) return undefined
  const fragments = key.fragments.map(({ type }) => (type.case === "stringKey" ? type.value : ""))
  if (routeConfiguration !== undefined) {
    return { key: ScopeKey.make(fragments), onDemand, routes: { _tag: "Given", value: routeConfiguration } }
  }
  if (routeConfigurationName === "") return undefined
  return { key: ScopeKey.make(fragments), onDemand, routes: { _tag: "Named", name: routeConfigurationName } }
}

const nameOf = (message: Message): string => (isMessage(message, RouteConfigurationSchema) ? message.name : "")

/** The scopes that stand in the HTTP connection manager itself. */
const listed = (
  scopes: ReadonlyArray<ScopedRouteConfiguration>
): Result<ReadonlyArray<readonly [string, CoreScope]>> => {
  const keys = new Set<string>()
  return Either.all(
    scopes.map((message, index): Result<readonly [string, CoreScope]> => {
      const path = `scoped_route_configurations_list.scoped_route_configurations[${index}]`
      // As Envoy: what is fetched is for scopes that are fetched.
      if (message.routeConfiguration === undefined) {
        return invalid(path, "has its routes elsewhere; set route_configuration, or fetch the scopes by scoped_rds")
      }
      const scope = scopeOf(message)
      if (scope === undefined) return invalid(`${path}.key`, "has no fragments; add one")
      if (keys.size === keys.add(scope.key).size) return invalid(`${path}.key`, `${scope.key} is there twice`)
      return Either.right([message.name, scope])
    })
  )
}

/** What is watched: `*`, or a collection; `undefined`: the scopes are given. */
const watchedName = ({ configSpecifier }: ScopedRoutesMessage): Result<string | undefined> => {
  switch (configSpecifier.case) {
    case "scopedRouteConfigurationsList":
      return Either.right(undefined)
    case "scopedRds": {
      const { scopedRdsConfigSource, srdsResourcesLocator } = configSpecifier.value
      const path = "scoped_rds.scoped_rds_config_source"
      return Either.map(sourceOf(path, scopedRdsConfigSource), () => srdsResourcesLocator || "*")
    }
    case undefined:
      return invalid("config_specifier", "neither scoped_rds nor scoped_route_configurations_list is set; set one")
  }
}

const headerOf =
  ({ headers }: Request) =>
  (name: string): string | undefined => {
    const value = headers[name]
    return typeof value === "object" ? value[0] : value
  }

export const make = (
  { driver, loop, now, protocol }: Client & { readonly loop: Pick<EventLoop.Service, "soon"> },
  init: MessageInitShape<typeof ScopedRoutesSchema>,
  typeOf: (schema: DescMessage) => WatchableType<Message>,
  options: Options
): Effect.Effect<ScopedRoutes<VirtualHost>, DecoderConflict | ScopedRoutesInvalid, Scope.Scope> =>
  Effect.gen(function* () {
    yield* BadOption.check(options, least)
    const message = create(ScopedRoutesSchema, init)
    const { name } = message
    const read = <A>(result: Result<A>) => Either.mapLeft(result, (left) => new ScopedRoutesInvalid({ name, ...left }))
    const builder = yield* read(ScopeKey.builderOf(message.scopeKeyBuilder))
    const watched = yield* read(watchedName(message))
    const { case: kind, value: list } = message.configSpecifier
    const given = yield* read(listed(kind === "scopedRouteConfigurationsList" ? list.scopedRouteConfigurations : []))
    if (watched !== undefined) yield* read(sourceOf("rds_config_source", message.rdsConfigSource))

    const types = HostTypes.make(typeOf)
    yield* driver.withType(types.routeConfiguration)
    yield* driver.withType(types.virtualHost)
    const scopes: ScopeDriver<Message, Message, Message> = new ScopeDriver(
      driver,
      types,
      { protocol, now, loop, alarm: (at) => alarm.advance(at) },
      nameOf,
      optionsOf(options)
    )
    const alarm = yield* Alarm.make(now, () => scopes.onDeadline())
    yield* Effect.addFinalizer(() => Effect.sync(() => scopes.close("the scope of the scoped routes has closed")))
    yield* endWith(driver, scopes)
    if (watched === undefined) scopes.give(given)
    else yield* scopes.watch(typeOf(ScopedRouteConfigurationSchema), watched, scopeOf)
    return {
      name,
      find: (request, { timeout } = {}) =>
        Effect.async<VirtualHost, ScopeNotFound | VirtualHostNotFound | VirtualHostUnavailable>((resume) => {
          const wrong = BadOption.find({ timeout }, { timeout: 0 })
          if (wrong !== undefined) return resume(Effect.die(wrong))
          const { host } = request
          const until = timeout === undefined ? undefined : now() + Duration.toMillis(timeout)
          const key = ScopeKey.ofHeaders(builder, headerOf(request))
          const id = scopes.request(key, host, until, (outcome, routeConfiguration = "") => {
            switch (outcome._tag) {
              case "NoScope":
                return resume(new ScopeNotFound({ scopedRoutes: name, key }))
              case "Found": {
                const { value } = outcome.virtualHost
                return resume(
                  HostTypes.isVirtualHost(value) ? Effect.succeed(value) : Effect.dieMessage("not a VirtualHost")
                )
              }
              case "NotFound":
                return resume(new VirtualHostNotFound({ routeConfiguration, host }))
              case "Unavailable":
                return resume(new VirtualHostUnavailable({ routeConfiguration, host, reason: outcome.reason }))
            }
          })
          return Effect.sync(() => scopes.cancel(id))
        }),
      statistics: (prefix) => Effect.sync(() => scopes.statistics(prefix))
    }
  })
