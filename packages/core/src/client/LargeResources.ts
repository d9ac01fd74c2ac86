/**
 * The large resources of a response, decoded in steps before the response is an input: a step of the client cannot be divided. What
 * comes out is the same input with what was decoded, so the step stays pure, and the decision is its own.
 *
 * @since 0.1.0
 */
import * as MessageSteps from "@effect-xds/proto/MessageSteps"
import type * as Steps from "../Steps.js"
import type { Received } from "../wire/ReceivedResource.js"
import * as ReceivedResources from "../wire/ReceivedResource.js"
import type * as Client from "./Client.js"
import * as ClientCache from "./ClientCache.js"
import * as Decoding from "./Decoding.js"

type Response = Client.Input & { readonly _tag: "Response" }

const isLarge = (resource: Received): boolean => ReceivedResources.sizeOf(resource) >= MessageSteps.least

/**
 * The input with its large resources decoded, in steps; `undefined`: it has none. ★ What the client holds already is not decoded
 * again. No other input may be stepped before the result: the step decides by the state that it finds.
 *
 * @since 0.1.0
 */
export const decode = (client: Client.Client, input: Response): Steps.Steps<Response> | undefined =>
  input.response.resources.some(isLarge) ? decoding(client, input) : undefined

const decoding = function* (client: Client.Client, input: Response): Steps.Steps<Response> {
  const { response, stream } = input
  const to = client.streams.get(stream)
  const typeUrl = response.typeUrl === "" ? (to?.typeUrl ?? "") : response.typeUrl
  const decoder = client.options.decoders.find((each) => each.typeUrl === typeUrl)
  if (to === undefined || decoder === undefined) return input
  const { named } = ClientCache.inUse(client.cache, typeUrl, to.server.id, response.resources.length)
  const comparison = new ReceivedResources.Comparison()
  const resources: Array<Received> = []
  for (const each of response.resources) {
    if (!isLarge(each) || each.typeUrl !== typeUrl) {
      resources.push(each)
      continue
    }
    const resource = ReceivedResources.read(each)
    const held = named(Decoding.nameIn(decoder, resource))?.bytes
    const isHeld = held !== undefined && resource.value !== undefined && comparison.isEqual(held, resource.value)
    resources.push(isHeld ? each : yield* Decoding.decodeInSteps(decoder, resource))
  }
  return { ...input, response: { ...response, resources } }
}
