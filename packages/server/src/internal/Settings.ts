/**
 * The options of a server with defaults and durations in milliseconds; and the checked results of the application's
 * functions.
 */
import * as Heartbeat from "@effect-xds/core/server/Heartbeat"
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as BadOption from "@effect-xds/transport/BadOption"
import * as Given from "@effect-xds/transport/Given"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { GroupSettings, Options, Wildcards } from "../ServerOptions.js"

/** The settings for the streams of one group. */
export interface OfGroup {
  readonly ttl: Heartbeat.Mode
  /** Type URLs whose wildcard is switched off. */
  readonly wildcardOff: ReadonlySet<string>
  readonly makeBeforeBreak: boolean
  readonly phaseDeadline: number
  readonly maxStreams: number
}

export interface Settings {
  /** Throws {@link FunctionFailed} if the application's function throws or returns nonsense. */
  readonly ofGroup: (group: string) => OfGroup
  /** The options of a stream of a group. Most bytes of its responses; `undefined`: each is one message, whatever it holds. */
  readonly ofStream: (
    own: OfGroup,
    method: Method,
    clientFeatures: ReadonlyArray<string>,
    maxBytes: number | undefined
  ) => ServerStream.Options

  readonly bodylessHeartbeats: boolean
  readonly maxNames: number
  readonly maxNameLength: number
  readonly maxTypes: number
  readonly maxNodeFields: number
  readonly maxEarlyRequests: number
  readonly maxResponseBytes: number
  readonly maxEventNames: number
  readonly controlPlane: string | undefined
  readonly firstRequestTimeout: number
  readonly groupTimeout: number
  readonly fetchTimeout: number
  /** How long answers wait for resources made on demand, in milliseconds; `undefined` without a hook. */
  readonly missingWait: number | undefined
}

/** A function of the application failed, or returned an invalid value. */
export class FunctionFailed extends Error {
  override readonly name = "FunctionFailed"
  constructor(
    /** Its name: `the settings function`. */
    readonly what: string,
    override readonly cause: unknown
  ) {
    super(`${what} failed`)
  }
}

/** A value in words. */
const shown = (value: unknown): string =>
  value === null || typeof value === "number"
    ? String(value)
    : typeof value === "string"
      ? JSON.stringify(value.slice(0, 64))
      : Given.kindOf(value)

const isMode = (value: unknown): value is Heartbeat.Mode =>
  value === "declared" || value === "always" || value === "never"

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean"

const isWildcards = (value: unknown): value is Wildcards =>
  typeof value === "object" && value !== null && !("then" in value) && Object.values(value).every(isBoolean)

const wildcardByDefault: Wildcards = Object.fromEntries(
  ResourceType.ofAllApis.map((type) => [type.typeUrl, type.wildcardByDefault])
)

const switchedOff = (wildcards: Wildcards): ReadonlySet<string> =>
  new Set(Object.entries({ ...wildcardByDefault, ...wildcards }).flatMap(([typeUrl, on]) => (on ? [] : [typeUrl])))

const what = "the settings function"

/** A member of returned settings if it passes the check `is`; `otherwise` if it is absent. */
const member = <A>(
  given: object,
  name: keyof GroupSettings,
  is: (value: unknown) => value is A,
  wanted: string,
  otherwise: A
): A => {
  const value: unknown = Reflect.get(given, name)
  if (value === undefined) return otherwise
  if (is(value)) return value
  throw new FunctionFailed(what, new TypeError(`its ${name} is ${shown(value)}, not ${wanted}`))
}

const millisOf = (given: object, name: "phaseDeadline", otherwise: number): number => {
  const value: unknown = Reflect.get(given, name)
  if (value === undefined) return otherwise
  const duration = BadOption.milliseconds(value)
  if (duration >= 0) return duration
  throw new FunctionFailed(what, new TypeError(`its ${name} is ${shown(value)}, not a duration`))
}

const isCount = (value: unknown): value is number => typeof value === "number" && value >= 0

/** The settings that the application's function returned, over those for all groups. */
const settingsOf = (given: unknown, all: OfGroup, wildcards: Wildcards): OfGroup => {
  if (given === undefined) return all
  if (typeof given !== "object" || given === null || "then" in given || Effect.isEffect(given)) {
    throw new FunctionFailed(what, new TypeError(`it gave ${shown(given)}, not an object of settings`))
  }
  const own = member(given, "wildcard", isWildcards, "an object of type URLs and booleans", wildcards)
  return {
    ttl: member(given, "ttl", isMode, `"declared", "always" or "never"`, all.ttl),
    wildcardOff: own === wildcards ? all.wildcardOff : switchedOff(own),
    makeBeforeBreak: member(given, "makeBeforeBreak", isBoolean, "a boolean", all.makeBeforeBreak),
    phaseDeadline: millisOf(given, "phaseDeadline", all.phaseDeadline),
    maxStreams: member(given, "maxStreams", isCount, "a number of streams", all.maxStreams)
  }
}

export const of = <R>(options: Options<R>): Settings => {
  const millis = (duration: Duration.DurationInput | undefined, otherwise: number): number =>
    duration === undefined ? otherwise : Duration.toMillis(duration)
  const { settings, wildcard = {} } = options
  const all: OfGroup = {
    ttl: options.ttl ?? "declared",
    wildcardOff: switchedOff(wildcard),
    makeBeforeBreak: options.makeBeforeBreak ?? true,
    phaseDeadline: millis(options.phaseDeadline, 5_000),
    maxStreams: options.maxStreamsPerGroup ?? 100_000
  }
  const others = {
    bodylessHeartbeats: options.bodylessHeartbeats ?? false,
    maxNames: options.maxNames ?? 100_000,
    maxNameLength: options.maxNameLength ?? 65_536,
    maxTypes: options.maxTypes ?? 64,
    maxNodeFields: options.maxNodeFields ?? 16_384,
    maxEarlyRequests: options.maxEarlyRequests ?? 100,
    maxResponseBytes: options.maxResponseBytes ?? 4_000_000,
    maxEventNames: options.maxEventNames ?? 32,
    controlPlane: options.controlPlane,
    firstRequestTimeout: millis(options.firstRequestTimeout, 30_000),
    groupTimeout: millis(options.groupTimeout, 10_000),
    fetchTimeout: millis(options.fetchTimeout, 5_000),
    missingWait: options.onMissing === undefined ? undefined : millis(options.missingWait, 2_000)
  }
  return {
    ...others,
    ofStream: sharedOptions(others),
    ofGroup: (group) => {
      if (settings === undefined) return all
      let given: unknown
      try {
        given = settings(group)
      } catch (cause) {
        throw new FunctionFailed(what, cause)
      }
      return settingsOf(given, all, wildcard)
    }
  }
}

type Method = Pick<ServerTransport.Method, "protocol" | "typeUrl">

/** The options of streams. A herd of like clients shares one object: those of the last stream serve the next one. */
const sharedOptions = (settings: Omit<Settings, "ofGroup" | "ofStream">): Settings["ofStream"] => {
  let last:
    { readonly own: OfGroup; readonly maxBytes: number | undefined; readonly options: ServerStream.Options } | undefined
  return (own, { protocol, typeUrl }, clientFeatures, maxBytes) => {
    const ttl = Heartbeat.isGiven(own.ttl, protocol, clientFeatures)
    const before = last?.own === own && last.maxBytes === maxBytes ? last.options : undefined
    if (before?.protocol === protocol && before.typeUrl === typeUrl && before.ttl === ttl) return before
    const most = Number.POSITIVE_INFINITY
    const options = ServerStream.withDefaults({
      protocol,
      typeUrl,
      ttl,
      bodylessHeartbeats: settings.bodylessHeartbeats,
      wildcardOff: own.wildcardOff,
      makeBeforeBreak: own.makeBeforeBreak,
      phaseDeadline: own.phaseDeadline,
      maxNames: settings.maxNames,
      maxNameLength: settings.maxNameLength,
      maxTypes: settings.maxTypes,
      missingWait: settings.missingWait,
      ...(maxBytes === undefined ? { maxResponseBytes: most, namesPerResponse: most } : { maxResponseBytes: maxBytes })
    })
    last = { own, maxBytes, options }
    return options
  }
}
