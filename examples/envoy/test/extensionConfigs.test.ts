import { create } from "@bufbuild/protobuf"
import { anyPack } from "@bufbuild/protobuf/wkt"
import { ResourceType } from "@effect-xds/proto"
import { TypedExtensionConfigSchema } from "@effect-xds/proto/envoy/config/core/v3/extension"
import { RBAC_Action } from "@effect-xds/proto/envoy/config/rbac/v3/rbac"
import { LuaSchema } from "@effect-xds/proto/envoy/extensions/filters/http/lua/v3/lua"
import { RBACSchema } from "@effect-xds/proto/envoy/extensions/filters/http/rbac/v3/rbac"
import { Waiting } from "@effect-xds/testing"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import type * as Bootstrap from "../src/Bootstrap.js"
import * as Edge from "../src/Edge.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as ControlPlane from "./ControlPlane.js"
import { aggregated, startEnvoy, test } from "./EnvoyTest.js"
import { answered, is, more, onlyFrom } from "./Traffic.js"

const lua = (script: string) =>
  anyPack(LuaSchema, create(LuaSchema, { defaultSourceCode: { specifier: { case: "inlineString", value: script } } }))

/** It answers every request itself. */
const answering = (body: string) =>
  lua(`function envoy_on_request(handle) handle:respond({ [":status"] = "200" }, "${body}") end`)

const isThere = { case: "presentMatch", value: true } as const

/** A filter of another type: whoever says that he is a stranger is refused. */
const refusing = anyPack(
  RBACSchema,
  create(RBACSchema, {
    rules: {
      action: RBAC_Action.DENY,
      policies: {
        strangers: {
          permissions: [{ rule: { case: "any", value: true } }],
          principals: [
            {
              identifier: {
                case: "header",
                value: { name: "x-stranger", headerMatchSpecifier: isThere }
              }
            }
          ]
        }
      }
    }
  })
)

const named = (config: ReturnType<typeof lua>) =>
  create(TypedExtensionConfigSchema, { name: "gate", typedConfig: config })

/** The filter `gate` is discovered; until it is there every request passes. */
const manager = (variant: Bootstrap.Variant) =>
  Resources.manager(variant, "main", [
    {
      name: "gate",
      configType: {
        case: "configDiscovery",
        value: {
          configSource: Resources.source(variant),
          defaultConfig: lua("function envoy_on_request(handle) end"),
          applyDefaultConfigWithoutWarming: true,
          typeUrls: [lua(""), refusing].map(({ typeUrl }) => typeUrl)
        }
      }
    }
  ])

const type = ResourceType.TypedExtensionConfig

describe.each(aggregated)("Envoy, ECDS, $name", (variant) => {
  test(
    "a filter is added and changed; a bad one is rejected, which the status shows, and the last good one stays",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const plane = yield* ControlPlane.serve()
      yield* plane.store.set("edge", {
        ...Edge.resources(variant, { weights: { one: 1 }, clusters: { one: [one] } }),
        listeners: [Resources.listener("ingress", manager(variant))]
      })
      const publish = (config: ReturnType<typeof lua>) =>
        plane.store.update("edge", { upsert: { extensionConfigs: [named(config)] } })
      const envoy = yield* startEnvoy(variant, plane.address)
      const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
      yield* answered({ url }, is("one"))
      const requests = yield* Http.requests({ url })
      yield* onlyFrom(requests, ["one"])

      yield* publish(answering("first"))
      yield* onlyFrom(requests, ["first"])
      yield* publish(answering("second"))
      yield* onlyFrom(requests, ["second"])
      expect(plane.events.filter(({ _tag }) => _tag === "Nacked")).toEqual([])

      // No rule of the API is broken: only Envoy can tell that it is no Lua.
      yield* publish(lua("this is no Lua"))
      const nacked = yield* ControlPlane.heard(plane.events, "Nacked", type)
      expect(nacked.error.message).not.toBe("")
      const status = Effect.map(plane.status, ([client]) =>
        client?.types.find(({ typeUrl }) => typeUrl === type.typeUrl)
      )
      const rejected = yield* status
      expect(rejected?.nacked?.error.message).toBe(nacked.error.message)
      expect(rejected?.sent?.version).toBe(nacked.version)
      expect(rejected?.acked?.version).not.toBe(nacked.version)
      const answers = { ...requests.answers }
      yield* more(requests, 100)
      expect(Object.keys(requests.answers)).toEqual(["one", "first", "second"])
      expect(requests.answers).toMatchObject({ one: answers["one"], first: answers["first"] })
      // Once, and not again and again.
      const rejections = envoy.stat("extension_config_discovery.http_filter.gate.config_fail")
      expect(plane.events.filter(({ _tag }) => _tag === "Nacked")).toHaveLength(1)

      // What is good takes effect afterwards, also of another type.
      yield* publish(refusing)
      yield* onlyFrom(requests, ["one"])
      yield* answered({ url, headers: { "x-stranger": "yes" } }, ({ status }) => status === 403)
      yield* Waiting.until("the ACK", status, (now) => now?.acked?.version === now?.sent?.version)

      // What is gone. State of the world has no words for it: there the last one stays.
      yield* plane.store.update("edge", { remove: { extensionConfigs: ["gate"] } })
      if (variant.apiType === "DELTA_GRPC") {
        yield* answered({ url, headers: { "x-stranger": "yes" } }, is("one"))
      } else {
        yield* more(requests, 50)
        yield* answered({ url, headers: { "x-stranger": "yes" } }, ({ status }) => status === 403)
      }
      expect(requests.failed, requests.describe()).toBe(0)
      // No listener was made anew for any of this.
      expect(yield* envoy.stat("listener_manager.listener_create_success")).toBe(1)
      console.log(`ECDS, ${variant.name}: ${requests.describe()}; rejections: ${yield* rejections}`)
    })
  )
})
