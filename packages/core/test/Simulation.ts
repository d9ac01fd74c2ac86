/** One client on one stream of the real server, driven by a script; in lockstep with the reference server where that applies. */
import * as Request from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import { FanOut } from "@effect-xds/core/server/FanOut"
import * as Response from "@effect-xds/core/wire/Response"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as StreamRecord from "@effect-xds/core/server/StreamRecord"
import * as Steps from "@effect-xds/core/Steps"
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import type { Arbitraries } from "@effect-xds/testing"
import { aliasOf } from "@effect-xds/testing/simulation/Naming"
import { type ResourceSpec, toResource } from "@effect-xds/testing/simulation/ResourceSpec"
import { withMovedAliases } from "@effect-xds/testing/simulation/StoreChange"
import * as Invariants from "@effect-xds/testing/invariants/Invariants"
import * as ReferenceClient from "@effect-xds/testing/reference/ReferenceClient"
import * as ReferenceModel from "@effect-xds/testing/reference/ReferenceModel"
import * as Either from "effect/Either"
import { overTheWire } from "./OverTheWire.js"
import { step as takeStep } from "./Step.js"

type Send = Extract<ServerStream.Output, { readonly _tag: "Send" }>

export interface Ended {
  readonly client: ReferenceClient.ReferenceClient
  readonly group: ResourceGroup.ResourceGroup
  /** What went wrong, in words. */
  readonly problems: ReadonlyArray<string>
}

export type Options = Pick<ServerStream.Options, "protocol" | "typeUrl"> & Partial<ServerStream.Options>

const describe = (
  answer: Pick<ReferenceModel.Answer, "resources" | "removed" | "absent">,
  /** Whether it matters to the client that a name is gone. */
  matters: (name: string) => boolean
): string =>
  JSON.stringify({
    resources: answer.resources.map((resource) => `${resource.name} ${resource.fingerprint}`).sort(),
    removed: answer.removed.filter(matters).sort(),
    absent: [...answer.absent].sort()
  })

/** A group that holds the same, and never held anything else. */
const unrelated = (group: ResourceGroup.ResourceGroup): ResourceGroup.ResourceGroup =>
  Either.getOrThrow(ResourceGroup.replace(ResourceGroup.empty, ResourceGroup.all(group)))

const manyNames = (typeUrl: string): ReadonlyArray<Resource> => {
  const known = floods.get(typeUrl)
  if (known !== undefined) return known
  const made = Array.from({ length: 3_000 }, (_, n) => toResource({ typeUrl, name: `flood ${n}`, content: n }))
  floods.set(typeUrl, made)
  return made
}
const floods = new Map<string, ReadonlyArray<Resource>>()

/** Runs a script to its end, then lets everything come to rest. */
export const run = (
  options: Options,
  script: ReadonlyArray<Arbitraries.Operation>,
  how: {
    /** Compare every response with the reference server's: separate streams without TTLs. */
    readonly lockstep: boolean
    readonly except?: ReadonlyArray<Invariants.Invariant>
    /** Aliases move from one resource to another; a client takes what is on its way before it asks for another. */
    readonly moving?: boolean
    /** Whether a stream that is restored from its record, again and again, does the same beside this one. */
    readonly restored?: boolean
    /** Is given the record of the stream after each step. */
    readonly onRecord?: (record: string) => void
    /** Is given the stream after each step, and the time. */
    readonly onState?: (stream: ServerStream.ServerStream, now: number) => void
    /** Whether the client is moved to other groups. Default: true. */
    readonly moves?: boolean
    /** Default: `names`. */
    readonly keys?: ReferenceClient.ReferenceClient["keys"]
  }
): Ended => {
  const problems: Array<string> = []
  let now = 0
  let fanOut = new FanOut<undefined>(undefined, 0)
  let stream = fanOut.join(options, undefined)
  let client = ReferenceClient.make(options.protocol, how.keys)
  let model = ReferenceModel.make(options.protocol, stream.state.options.wildcardOff)
  let steps: Array<Invariants.Step> = []
  let wire: Array<Send> = []
  let answered = new Set<string>()
  let isCreditGiven = true
  let changes = 0
  let twin: ServerStream.ServerStream | undefined
  let stepsOfAll = 0

  const step = (input: ServerStream.Input): void => {
    const before = stream.state
    const [next, stepped] = takeStep(before, input, now)
    if (how.restored === true) {
      // It goes on for some steps, then it is restored again.
      if (twin === undefined || stepsOfAll % 3 === 0) twin = restored(before)
      const [twinNext, twinOutputs] = Steps.toEnd(ServerStream.stepping(twin, input, now))
      const [expected, got] = [seen(next, stepped), seen(twinNext, twinOutputs)]
      if (expected !== got)
        problems.push(`step ${steps.length}: ${show(input)}: ${got} after it was restored, not ${expected}`)
      twin = twinNext
    }
    stepsOfAll++
    const outputs = stream.apply([next, stepped])
    const server = stream.state
    how.onRecord?.(JSON.stringify(StreamRecord.toJSON(server)))
    how.onState?.(server, now)
    steps.push({ now, input, outputs, status: ServerStream.status(server), deadline: ServerStream.deadline(server) })
    const sends = outputs.filter((output) => output._tag === "Send")
    const violation = outputs.find((output) => output._tag === "Violation")
    if (violation !== undefined) problems.push(`Violation: ${violation.message}`)
    const isOurs = input._tag === "Deadline" || input._tag === "Continue" || input._tag === "MissingDone"
    if (how.lockstep && !isOurs) {
      const resources =
        Invariants.isChange(input) && input.group !== undefined ? ResourceGroup.all(input.group) : undefined
      const [after, expected] = ReferenceModel.step(
        model,
        Invariants.isChange(input) ? { _tag: "Changed", resources } : input
      )
      model = after
      const matters = (name: string) =>
        Array.from(client.interests.values()).some(({ held, names }) => names.has(name) || held.has(name))
      const wanted = expected === undefined ? "nothing" : `${expected.nonce} ${describe(expected, matters)}`
      const got = sends.map(({ nonce, response }) => `${nonce} ${describe(response, matters)}`).join("; ")
      if ((got === "" ? "nothing" : got) !== wanted) {
        problems.push(
          `step ${steps.length - 1}: ${show(input)} was answered with ${got}; the reference sends ${wanted}`
        )
      }
    }
    // What is missing nobody makes. Now and then that is known at once, else when the time is over.
    for (const output of outputs) {
      if (output._tag !== "Missing" || steps.length % 3 > 0) continue
      for (const name of output.names) stream.missingDone(output.typeUrl, name)
    }
    for (const send of sends) {
      wire.push(send)
      answered.add(send.typeUrl)
      if (isCreditGiven) stream.writable()
    }
  }
  /** The driver's part: gives the stream a turn. It stops where a request is taken in parts. */
  const turn = () => {
    while (!ServerStream.isWorking(stream.state)) {
      const input = stream.next()
      if (input === undefined) return
      step(input)
    }
  }
  /** The same: takes more of such a request, before the next request at the latest. */
  const goOn = (most: number) => {
    for (let left = most; left > 0 && ServerStream.isWorking(stream.state); left--) {
      const input = stream.next()
      if (input !== undefined) step(input)
    }
    turn()
  }
  const request = (made: Request.Request) => {
    goOn(Number.POSITIVE_INFINITY)
    stream.request(overTheWire(made))
    turn()
  }
  const grant = () => {
    stream.writable()
    turn()
  }
  const set = (next: ResourceGroup.ResourceGroup | undefined) => {
    const before = fanOut.group
    changes++
    // At times the client is moved to another group instead, which holds the same by another history.
    if (how.moves !== false && changes % 4 === 3) {
      const other = new FanOut<undefined>(next && unrelated(next), 0)
      fanOut.move(stream, other, stream.state.options)
      fanOut = other
    } else fanOut.publish(next, () => undefined)
    // Every other time it is taken for a change that concerns the stream, as if there were no index: nothing comes of that.
    if (changes % 2 === 1) stream.affectedAfter(before)
    // At times the stream has its turn when more has changed.
    if (changes % 5 !== 0) turn()
  }
  let specs: ReadonlyMap<string, ResourceSpec> = new Map()
  const changed = (change: Arbitraries.StoreChange, from = specs) => {
    const [after, moved] = how.moving === true ? withMovedAliases(from, change) : [from, change]
    specs = after
    return Either.getOrThrow(
      ResourceGroup.update(fanOut.group ?? ResourceGroup.empty, { ...moved, upsert: moved.upsert.map(toResource) })
    )
  }
  const receive = (nack: boolean): void => {
    const send = wire.shift()
    if (send === undefined) return
    const errorDetail = nack ? { code: 13, message: "no" } : undefined
    const forget = !wire.some(({ typeUrl }) => typeUrl === send.typeUrl)
    const [next, answer] = ReferenceClient.receive(client, send.response, send.nonce, { errorDetail, forget })
    client = next
    request(answer)
  }
  const endStream = () => {
    problems.push(...Invariants.broken({ options: stream.state.options, steps }, how.except))
    steps = []
  }
  const waitUntil = (time: number) => {
    while (stream.deadline() <= time) {
      now = Math.max(now, stream.deadline())
      stream.deadlineReached()
      turn()
      if (steps.length > 100_000) {
        problems.push("the deadline is always now")
        return
      }
    }
    now = time
  }

  /** Does something until nothing is on its way, but not for ever. */
  const becomesQuiet = (act: () => void, isBusy = () => wire.length > 0): boolean => {
    for (let limit = 2_000; isBusy(); limit--) {
      if (limit === 0) {
        problems.push("it never becomes quiet")
        return false
      }
      act()
    }
    return true
  }

  const perform = (operation: Arbitraries.Operation): void => {
    switch (operation._tag) {
      case "Ask": {
        const { typeUrl, unsubscribe } = operation
        // What it has just quoted a client does not ask for again before it has an answer.
        const interest = client.interests.get(typeUrl)
        const isQuoted = (name: string) => interest?.nonce === "" && (interest.names.has(name) || name === "*")
        const subscribe = operation.subscribe.filter((name) => !isQuoted(name))
        // A response on its way makes a request stale, so a client that forgot at once might never be sent it again.
        const forget = !wire.some((send) => send.typeUrl === typeUrl)
        // Nothing tells a client that a response on its way is older than what it gave up and asked for again by
        // another name: `*` or an alias.
        const another =
          how.moving === true ||
          [...subscribe, ...unsubscribe].some(
            (name) => name === "*" || name.endsWith("-alias") || aliasOf(name) !== undefined
          )
        if (options.protocol === "Incremental" && another && !becomesQuiet(() => receive(false))) return
        const [next, asked] = ReferenceClient.ask(client, typeUrl, subscribe, unsubscribe, { forget })
        client = next
        return request(asked)
      }
      case "Receive":
        return receive(operation.nack)
      case "Stale": {
        const { names, typeUrl } = operation
        if (!answered.has(typeUrl)) return
        const stale = { typeUrl, responseNonce: "stale" }
        return request(
          options.protocol === "Incremental"
            ? Request.incremental(stale)
            : Request.stateOfTheWorld({ ...stale, resourceNames: names })
        )
      }
      case "Repeat": {
        const { nonce, typeUrl } = operation
        if (!client.interests.has(typeUrl)) return
        if (options.protocol === "Incremental") return request(Request.incremental({ typeUrl, responseNonce: nonce }))
        const [, repeated] = ReferenceClient.ask(client, typeUrl, [])
        return request({ ...repeated, responseNonce: nonce })
      }
      case "Change":
        return set(changed(operation.change))
      case "Branch": {
        const before = specs
        const [one, other] = [changed(operation.one, before), changed(operation.other, before)]
        set(one)
        return set(other)
      }
      case "Clear":
        specs = new Map()
        return set(undefined)
      case "Flood": {
        const { kind, typeUrl } = operation
        let next = fanOut.group ?? ResourceGroup.empty
        const apply = (change: Parameters<typeof ResourceGroup.update>[1]) => {
          next = Either.getOrThrow(ResourceGroup.update(next, change))
        }
        if (kind === "many changes") {
          for (let n = 0; n < 600; n++) apply({ upsert: [toResource({ typeUrl, name: "b", content: n % 5 })] })
        } else {
          const resources = manyNames(typeUrl)
          for (let n = 0; n < 2; n++) {
            apply({ upsert: resources })
            apply({ remove: resources })
          }
        }
        return set(next)
      }
      case "Credit":
        isCreditGiven = operation.given
        return isCreditGiven ? grant() : undefined
      case "Wait":
        return waitUntil(now + operation.milliseconds)
      case "Reconnect": {
        endStream()
        wire = []
        answered = new Set()
        fanOut = new FanOut(fanOut.group, 0)
        stream = fanOut.join(options, undefined)
        twin = undefined
        model = ReferenceModel.make(options.protocol, stream.state.options.wildcardOff)
        turn()
        if (isCreditGiven) grant()
        const [next, requests] = ReferenceClient.reconnect(client, operation)
        client = next
        for (const first of requests) request(first)
        return
      }
    }
  }

  grant()
  for (const operation of script) {
    if (problems.length > 0) break
    perform(operation)
    goOn(1)
  }
  goOn(Number.POSITIVE_INFINITY)
  if (fanOut.group === undefined) set(ResourceGroup.empty)
  turn()
  perform({ _tag: "Credit", given: true })
  goOn(Number.POSITIVE_INFINITY)
  const end = now + 3 * stream.state.options.phaseDeadline + 30_000
  becomesQuiet(
    () => {
      if (wire.length > 0) receive(false)
      else waitUntil(Math.min(end, stream.deadline()))
      goOn(Number.POSITIVE_INFINITY)
    },
    () => wire.length > 0 || stream.deadline() <= end
  )
  endStream()
  const rest = fanOut.group ?? ResourceGroup.empty
  // A client of state of the world keeps what it gave up beside a `*`: that the wildcard is off it cannot know.
  const isMisled = options.protocol === "StateOfTheWorld" && options.wildcardOff !== undefined
  if (!isMisled) problems.push(...Invariants.unfinished(client, rest, stream.state.options.wildcardOff))
  return { client, group: rest, problems }
}

/** The stream as it comes out of its record. */
const restored = (stream: ServerStream.ServerStream): ServerStream.ServerStream => {
  const text = JSON.stringify(StreamRecord.toJSON(stream))
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- it is the JSON of one
  const parsed: StreamRecord.StreamRecord = JSON.parse(text)
  const made = Either.getOrThrow(StreamRecord.fromJSON(parsed))
  if (JSON.stringify(StreamRecord.toJSON(made)) !== text) throw new Error("a restored stream has another record")
  return made
}

/** What can be seen of a step, the bytes of responses included. */
const seen = (stream: ServerStream.ServerStream, outputs: ReadonlyArray<ServerStream.Output>): string =>
  JSON.stringify([
    String(ServerStream.deadline(stream)),
    ServerStream.isWorking(stream),
    ServerStream.isAnsweringInParts(stream),
    ServerStream.status(stream),
    outputs.map((output) =>
      output._tag === "Send"
        ? [output.nonce, Buffer.from(Response.encode(output.response, output.nonce)).toString("base64")]
        : output
    )
  ])

const show = (input: ServerStream.Input): string => {
  if (input._tag !== "Request") return input._tag
  const { request } = input
  return `Request ${JSON.stringify(
    request._tag === "Incremental"
      ? { ...request, initialResourceVersions: Array.from(request.initialResourceVersions) }
      : request
  )}`
}

/** An operation in a few words. */
export const describeOperation = (operation: Arbitraries.Operation): string => {
  switch (operation._tag) {
    case "Ask": {
      const { subscribe, typeUrl, unsubscribe } = operation
      return ["Ask", shortNameOf(typeUrl), ...subscribe.map((n) => `+${n}`), ...unsubscribe.map((n) => `-${n}`)].join(
        " "
      )
    }
    case "Change":
      return `Change ${describeChange(operation.change)}`
    case "Branch":
      return `Branch ${describeChange(operation.one)} | ${describeChange(operation.other)}`
    default: {
      const { _tag, ...rest } = operation
      return `${_tag} ${Object.values(rest).map(String).map(shortNameOf).join(" ")}`
    }
  }
}

const describeChange = ({ remove, upsert, versions }: Arbitraries.StoreChange): string =>
  [
    ...upsert.map(({ aliases = [], assignment, content, name, onDemandVirtualHosts, ttl, typeUrl, version }) => {
      const extra = [
        assignment && "eds",
        onDemandVirtualHosts === true ? "vhds" : undefined,
        ttl && `ttl ${ttl}`,
        version,
        ...aliases
      ].filter((each) => each !== undefined)
      return `${shortNameOf(typeUrl)} ${name}=${content}${extra.length > 0 ? ` (${extra.join(", ")})` : ""}`
    }),
    ...remove.map(({ name, typeUrl }) => `${shortNameOf(typeUrl)} -${name}`),
    ...Object.entries(versions).map(([typeUrl, label]) => `${shortNameOf(typeUrl)} version ${label}`)
  ].join(", ")
