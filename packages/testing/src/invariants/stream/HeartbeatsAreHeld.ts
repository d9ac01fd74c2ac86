/**
 * ★ A heartbeat names only what the client holds.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import { shortNameOf } from "@effect-xds/proto/ResourceType"
import type { Invariant } from "./StreamInvariant.js"
import { following } from "./Walk.js"

/**
 * A client rejects the heartbeat of a resource that it does not hold: after it lost one, every heartbeat, for ever.
 *
 * @since 0.1.0
 */
export const heartbeatsAreHeld: Invariant = following({
  sentence:
    "a heartbeat without a body names what this stream was sent or said to hold, at that version, renewed within its TTL and not rejected since",
  follow: () => {
    const last = new Map<
      string,
      { readonly at: number; readonly nonce: string; readonly version: string; readonly isWhole: boolean }
    >()
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
          else if (before !== undefined && before.version !== version) {
            problem = `${what} at version ${version}, and is held at ${before.version}`
          } else if (before !== undefined && now > before.at + ttl) problem = `${what} after ${now - before.at} ms`
          else if (before?.isWhole === false && rejected.has(`${typeUrl} ${before.nonce}`)) {
            problem = `${what} after a heartbeat was rejected`
          }
          last.set(keyOf(resource), { at: now, nonce, version, isWhole: false })
        }
        for (const resource of response.resources) {
          last.set(keyOf(resource), { at: now, nonce, version: resource.version, isWhole: true })
        }
        return problem
      }
    }
  }
})
