/**
 * A walk through a history beside the reference model. Many rules share one walk.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import type { Input } from "@effect-xds/core/server/ServerStream"
import type { Request } from "@effect-xds/core/wire/Request"
import { byTypeUrl, ClusterLoadAssignment } from "@effect-xds/proto/ResourceType"
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import { States } from "../States.js"
import { type Invariant, type History, type Send, isChange, sendsOf, atStep } from "./StreamInvariant.js"

/**
 * Checks each response of a walk through a history.
 *
 * @since 0.1.0
 */
export interface Follower {
  readonly check: (look: Look) => string | undefined
  /** After each input. */
  readonly after?: (
    model: ReferenceModel.ReferenceModel,
    before: ReferenceModel.ReferenceModel,
    input: Input,
    now: number
  ) => void
}

/** An invariant that is checked on a walk, together with others. */
interface Following extends Invariant {
  /** `undefined`: the invariant does not apply to such streams. */
  readonly follow: (history: History) => Follower | undefined
}

/**
 * An invariant from a sentence and a follower.
 *
 * @since 0.1.0
 */
export const following = (rule: Pick<Following, "sentence" | "follow">): Following => ({
  ...rule,
  check: (history) => {
    const follower = rule.follow(history)
    return follower === undefined ? [] : (follow(history, [follower])[0] ?? [])
  }
})

/**
 * Whether an invariant is checked on a walk.
 *
 * @since 0.1.0
 */
export const isFollowing = (invariant: Invariant): invariant is Following => "follow" in invariant

/**
 * Names that are due because they changed, not because they were requested.
 *
 * @since 0.1.0
 */
export const updatesOf = (model: ReferenceModel.ReferenceModel, typeUrl: string): ReadonlyArray<string> =>
  ReferenceModel.pending(model, typeUrl).updates.filter((name) => !ReferenceModel.isAskedFor(model, typeUrl, name))

/** Whether a request may change the subscription. */
const hasNames = (request: Request): boolean =>
  request._tag === "StateOfTheWorld" ||
  request.resourceNamesSubscribe.length + request.resourceNamesUnsubscribe.length > 0

/** The names in a request that get an answer. In state of the world, only those that were not due before. */
const askedBy = (request: Request, toAnswer: ReadonlySet<string> = new Set()): ReadonlyArray<string> =>
  request._tag === "StateOfTheWorld"
    ? request.resourceNames.filter((name) => !toAnswer.has(name))
    : [...request.resourceNamesSubscribe, ...request.resourceNamesUnsubscribe]

/** The state at a response, before the response counts. */
interface Look {
  readonly now: number
  readonly model: ReferenceModel.ReferenceModel
  readonly subscription: ReferenceModel.Subscription | undefined
  /**
   * `isPart`: a later part of a response. For all parts, as with the first one: `isAnswer`: the client has requested names;
   * `isCorrection`: the client NACKed the response of the type before it.
   */
  readonly send: Send & { readonly isPart: boolean; readonly isAnswer: boolean; readonly isCorrection: boolean }
  /** Its resources that are new to the client. */
  readonly fresh: ReadonlyArray<Resource>
  /** Those of them that are due because they changed: not late answers, and not assignments of clusters that were sent. */
  readonly updates: ReadonlyArray<Resource>
  /** Names that it removes from the client. */
  readonly removes: ReadonlyArray<string>
  /** The resources of the type that are due. */
  readonly pending: ReferenceModel.Pending
  readonly states: States
  /** `<type URL> <name>` of resources that did not exist at some time since they were sent: they may be sent again. */
  readonly vanished: ReadonlySet<string>
  /**
   * The same for resources that were sent ahead of other changes, because they were requested: they may be sent again with
   * those.
   */
  readonly ahead: ReadonlySet<string>
  /** The same for names and aliases of resources that were sent and not removed. */
  readonly known: ReadonlySet<string>
  /** The same for names that the last response of the type removed. */
  readonly taken: ReadonlySet<string>
  /** Names of assignments whose cluster was sent. */
  readonly warming: ReadonlySet<string>
  /** `<type URL> <nonce>` of NACKed responses. */
  readonly rejected: ReadonlySet<string>
}

/**
 * Walks through a history with a model of what the client requested and was sent. Checks each response before it counts, and
 * the model after each input. Returns the problems by follower, at most one per step.
 *
 * @since 0.1.0
 */
export const follow = (history: History, followers: ReadonlyArray<Follower>): ReadonlyArray<ReadonlyArray<string>> => {
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
  /** `<type URL> <name>` of requested resources that exist but were not in the answer, which was of an older state. */
  const later = new Set<string>()
  /** By type: the nonce of the last response, and whether it was NACKed. */
  const last = new Map<string, { readonly nonce: string; readonly isRejected: boolean }>()
  /** The last response. */
  let latest: Look["send"] | undefined
  /** Names of its type that were requested after its first part. */
  const since = new Set<string>()
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
      if (latest?.typeUrl === typeUrl && latest.response.next !== undefined) {
        for (const name of askedBy(input.request, before.subscriptions.get(typeUrl)?.toAnswer)) since.add(name)
      }
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
    for (const { after } of followers) after?.(model, before, input, now)
    for (const send of sendsOf(step)) {
      const { response, typeUrl } = send
      const subscription = model.subscriptions.get(typeUrl)
      const isAsked = (subscription?.toAnswer.size ?? 0) > 0
      const pending = ReferenceModel.pending(model, typeUrl)
      const fresh = response.resources.filter(
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
            // A resource that takes its place comes with it.
            subscription?.sent.get(name)?.asked.some((alias) => brought.has(alias)) !== true
      )
      const isPart = latest?.typeUrl === typeUrl && latest.response.next !== undefined
      const isAnswer = isAsked || subscription?.unanswered === true || (isPart && latest?.isAnswer === true)
      const isCorrection = last.get(typeUrl)?.isRejected === true || (isPart && latest?.isCorrection === true)
      const look: Look = {
        now,
        model,
        subscription,
        send: { ...send, isPart, isAnswer, isCorrection },
        fresh,
        updates: fresh.filter(
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
      latest = { ...send, isPart, isAnswer, isCorrection }
      last.set(typeUrl, { nonce: send.nonce, isRejected: false })
      for (const name of subscription?.toAnswer ?? []) {
        if (model.resources?.some((each) => each.typeUrl === typeUrl && each.name === name) === true) {
          later.add(`${typeUrl} ${name}`)
        }
      }
      for (const { name } of response.resources) later.delete(`${typeUrl} ${name}`)
      if (!isPart) since.clear()
      model = ReferenceModel.observe(model, response, send.nonce, since)
      for (const resource of response.resources) {
        // A response of an older state may carry a resource that no longer exists.
        const isThere =
          model.resources?.some((each) => each.typeUrl === typeUrl && each.name === resource.name) ?? false
        if (isThere) vanished.delete(`${typeUrl} ${resource.name}`)
        else vanished.add(`${typeUrl} ${resource.name}`)
        if (isAsked) ahead.add(`${typeUrl} ${resource.name}`)
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
