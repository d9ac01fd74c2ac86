/**
 * What must hold of every stream at every step, whatever happens to it: each rule with the sentence it stands for.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/Resource"
import type { ResourceGroup } from "@effect-xds/core/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/ResourceSet"
import type { Input, Interest, Options, Output, Status } from "@effect-xds/core/ServerStream"
import { byTypeUrl, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import type { ReferenceClient } from "./ReferenceClient.js"
import * as ReferenceClients from "./ReferenceClient.js"
import * as ReferenceModel from "./ReferenceModel.js"

/**
 * One step of a stream, as it was seen from outside.
 *
 * @since 0.1.0
 */
export interface Step {
  /** Milliseconds. */
  readonly now: number
  readonly input: Input
  readonly outputs: ReadonlyArray<Output>
  /** After the step. */
  readonly status: ReadonlyArray<Status>
  /** After the step. */
  readonly deadline: number
}

/**
 * All steps of one stream, from its opening.
 *
 * @since 0.1.0
 */
export interface History {
  readonly options: Pick<Options, "protocol" | "typeUrl" | "wildcardOff" | "ttl" | "phaseDeadline">
  readonly steps: ReadonlyArray<Step>
}

/**
 * A rule and its check: what breaks it, in words; nothing if it holds.
 *
 * @since 0.1.0
 */
export interface Invariant {
  readonly sentence: string
  readonly check: (history: History) => ReadonlyArray<string>
}

type Send = Extract<Output, { readonly _tag: "Send" }>

const sendsOf = (step: Step): ReadonlyArray<Send> => step.outputs.filter((output) => output._tag === "Send")

/**
 * Whether an input says what a stream's group holds.
 *
 * @since 0.1.0
 */
export const isChange = (input: Input): input is Extract<Input, { readonly _tag: "Changed" | "Unaffected" }> =>
  input._tag === "Changed" || input._tag === "Unaffected"

/**
 * Whether a change concerns none of these interests. A server has an index for that, since it has many streams.
 *
 * @since 0.1.0
 */
export const isUnaffected = (
  interests: ReadonlyArray<Interest>,
  before: ResourceGroup,
  after: ResourceGroup
): boolean =>
  interests.every(({ everything, names, typeUrl }) => {
    const { mark } = ResourceGroups.set(before, typeUrl)
    const set = ResourceGroups.set(after, typeUrl)
    if (mark === set.mark) return true
    const difference = ResourceSet.difference(set, mark)
    return !everything && Array.from(HashMap.keys(names)).every((name) => !ResourceSet.concerns(difference, name))
  })

const eachStep = (history: History, check: (step: Step, index: number) => string | undefined): ReadonlyArray<string> =>
  history.steps.flatMap((step, index) => {
    const problem = check(step, index)
    return problem === undefined ? [] : [`step ${index} (${step.input._tag} at ${step.now}): ${problem}`]
  })

/**
 * An ACK or NACK that counts names a nonce that was sent, for its type.
 *
 * @since 0.1.0
 */
export const acknowledgesWhatWasSent: Invariant = {
  sentence: "an ACK or NACK names a nonce that was sent on this stream for this type",
  check: (history) => {
    const sent = new Set<string>()
    return eachStep(history, (step) => {
      let problem: string | undefined
      for (const output of step.outputs) {
        if (output._tag === "Send") sent.add(`${output.typeUrl} ${output.nonce}`)
        else if (
          (output._tag === "Acked" || output._tag === "Nacked") &&
          !sent.has(`${output.typeUrl} ${output.nonce}`)
        ) {
          problem = `${output._tag} of nonce ${output.nonce}, which was not sent`
        }
      }
      return problem
    })
  }
}

/**
 * A NACK does not change what the client is known to have accepted.
 *
 * @since 0.1.0
 */
export const nackKeepsTheVersion: Invariant = {
  sentence: "a NACK never advances the accepted version",
  check: (history) => {
    let accepted = new Map<string, string | undefined>()
    return eachStep(history, (step) => {
      const before = accepted
      accepted = new Map(step.status.map((each) => [each.typeUrl, each.acked?.nonce]))
      if (step.input._tag !== "Request" || step.input.request.errorDetail === undefined) return undefined
      const { typeUrl } = step.input.request
      return accepted.get(typeUrl) === before.get(typeUrl) ? undefined : `the NACK counted as an ACK`
    })
  }
}

/**
 * Credit is for one response.
 *
 * @since 0.1.0
 */
export const oneResponsePerCredit: Invariant = {
  sentence: "there is at most one response per credit, and one per step",
  check: (history) => {
    let credit = false
    return eachStep(history, (step) => {
      if (step.input._tag === "Writable") credit = true
      const sends = sendsOf(step)
      if (sends.length === 0) return undefined
      if (sends.length > 1) return `${sends.length} responses`
      if (!credit) return "a response without credit"
      credit = false
      return undefined
    })
  }
}

/**
 * A group that was never set is no empty group.
 *
 * @since 0.1.0
 */
export const neverSetIsNeverAnswered: Invariant = {
  sentence: "nothing is sent for a group that was never set",
  check: (history) => {
    let isSet = false
    return eachStep(history, (step) => {
      if (isChange(step.input)) isSet = step.input.group !== undefined
      return !isSet && sendsOf(step).length > 0 ? "a response although the group was never set" : undefined
    })
  }
}

/**
 * Clients reject responses with duplicate names: Envoy the whole response, with all that is right in it.
 *
 * @since 0.1.0
 */
export const noDuplicateNames: Invariant = {
  sentence:
    "one name is once in a response: never in resources and removed_resources, never twice in either, by name or alias, openers included",
  check: (history) =>
    eachStep(history, (step) => {
      for (const { response } of sendsOf(step)) {
        const resources = [...response.resources, ...response.heartbeats]
        const names = [
          ...resources.flatMap(({ name }) => [name, ...(response.aliases.get(name) ?? [])]),
          // A resource without a body repeats its name as its alias.
          ...response.absent,
          ...response.removed
        ]
        if (new Set(names).size !== names.length) return `duplicate among ${names.join(", ")}`
      }
      return undefined
    })
}

/**
 * Nonces tell the responses of a stream apart.
 *
 * @since 0.1.0
 */
export const noncesAreNew: Invariant = {
  sentence: "every response of a stream has a nonce of its own",
  check: (history) => {
    const seen = new Set<string>([""])
    return eachStep(history, (step) => {
      for (const { nonce } of sendsOf(step)) {
        if (seen.has(nonce)) return `nonce ${JSON.stringify(nonce)} is used again or empty`
        seen.add(nonce)
      }
      return undefined
    })
  }
}

/**
 * Nobody is sent a type that was not asked for.
 *
 * @since 0.1.0
 */
export const onlyWhatWasAskedFor: Invariant = {
  sentence: "only types that were asked for are sent, and of them only resources that are subscribed to",
  check: (history) =>
    follow(history, ({ model, send }) => {
      const subscription = model.subscriptions.get(send.typeUrl)
      if (subscription === undefined) return `${shortNameOf(send.typeUrl)} was never asked for`
      const isWildcard = subscription.wildcard !== "none" && !model.wildcardOff.has(send.typeUrl)
      const extra = [...send.response.resources, ...send.response.heartbeats].filter(
        (resource) =>
          !isWildcard &&
          // Under a `*` that matches nothing, a name just given up is answered with what there is.
          !subscription.owed.has(resource.name) &&
          ![resource.name, ...(send.response.aliases.get(resource.name) ?? [])].some((name) =>
            subscription.names.has(name)
          )
      )
      return extra.length === 0 ? undefined : `${extra.map((each) => each.name).join(", ")} not subscribed to`
    })
}

/**
 * A response is sent because the client asked or because something changed; a NACK is no reason.
 *
 * @since 0.1.0
 */
export const nothingWithoutReason: Invariant = {
  sentence: "nothing is sent but for a question or a change: a NACK never causes a resend by itself",
  check: (history) =>
    follow(history, ({ ahead, model, send, vanished, warming }) => {
      const { response, typeUrl } = send
      const subscription = model.subscriptions.get(typeUrl)
      const pending = ReferenceModel.pending(model, typeUrl)
      const isReason =
        subscription === undefined ||
        subscription.unanswered ||
        subscription.owed.size > 0 ||
        pending.updates.length + pending.removals.length > 0 ||
        (history.options.ttl && response.resources.some((resource) => resource.ttl !== undefined)) ||
        response.heartbeats.length > 0 ||
        response.absent.some((name) => name.endsWith("/")) ||
        response.removed.some((name) => vanished.has(`${typeUrl} ${name}`)) ||
        (typeUrl === ClusterLoadAssignment.typeUrl && response.removed.some((name) => warming.has(name))) ||
        response.resources.some(
          (resource) =>
            vanished.has(`${typeUrl} ${resource.name}`) ||
            ahead.has(`${typeUrl} ${resource.name}`) ||
            (typeUrl === ClusterLoadAssignment.typeUrl && warming.has(resource.name))
        )
      return isReason ? undefined : `${shortNameOf(typeUrl)} was sent for no reason`
    })
}

const isOwed = (model: ReferenceModel.ReferenceModel, typeUrl: string, name: string): boolean => {
  const owed = model.subscriptions.get(typeUrl)?.owed ?? new Set()
  const resources = model.resources ?? []
  return Array.from(owed).some((each) => each === name || ReferenceModel.ledTo(resources, typeUrl, each)?.name === name)
}

/** What is to be sent of a type because it changed, and not because it was asked for. */
const updatesOf = (model: ReferenceModel.ReferenceModel, typeUrl: string): ReadonlyArray<string> =>
  ReferenceModel.pending(model, typeUrl).updates.filter((name) => !isOwed(model, typeUrl, name))

/**
 * Make before break, on aggregated streams.
 *
 * @since 0.1.0
 */
export const typesInOrder: Invariant = {
  sentence: "on an aggregated stream changes go out in the order of types, deletions last and in reverse",
  check: (history) =>
    history.options.typeUrl !== undefined
      ? []
      : follow(history, ({ model, overdue, send, warming }) => {
          const order = (typeUrl: string) => byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY
          const subscription = model.subscriptions.get(send.typeUrl)
          // Answers are never held back, so they come when they come.
          if (subscription === undefined || subscription.unanswered || subscription.owed.size > 0) return undefined
          // A TTL is renewed when it is due.
          const renewed = [...send.response.resources, ...send.response.heartbeats]
          if (history.options.ttl && renewed.some(({ ttl }) => ttl !== undefined)) return undefined
          const { removed, resources } = send.response
          const isIncremental = history.options.protocol === "Incremental"
          const removes = ReferenceModel.pending(model, send.typeUrl).removals.some((name) =>
            // An assignment that does not exist any more is answered at once when its cluster was sent.
            isIncremental
              ? removed.includes(name) && !(send.typeUrl === ClusterLoadAssignment.typeUrl && warming.has(name))
              : !resources.some((resource) => resource.name === name)
          )
          if (overdue !== undefined) {
            const isBefore = (typeUrl: string) => removes || order(typeUrl) < order(send.typeUrl)
            const other = Array.from(overdue).find((typeUrl) => typeUrl !== send.typeUrl && isBefore(typeUrl))
            return other === undefined
              ? undefined
              : `deletions are overdue, and ${shortNameOf(send.typeUrl)} is sent before the last turn of ${shortNameOf(other)}`
          }
          for (const typeUrl of model.subscriptions.keys()) {
            if (typeUrl === send.typeUrl) continue
            // What was just asked for is an answer, too.
            if (model.subscriptions.get(typeUrl)?.unanswered === true) continue
            const updates = updatesOf(model, typeUrl)
            const [one, two] = [shortNameOf(send.typeUrl), shortNameOf(typeUrl)]
            if (updates.length > 0 && order(typeUrl) < order(send.typeUrl)) return `${one} before ${two}`
            if (removes && updates.length > 0) return `${one} deletes before ${two} is up to date`
            const isLater = order(typeUrl) > order(send.typeUrl)
            if (removes && isLater && ReferenceModel.pending(model, typeUrl).removals.length > 0) {
              return `${one} deletes before ${two} does`
            }
          }
          return undefined
        })
}

/**
 * A deadline that was handled is over: otherwise its driver would spin.
 *
 * @since 0.1.0
 */
export const deadlinesPass: Invariant = {
  sentence: "after a deadline was handled the next one lies in the future",
  check: (history) =>
    eachStep(history, (step) =>
      step.input._tag === "Deadline" && step.deadline <= step.now ? `the deadline is still ${step.deadline}` : undefined
    )
}

/**
 * A client rejects the heartbeat of what it does not hold: once it lost it, each, for ever.
 *
 * @since 0.1.0
 */
export const heartbeatsAreHeld: Invariant = {
  sentence:
    "a heartbeat without a body names what this stream was sent or said to hold, renewed within its TTL and not rejected since",
  check: (history) => {
    const last = new Map<string, { readonly at: number; readonly nonce: string; readonly isWhole: boolean }>()
    return follow(history, ({ model, now, rejected, send }) => {
      const { nonce, response, typeUrl } = send
      const keyOf = ({ name }: Resource) => `${typeUrl} ${name}`
      let problem: string | undefined
      for (const resource of response.heartbeats) {
        const { fingerprint, name, ttl = 0, version } = resource
        const identity = model.subscriptions.get(typeUrl)?.sent.get(name)?.identity
        const before = last.get(keyOf(resource))
        const what = `${shortNameOf(typeUrl)} ${name} is renewed without its body`
        if (identity !== fingerprint && identity !== `version ${version}`) problem = `${what}, and is not held`
        else if (before !== undefined && now > before.at + ttl) problem = `${what} after ${now - before.at} ms`
        else if (before?.isWhole === false && rejected.has(`${typeUrl} ${before.nonce}`)) {
          problem = `${what} after a heartbeat was rejected`
        }
        last.set(keyOf(resource), { at: now, nonce, isWhole: false })
      }
      for (const resource of response.resources) last.set(keyOf(resource), { at: now, nonce, isWhole: true })
      return problem
    })
  }
}

/**
 * What has a TTL is renewed before that is over, as far as there is credit.
 *
 * @since 0.1.0
 */
export const ttlsAreRenewed: Invariant = {
  sentence: "what a client was sent or said that it holds, with a TTL, is renewed in time if it takes what it is sent",
  check: ({ options, steps }) => {
    if (!options.ttl) return []
    let model = ReferenceModel.make(options.protocol, options.wildcardOff)
    const last = new Map<string, number>()
    let credit = false
    return eachStep({ options, steps }, ({ deadline, input, now, outputs }) => {
      if (input._tag === "Writable") credit = true
      if (input._tag === "Request") [model] = ReferenceModel.step(model, input)
      if (isChange(input)) {
        const resources = input.group === undefined ? undefined : ResourceGroups.all(input.group)
        ;[model] = ReferenceModel.step(model, { _tag: "Changed", resources })
        // What was gone for a time was not to be renewed.
        for (const key of last.keys()) {
          const isThere = resources?.some(({ name, ttl, typeUrl }) => ttl !== undefined && key === `${typeUrl} ${name}`)
          if (isThere !== true) last.set(key, Number.POSITIVE_INFINITY)
        }
      }
      for (const output of outputs) {
        if (output._tag !== "Send") continue
        credit = false
        const { nonce, response, typeUrl } = output
        model = ReferenceModel.observe(model, response, nonce)
        for (const { name } of [...response.resources, ...response.heartbeats]) last.set(`${typeUrl} ${name}`, now)
      }
      if (!credit || model.resources === undefined) return undefined
      for (const [typeUrl, subscription] of model.subscriptions) {
        if (subscription.unanswered) continue
        for (const resource of model.resources) {
          const { fingerprint, name, ttl } = resource
          if (resource.typeUrl !== typeUrl || ttl === undefined) continue
          if (subscription.sent.get(name)?.identity !== fingerprint) continue
          if (!ReferenceModel.isCovered(model, subscription, resource)) continue
          const due = (last.get(`${typeUrl} ${name}`) ?? Number.NEGATIVE_INFINITY) + ttl
          if (Math.max(deadline, now) > due) return `${shortNameOf(typeUrl)} ${name} is lost before its renewal`
        }
      }
      return undefined
    })
  }
}

/**
 * Every invariant of a stream.
 *
 * @since 0.1.0
 */
export const all: Readonly<Record<string, Invariant>> = {
  acknowledgesWhatWasSent,
  nackKeepsTheVersion,
  oneResponsePerCredit,
  neverSetIsNeverAnswered,
  noDuplicateNames,
  noncesAreNew,
  onlyWhatWasAskedFor,
  nothingWithoutReason,
  typesInOrder,
  deadlinesPass,
  heartbeatsAreHeld,
  ttlsAreRenewed
}

/**
 * What a history breaks of all invariants but some, in words; nothing if it is in order.
 *
 * @since 0.1.0
 */
export const broken = (history: History, except: ReadonlyArray<Invariant> = []): ReadonlyArray<string> =>
  Object.entries(all)
    .filter(([, invariant]) => !except.includes(invariant))
    .flatMap(([name, { check, sentence }]) => check(history).map((problem) => `${name} (${sentence}): ${problem}`))

/**
 * Whether a client that has become quiet holds what it should: every name is delivered or known not to exist, nothing
 * is stale, and no cluster waits for an assignment that there is.
 *
 * @since 0.1.0
 */
export const unsettled = (
  client: ReferenceClient,
  group: ResourceGroup,
  wildcardOff: ReadonlySet<string>
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  for (const [typeUrl, interest] of client.interests) {
    const type = shortNameOf(typeUrl)
    const existing = ResourceGroups.all(group).filter((resource) => resource.typeUrl === typeUrl)
    const served = wildcardOff.has(typeUrl) ? { ...interest, wildcard: "none" as const } : interest
    const isIncremental = client.protocol === "Incremental"
    const led = (name: string) => (isIncremental ? ReferenceModel.ledTo(existing, typeUrl, name) : undefined)
    const asked = new Set(Array.from(interest.names, (name) => led(name)?.name ?? name))
    const expected = existing.filter(({ name }) => served.wildcard !== "none" || asked.has(name))
    for (const resource of expected) {
      const held = interest.held.get(resource.name)
      if (held === undefined) problems.push(`${type} ${resource.name} was not delivered`)
      else if (held.fingerprint !== resource.fingerprint) problems.push(`${type} ${resource.name} is stale`)
      const isAsked = served.wildcard !== "none" || interest.names.has(resource.name)
      if (typeUrl === ClusterLoadAssignment.typeUrl && isAsked && client.warming.has(resource.name)) {
        problems.push(`${type} ${resource.name} was not sent after its cluster`)
      }
    }
    const isTold = isIncremental || byTypeUrl(typeUrl)?.family === "full-state"
    for (const [name, resource] of interest.held) {
      if (!ReferenceClients.wants(served, resource)) continue
      const isStillThere = existing.some((resource) => resource.name === name)
      if (isTold && !isStillThere) problems.push(`${type} ${name} is held although it is gone`)
      else if (isIncremental && !expected.some((each) => each.name === name)) {
        problems.push(`${type} ${name} is held although what was asked for leads elsewhere`)
      }
    }
    if (client.protocol === "StateOfTheWorld") continue
    for (const name of interest.names) {
      const exists = led(name) !== undefined
      if (!exists && !interest.missing.has(name)) problems.push(`${type} ${name}: the client still waits for it`)
      if (exists && interest.missing.has(name)) problems.push(`${type} ${name} is taken for missing`)
    }
  }
  return problems
}

/**
 * What two clients of one group that want the same hold differently, of what exists.
 *
 * @since 0.1.0
 */
export const disagreements = (
  one: ReferenceClient,
  other: ReferenceClient,
  group: ResourceGroup
): ReadonlyArray<string> =>
  ResourceGroups.all(group)
    .filter((resource: Resource) => {
      const [first, second] = [one, other].map((client) => client.interests.get(resource.typeUrl))
      if (first === undefined || second === undefined) return false
      const isWanted = ReferenceClients.wants(first, resource) && ReferenceClients.wants(second, resource)
      return isWanted && first.held.get(resource.name)?.fingerprint !== second.held.get(resource.name)?.fingerprint
    })
    .map((resource) => `${shortNameOf(resource.typeUrl)} ${resource.name} is not the same for both`)

/** Walks a history with a model that knows what the client was sent and asked for, and looks at each response before it counts. */
const follow = (
  history: History,
  check: (at: {
    readonly model: ReferenceModel.ReferenceModel
    readonly send: Send
    /** `<type URL> <name>` of what was gone at some time since it was sent: it may be sent again. */
    readonly vanished: ReadonlySet<string>
    /** The same for what was sent ahead of other changes of the type because it was asked for: it may be sent again with them. */
    readonly ahead: ReadonlySet<string>
    /** Names of assignments whose cluster was sent. */
    readonly warming: ReadonlySet<string>
    /**
     * Something has waited to be deleted for so long that changes do not hold it back any more, but for those that there
     * were when it became overdue: their types.
     */
    readonly overdue: ReadonlySet<string> | undefined
    /** Milliseconds. */
    readonly now: number
    /** `<type URL> <nonce>` of what was rejected. */
    readonly rejected: ReadonlySet<string>
  }) => string | undefined
): ReadonlyArray<string> => {
  let model = ReferenceModel.make(history.options.protocol, history.options.wildcardOff)
  const vanished = new Set<string>()
  const ahead = new Set<string>()
  const warming = new Set<string>()
  const rejected = new Set<string>()
  let since: number | undefined
  let overdue: Set<string> | undefined
  return eachStep(history, (step) => {
    const { input, now } = step
    if (input._tag === "Request") {
      ;[model] = ReferenceModel.step(model, input)
      const { errorDetail, responseNonce, typeUrl } = input.request
      if (errorDetail !== undefined) rejected.add(`${typeUrl} ${responseNonce}`)
    }
    if (isChange(input)) {
      const resources = input.group === undefined ? undefined : ResourceGroups.all(input.group)
      ;[model] = ReferenceModel.step(model, { _tag: "Changed", resources })
      for (const [typeUrl, { sent }] of model.subscriptions) {
        for (const [name, { aliases }] of sent) {
          const isThere = resources?.some((each) => each.typeUrl === typeUrl && each.name === name) ?? false
          if (!isThere) for (const each of [name, ...aliases]) vanished.add(`${typeUrl} ${each}`)
        }
      }
    }
    const sends = sendsOf(step)
    const typeUrls = Array.from(model.subscriptions.keys())
    const removes = () => typeUrls.some((typeUrl) => ReferenceModel.pending(model, typeUrl).removals.length > 0)
    // Whether it had credit is known only when something is sent: without, it did not see that a deletion came and went.
    if (removes()) since ??= now
    else if (sends.length > 0) since = undefined
    if (since === undefined || now < since + 2 * history.options.phaseDeadline) overdue = undefined
    else if (sends.length > 0) {
      const before = overdue ?? typeUrls
      overdue = new Set(Array.from(before).filter((typeUrl) => updatesOf(model, typeUrl).length > 0))
    }
    for (const send of sends) {
      const isAnswer = (model.subscriptions.get(send.typeUrl)?.owed.size ?? 0) > 0
      const problem = check({ model, send, vanished, ahead, warming, overdue, now, rejected })
      overdue?.delete(send.typeUrl)
      model = ReferenceModel.observe(model, send.response, send.nonce)
      if (!removes()) since = undefined
      for (const resource of send.response.resources) {
        vanished.delete(`${send.typeUrl} ${resource.name}`)
        if (isAnswer) ahead.add(`${send.typeUrl} ${resource.name}`)
        else ahead.delete(`${send.typeUrl} ${resource.name}`)
        if (resource.assignment !== undefined) warming.add(resource.assignment)
        if (send.typeUrl === ClusterLoadAssignment.typeUrl) warming.delete(resource.name)
      }
      if (problem !== undefined) return problem
    }
    return undefined
  })
}
