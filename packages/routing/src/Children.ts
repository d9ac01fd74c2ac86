/**
 * The children of a policy that has several, by name: what they said, and for how long those are kept that the config has
 * no more.
 *
 * @see https://github.com/grpc/proposal/blob/master/A28-xds-traffic-splitting-and-routing.md "Weighted target LB policy"
 * @since 0.1.0
 */
import * as List from "effect/List"
import type { Connectivity } from "./Connectivity.js"
import * as Connectivities from "./Connectivity.js"
import type { Endpoint } from "./Endpoint.js"
import type { Picker } from "./Picker.js"
import type { Configured, Output } from "./Policy.js"

/**
 * Milliseconds for which a child that is not needed is kept: 15 minutes.
 *
 * @since 0.1.0
 */
export const retention = 15 * 60_000

/**
 * A child.
 *
 * @since 0.1.0
 */
export interface Child {
  /** ★ Sticky: what it said last, but a failure counts until READY. */
  readonly state: Connectivity
  /** `undefined`: it said nothing yet. */
  readonly picker: Picker | undefined
  /** Since when it is not needed, in milliseconds; `undefined`: it is. */
  readonly unusedSince: number | undefined
}

/**
 * Children by name.
 *
 * @since 0.1.0
 */
export type Children = ReadonlyMap<string, Child>

/**
 * No children.
 *
 * @since 0.1.0
 */
export const empty: Children = new Map()

/**
 * What a child is to be given.
 *
 * @since 0.1.0
 */
export interface Wanted {
  readonly child: Configured
  readonly endpoints: ReadonlyArray<Endpoint>
}

/**
 * Brings the children to those that are wanted. A new one is CONNECTING; ★ one that is there is updated and never made
 * again, also within its retention; one that is not wanted is kept.
 *
 * @since 0.1.0
 */
export const update = (
  self: Children,
  wanted: ReadonlyMap<string, Wanted>,
  now: number
): readonly [Children, ReadonlyArray<Output>] => {
  const next = new Map<string, Child>()
  const outputs: Array<Output> = []
  for (const [name, child] of self) {
    const unusedSince = wanted.has(name) ? undefined : (child.unusedSince ?? now)
    next.set(name, child.unusedSince === unusedSince ? child : { ...child, unusedSince })
  }
  for (const [name, { child, endpoints }] of wanted) {
    const isNew = !next.has(name)
    if (isNew) next.set(name, { state: "CONNECTING", picker: undefined, unusedSince: undefined })
    outputs.push({ _tag: isNew ? "Create" : "Update", name, child, endpoints })
  }
  return [next, outputs]
}

/**
 * What a child said.
 *
 * @since 0.1.0
 */
export interface Heard {
  readonly name: string
  readonly state: Connectivity
  readonly picker: Picker
}

/**
 * Notes what children said, the last first; one that is kept unused is tracked, too. All children are copied: what is heard
 * while a config is carried out is to be noted at once.
 *
 * @since 0.1.0
 */
export const record = <Each extends { readonly state: Connectivity; readonly picker: Picker | undefined }>(
  self: ReadonlyMap<string, Each>,
  heard: List.List<Heard>
): ReadonlyMap<string, Each> => {
  if (List.isNil(heard)) return self
  const next = new Map(self)
  for (const { name, picker, state } of List.reverse(heard)) {
    const child = next.get(name)
    if (child !== undefined) next.set(name, { ...child, state: Connectivities.sticky(child.state, state), picker })
  }
  return next
}

/**
 * ★ Really removes those whose retention is over.
 *
 * @since 0.1.0
 */
export const expire = (self: Children, now: number): readonly [Children, ReadonlyArray<Output>] => {
  const over = Array.from(self).filter(([, { unusedSince = now }]) => now >= unusedSince + retention)
  if (over.length === 0) return [self, []]
  const next = new Map(self)
  for (const [name] of over) next.delete(name)
  return [next, over.map(([name]) => ({ _tag: "Remove", name }))]
}

/**
 * When the next one is to be removed, in milliseconds; Infinity if none is.
 *
 * @since 0.1.0
 */
export const deadline = (self: Children): number => {
  let least = Number.POSITIVE_INFINITY
  for (const { unusedSince } of self.values()) {
    if (unusedSince !== undefined) least = Math.min(least, unusedSince + retention)
  }
  return least
}

/**
 * Those that are in use.
 *
 * @since 0.1.0
 */
export const used = function* (self: Children): Iterable<readonly [string, Child]> {
  for (const entry of self) if (entry[1].unusedSince === undefined) yield entry
}
