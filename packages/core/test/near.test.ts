/** What takes no time is done in one turn, and nothing else is: see `ServerStream.short`. */
import * as Due from "@effect-xds/core/server/Due"
import * as Request from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import * as Round from "@effect-xds/core/server/Round"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Steps from "@effect-xds/core/Steps"
import type { Subscription } from "@effect-xds/core/server/Subscription"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import { step } from "./Step.js"

const { typeUrl } = ResourceType.Cluster
const endpoints = ResourceType.ClusterLoadAssignment.typeUrl
const names = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, at) => `name-${at}`)
const resources = (count: number, content: number, type = typeUrl): ReadonlyArray<Resource> =>
  names(count).map((name) => toResource({ typeUrl: type, name, content }))
const put = (group: ResourceGroup.ResourceGroup, upsert: ReadonlyArray<Resource>): ResourceGroup.ResourceGroup =>
  Either.getOrThrow(ResourceGroup.update(group, { upsert }))
const setOf = (group: ResourceGroup.ResourceGroup): ResourceSet.ResourceSet => ResourceGroup.set(group, typeUrl)

/** A thousand resources changed, and all but the first changed back. */
const backButFirst = (before: ResourceGroup.ResourceGroup): ResourceGroup.ResourceGroup =>
  put(put(before, resources(1_000, 1)), resources(1_000, 0).slice(1))

/** Of so many resources; not the same twice. */
const begin = (count: number): ResourceGroup.ResourceGroup => put(ResourceGroup.empty, resources(count, 0))

/** What a stream was sent, and the stream after it; each step is taken both ways. */
class Client {
  readonly sent: Array<Extract<ServerStream.Output, { readonly _tag: "Send" }>> = []
  stream: ServerStream.ServerStream
  now = 0

  constructor(options: Partial<ServerStream.Options> = {}) {
    this.stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined, ...options })
  }

  take(input: ServerStream.Input): ReadonlyArray<ServerStream.Output> {
    const [next, outputs] = step(this.stream, input, this.now)
    this.stream = next
    for (const output of outputs) if (output._tag === "Send") this.sent.push(output)
    return outputs
  }

  ask(request: Parameters<typeof Request.incremental>[0]): ReadonlyArray<ServerStream.Output> {
    return this.take({ _tag: "Request", request: Request.incremental(request) })
  }

  /** A client that was sent all it asked for, and ACKed it. */
  static upToDate(
    group: ResourceGroup.ResourceGroup,
    resourceNamesSubscribe: ReadonlyArray<string>,
    options: Partial<ServerStream.Options> = {}
  ): Client {
    const client = new Client(options)
    client.take({ _tag: "Changed", group })
    client.take({ _tag: "Writable" })
    client.ask({ typeUrl, resourceNamesSubscribe })
    while (ServerStream.isWorking(client.stream)) client.take({ _tag: "Continue" })
    for (let answered = 0; answered < client.sent.length; answered++) {
      client.ask({ typeUrl, responseNonce: client.sent[answered]?.nonce ?? "" })
      client.take({ _tag: "Writable" })
    }
    return client
  }

  get subscription(): Subscription {
    const [first] = this.stream.subscriptions
    if (first === undefined) throw new Error("nothing was asked for")
    return first
  }

  isShort(group: ResourceGroup.ResourceGroup): boolean {
    return ServerStream.short(this.stream, { _tag: "Changed", group }, this.now) !== undefined
  }
}

const most = Steps.atOnce

describe("what changed is near", () => {
  it("where it is of fewer names than others are to have their turn after, in all changes together", () => {
    const before = begin(200)
    const { cursor } = setOf(before)
    assert.isTrue(Difference.isNear(setOf(before), cursor))
    assert.isTrue(Difference.isNear(setOf(put(before, resources(most - 1, 1))), cursor))
    assert.isFalse(Difference.isNear(setOf(put(before, resources(most, 1))), cursor))
    const several = put(put(before, resources(most - 1, 1)), resources(1, 2))
    assert.isFalse(Difference.isNear(setOf(several), cursor))
    assert.isTrue(Difference.isNear(setOf(put(put(before, resources(1, 1)), resources(1, 2))), cursor))
  })

  it("where somebody asked for it before", () => {
    const before = begin(200)
    const set = setOf(put(before, resources(200, 1)))
    assert.isFalse(Difference.isNear(set, setOf(before).cursor))
    Difference.of(set, setOf(before).cursor)
    assert.isTrue(Difference.isNear(set, setOf(before).cursor))
  })

  it("not where the log does not lead to it: of another history, or beyond it", () => {
    const before = begin(200)
    const [one, other] = [put(before, resources(1, 1)), put(before, resources(1, 2))]
    assert.isFalse(Difference.isNear(setOf(put(one, resources(1, 3))), setOf(other).cursor))
    let after = before
    for (let round = 1; round <= 1_000; round++) after = put(after, resources(1, round))
    assert.isFalse(Difference.isNear(setOf(after), setOf(before).cursor))
    // What the client had on another stream has no place in it.
    assert.isFalse(Difference.isNear(setOf(after), { ...setOf(before).cursor, revision: -1, digest: undefined }))
  })

  it("for a stream where it is for each of its types, in each state that they may be brought to", () => {
    const before = begin(2_000)
    const client = Client.upToDate(before, names(2_000))
    const near = put(before, resources(1, 1))
    const far = put(before, resources(most, 1))
    const areNear = (newest: ResourceGroup.ResourceGroup, round: Partial<Round.Round>): boolean =>
      Due.areNear(client.stream.options, [client.subscription], newest, { ...Round.idle, ...round })
    const phase = (group: ResourceGroup.ResourceGroup): Round.Phase => Round.hold(undefined, group, [], false)
    assert.isTrue(areNear(near, { group: near, changes: phase(near) }))
    assert.isTrue(areNear(near, { group: before, changes: phase(before) }))
    assert.isFalse(areNear(far, {}))
    assert.isFalse(areNear(near, { group: far }))
    assert.isFalse(areNear(near, { group: near, changes: phase(far) }))
  })

  it("not for who asked for many names that it may concern, even if it is known", () => {
    const before = begin(2_000)
    const { namesPerStep } = ServerStream.withDefaults({ protocol: "Incremental", typeUrl: undefined })
    for (const [changed, isNear] of [
      [namesPerStep, true],
      [namesPerStep + 1, false]
    ] as const) {
      const after = put(before, resources(changed, 1))
      Difference.of(setOf(after), setOf(before).cursor)
      const { stream, subscription } = Client.upToDate(before, names(2_000))
      assert.strictEqual(Due.areNear(stream.options, [subscription], after, Round.idle), isNear)
    }
  })
})

describe("a short step", () => {
  it("is none where it takes long to find what changed, however little that is for the client", () => {
    const before = begin(1_000)
    const client = Client.upToDate(before, ["*"])
    const after = backButFirst(before)
    assert.isFalse(client.isShort(after))
    Difference.of(setOf(after), setOf(before).cursor)
    assert.isTrue(client.isShort(after))
  })

  it("★ is enough for a client that subscribes to a few names, however far it is behind", () => {
    const before = begin(1_000)
    for (const [count, isShort] of [
      [1, true],
      [most, true],
      [most + 1, false]
    ] as const) {
      const after = backButFirst(before)
      const client = Client.upToDate(before, names(count))
      assert.strictEqual(client.isShort(after), isShort)
      client.take({ _tag: "Changed", group: after })
      assert.deepStrictEqual(
        client.sent.at(-1)?.response.resources.map(({ name }) => name),
        ["name-0"]
      )
      assert.isFalse(Difference.isNear(setOf(after), setOf(before).cursor), "the names of others were looked at")
    }
  })

  it("comes when a long difference was found for many clients, which takes no more than to compare each by its names", () => {
    const before = begin(1_000)
    const after = backButFirst(before)
    const clients = Array.from({ length: 20 }, () => Client.upToDate(before, names(100)))
    for (const client of clients) {
      assert.isFalse(Difference.isNear(setOf(after), setOf(before).cursor))
      assert.isFalse(client.isShort(after))
      client.take({ _tag: "Changed", group: after })
    }
    // Twenty times a hundred names; it has 1 999.
    assert.isTrue(Difference.isNear(setOf(after), setOf(before).cursor))
    assert.isTrue(Client.upToDate(before, names(100)).isShort(after))
  })

  it("brings no more resources than are looked at in one turn", () => {
    const before = begin(1_000)
    for (const [changed, isShort] of [
      [most, true],
      [most + 1, false]
    ] as const) {
      const client = Client.upToDate(before, ["*"])
      const after = put(before, resources(changed, 1))
      Difference.of(setOf(after), setOf(before).cursor)
      assert.strictEqual(client.isShort(after), isShort)
    }
  })

  it("hears no answer while a request is taken: that has the names before it", () => {
    const client = Client.upToDate(begin(10), ["name-1"])
    client.ask({ typeUrl, resourceNamesSubscribe: names(2_000) })
    assert.isTrue(ServerStream.isWorking(client.stream))
    client.ask({ typeUrl: endpoints })
    assert.isFalse(ServerStream.isWorking(client.stream))
    client.ask({ typeUrl, resourceNamesSubscribe: names(2_000) })
    client.ask({ typeUrl, responseNonce: client.sent.at(-1)?.nonce ?? "" })
    assert.isFalse(ServerStream.isWorking(client.stream))
  })

  it("sends nothing at a state that is there already, even if time made something due", () => {
    const routes = ResourceType.RouteConfiguration.typeUrl
    const of = (content: number) =>
      [typeUrl, routes].map((type) => toResource({ typeUrl: type, name: "name-0", content }))
    const before = put(ResourceGroup.empty, of(1))
    const client = Client.upToDate(before, ["*"])
    client.ask({ typeUrl: routes })
    client.ask({ typeUrl: routes, responseNonce: client.sent.at(-1)?.nonce ?? "" })
    client.take({ _tag: "Writable" })
    const group = put(before, of(2))
    client.take({ _tag: "Changed", group })
    client.take({ _tag: "Writable" })
    const count = client.sent.length
    // The clusters are not ACKed: routes wait for a time that is over now.
    client.now = ServerStream.deadline(client.stream)
    assert.deepStrictEqual(client.take({ _tag: "Changed", group }), [])
    client.take({ _tag: "Deadline" })
    assert.strictEqual(client.sent.length, count + 1)
  })

  it("forgets what a client said to hold, where it gave up the names that were left of its request", () => {
    const group = begin(3)
    const versions = ResourceGroup.all(group).map(({ name }) => [name, "old"] as const)
    const client = new Client({ namesPerResponse: 1 })
    client.take({ _tag: "Changed", group })
    client.take({ _tag: "Writable" })
    client.ask({ typeUrl, resourceNamesSubscribe: names(3), initialResourceVersions: new Map(versions) })
    const [first] = client.sent
    const told = first?.response.resources[0]?.name ?? ""
    client.ask({ typeUrl, resourceNamesUnsubscribe: names(3).filter((name) => name !== told) })
    // Nothing is left to answer: a new round begins.
    client.take({ _tag: "Writable" })
    client.take({ _tag: "Changed", group: put(group, [toResource({ typeUrl, name: told, content: 1 })]) })
    assert.deepStrictEqual(
      client.sent.map(({ response }) => response.resources.map(({ name }) => name)),
      [[told], [told]]
    )
    assert.strictEqual(client.subscription.initial.size, 0)
  })

  it("shares its response with who is brought the same, and with nobody else", () => {
    const before = begin(10)
    const renamed = toResource({ typeUrl, name: "name-1", content: 1, aliases: ["other"] })
    const after = put(before, [renamed])
    const [one, same, named, small] = [
      Client.upToDate(before, ["*"]),
      Client.upToDate(before, ["*"]),
      Client.upToDate(before, ["*", "other"]),
      Client.upToDate(before, ["*"], { maxResponseBytes: 400 })
    ]
    const many = put(before, resources(10, 1))
    for (const group of [after, many]) {
      for (const client of [one, same, named, small]) {
        // What each of them does depends on it alone: who is asked twice has the same.
        const copy = new Client()
        copy.stream = client.stream
        copy.take({ _tag: "Changed", group })
        if (client === one || client === same) assert.isTrue(client.isShort(group))
      }
    }
    const responses = [one, same, named, small].map((client) => {
      client.take({ _tag: "Changed", group: after })
      return client.sent.at(-1)?.response
    })
    assert.strictEqual(responses[0], responses[1])
    assert.deepStrictEqual(Array.from(responses[2]?.aliases ?? []), [["name-1", ["other"]]])
    assert.strictEqual(responses[0]?.aliases.size, 0)
    small.take({ _tag: "Writable" })
    small.take({ _tag: "Changed", group: many })
    assert.isTrue(small.sent.some(({ response }) => response.next !== undefined))
  })

  it("of a full state is sent as it was sent to another stream, and never to who asked by name", () => {
    const before = begin(10)
    const open = (resourceNames: ReadonlyArray<string>) => {
      const client = new Client({ protocol: "StateOfTheWorld" })
      const ask = (responseNonce: string) =>
        client.take({
          _tag: "Request",
          request: Request.stateOfTheWorld({ typeUrl, resourceNames, responseNonce })
        })
      client.take({ _tag: "Writable" })
      client.take({ _tag: "Changed", group: before })
      ask("")
      client.take({ _tag: "Writable" })
      ask("1")
      return client
    }
    const [one, same, named] = [open([]), open(["*"]), open(["name-1", "name-2"])]
    const after = put(before, [toResource({ typeUrl, name: "name-1", content: 1 })])
    assert.isFalse(one.isShort(after))
    one.take({ _tag: "Changed", group: after })
    assert.isTrue(same.isShort(after))
    same.take({ _tag: "Changed", group: after })
    assert.strictEqual(one.sent.at(-1)?.response, same.sent.at(-1)?.response)
    assert.strictEqual(same.sent.at(-1)?.response.resources.length, 10)
    named.take({ _tag: "Changed", group: after })
    assert.deepStrictEqual(
      named.sent
        .at(-1)
        ?.response.resources.map(({ name }) => name)
        .sort(),
      ["name-1", "name-2"]
    )
  })
})

describe("a wait for a resource that may be made", () => {
  it("that is over ends with a short step, too", () => {
    const client = new Client({ missingWait: 700 })
    const group = put(begin(2), resources(1, 0, endpoints))
    client.take({ _tag: "Changed", group })
    client.ask({ typeUrl, resourceNamesSubscribe: ["name-0"] })
    client.take({ _tag: "Writable" })
    client.ask({ typeUrl: endpoints, resourceNamesSubscribe: ["missing"] })
    client.take({ _tag: "Writable" })
    client.now += 800
    client.take({ _tag: "Changed", group: put(group, resources(1, 1)) })
    assert.deepStrictEqual(
      client.sent.map(({ response }) => response.typeUrl),
      [typeUrl, typeUrl]
    )
    client.take({ _tag: "Writable" })
    assert.deepStrictEqual(client.sent.at(-1)?.response.removed, ["missing"])
  })
})
