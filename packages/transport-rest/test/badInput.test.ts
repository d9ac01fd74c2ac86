/** What nobody should send, over sockets: polls to our server, and answers to our client. */
import { create, toBinary } from "@bufbuild/protobuf"
import { Bootstrap, type ResourceEvent, WatchableType, XdsClient } from "@effect-xds/client"
import { type Cluster, ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import { BadFile, BadRequest, BadResource, SocketServer } from "@effect-xds/testing"
import { eventually } from "@effect-xds/testing/Waiting"
import { RestClient } from "@effect-xds/transport-rest"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Stream } from "effect"
import { CDS, client, clusters, contentOf, request, serve } from "./ControlPlane.js"

const scale = { levels: 10_000, size: 65_536 }
const samples = BadResource.inOneResponse(BadResource.all(scale))

describe("a server", () => {
  it.scopedLive("answers polls that nobody should send, or says what is wrong; others are served", () =>
    Effect.gen(function* () {
      const { port, store } = yield* serve()
      yield* store.set("edge", clusters("a"))
      const headers = { "content-type": "application/x-protobuf", accept: "application/x-protobuf" }
      for (const { bytes, isValid, what } of BadRequest.all("StateOfTheWorld", { id: "bad", cluster: "edge" }, CDS)) {
        const reply = yield* Effect.promise(() => request(port, { headers, body: bytes }))
        // Not changed is what an error of this version was about.
        expect([what, isValid ? [200, 304] : [400]]).toEqual([what, expect.arrayContaining([reply.status])])
        if (isValid) continue
        expect(reply.body.toString(), what).toMatch(/ /)
        expect(reply.body.toString(), what).not.toMatch(/call stack|RangeError|undefined/)
      }
      // No text is a request for clusters; some are as large as none.
      for (const { bytes, file, isValid, what } of BadFile.all(scale)) {
        if (isValid || !file.endsWith(".json")) continue
        const reply = yield* Effect.promise(() => request(port, { body: bytes }))
        expect([what, [400, 413].includes(reply.status)]).toEqual([what, true])
        expect(reply.body.toString(), what).toMatch(/ /)
        expect(reply.body.toString(), what).not.toMatch(/call stack|RangeError|undefined/)
      }
      expect(contentOf(yield* client(port).poll()).names).toEqual(["a"])
    })
  )
})

const cluster = (name: string, altStatName: string) => ({
  typeUrl: CDS,
  name,
  value: toBinary(ClusterSchema, create(ClusterSchema, { name, altStatName }))
})

const watching = (address: string) =>
  Effect.gen(function* () {
    const context = yield* Layer.build(
      XdsClient.layer({
        aggregated: false,
        backoff: { initial: 10, floor: 5 },
        bootstrap: Bootstrap.make({ servers: [address], node: { id: "n" } })
      }).pipe(
        Layer.provide(RestClient.layer({ refreshDelay: 5, format: "protobuf" })),
        Layer.provide(Logger.replace(Logger.defaultLogger, Logger.none))
      )
    )
    const events: Array<ResourceEvent.ResourceEvent<Cluster>> = []
    yield* Context.get(context, XdsClient.XdsClient)
      .watchAll(WatchableType.fromSchema(ClusterSchema, { rules: false }))
      .pipe(
        Stream.runForEach((event) => Effect.sync(() => events.push(event))),
        Effect.forkScoped
      )
    return events
  })

describe("a client", () => {
  it.scopedLive("★ refuses each resource by its path; the good ones are taken, and the next answer, too", () =>
    Effect.gen(function* () {
      const refusals = new Set<string>()
      let polls = 0
      const address = yield* SocketServer.rest((asked) => {
        polls++
        if (asked.error !== "") refusals.add(asked.error)
        const good = (content: string) => samples.map(({ name }) => cluster(name, content))
        if (polls === 1) return SocketServer.response(asked, "1", good("first"))
        if (polls === 2) return SocketServer.response(asked, "2", [...samples, cluster("other", "second")])
        return refusals.size > 0 ? SocketServer.response(asked, "3", good("last")) : undefined
      })
      const events = yield* watching(address)
      yield* eventually(() => {
        const contents = new Map(
          events.flatMap((event) => (event._tag === "Updated" ? [[event.name, event.value.altStatName] as const] : []))
        )
        for (const { name, what } of samples) expect([what, contents.get(name)]).toEqual([what, "last"])
        expect(contents.get("other")).toBe("second")
      })
      expect(refusals.size).toBe(1)
      const [refusal = ""] = refusals
      for (const { isValid, path, what } of samples) if (!isValid) expect(refusal, what).toContain(path)
      expect(refusal).not.toMatch(/call stack|RangeError/)
    })
  )

  it.scopedLive("keeps what it has when an answer is none, whatever it is, and takes the next one", () =>
    Effect.gen(function* () {
      const texts = BadFile.all(scale).filter(({ file, isValid }) => !isValid && file.endsWith(".json"))
      const answers: ReadonlyArray<Uint8Array | string> = [
        Uint8Array.of(0x12, 0x7f),
        Uint8Array.of(0x00, 0x01),
        Uint8Array.of(0xff),
        `{"error": "no healthy upstream"}`,
        ...texts.map(({ bytes }) => Buffer.from(bytes).toString("latin1"))
      ]
      let polls = 0
      const address = yield* SocketServer.rest((asked) => {
        const at = polls++
        // After a good answer it asks again without a long wait.
        if (at % 2 === 0 && at < 2 * answers.length) return SocketServer.response(asked, "1", [cluster("c", "first")])
        return answers[(at - 1) / 2] ?? SocketServer.response(asked, "2", [cluster("c", "last")])
      })
      const events = yield* watching(address)
      yield* eventually(() =>
        expect(events.at(-1)).toMatchObject({ _tag: "Updated", name: "c", value: { altStatName: "last" } })
      )
      expect(polls).toBeGreaterThan(2 * answers.length)
      expect(events.filter(({ _tag }) => _tag === "DoesNotExist" || _tag === "Error")).toEqual([])
    })
  )
})
