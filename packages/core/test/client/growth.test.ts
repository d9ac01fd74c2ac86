/** Everything that grows with what is watched, or with what servers do, is as before when that is over. */
import * as Client from "@effect-xds/core/client/Client"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import type { Protocol } from "@effect-xds/core/wire/Request"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as Warming from "@effect-xds/core/client/Warming"
import { Cluster, ClusterLoadAssignment } from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { weigh } from "./Weight.js"

const many = 3_000
const CDS = Cluster.typeUrl
const EDS = ClusterLoadAssignment.typeUrl

const received = (typeUrl: string, name: string, content = 1) => ({
  ...ReceivedResource.make({ typeUrl, value: toResource({ typeUrl, name, content }).value, version: `${content}` }),
  name
})

/** A client with one server, or two, that writes at once and whose watchers take everything at once. */
const play = (protocol: Protocol, servers: ReadonlyArray<string> = ["p"], options: Partial<Client.Options> = {}) => {
  let now = 0
  let watchers = 0
  let nonces = 0
  let state = Client.make({
    servers: servers.map((id) => ({ id, protocol })),
    decoders: [CDS, EDS].map((typeUrl) =>
      ResourceDecoder.make({
        typeUrl,
        decode: (bytes) => (bytes.byteLength > 500 ? Either.left("x".repeat(5_000)) : Either.right(bytes.byteLength))
      })
    ),
    ...options
  })
  const told: Array<Client.Output & { readonly _tag: "Notify" }> = []
  const sent: Array<Client.Output & { readonly _tag: "Send" }> = []
  // Not all of what happened: that would be what grows.
  const forget = () => void ((told.length = 0), (sent.length = 0))
  let isApplying = true
  const step = (input: Client.Input): void => {
    const [next, outputs] = Client.step(state, input, now)
    state = next
    for (const output of outputs) {
      if (output._tag === "Notify") told.push(output)
      if (output._tag === "Send") {
        sent.push(output)
        step({ _tag: "Written", stream: output.stream })
      }
      if (output._tag === "Received" && isApplying) {
        step({ _tag: "Processed", stream: output.stream, typeUrl: output.typeUrl, nonce: output.nonce })
      }
    }
  }
  return {
    told,
    sent,
    forget,
    step,
    state: () => state,
    holdBack: () => void (isApplying = false),
    watch: (typeUrl: string, name: string) => {
      step({ _tag: "Watch", watcher: ++watchers, typeUrl, name })
      return watchers
    },
    unwatch: (watcher: number) => step({ _tag: "Unwatch", watcher }),
    connected: (stream = "p") => step({ _tag: "Connected", stream }),
    end: (stream = "p") => step({ _tag: "Ended", stream, error: { code: 14, message: `lost ${stream}` }, random: 0.5 }),
    respond: (typeUrl: string, rest: Partial<ClientResponse.ClientResponse>, stream = "p") => {
      const nonce = `${++nonces}`
      const response = ClientResponse.make({ protocol, typeUrl, version: nonce, nonce, ...rest })
      step({ _tag: "Response", stream, response })
      return nonce
    },
    wait: (milliseconds: number) => {
      const until = now + milliseconds
      for (let turns = 0; Client.deadline(state) <= until; turns++) {
        const at = Client.deadline(state)
        assert.isBelow(turns, 10_000, "the deadline stays")
        now = Math.max(now, at)
        step({ _tag: "Deadline" })
      }
      now = until
    }
  }
}

/** Does something, and that again and again: after the first time nothing is to be added. */
const isSteady = (client: ReturnType<typeof play>, turn: (index: number) => void, turns = many) => {
  const measure = () => {
    client.wait(120_000)
    return weigh(client.state())
  }
  turn(0)
  const before = measure()
  for (let index = 1; index <= turns; index++) {
    turn(index)
    client.forget()
    // What was given up is retained for a while.
    if (index % 50 === 0) client.wait(20_000)
  }
  const after = measure()
  // The digits of names and versions.
  assert.isAtMost(after - before, 50, `${before} before, ${after} after`)
}

for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
  describe(`a client is as before, ${protocol}`, { timeout: 600_000 }, () => {
    for (const typeUrl of [CDS, EDS]) {
      const type = typeUrl === CDS ? "CDS" : "EDS"
      it(`${many} names watched and given up, ${type}`, () => {
        const client = play(protocol)
        client.watch(typeUrl, "kept")
        client.connected()
        client.respond(typeUrl, { resources: [received(typeUrl, "kept")] })
        isSteady(client, (index) => {
          const name = `name ${index}`
          const watcher = client.watch(typeUrl, name)
          client.respond(typeUrl, { resources: [received(typeUrl, "kept"), received(typeUrl, name)] })
          client.unwatch(watcher)
        })
      })

      it(`${many} names watched together and given up one after another, ${type}`, () => {
        const client = play(protocol)
        client.watch(typeUrl, "kept")
        client.connected()
        const names = Array.from({ length: many }, (_, index) => `name ${index}`)
        const round = () => {
          // So that each change is not a request of its own, with all the names.
          client.step({ _tag: "Pause", typeUrl })
          const watchers = names.map((name) => client.watch(typeUrl, name))
          client.step({ _tag: "Resume", typeUrl })
          client.step({ _tag: "Pause", typeUrl })
          client.respond(typeUrl, { resources: ["kept", ...names].map((name) => received(typeUrl, name)) })
          for (const watcher of watchers) client.unwatch(watcher)
          client.step({ _tag: "Resume", typeUrl })
        }
        client.respond(typeUrl, { resources: [received(typeUrl, "kept")] })
        isSteady(client, (index) => (index === 0 ? undefined : round()), 1)
      })

      it(`${many} resources that a wildcard brought, ${type}`, () => {
        const client = play(protocol)
        client.watch(typeUrl, "kept")
        client.connected()
        const resources = Array.from({ length: many }, (_, index) => received(typeUrl, `name ${index}`))
        client.respond(typeUrl, { resources: [received(typeUrl, "kept")] })
        isSteady(
          client,
          (index) => {
            const watcher = client.watch(typeUrl, "*")
            if (index > 0) client.respond(typeUrl, { resources: [received(typeUrl, "kept"), ...resources] })
            client.unwatch(watcher)
          },
          2
        )
      })
    }

    it(`${many} watchers of one name`, () => {
      const client = play(protocol)
      client.watch(EDS, "kept")
      client.connected()
      client.respond(EDS, { resources: [received(EDS, "kept")] })
      isSteady(client, () => client.unwatch(client.watch(EDS, "kept")))
      const all = Array.from({ length: many }, () => client.watch(EDS, "kept"))
      const before = weigh(client.state())
      for (const watcher of all) client.unwatch(watcher)
      assert.isBelow(weigh(client.state()), before / 10)
    })

    it(`${many} names that nobody ever answered, with and without a stream`, () => {
      const client = play(protocol)
      client.watch(EDS, "kept")
      isSteady(client, (index) => client.unwatch(client.watch(EDS, `name ${index}`)))
      client.connected()
      isSteady(client, (index) => client.unwatch(client.watch(EDS, `name ${index}`)))
    })

    it(`${many} streams that ended, with an answer and without`, () => {
      const client = play(protocol)
      client.watch(EDS, "kept")
      isSteady(client, () => {
        client.connected()
        client.respond(EDS, { resources: [received(EDS, "kept")] })
        client.end()
        client.wait(60_000)
      })
      isSteady(client, () => {
        client.end()
        client.wait(60_000)
      })
    })

    it(`${many} responses that are rejected, each for another reason`, () => {
      const client = play(protocol)
      client.watch(EDS, "kept")
      client.connected()
      isSteady(client, (index) =>
        client.respond(EDS, {
          resources: [{ ...received(EDS, "kept"), malformed: `reason ${index}` }]
        })
      )
    })

    it(`errors of ${many} names that everything includes`, () => {
      const client = play(protocol)
      client.watch(EDS, "kept")
      client.connected()
      client.respond(EDS, { resources: [received(EDS, "kept")] })
      isSteady(
        client,
        (index) => {
          const watcher = client.watch(EDS, "*")
          const names = Array.from({ length: index === 0 ? 1 : many }, (_, each) => `name ${each}`)
          client.respond(EDS, {
            errors: [...names, "*"].map((name) => ({ name, error: { code: 14, message: "later" } }))
          })
          client.unwatch(watcher)
          client.respond(EDS, { resources: [received(EDS, "kept")] })
        },
        2
      )
    })

    it("1 000 times to the second server and back", () => {
      const client = play(protocol, ["p", "f"])
      client.watch(CDS, "*")
      client.watch(EDS, "kept")
      isSteady(
        client,
        (index) => {
          client.end()
          const other = client.watch(EDS, "other")
          client.connected("f")
          client.respond(CDS, { resources: [received(CDS, `of f ${index}`)] }, "f")
          client.respond(EDS, { resources: [received(EDS, "kept", 2)] }, "f")
          client.wait(60_000)
          client.connected()
          client.respond(CDS, {
            resources: [received(CDS, "of p")],
            ...(protocol === "Incremental" ? { removed: [`of f ${index}`] } : {})
          })
          client.respond(EDS, { resources: [received(EDS, "kept")] })
          client.unwatch(other)
        },
        1_000
      )
      assert.strictEqual(client.state().streams.size, 1)
    })
  })
}

describe("warming is as before", { timeout: 600_000 }, () => {
  it(`${many} clusters that came, changed while warming, and went`, () => {
    let warming = Warming.make({}, 0)
    const step = (input: Warming.Input) => {
      warming = Warming.step(warming, input, 0)[0]
    }
    const turn = (index: number) => {
      const name = `cluster ${index}`
      step({ _tag: "Clusters", changed: [{ name, fingerprint: "1", needs: [`${name} a`, "shared"] }], removed: [] })
      step({ _tag: "Clusters", changed: [{ name, fingerprint: "2", needs: [`${name} b`, "shared"] }], removed: [] })
      step({ _tag: "Assignments", arrived: [`${name} b`, "shared"] })
      step({ _tag: "Clusters", changed: [{ name, fingerprint: "3", needs: [`${name} c`] }], removed: [] })
      step({ _tag: "Clusters", changed: [], removed: [name] })
    }
    turn(0)
    const before = weigh(warming)
    for (let index = 1; index <= many; index++) turn(index)
    assert.isAtMost(weigh(warming), before + 10)
  })
})

describe("bounds", { timeout: 600_000 }, () => {
  it("★ of answers: a server that does not wait for them gets the last 64", () => {
    const client = play("Incremental")
    client.watch(EDS, "a")
    client.connected()
    client.holdBack()
    client.sent.length = 0
    let last = ""
    for (let count = 0; count < 200; count++) last = client.respond(EDS, { resources: [received(EDS, "a", count)] })
    assert.isEmpty(client.sent)
    client.step({ _tag: "Processed", stream: "p", typeUrl: EDS, nonce: last })
    assert.deepStrictEqual(
      client.sent.map(({ request }) => request.responseNonce),
      Array.from({ length: 64 }, (_, index) => `${200 - 63 + index}`)
    )
  })

  it("★ of what is retained: of 10 100 names that are given up 10 000", () => {
    const client = play("StateOfTheWorld")
    const names = Array.from({ length: 10_100 }, (_, index) => `name ${index}`)
    const watchers = names.map((name) => client.watch(EDS, name))
    client.connected()
    client.respond(EDS, { resources: names.map((name) => received(EDS, name)) })
    client.step({ _tag: "Pause", typeUrl: EDS })
    for (const watcher of watchers) client.unwatch(watcher)
    client.told.length = 0
    for (const name of names) client.watch(EDS, name)
    assert.lengthOf(client.told, 10_000)
    assert.isEmpty(
      Client.dump(client.state())
        .filter(({ held }) => held === undefined)
        .slice(100)
    )
  })

  it("★ of the reason of one resource: a long one hides no other", () => {
    const client = play("StateOfTheWorld")
    for (const name of ["a", "b", "c"]) client.watch(EDS, name)
    client.connected()
    client.sent.length = 0
    const bad = (name: string) => ({ ...received(EDS, name), malformed: `${name} `.repeat(1_000) })
    client.respond(EDS, { resources: ["a", "b", "c"].map(bad) })
    const message = client.sent[0]?.request.errorDetail?.message ?? ""
    for (const name of ["a", "b", "c"]) {
      assert.include(message, `resource "${name}": ${name} ${name}`)
      assert.isAtMost(message.split(`${name} `).length, 520)
    }
    for (const { result } of client.told) {
      assert.isTrue("error" in result && result.error.message.length === 1_024)
    }
  })

  it("of the error of a NACK, in bytes", () => {
    const client = play("StateOfTheWorld", ["p"], { maxErrorBytes: 100 })
    client.watch(EDS, "a")
    client.connected()
    client.sent.length = 0
    client.respond(EDS, { resources: [{ ...received(EDS, "a"), malformed: "ä".repeat(200) }] })
    const message = client.sent[0]?.request.errorDetail?.message ?? ""
    assert.isAtMost(Buffer.byteLength(message), 100)
    assert.match(message, /… \(1 in all\)$/)
  })

  it("of resources, watched by name: one more is refused, and there is room when one is given up", () => {
    const client = play("StateOfTheWorld", ["p"], { maxResources: 2 })
    client.watch(EDS, "a")
    const second = client.watch(EDS, "b")
    client.watch(EDS, "c")
    assert.deepStrictEqual(
      client.told.map(({ name, result }) => [name, "error" in result && result.error.code]),
      [["c", 8]]
    )
    client.watch(EDS, "a")
    client.watch(EDS, "*")
    assert.lengthOf(client.told, 1)
    client.unwatch(second)
    client.watch(EDS, "d")
    assert.lengthOf(client.told, 1)
  })

  it("of resources, brought by a wildcard: one more is rejected", () => {
    const client = play("StateOfTheWorld", ["p"], { maxResources: 2 })
    client.watch(EDS, "*")
    client.connected()
    client.sent.length = 0
    client.respond(EDS, { resources: ["a", "b"].map((name) => received(EDS, name)) })
    assert.isUndefined(client.sent[0]?.request.errorDetail)
    client.respond(EDS, { resources: ["a", "b", "c"].map((name) => received(EDS, name)) })
    assert.match(client.sent[1]?.request.errorDetail?.message ?? "", /"c": is one more than the client takes/)
    assert.lengthOf(Client.dump(client.state()), 2)
  })
})
