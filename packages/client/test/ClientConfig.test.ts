/** What a client shows of itself. */
import { create } from "@bufbuild/protobuf"
import type { ResourceStatus } from "@effect-xds/core/client/Client"
import { ResourceType } from "@effect-xds/proto"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { EventLoop } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as ClientConfigs from "../src/internal/ClientConfig.js"

describe("the state of all resources", () => {
  it.effect("★ is shown in turns of the event loop, however many there are", () =>
    Effect.gen(function* () {
      let now = 0
      let turns = 0
      // Each look at the clock takes a millisecond.
      const loop: EventLoop.Service = {
        elapsed: () => now++,
        soon: (work) => queueMicrotask(work),
        later: (work) => {
          turns++
          queueMicrotask(work)
          return () => undefined
        }
      }
      const resources = Array.from({ length: 1_000 }, (_, index): ResourceStatus => {
        const { typeUrl } = ResourceType.Cluster
        return { typeUrl, name: `cluster-${index}`, status: "Requested", held: undefined, failure: undefined }
      })
      const config = yield* Effect.promise(() => ClientConfigs.make(create(NodeSchema), "", resources, loop))
      expect(config.genericXdsConfigs.map(({ name }) => name)).toEqual(resources.map(({ name }) => name))
      expect(turns).toBeGreaterThan(100)
    })
  )
})
