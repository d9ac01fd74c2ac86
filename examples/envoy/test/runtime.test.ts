import { create, type JsonObject } from "@bufbuild/protobuf"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouteSchema } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import { RuntimeSchema } from "@effect-xds/proto/envoy/service/runtime/v3/rtds"
import { Waiting } from "@effect-xds/testing"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import * as Edge from "../src/Edge.js"
import type * as Envoy from "../src/Envoy.js"
import * as Http from "../src/Http.js"
import * as Resources from "../src/Resources.js"
import * as ControlPlane from "./ControlPlane.js"
import { aggregated, startEnvoy, test } from "./EnvoyTest.js"
import { answered, is, more, onlyFrom } from "./Traffic.js"

/** The percentage of requests that go to `two`. */
const share = "edge.share_of_two"

const runtime = { layer: "edge", below: { [share]: 0 } }

const layer = (values: JsonObject) => create(RuntimeSchema, { name: runtime.layer, layer: values })

/** To `two`, as often as the runtime says; without a value always, so that it shows which layer gave it. */
const routes = create(RouteConfigurationSchema, {
  name: "main",
  virtualHosts: [
    {
      name: "all",
      domains: ["*"],
      routes: [
        create(RouteSchema, {
          match: {
            pathSpecifier: { case: "prefix", value: "/" },
            runtimeFraction: { defaultValue: { numerator: 100 }, runtimeKey: share }
          },
          action: { case: "route", value: { clusterSpecifier: { case: "cluster", value: "two" } } }
        }),
        ...Resources.virtualHost("all", ["*"], { one: 1 }).routes
      ]
    }
  ]
})

/** The values of a key in the layers, and the one in force. */
const valuesOf = (envoy: Envoy.Envoy, key: string) =>
  Effect.map(envoy.runtime, (entries) => {
    const entry = entries[key]
    return entry === undefined ? "none" : `${entry.layer_values.join(",")}: ${entry.final_value}`
  })

describe.each(aggregated)("Envoy, RTDS, $name", (variant) => {
  test(
    "a key of the discovered layer changes, goes, and the layer below counts again",
    Effect.gen(function* () {
      const one = yield* Http.upstream("one")
      const two = yield* Http.upstream("two")
      const plane = yield* ControlPlane.serve()
      yield* plane.store.set("edge", {
        ...Edge.resources(variant, { weights: {}, clusters: { one: [one], two: [two] } }),
        routes: [routes],
        runtimes: [layer({})]
      })
      const envoy = yield* startEnvoy(variant, plane.address, runtime)
      const url = `http://127.0.0.1:${yield* envoy.listenerPort("ingress")}/`
      yield* answered({ url }, is("one"))
      expect(yield* valuesOf(envoy, share)).toBe("0,: 0")
      const requests = yield* Http.requests({ url })
      yield* onlyFrom(requests, ["one"])

      /** The layer, and when Envoy's runtime has it so. */
      const publish = (values: JsonObject, shown: string) =>
        Effect.gen(function* () {
          yield* plane.store.update("edge", { upsert: { runtimes: [layer(values)] } })
          yield* Waiting.until(`${share} to be as published`, valuesOf(envoy, share), (seen) => seen === shown)
        })
      yield* publish({ [share]: 100 }, "0,100: 100")
      yield* onlyFrom(requests, ["two"])

      yield* publish({ [share]: 50 }, "0,50: 50")
      const before = { ...requests.answers }
      const newly = (name: string) => (requests.answers[name] ?? 0) - (before[name] ?? 0)
      yield* Waiting.until(
        "both to answer",
        () => [newly("one"), newly("two")],
        (counts) => counts.every((count) => count >= 20)
      )
      const half = `one: ${newly("one")}, two: ${newly("two")}`

      // A key that the layer does not have any more.
      yield* publish({ "edge.another": 1 }, "0,: 0")
      yield* onlyFrom(requests, ["one"])
      expect(yield* valuesOf(envoy, "edge.another")).toBe(",1: 1")
      yield* publish({ [share]: 100 }, "0,100: 100")
      yield* onlyFrom(requests, ["two"])

      // The whole layer. State of the world has no words for it: there it stays until it is empty.
      yield* plane.store.update("edge", { remove: { runtimes: [runtime.layer] } })
      if (variant.apiType === "GRPC") {
        yield* more(requests, 50)
        expect(yield* valuesOf(envoy, share)).toBe("0,100: 100")
        yield* publish({}, "0,: 0")
      }
      yield* onlyFrom(requests, ["one"])
      expect(yield* valuesOf(envoy, share)).toBe("0,: 0")
      expect(requests.failed, requests.describe()).toBe(0)
      expect(plane.events.filter(({ _tag }) => _tag === "Nacked")).toEqual([])
      console.log(`RTDS, ${variant.name}: with 50 % ${half}; ${requests.describe()}`)
    })
  )
})
