/**
 * Checks resources against the rules of Envoy's API before they are sent: Envoy refuses a whole response for one
 * resource that breaks a rule, and an Envoy that has just started is then left with nothing. The store in memory has a
 * validator. A store over something else makes its own, and calls it in `set` and `update`.
 *
 * @since 0.1.0
 */
import type { Resource } from "@effect-xds/core/resource/Resource"
import type * as ResourceGroup from "@effect-xds/core/resource/ResourceGroup"
import type * as EventLoop from "@effect-xds/transport/EventLoop"
import * as Slices from "@effect-xds/transport/Slices"
import type { Fault } from "@effect-xds/validate/Fault"
import type { toText } from "@effect-xds/validate/InvalidMessage"
import type * as Rules from "@effect-xds/validate/Rules"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as MetricLabel from "effect/MetricLabel"
import * as Immediate from "./internal/Immediate.js"
import { Remembered } from "./internal/Remembered.js"
import type * as Snapshot from "./Snapshot.js"
import * as Encoding from "./snapshot/Encoding.js"
import { type InvalidResource, InvalidResources } from "./StoreError.js"
import * as XdsServerMetrics from "./XdsServerMetrics.js"

/**
 * The handling of a change with a resource that breaks a rule.
 *
 * - `refuse`: the change fails with every broken rule, and the group stays as it was
 * - `warn`: the resource is served; a log line, a metric and the group's `invalid` report it
 * - `off`: nothing is checked
 *
 * @since 0.1.0
 */
export type Mode = "refuse" | "warn" | "off"

/**
 * The handling of a change after which a group breaks rules of `GroupRule` in `@effect-xds/validate` that it did not break before:
 * a route to a cluster that is not there, an address twice, a filter in the wrong place.
 *
 * - `refuse`: the change fails with every such rule, and the group stays as it was
 * - `refuse-errors`: the same, of rules with the severity `error`, for which a client refuses a resource; of others it warns
 * - `warn`: the change is served; soon after it a log line, a metric, a report and the group's `broken` say what is broken
 * - `off`: nothing is checked
 *
 * @since 0.1.0
 */
export type GroupMode = "refuse" | "refuse-errors" | "warn" | "off"

/**
 * Which rules are checked, and the limits of a check.
 *
 * @since 0.1.0
 */
export interface Options {
  /** The rules of fields in the `.proto` files (protoc-gen-validate). Default: `refuse`. */
  readonly rules?: Mode | undefined
  /** The rules over the resources of a group together. Default: `warn`. */
  readonly groupRules?: GroupMode | undefined
  /**
   * Names of rules that are not checked, of either kind: `duration.gt`, `cluster-reference`. `GroupRule.references` names those of
   * resources that must be there, for groups whose resources come on demand or from elsewhere. Default: none.
   */
  readonly off?: ReadonlyArray<string> | undefined
  /** The most broken rules reported for one change; after that the check stops. Default: 100. */
  readonly maxFaults?: number | undefined
  /** The most UTF-16 code units of broken rules reported for one change. Default: 65 536. */
  readonly maxText?: number | undefined
  /**
   * The most resources remembered as valid, by a digest of 64 bits, so that a resource in many groups is checked once; small ones
   * whose bytes show it are not among them, since they are checked as soon. Default: 65 536.
   */
  readonly maxRemembered?: number | undefined
  /** The most group rules reported for one group, or one refused change. Default: 100. */
  readonly maxBroken?: number | undefined
  /**
   * The most resources, of all groups together, of which is remembered what they refer to (some 300 bytes each). Groups beyond it
   * are not checked by group rules, and the log says so; where a change is to be refused, it is checked as a whole. Default:
   * 262 144.
   */
  readonly maxIndexed?: number | undefined
}

/**
 * Options in full: a mode alone is that of the rules of fields; `off` switches both kinds off.
 *
 * @since 0.1.0
 */
export const optionsOf = (given: Mode | Options = {}): Options =>
  typeof given !== "string" ? given : given === "off" ? { rules: given, groupRules: given } : { rules: given }

/**
 * The first limit that is none; `undefined`: there is no such one.
 *
 * @since 0.1.0
 */
export const wrongWith = (given: Mode | Options = {}): BadOption.BadOption | undefined =>
  BadOption.find(optionsOf(given), {
    // Less than 1 means 1.
    maxFaults: -Infinity,
    maxBroken: -Infinity,
    maxText: 0,
    maxRemembered: 0,
    maxIndexed: 0
  })

/**
 * Encoded resources with their places, and those among them that break rules and are served all the same.
 *
 * @since 0.1.0
 */
export interface Validated extends Snapshot.EncodedSnapshot {
  /** Empty unless the mode is `warn`. */
  readonly invalid: ReadonlyArray<InvalidResource>
}

/**
 * A validator.
 *
 * @since 0.1.0
 */
export interface Validator {
  /**
   * Encodes and checks the resources of a change, in slices. Resources that are unchanged in `held` were checked
   * before, and are skipped.
   */
  readonly encode: (
    group: string,
    resources: Snapshot.Resources,
    held: ResourceGroup.ResourceGroup | undefined,
    /** The mode of this call. Default: the validator's. */
    mode?: Mode
  ) => Effect.Effect<Validated, Snapshot.SnapshotError | InvalidResources>
  /**
   * {@link encode} at a time and on an event loop, at once: an `Exit` if there is nothing to wait for. It may throw what the caller's
   * iterables and messages throw.
   */
  readonly encodeAt: (
    at: At,
    group: string,
    resources: Snapshot.Resources,
    held: ResourceGroup.ResourceGroup | undefined,
    mode?: Mode
  ) => Effect.Effect<Validated, Snapshot.SnapshotError | InvalidResources>
}

/**
 * When and where resources are encoded: some rules are about the time.
 *
 * @since 0.1.0
 */
export type At = Immediate.At

interface Loaded {
  readonly rules: typeof Rules
  readonly toText: typeof toText
}

/** Loaded with the first resource: a program without checks does not need them. */
let loaded: Loaded | undefined
const load = Effect.promise(async () => {
  const [rules, { toText }] = await Promise.all([
    import("@effect-xds/validate/Rules"),
    import("@effect-xds/validate/InvalidMessage")
  ])
  loaded = { rules, toText }
})

/** Bytes whose rules are checked, where that is sure, in the time that it takes to find out whether they were checked before. */
const few = 1_024

/** UTF-16 code units of a name in a message. */
const maxName = 256

const cutName = (name: string): string => (name.length <= maxName ? name : `${name.slice(0, maxName)}…`)

const lengthOf = ({ path, problem, rule, value }: Fault): number =>
  path.length + problem.length + rule.length + (value?.length ?? 0)

/** Checks the resources of one change, one after the other. */
class Pass {
  readonly invalid: Array<InvalidResource> = []
  /** Whether the limit was exceeded; further resources are not checked. */
  more = false
  private faults: number
  private text: number

  constructor(
    private readonly good: Remembered,
    private readonly off: ReadonlySet<string>,
    private readonly now: number,
    { maxFaults = 100, maxText = 65_536 }: Options
  ) {
    this.faults = Math.max(1, maxFaults)
    this.text = maxText
  }

  /** Types are loaded at most once in a process, one `Any` within another after the other: then it looks again. */
  readonly inspect: Snapshot.Inspector = (inspected, loop) => {
    const { content, large, resource, type } = inspected
    if (this.more) return undefined
    if (loaded === undefined) return this.after(load, inspected, loop)
    const { rules } = loaded
    const options = { maxFaults: this.faults, off: this.off, now: this.now, isMessage: true }
    // Of bytes, which clients will see, it mostly takes a look without making the message. Of few that is done as soon as what is
    // remembered is found.
    if (resource.value.byteLength <= few && rules.breaksNone(type, resource.value, options)) return undefined
    if (this.good.has(resource.fingerprint)) return undefined
    if (large === undefined) return this.take(rules.attempt(type, resource.value, options), inspected, loop)
    const work = rules.attemptInSteps(type, content, options, large)
    return Effect.flatMap(Slices.steps(loop, work), (result) => this.take(result, inspected, loop) ?? Effect.void)
  }

  private after(
    wait: Effect.Effect<void>,
    inspected: Snapshot.Inspected,
    loop: EventLoop.Service
  ): Effect.Effect<void> {
    return Effect.flatMap(wait, () => this.inspect(inspected, loop) ?? Effect.void)
  }

  private take(
    result: Rules.Result | ReadonlySet<string>,
    inspected: Snapshot.Inspected,
    loop: EventLoop.Service
  ): Effect.Effect<void> | undefined {
    if (loaded === undefined) return undefined
    const { rules, toText } = loaded
    if (!("faults" in result)) return this.after(rules.loadTypes(result), inspected, loop)
    const { place, resource } = inspected
    if (result.faults.length === 0 && !result.more) this.good.add(resource.fingerprint)
    else this.add(resource, result, place, toText)
    return undefined
  }

  private add(
    { name, typeUrl }: Resource,
    { faults, more }: Rules.Result,
    place: string | undefined,
    textOf: Loaded["toText"]
  ): void {
    const told: Array<Fault> = []
    this.text -= name.length
    for (const fault of faults) {
      this.text -= lengthOf(fault)
      // The first fault is always kept, to name the resource.
      if (this.text < 0 && (told.length > 0 || this.invalid.length > 0)) break
      told.push(fault)
    }
    this.faults -= told.length
    const isCut = more || told.length < faults.length
    this.more = isCut || this.faults === 0 || this.text < 0
    if (told.length === 0) return
    const text = textOf({ typeUrl, resourceName: cutName(name), faults: told, more: isCut })
    const message = place === undefined ? text : `${place}: ${text}`
    this.invalid.push({ typeUrl, name, faults: told, more: isCut, message })
  }
}

const outcomes = {
  refuse: MetricLabel.make("outcome", "refused"),
  warn: MetricLabel.make("outcome", "served")
} as const

/** The most log lines of one change. */
const maxLines = 20

const warn = (group: string, { invalid, more }: Pass): Effect.Effect<void> => {
  const lines = invalid.slice(0, maxLines).map(({ message }) => message)
  const rest = invalid.length - lines.length
  if (more) lines.push(`${rest + 1} or more other resources break rules`)
  else if (rest > 0) lines.push(`${rest} more resources break rules`)
  const say = (line: string) => Effect.logWarning(`${group}: ${line}; clients may refuse it`)
  return Effect.forEach(lines, say, { discard: true })
}

/**
 * Makes a validator. Its only memory is that of valid resources. Throws `BadOption` for a limit that is none.
 *
 * @since 0.1.0
 */
export const make = (given: Mode | Options = {}): Validator => {
  const options = optionsOf(given)
  const wrong = wrongWith(options)
  if (wrong !== undefined) throw wrong
  const usual = options.rules ?? "refuse"
  const good = new Remembered(options.maxRemembered ?? 65_536)
  const off = new Set(options.off)
  const encodeAt: Validator["encodeAt"] = ({ loop, now }, group, resources, held, mode = usual) => {
    if (mode === "off") {
      const encoded = Encoding.encodeOn(loop, resources, held)
      return Immediate.map(encoded, ({ places, resources }) => ({ resources, places, invalid: [] }))
    }
    const pass = new Pass(good, off, now, options)
    return Immediate.flatMap(Encoding.encodeOn(loop, resources, held, pass.inspect), ({ places, resources }) => {
      const { invalid, more } = pass
      const validated = { resources, places, invalid }
      if (invalid.length === 0) return Exit.succeed(validated)
      for (const { typeUrl } of invalid) {
        XdsServerMetrics.invalidResources.unsafeUpdate(1, [...XdsServerMetrics.typeTags(typeUrl), outcomes[mode]])
      }
      if (mode === "refuse") return Effect.fail(new InvalidResources({ group, resources: invalid, more }))
      return Effect.as(warn(group, pass), validated)
    })
  }
  return {
    encodeAt,
    encode: (group, resources, held, mode) => Immediate.here((at) => encodeAt(at, group, resources, held, mode))
  }
}
