import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import * as Http2Client from "../Http2Client.js"
import { assignment, CDS, cluster, EDS, group, serve } from "./ControlPlane.js"
import { protocols, XdsClient } from "./XdsClient.js"

const types = [
  { type: "CDS", typeUrl: CDS, change: (count: number) => ({ clusters: [cluster("a", String(count))] }) },
  { type: "EDS", typeUrl: EDS, change: (count: number) => ({ endpoints: [assignment("a", 100 + count)] }) }
]

describe.each(protocols)("a client that rejects everything, %s", (protocol) => {
  it.scopedLive.each(types)("is sent every change of $type once, and nothing for its NACKs", ({ change, typeUrl }) =>
    Effect.gen(function* () {
      const { events, port, status, store } = yield* serve()
      const sent = () => events.filter(({ _tag }) => _tag === "Sent").length
      const nacked = () => events.filter(({ _tag }) => _tag === "Nacked").length
      yield* store.set(group, change(0))
      const client = new XdsClient(yield* Http2Client.connect(port), protocol)
      client.subscribe(typeUrl, ["a"])
      const changes = 50
      for (let count = 1; count <= changes; count++) {
        const response = yield* client.receive
        client.nack(response, "no")
        // The same NACK again, as from a client that says everything twice.
        client.nack(response, "no, no")
        yield* eventually(() => expect(nacked()).toBeGreaterThanOrEqual(count))
        expect(sent()).toBe(count)
        yield* store.update(group, { upsert: change(count) })
      }
      client.nack(yield* client.receive, "never")
      expect(yield* client.settle).toEqual([])
      expect((yield* status)[0]?.types[0]).toMatchObject({
        typeUrl,
        acked: undefined,
        nacked: { error: { code: 13, message: "never" } }
      })

      // All at once: at most as many responses as changes, of which the last has the last state.
      const before = sent()
      for (let count = 1; count <= changes; count++) yield* store.update(group, { upsert: change(changes + count) })
      const responses = yield* client.settle
      for (const response of responses) client.nack(response, "no")
      expect(yield* client.settle).toEqual([])
      // The answers to the two probes are not the client's.
      expect(sent() - before - 2).toBe(responses.length)
      expect(responses.length).toBeGreaterThan(0)
      expect(responses.length).toBeLessThanOrEqual(changes)
      const last = Option.getOrThrow(yield* store.get(group)).own.sets.get(typeUrl)?.version
      expect(responses.at(-1)?.version).toBe(last)
    })
  )
})
