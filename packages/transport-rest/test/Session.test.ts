import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import type { ServerTransport } from "@effect-xds/transport"
import { Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, TestClock } from "effect"
import { TimeSlices } from "@effect-xds/transport-node/TimeSlices"
import * as SessionTimers from "../src/internal/SessionTimers.js"
import * as DiscoveryResponse from "../src/internal/DiscoveryResponse.js"
import { Session, type Answer } from "../src/internal/Session.js"

const peer = { address: "127.0.0.1:40000", identity: undefined }

/** What a server writes: a version, and the server's nonce. */
const response = (version: string, nonce: string): ServerTransport.Outgoing => ({
  body: toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { versionInfo: version })),
  suffix: toBinary(DiscoveryResponseSchema, create(DiscoveryResponseSchema, { nonce }))
})

const show = (answer: Answer): string =>
  answer._tag === "Response" ? answer.response.version : answer._tag === "Refused" ? answer.status.message : "unchanged"

/** A session for the endpoints `a` and `b` with a server that does what the test says, and all that happened. */
const make = (
  server: (request: Request.StateOfTheWorldRequest, stream: ServerTransport.AcceptedStream) => void,
  onWritable: () => void = () => undefined
) =>
  Effect.gen(function* () {
    const deadlines = yield* SessionTimers.make
    const happened: Array<string> = []
    const session: Session = new Session(
      {
        deadlines,
        responseOf: DiscoveryResponse.shared(new TimeSlices()),
        onHeld: () => undefined,
        onIdle: () => happened.push("idle"),
        onEnd: () => happened.push("ended"),
        accept: (stream) => ({
          onRequest: (request) => {
            if (request._tag !== "StateOfTheWorld") return
            const { errorDetail, resourceNames, responseNonce } = request
            const judged = responseNonce === "" ? "" : errorDetail === undefined ? " ACK" : " NACK"
            happened.push(`request ${resourceNames.join()}${judged} ${responseNonce}`.trimEnd())
            server(request, stream)
          },
          onWritable: () => {
            happened.push("writable")
            onWritable()
          },
          onEnd: (reason) => happened.push(`end: ${reason}`)
        })
      },
      ResourceType.ClusterLoadAssignment,
      ["a", "b"],
      peer,
      {}
    )
    let opened = false
    const poll = (versionInfo: string, wait = 0) => {
      const answers: Array<string> = []
      const it = {
        request: Request.stateOfTheWorld({ typeUrl: "", versionInfo }),
        peer,
        wait,
        patience: 1000,
        answer: (answer: Answer) => answers.push(show(answer))
      }
      const takeBack = opened ? session.poll(it) : session.open(it, undefined)
      opened = true
      return { answers, takeBack }
    }
    return { session, poll, happened, deadlines }
  })

describe("A session", () => {
  it.scoped("tells the server of an ACK before it gives credit", () =>
    Effect.gen(function* () {
      const { happened, poll } = yield* make((request, stream) => {
        if (request.responseNonce === "") stream.write(response("1", "n1"))
      })
      expect(poll("").answers).toEqual(["1"])
      expect(poll("1").answers).toEqual(["unchanged"])
      expect(poll("1").answers).toEqual(["unchanged"])
      expect(happened).toEqual(["request a,b", "idle", "request a,b ACK n1", "writable", "idle", "idle"])
    })
  )

  it.scoped("takes what is written between two subscriptions for what it is: not complete", () =>
    Effect.gen(function* () {
      let subscriptions = 0
      const { happened, poll } = yield* make((request, stream) => {
        // A change that the server had not come to yet.
        if (request.resourceNames.length === 0) stream.write(response("changes only", "n2"))
        else if (request.responseNonce === "")
          stream.write(response(`complete ${++subscriptions}`, `n${subscriptions}`))
      })
      expect(poll("").answers).toEqual(["complete 1"])
      expect(poll("other").answers).toEqual(["complete 2"])
      expect(happened).toEqual(["request a,b", "idle", "request", "request a,b", "idle", "writable"])
    })
  )

  it.scoped("waits for what the server is at work on, also where a poll does not wait for a change", () =>
    Effect.gen(function* () {
      let work: (stream: ServerTransport.AcceptedStream) => void = () => undefined
      let version = "1"
      const { poll, session } = yield* make(
        ({ resourceNames, responseNonce }, stream) => {
          if (responseNonce === "" && resourceNames.length > 0) stream.write(response(version, `n${version}`))
        },
        () => work(session)
      )
      expect(poll("").answers).toEqual(["1"])
      // What it writes takes some turns.
      work = (stream) => stream.setReading?.(false)
      const changed = poll("1")
      expect(changed.answers).toEqual([])
      version = "2"
      session.write(response("2", "n2"))
      session.setReading(true)
      expect(changed.answers).toEqual(["2"])
      // There is nothing to say after all: who would wait for a change goes on to, for the rest of its time.
      session.setReading(false)
      const [now, later] = [poll("2"), poll("2", 1000)]
      expect(now.answers).toEqual([])
      yield* TestClock.adjust(500)
      session.setReading(true)
      expect([now.answers, later.answers]).toEqual([["unchanged"], []])
      yield* TestClock.adjust(510)
      expect(later.answers).toEqual(["unchanged"])
      // A server that comes to no end is not waited for longer than for any answer.
      session.setReading(false)
      const last = poll("2")
      expect(last.answers).toEqual([])
      yield* TestClock.adjust(1010)
      expect(last.answers).toEqual(["unchanged"])
    })
  )

  it.scoped("tells nobody that nothing changed while it asks for everything, however late the server writes that", () =>
    Effect.gen(function* () {
      let [isLate, changes] = [false, 0]
      const { happened, poll, session } = yield* make(
        ({ resourceNames, responseNonce }, stream) => {
          if (resourceNames.length > 0 && responseNonce === "" && !isLate) stream.write(response("1", "n1"))
        },
        () => {
          if (changes-- > 0) session.write(response("changes only", "n2"))
        }
      )
      expect(poll("").answers).toEqual(["1"])
      isLate = true
      changes = 1
      const changed = poll("1")
      expect(changed.answers).toEqual([])
      session.write(response("2", "n3"))
      expect(changed.answers).toEqual(["2"])
      expect(happened).toEqual([
        "request a,b",
        "idle",
        "request a,b ACK n1",
        "writable",
        "request",
        "request a,b",
        "writable",
        "idle"
      ])
    })
  )

  it.scoped("asks for everything when only changes were written, at once or at the next poll", () =>
    Effect.gen(function* () {
      let stream: ServerTransport.AcceptedStream | undefined
      let complete = 0
      const { poll } = yield* make((request, accepted) => {
        stream = accepted
        if (request.resourceNames.length > 0 && request.responseNonce === "") {
          accepted.write(response(`complete ${++complete}`, `c${complete}`))
        }
      })
      poll("")
      const waiting = poll("complete 1", 1000)
      expect(waiting.answers).toEqual([])
      expect(stream?.write(response("changes", "x"))).toBe(false)
      expect(waiting.answers).toEqual(["complete 2"])
      expect(poll("complete 2").answers).toEqual(["unchanged"])
      stream?.write(response("changes", "y"))
      expect(poll("complete 2").answers).toEqual(["complete 3"])
    })
  )

  it.scoped("ends its polls with what the server ends it with, once, and is deaf then", () =>
    Effect.gen(function* () {
      let stream: ServerTransport.AcceptedStream | undefined
      const { deadlines, happened, poll, session } = yield* make((_, accepted) => {
        stream = accepted
      })
      const one = poll("", 1000)
      const two = poll("", 1000)
      expect(deadlines.size()).toBe(2)
      two.takeBack()
      stream?.end(Status.make("PERMISSION_DENIED", "not you"))
      stream?.end(Status.make("INTERNAL", "again"))
      session.finish(Status.make("UNAVAILABLE", "and again"))
      expect(stream?.write(response("1", "n1"))).toBe(false)
      one.takeBack()
      expect([one.answers, two.answers]).toEqual([["not you"], []])
      expect(happened).toEqual(["request a,b", "ended"])
      expect(deadlines.size()).toBe(0)
    })
  )

  it.scoped("may be ended while it is accepted", () =>
    Effect.gen(function* () {
      const deadlines = yield* SessionTimers.make
      const session = new Session(
        {
          deadlines,
          responseOf: DiscoveryResponse.shared(new TimeSlices()),
          onHeld: () => undefined,
          onIdle: () => undefined,
          onEnd: () => undefined,
          accept: (stream) => {
            stream.end(Status.make("RESOURCE_EXHAUSTED", "full"))
            const heard = () => {
              throw new Error("nothing is to be heard")
            }
            return { onRequest: heard, onWritable: heard, onEnd: heard }
          }
        },
        ResourceType.Cluster,
        [],
        peer,
        {}
      )
      const answers: Array<string> = []
      const answer = (given: Answer) => answers.push(show(given))
      session.open({ request: Request.stateOfTheWorld({ typeUrl: "" }), peer, wait: 0, patience: 0, answer }, undefined)
      session.finish(Status.ok)
      expect(answers).toEqual(["full"])
      expect(deadlines.size()).toBe(0)
    })
  )
})
