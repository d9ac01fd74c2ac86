/**
 * Checks messages and encoded resources against the rules in their `.proto` files: the `(validate.rules)` options of
 * protoc-gen-validate, with the verdicts that the code generated for Go gives. The rules of a type are compiled when its first
 * message is checked.
 *
 * What an `Any` holds (`typed_config`) is checked, too, where its type is known; the code for Go stops there, and Envoy checks
 * it when it comes to use it.
 *
 * @since 0.1.0
 */
import type { DescMessage, Message, MessageShape, Registry } from "@bufbuild/protobuf"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as Redaction from "@effect-xds/proto/Redaction"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { Fault } from "./Fault.js"
import { InvalidMessage } from "./InvalidMessage.js"
import * as EncodedRules from "./internal/EncodedRules.js"
import * as MessageRules from "./internal/MessageRules.js"
import * as MostFaults from "./internal/MostFaults.js"
import { Report, run, type TypeOf } from "./internal/Report.js"
import * as Turns from "./internal/Turns.js"

/**
 * @since 0.1.0
 */
export interface Options {
  /** Most faults that are told; no more are looked for. 100 by default. NaN is a `RangeError`. */
  readonly maxFaults?: number | undefined
  /** Types in an `Any` that are not Envoy's; they are asked first. */
  readonly registry?: Registry | undefined
  /** Whether to check what an `Any` holds; `true` by default. What Envoy never opens, as `typed_filter_metadata`, is not. */
  readonly insideAny?: boolean | undefined
  /** Rules that may be broken, by their names: `duration.gt`. */
  readonly off?: ReadonlySet<string> | undefined
  /** Whether bytes are known to be a message of their type, since `MessageBytes` said so: {@link attempt} does not ask again. */
  readonly isMessage?: boolean | undefined
}

/**
 * What a check found.
 *
 * @since 0.1.0
 */
export interface Result {
  /** Empty: no rule is broken. In the order of the fields. */
  readonly faults: ReadonlyArray<Fault>
  /** Whether there are more than `maxFaults`. */
  readonly more: boolean
  /** How many messages were looked at, for what a check costs. */
  readonly messages: number
}

const resultOf = (report: Report): Result => ({
  faults: report.faults(),
  more: report.isFull,
  messages: report.messages
})

const reportOf = (options: Options | undefined, typeOf: TypeOf, now: number | undefined): Report =>
  new Report(MostFaults.of(options?.maxFaults), typeOf, now, options?.off)

/** What a program made may throw when it is read: a getter, a proxy. */
const guarded = (report: Report, run: () => void): void => {
  try {
    run()
  } catch (cause) {
    unreadable(report, cause)
  }
}

const unreadable = (report: Report, cause: unknown): void =>
  report.add("type", `cannot be read: ${Redaction.ofDefect(cause)}`)

/** The same in steps. */
const guardedInSteps = function* (report: Report, work: MessageSteps.Steps<void>): MessageSteps.Steps<void> {
  try {
    yield* work
  } catch (cause) {
    unreadable(report, cause)
  }
}

const unknown: TypeOf = () => undefined

/** Of the types that were given, and no others. */
const typeOfGiven = (options: Options | undefined): TypeOf => {
  const { registry } = options ?? {}
  return registry === undefined || options?.insideAny === false
    ? unknown
    : (typeUrl) => registry.getMessage(TypeRegistry.typeName(typeUrl))
}

/**
 * Checks a message at once, without Effect. Of the `Any`s in it those are entered whose types are in `registry`. Never throws.
 *
 * @example
 * import { create } from "@bufbuild/protobuf"
 * import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
 * import { Fault, Rules } from "@effect-xds/validate"
 *
 * const cluster = create(ClusterSchema, { name: "web", connectTimeout: { seconds: -5n } })
 * console.log(Rules.check(ClusterSchema, cluster).faults.map(Fault.toText))
 *
 * @param options with `now`, in milliseconds, for rules relative to now: without it those are not checked
 * @since 0.1.0
 */
export const check = <Desc extends DescMessage>(
  type: Desc,
  message: MessageShape<Desc>,
  options?: Options & { readonly now?: number | undefined }
): Result => {
  const report = reportOf(options, typeOfGiven(options), options?.now)
  guarded(report, () => MessageRules.of(type).check(message, report))
  return resultOf(report)
}

// Only generated types get in here: there are as many as Envoy's API has. `undefined`: it is no message, but an enum or a service.
const loaded = new Map<string, DescMessage | undefined>()

/** A check that has begun; `miss` is told the names of types of `Any`s that are known and not loaded. */
const begun = (options: Options | undefined, now: number, miss: (name: string) => void): Report => {
  const typeOf: TypeOf = (typeUrl) => {
    const name = TypeRegistry.typeName(typeUrl)
    const type = options?.registry?.getMessage(name) ?? loaded.get(name)
    if (type === undefined && !loaded.has(name) && TypeRegistry.has(name)) miss(name)
    return type
  }
  return reportOf(options, options?.insideAny === false ? unknown : typeOf, now)
}

/** Runs a check; where types in `Any`s have not been loaded, loads them and runs it again: once for each in a process. */
const withTypes = (
  options: Options | undefined,
  run: (report: Report) => MessageSteps.Steps<void>
): Effect.Effect<Report> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (;;) {
      const missing = new Set<string>()
      const report = begun(options, now, (name) => void missing.add(name))
      yield* Turns.toEnd(guardedInSteps(report, run(report)), new Turns.Pace(), perStep)
      if (missing.size === 0) return report
      yield* loadTypes(missing)
    }
  })

/** Messages of one step of a check, more or less. */
const perStep = 256

const load = (name: string): Effect.Effect<DescMessage | undefined> =>
  Effect.tap(
    Effect.promise(() => TypeRegistry.load(name)),
    (type) =>
      Effect.sync(() => {
        if (TypeRegistry.has(name)) loaded.set(name, type)
      })
  )

/**
 * Loads what {@link attempt} said is missing.
 *
 * @since 0.1.0
 */
export const loadTypes = (names: Iterable<string>): Effect.Effect<void> =>
  Effect.forEach(names, load, { discard: true })

const answerOf = (report: Report, missing: ReadonlySet<string>): Result | ReadonlySet<string> =>
  missing.size > 0 ? missing : resultOf(report)

/**
 * Whether the bytes of a message break no rule, for sure. `false` says nothing: then {@link attempt} tells. It takes a fraction of that.
 * Never throws.
 *
 * @param options with `now`, in milliseconds, for rules relative to now
 * @since 0.1.0
 */
export const breaksNone = (
  type: DescMessage,
  value: Uint8Array,
  options: Options & { readonly now: number }
): boolean => {
  let isMissing = false
  const report = begun(options, options.now, () => (isMissing = true))
  return EncodedRules.pass(type, value, report, options.isMessage) && !isMissing
}

/**
 * Checks a message, or the bytes of one, and what its `Any`s hold, at once: for those who check thousands. What is given back in
 * place of a result are the names of types that have to be loaded first, with {@link loadTypes}: then try again. Never throws.
 *
 * @param options with `now`, in milliseconds, for rules relative to now
 * @since 0.1.0
 */
export const attempt = (
  type: DescMessage,
  value: Message | Uint8Array,
  options: Options & { readonly now: number }
): Result | ReadonlySet<string> => {
  const missing = new Set<string>()
  const miss = (name: string) => void missing.add(name)
  if (value instanceof Uint8Array) {
    const sure = begun(options, options.now, miss)
    if (EncodedRules.pass(type, value, sure, options.isMessage)) return answerOf(sure, missing)
    missing.clear()
  }
  const report = begun(options, options.now, miss)
  guarded(report, () => {
    if (value instanceof Uint8Array) MessageRules.decoded(type, value, report)
    else MessageRules.of(type).check(value, report)
  })
  return answerOf(report, missing)
}

/**
 * {@link attempt} in steps, for what is large.
 *
 * @param large what is large in a message: it was found when the message was encoded or decoded; not for bytes
 * @since 0.1.0
 */
export const attemptInSteps = function* (
  type: DescMessage,
  value: Message | Uint8Array,
  options: Options & { readonly now: number },
  large?: MessageSteps.Large
): MessageSteps.Steps<Result | ReadonlySet<string>> {
  const missing = new Set<string>()
  const report = begun(options, options.now, (name) => void missing.add(name))
  yield* guardedInSteps(
    report,
    value instanceof Uint8Array
      ? MessageRules.decodedInSteps(type, value, report)
      : run(MessageRules.of(type).check, value, report, large ?? nothing)
  )
  return answerOf(report, missing)
}

const nothing: MessageSteps.Large = { has: () => false }

/**
 * {@link check} in steps, of a message that was decoded in steps.
 *
 * @since 0.1.0
 */
export const checkInSteps = function* <Desc extends DescMessage>(
  type: Desc,
  { large, message }: MessageSteps.Decoded<MessageShape<Desc>>,
  options?: Options & { readonly now?: number | undefined }
): MessageSteps.Steps<Result> {
  const report = reportOf(options, typeOfGiven(options), options?.now)
  yield* guardedInSteps(report, run(MessageRules.of(type).check, message, report, large))
  return resultOf(report)
}

const verdict = (
  report: Report,
  typeUrl: string,
  resourceName: string | undefined
): Effect.Effect<void, InvalidMessage> =>
  report.found.length === 0
    ? Effect.void
    : Effect.fail(new InvalidMessage({ typeUrl, resourceName, faults: report.faults(), more: report.isFull }))

/**
 * Fails with every fault of a message, also of what its `Any`s hold.
 *
 * @since 0.1.0
 */
export const message = <Desc extends DescMessage>(
  type: Desc,
  value: MessageShape<Desc>,
  options?: Options & { readonly resourceName?: string | undefined }
): Effect.Effect<void, InvalidMessage> =>
  Effect.flatMap(
    withTypes(options, (report) => run(MessageRules.of(type).check, value, report, nothing)),
    (report) => verdict(report, `type.googleapis.com/${type.typeName}`, options?.resourceName)
  )

/**
 * Fails with every fault of an encoded resource, also of what its `Any`s hold; bytes that are none of the type are one.
 * `false`: the type is not known, so nothing was checked.
 *
 * @since 0.1.0
 */
export const resource = (
  resource: { readonly typeUrl: string; readonly name: string; readonly value: Uint8Array },
  options?: Options
): Effect.Effect<boolean, InvalidMessage> =>
  Effect.gen(function* () {
    const { name, typeUrl, value } = resource
    const typeName = TypeRegistry.typeName(typeUrl)
    const type = options?.registry?.getMessage(typeName) ?? loaded.get(typeName) ?? (yield* load(typeName))
    if (type === undefined) return false
    const report = yield* withTypes(options, (report) => MessageRules.decodedInSteps(type, value, report))
    yield* verdict(report, typeUrl, name)
    return true
  })
