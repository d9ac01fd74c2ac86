/**
 * What of a call the ring of `ring_hash` is asked with.
 *
 * @see https://github.com/grpc/proposal/blob/master/A42-xds-ring-hash-lb-policy.md
 * @since 0.1.0
 */
import * as Ascii from "@effect-xds/discovery/Ascii"
import * as RegularExpression from "@effect-xds/re2/RegularExpression"
import type { RouteAction_HashPolicy as HashPolicyMessage } from "@effect-xds/proto/envoy/config/route/v3/route_components"
import * as Either from "effect/Either"
import type { CallHeaders } from "./CallHeaders.js"
import * as Headers from "./CallHeaders.js"
import type { Collector } from "./RouteError.js"
import * as XxHash64 from "./XxHash64.js"

/**
 * One policy. `Unsupported` gives no hash; it may still be terminal.
 *
 * @since 0.1.0
 */
export type HashPolicy =
  | {
      readonly _tag: "Header"
      /** In lower case. */
      readonly name: string
      readonly rewrite:
        { readonly regex: RegularExpression.RegularExpression; readonly substitution: string } | undefined
      readonly terminal: boolean
    }
  | { readonly _tag: "ChannelId"; readonly terminal: boolean }
  | { readonly _tag: "Unsupported"; readonly terminal: boolean }

/** The filter state that stands for the channel. */
const channelId = "io.grpc.channel_id"

/**
 * The policy that a message means. Mistakes are with `errors`.
 *
 * @since 0.1.0
 */
export const make = ({ policySpecifier, terminal }: HashPolicyMessage, path: string, errors: Collector): HashPolicy => {
  const unsupported: HashPolicy = { _tag: "Unsupported", terminal }
  if (policySpecifier.case === "filterState") {
    return policySpecifier.value.key === channelId ? { _tag: "ChannelId", terminal } : unsupported
  }
  if (policySpecifier.case !== "header") return unsupported
  const { headerName, regexRewrite } = policySpecifier.value
  if (headerName === "")
    errors.add(`${path}.header.header_name`, "HashPolicy", "the header's name is empty; name a header")
  const name = Ascii.fold(headerName)
  if (regexRewrite === undefined) return { _tag: "Header", name, rewrite: undefined, terminal }
  const at = `${path}.header.regex_rewrite`
  if (regexRewrite.pattern === undefined) {
    errors.add(`${at}.pattern`, "HashPolicy", "pattern is missing; it is required here")
    return unsupported
  }
  const regex = RegularExpression.make(regexRewrite.pattern.regex)
  if (Either.isLeft(regex)) {
    errors.add(`${at}.pattern.regex`, "InvalidRegex", regex.left)
    return unsupported
  }
  const { substitution } = regexRewrite
  const problem = RegularExpression.problemOfSubstitution(regex.right, substitution)
  if (problem !== undefined) errors.add(`${at}.substitution`, "HashPolicy", problem)
  return { _tag: "Header", name, rewrite: { regex: regex.right, substitution }, terminal }
}

const rotateLeft = (hash: bigint): bigint => BigInt.asUintN(64, (hash << 1n) | (hash >> 63n))

/**
 * The hash of a call, 64 bits; `undefined` if no policy gives one: then it is drawn.
 *
 * @param channel a random number of 64 bits, one for each channel
 * @since 0.1.0
 */
export const hash = (
  policies: ReadonlyArray<HashPolicy>,
  headers: CallHeaders,
  channel: bigint
): bigint | undefined => {
  let found: bigint | undefined
  for (const policy of policies) {
    const one = hashOf(policy, headers, channel)
    if (one !== undefined) found = found === undefined ? one : rotateLeft(found) ^ one
    if (policy.terminal && found !== undefined) break
  }
  return found
}

const hashOf = (policy: HashPolicy, headers: CallHeaders, channel: bigint): bigint | undefined => {
  if (policy._tag === "ChannelId") return channel
  if (policy._tag === "Unsupported") return undefined
  const value = Headers.see(headers, policy.name)
  if (value === undefined) return undefined
  const { rewrite } = policy
  return XxHash64.ofString(rewrite === undefined ? value : rewrite.regex.replaceAll(value, rewrite.substitution))
}
