import { fromBinary } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as V8 from "node:v8"
import * as Vm from "node:vm"
import * as Http2Client from "../Http2Client.js"
import { CDS, group, largeCluster, serve } from "./ControlPlane.js"
import { protocols, type Received, XdsClient } from "./XdsClient.js"

V8.setFlagsFromString("--expose_gc")
const collectGarbage = new Vm.Script("gc()")

/** Bytes in use. What is not any more is freed first, as far as V8 does so at once. */
const memory = (): number => {
  collectGarbage.runInNewContext()
  const { external, heapUsed } = process.memoryUsage()
  return heapUsed + external
}

/** The content of each cluster, by name. */
const contents = ({ values }: Received): Readonly<Record<string, number>> =>
  Object.fromEntries(
    values
      .map((value) => fromBinary(ClusterSchema, value))
      .map(({ altStatName, name }) => [name, Number.parseInt(altStatName, 10)])
  )

describe.each(protocols)("a client that does not read, %s", (protocol) => {
  it.scopedLive("costs nothing however much changes, and then gets what was under way and the last state", () =>
    Effect.gen(function* () {
      const names = ["a", "b", "c", "d", "e", "f", "g", "h"]
      const bytes = 20_000
      const { events, figures, port, store } = yield* serve()
      yield* store.set(group, { resources: names.map((name) => largeCluster(name, bytes, 0)) })
      const client = new XdsClient(yield* Http2Client.connect(port), protocol, { read: false })
      client.subscribe(CDS)
      yield* eventually(() => expect(events.at(-1)?._tag).toBe("Sent"))

      const change = (from: number, to: number) =>
        Effect.gen(function* () {
          for (let count = from; count <= to; count++) {
            const name = names[count % names.length] ?? ""
            yield* store.update(group, {
              upsert: { resources: [largeCluster(name, bytes, count)] }
            })
          }
        })
      // What is kept of a log of changes is full by then.
      yield* change(1, 2_000)
      let early = memory()
      yield* eventually(() => {
        const before = early
        early = memory()
        expect(before - early).toBeLessThan(100_000)
      })
      yield* change(2_001, 10_000)
      // A hundredth of what 8 000 changes have in bytes.
      yield* eventually(() => expect(memory() - early).toBeLessThan(1_600_000))
      expect(events.filter(({ _tag }) => _tag === "Sent").length).toBe(1)

      client.read()
      const first = yield* client.receive
      expect(contents(first)).toEqual(Object.fromEntries(names.map((name) => [name, 0])))
      const second = yield* client.receive
      expect(contents(second)).toEqual(
        Object.fromEntries(names.map((name, index) => [name, 10_000 - ((8 - index) % 8)]))
      )
      client.ack(second)
      expect(yield* client.settle).toEqual([])
      expect((yield* figures).streams).toBe(1)
    })
  )
})
