/**
 * What must hold of every stream at every step, whatever happens to it: each rule with the sentence it stands for.
 *
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core/wire/Request"
import type { Resource } from "@effect-xds/core/resource/Resource"
import type { ResourceGroup } from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import * as ResourceSet from "@effect-xds/core/resource/ResourceSet"
import type { Input, Interest, Options, Output, Status } from "@effect-xds/core/server/ServerStream"
import { byTypeUrl, ClusterLoadAssignment, shortNameOf } from "@effect-xds/proto/ResourceType"
import * as HashMap from "effect/HashMap"
import type { ReferenceClient } from "../reference/ReferenceClient.js"
import * as ReferenceClients from "../reference/ReferenceClient.js"
import * as ReferenceModel from "../reference/ReferenceModel.js"
import { areGone, areIn, States } from "../exploration/States.js"

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
export const isChange = (input: Input): input is Extract<Input, { readonly _tag: "Changed" | "Advance" }> =>
  input._tag === "Changed" || input._tag === "Advance"

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
    const { cursor } = ResourceGroups.set(before, typeUrl)
    const set = ResourceGroups.set(after, typeUrl)
    if (cursor === set.cursor) return true
    const difference = ResourceSet.difference(set, cursor)
    return !everything && Array.from(HashMap.keys(names)).every((name) => !ResourceSet.concerns(difference, name))
  })

const atStep = (step: Step, index: number, problem: string): string =>
  `step ${index} (${step.input._tag} at ${step.now}): ${problem}`

const eachStep = (history: History, check: (step: Step, index: number) => string | undefined): ReadonlyArray<string> =>
  history.steps.flatMap((step, index) => {
    const problem = check(step, index)
    return problem === undefined ? [] : [atStep(step, index, problem)]
  })

/** What looks at each response of a walk through a history. */
interface Follower {
  readonly check: (look: Look) => string | undefined
  /** After each input. */
  readonly after?: (model: ReferenceModel.ReferenceModel, before: ReferenceModel.ReferenceModel, input: Input) => void
}

/** An invariant of what a walk shows: many of them can be checked in one. */
interface Following extends Invariant {
  /** `undefined`: the invariant is not of such streams. */
  readonly follow: (history: History) => Follower | undefined
}

const following = (rule: Pick<Following, "sentence" | "follow">): Following => ({
  ...rule,
  check: (history) => {
    const follower = rule.follow(history)
    return follower === undefined ? [] : (follow(history, [follower])[0] ?? [])
  }
})

const isFollowing = (invariant: Invariant): invariant is Following => "follow" in invariant

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
export const onlyWhatWasAskedFor: Invariant = following({
  sentence: "only types that were asked for are sent, and of them only resources that are subscribed to",
  follow: () => ({
    check: ({ model, send }) => {
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
    }
  })
})

/**
 * A response is sent because the client asked or because something changed; a NACK is no reason.
 *
 * @since 0.1.0
 */
export const nothingWithoutReason: Invariant = following({
  sentence: "nothing is sent but for a question or a change: a NACK never causes a resend by itself",
  follow: (history) => ({
    check: ({ ahead, known, model, send, states, taken, updates, vanished, warming, pending }) => {
      const { response, typeUrl } = send
      const subscription = model.subscriptions.get(typeUrl)
      const isReason =
        subscription === undefined ||
        send.isPart ||
        subscription.unanswered ||
        subscription.owed.size > 0 ||
        pending.updates.length + pending.removals.length + pending.superseded.length > 0 ||
        // What it is of an older state may have become what the client has.
        (updates.length > 0 && states.reached([], (state) => areIn(updates, typeUrl, state)).length > 0) ||
        (history.options.ttl && response.resources.some((resource) => resource.ttl !== undefined)) ||
        response.heartbeats.length > 0 ||
        // What is taken away first is said not to exist then.
        response.absent.some((name) => name.endsWith("/") || taken.has(`${typeUrl} ${name}`)) ||
        response.removed.some((name) => vanished.has(`${typeUrl} ${name}`) || known.has(`${typeUrl} ${name}`)) ||
        (typeUrl === ClusterLoadAssignment.typeUrl && response.removed.some((name) => warming.has(name))) ||
        response.resources.some(
          (resource) =>
            vanished.has(`${typeUrl} ${resource.name}`) ||
            ahead.has(`${typeUrl} ${resource.name}`) ||
            (typeUrl === ClusterLoadAssignment.typeUrl && warming.has(resource.name))
        )
      return isReason ? undefined : `${shortNameOf(typeUrl)} was sent for no reason`
    }
  })
})

/** What is to be sent of a type because it changed, and not because it was asked for. */
const updatesOf = (model: ReferenceModel.ReferenceModel, typeUrl: string): ReadonlyArray<string> =>
  ReferenceModel.pending(model, typeUrl).updates.filter((name) => !ReferenceModel.isAskedFor(model, typeUrl, name))

/**
 * Make before break, on aggregated streams.
 *
 * @since 0.1.0
 */
export const typesInOrder: Invariant = following({
  sentence:
    "on an aggregated stream what changed is of a state of the group whose types before it have gone out, deletions of one whose changes all have",
  follow: (history) =>
    history.options.typeUrl !== undefined
      ? undefined
      : {
          check: ({ model, removes, send, states, subscription, updates }) => {
            const order = (typeUrl: string) => byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY
            // Answers are never held back, so they come when they come; and so does what corrects a rejected response.
            if (subscription === undefined || subscription.unanswered || subscription.owed.size > 0) return undefined
            if (send.isCorrection) return undefined
            // A TTL is renewed when it is due.
            const renewed = [...send.response.resources, ...send.response.heartbeats]
            if (history.options.ttl && renewed.some(({ ttl }) => ttl !== undefined)) return undefined
            const others = Array.from(model.subscriptions)
              // What was just asked for is an answer, too.
              .filter(([typeUrl, each]) => typeUrl !== send.typeUrl && !each.unanswered)
              .map(([typeUrl]) => typeUrl)
            const isSome = (before: ReadonlyArray<string>, isOf: Parameters<States["reached"]>[1]) => {
              const counts = states.reached(before, isOf)
              return counts.length === 0 || counts.some((count) => count !== undefined)
            }
            /** The first type that has not come to any state that the response can be of. */
            const behind = (before: ReadonlyArray<string>, isOf: Parameters<States["reached"]>[1]) =>
              isSome(before, isOf) ? undefined : (before.find((typeUrl) => !isSome([typeUrl], isOf)) ?? before[0])
            const first = others.filter((typeUrl) => order(typeUrl) < order(send.typeUrl))
            const one = shortNameOf(send.typeUrl)
            const early = updates.length > 0 ? behind(first, (state) => areIn(updates, send.typeUrl, state)) : undefined
            if (early !== undefined) return `${one} before ${shortNameOf(early)}`
            const late =
              removes.length > 0 ? behind(others, (state) => areGone(removes, send.typeUrl, state)) : undefined
            if (late !== undefined) return `${one} deletes before ${shortNameOf(late)} is up to date`
            return undefined
          }
        }
})

/**
 * Fairness, on aggregated streams.
 *
 * @since 0.1.0
 */
export const nothingStarves: Invariant = following({
  sentence:
    "on an aggregated stream a type that has something to send is delayed by at most one response of each other type",
  follow: (history) => {
    if (history.options.typeUrl !== undefined) return undefined
    const { phaseDeadline, protocol } = history.options
    interface Wait {
      /** When a phase may have begun. */
      since: number | undefined
      /** How many clusters and endpoints were sent while it waits, by type: those of a phase under way, and its own. */
      readonly before: Map<string, number>
      /** How many responses of each other type it waited for that it should not have. */
      readonly counts: Map<string, number>
    }
    const waiting = new Map<string, Wait>()
    const isLate = (typeUrl: string) =>
      (byTypeUrl(typeUrl)?.order ?? Number.POSITIVE_INFINITY) > ClusterLoadAssignment.order
    /** What was just asked for and is answered: not what the client has as it is, and in state of the world only what exists. */
    const isAnswered = (
      { resources = [], subscriptions }: ReferenceModel.ReferenceModel,
      typeUrl: string,
      asked: Iterable<string>
    ): boolean =>
      Array.from(asked).some((name) => {
        const found = ReferenceModel.ledTo(resources, typeUrl, name)
        const held = subscriptions.get(typeUrl)?.sent.get(found?.name ?? name)?.identity
        return found === undefined ? protocol === "Incremental" : held !== `version ${found.version}`
      })
    const asked = new Map<string, ReadonlySet<string>>()
    /** By type: what the last response took away. */
    const removed = new Map<string, ReadonlyArray<string>>()
    return {
      check: ({ model, now, send }) => {
        const names = [...Array.from(send.response.aliases.values()).flat(), ...send.response.absent]
        const isHalf = names.some((name) => removed.get(send.typeUrl)?.includes(name) === true)
        const earlier = send.isPart ? (removed.get(send.typeUrl) ?? []) : []
        removed.set(send.typeUrl, [...earlier, ...send.response.removed])
        waiting.delete(send.typeUrl)
        asked.delete(send.typeUrl)
        // All parts of a response are one.
        if (send.isPart) return undefined
        for (const [typeUrl, wait] of waiting) {
          // Deletions are not of the type's turn among the changes; nor is what could not be in one response with them.
          if (send.response.resources.length + send.response.heartbeats.length === 0 || isHalf) continue
          // What waits for a phase has its time after that: one that was under way, and its own. A phase begins when the
          // clusters and endpoints of its state went out, and a client may let those wait.
          const isHeld = isLate(typeUrl) && model.subscriptions.get(typeUrl)?.unanswered !== true
          if (isHeld && !isLate(send.typeUrl)) {
            const before = (wait.before.get(send.typeUrl) ?? 0) + 1
            wait.before.set(send.typeUrl, before)
            if (before <= 2) wait.since = now
          }
          wait.since ??= now
          if (isHeld && now < wait.since + 2 * phaseDeadline) continue
          const count = (wait.counts.get(send.typeUrl) ?? 0) + 1
          wait.counts.set(send.typeUrl, count)
          if (count > 1) return `${shortNameOf(typeUrl)} waits, and ${shortNameOf(send.typeUrl)} is sent again`
        }
        return undefined
      },
      after: (model, before, input) => {
        if (input._tag === "Request") {
          const { typeUrl } = input.request
          const old = before.subscriptions.get(typeUrl)?.owed
          const added = Array.from(model.subscriptions.get(typeUrl)?.owed ?? []).filter(
            (name) => old?.has(name) !== true
          )
          asked.set(typeUrl, new Set([...(asked.get(typeUrl) ?? []), ...added]))
        }
        // What came to be, or went, since it was asked for may be answered in the round after.
        if (isChange(input)) asked.clear()
        for (const [typeUrl, { owed, unanswered }] of model.subscriptions) {
          const isWaiting =
            model.resources !== undefined &&
            (unanswered ||
              isAnswered(
                model,
                typeUrl,
                Array.from(asked.get(typeUrl) ?? []).filter((name) => owed.has(name))
              ) ||
              updatesOf(model, typeUrl).length > 0)
          if (!isWaiting) waiting.delete(typeUrl)
          else if (!waiting.has(typeUrl))
            waiting.set(typeUrl, { since: undefined, before: new Map(), counts: new Map() })
        }
      }
    }
  }
})

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
export const heartbeatsAreHeld: Invariant = following({
  sentence:
    "a heartbeat without a body names what this stream was sent or said to hold, renewed within its TTL and not rejected since",
  follow: () => {
    const last = new Map<string, { readonly at: number; readonly nonce: string; readonly isWhole: boolean }>()
    return {
      check: ({ model, now, rejected, send }) => {
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
      }
    }
  }
})

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
  nothingStarves,
  deadlinesPass,
  heartbeatsAreHeld,
  ttlsAreRenewed
}

/**
 * What a history breaks of all invariants but some, in words; nothing if it is in order.
 *
 * @since 0.1.0
 */
export const broken = (history: History, except: ReadonlyArray<Invariant> = []): ReadonlyArray<string> => {
  const kept = Object.entries(all).filter(([, invariant]) => !except.includes(invariant))
  // A walk is most of the work.
  const followers = new Map<Invariant, Follower>()
  for (const [, invariant] of kept) {
    const follower = isFollowing(invariant) ? invariant.follow(history) : undefined
    if (follower !== undefined) followers.set(invariant, follower)
  }
  const found = follow(history, Array.from(followers.values()))
  const problems = new Map(Array.from(followers.keys(), (invariant, index) => [invariant, found[index] ?? []]))
  return kept.flatMap(([name, invariant]) => {
    const all = isFollowing(invariant) ? (problems.get(invariant) ?? []) : invariant.check(history)
    return all.map((problem) => `${name} (${invariant.sentence}): ${problem}`)
  })
}

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

/** Whether a request may change what is asked for. */
const hasNames = (request: Request): boolean =>
  request._tag === "StateOfTheWorld" ||
  request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length > 0

/** What is known at a response, before it counts. */
interface Look {
  readonly now: number
  readonly model: ReferenceModel.ReferenceModel
  readonly subscription: ReferenceModel.Subscription | undefined
  /** `isCorrection`: the client rejected the response of the type before it; `isPart`: it is a later part of one. */
  readonly send: Send & { readonly isCorrection: boolean; readonly isPart: boolean }
  /** What it has that is new to the client. */
  readonly updates: ReadonlyArray<Resource>
  /** What it takes away from the client. */
  readonly removes: ReadonlyArray<string>
  /** What the client would have to be sent of the type. */
  readonly pending: ReferenceModel.Pending
  readonly states: States
  /** `<type URL> <name>` of what was gone at some time since it was sent: it may be sent again. */
  readonly vanished: ReadonlySet<string>
  /** The same for what was sent ahead of other changes of the type because it was asked for: it may be sent again with them. */
  readonly ahead: ReadonlySet<string>
  /** The same for what the client was sent, by name and alias, and was not taken away. */
  readonly known: ReadonlySet<string>
  /** The same for what the last response of the type took away. */
  readonly taken: ReadonlySet<string>
  /** Names of assignments whose cluster was sent. */
  readonly warming: ReadonlySet<string>
  /** `<type URL> <nonce>` of what was rejected. */
  readonly rejected: ReadonlySet<string>
}

/**
 * Walks a history with a model that knows what the client was sent and asked for, and looks at each response before it counts;
 * and at the model after each input. By follower: what is wrong, of a step the first.
 */
const follow = (history: History, followers: ReadonlyArray<Follower>): ReadonlyArray<ReadonlyArray<string>> => {
  const found = followers.map((): Array<string> => [])
  const isIncremental = history.options.protocol === "Incremental"
  const isAggregated = history.options.typeUrl === undefined
  let model = ReferenceModel.make(history.options.protocol, history.options.wildcardOff)
  const vanished = new Set<string>()
  const ahead = new Set<string>()
  const known = new Set<string>()
  const taken = new Set<string>()
  const warming = new Set<string>()
  const rejected = new Set<string>()
  const states = new States()
  /** `<type URL> <name>` of what is there and was asked for, and was not in the answer, which was of an older state. */
  const later = new Set<string>()
  /** By type: the nonce of the last response, and whether it was rejected. */
  const last = new Map<string, { readonly nonce: string; readonly isRejected: boolean }>()
  /** The last response. */
  let latest: Look["send"] | undefined
  let responses = 0
  for (const [index, step] of history.steps.entries()) {
    const { input, now } = step
    const isWrong = new Set<Follower>()
    const before = model
    if (input._tag === "Request") {
      ;[model] = ReferenceModel.step(model, input)
      const { errorDetail, responseNonce, typeUrl } = input.request
      if (errorDetail !== undefined) rejected.add(`${typeUrl} ${responseNonce}`)
      const sent = last.get(typeUrl)
      if (errorDetail !== undefined && sent?.nonce === responseNonce) last.set(typeUrl, { ...sent, isRejected: true })
    }
    if (isChange(input)) {
      const resources = input.group === undefined ? undefined : ResourceGroups.all(input.group)
      ;[model] = ReferenceModel.step(model, { _tag: "Changed", resources })
      states.changed(resources)
      for (const [typeUrl, { sent }] of model.subscriptions) {
        for (const [name, { aliases }] of sent) {
          const isThere = input.group !== undefined && ResourceGroups.get(input.group, { typeUrl, name }) !== undefined
          if (!isThere) for (const each of [name, ...aliases]) vanished.add(`${typeUrl} ${each}`)
        }
      }
    }
    if (isAggregated && isChange(input)) states.look(model, responses, undefined)
    if (isAggregated && input._tag === "Request" && hasNames(input.request)) {
      states.look(model, responses, input.request.typeUrl)
    }
    for (const { after } of followers) after?.(model, before, input)
    for (const send of sendsOf(step)) {
      const { response, typeUrl } = send
      const subscription = model.subscriptions.get(typeUrl)
      const isAnswer = (subscription?.owed.size ?? 0) > 0
      const pending = ReferenceModel.pending(model, typeUrl)
      const updates = response.resources.filter(
        ({ fingerprint, name }) => subscription?.sent.get(name)?.identity !== fingerprint
      )
      const isFullState = !isIncremental && byTypeUrl(typeUrl)?.family === "full-state"
      const brought = new Set(response.resources.flatMap(({ name }) => [name, ...(response.aliases.get(name) ?? [])]))
      const removes = Array.from(subscription?.sent.keys() ?? []).filter((name) =>
        isFullState
          ? pending.removals.includes(name) && !response.resources.some((each) => each.name === name)
          : // An assignment that does not exist any more is answered at once when its cluster was sent.
            response.removed.includes(name) &&
            !(typeUrl === ClusterLoadAssignment.typeUrl && warming.has(name)) &&
            // What has its place comes with it.
            subscription?.sent.get(name)?.asked.some((alias) => brought.has(alias)) !== true
      )
      const isPart = latest?.typeUrl === typeUrl && latest.response.next !== undefined
      const isCorrection = last.get(typeUrl)?.isRejected === true || (isPart && latest?.isCorrection === true)
      const look: Look = {
        now,
        model,
        subscription,
        send: { ...send, isCorrection, isPart },
        updates: updates.filter(
          ({ name }) =>
            !later.has(`${typeUrl} ${name}`) && !(typeUrl === ClusterLoadAssignment.typeUrl && warming.has(name))
        ),
        removes,
        pending,
        states,
        vanished,
        ahead,
        known,
        taken,
        warming,
        rejected
      }
      for (const [at, follower] of followers.entries()) {
        if (isWrong.has(follower)) continue
        const problem = follower.check(look)
        if (problem === undefined) continue
        isWrong.add(follower)
        found[at]?.push(atStep(step, index, problem))
      }
      for (const { name } of response.resources) {
        for (const each of [name, ...(response.aliases.get(name) ?? [])]) known.add(`${typeUrl} ${each}`)
      }
      if (!isPart) for (const each of taken) if (each.startsWith(`${typeUrl} `)) taken.delete(each)
      for (const name of response.removed) {
        known.delete(`${typeUrl} ${name}`)
        taken.add(`${typeUrl} ${name}`)
      }
      latest = { ...send, isCorrection, isPart }
      last.set(typeUrl, { nonce: send.nonce, isRejected: false })
      for (const name of subscription?.owed ?? []) {
        if (model.resources?.some((each) => each.typeUrl === typeUrl && each.name === name) === true) {
          later.add(`${typeUrl} ${name}`)
        }
      }
      for (const { name } of response.resources) later.delete(`${typeUrl} ${name}`)
      model = ReferenceModel.observe(model, response, send.nonce)
      for (const resource of response.resources) {
        // Of an older state may be sent what is gone already.
        const isThere =
          model.resources?.some((each) => each.typeUrl === typeUrl && each.name === resource.name) ?? false
        if (isThere) vanished.delete(`${typeUrl} ${resource.name}`)
        else vanished.add(`${typeUrl} ${resource.name}`)
        if (isAnswer) ahead.add(`${typeUrl} ${resource.name}`)
        else ahead.delete(`${typeUrl} ${resource.name}`)
        if (resource.assignment !== undefined) warming.add(resource.assignment)
        if (typeUrl === ClusterLoadAssignment.typeUrl) warming.delete(resource.name)
      }
      responses++
      if (isAggregated) states.look(model, responses, typeUrl)
    }
  }
  return found
}
