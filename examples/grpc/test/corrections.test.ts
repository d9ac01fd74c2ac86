import { expect, it } from "@effect/vitest"
import * as NodeContext from "@effect/platform-node/NodeContext"
import { ResourceType } from "@effect-xds/proto"
import type { ServerEvent } from "@effect-xds/server"
import { Effect, Logger, LogLevel, Stream } from "effect"
import * as Fleet from "../src/replacements/Fleet.js"
import * as Wait from "../src/Wait.js"
import * as Clients from "./Clients.js"

/** Milliseconds that a phase of the server waits for an ACK: longer than what is done at once takes on a busy machine. */
const phaseDeadline = 10_000
const soon = phaseDeadline - 1_000

/** An event in a few words, for the error of a test. */
const words = (event: ServerEvent.ServerEvent): string => {
  const details = "typeUrl" in event ? [ResourceType.shortNameOf(event.typeUrl)] : []
  if ("nonce" in event) details.push(`nonce ${event.nonce}`)
  if (event._tag === "Sent") details.push(`${event.resources} resources`, `${event.removed} removed`)
  if (event._tag === "Nacked") details.push(event.error.message.slice(0, 200))
  if (event._tag === "Ended") details.push(event.reason)
  return [event._tag, ...details].join(" ")
}

const started = Effect.gen(function* () {
  const fleet = yield* Fleet.start(Clients.present, ({ a }) => ({ to: "v0", clusters: { v0: a } }), phaseDeadline)
  const events: Array<ServerEvent.ServerEvent> = []
  yield* fleet.events.pipe(
    Stream.runForEach((event) => Effect.sync(() => void events.push(event))),
    Effect.forkScoped
  )
  const ids = (type: string, from: number) =>
    new Set(
      events
        .slice(from)
        .flatMap((event) =>
          event._tag === "Nacked" && ResourceType.shortNameOf(event.typeUrl) === type ? [event.client.node?.id] : []
        )
    )
  /** Sets a state that each client rejects a type of. */
  const rejected = (type: string, state: Fleet.State) =>
    Effect.gen(function* () {
      const from = events.length
      yield* fleet.publish(state)
      const seen = Wait.until({
        what: `each client to reject ${type}`,
        limit: "90 seconds",
        check: () => (ids(type, from).size === Clients.present.length ? true : undefined),
        seen: () => {
          const told = ids(type, from)
          const late = Clients.present.filter((name) => !told.has(name))
          const of = (name: string) =>
            events.flatMap((event, index) =>
              "client" in event && event.client.node?.id === name
                ? [`${index < from ? "before" : "since"}: ${words(event)}`]
                : []
            )
          return late.map((name) => `${name} did not, and of it was seen\n${of(name).slice(-40).join("\n")}`).join("\n")
        }
      })
      // A client that has ended will never reject anything.
      yield* Effect.raceFirst(seen, fleet.crash)
    })
  /** Sets a state, and sees that each client soon calls the backend. */
  const used = (what: string, backend: "a" | "b", state: Fleet.State) =>
    Effect.gen(function* () {
      const start = performance.now()
      yield* fleet.publish(state)
      yield* Fleet.answers(fleet, backend, 3)
      const took = performance.now() - start
      console.log(`${what}: in use after ${took.toFixed(0)} ms`)
      expect(took).toBeLessThan(soon)
    })
  return { ...fleet.backends, rejected, used }
})

const test = (name: string, run: Effect.Effect<void, unknown, Effect.Effect.Context<typeof started>>) =>
  it.scopedLive(Clients.title(name), () =>
    run.pipe(Effect.provide(NodeContext.layer), Logger.withMinimumLogLevel(LogLevel.Error))
  )

test(
  "what was rejected is taken away, and what comes instead is in use at once",
  Effect.gen(function* () {
    const { a, b, rejected, used } = yield* started
    yield* rejected("EDS", { to: "bad", clusters: { v0: a, bad: b }, sparse: ["bad"] })
    yield* used("another cluster", "b", { to: "v1", clusters: { v1: b } })
    yield* rejected("EDS", { to: "v1", clusters: { v1: b }, sparse: ["v1"] })
    yield* used("a cluster instead of one with bad endpoints", "a", { to: "v2", clusters: { v2: a } })
  })
)

test(
  "an update that was rejected is rolled back at once",
  Effect.gen(function* () {
    const { a, b, rejected, used } = yield* started
    const before = { to: "v0", clusters: { v0: a } }
    yield* rejected("EDS", { to: "bad", clusters: { v0: a, bad: b }, sparse: ["bad"] })
    yield* used("the state before", "a", before)
    yield* rejected("EDS", { to: "v0", clusters: { v0: a }, sparse: ["v0"] })
    yield* used("the state before bad endpoints", "a", before)
    yield* used("another cluster", "b", { to: "v1", clusters: { v1: b } })
  })
)

test(
  "a cluster that is rejected holds back later routes once, and no more",
  Effect.gen(function* () {
    const { a, b, rejected, used } = yield* started
    const clusters = { v0: a, v1: b, v2: a }
    yield* rejected("CDS", { to: "v0", clusters: { v0: a }, unsupported: ["v0"] })
    yield* Effect.sleep(phaseDeadline + 1_000)
    yield* used("another route", "b", { to: "v1", clusters, unsupported: ["v0"] })
    yield* used("and another", "a", { to: "v2", clusters, unsupported: ["v0"] })
  })
)
