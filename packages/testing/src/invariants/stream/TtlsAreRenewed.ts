/**
 * ★ TTLs are renewed in time.
 *
 * @since 0.1.0
 */
import * as ResourceGroups from "@effect-xds/core/resource/ResourceGroup"
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import { type Invariant, eachStep, isChange } from "./StreamInvariant.js"

/**
 * A resource with a TTL is renewed before that ends, as far as there is credit.
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
    const isThere = (key: string): boolean =>
      model.resources?.some(({ name, ttl, typeUrl }) => ttl !== undefined && key === `${typeUrl} ${name}`) === true
    return eachStep({ options, steps }, ({ deadline, input, now, outputs }) => {
      if (input._tag === "Writable") credit = true
      if (input._tag === "Request") [model] = ReferenceModel.step(model, input)
      if (isChange(input)) {
        const resources = input.group === undefined ? undefined : ResourceGroups.all(input.group)
        ;[model] = ReferenceModel.step(model, { _tag: "Changed", resources })
        // A resource that did not exist for a time needed no renewal.
        for (const key of last.keys()) if (!isThere(key)) last.set(key, Number.POSITIVE_INFINITY)
      }
      for (const output of outputs) {
        if (output._tag !== "Send") continue
        credit = false
        const { nonce, response, typeUrl } = output
        model = ReferenceModel.observe(model, response, nonce)
        // A response of an older state may have resources that do not exist any more.
        for (const { name } of [...response.resources, ...response.heartbeats]) {
          const key = `${typeUrl} ${name}`
          last.set(key, isThere(key) ? now : Number.POSITIVE_INFINITY)
        }
      }
      if (!credit || model.resources === undefined) return undefined
      for (const [typeUrl, subscription] of model.subscriptions) {
        if (subscription.unanswered) continue
        for (const resource of model.resources) {
          const { fingerprint, name, ttl } = resource
          if (resource.typeUrl !== typeUrl || ttl === undefined) continue
          if (subscription.sent.get(name)?.identity !== fingerprint) continue
          if (!ReferenceModel.isSubscribed(model, subscription, resource)) continue
          const due = (last.get(`${typeUrl} ${name}`) ?? Number.NEGATIVE_INFINITY) + ttl
          if (Math.max(deadline, now) > due) return `${shortNameOf(typeUrl)} ${name} is lost before its renewal`
        }
      }
      return undefined
    })
  }
}
