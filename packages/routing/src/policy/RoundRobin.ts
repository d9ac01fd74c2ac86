/**
 * `round_robin`: the endpoints that are READY, in turn.
 *
 * @see https://github.com/grpc/proposal/blob/master/A61-IPv4-IPv6-dualstack-backends.md
 * @since 0.1.0
 */
import type { Picker } from "../Picker.js"
import * as Pickers from "../Picker.js"
import { define } from "../Policy.js"
import * as PerEndpoint from "./PerEndpoint.js"

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define(
  PerEndpoint.make<null, Picker>({
    name: "round_robin",
    each: ({ picker }) => picker,
    ready: (_, children) => ({ _tag: "RoundRobin", children }),
    failed: Pickers.fail("NoEndpoint", "round_robin has no endpoints")
  })
)
