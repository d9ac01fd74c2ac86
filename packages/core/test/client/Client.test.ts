import * as Client from "@effect-xds/core/client/Client"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import * as ReceivedResource from "@effect-xds/core/wire/ReceivedResource"
import type { Request } from "@effect-xds/core/wire/Request"
import * as ResourceDecoder from "@effect-xds/core/client/ResourceDecoder"
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import * as Warming from "@effect-xds/core/client/Warming"
import { Cluster, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as ClientStep from "./ClientStep.js"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import * as Either from "effect/Either"
import * as fc from "fast-check"
import { assert, describe, it, vi } from "@effect/vitest"

const decoderOf = (typeUrl: string, onDecode: () => void = () => undefined) =>
  ResourceDecoder.make({
    typeUrl,
    decode: (bytes) => {
      onDecode()
      return Either.right(bytes.byteLength)
    }
  })

const received = (typeUrl: string, name: string, content = 1) =>
  ReceivedResource.make({ typeUrl, value: toResource({ typeUrl, name, content }).value })

describe("a large set", () => {
  for (const isNamed of [false, true]) {
    it(`10 000 clusters, one changed: one is decoded and one is told; ${isNamed ? "by name" : "by wildcard"}`, () => {
      const count = 10_000
      const { typeUrl } = Cluster
      let decodes = 0
      let client = Client.make({
        servers: [{ id: "s", protocol: "StateOfTheWorld" }],
        decoders: [decoderOf(typeUrl, () => decodes++)]
      })
      const outputs: Array<Client.Output> = []
      const step = (input: Client.Input) => {
        const [next, out] = Client.step(client, input, 0)
        client = next
        outputs.push(...out)
      }
      const names = Array.from({ length: count }, (_, n) => `cluster ${n}`)
      if (isNamed) names.forEach((name, watcher) => step({ _tag: "Watch", watcher, typeUrl, name }))
      else step({ _tag: "Watch", watcher: 0, typeUrl, name: "*" })
      step({ _tag: "Connected", stream: "s" })
      step({ _tag: "Written", stream: "s" })
      const resources = names.map((name) => received(typeUrl, name))
      const respond = (nonce: string, all: ReadonlyArray<ReceivedResource.ReceivedResource>) => {
        outputs.length = 0
        const response = { protocol: "StateOfTheWorld", typeUrl, version: nonce, nonce, resources: all } as const
        step({ _tag: "Response", stream: "s", response: ClientResponse.make(response) })
        return outputs.flatMap((output) => (output._tag === "Notify" ? [output.name] : []))
      }
      assert.lengthOf(respond("1", resources), count)
      assert.strictEqual(decodes, count)

      const changed = resources.with(7, received(typeUrl, "cluster 7", 2))
      assert.deepStrictEqual(respond("2", changed), ["cluster 7"])
      assert.strictEqual(decodes, count + 1)
      assert.deepStrictEqual(respond("3", changed.toReversed()), [])
      assert.strictEqual(decodes, count + 1)
      // One is gone, one is new, in the middle.
      const other = [
        ...changed.slice(0, 50),
        received(typeUrl, isNamed ? "cluster 51" : "new", 3),
        ...changed.slice(52)
      ]
      assert.sameMembers(
        respond("4", other),
        isNamed ? ["cluster 50", "cluster 51"] : ["cluster 50", "cluster 51", "new"]
      )
      assert.strictEqual(decodes, count + 2)
    })
  }

  it("a resource that is kept does not keep the message it came in", () => {
    const { typeUrl } = Cluster
    let client = Client.make({
      servers: [{ id: "s", protocol: "StateOfTheWorld" }],
      decoders: [decoderOf(typeUrl)]
    })
    const message = Buffer.alloc(1_000_000)
    const { value } = toResource({ typeUrl, name: "a", content: 1 })
    message.set(value, 500)
    const view = message.subarray(500, 500 + value.byteLength)
    const inputs: ReadonlyArray<Client.Input> = [
      { _tag: "Watch", watcher: 1, typeUrl, name: "a" },
      { _tag: "Connected", stream: "s" },
      { _tag: "Written", stream: "s" },
      {
        _tag: "Response",
        stream: "s",
        response: ClientResponse.make({
          protocol: "StateOfTheWorld",
          typeUrl,
          version: "1",
          nonce: "1",
          resources: [ReceivedResource.make({ typeUrl, value: view })]
        })
      }
    ]
    for (const input of inputs) client = Client.step(client, input, 0)[0]
    const [status] = Client.dump(client)
    assert.strictEqual(status?.held?.bytes.buffer.byteLength, value.byteLength)
  })
})

describe("a resource that is told again", () => {
  const { typeUrl } = ClusterLoadAssignment
  const [plain, marked] = [1, 2]
  const isMarked = (bytes: Uint8Array) => Buffer.compare(bytes, received(typeUrl, "a", marked).value ?? bytes) === 0
  for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
    for (const size of [1, 50]) {
      it(`each time that it comes, where its type says so; ${size} of them, ${protocol}`, () => {
        let decodes = 0
        const decoder = ResourceDecoder.make({
          typeUrl,
          decode: (bytes) => {
            decodes++
            return Either.right(isMarked(bytes))
          },
          tellsAgain: (value) => value === true
        })
        let client = Client.make({ servers: [{ id: "s", protocol }], decoders: [decoder] })
        const step = (input: Client.Input) => {
          const [next, outputs] = Client.step(client, input, 0)
          client = next
          return outputs.flatMap((output) =>
            output._tag === "Notify" ? [`${output.name} ${output.result._tag} ${output.watchers.join()}`] : []
          )
        }
        const names = Array.from({ length: size }, (_, n) => String.fromCodePoint(97 + n))
        names.forEach((name, watcher) => step({ _tag: "Watch", watcher, typeUrl, name }))
        step({ _tag: "Connected", stream: "s" })
        step({ _tag: "Written", stream: "s" })
        let nonce = 0
        const respond = (content: number, more: Partial<ReceivedResource.ReceivedResource> = {}) => {
          const version = String(++nonce)
          const own = protocol === "Incremental" ? { version } : {}
          const resources = names.map((name, n) => {
            const { value } = received(typeUrl, name, n === 0 ? content : plain)
            return ReceivedResource.make({ typeUrl, name, value, ...own, ...more })
          })
          const response = { protocol, typeUrl, version, nonce: version, resources } as const
          return step({ _tag: "Response", stream: "s", response: ClientResponse.make(response) })
        }
        assert.lengthOf(respond(plain), size)
        assert.deepStrictEqual(respond(plain), [])
        assert.deepStrictEqual(respond(marked), ["a Updated 0"])
        for (let times = 0; times < 3; times++) assert.deepStrictEqual(respond(marked), ["a Updated 0"])
        // A heartbeat says nothing of it.
        const version = protocol === "Incremental" ? String(nonce) : "3"
        assert.deepStrictEqual(respond(marked, { value: undefined, ttl: 1_000, version }), [])
        // With a TTL, and without one again.
        for (const ttl of [1_000, 1_000, undefined]) assert.deepStrictEqual(respond(marked, { ttl }), ["a Updated 0"])
        assert.deepStrictEqual(respond(plain), ["a Updated 0"])
        assert.deepStrictEqual(respond(plain), [])
        assert.strictEqual(decodes, size + 2)
      })
    }
  }
})

describe("a collection", () => {
  const { typeUrl } = Cluster
  const glob = "xdstp://a/envoy.config.cluster.v3.Cluster/*"

  for (const isValid of [true, false]) {
    it(`its timer ends with its first ${isValid ? "member" : "member that is rejected"}: nothing is due any more`, () => {
      const rejecting = ResourceDecoder.make({ typeUrl, decode: () => Either.left("it is wrong") })
      let client = Client.make({
        servers: [{ id: "s", protocol: "Incremental" }],
        authorities: new Map([["a", []]]),
        decoders: [isValid ? decoderOf(typeUrl) : rejecting]
      })
      const step = (input: Client.Input) => void (client = Client.step(client, input, 0)[0])
      step({ _tag: "Watch", watcher: 1, typeUrl, name: glob })
      step({ _tag: "Connected", stream: "s" })
      step({ _tag: "Written", stream: "s" })
      assert.isBelow(Client.deadline(client), Number.POSITIVE_INFINITY)
      const member = ReceivedResource.make({
        ...received(typeUrl, glob.replace("*", "b")),
        name: glob.replace("*", "b")
      })
      const response = { protocol: "Incremental", typeUrl, nonce: "1", resources: [member] } as const
      step({ _tag: "Response", stream: "s", response: ClientResponse.make(response) })
      // What is kept of the response is its answer.
      step({ _tag: "Written", stream: "s" })
      assert.strictEqual(Client.deadline(client), Number.POSITIVE_INFINITY)
    })
  }
})

describe("many collections", () => {
  const { typeUrl } = Cluster
  const globs = Array.from({ length: 20 }, (_, index) => `xdstp://a/envoy.config.cluster.v3.Cluster/${index}/*`)
  const members = globs.flatMap((glob) => Array.from({ length: 20 }, (_, index) => glob.replace("*", `${index}`)))

  it("★ that lose all their members at once are looked through together, a few times, and not once for each", () => {
    let client = Client.make({
      servers: [{ id: "s", protocol: "Incremental" }],
      authorities: new Map([["a", []]]),
      decoders: [decoderOf(typeUrl)]
    })
    const told: Array<string> = []
    const step = (input: Client.Input) => {
      const [next, outputs] = Client.step(client, input, 0)
      client = next
      for (const output of outputs)
        if (output._tag === "Notify" && output.result._tag === "DoesNotExist") told.push(output.name)
    }
    const respond = (nonce: string, content: Partial<ClientResponse.ClientResponse>) =>
      step({
        _tag: "Response",
        stream: "s",
        response: ClientResponse.make({ protocol: "Incremental", typeUrl, nonce, ...content })
      })
    globs.forEach((name, watcher) => step({ _tag: "Watch", watcher, typeUrl, name }))
    step({ _tag: "Watch", watcher: globs.length, typeUrl, name: "one" })
    step({ _tag: "Connected", stream: "s" })
    step({ _tag: "Written", stream: "s" })
    const resources = [...members, "one"].map((name) =>
      ReceivedResource.make({ ...received(typeUrl, name), name, version: "1" })
    )
    respond("1", { resources })
    step({ _tag: "Processed", stream: "s", typeUrl, nonce: "1" })
    step({ _tag: "Written", stream: "s" })
    const walks = vi.spyOn(NameTrie.NameTrieDraft.prototype, Symbol.iterator)
    respond("2", { removed: [...members, "one"] })
    assert.isAtLeast(walks.mock.calls.length, 1)
    assert.isAtMost(walks.mock.calls.length, 4)
    walks.mockRestore()
    // The one that was asked for by name stays in use.
    assert.deepStrictEqual(told.sort(), [...globs, ...members].sort())
    // That they do not exist any more is told of each, and all are looked through together, too.
    respond("3", { resources })
    step({ _tag: "Processed", stream: "s", typeUrl, nonce: "3" })
    step({ _tag: "Written", stream: "s" })
    told.length = 0
    const all = [NameTrie.NameTrieDraft.prototype, NameTrie.NameTrie.prototype]
    const looks = all.map((trie) => vi.spyOn(trie, Symbol.iterator))
    respond("4", { removed: globs })
    assert.isAtMost(
      looks.reduce((sum, { mock }) => sum + mock.calls.length, 0),
      4
    )
    for (const look of looks) look.mockRestore()
    assert.deepStrictEqual(told.sort(), [...globs, ...members].sort())
  })
})

describe("warming with a client", () => {
  it("★ the EDS request leaves before the CDS ACK, and is one for all clusters", () => {
    for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
      const EDS = ClusterLoadAssignment.typeUrl
      let client = Client.make({
        servers: [{ id: "s", protocol }],
        decoders: [decoderOf(Cluster.typeUrl), decoderOf(EDS)]
      })
      let warming = Warming.make({}, 0)
      let watcher = 0
      const requests: Array<Request> = []
      const events: Array<string> = []
      const step = (input: Client.Input) => {
        const [next, outputs] = Client.step(client, input, 0)
        client = next
        const told = outputs.flatMap((output) => (output._tag === "Notify" ? [output] : []))
        for (const output of outputs) {
          if (output._tag === "Send") {
            requests.push(output.request)
            step({ _tag: "Written", stream: "s" })
          } else if (output._tag === "Received") {
            const arrived = [...output.validation.updated, ...output.validation.unchanged].map(({ name }) => name)
            if (output.typeUrl === EDS) warm({ _tag: "Assignments", arrived })
            else {
              const changed = told.map(({ name }) => ({ name, fingerprint: output.version, needs: [name] }))
              warm({ _tag: "Clusters", changed, removed: [] })
            }
            step({ _tag: "Processed", stream: "s", typeUrl: output.typeUrl, nonce: output.nonce })
          }
        }
      }
      const warm = (input: Warming.Input) => {
        const [next, outputs] = Warming.step(warming, input, 0)
        warming = next
        for (const output of outputs) {
          switch (output._tag) {
            case "Watch":
              step({ _tag: "Watch", watcher: ++watcher, typeUrl: output.typeUrl, name: output.name })
              break
            case "Refresh":
              step({ _tag: "Refresh", typeUrl: output.typeUrl, names: [output.name] })
              break
            case "Pause":
            case "Resume":
              step({ _tag: output._tag, typeUrl: output.typeUrl })
              break
            case "Active":
              events.push(`${output.name} ${output.fingerprint}`)
              break
            default:
          }
        }
      }
      const respond = (typeUrl: string, version: string, names: ReadonlyArray<string>, content: number) => {
        requests.length = 0
        const resources = names.map((name) => ({ ...received(typeUrl, name, content), name }))
        const response = { protocol, typeUrl, version, nonce: version, resources }
        step({ _tag: "Response", stream: "s", response: ClientResponse.make(response) })
        return requests.map((request) => {
          const names = request._tag === "StateOfTheWorld" ? request.resourceNames : request.resourceNamesSubscribe
          return [shortNameOf(request.typeUrl), [...names].sort().join(" "), request.responseNonce].join(" ").trim()
        })
      }
      step({ _tag: "Watch", watcher: ++watcher, typeUrl: Cluster.typeUrl, name: "*" })
      step({ _tag: "Connected", stream: "s" })
      const isDelta = protocol === "Incremental"
      assert.deepStrictEqual(respond(Cluster.typeUrl, "1", ["a", "b"], 1), ["EDS a b", "CDS  1"])
      assert.deepStrictEqual(events, [])
      respond(EDS, "e1", ["a", "b"], 1)
      assert.deepStrictEqual(events.splice(0), ["a 1", "b 1"])
      // Changed clusters, and the same assignments again.
      assert.deepStrictEqual(respond(Cluster.typeUrl, "2", ["a", "b"], 2), [
        isDelta ? "EDS a b" : "EDS a b e1",
        "CDS  2"
      ])
      respond(EDS, "e2", ["a", "b"], 1)
      assert.deepStrictEqual(events, ["a 2", "b 2"])
    }
  })
})

describe("hostile input", () => {
  const typeUrls = [Cluster.typeUrl, ClusterLoadAssignment.typeUrl, "", "of.nobody"]
  const typeUrl = fc.constantFrom(...typeUrls)
  const name = fc.constantFrom(
    "a",
    "b",
    "",
    "*",
    "xdstp://one/x/a",
    "xdstp:",
    "xdstp://one/envoy.config.cluster.v3.Cluster/a"
  )
  const stream = fc.constantFrom("p", "f", "nobody")
  const nonce = fc.constantFrom("", "1", "2")
  const error = fc.record({ code: fc.integer(), message: fc.string({ maxLength: 5 }) })
  const resource = fc
    .record({
      name,
      version: nonce,
      aliases: fc.array(name, { maxLength: 2 }),
      ttl: fc.constantFrom(undefined, -1, 0, Number.NaN, 5, 1e12),
      typeUrl,
      value: fc.constantFrom(
        undefined,
        new Uint8Array(),
        Uint8Array.of(255, 255),
        toResource({ typeUrl: Cluster.typeUrl, name: "a", content: 1 }).value,
        toResource({ typeUrl: Cluster.typeUrl, name: "b", content: 2 }).value
      ),
      malformed: fc.constantFrom(undefined, undefined, "garbage")
    })
    .map(ReceivedResource.make)
  const input: fc.Arbitrary<Client.Input> = fc.oneof(
    fc.record({ _tag: fc.constant("Watch" as const), watcher: fc.nat(9), typeUrl, name }),
    fc.record({ _tag: fc.constant("Unwatch" as const), watcher: fc.nat(9) }),
    fc.record({ _tag: fc.constantFrom("Pause" as const, "Resume" as const), typeUrl }),
    fc.record({ _tag: fc.constant("Refresh" as const), typeUrl, names: fc.array(name, { maxLength: 3 }) }),
    fc.record({ _tag: fc.constantFrom("Connected" as const, "Written" as const), stream }),
    fc.record({ _tag: fc.constant("Processed" as const), stream, typeUrl, nonce }),
    fc.record({ _tag: fc.constant("Ended" as const), stream, error, random: fc.constantFrom(0, 0.5, 0.99) }),
    fc.constant({ _tag: "Deadline" as const }),
    fc.record({
      _tag: fc.constant("Response" as const),
      stream,
      response: fc
        .record({
          protocol: fc.constantFrom("StateOfTheWorld" as const, "Incremental" as const),
          typeUrl,
          version: nonce,
          nonce,
          resources: fc.array(resource, { maxLength: 4 }),
          removed: fc.array(name, { maxLength: 2 }),
          errors: fc.array(fc.record({ name, error }), { maxLength: 2 })
        })
        .map(ClientResponse.make)
    })
  )

  it("has an outcome, never two requests at once, and watchers know what is held", () => {
    const run = (
      inputs: ReadonlyArray<readonly [Client.Input, number]>,
      protocol: "StateOfTheWorld" | "Incremental"
    ) => {
      const server = (id: string): Client.Server => ({ id, protocol, failOnDataErrors: id === "f" })
      let client = Client.make({
        servers: [server("p"), server("f")],
        authorities: new Map([["one", [server("f")]]]),
        decoders: [decoderOf(Cluster.typeUrl), decoderOf(ClusterLoadAssignment.typeUrl)],
        maxResources: 3
      })
      let now = 0
      const writing = new Set<string>()
      const views = new Map<number, Map<string, unknown>>()
      for (const [input, later] of inputs) {
        now += later
        if (input._tag === "Written" || input._tag === "Ended") writing.delete(input.stream)
        if (input._tag === "Watch" && !views.has(input.watcher)) views.set(input.watcher, new Map())
        if (input._tag === "Unwatch") views.delete(input.watcher)
        const [next, outputs] = ClientStep.step(client, input, now)
        client = next
        for (const output of outputs) {
          if (output._tag === "Close") writing.delete(output.stream)
          if (output._tag === "Send") {
            assert.isFalse(writing.has(output.stream), "two requests at once")
            writing.add(output.stream)
          }
          if (output._tag === "Notify") {
            for (const watcher of output.watchers) {
              const view = views.get(watcher)
              const key = `${output.typeUrl} ${output.name}`
              if (output.result._tag === "Updated") view?.set(key, output.result.value)
              if (output.result._tag === "DoesNotExist" || output.result._tag === "Error") view?.delete(key)
            }
          }
        }
        // Who watches one resource has been told it, if it is held. A refused watch is none, and the number is free.
        for (const { held, name, typeUrl } of Client.dump(client)) {
          const key = `${typeUrl} ${name}`
          for (const [watcher, view] of views) {
            if (view.has(key)) assert.strictEqual(view.get(key), held?.value, `watcher ${watcher} of ${key}`)
          }
        }
        assert.isAtMost(Client.dump(client).length, 2 * 3)
        const [, again] = Client.step(client, { _tag: "Deadline" }, now)
        if (input._tag === "Deadline") assert.deepStrictEqual(again, [], "a deadline that does nothing new")
      }
    }
    const steps = fc.array(fc.tuple(input, fc.constantFrom(0, 0, 100, 20_000)), { minLength: 20, maxLength: 80 })
    for (const protocol of ["StateOfTheWorld", "Incremental"] as const) {
      fc.assert(
        fc.property(steps, (inputs) => run(inputs, protocol)),
        { seed: 1, numRuns: 300 }
      )
    }
  })
})

describe("★ a decoder that throws or gives nonsense rejects the resource, and the step goes on", () => {
  const { typeUrl } = Cluster
  const hostile: unknown = Object.create(null)
  const thrown = (cause: unknown) => (): never => {
    throw cause
  }
  const gave = (what: string) => `the decoder of ${typeUrl} gave ${what}`
  for (const [title, functions, words] of [
    [
      "nameOf throws",
      { nameOf: thrown(new Error("no name")) },
      `the decoder of ${typeUrl} failed to find the name: no name`
    ],
    ["nameOf throws what has no words", { nameOf: thrown(hostile) }, "something that cannot be put into words"],
    ["nameOf gives a number", { nameOf: () => 7 }, gave("a name that is no text: number")],
    ["nameOf gives null", { nameOf: () => null }, gave("a name that is no text: object")],
    ["nameOf gives nothing", { nameOf: () => undefined }, "resource 0: has no name"],
    ["decode throws", { decode: thrown(new Error("no value")) }, 'resource "a": no value'],
    ["decode throws what has no words", { decode: thrown(hostile) }, "something that cannot be put into words"],
    ["decode gives nothing", { decode: () => undefined }, gave("no Either: undefined")],
    ["decode gives a promise", { decode: () => Promise.resolve() }, gave("no Either: object")],
    [
      "decode refuses without a text",
      { decode: () => Either.left({ toString: 1 }) },
      "something that cannot be put into words"
    ],
    ["keysOf throws", { keysOf: thrown(new Error("no keys")) }, 'resource "a": no keys'],
    ["keysOf gives a number", { keysOf: () => 7 }, gave("keys that are no list of texts")],
    ["keysOf gives a promise", { keysOf: () => Promise.resolve([]) }, gave("keys that are no list of texts")],
    ["keysOf gives numbers", { keysOf: () => ["a", 7n] }, gave("keys that are no list of texts")]
  ] satisfies ReadonlyArray<readonly [string, Readonly<Record<string, unknown>>, string]>) {
    it(title, () => {
      let client = Client.make({
        servers: [{ id: "s", protocol: "StateOfTheWorld" }],
        // Whatever the types say.
        decoders: [Object.assign(decoderOf(typeUrl), functions), decoderOf(ClusterLoadAssignment.typeUrl)]
      })
      const outputs: Array<Client.Output> = []
      const step = (input: Client.Input) => {
        const [next, out] = Client.step(client, input, 0)
        client = next
        outputs.push(...out)
      }
      step({ _tag: "Watch", watcher: 1, typeUrl, name: "a" })
      step({ _tag: "Watch", watcher: 2, typeUrl: ClusterLoadAssignment.typeUrl, name: "b" })
      step({ _tag: "Connected", stream: "s" })
      step({ _tag: "Written", stream: "s" })
      const respond = (typeUrl: string, name: string) => {
        outputs.length = 0
        const resources = [received(typeUrl, name)]
        const response = { protocol: "StateOfTheWorld", typeUrl, version: "1", nonce: typeUrl, resources } as const
        step({ _tag: "Response", stream: "s", response: ClientResponse.make(response) })
        return outputs
      }
      const answered = respond(typeUrl, "a").find(({ _tag }) => _tag === "Received")
      assert.include(answered?._tag === "Received" ? answered.error?.message : "", words)
      step({ _tag: "Processed", stream: "s", typeUrl, nonce: typeUrl })
      assert.isTrue(respond(ClusterLoadAssignment.typeUrl, "b").some(({ _tag }) => _tag === "Notify"))
    })
  }
})
