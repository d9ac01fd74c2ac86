/**
 * `outlier_detection_experimental`: endpoints whose calls fail more than those of others get none for a while.
 *
 * Below it an ejected endpoint has failed, to every policy that has a connection for each endpoint; the connection stays. A
 * `pick_first` of a whole cluster heeds no ejection.
 *
 * @see https://github.com/grpc/proposal/blob/master/A50-xds-outlier-detection.md
 * @since 0.1.0
 */
import * as Outlier from "@effect-xds/discovery/Outlier"
import type { OutlierSettings } from "@effect-xds/discovery/OutlierSettings"
import * as HashMap from "effect/HashMap"
import type { Endpoint } from "../Endpoint.js"
import * as Endpoints from "../Endpoint.js"
import type { Configured, Output } from "../Policy.js"
import { define } from "../Policy.js"
import * as OneChild from "./OneChild.js"

/**
 * A cluster.
 *
 * @since 0.1.0
 */
export interface Config {
  /** With rules "A50": calls are counted, and rows of failures are not seen. */
  readonly settings: OutlierSettings
  /** Of the whole cluster. */
  readonly endpoints: ReadonlyArray<Endpoint>
  /** The child of these endpoints, each as `mark` gives it. */
  readonly child: (mark: (endpoint: Endpoint) => Endpoint) => Configured
}

/**
 * Its state.
 *
 * @since 0.1.0
 */
export interface State extends OneChild.Hearing {
  readonly node: string
  readonly config: Config | undefined
  /** Hosts by what tells endpoints apart. */
  readonly outlier: Outlier.Outlier | undefined
}

const nothing: ReadonlyArray<Output> = []
const name = "child"

const tell = ({ config, heard, node, updating }: State): ReadonlyArray<Output> => {
  if (updating || config === undefined || heard === undefined) return nothing
  if (!Outlier.detects(config.settings)) return [{ _tag: "State", ...heard }]
  return [{ _tag: "State", state: heard.state, picker: { _tag: "Observed", node, child: heard.picker } }]
}

const childOf = (config: Config, outlier: Outlier.Outlier): Configured =>
  config.child((endpoint) =>
    Outlier.isEjected(outlier, Endpoints.keyOf(endpoint)) ? { ...endpoint, isEjected: true } : endpoint
  )

/** Takes inputs, and says whether endpoints were ejected or came back. */
const feed = (
  self: Outlier.Outlier,
  inputs: Iterable<Outlier.Input>,
  context: Outlier.Context
): readonly [Outlier.Outlier, changed: boolean] => {
  let next = self
  let changed = false
  for (const input of inputs) {
    const [after, outputs] = Outlier.step(next, input, context)
    next = after
    changed ||= outputs.some(({ _tag }) => _tag !== "Spared")
  }
  return [next, changed]
}

const membership = function* (self: Outlier.Outlier, config: Config): Iterable<Outlier.Input> {
  yield { _tag: "Configured", settings: config.settings }
  const endpoints = Endpoints.byKey(config.endpoints)
  for (const host of HashMap.keys(self.hosts)) if (!endpoints.has(host)) yield { _tag: "Removed", host }
  for (const host of endpoints.keys()) yield { _tag: "Added", host }
}

const counted = function* (
  outcomes: ReadonlyMap<string, { readonly succeeded: number; readonly failed: number }>
): Iterable<Outlier.Input> {
  for (const [host, { failed, succeeded }] of outcomes) yield { _tag: "Counted", host, failed, succeeded }
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define<Config, State>({
  name: "outlier_detection_experimental",
  make: (node) => ({ node, config: undefined, outlier: undefined, heard: undefined, updating: false }),
  step: (self, input, context) => {
    switch (input._tag) {
      case "Config": {
        const { config } = input
        const before = self.outlier ?? Outlier.make(config.settings, context.now)
        const [outlier] = feed(before, membership(before, config), context)
        const _tag = self.config === undefined ? "Create" : "Update"
        return [
          { ...self, config, outlier, updating: true },
          [{ _tag, name, child: childOf(config, outlier), endpoints: [] }]
        ]
      }
      case "Configured":
      case "ChildState":
        return OneChild.hear(self, input, tell)
      case "Outcomes": {
        if (self.outlier === undefined) return [self, nothing]
        const [outlier] = feed(self.outlier, counted(input.outcomes), context)
        return [{ ...self, outlier }, nothing]
      }
      case "Deadline": {
        if (self.outlier === undefined || self.config === undefined) return [self, nothing]
        const [outlier, changed] = feed(self.outlier, [{ _tag: "Deadline" }], context)
        const next = { ...self, outlier }
        if (!changed) return [next, nothing]
        return [next, [{ _tag: "Update", name, child: childOf(self.config, outlier), endpoints: [] }]]
      }
      case "ExitIdle":
        return [self, [{ _tag: "ExitIdle", name }]]
      case "Connection":
      case "Sessions":
        return [self, nothing]
    }
  },
  deadline: ({ outlier }) => (outlier === undefined ? Number.POSITIVE_INFINITY : Outlier.deadline(outlier))
})
