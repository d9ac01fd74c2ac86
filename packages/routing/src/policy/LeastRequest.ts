/**
 * `least_request_experimental`: of a few endpoints that are drawn, the one with the fewest calls.
 *
 * @see https://github.com/grpc/proposal/blob/master/A48-xds-least-request-lb-policy.md
 * @since 0.1.0
 */
import type { Counted } from "../Picker.js"
import * as Pickers from "../Picker.js"
import { define } from "../Policy.js"
import * as PerEndpoint from "./PerEndpoint.js"

/**
 * How many are drawn: at least 2; more than 10 is 10. Default: 2.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly choiceCount?: number | undefined
}

const maxChoices = 10

/**
 * The policy. ★ What it counts belongs to the endpoint in this policy, not to the picker: it survives new pickers.
 *
 * @since 0.1.0
 */
export const policy = define(
  PerEndpoint.make<Config, Counted>({
    name: "least_request_experimental",
    each: ({ node, picker }) => ({ active: node, child: picker }),
    ready: ({ choiceCount = 2 }, children) => ({
      _tag: "LeastRequest",
      choices: Math.min(choiceCount, maxChoices),
      children
    }),
    failed: Pickers.fail("NoEndpoint", "least_request has no endpoints")
  })
)
