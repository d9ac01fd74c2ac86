/**
 * The reference model follows another server: it records what that one sends.
 *
 * @since 0.1.0
 */
import { isNamed, ledTo, collectionOf } from "./ReferenceNames.js"
import {
  type ReferenceModel,
  sentOf,
  aliasesAsked,
  noBody,
  hasWildcard,
  isQuoted,
  unreported,
  type Subscription
} from "./ReferenceSubscription.js"
import type { Response } from "@effect-xds/core/wire/Response"
import { byTypeUrl, VirtualHost } from "@effect-xds/proto/ResourceType"

/**
 * Records a response of another server. So the model follows that server, and knows at each time what is due; it gets no credit
 * of its own.
 *
 * @param since for a later part of a response: names requested after the first part, `*` for everything. Only names that the
 * part reports missing are answered by it: its resources were found before
 * @since 0.1.0
 */
export const observe = (
  self: ReferenceModel,
  response: Response,
  nonce: string,
  since: ReadonlySet<string> = new Set()
): ReferenceModel => {
  const before = self.subscriptions.get(response.typeUrl)
  if (before === undefined) return self
  const isFullState = self.protocol === "StateOfTheWorld" && byTypeUrl(response.typeUrl)?.family === "full-state"
  const sent = new Map(isFullState ? [] : before.sent)
  const toAnswer = new Set(before.toAnswer)
  toAnswer.delete("*")
  // A quoted version that was current counts as sent.
  for (const resource of self.resources ?? []) {
    const { name, typeUrl, version } = resource
    if (typeUrl !== response.typeUrl || sent.get(name)?.identity !== `version ${version}`) continue
    sent.set(name, sentOf(resource, aliasesAsked(self, before, resource)))
  }
  for (const [name, { identity }] of sent) if (identity === noBody) sent.delete(name)
  // After the first response, resources that the client held from an earlier stream and did not request do not count on this
  // stream, even if `*` is requested later.
  if (!hasWildcard(self, response.typeUrl, before)) {
    for (const [name, { identity }] of sent) {
      if (isQuoted(identity) && !isNamed(before.names, name)) sent.delete(name)
    }
  }
  for (const resource of [...response.resources, ...response.heartbeats]) {
    const asked = response.aliases.get(resource.name) ?? []
    for (const each of asked) if (sent.get(each) === unreported) sent.delete(each)
    for (const [other, each] of sent) {
      const others = each.asked.filter((name) => name !== resource.name && !asked.includes(name))
      if (others.length < each.asked.length) sent.set(other, { ...each, asked: others })
    }
    // By a name that leads nowhere now the client still knows it, until that is reported.
    const lost = (sent.get(resource.name)?.asked ?? []).filter(
      (name) => before.names.has(name) && ledTo(self.resources ?? [], response.typeUrl, name) === undefined
    )
    sent.set(resource.name, sentOf(resource, [...asked, ...lost.filter((name) => !asked.includes(name))]))
    for (const each of [resource.name, collectionOf(resource.name), ...asked]) toAnswer.delete(each)
  }
  const gone = [...response.removed, ...response.absent]
  const told = new Set([
    ...gone,
    ...response.resources.flatMap(({ name }) => [name, ...(response.aliases.get(name) ?? [])])
  ])
  for (const name of gone) {
    // Other names by which it was requested must still be reported.
    for (const each of sent.get(name)?.asked ?? []) {
      if (!before.names.has(each) || told.has(each) || sent.has(each)) continue
      sent.set(each, unreported)
      if (ledTo(self.resources ?? [], response.typeUrl, each) !== undefined) toAnswer.add(each)
    }
    sent.delete(name)
    for (const [other, each] of sent) {
      if (each.asked.includes(name)) sent.set(other, { ...each, asked: each.asked.filter((asked) => asked !== name) })
    }
    // A removed virtual host is reported missing afterwards, unless another one has the name.
    const isHost = response.typeUrl === VirtualHost.typeUrl && !response.absent.includes(name)
    const isOther = ledTo(self.resources ?? [], response.typeUrl, name) !== undefined
    if (!before.names.has(name)) toAnswer.delete(name)
    else if (isOther) toAnswer.add(name)
    else if (!isHost) toAnswer.delete(name)
  }
  // In state of the world, a response without a name is the only answer to a name without a resource.
  if (self.protocol === "StateOfTheWorld") toAnswer.clear()
  for (const name of since) if (before.toAnswer.has(name) && !response.removed.includes(name)) toAnswer.add(name)
  const unanswered = before.unanswered && since.has("*")
  const after: Subscription = { ...before, sent, toAnswer, unanswered, lastNonce: nonce }
  return { ...self, subscriptions: new Map(self.subscriptions).set(response.typeUrl, after) }
}
