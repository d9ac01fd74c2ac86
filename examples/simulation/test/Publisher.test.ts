import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { it } from "@effect-xds/testing/vitest"
import { assert } from "@effect/vitest"
import { Effect, Stream } from "effect"
import { type Config, publish } from "../src/Publisher.js"

/** A good configuration, a second one while nobody can be reached, and a bad one as that is over. */
const configs = Stream.fromIterable<readonly [number, Config]>([
  [0, { clusters: ["blue"], routeTo: "blue" }],
  [12_000, { clusters: ["blue", "green"], routeTo: "green" }],
  [8_000, { clusters: ["blue"], routeTo: "gren" }]
]).pipe(Stream.mapEffect(([wait, config]) => Effect.delay(Effect.succeed(config), wait)))

it.sim(
  "a bad config is pushed while a partition heals",
  {
    servers: [{ name: "xds", publisher: publish("edge", configs) }],
    clients: [
      { name: "app", group: "edge" },
      { name: "proxy", group: "edge", protocol: "Incremental" }
    ],
    faults: [{ at: 10_000, _tag: "Partition", clients: ["app", "proxy"], server: "xds", for: 10_000 }]
  },
  (world) =>
    Effect.forEach(
      ["app", "proxy"],
      (name) =>
        Effect.gen(function* () {
          const seen: Array<unknown> = []
          const route = world.client(name).watch(RouteConfigurationSchema, "main")
          yield* Effect.forkScoped(
            Stream.runForEach(route, (event) =>
              Effect.sync(() => {
                const action = event._tag === "Updated" ? event.value.virtualHosts[0]?.routes[0]?.action : undefined
                seen.push(action?.case === "route" ? action.value.clusterSpecifier.value : event._tag)
              })
            )
          )
          yield* Effect.sleep("1 minute")
          assert.deepStrictEqual(seen, ["blue", "green"])
        }),
      { concurrency: "unbounded" }
    )
)
