// Each rule is broken once by a trace that is written by hand.
import { Cluster, ClusterLoadAssignment, RouteConfiguration } from "@effect-xds/proto/ResourceType"
import type { Event, Message, StreamName, Trace, TracedResource, Unstamped } from "@effect-xds/testing/invariants/Trace"
import * as TraceInvariants from "@effect-xds/testing/invariants/TraceInvariants"
import { assert, describe, it } from "vitest"

const delta: StreamName = { id: 1, client: "app", server: "xds", protocol: "Incremental", typeUrl: undefined }
const sotw: StreamName = { ...delta, protocol: "StateOfTheWorld" }

/** Events at 0, 1, 2 … seconds, after both hosts started. */
const trace = (...events: ReadonlyArray<Unstamped>): Trace => [
  { at: 0, _tag: "Started", host: "xds", group: undefined },
  { at: 0, _tag: "Started", host: "app", group: "group" },
  ...events.map((event, index): Event => ({ at: 1_000 * index, ...event }))
]

const resource = (name: string, fingerprint: string, ...refersTo: ReadonlyArray<string>): TracedResource => ({
  name,
  fingerprint,
  version: fingerprint,
  refersTo
})

const stored = (
  typeUrl: string,
  upserted: ReadonlyArray<TracedResource>,
  removed: ReadonlyArray<string> = []
): Unstamped => ({
  _tag: "Stored",
  server: "xds",
  group: "group",
  upserted: { [typeUrl]: upserted },
  removed: { [typeUrl]: removed },
  cleared: false
})

const request = (typeUrl: string, given: Partial<Message & { readonly _tag: "Request" }> = {}): Message => ({
  _tag: "Request",
  typeUrl,
  nonce: "",
  version: "",
  names: [],
  unsubscribe: [],
  held: {},
  error: undefined,
  ...given
})

const response = (
  typeUrl: string,
  nonce: string,
  resources: ReadonlyArray<TracedResource>,
  removed: ReadonlyArray<string> = []
): Message => ({
  _tag: "Response",
  typeUrl,
  nonce,
  version: "1",
  resources,
  removed
})

const sent = (stream: StreamName, message: Message): Unstamped => ({ _tag: "Sent", stream, message })
const taken = (stream: StreamName, message: Message): Unstamped => ({ _tag: "Received", stream, message })
const opened: Unstamped = { _tag: "Opened", stream: delta, side: "client" }
const watched = (typeUrl: string, name: string): Unstamped => ({ _tag: "Watched", client: "app", typeUrl, name })
const told = (
  typeUrl: string,
  name: string,
  what: (Event & { readonly _tag: "Told" })["what"],
  detail = ""
): Unstamped => ({ _tag: "Told", client: "app", typeUrl, name, watch: name, what, detail })

const [cds, eds, rds] = [Cluster.typeUrl, ClusterLoadAssignment.typeUrl, RouteConfiguration.typeUrl]
const a1 = resource("a", "one")

const breaks = (invariant: TraceInvariants.TraceInvariant, events: Trace, words: RegExp): void => {
  assert.match(invariant.check(events).join("\n"), words)
}
const holds = (invariant: TraceInvariants.TraceInvariant, events: Trace): void => {
  assert.deepStrictEqual(invariant.check(events), [])
}

describe("TraceInvariants", () => {
  it("an ACK names a nonce that came", () => {
    const came = taken(delta, response(cds, "1", [a1]))
    holds(TraceInvariants.acknowledgesWhatWasSent, trace(came, sent(delta, request(cds, { nonce: "1" }))))
    const other = trace(came, sent(delta, request(eds, { nonce: "1" })))
    breaks(TraceInvariants.acknowledgesWhatWasSent, other, /at 1\.000 s: stream 1: EDS nonce 1 did not come/)
    const early = trace(sent(delta, response(cds, "1", [a1])), sent(delta, request(cds, { nonce: "1" })))
    breaks(TraceInvariants.acknowledgesWhatWasSent, early, /did not come/)
  })

  it("a NACK keeps the version", () => {
    const nack = (version: string) =>
      trace(
        sent(sotw, request(cds, { version: "1", nonce: "1" })),
        sent(sotw, request(cds, { version, nonce: "2", error: "bad" }))
      )
    holds(TraceInvariants.nackKeepsTheVersion, nack("1"))
    breaks(TraceInvariants.nackKeepsTheVersion, nack("2"), /the NACK of CDS has version 2, in use is "1"/)
  })

  it("a NACK causes no resend", () => {
    const again = (...reasons: ReadonlyArray<Unstamped>) =>
      trace(
        taken(delta, request(cds, { names: ["a"] })),
        sent(delta, response(cds, "1", [a1])),
        taken(delta, request(cds, { nonce: "1", error: "bad" })),
        ...reasons,
        sent(delta, response(cds, "2", [a1]))
      )
    breaks(TraceInvariants.nackCausesNoResend, again(), /CDS is sent again after its NACK/)
    holds(TraceInvariants.nackCausesNoResend, again(stored(cds, [a1])))
    holds(TraceInvariants.nackCausesNoResend, again(taken(delta, request(cds, { names: ["a"] }))))
  })

  it("a subscription ends delivered or does-not-exist", () => {
    const end = (...events: ReadonlyArray<Unstamped>) =>
      trace(watched(cds, "a"), opened, stored(cds, [resource("a", "two")]), ...events)
    breaks(TraceInvariants.endsDelivered, end(), /app: CDS a is there, and was told nothing/)
    breaks(TraceInvariants.endsDelivered, end(told(cds, "a", "Updated", "one")), /with content one, not two/)
    breaks(TraceInvariants.endsDelivered, end(told(cds, "a", "DoesNotExist")), /is there, and was told DoesNotExist/)
    holds(TraceInvariants.endsDelivered, end(told(cds, "a", "Updated", "two")))
    const gone = end(told(cds, "a", "Updated", "two"), stored(cds, [], ["a"]))
    breaks(TraceInvariants.endsDelivered, gone, /is not there, and was told Updated/)
    const alone = trace(watched(cds, "a"), stored(cds, [a1]))
    breaks(TraceInvariants.endsDelivered, alone, /app has no stream for CDS a/)
  })

  it("all clients end with the same", () => {
    const other: StreamName = { ...sotw, id: 2, client: "other" }
    const end = (fingerprint: string): Trace => [
      ...trace(watched(cds, "a"), opened, stored(cds, [a1]), told(cds, "a", "Updated", "one")),
      { at: 0, _tag: "Started", host: "other", group: "group" },
      { at: 0, _tag: "Watched", client: "other", typeUrl: cds, name: "a" },
      { at: 0, _tag: "Opened", stream: other, side: "client" },
      {
        at: 0,
        _tag: "Told",
        client: "other",
        typeUrl: cds,
        name: "a",
        watch: "a",
        what: "Updated",
        detail: fingerprint
      }
    ]
    holds(TraceInvariants.sameForAll, end("one"))
    breaks(TraceInvariants.sameForAll, end("two"), /CDS a is two for other and one for app/)
  })

  it("replacements come before deletions", () => {
    const before = [
      stored(cds, [a1, resource("b", "one")]),
      stored(rds, [resource("r", "one", `${cds} a`)]),
      sent(delta, response(cds, "1", [a1, resource("b", "one")])),
      sent(delta, response(rds, "2", [resource("r", "one", `${cds} a`)])),
      stored(rds, [resource("r", "two", `${cds} b`)]),
      stored(cds, [], ["a"])
    ]
    const replaced = sent(delta, response(rds, "3", [resource("r", "two", `${cds} b`)]))
    const removed = sent(delta, response(cds, "4", [], ["a"]))
    holds(TraceInvariants.replacementsFirst, trace(...before, replaced, removed))
    const words = /CDS a is removed while envoy\.config\.route\.v3\.RouteConfiguration r still refers to it/
    breaks(TraceInvariants.replacementsFirst, trace(...before, removed, replaced), words)
    // It is there again, and what refers to it comes first.
    const again = [...before, replaced, removed, stored(cds, [a1]), stored(rds, [resource("r", "one", `${cds} a`)])]
    const back = sent(delta, response(rds, "5", [resource("r", "one", `${cds} a`)]))
    const first = sent(delta, response(cds, "6", [a1]))
    holds(TraceInvariants.replacementsFirst, trace(...again, first, back))
    breaks(
      TraceInvariants.replacementsFirst,
      trace(...again, back, first),
      /RDS r refers to .* a, which was taken away/
    )
  })

  it("does-not-exist has its time", () => {
    const asked = [watched(rds, "r"), opened, sent(delta, request(rds, { names: ["r"] }))]
    const gone = told(rds, "r", "DoesNotExist")
    const silence = (seconds: number) => Array.from({ length: seconds }, (): Unstamped => ({ _tag: "Note", text: "" }))
    const rule = TraceInvariants.doesNotExistAfterFullTimer
    breaks(rule, trace(...asked, ...silence(5), gone), /RDS r does not exist 6000 ms after it was asked for/)
    holds(rule, trace(...asked, ...silence(14), gone))
    holds(rule, trace(...asked, taken(delta, response(rds, "1", [], ["r"])), gone))
    const ended: Unstamped = { _tag: "Ended", stream: delta, side: "client", reason: "" }
    breaks(rule, trace(...asked, ...silence(20), ended, gone), /does not exist 0 ms/)
    const jump: Unstamped = { _tag: "Fault", fault: { at: 0, _tag: "ClockJump", host: "app", by: 60_000 } }
    holds(rule, trace(...asked, jump, gone))
  })

  it("versions never go back", () => {
    const history = [stored(cds, [a1]), stored(cds, [resource("a", "two")])]
    const send = (nonce: string, fingerprint: string) => sent(delta, response(cds, nonce, [resource("a", fingerprint)]))
    holds(TraceInvariants.versionsNeverGoBack, trace(...history, send("1", "one"), send("2", "two")))
    const back = trace(...history, send("1", "two"), send("2", "one"))
    breaks(TraceInvariants.versionsNeverGoBack, back, /CDS a with content one is older than what was sent/)
    breaks(TraceInvariants.versionsNeverGoBack, trace(...history, send("1", "three")), /or was never stored/)
    holds(TraceInvariants.versionsNeverGoBack, trace(...history, send("1", "two"), stored(cds, [a1]), send("2", "one")))
  })

  it("nothing is sent twice", () => {
    const rule = TraceInvariants.nothingTwice
    const first = [
      stored(eds, [a1]),
      taken(delta, request(eds, { names: ["a"] })),
      sent(delta, response(eds, "1", [a1]))
    ]
    // The answer to a question may come again with a change that was under way; a third time is too much.
    const again = [sent(delta, response(eds, "2", [a1])), sent(delta, response(eds, "3", [a1]))]
    const warm = sent(delta, response(cds, "9", [resource("c", "one", `${eds} a`)]))
    breaks(rule, trace(...first, ...again), /EDS a is sent again/)
    holds(rule, trace(...first, sent(delta, response(eds, "2", [a1])), warm, sent(delta, response(eds, "3", [a1]))))
    holds(rule, trace(...first, stored(eds, [a1]), ...again.slice(0, 1)))
    const quoted = (version: string) =>
      trace(
        stored(rds, [a1]),
        taken(delta, request(rds, { names: ["a"], held: { a: version } })),
        sent(delta, response(rds, "1", [a1]))
      )
    breaks(rule, quoted("one"), /RDS a is sent again/)
    holds(rule, quoted("zero"))
  })

  // The rules for streams: each is broken once through the stream of a trace.

  const started: Unstamped = { _tag: "Opened", stream: delta, side: "server" }
  const started2: Unstamped = { _tag: "Opened", stream: sotw, side: "server" }
  const ask = (typeUrl: string, ...names: ReadonlyArray<string>) => taken(delta, request(typeUrl, { names }))
  const send = (typeUrl: string, nonce: string, resources: ReadonlyArray<TracedResource>, removed?: Array<string>) =>
    sent(delta, response(typeUrl, nonce, resources, removed))
  const ack = (typeUrl: string, nonce: string) => taken(delta, request(typeUrl, { nonce }))

  it("a changed cluster is followed by its assignment", () => {
    const rule = TraceInvariants.assignmentsFollowClusters
    const cluster = (fingerprint: string) => resource("c", fingerprint, `${eds} a`)
    for (const [stream, open] of [[delta, started] as const, [sotw, started2] as const]) {
      const first = [
        open,
        stored(eds, [a1]),
        taken(stream, request(cds, { names: ["c"] })),
        taken(stream, request(eds, { names: ["a"] })),
        sent(stream, response(cds, "1", [cluster("one")])),
        sent(stream, response(eds, "2", [a1]))
      ]
      const changed = sent(stream, response(cds, "3", [cluster("two")]))
      const again = sent(stream, response(eds, "4", [a1]))
      holds(rule, trace(...first))
      holds(rule, trace(...first, changed, again))
      breaks(rule, trace(...first, changed), /stream 1: EDS a was not sent after CDS c, sent at 6\.000 s/)
      // The same content once more, an assignment that is gone, and one that nobody wants.
      holds(rule, trace(...first, sent(stream, response(cds, "3", [cluster("one")]))))
      holds(rule, trace(...first, changed, stored(eds, [], ["a"])))
      const names = stream === sotw ? { names: ["b"] } : { unsubscribe: ["a"] }
      holds(rule, trace(...first, changed, taken(stream, request(eds, { nonce: "2", ...names }))))
      holds(rule, trace(...first, changed, { _tag: "Ended", stream, side: "server", reason: "" }))
    }
    // A client that comes again with what it holds.
    const held = [
      started,
      stored(eds, [a1]),
      taken(delta, request(cds, { names: ["c"], held: { c: "one" } })),
      send(cds, "1", [cluster("two")]),
      taken(delta, request(eds, { names: ["a"], held: { a: "one" } }))
    ]
    breaks(rule, trace(...held), /EDS a was not sent after CDS c/)
    holds(rule, trace(...held, send(eds, "2", [a1])))
  })

  it("every response has a nonce of its own", () => {
    const rule = TraceInvariants.noncesAreNew
    const first = [started, stored(cds, [a1]), ask(cds, "a"), ask(eds, "a"), send(cds, "1", [a1])]
    holds(rule, trace(...first, send(eds, "2", [], ["a"])))
    breaks(rule, trace(...first, send(eds, "1", [], ["a"])), /stream 1: .*nonce "1" is used again or empty/)
    // Another stream begins anew.
    const ended: Unstamped = { _tag: "Ended", stream: delta, side: "server", reason: "" }
    holds(rule, trace(...first, ended, started, ask(cds, "a"), send(cds, "1", [a1])))
  })

  it("no response has a name twice", () => {
    const first = [started, stored(cds, [a1]), ask(cds, "a")]
    holds(TraceInvariants.noDuplicateNames, trace(...first, send(cds, "1", [a1])))
    breaks(TraceInvariants.noDuplicateNames, trace(...first, send(cds, "1", [a1], ["a"])), /duplicate among a, a/)
  })

  it("a group that was never set is not answered", () => {
    const rule = TraceInvariants.neverSetIsNeverAnswered
    const answer = [ask(cds, "a"), send(cds, "1", [], ["a"])]
    holds(rule, trace(started, stored(cds, []), ...answer))
    breaks(rule, trace(started, ...answer), /the group was never set/)
    const where = { server: "xds", group: "group" }
    const cleared: Unstamped = { _tag: "Stored", ...where, upserted: {}, removed: {}, cleared: true }
    breaks(rule, trace(started, stored(cds, []), cleared, ...answer), /the group was never set/)
  })

  it("only what was asked for is sent", () => {
    const rule = TraceInvariants.onlyWhatWasAskedFor
    const first = [started, stored(cds, [a1, resource("b", "one")]), ask(cds, "a")]
    holds(rule, trace(...first, send(cds, "1", [a1])))
    breaks(rule, trace(...first, send(cds, "1", [a1, resource("b", "one")])), /b not subscribed to/)
    breaks(rule, trace(...first, send(eds, "1", [])), /EDS was never asked for/)
    // By an alias, which is told.
    const aliased: TracedResource = { ...a1, aliases: ["other"] }
    holds(rule, trace(started, stored(cds, [aliased]), ask(cds, "other"), send(cds, "1", [aliased])))
    breaks(rule, trace(started, stored(cds, [aliased]), ask(cds, "other"), send(cds, "1", [a1])), /a not subscribed to/)
  })

  it("nothing is sent without a reason", () => {
    const rule = TraceInvariants.nothingWithoutReason
    const a2 = resource("a", "two")
    const change = [stored(cds, [a2]), send(cds, "2", [a2])]
    const first = [started, stored(cds, [a1]), ask(cds, "a"), send(cds, "1", [a1]), ack(cds, "1"), ...change]
    const again = send(cds, "3", [a2])
    holds(rule, trace(...first))
    breaks(
      rule,
      trace(...first, taken(delta, request(cds, { nonce: "2", error: "bad" })), again),
      /CDS was sent for no/
    )
    holds(rule, trace(...first, ask(cds, "a"), again))
    // A TTL is renewed.
    const mortal: TracedResource = { ...a1, ttl: 5_000 }
    holds(rule, trace(started, stored(cds, [mortal]), ask(cds, "a"), send(cds, "1", [a1]), send(cds, "2", [a1])))
  })

  const replaced: Unstamped = {
    _tag: "Stored",
    server: "xds",
    group: "group",
    upserted: { [cds]: [resource("b", "one")], [rds]: [resource("r", "two", `${cds} b`)] },
    removed: { [cds]: ["a"] },
    cleared: false
  }
  const beforeReplaced = [
    started,
    stored(cds, [a1]),
    stored(rds, [resource("r", "one", `${cds} a`)]),
    ask(cds, "*"),
    ask(rds, "*"),
    send(cds, "1", [a1]),
    send(rds, "2", [resource("r", "one", `${cds} a`)]),
    ack(cds, "1"),
    ack(rds, "2"),
    replaced
  ]
  const newCluster = send(cds, "3", [resource("b", "one")])
  const newRoute = (nonce: string) => send(rds, nonce, [resource("r", "two", `${cds} b`)])

  it("types go out in their order, deletions last", () => {
    const rule = TraceInvariants.typesInOrder
    const removed = (nonce: string) => send(cds, nonce, [], ["a"])
    holds(rule, trace(...beforeReplaced, newCluster, newRoute("4"), removed("5")))
    breaks(rule, trace(...beforeReplaced, newRoute("3")), /RDS before CDS/)
    breaks(rule, trace(...beforeReplaced, newCluster, removed("4")), /CDS deletes before RDS is up to date/)
  })

  it("a stream that is moved is of its new group from then on", () => {
    const joined = (group: string): Unstamped => ({ _tag: "Joined", stream: delta, group })
    const other = (upserted: TracedResource, removed: ReadonlyArray<string> = []): Unstamped => ({
      _tag: "Stored",
      server: "xds",
      group: "other",
      upserted: { [cds]: [upserted] },
      removed: { [cds]: removed },
      cleared: false
    })
    const [a2, a3] = [resource("a", "two"), resource("a", "three")]
    const first = [
      started,
      stored(cds, [a1]),
      other(a3),
      other(a2),
      ask(cds, "a"),
      joined("group"),
      send(cds, "1", [a1])
    ]
    const moved = [...first, joined("other")]
    const { nothingTwice, nothingWithoutReason, versionsNeverGoBack } = TraceInvariants
    holds(versionsNeverGoBack, trace(...moved, send(cds, "2", [a2])))
    breaks(versionsNeverGoBack, trace(...moved, send(cds, "2", [a3])), /is older than what was sent/)
    holds(nothingWithoutReason, trace(...moved, send(cds, "2", [a2])))
    breaks(nothingWithoutReason, trace(...moved, send(cds, "2", [a2]), send(cds, "3", [a2])), /CDS was sent for no/)
    // What the new group has as it was is not sent again.
    const updated = [...first, stored(cds, [a2]), send(cds, "2", [a2]), joined("other")]
    breaks(nothingTwice, trace(...updated, send(cds, "3", [a2])), /sent again/)
    // What was asked for before a stream joined its group is answered one by one.
    const early = [started, stored(cds, []), ask(cds, "a"), ask(cds, "a"), joined("group")]
    const missing = (nonce: string) => send(cds, nonce, [], ["a"])
    holds(nothingWithoutReason, trace(...early, missing("1"), missing("2")))
    breaks(nothingWithoutReason, trace(...early, missing("1"), missing("2"), missing("3")), /no reason/)
    // What is gone in the new group waits for its replacement.
    const removed = send(cds, "3", [], ["a"])
    const route = (name: string) => resource("r", name, `${cds} ${name}`)
    const before = [
      started,
      stored(cds, [a1]),
      stored(rds, [route("a")]),
      ask(cds, "*"),
      ask(rds, "*"),
      joined("group")
    ]
    const held = [...before, send(cds, "1", [a1]), send(rds, "2", [route("a")])]
    breaks(
      TraceInvariants.replacementsFirst,
      trace(...held, other(a2, ["a"]), joined("other"), removed),
      /still refers to it/
    )
  })

  it("phases wait for what they need", () => {
    const rule = TraceInvariants.phasesWait
    const removed = send(cds, "5", [], ["a"])
    const inOrder = [newCluster, ack(cds, "3"), newRoute("4"), ack(rds, "4"), removed]
    holds(rule, trace(...beforeReplaced, ...inOrder))
    breaks(rule, trace(...beforeReplaced, newCluster, newRoute("4")), /RDS is changed before CDS is acknowledged/)
    const early = [newCluster, ack(cds, "3"), newRoute("4"), removed]
    breaks(rule, trace(...beforeReplaced, ...early), /CDS deletes before RDS is acknowledged/)
    // The ACK of an older response is not the one that is waited for.
    const late = [newCluster, ack(cds, "1"), newRoute("4")]
    breaks(rule, trace(...beforeReplaced, ...late), /RDS is changed before CDS/)
    // A NACK is none, but nobody waits for ever.
    const rejected = taken(delta, request(cds, { nonce: "3", error: "bad" }))
    breaks(rule, trace(...beforeReplaced, newCluster, rejected, newRoute("4")), /RDS is changed before CDS/)
    const silence = Array.from({ length: 5 }, (): Unstamped => ({ _tag: "Note", text: "" }))
    holds(rule, trace(...beforeReplaced, newCluster, ...silence, newRoute("4")))
  })
})
