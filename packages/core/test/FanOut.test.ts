import { FanOut } from "@effect-xds/core/server/FanOut"
import type { GroupStream } from "@effect-xds/core/server/GroupStream"
import * as Resource from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Steps from "@effect-xds/core/Steps"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { describe, expect, it } from "@effect/vitest"
import { Either } from "effect"
import { step } from "./Step.js"

const EDS = ResourceType.ClusterLoadAssignment.typeUrl

const assignment = (name: string, content: number) =>
  Either.getOrThrow(Resource.make({ typeUrl: EDS, name, value: new TextEncoder().encode(`${name} ${content}`) }))

const upserted = (group: ResourceGroup.ResourceGroup, ...upsert: ReadonlyArray<Resource.Resource>) =>
  Either.getOrThrow(ResourceGroup.update(group, { upsert }))

const initial = upserted(ResourceGroup.empty, assignment("a", 1), assignment("b", 1), assignment("c", 1))
/** One of them has another content. */
const changed = (group: ResourceGroup.ResourceGroup, name: string, content = 2) =>
  upserted(group, assignment(name, content))

const ask = (...names: ReadonlyArray<string>) => Request.incremental({ typeUrl: EDS, resourceNamesSubscribe: names })

/** A stream with credit that asks for names. */
const opened = (fanOut: FanOut<string>, owner: string, ...names: ReadonlyArray<string>) => {
  const stream = fanOut.join({ protocol: "Incremental", typeUrl: EDS }, owner)
  stream.writable()
  stream.request(ask(...names))
  return stream
}

/** Gives a stream a turn: the inputs of its reducer, and the names that are sent. */
const turn = (stream: GroupStream<string>): ReadonlyArray<string> => {
  const seen: Array<string> = []
  for (let input = stream.next(); input !== undefined; input = stream.next()) {
    seen.push(input._tag)
    for (const output of stream.apply(step(stream.state, input, 0))) {
      if (output._tag === "Send") seen.push(output.response.resources.map(({ name }) => name).join(" "))
    }
    if (seen.length > 100) throw new Error(`its turn does not end: ${seen.join(", ")}`)
  }
  return seen
}

/** Changes the group; who has something to do then, and for whom it replaces another change. */
const publish = (fanOut: FanOut<string>, group: ResourceGroup.ResourceGroup | undefined) => {
  const visited: Array<string> = []
  fanOut.publish(group, ({ owner }, isConflated) => visited.push(isConflated ? `${owner} again` : owner))
  return visited
}

describe("FanOut", () => {
  it("a stream is given the state of the group before its requests, each request and all credit in their order", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const stream = opened(fanOut, "one", "a")
    expect(stream.hasWork()).toBe(true)
    expect(turn(stream)).toEqual(["Changed", "Writable", "Request", "a"])
    expect(stream.hasWork()).toBe(false)
    stream.request(ask("b"))
    stream.writable()
    stream.deadlineReached()
    expect(publish(fanOut, changed(initial, "c"))).toEqual(["one"])
    expect(turn(stream)).toEqual(["Advance", "Request", "Writable", "b", "Deadline"])
    expect(turn(stream)).toEqual([])
  })

  it("a stream is brought past changes that do not concern it, and is given the first that does, and what came after, as one", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const [one, other] = [opened(fanOut, "one", "a"), opened(fanOut, "other", "b")]
    turn(one)
    turn(other)
    one.writable()
    turn(one)
    const second = changed(initial, "b")
    // Others have a turn at times, too: this is one of two streams, and each change takes one along.
    publish(fanOut, second)
    const third = changed(second, "a")
    publish(fanOut, third)
    publish(fanOut, changed(third, "c"))
    const inputs: Array<ServerStream.Input> = []
    for (let input = one.next(); input !== undefined; input = one.next()) {
      inputs.push(input)
      one.apply(step(one.state, input, 0))
    }
    expect(inputs).toEqual([
      { _tag: "Advance", group: second },
      { _tag: "Changed", group: fanOut.group }
    ])
  })

  it("★ two changes behind a stream are one, whatever they touched first", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const stream = opened(fanOut, "one", "a", "b")
    turn(stream)
    stream.writable()
    turn(stream)
    const second = changed(initial, "a")
    expect(publish(fanOut, second)).toContain("one")
    expect(publish(fanOut, changed(second, "b"))).toContain("one again")
    expect(turn(stream)).toEqual(["Changed", "a b"])
  })

  it("a change replaces one that was given without credit; not one that was sent", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const stream = opened(fanOut, "one", "a")
    turn(stream)
    // Its credit went with the answer.
    const second = changed(initial, "a")
    expect(publish(fanOut, second)).toContain("one")
    expect(turn(stream)).toEqual(["Changed"])
    const third = changed(second, "a", 3)
    expect(publish(fanOut, third)).toContain("one again")
    stream.writable()
    expect(turn(stream)).toEqual(["Changed", "Writable", "a"])
    // Credit is on its way.
    stream.writable()
    const fourth = changed(third, "a", 4)
    expect(publish(fanOut, fourth)).toContain("one")
    expect(turn(stream)).toEqual(["Changed", "Writable", "a"])
    expect(publish(fanOut, changed(fourth, "a", 5))).not.toContain("one again")
  })

  it("a group that is set or cleared concerns every stream; another change those that ask for it, and some in turn", () => {
    const fanOut = new FanOut<string>(undefined, 0)
    const streams = Array.from({ length: 130 }, (_, index) => opened(fanOut, `${index}`, index === 0 ? "a" : "b"))
    for (const stream of streams) turn(stream)
    expect(publish(fanOut, initial)).toHaveLength(130)
    for (const stream of streams) turn(stream)
    let group = initial
    const visited = new Set<string>()
    for (let change = 2; change < 72; change++) {
      group = changed(group, "a", change)
      const those = publish(fanOut, group)
      expect(those).toContain(change === 2 ? "0" : "0 again")
      // A sixty-fourth of all, and who is concerned.
      expect(those.length).toBeLessThanOrEqual(4)
      for (const owner of those) visited.add(owner.replace(" again", ""))
    }
    expect(visited.size).toBe(130)
    expect(publish(fanOut, undefined)).toHaveLength(130)
  })

  it("who left is told of nothing", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const [one, other] = [opened(fanOut, "one", "a"), opened(fanOut, "other", "a")]
    turn(one)
    turn(other)
    expect(fanOut.leave(one)).toBeUndefined()
    expect(fanOut.size).toBe(1)
    expect(new Set(publish(fanOut, changed(initial, "a")))).toEqual(new Set(["other"]))
    expect(publish(fanOut, undefined)).toEqual(["other again"])
  })

  it("many names are indexed in slices: nothing else is given to the reducer until then, and every change concerns the stream", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const names = Array.from({ length: 5_000 }, (_, index) => `name-${index}`)
    const stream = opened(fanOut, "one", ...names)
    const counts = { slices: 0, turns: 0 }
    while (!stream.isUnfinished()) {
      stream.take(0, Steps.toEnd)
      if (++counts.turns > 100) expect.fail("its names are never indexed")
    }
    const second = changed(initial, "c")
    publish(fanOut, second)
    while (stream.isUnfinished()) {
      expect(stream.take(0, Steps.toEnd)).toEqual([])
      counts.slices++
    }
    // 1 024 names in each.
    expect(counts.slices).toBe(5)
    expect(turn(stream)).toEqual(["Changed"])
    publish(fanOut, changed(second, "b"))
    expect(turn(stream)).toEqual(["Advance"])
  })

  it("a long step goes on where it was, whatever else comes; its deadline is known when it is over", () => {
    const many = Array.from({ length: 500 }, (_, index) => assignment(`name-${index}`, 1))
    const fanOut = new FanOut<string>(upserted(ResourceGroup.empty, ...many), 0)
    const stream = opened(fanOut, "one", "*")
    const once = (work: Steps.Steps<ServerStream.Step>): ServerStream.Step | undefined => {
      const { done, value } = work.next()
      return done === true ? value : undefined
    }
    while (!stream.isUnfinished()) stream.take(0, once)
    const before = stream.state
    stream.request(ask("name-1"))
    stream.deadlineReached()
    publish(fanOut, initial)
    let parts = 0
    while (stream.isUnfinished()) {
      expect(stream.state).toBe(before)
      expect(stream.deadline()).toBe(Number.POSITIVE_INFINITY)
      stream.take(0, once)
      parts++
    }
    expect(parts).toBeGreaterThan(3)
    expect(stream.state).not.toBe(before)
    // What changed meanwhile was nobody's business who asked for it then.
    expect(turn(stream)[0]).toBe("Changed")
  })

  it("a stream goes on in the state in which it was", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const first = opened(fanOut, "one", "a")
    turn(first)
    first.writable()
    turn(first)
    const elsewhere = new FanOut<string>(initial, 1)
    const restored = elsewhere.restore(first.state, "restored")
    expect(restored.hasWork()).toBe(false)
    expect(publish(elsewhere, changed(initial, "a"))).toContain("restored")
    expect(turn(restored)).toEqual(["Changed", "a"])
  })

  it("nothing is given to a stream that is over", () => {
    const stream = opened(new FanOut<string>(initial, 0), "one", "x".repeat(70_000))
    expect(turn(stream)).toEqual(["Changed", "Writable", "Request"])
    expect(stream.state.ended).toBe(true)
    stream.request(ask("a"))
    expect(stream.hasWork()).toBe(false)
    expect(turn(stream)).toEqual([])
  })

  it("★ what was done about a missing name is told to the streams whose answers wait for it, and to no others", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const options = { protocol: "Incremental", typeUrl: EDS, missingWait: 2_000 } as const
    const [one, two, three, other] = ["one", "two", "three", "other"].map((owner) => fanOut.join(options, owner))
    for (const stream of [one, two, three]) stream?.request(ask("a", "made"))
    other?.request(ask("b", "another"))
    for (const stream of [one, two, three, other]) if (stream !== undefined) turn(stream)
    two?.request(Request.incremental({ typeUrl: EDS, resourceNamesUnsubscribe: ["made"] }))
    if (two !== undefined) turn(two)
    if (three !== undefined) fanOut.leave(three)
    const visited: Array<string> = []
    const done = (name: string, typeUrl = EDS) =>
      fanOut.missingDone(typeUrl, name, (stream) => visited.push(stream.owner))
    done("made", ResourceType.Cluster.typeUrl)
    done("a")
    expect(visited).toEqual([])
    done("made")
    expect(visited).toEqual(["one"])
    expect(one?.next()).toEqual({ _tag: "MissingDone", typeUrl: EDS, names: ["made"] })
  })

  it("★ a stream whose many names are not indexed yet is told, too", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const stream = fanOut.join({ protocol: "Incremental", typeUrl: EDS, missingWait: 2_000 }, "many")
    stream.request(ask("made", ...Array.from({ length: 2_000 }, (_, index) => `name ${index}`)))
    for (let input = stream.next(); input !== undefined; input = stream.next()) {
      stream.apply(step(stream.state, input, 0))
    }
    expect(stream.isUnfinished()).toBe(true)
    const visited: Array<string> = []
    fanOut.missingDone(EDS, "made", ({ owner }) => visited.push(owner))
    expect(visited).toEqual(["many"])
  })

  it("★ what was done in the group before a client was moved is not told in the other one", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const stream = fanOut.join({ protocol: "Incremental", typeUrl: EDS, missingWait: 2_000 }, "one")
    stream.writable()
    stream.request(ask("made"))
    turn(stream)
    fanOut.missingDone(EDS, "made", () => undefined)
    fanOut.move(stream, new FanOut<string>(upserted(ResourceGroup.empty, assignment("other", 1)), 0), {
      makeBeforeBreak: true,
      phaseDeadline: 5_000
    })
    expect(turn(stream)).toEqual(["Moved"])
  })

  it("so many answers of a stream wait, and no more", () => {
    const fanOut = new FanOut<string>(initial, 0)
    const stream = fanOut.join({ protocol: "Incremental", typeUrl: EDS, missingWait: 2_000 }, "many")
    const names = Array.from({ length: 1_500 }, (_, index) => `name ${index}`)
    stream.writable()
    stream.request(ask(...names))
    let told = 0
    let sent = 0
    const outputs: Array<ServerStream.Output> = []
    for (let input = stream.next(); input !== undefined; input = stream.next()) {
      outputs.push(...stream.apply(step(stream.state, input, 0)))
    }
    for (const output of outputs) {
      if (output._tag === "Missing") told += output.names.length
      if (output._tag === "Send") sent += output.response.removed.length
    }
    expect([told, sent]).toEqual([1_500, 500])
  })

  it("★ names that are gone: by name or alias, subscribed to by name, and not there again", () => {
    const VHDS = ResourceType.VirtualHost.typeUrl
    const host = (name: string, ...aliases: ReadonlyArray<string>) =>
      Either.getOrThrow(Resource.make({ typeUrl: VHDS, name, aliases, value: new Uint8Array([1]) }))
    const fanOut = new FanOut<string>(upserted(initial, host("r/w", "r/*.test"), host("r/x", "r/x.org")), 0)
    const before = fanOut.group ?? ResourceGroup.empty
    const stream = fanOut.join({ protocol: "Incremental", typeUrl: undefined }, "one")
    stream.writable()
    stream.request(ask("a", "b", "never there"))
    stream.request(
      Request.incremental({ typeUrl: VHDS, resourceNamesSubscribe: ["r/one.test", "r/two.test", "r/x.org", "r/y.org"] })
    )
    turn(stream)
    const gone = () =>
      Steps.toEnd(fanOut.gone(before) ?? Steps.of([]))
        .map(({ name }) => name)
        .sort()
    expect(gone()).toEqual([])
    const remove = [
      ...["a", "c"].map((name) => ({ typeUrl: EDS, name })),
      ...["r/w", "r/x"].map((name) => ({ typeUrl: VHDS, name }))
    ]
    publish(fanOut, Either.getOrThrow(ResourceGroup.update(before, { remove, upsert: [host("r/z", "r/two.test")] })))
    expect(gone()).toEqual(["a", "r/one.test", "r/x.org"])
    publish(fanOut, upserted(fanOut.group ?? ResourceGroup.empty, assignment("a", 7)))
    expect(gone()).toEqual(["r/one.test", "r/x.org"])
    fanOut.leave(stream)
    expect(gone()).toEqual([])
    publish(fanOut, undefined)
    expect(gone()).toEqual([])
  })

  const phases = { makeBeforeBreak: true, phaseDeadline: 5_000 }

  it("★ a stream that is moved is of the other group alone: its changes, its size, its being cleared", () => {
    const [one, two] = [new FanOut<string>(initial, 0), new FanOut<string>(changed(initial, "a"), 0)]
    const stream = opened(one, "moved", "a")
    turn(stream)
    stream.writable()
    one.move(stream, two, phases)
    expect([one.size, two.size]).toEqual([0, 1])
    expect(stream.hasWork()).toBe(true)
    expect(publish(one, changed(initial, "a", 3))).toEqual([])
    expect(turn(stream)).toEqual(["Moved", "Writable", "a"])
    publish(two, changed(initial, "a", 4))
    expect(turn(stream)).toEqual(["Changed"])
    expect(publish(two, undefined)).toEqual(["moved again"])
    expect(publish(one, undefined)).toEqual([])
  })

  it("a stream that is moved has work to do, even if the other group holds the very same", () => {
    const [one, two] = [new FanOut<string>(initial, 0), new FanOut<string>(initial, 0)]
    const stream = opened(one, "moved", "a")
    turn(stream)
    one.move(stream, two, phases)
    expect(stream.hasWork()).toBe(true)
    expect(turn(stream)).toEqual(["Moved"])
    expect(stream.hasWork()).toBe(false)
  })

  it("two moves, and a change after them, are one move, to what the last group holds then", () => {
    const [one, two, three] = [initial, changed(initial, "a"), changed(initial, "a", 3)].map(
      (group) => new FanOut<string>(group, 0)
    )
    if (one === undefined || two === undefined || three === undefined) throw new Error("there are three")
    const stream = opened(one, "moved", "a")
    turn(stream)
    publish(one, changed(initial, "a", 9))
    one.move(stream, two, phases)
    two.move(stream, three, phases)
    three.publish(changed(initial, "a", 4), () => undefined)
    expect(turn(stream)).toEqual(["Moved"])
    expect(stream.state.group).toBe(three.group)
    // Without credit what the move brings waits: a change after it replaces that.
    expect(publish(three, changed(initial, "a", 5))).toContain("moved again")
  })

  it("many names of a stream that is moved while they are indexed are in the index of its new group, and in no other", () => {
    const names = Array.from({ length: 20_000 }, (_, index) => `name ${index}`)
    const [one, two] = [new FanOut<string>(initial, 0), new FanOut<string>(initial, 0)]
    const stream = one.join({ protocol: "Incremental", typeUrl: EDS, namesPerStep: 100_000 }, "moved")
    stream.request(ask("a", ...names))
    stream.take(0, Steps.toEnd)
    while (!stream.isUnfinished()) stream.take(0, Steps.toEnd)
    const removal = one.move(stream, two, phases)
    while (removal !== undefined && removal.next().done !== true) continue
    for (let left = 10_000; left > 0 && stream.take(0, Steps.toEnd) !== undefined; left--) continue
    expect(publish(one, changed(initial, "a"))).toEqual([])
    expect(publish(two, changed(initial, "a"))).toContain("moved again")
  })

  /** A stream with many names, which has all of them, and credit. */
  const withMany = (fanOut: FanOut<string>, names: ReadonlyArray<string>): GroupStream<string> => {
    const stream = fanOut.join({ protocol: "Incremental", typeUrl: EDS, namesPerStep: 100_000 }, "moved")
    stream.request(ask(...names))
    for (let left = 200; left > 0 && stream.hasWork(); left--) {
      stream.take(0, Steps.toEnd)
      if (!stream.hasWork() && !stream.state.credit) stream.writable()
    }
    return stream
  }

  it("★ a stream that is moved away and back while its many names are removed misses no change", () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `name ${index}`)
    const many = upserted(ResourceGroup.empty, ...names.map((name) => assignment(name, 1)))
    // The change comes in the middle of what moves make, after so many turns.
    for (let turns = 0; turns < 8; turns++) {
      const [one, two] = [new FanOut<string>(many, 0), new FanOut<string>(many, 0)]
      one.join({ protocol: "Incremental", typeUrl: EDS }, "stays")
      const stream = withMany(one, names)
      const held = new Map<string, string>()
      const some = (): boolean => {
        const outputs = stream.take(0, Steps.toEnd)
        for (const output of outputs ?? []) {
          if (output._tag !== "Send") continue
          for (const { fingerprint, name } of output.response.resources) held.set(name, fingerprint)
        }
        return outputs !== undefined
      }
      const removal = one.move(stream, two, phases)
      two.move(stream, one, phases)
      for (let turn = 0; turn < turns; turn++) {
        some()
        removal?.next()
      }
      const [last = ""] = Array.from(stream.state.subscriptions[0]?.names.keys() ?? []).slice(-1)
      const next = changed(many, last)
      publish(one, next)
      for (let left = 200; left > 0 && stream.hasWork(); left--) {
        stream.writable()
        some()
      }
      expect(held.get(last), `after ${turns} turns`).toBe(
        ResourceGroup.get(next, { typeUrl: EDS, name: last })?.fingerprint
      )
      expect(stream.state.group).toBe(next)
      while (removal?.next().done === false) continue
      expect(publish(one, changed(next, last, 3))).toContain("moved")
    }
  })

  it("★ a change of the group that a stream left is none of its business, even if its many names are still being removed there", () => {
    const names = ["a", ...Array.from({ length: 5_000 }, (_, index) => `name ${index}`)]
    const [one, two] = [new FanOut<string>(initial, 0), new FanOut<string>(initial, 0)]
    one.join({ protocol: "Incremental", typeUrl: EDS }, "stays")
    const stream = withMany(one, names)
    const removal = one.move(stream, two, phases)
    for (let left = 200; left > 0 && stream.hasWork(); left--) stream.take(0, Steps.toEnd)
    expect(publish(one, changed(initial, "a"))).not.toContain("moved")
    while (removal?.next().done === false) continue
    // It goes on from the state of its own group.
    publish(two, changed(initial, "c"))
    expect(stream.next()).toEqual({ _tag: "Advance", group: two.group })
  })
})
