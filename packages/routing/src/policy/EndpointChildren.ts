/**
 * The children of a policy that has a `pick_first` child for each endpoint. What one endpoint changes of them does not depend on how
 * many there are.
 *
 * @see https://github.com/grpc/proposal/blob/master/A61-IPv4-IPv6-dualstack-backends.md
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as List from "effect/List"
import * as Option from "effect/Option"
import type * as Children from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import * as Connectivities from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import * as Pickers from "../Picker.js"
import * as SameData from "../internal/SameData.js"
import type { Configured, Output } from "../Policy.js"

/**
 * An endpoint and what its connection says.
 *
 * @since 0.1.0
 */
export interface Child {
  /** Its place among the endpoints. */
  readonly at: number
  /** ★ Sticky: a failure counts until READY. */
  readonly state: Connectivity
  readonly picker: Picker
  readonly endpoint: Endpoint
}

/**
 * By what tells endpoints apart; one whose addresses are those of another is that other.
 *
 * @since 0.1.0
 */
export type EndpointChildren = HashMap.HashMap<string, Child>

/**
 * The child of an endpoint.
 *
 * @since 0.1.0
 */
export const find = (self: EndpointChildren, name: string): Child | undefined =>
  Option.getOrUndefined(HashMap.get(self, name))

/**
 * What a child is after it said something.
 *
 * @since 0.1.0
 */
export const after = (before: Child, { picker, state }: Children.Heard): Child => ({
  at: before.at,
  state: Connectivities.sticky(before.state, state),
  picker,
  endpoint: before.endpoint
})

/**
 * The children after what they said, the last first.
 *
 * @since 0.1.0
 */
export const record = (self: EndpointChildren, heard: List.List<Children.Heard>): EndpointChildren =>
  HashMap.mutate(self, (all) => {
    for (const said of List.reverse(heard)) {
      const before = find(all, said.name)
      if (before !== undefined) HashMap.set(all, said.name, after(before, said))
    }
  })

/**
 * The children of these endpoints, in their order: those of before keep what they said.
 *
 * @param config of the child of an endpoint
 * @param initial the state of a new one
 * @since 0.1.0
 */
export const update = (
  self: EndpointChildren,
  endpoints: ReadonlyMap<string, Endpoint>,
  config: Configured,
  initial: Connectivity
): readonly [EndpointChildren, ReadonlyArray<Output>] => {
  const outputs: Array<Output> = []
  const children = HashMap.mutate(self, (all) => {
    let place = 0
    for (const [key, endpoint] of endpoints) {
      const at = place++
      const before = find(self, key)
      // ★ One that is connected, and of which nothing is said anew, has nothing to do: of thousands most are so.
      if (before?.state === "READY" && SameData.isSameToCalls(before.endpoint, endpoint)) {
        if (before.at !== at) HashMap.set(all, key, { ...before, at })
        continue
      }
      const { picker = Pickers.queue, state = initial } = before ?? {}
      HashMap.set(all, key, { at, state, picker, endpoint })
      const output = before === undefined ? "Create" : "Update"
      outputs.push({ _tag: output, name: key, child: config, endpoints: [endpoint] })
    }
    for (const key of HashMap.keys(self)) {
      if (endpoints.has(key)) continue
      HashMap.remove(all, key)
      outputs.push({ _tag: "Remove", name: key })
    }
  })
  return [children, outputs]
}
