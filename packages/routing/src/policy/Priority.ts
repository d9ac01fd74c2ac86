/**
 * `priority_experimental`: the first of several children that can be used, with the next one in reserve.
 *
 * @see https://github.com/grpc/proposal/blob/master/A56-priority-lb-policy.md
 * @since 0.1.0
 */
import { retention } from "../Children.js"
import type { Connectivity } from "../Connectivity.js"
import type { Endpoint } from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import * as Pickers from "../Picker.js"
import type { Configured, Output } from "../Policy.js"
import { define } from "../Policy.js"

/**
 * Children, the best first.
 *
 * @since 0.1.0
 */
export interface Config {
  readonly priorities: ReadonlyArray<{
    /** Unique; the same as before if it is the same child. */
    readonly name: string
    readonly child: Configured
    readonly endpoints: ReadonlyArray<Endpoint>
  }>
}

/**
 * Milliseconds that a child has to connect before the next one is used.
 *
 * @since 0.1.0
 */
export const failoverDelay = 10_000

interface Child {
  readonly state: Connectivity
  readonly picker: Picker
  /** When the next one is used instead, in milliseconds; `undefined`: its timer does not run. */
  readonly failoverAt: number | undefined
  /** It was READY or IDLE later than it failed. */
  readonly wasUp: boolean
  /** Since when it is not needed, in milliseconds; `undefined`: it is. */
  readonly unusedSince: number | undefined
}

/**
 * Its state.
 *
 * @since 0.1.0
 */
export interface State {
  readonly config: Config
  readonly children: ReadonlyMap<string, Child>
  /** The child that is used. */
  readonly chosen: string | undefined
  /** What was said last: told again only if it is different. */
  readonly said: { readonly state: Connectivity; readonly picker: Picker } | undefined
  /** A config is being carried out: nothing is chosen. */
  readonly updating: boolean
}

type Draft = { -readonly [Key in keyof State]: State[Key] } & { readonly outputs: Array<Output> }

const begun = (now: number): Child => ({
  state: "CONNECTING",
  picker: Pickers.queue,
  failoverAt: now + failoverDelay,
  wasUp: false,
  unusedSince: undefined
})

const put = (self: Draft, name: string, child: Child): void => {
  self.children = new Map(self.children).set(name, child)
}

/** Which child is used, from the best on; those that are reached are made, those below one that is up are not needed. */
const choose = (self: Draft, now: number): string | undefined => {
  const { priorities } = self.config
  for (const [index, { child: policy, endpoints, name }] of priorities.entries()) {
    const known = self.children.get(name)
    if (known === undefined) {
      self.outputs.push({ _tag: "Create", name, child: policy, endpoints })
      put(self, name, begun(now))
      return name
    }
    // Chosen again within its retention it is as it was.
    if (known.unusedSince !== undefined) put(self, name, { ...known, unusedSince: undefined })
    if (known.state === "READY" || known.state === "IDLE") {
      for (const lower of priorities.slice(index + 1)) {
        const other = self.children.get(lower.name)
        if (other !== undefined && other.unusedSince === undefined) {
          put(self, lower.name, { ...other, failoverAt: undefined, unusedSince: now })
        }
      }
      return name
    }
    if (known.failoverAt !== undefined && now < known.failoverAt) return name
  }
  const connecting = priorities.find(({ name }) => self.children.get(name)?.state === "CONNECTING")
  return (connecting ?? priorities.at(-1))?.name
}

const decide = (self: Draft, now: number): void => {
  if (self.updating) return
  self.chosen = choose(self, now)
  const child = self.chosen === undefined ? undefined : self.children.get(self.chosen)
  const told: State["said"] =
    child === undefined
      ? { state: "TRANSIENT_FAILURE", picker: Pickers.fail("NoEndpoint", "priority has no children") }
      : { state: child.state, picker: child.picker }
  if (self.said?.state === told.state && self.said.picker === told.picker) return
  self.said = told
  self.outputs.push({ _tag: "State", ...told })
}

const onConfig = (self: Draft, config: Config, now: number): void => {
  self.config = config
  self.updating = true
  const names = new Set(config.priorities.map(({ name }) => name))
  for (const [name, child] of self.children) {
    if (!names.has(name) && child.unusedSince === undefined) {
      put(self, name, { ...child, failoverAt: undefined, unusedSince: now })
    }
  }
  for (const { child, endpoints, name } of config.priorities) {
    if (self.children.has(name)) self.outputs.push({ _tag: "Update", name, child, endpoints })
  }
}

const onChild = (self: Draft, name: string, state: Connectivity, picker: Picker, now: number): void => {
  const before = self.children.get(name)
  if (before === undefined) return
  const isUp = state === "READY" || state === "IDLE"
  const wasUp = isUp || (state === "CONNECTING" && before.wasUp)
  let { failoverAt } = before
  // CONNECTING after CONNECTING does not start it again; any other state ends it.
  if (state !== "CONNECTING") failoverAt = undefined
  else if (before.state !== "CONNECTING" && before.wasUp && before.unusedSince === undefined)
    failoverAt = now + failoverDelay
  put(self, name, { ...before, state, picker, failoverAt, wasUp })
}

const onDeadline = (self: Draft, now: number): void => {
  for (const [name, child] of self.children) {
    if (child.failoverAt !== undefined && now >= child.failoverAt) put(self, name, { ...child, failoverAt: undefined })
    if (child.unusedSince === undefined || now < child.unusedSince + retention) continue
    const rest = new Map(self.children)
    rest.delete(name)
    self.children = rest
    self.outputs.push({ _tag: "Remove", name })
  }
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define<Config, State>({
  name: "priority_experimental",
  make: () => ({
    config: { priorities: [] },
    children: new Map(),
    chosen: undefined,
    said: undefined,
    updating: false
  }),
  step: (self, input, { now }) => {
    const draft: Draft = {
      config: self.config,
      children: self.children,
      chosen: self.chosen,
      said: self.said,
      updating: self.updating,
      outputs: []
    }
    switch (input._tag) {
      case "Config":
        onConfig(draft, input.config, now)
        break
      case "Configured":
        draft.updating = false
        break
      case "ChildState":
        onChild(draft, input.name, input.state, input.picker, now)
        break
      case "ExitIdle":
        if (draft.chosen !== undefined) draft.outputs.push({ _tag: "ExitIdle", name: draft.chosen })
        break
      case "Deadline":
        onDeadline(draft, now)
        break
      case "Connection":
      case "Outcomes":
      case "Sessions":
        break
    }
    decide(draft, now)
    const { children, chosen, config, outputs, said, updating } = draft
    return [{ config, children, chosen, said, updating }, outputs]
  },
  deadline: ({ children }) => {
    let least = Number.POSITIVE_INFINITY
    for (const { failoverAt, unusedSince } of children.values()) {
      if (failoverAt !== undefined) least = Math.min(least, failoverAt)
      if (unusedSince !== undefined) least = Math.min(least, unusedSince + retention)
    }
    return least
  }
})
