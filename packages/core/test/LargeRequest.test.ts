import * as Request from "@effect-xds/core/wire/Request"
import type * as Cursor from "@effect-xds/core/resource/Cursor"
import * as Difference from "@effect-xds/core/resource/Difference"
import * as HeldVersions from "@effect-xds/core/resource/HeldVersions"
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Wire from "@effect-xds/core/wire/Wire"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import { sharedVersions } from "@effect-xds/testing/reference/SharedVersions"
import { toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as Hash from "effect/Hash"
import * as CollidingNames from "./CollidingNames.js"

const { typeUrl } = ResourceType.ClusterLoadAssignment
const namesFrom = (first: number, count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, at) => `assignment-${first + at}`)
const group = Either.getOrThrow(
  ResourceGroup.update(ResourceGroup.empty, {
    upsert: namesFrom(0, 5_000).map((name) => toResource({ typeUrl, name, content: 1 }))
  })
)

type Send = ServerStream.Output & { readonly _tag: "Send" }

/** A stream with its driver, which notes how many names each step deals with, and where others might have their turn. */
class Driver {
  stream: ServerStream.ServerStream
  readonly sent: Array<Send> = []
  steps = 0
  /** Of others, in the steps. */
  turns = 0
  mostTaken = 0
  mostAnswered = 0
  mostListed = 0

  constructor(
    options: Parameters<typeof ServerStream.make>[0],
    private readonly onTurn: () => void = () => undefined
  ) {
    this.stream = ServerStream.make(options)
    this.step({ _tag: "Changed", group })
    this.step({ _tag: "Writable" })
  }

  step(input: ServerStream.Input): void {
    const before = this.counts()
    const isTaking = input._tag === "Continue" && this.stream.partialRequest !== undefined
    const work = ServerStream.stepping(this.stream, input, 0)
    let result = work.next()
    for (; result.done !== true; result = work.next()) {
      this.turns++
      this.onTurn()
    }
    const [next, outputs] = result.value
    this.stream = next
    this.steps++
    this.onTurn()
    const after = this.counts()
    const taken = Math.abs(after.names - before.names)
    this.mostTaken = Math.max(this.mostTaken, taken)
    // What follows from many names is a step by itself.
    if (isTaking && taken > 0) assert.isFalse(outputs.some(({ _tag }) => _tag === "Send"))
    this.mostListed = Math.max(this.mostListed, after.listed - before.listed)
    for (const output of outputs) {
      if (output._tag !== "Send") continue
      this.sent.push(output)
      const { removed, resources } = output.response
      this.mostAnswered = Math.max(this.mostAnswered, removed.length + resources.length)
    }
  }

  /** As drivers do: what is left of a request goes on, and there is credit after each response. */
  request(request: Request.Request): void {
    this.step({ _tag: "Request", request })
    for (let sent = -1; ServerStream.isWorking(this.stream) || sent !== this.sent.length;) {
      sent = this.sent.length
      this.step(ServerStream.isWorking(this.stream) ? { _tag: "Continue" } : { _tag: "Writable" })
    }
  }

  private counts(): { readonly names: number; readonly listed: number } {
    const { subscriptions, partialRequest } = this.stream
    const current = partialRequest?.names.next ?? subscriptions[0]
    const sets = partialRequest?.names._tag === "StateOfTheWorld" ? partialRequest.names.wanted : []
    return {
      names: current === undefined ? 0 : current.names.size,
      listed: sets.reduce((sum, { size }) => sum + size, 0)
    }
  }
}

/** The most characters of names that were read between two turns: who looks up a name computes its hash, from each of them. */
const mostReadBetweenTurns = (act: (onTurn: () => void, fromNow: () => void) => void): number => {
  const before = Object.getOwnPropertyDescriptor(String.prototype, "charCodeAt") ?? {}
  const original: unknown = before.value
  if (typeof original !== "function") throw new Error("no String.prototype.charCodeAt")
  let reads = 0
  let most = 0
  // Nothing is kept of the calls, which are millions.
  Object.defineProperty(String.prototype, "charCodeAt", {
    ...before,
    value: function (this: string, at: number): unknown {
      reads++
      return Reflect.apply(original, this, [at])
    }
  })
  try {
    act(
      () => {
        most = Math.max(most, reads)
        reads = 0
      },
      () => void (most = reads = 0)
    )
  } finally {
    Object.defineProperty(String.prototype, "charCodeAt", before)
  }
  return most
}

const toldMissing = (sent: ReadonlyArray<Send>): number =>
  new Set(sent.flatMap(({ response }) => response.removed)).size
const brought = (sent: ReadonlyArray<Send>): number =>
  new Set(sent.flatMap(({ response }) => response.resources.map(({ name }) => name))).size

describe("a request with many names", () => {
  it("of incremental is taken 512 names at a time and answered 1 000 at a time", () => {
    const driver = new Driver({ protocol: "Incremental", typeUrl: undefined })
    driver.request(Request.incremental({ typeUrl, resourceNamesSubscribe: namesFrom(0, 20_000) }))
    assert.strictEqual(driver.mostTaken, 512)
    assert.strictEqual(driver.mostAnswered, 1_000)
    assert.isAtLeast(driver.steps, 20_000 / 512 + 20)
    assert.strictEqual(brought(driver.sent), 5_000)
    assert.strictEqual(toldMissing(driver.sent), 15_000)
    driver.request(Request.incremental({ typeUrl, resourceNamesUnsubscribe: namesFrom(0, 20_000) }))
    assert.strictEqual(driver.mostTaken, 512)
    assert.deepInclude(ServerStream.status(driver.stream)[0], { names: 0 })
  })

  describe("of a full state", () => {
    const clusters = ResourceType.Cluster.typeUrl
    const groupOf = (content: number, count: number) =>
      Either.getOrThrow(
        ResourceGroup.update(ResourceGroup.empty, {
          upsert: namesFrom(0, count).map((name) => toResource({ typeUrl: clusters, name, content }))
        })
      )
    const asking = (namesPerStep: number) => {
      const driver = new Driver({ protocol: "StateOfTheWorld", typeUrl: undefined, namesPerStep })
      driver.step({ _tag: "Changed", group: groupOf(1, 5_000) })
      return driver
    }
    const all = Request.stateOfTheWorld({ typeUrl: clusters, resourceNames: namesFrom(1_000, 20_000) })
    /** All that it did, in an order that does not depend on how it was found. */
    const told = ({ sent, stream }: Driver) => ({
      sent: sent.map(({ nonce, response: { resources, version } }) => ({
        nonce,
        version,
        values: resources.map(({ name, value }) => `${name} ${value.join()}`).sort()
      })),
      names: stream.subscriptions.map(({ requested, names }) => [
        Array.from(names, ([name, held]) => `${name} ${held}`).sort(),
        Array.from(requested).sort()
      ])
    })

    it("tells the same, in however many steps its names are taken", () => {
      const [driver, whole] = [asking(512), asking(Number.POSITIVE_INFINITY)]
      driver.request(all)
      whole.request(all)
      assert.deepStrictEqual(told(driver), told(whole))
      assert.strictEqual(driver.sent[0]?.response.resources.length, 4_000)
      // To take the names, to see that there are no others, and what follows from it.
      const taking = Math.ceil(20_000 / 512)
      assert.strictEqual(driver.steps - whole.steps, taking - 1 + 1)
      // To look at the resources twice, and to note what is held.
      assert.isAtLeast(driver.turns, (2 * 4_000) / 256)
      // Others beside them, some of them given up.
      const responseNonce = driver.sent[0]?.nonce ?? ""
      for (const each of [driver, whole]) {
        each.request(Request.stateOfTheWorld({ typeUrl: clusters, resourceNames: namesFrom(0, 4_500), responseNonce }))
      }
      assert.deepStrictEqual(told(driver), told(whole))
    })
  })

  it("of everything again, after nothing: what is new to such a client is found once for all of them", () => {
    const set = ResourceGroup.set(group, typeUrl)
    const nothing = (): Cursor.Cursor => ({
      ...set.cursor,
      revision: -1,
      fingerprints: NameTrie.empty(),
      digest: undefined
    })
    const difference = Difference.of(set, nothing())
    assert.strictEqual(difference.changed.length, 5_000)
    assert.strictEqual(Difference.of(set, nothing()), difference)
    const held = { ...nothing(), fingerprints: NameTrie.fromIterable([["assignment-0", "other"]]) }
    assert.notStrictEqual(Difference.of(set, held), difference)
  })

  it("of state of the world is taken 512 names at a time, and so is the one that lists others", () => {
    const driver = new Driver({ protocol: "StateOfTheWorld", typeUrl: undefined })
    driver.request(Request.stateOfTheWorld({ typeUrl, resourceNames: namesFrom(0, 20_000) }))
    assert.strictEqual(driver.mostTaken, 512)
    assert.isAtMost(driver.mostAnswered, 1_000)
    assert.strictEqual(brought(driver.sent), 5_000)
    const responseNonce = driver.sent.at(-1)?.nonce ?? ""
    driver.request(Request.stateOfTheWorld({ typeUrl, resourceNames: namesFrom(10_000, 20_000), responseNonce }))
    assert.strictEqual(driver.mostTaken, 512)
    assert.strictEqual(driver.mostListed, 8_192)
    assert.deepInclude(ServerStream.status(driver.stream)[0], { names: 20_000 })
    const [subscription] = driver.stream.subscriptions
    assert.strictEqual(subscription === undefined ? -1 : subscription.requested.size, 0)
  })

  for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
    it(`of ${protocol} costs each of its answers what that names, and not what the others are to name`, () => {
      const resourceNames = namesFrom(0, 5_000)
      const sent: Array<Send> = []
      const most = mostReadBetweenTurns((onTurn) => {
        const options = { protocol, typeUrl: undefined, namesPerStep: 100, namesPerResponse: 100 }
        const driver = new Driver(options, onTurn)
        driver.step({
          _tag: "Request",
          request:
            protocol === "Incremental"
              ? Request.incremental({ typeUrl, resourceNamesSubscribe: resourceNames })
              : Request.stateOfTheWorld({ typeUrl, resourceNames })
        })
        for (let steps = 0; steps < 200; steps++) {
          driver.step(ServerStream.isWorking(driver.stream) ? { _tag: "Continue" } : { _tag: "Writable" })
        }
        sent.push(...driver.sent)
      })
      assert.strictEqual(brought(sent), 5_000)
      assert.strictEqual(sent.length, 50)
      const charactersPerName = "assignment-1000".length
      assert.isAtLeast(most, charactersPerName * 100)
      assert.isAtMost(most / charactersPerName / 100, 20)
    })
  }

  describe("★ takes the event loop for no more than some hundred names at a time", () => {
    const clusters = ResourceType.Cluster.typeUrl
    const of = (type: string, content: number) =>
      namesFrom(0, 4_000).map((name) => toResource({ typeUrl: type, name, content }))
    const upsert = [...of(typeUrl, 1), ...of(clusters, 1)]
    const changed = of(clusters, 2)
    const others = of(typeUrl, 2)
    const holding = (names: ReadonlyArray<string>) => new Map(names.map((name) => [name, "other"]))
    const all = namesFrom(0, 4_000)
    const wild = Request.incremental({ typeUrl: clusters })
    const gone = { _tag: "Gone" } as const
    const cases: Readonly<Record<string, ReadonlyArray<Request.Request | typeof changed | typeof gone>>> = {
      "incremental, a wildcard": [wild],
      "incremental, a wildcard, and what changed": [wild, changed],
      "incremental, a wildcard, and what is gone": [wild, gone],
      "incremental, a wildcard beside a name, and what is gone": [
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: ["*", "assignment-1"] }),
        gone
      ],
      "incremental, names, and what is gone": [
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: all }),
        gone
      ],
      "incremental, a wildcard that is asked for again": [
        wild,
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: ["*"] })
      ],
      "incremental, a wildcard beside names that is given up and asked for again": [
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: ["*", ...all] }),
        Request.incremental({ typeUrl: clusters, resourceNamesUnsubscribe: ["*"] }),
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: ["*"] })
      ],
      "incremental, other versions are held": [
        Request.incremental({ typeUrl: clusters, initialResourceVersions: holding(all) })
      ],
      "incremental, others are held": [
        Request.incremental({ typeUrl: clusters, initialResourceVersions: holding(namesFrom(50_000, 4_000)) })
      ],
      "incremental, names": [Request.incremental({ typeUrl, resourceNamesSubscribe: all })],
      "incremental, names, and what changed": [
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: all }),
        changed
      ],
      "incremental, many names of which a few are among what changed": [
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: namesFrom(3_990, 4_000) }),
        changed
      ],
      "incremental, names beside a wildcard, and what changed": [
        Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: ["*", ...all] }),
        changed
      ],
      "incremental, assignments that clusters are warmed with": [
        Request.incremental({ typeUrl, resourceNamesSubscribe: all }),
        wild
      ],
      "state of the world, a wildcard": [Request.stateOfTheWorld({ typeUrl: clusters })],
      "state of the world, a wildcard, and what is gone": [Request.stateOfTheWorld({ typeUrl: clusters }), gone],
      "state of the world, a wildcard that becomes names": [
        Request.stateOfTheWorld({ typeUrl: clusters }),
        Request.stateOfTheWorld({ typeUrl: clusters, resourceNames: all, responseNonce: "1" })
      ],
      "state of the world, names of a full state": [Request.stateOfTheWorld({ typeUrl: clusters, resourceNames: all })],
      "state of the world, names of a full state, and what changed": [
        Request.stateOfTheWorld({ typeUrl: clusters, resourceNames: all }),
        changed
      ],
      "state of the world, names": [Request.stateOfTheWorld({ typeUrl, resourceNames: all })],
      "state of the world, names, and what changed": [Request.stateOfTheWorld({ typeUrl, resourceNames: all }), others]
    }
    it.each(Object.entries(cases))("%s", (_, inputs) => {
      // What many streams share is made for the first of them.
      const served = Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert }))
      const given = inputs.map((input): ServerStream.Input | Request.Request => {
        if ("_tag" in input && input._tag !== "Gone") return input
        const change =
          "_tag" in input ? { remove: all.map((name) => ({ typeUrl: clusters, name })) } : { upsert: input }
        return { _tag: "Changed", group: Either.getOrThrow(ResourceGroup.update(served, change)) }
      })
      const [first] = inputs
      const protocol = first !== undefined && "_tag" in first && first._tag !== "Gone" ? first._tag : "Incremental"
      let parts = 0
      const most = mostReadBetweenTurns((onTurn, fromNow) => {
        const driver = new Driver({ protocol, typeUrl: undefined }, onTurn)
        driver.step({ _tag: "Changed", group: served })
        fromNow()
        for (const each of given) {
          if (each._tag === "Incremental" || each._tag === "StateOfTheWorld") driver.request(each)
          else driver.step(each)
        }
        parts = driver.turns + driver.steps
      })
      assert.isAtLeast(parts, 4_000 / 512)
      assert.isAtMost(most / "assignment-1000".length, 5 * 512)
    })
  })

  describe("★ takes the event loop for no more than some hundred resources at a time where resources with pending removals are back", () => {
    const clusters = ResourceType.Cluster.typeUrl
    const listeners = ResourceType.Listener.typeUrl
    const all = namesFrom(0, 4_000)
    const cases = {
      "incremental, a wildcard": Request.incremental({ typeUrl: clusters }),
      "incremental, names": Request.incremental({ typeUrl: clusters, resourceNamesSubscribe: all }),
      "incremental, names beside a wildcard": Request.incremental({
        typeUrl: clusters,
        resourceNamesSubscribe: ["*", ...all]
      }),
      "state of the world, a wildcard": Request.stateOfTheWorld({ typeUrl: clusters }),
      "state of the world, names": Request.stateOfTheWorld({ typeUrl: clusters, resourceNames: all })
    }
    const counts = {
      "all of it": [4_000, false],
      "a few beside much else": [10, false],
      "a few beside much else, which another client was told": [10, true]
    } as const
    const variants = Object.entries(cases).flatMap(([what, asked]) =>
      Object.entries(counts).map(([how, [count, isKnown]]) => [what, how, asked, count, isKnown] as const)
    )
    it.each(variants)("%s, %s", (_what, _how, asked, count, isKnown) => {
      let looks = 0
      let most = 0
      /** Counts how often it is looked at what a resource is. */
      const counted = (name: string, content: number): ReturnType<typeof toResource> => {
        const resource = toResource({ typeUrl: clusters, name, content })
        return Object.defineProperty({ ...resource }, "fingerprint", {
          enumerable: true,
          get: () => {
            looks++
            return resource.fingerprint
          }
        })
      }
      const listener = (content: number) => toResource({ typeUrl: listeners, name: "listener", content })
      const changed = (from: ResourceGroup.ResourceGroup, change: Parameters<typeof ResourceGroup.update>[1]) =>
        Either.getOrThrow(ResourceGroup.update(from, change))
      const clustersOf = (content: number) => all.map((name) => counted(name, content))
      const first = clustersOf(1)
      const served = changed(ResourceGroup.empty, { upsert: [...first, listener(1)] })
      const next = changed(served, { upsert: [listener(2)] })
      const gone = changed(next, { remove: all.slice(0, count).map((name) => ({ typeUrl: clusters, name })) })
      const back = changed(gone, { upsert: [...first.slice(0, count), ...clustersOf(2).slice(count)] })

      const driver = new Driver({ protocol: asked._tag, typeUrl: undefined }, () => {
        most = Math.max(most, looks)
        looks = 0
      })
      const change = (group: ResourceGroup.ResourceGroup): void => {
        driver.step({ _tag: "Changed", group })
        while (ServerStream.isWorking(driver.stream)) driver.step({ _tag: "Continue" })
      }
      const pending = () =>
        driver.stream.subscriptions.find((subscription) => subscription.typeUrl === clusters)?.pendingRemovals.size
      change(served)
      const listening = { typeUrl: listeners, responseNonce: "" }
      const listen = asked._tag === "Incremental" ? Request.incremental(listening) : Request.stateOfTheWorld(listening)
      driver.request(listen)
      driver.request({ ...listen, responseNonce: driver.sent.at(-1)?.nonce ?? "" })
      driver.request(asked)
      // Clusters are not deleted before it is known that the listener does without them.
      change(next)
      driver.step({ _tag: "Writable" })
      change(gone)
      assert.strictEqual(pending(), count)
      const sent = driver.sent.length
      if (isKnown) Difference.of(ResourceGroup.set(back, clusters), ResourceGroup.set(gone, clusters).cursor)
      looks = most = 0
      change(back)
      assert.strictEqual(pending(), 0)
      assert.strictEqual(driver.sent.length > sent, count < all.length)
      assert.isAtLeast(most, 64)
      assert.isAtMost(most, 512)
    })
  })

  it("tells a reconnecting client nothing of what it holds, in whichever part it comes", () => {
    const driver = new Driver({ protocol: "Incremental", typeUrl: undefined })
    const held = ResourceGroup.all(group).map(({ name, version }) => [name, version] as const)
    driver.request(
      Request.incremental({
        typeUrl,
        resourceNamesSubscribe: namesFrom(0, 20_000),
        initialResourceVersions: new Map(held)
      })
    )
    assert.strictEqual(brought(driver.sent), 0)
    assert.strictEqual(toldMissing(driver.sent), 15_000)
  })

  it("is waited for by the next request, and by a change", () => {
    const driver = new Driver({ protocol: "Incremental", typeUrl: undefined })
    const request = Request.incremental({ typeUrl, resourceNamesSubscribe: namesFrom(0, 2_000) })
    driver.step({ _tag: "Request", request })
    assert.isTrue(ServerStream.isWorking(driver.stream))
    driver.step({ _tag: "Changed", group: ResourceGroup.empty })
    driver.step({ _tag: "Deadline" })
    assert.deepStrictEqual(driver.sent, [])
    // Who gives the next one without a `Continue` has the rest of it in that step.
    driver.step({ _tag: "Request", request: Request.incremental({ typeUrl, resourceNamesSubscribe: ["one-more"] }) })
    assert.isFalse(ServerStream.isWorking(driver.stream))
    assert.deepInclude(ServerStream.status(driver.stream)[0], { names: 2_001 })
    assert.strictEqual(driver.sent.length, 1)
    for (let left = 3; left > 0; left--) driver.step({ _tag: "Writable" })
    assert.strictEqual(toldMissing(driver.sent), 2_001)
  })

  for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
    it(`${protocol}: is answered without a \`Continue\` where the driver does not take it in parts`, () => {
      const names = namesFrom(0, 2_000)
      const request =
        protocol === "Incremental"
          ? Request.incremental({ typeUrl, resourceNamesSubscribe: names })
          : Request.stateOfTheWorld({ typeUrl, resourceNames: names })
      const inputs: ReadonlyArray<ServerStream.Input> = [
        { _tag: "Changed", group },
        { _tag: "Writable" },
        { _tag: "Request", request },
        { _tag: "Writable" }
      ]
      let stream = ServerStream.make({ protocol, typeUrl: undefined })
      const sent: Array<Send> = []
      for (const input of inputs) {
        const [next, outputs] = ServerStream.step(stream, input, 0)
        stream = next
        sent.push(...outputs.filter((output) => output._tag === "Send"))
        assert.isFalse(ServerStream.isWorking(stream))
      }
      assert.strictEqual(brought(sent), 2_000)
    })
  }

  it("more names than are allowed end the stream before one of them is looked at, and so does one that is too long", () => {
    const outcome = (names: ReadonlyArray<string>) => {
      const stream = ServerStream.make({ protocol: "StateOfTheWorld", typeUrl: undefined })
      const request = Request.stateOfTheWorld({ typeUrl, resourceNames: names })
      const [next, outputs] = ServerStream.step(stream, { _tag: "Request", request }, 0)
      assert.strictEqual(next.subscriptions.length, 0)
      assert.isFalse(ServerStream.isWorking(next))
      return outputs[0]
    }
    const most = `names of ${typeUrl}; at most 100000 are allowed`
    assert.deepStrictEqual(outcome(namesFrom(0, 100_002)), {
      _tag: "Violation",
      reason: "TooManyNames",
      message: `100002 ${most}`
    })
    assert.deepStrictEqual(outcome(["a", "b".repeat(65_537)]), {
      _tag: "Violation",
      reason: "NameTooLong",
      message: `a name of ${typeUrl} has 65537 characters; at most 65536 are allowed`
    })
  })
})

describe("★ names that are made to have one hash", () => {
  const names = CollidingNames.ofOneHash(400)
  const violation = ({ outputs }: { readonly outputs: ReadonlyArray<ServerStream.Output> }) =>
    outputs.flatMap((each) => (each._tag === "Violation" ? [each.reason] : []))

  it("are as many as it takes", () => assert.strictEqual(new Set(names.map(Hash.string)).size, 1))

  for (const protocol of ["Incremental", "StateOfTheWorld"] as const) {
    const asking = (resourceNames: ReadonlyArray<string>) =>
      protocol === "Incremental"
        ? Request.incremental({ typeUrl, resourceNamesSubscribe: resourceNames })
        : Request.stateOfTheWorld({ typeUrl, resourceNames })
    const after = (...requests: ReadonlyArray<ReadonlyArray<string>>) => {
      let stream = ServerStream.make({ protocol, typeUrl: undefined })
      const outputs: Array<ServerStream.Output> = []
      for (const each of requests) {
        const [next, more] = ServerStream.step(stream, { _tag: "Request", request: asking(each) }, 0)
        stream = next
        outputs.push(...more)
      }
      return { outputs }
    }

    it(`${protocol}: many of them in a request end the stream, also among others`, () => {
      assert.deepStrictEqual(violation(after(names)), ["NamesCollide"])
      assert.deepStrictEqual(violation(after([...namesFrom(0, 1_000), ...names.slice(0, 65)])), ["NamesCollide"])
      assert.deepStrictEqual(violation(after([...namesFrom(0, 1_000), ...names.slice(0, 64)])), [])
      // The same name again is no other.
      assert.deepStrictEqual(violation(after(Array.from({ length: 400 }, () => "one"))), [])
    })
  }

  it("Incremental: some in each of many requests end the stream, too", () => {
    const one = (name: string) => Request.incremental({ typeUrl, resourceNamesSubscribe: [name] })
    let stream = ServerStream.make({ protocol: "Incremental", typeUrl: undefined })
    const outputs: Array<ServerStream.Output> = []
    for (const name of names) {
      const [next, more] = ServerStream.step(stream, { _tag: "Request", request: one(name) }, 0)
      stream = next
      outputs.push(...more)
    }
    assert.deepStrictEqual(violation({ outputs }), ["NamesCollide"])
    assert.isAtMost(outputs.filter(({ _tag }) => _tag === "Subscribed").length, 257)
  })
})

describe("★ hosts that strangers made to have one hash", () => {
  const { typeUrl: hosts } = ResourceType.VirtualHost
  const names = CollidingNames.ofOneHash(400).map((name) => `r/${name}`)
  const asking = (resourceNamesSubscribe: ReadonlyArray<string>) =>
    Request.incremental({ typeUrl: hosts, resourceNamesSubscribe })
  const served = names.slice(-2)
  const group = Either.getOrThrow(
    ResourceGroup.replace(ResourceGroup.empty, [
      toResource({ typeUrl: hosts, name: served[0] ?? "", aliases: served.slice(1), content: 1 }),
      toResource({ typeUrl: hosts, name: "r/honest.test", content: 1 })
    ])
  )
  const driver = () => {
    const made = new Driver({ protocol: "Incremental", typeUrl: undefined, wildcardOff: new Set([hosts]) })
    made.step({ _tag: "Changed", group })
    return made
  }
  const sizeOf = ({ stream }: Driver) => stream.subscriptions[0]?.names.size
  const told = ({ sent }: Driver) => {
    const responses = sent.splice(0).map(({ response }) => response)
    return {
      found: responses.flatMap(({ resources }) => resources.map(({ name }) => name)),
      absent: new Set(responses.flatMap(({ absent }) => absent))
    }
  }

  it("are many of one hash", () => assert.strictEqual(new Set(names.map(Hash.string)).size, 1))

  it("in one request, as after a reconnect: those that are too many are missing, what is served is found", () => {
    const made = driver()
    made.request(asking([...names, "r/honest.test"]))
    assert.strictEqual(sizeOf(made), 64 + 2 + 1)
    const { absent, found } = told(made)
    assert.sameMembers(found, [served[0], "r/honest.test"])
    assert.strictEqual(absent.size, 398)
  })

  it("in one request after the other: the stream goes on, and no more are remembered than are looked for", () => {
    const made = driver()
    const absent = new Set<string>()
    for (const name of names.slice(0, -2)) {
      made.request(asking([name]))
      for (const each of told(made).absent) absent.add(each)
      assert.isAtMost(sizeOf(made) ?? 0, 64 + 257)
    }
    assert.strictEqual(absent.size, 398)
    assert.isFalse(made.stream.ended)
    made.request(asking([...served, "r/honest.test"]))
    assert.sameMembers(told(made).found, [served[0], "r/honest.test"])
    assert.lengthOf(made.stream.subscriptions[0]?.refused ?? names, 0)
    assert.strictEqual(made.stream.subscriptions[0]?.sentOpeners.size, 0)
  })

  it("no more of them are answered than one response answers", () => {
    const made = new Driver({ protocol: "Incremental", typeUrl: undefined, namesPerResponse: 100 })
    made.request(asking(names))
    assert.strictEqual(told(made).absent.size, 64 + 100)
  })
})

describe("a request that is made to be read for long", () => {
  const field = (number: number, bytes: Uint8Array): Uint8Array => Wire.fieldOf(number, bytes)
  const many = (count: number) => new Uint8Array(2 * count).fill(0).map((_, at) => (at % 2 === 0 ? 0x7a : 0))
  const reasonOf = (result: Either.Either<Request.Request, Request.MalformedRequest> | undefined): string =>
    result !== undefined && Either.isLeft(result) ? result.left.reason : "it was read"

  it("★ is malformed where a message inside it, which is read at once, has more than 1 024 fields", () => {
    const fine = field(6, many(1_024))
    const bad = field(6, many(1_025))
    assert.isTrue(Either.isRight(Request.decode("StateOfTheWorld", fine)))
    assert.match(reasonOf(Request.decode("StateOfTheWorld", bad)), /^error_detail has more than 1024 fields/)
    const entry = field(5, many(1_025))
    assert.match(reasonOf(Request.decode("Incremental", entry)), /^an entry of initial_resource_versions has more than/)
    // A group of as many would be skipped as one field.
    assert.match(reasonOf(Request.decode("StateOfTheWorld", field(6, Uint8Array.of(0x7b, 0x7c)))), /or a group/)
  })

  it("★ takes a step for each so many fields, also of a group, and a group's fields are none of the request's", () => {
    const url = field(4, Wire.utf8("type"))
    const inside = field(4, Wire.utf8("other"))
    const group = [0x7b, ...Array.from({ length: 5_000 }, () => [...inside]).flat(), 0x7c]
    const reader = new Request.Reader("StateOfTheWorld", Uint8Array.of(...url, ...group))
    let steps = 1
    let request = reader.read(100)
    for (; request === undefined; request = reader.read(100)) steps++
    assert.strictEqual(steps, 51)
    assert.isTrue(Either.isRight(request) && request.right.typeUrl === "type")
    assert.match(reasonOf(Request.decode("StateOfTheWorld", Uint8Array.of(0x7b))), /a group does not end/)
    assert.match(reasonOf(Request.decode("StateOfTheWorld", Uint8Array.of(0x7b, 0x74))), /did not begin/)
  })
})

/** Entries of a client that comes back: names with a version each. */
const holding = (names: ReadonlyArray<string>, version: string) =>
  names.map((name): readonly [string, string] => [name, version])

describe("what a client holds that comes back", () => {
  /** 3 000 that are as they were, 1 000 that are not, 20 000 that are gone. */
  const heldOf = (served: ResourceGroup.ResourceGroup): ReadonlyMap<string, string> => {
    const versions = new Map(ResourceGroup.all(served).map(({ name, version }) => [name, version]))
    return new Map([
      ...namesFrom(0, 3_000).map((name): readonly [string, string] => [name, versions.get(name) ?? ""]),
      ...holding(namesFrom(3_000, 1_000), "old"),
      ...holding(namesFrom(5_000, 20_000), "gone")
    ])
  }

  for (const type of [typeUrl, ResourceType.Listener.typeUrl]) {
    for (const form of ["map", "shared"]) {
      it(`of ${ResourceType.shortNameOf(type)}, as ${form}: what is gone goes 4 000 at a time`, () => {
        const held = Either.getOrThrow(
          ResourceGroup.update(ResourceGroup.empty, {
            upsert: namesFrom(0, 5_000).map((name) => toResource({ typeUrl: type, name, content: 1 }))
          })
        )
        const initial = form === "map" ? heldOf(held) : sharedVersions(Array.from(heldOf(held)))
        const driver = new Driver({ protocol: "Incremental", typeUrl: undefined })
        driver.step({ _tag: "Changed", group: held })
        driver.request(Request.incremental({ typeUrl: type, initialResourceVersions: initial }))
        assert.isAtLeast(driver.turns, 21_000 / 256)
        const removed = driver.sent.flatMap(({ response }) => response.removed)
        assert.sameMembers(removed, [...namesFrom(5_000, 20_000)])
        for (const { response } of driver.sent) assert.isAtMost(response.removed.length, 4_000)
        // One that is there in another version is sent, and not taken away.
        assert.deepStrictEqual(
          driver.sent.flatMap(({ response }) => response.resources.map(({ name }) => name)).toSorted(),
          namesFrom(3_000, 2_000).toSorted()
        )
        // A new listener may have the address of one that is gone.
        const at = driver.sent.findIndex(({ response }) => response.resources.length > 0)
        assert.strictEqual(at, type === typeUrl ? 0 : 5)
      })
    }
  }

  const given = {
    names: { subscribe: [...namesFrom(0, 1_000), ...namesFrom(3_000, 100), ...namesFrom(5_000, 1_000)], give: [] },
    "names of which one is new": { subscribe: [...namesFrom(2_000, 500), "nobody"], give: [] },
    "names and a wildcard": { subscribe: ["*", ...namesFrom(0, 10), ...namesFrom(4_900, 700)], give: [] },
    "names, some of them given up": { subscribe: namesFrom(4_000, 2_000), give: namesFrom(5_500, 1_000) },
    "names that it holds, some of them given up": { subscribe: namesFrom(0, 1_000), give: namesFrom(6_000, 600) }
  }
  for (const [what, { give, subscribe }] of Object.entries(given)) {
    for (const type of [typeUrl, ResourceType.VirtualHost.typeUrl]) {
      it(`beside ${what}, of ${ResourceType.shortNameOf(type)}: it is told the same, whether what is gone was looked for before or not`, () => {
        const host = (name: string) => (type === typeUrl ? name : `routes/${name}`)
        const upsert = namesFrom(0, 5_000).map((name, at) => {
          const aliases = at % 2 === 0 ? [host(`other-${at}`)] : []
          return toResource({ typeUrl: type, name: host(name), aliases, content: 1 })
        })
        const held = Either.getOrThrow(ResourceGroup.update(ResourceGroup.empty, { upsert }))
        const byOther = namesFrom(0, 100).map((_, at): readonly [string, string] => [host(`other-${at}`), "old"])
        const nothing = type === typeUrl ? [] : holding(namesFrom(40_000, 1_000).map(host), "")
        // Too long for a transport that shares.
        const long = holding(
          namesFrom(0, 600).map((name) => host(`${name}${"-long".repeat(30)}`)),
          "gone"
        )
        const quoted = new Map([
          ...Array.from(heldOf(held), ([name, version]): readonly [string, string] =>
            name.startsWith("routes/") ? [name, version] : [host(name), version]
          ),
          ...ResourceGroup.all(held)
            .slice(0, 3_000)
            .map(({ name, version }): readonly [string, string] => [name, version]),
          ...byOther,
          ...nothing,
          ...long
        ])
        // An entry may be there twice.
        const twice = Array.from(quoted).flatMap((entry) =>
          entry[0] === host("assignment-9000") ? [entry, [entry[0], "other"] as const] : [entry]
        )
        const told = (namesPerStep: number) => {
          const driver = new Driver({ protocol: "Incremental", typeUrl: undefined, namesPerStep })
          const isLong = ([name]: readonly [string, string]) => name.includes("-long")
          const shared = sharedVersions(twice.filter((entry) => !isLong(entry)))
          const own = new Map(twice.filter(isLong))
          driver.step({ _tag: "Changed", group: held })
          driver.request(
            Request.incremental({
              typeUrl: type,
              resourceNamesSubscribe: subscribe.map((name) => (name === "*" ? name : host(name))),
              resourceNamesUnsubscribe: give.map(host),
              initialResourceVersions: HeldVersions.joined(shared, own)
            })
          )
          for (const { response } of driver.sent) {
            const all = [...response.removed, ...response.resources.map(({ name }) => name), ...response.absent]
            assert.strictEqual(new Set(all).size, all.length)
          }
          const names = (of: (response: Send["response"]) => ReadonlyArray<string>) =>
            Array.from(new Set(driver.sent.flatMap(({ response }) => of(response)))).toSorted()
          return {
            removed: names(({ removed }) => removed),
            brought: names(({ resources }) => resources.map(({ name }) => name)),
            absent: names(({ absent }) => absent)
          }
        }
        assert.deepStrictEqual(told(512), told(1_000_000))
      })
    }
  }
})

describe("many hosts", () => {
  const { typeUrl: hosts } = ResourceType.VirtualHost
  const hostsOf = (domain: string): ReadonlyArray<string> =>
    Array.from({ length: 3_000 }, (_, at) => `r/h${at}.${domain.replace("*", `${at % 100}`)}.test`)
  const hundred = Array.from({ length: 100 }, (_, at) => at)
  const wide = (content: number) =>
    hundred.map((at) => toResource({ typeUrl: hosts, name: `r/wide-${at}`, aliases: [`r/*.z${at}.test`], content }))
  const narrow = hundred.map((at) =>
    toResource({ typeUrl: hosts, name: `r/narrow-${at}`, aliases: [`r/*.a.z${at}.test`], content: 1 })
  )
  const groupOf = (...upsert: ReadonlyArray<ResourceGroup.Change["upsert"]>) =>
    Either.getOrThrow(
      ResourceGroup.replace(
        ResourceGroup.empty,
        upsert.flatMap((each) => Array.from(each ?? []))
      )
    )
  const asked = hostsOf("a.z*")

  it("★ that wildcard domains match are looked up once for a response, not once for each of them", () => {
    const told: Array<number> = []
    const most = mostReadBetweenTurns((onTurn, fromNow) => {
      const driver = new Driver({ protocol: "Incremental", typeUrl: undefined }, onTurn)
      const toldNow = () => {
        driver.step({ _tag: "Writable" })
        const all = driver.sent.splice(0).flatMap(({ response }) => Array.from(response.aliases.values()).flat())
        told.push(new Set(all).size)
      }
      driver.step({ _tag: "Changed", group: groupOf(wide(1)) })
      fromNow()
      driver.request(Request.incremental({ typeUrl: hosts, resourceNamesSubscribe: asked }))
      toldNow()
      // They change; all names lead elsewhere, and back; nothing is left.
      for (const group of [groupOf(wide(2)), groupOf(wide(2), narrow), groupOf(wide(2)), ResourceGroup.empty]) {
        driver.step({ _tag: "Changed", group })
        toldNow()
      }
    })
    assert.deepStrictEqual(told, [3_000, 3_000, 3_000, 3_000, 0])
    assert.isAtMost(most, 100_000)
  })
})
