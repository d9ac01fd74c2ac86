/** Numbers that are no limits: NaN, as of a variable of the environment that is not set. */
import { Bootstrap, XdsClient } from "@effect-xds/client"
import { XdsChannels, XdsTransport } from "@effect-xds/connect-xds"
import * as XdsHttpClient from "@effect-xds/connect-xds/XdsHttpClient"
import { ScriptedServer } from "@effect-xds/testing"
import { expect, it } from "@effect/vitest"
import { Cause, Effect, Layer } from "effect"

const saidBy = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), Cause.pretty)

const environment = XdsClient.layer({ bootstrap: Bootstrap.make({ servers: ["xds:1"] }) }).pipe(
  Layer.provideMerge(ScriptedServer.layer)
)

it.scoped.each(["connectTimeout", "maxHttp1Connections"] as const)("of channels: %s", (name) =>
  Effect.gen(function* () {
    const said = yield* saidBy(XdsChannels.make({ [name]: Number.NaN }))
    expect(said).toContain(`${name} must be 0 or more, not NaN`)
  }).pipe(Effect.provide(environment))
)

const channels = XdsChannels.layer().pipe(Layer.provide(environment))
const target = "xds:///a"

it.scoped.each(["maxHosts", "hostIdleTime", "timeoutMs"] as const)("of clients of HTTP: %s", (name) =>
  Effect.gen(function* () {
    const said = yield* saidBy(XdsHttpClient.make({ target, anyHost: true, [name]: Number.NaN }))
    expect(said).toContain(`${name} must be 0 or more, not NaN`)
  }).pipe(Effect.provide(channels))
)

it.scoped.each(["defaultTimeoutMs", "readMaxBytes", "writeMaxBytes", "compressMinBytes"] as const)(
  "of transports: %s",
  (name) =>
    Effect.gen(function* () {
      const said = yield* saidBy(XdsTransport.make({ target, [name]: Number.NaN }))
      expect(said).toContain(`${name} must be a number, not NaN`)
    }).pipe(Effect.provide(channels))
)
