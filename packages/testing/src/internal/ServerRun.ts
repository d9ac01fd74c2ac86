/** Steps of a server's stream and a naive client, each compared with the reference server and with the invariants. */
import type { Protocol } from "@effect-xds/core/wire/Request"
import * as Request from "@effect-xds/core/wire/Request"
import * as ClientView from "@effect-xds/core/resource/ClientView"
import type { ResourceError } from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSets from "@effect-xds/core/resource/ResourceSet"
import { FanOut } from "@effect-xds/core/server/FanOut"
import type { GroupStream } from "@effect-xds/core/server/GroupStream"
import type { Input, Output, ServerStream } from "@effect-xds/core/server/ServerStream"
import * as StatusCode from "@effect-xds/core/protocol/StatusCode"
import * as ServerStreams from "@effect-xds/core/server/ServerStream"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as Either from "effect/Either"
import { toEnd } from "@effect-xds/core/Steps"
import * as Invariants from "../invariants/Invariants.js"
import type { ReferenceClient } from "../reference/ReferenceClient.js"
import * as ReferenceClients from "../reference/ReferenceClient.js"
import type { ReferenceModel } from "../reference/ReferenceModel.js"
import * as ReferenceModels from "../reference/ReferenceModel.js"
import type { ResourceSpec } from "../simulation/ResourceSpec.js"
import * as Keys from "../exploration/ExplorationKey.js"

/**
 * The options of a world.
 *
 * @since 0.1.0
 */
export interface Options {
  readonly protocol: Protocol
  /** The types of the world. */
  readonly typeUrls: ReadonlyArray<string>
  /** The names of each type. The first one has two contents, the others one. */
  readonly names: ReadonlyArray<string>
  /** The names that the client requests, if several may lead to one resource: with glob collections. Default: {@link names}. */
  readonly asked?: ReadonlyArray<string>
  /** Whether the stream is aggregated. The reference server does not know phases. */
  readonly isAggregated?: boolean
  /**
   * States of the store, in any order, instead of any of {@link names}: with aliases that move, or TTLs. Responses are not
   * compared with the reference server then.
   */
  readonly stores?: ReadonlyArray<ReadonlyArray<ResourceSpec>> | undefined
  /** Whether the client gets TTLs. Default: false. */
  readonly ttl?: boolean
  /** Whether the client starts with a wildcard and all first contents. Default: false. */
  readonly isWarm?: boolean
  /**
   * Names that one step processes, in requests and in held versions. The rest is a move of its own, or precedes the next
   * request. Responses are not compared with the reference server then. Default: no limit.
   */
  readonly namesPerStep?: number
  /** Most responses on their way to the client. Default: 2. */
  readonly maxInFlight?: number
  /** Most changes that the stream may be behind: its turn is a move of its own, or precedes everything else. Default: 0. */
  readonly maxBehind?: number
  /**
   * What the client says of itself in locators: one of these values of `env`, another one from a request on. Responses are not compared
   * with the reference server then. Default: it gives names.
   */
  readonly said?: ReadonlyArray<string>
  /** Whether the client is moved to other groups: one that holds the same, one that holds something else, one that is not set. Default: false. */
  readonly isMoved?: boolean
}

type Send = Extract<Output, { readonly _tag: "Send" }>

/** The steps of the present stream, last one first. */
interface Steps {
  readonly step: Invariants.Step
  readonly before: Steps | undefined
}

/**
 * The state of the world. Its fields are private.
 *
 * @since 0.1.0
 */
export interface State {
  readonly now: number
  readonly group: ResourceGroup | undefined
  readonly server: ServerStream
  /** States of the group since the stream's last turn, oldest first. */
  readonly missed: ReadonlyArray<ResourceGroup>
  readonly model: ReferenceModel
  readonly client: ReferenceClient
  /** Responses on their way, oldest first. */
  readonly wire: ReadonlyArray<Send>
  /** Types with a response on this stream: only for those a nonce can be stale. */
  readonly answered: ReadonlySet<string>
  readonly steps: Steps | undefined
  readonly problems: ReadonlyArray<string>
  /** What the client says of itself from now on. */
  readonly said: string | undefined
  /** Type URL and name → the error that the client was told last in the place of a resource. */
  readonly errors: ReadonlyMap<string, ResourceError>
}

/** Most turns of an undisturbed client and server, until they count as never quiet. */
const maxTurns = 200

/** A step as text, without the bodies of its response. */
const keyOfStep = ([server, outputs]: ServerStreams.Step, now: number): string =>
  [
    Keys.ofServer(server, now),
    ...outputs.map((output) => [
      output._tag,
      ...("nonce" in output ? [output.nonce] : []),
      ...(output._tag === "Send" ? [output.typeUrl, Keys.ofResponse(output.response)] : [])
    ])
  ].join("\n")

/** Makes steps from a state, which itself stays as it is. */
export class ServerRun {
  private state: State
  private readonly problems: Array<string> = []
  /** Whether credit is given after every response. */
  private isOpen = false
  private fanOut: FanOut<undefined>
  private stream: GroupStream<undefined>

  constructor(
    private readonly options: Options,
    from: State
  ) {
    this.state = from
    this.fanOut = new FanOut(ServerStreams.groupOf(from.server), 0)
    this.stream = this.fanOut.restore(from.server, undefined)
    for (const group of from.missed) this.fanOut.publish(group, () => undefined)
  }

  end(): State {
    // Without a reference server the invariants check every step; else they check each new state.
    return { ...this.state, problems: [...this.problems, ...(isCompared(this.options) ? [] : this.broken())] }
  }

  /** Checks that a short step equals the same step in portions. */
  private bothWays(input: Input, now: number): ServerStreams.Step {
    const { server } = this.state
    const short = ServerStreams.short(server, input, now)
    const whole = toEnd(ServerStreams.stepping(server, input, now))
    if (short !== undefined && keyOfStep(short, now) !== keyOfStep(whole, now)) {
      this.problems.push(`a short step at ${input._tag} is not what it is in steps`)
    }
    return short ?? whole
  }

  private step(input: Input): void {
    const { client, now, server: before } = this.state
    const outputs = this.stream.apply(this.bothWays(input, now))
    const server = this.stream.state
    if (server.parameters !== before.parameters && server.group !== undefined) {
      // For the invariants, what the client sees from now on is another group.
      const other = { _tag: "Moved" as const, group: server.group, phases: server.options }
      const step = {
        now,
        input: other,
        outputs: [],
        status: ServerStreams.status(before),
        deadline: ServerStreams.deadline(before)
      }
      this.state = { ...this.state, steps: { step, before: this.state.steps } }
    }
    const status = ServerStreams.status(server)
    const told = outputs.map(plainly)
    const step = {
      now,
      input: this.seen(input),
      outputs: told,
      status,
      deadline: ServerStreams.deadline(server)
    }
    const sends = told.filter((output) => output._tag === "Send")
    const answered = new Set([...this.state.answered, ...sends.map(({ typeUrl }) => typeUrl)])
    this.state = {
      ...this.state,
      server,
      answered,
      steps: { step, before: this.state.steps },
      wire: [...this.state.wire, ...sends]
    }
    for (const output of outputs) if (output._tag === "Violation") this.problems.push(`violation: ${output.message}`)
    const isOurs = input._tag === "Deadline" || input._tag === "Continue" || input._tag === "MissingDone"
    if (isCompared(this.options) && !isOurs) {
      const resources =
        Invariants.isChange(input) && input.group !== undefined ? ResourceGroups.all(input.group) : undefined
      const theirs = Invariants.isChange(input) ? { _tag: "Changed" as const, resources } : input
      const [model, expected] = ReferenceModels.step(this.state.model, theirs)
      this.state = { ...this.state, model }
      const [got, wanted] = [sends.map((send) => describe(client, send, send.response)), describe(client, expected)]
      if ((got.length === 0 ? nothing : got.join("; ")) !== wanted) {
        this.problems.push(
          `${input._tag} was answered with ${got.join("; ") || nothing}; the reference sends ${wanted}`
        )
      }
    }
    if (this.isOpen && sends.length > 0) this.stream.writable()
  }

  /** An input with what the client sees of its group. */
  private seen(input: Input): Input {
    if (!("group" in input) || input.group === undefined) return input
    return { ...input, group: ClientView.of(input.group, this.state.server.parameters) }
  }

  /** The driver's part: gives the stream a turn. Stops at a request that is processed in portions. */
  turn(): void {
    while (!ServerStreams.isWorking(this.state.server)) {
      const input = this.stream.next()
      if (input === undefined) {
        this.state = { ...this.state, missed: [] }
        return
      }
      this.step(input)
    }
  }

  /** Processes more of such a request; by default, all of it. */
  goOn(most = maxTurns): void {
    for (let left = most; left > 0 && ServerStreams.isWorking(this.state.server); left--) {
      const input = this.stream.next()
      if (input !== undefined) this.step(input)
    }
    this.turn()
  }

  private request(request: Request.Request): void {
    this.goOn()
    this.stream.request(this.located(request))
    this.turn()
  }

  /** A request with locators in place of names. */
  private located(request: Request.Request): Request.Request {
    const { said } = this.state
    const names = request._tag === "Incremental" ? request.resourceNamesSubscribe : request.resourceNames
    if (said === undefined || names.length === 0) return request
    return { ...request, parameters: new Map([["", new Map([["env", said]])]]) }
  }

  say(env: string): void {
    this.state = { ...this.state, said: env }
  }

  ask(typeUrl: string, subscribe: ReadonlyArray<string>, unsubscribe: ReadonlyArray<string>): void {
    // A response on its way makes a request stale, so a client that forgot at once might never get it again.
    const forget = !this.state.wire.some((send) => send.typeUrl === typeUrl)
    const [client, request] = ReferenceClients.ask(this.state.client, typeUrl, subscribe, unsubscribe, { forget })
    const errors = new Map(this.state.errors)
    for (const name of unsubscribe) errors.delete(`${typeUrl} ${name}`)
    this.state = { ...this.state, client, errors }
    this.request(request)
  }

  receive(isRejected: boolean): void {
    const [send, ...wire] = this.state.wire
    if (send === undefined) return
    const forget = !wire.some(({ typeUrl }) => typeUrl === send.typeUrl)
    const errorDetail = isRejected ? { code: StatusCode.codes.INTERNAL, message: "no" } : undefined
    const [client, request] = ReferenceClients.receive(this.state.client, send.response, send.nonce, {
      errorDetail,
      forget
    })
    // ★ With an error that takes nothing away the client keeps what it has.
    const held = this.state.client.interests.get(send.typeUrl)?.held
    for (const { error, name } of send.response.errors) {
      if (!isKeptWith(error) || held?.has(name) !== true || !send.response.removed.includes(name)) continue
      this.problems.push(
        `${ResourceType.shortNameOf(send.typeUrl)} ${name}: it is taken away with the error ${error.code}`
      )
    }
    const errors = new Map(this.state.errors)
    for (const { name } of send.response.resources) errors.delete(`${send.typeUrl} ${name}`)
    const names = client.interests.get(send.typeUrl)?.names
    for (const { error, name } of send.response.errors) {
      if (names?.has(name) === true) errors.set(`${send.typeUrl} ${name}`, error)
    }
    this.state = { ...this.state, client, wire, errors }
    this.request(request)
  }

  stale(typeUrl: string): void {
    const stale = { typeUrl, responseNonce: "stale" }
    const request =
      this.options.protocol === "Incremental"
        ? Request.incremental(stale)
        : Request.stateOfTheWorld({ ...stale, resourceNames: (this.options.asked ?? this.options.names).slice(-1) })
    this.request(request)
  }

  set(group: ResourceGroup): void {
    const { maxBehind = 0 } = this.options
    this.fanOut.publish(group, () => undefined)
    this.state = { ...this.state, group, missed: [...this.state.missed, group] }
    if (this.state.missed.length > maxBehind) this.turn()
  }

  /** The client is moved to another group, which nobody else is in. */
  move(group: ResourceGroup | undefined): void {
    const other = new FanOut<undefined>(group, 0)
    this.fanOut.move(this.stream, other, this.state.server.options)
    this.fanOut = other
    this.state = { ...this.state, group, missed: [] }
    this.turn()
  }

  credit(): void {
    this.goOn()
    this.stream.writable()
    this.turn()
  }

  deadline(): void {
    this.state = { ...this.state, now: Math.max(this.state.now, ServerStreams.deadline(this.state.server)) }
    this.stream.deadlineReached()
    this.turn()
  }

  reconnect(remembers: boolean, responseNonce = ""): void {
    const { client, group } = this.state
    const [next, requests] = ReferenceClients.reconnect(client, { remembers })
    const { now, said } = this.state
    this.state = { ...newStream(this.options), now, said, group, client: next }
    this.fanOut = new FanOut(group, 0)
    this.stream = this.fanOut.restore(this.state.server, undefined)
    this.turn()
    for (const request of requests) this.request({ ...request, responseNonce })
  }

  /** The problems after everything has come to rest. */
  rest(): ReadonlyArray<string> {
    if (this.state.group === undefined) this.set(ResourceGroups.empty)
    this.goOn()
    this.comeToRest()
    const { client, group = ResourceGroups.empty, server, wire } = this.state
    const problems = [...this.problems, ...this.broken(), ...this.untold(), ...this.unended()]
    if (wire.length > 0) problems.push("it never becomes quiet")
    const seen = withHeld(ClientView.of(group, server.parameters), group, client)
    const told = withTold(client, this.state.errors)
    return [...problems, ...Invariants.unfinished(told, seen, server.options.wildcardOff)].map(
      (problem) => `in the end: ${problem}`
    )
  }

  /** Errors in the place of what the client asks for by name, that it was not told. */
  private untold(): ReadonlyArray<string> {
    const { client, errors, group = ResourceGroups.empty } = this.state
    return ResourceGroups.all(group).flatMap(({ error, name, typeUrl }) => {
      if (error === undefined || client.interests.get(typeUrl)?.names.has(name) !== true) return []
      const told = errors.get(`${typeUrl} ${name}`)
      return told?.code === error.code
        ? []
        : [`${ResourceType.shortNameOf(typeUrl)} ${name}: error ${error.code} was not told`]
    })
  }

  /** Errors that a client remembers of a full state, although they are over, and there is no resource. */
  private unended(): ReadonlyArray<string> {
    const { client, errors, group = ResourceGroups.empty, server } = this.state
    if (server.options.protocol === "Incremental") return []
    return Array.from(client.interests).flatMap(([typeUrl, { names }]) => {
      if (ResourceType.byTypeUrl(typeUrl)?.family !== "full-state") return []
      const set = ResourceGroups.set(group, typeUrl)
      return Array.from(names).flatMap((name) => {
        const { code = NOT_FOUND } = errors.get(`${typeUrl} ${name}`) ?? {}
        if (code === NOT_FOUND || ResourceSets.get(set, name) !== undefined) return []
        return [`${ResourceType.shortNameOf(typeUrl)} ${name}: error ${code} is over, which was not told`]
      })
    })
  }

  /** The client ACKs every response, and there is always credit, until nothing more happens. */
  comeToRest(): void {
    this.isOpen = true
    this.credit()
    const end = this.state.now + 3 * this.state.server.options.phaseDeadline
    for (let turn = 0; turn < maxTurns; turn++) {
      if (ServerStreams.isWorking(this.state.server)) this.goOn()
      else if (this.state.wire.length > 0) this.receive(false)
      else if (ServerStreams.deadline(this.state.server) <= end) this.deadline()
      else break
    }
  }

  private broken(): ReadonlyArray<string> {
    const steps: Array<Invariants.Step> = []
    for (let at = this.state.steps; at !== undefined; at = at.before) steps.unshift(at.step)
    return Invariants.broken({ options: this.state.server.options, steps })
  }
}

/** An output as a client reads it that knows no variants: of a resource there is one. */
const plainly = (output: Output): Output => {
  if (output._tag !== "Send" || output.response.removedVariants.length === 0) return output
  const { removed, removedVariants, resources } = output.response
  const gone = removedVariants.map(({ name }) => name).filter((name) => !resources.some((each) => each.name === name))
  const response = { ...output.response, removed: [...removed, ...gone], removedVariants: [] }
  return { ...output, response }
}

/** The client, which does not wait for what it was told an error of: that is an answer. */
const withTold = (client: ReferenceClient, errors: State["errors"]): ReferenceClient => ({
  ...client,
  interests: new Map(
    Array.from(client.interests, ([typeUrl, interest]) => {
      const { held, names } = interest
      const told = Array.from(names).filter((name) => errors.has(`${typeUrl} ${name}`) && !held.has(name))
      return [typeUrl, { ...interest, missing: new Set([...interest.missing, ...told]) }] as const
    })
  )
})

/** ★ With an error that takes nothing away the client keeps what it has. */
const withHeld = (seen: ResourceGroup, group: ResourceGroup, { interests }: ReferenceClient): ResourceGroup => {
  const upsert = ResourceGroups.all(group).flatMap(({ error, name, typeUrl }) => {
    return error !== undefined && isKeptWith(error) ? (interests.get(typeUrl)?.held.get(name) ?? []) : []
  })
  return Either.getOrElse(ResourceGroups.update(seen, { upsert }), () => seen)
}

const { NOT_FOUND, PERMISSION_DENIED } = StatusCode.codes

/** Whether the client keeps what it has when it is told this error. */
const isKeptWith = ({ code }: ResourceError): boolean => code !== NOT_FOUND && code !== PERMISSION_DENIED

const nothing = "nothing"

/** A response as text, as far as it matters to the client. */
const describe = (
  { interests }: ReferenceClient,
  answer: ({ readonly nonce: string } & Partial<ReferenceModels.Answer>) | undefined,
  { absent = [], removed = [], resources = [] }: Partial<ReferenceModels.Answer> = answer ?? {}
): string => {
  if (answer === undefined) return nothing
  const matters = (name: string) =>
    Array.from(interests.values()).some(({ held, names }) => names.has(name) || held.has(name))
  const texts = [
    ...resources.map(({ fingerprint, name }) => `${name}=${fingerprint}`),
    ...removed.filter(matters).map((name) => `-${name}`),
    ...absent.map((name) => `no ${name}`)
  ]
  return `${answer.nonce} [${texts.sort().join(" ")}]`
}

/**
 * Whether the reference server applies: it knows no phases, no TTLs and no portions, and not every form of answer for moved
 * names.
 */
export const isCompared = ({ isAggregated = false, namesPerStep, said, stores }: Options): boolean =>
  !isAggregated && stores === undefined && namesPerStep === undefined && said === undefined

/** A new stream. */
export const newStream = ({
  isAggregated = false,
  namesPerStep,
  protocol,
  said,
  ttl = false,
  typeUrls
}: Options): State => ({
  now: 0,
  group: undefined,
  missed: [],
  server: ServerStreams.make({
    protocol,
    typeUrl: isAggregated ? undefined : typeUrls[0],
    ttl,
    ...(namesPerStep === undefined ? {} : { namesPerStep })
  }),
  model: ReferenceModels.make(protocol),
  client: ReferenceClients.make(protocol),
  wire: [],
  answered: new Set(),
  steps: undefined,
  problems: [],
  said: said?.[0],
  errors: new Map()
})
