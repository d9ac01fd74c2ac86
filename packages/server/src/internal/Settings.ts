/**
 * What a server's options say, with defaults filled in and durations in milliseconds; and what its functions say of a group,
 * whatever they are.
 */
import * as Heartbeat from "@effect-xds/core/server/Heartbeat"
import type { StreamOptions } from "@effect-xds/core/server/FanOut"
import * as ResourceType from "@effect-xds/proto/ResourceType"
import type * as ServerTransport from "@effect-xds/transport/ServerTransport"
import * as Duration from "effect/Duration"
import type { Options, Wildcards } from "../ServerOptions.js"

export interface Settings {
  // These throw {@link FunctionFailed} where a function of the application throws or gives what it must not.
  readonly ttl: (group: string) => Heartbeat.Mode
  /** Type URLs whose wildcard is switched off. */
  readonly wildcardOff: (group: string) => ReadonlySet<string>
  readonly makeBeforeBreak: (group: string) => boolean

  readonly bodylessHeartbeats: boolean
  readonly phaseDeadline: number
  readonly maxNames: number
  readonly maxNameLength: number
  readonly maxTypes: number
  readonly maxNodeFields: number
  readonly maxStreamsPerGroup: number
  readonly maxEarlyRequests: number
  readonly maxResponseBytes: number
  readonly controlPlane: string | undefined
  readonly firstRequestTimeout: number
  readonly groupTimeout: number
  readonly fetchTimeout: number
}

/** A function of the application that failed, or gave what it must not give. */
export class FunctionFailed extends Error {
  override readonly name = "FunctionFailed"
  constructor(
    /** Which: `the ttl function`. */
    readonly what: string,
    override readonly cause: unknown
  ) {
    super(`${what} failed`)
  }
}

/** What was given, for people. */
const shown = (value: unknown): string =>
  value === null ? "null" : typeof value === "string" ? JSON.stringify(value.slice(0, 64)) : typeof value

/** What a function of the application says of a group, if it `is` what is wanted. */
const ask = <A>(
  option: string,
  read: (group: string) => unknown,
  is: (value: unknown) => value is A,
  wanted: string
): ((group: string) => A) => {
  const what = `the ${option} function`
  return (group) => {
    let value: unknown
    try {
      value = read(group)
    } catch (cause) {
      throw new FunctionFailed(what, cause)
    }
    if (is(value)) return value
    throw new FunctionFailed(what, new TypeError(`it gave ${shown(value)}, not ${wanted}`))
  }
}

const isMode = (value: unknown): value is Heartbeat.Mode =>
  value === "declared" || value === "always" || value === "never"

const isBoolean = (value: unknown): value is boolean => typeof value === "boolean"

const isWildcards = (value: unknown): value is Wildcards =>
  typeof value === "object" && value !== null && !("then" in value) && Object.values(value).every(isBoolean)

const wildcardByDefault: Wildcards = Object.fromEntries(
  ResourceType.all.map((type) => [type.typeUrl, type.wildcardByDefault])
)

const switchedOff = (wildcards: Wildcards): ReadonlySet<string> =>
  new Set(Object.entries({ ...wildcardByDefault, ...wildcards }).flatMap(([typeUrl, on]) => (on ? [] : [typeUrl])))

const wildcardOff = (wildcard: Wildcards | ((group: string) => Wildcards)): Settings["wildcardOff"] => {
  if (typeof wildcard === "function") {
    const wildcards = ask("wildcard", wildcard, isWildcards, "an object of type URLs and booleans")
    return (group) => switchedOff(wildcards(group))
  }
  const off = switchedOff(wildcard)
  return () => off
}

export const of = <R>(options: Options<R>): Settings => {
  const millis = (duration: Duration.DurationInput | undefined, otherwise: number): number =>
    duration === undefined ? otherwise : Duration.toMillis(duration)
  const { makeBeforeBreak = true, ttl = "declared" } = options
  return {
    ttl: typeof ttl === "function" ? ask("ttl", ttl, isMode, `"declared", "always" or "never"`) : () => ttl,
    wildcardOff: wildcardOff(options.wildcard ?? {}),
    makeBeforeBreak:
      typeof makeBeforeBreak === "function"
        ? ask("makeBeforeBreak", makeBeforeBreak, isBoolean, "a boolean")
        : () => makeBeforeBreak,
    bodylessHeartbeats: options.bodylessHeartbeats ?? false,
    phaseDeadline: millis(options.phaseDeadline, 5_000),
    maxNames: options.maxNames ?? 100_000,
    maxNameLength: options.maxNameLength ?? 65_536,
    maxTypes: options.maxTypes ?? 64,
    maxNodeFields: options.maxNodeFields ?? 16_384,
    maxStreamsPerGroup: options.maxStreamsPerGroup ?? 100_000,
    maxEarlyRequests: options.maxEarlyRequests ?? 100,
    maxResponseBytes: options.maxResponseBytes ?? 4_000_000,
    controlPlane: options.controlPlane,
    firstRequestTimeout: millis(options.firstRequestTimeout, 30_000),
    groupTimeout: millis(options.groupTimeout, 10_000),
    fetchTimeout: millis(options.fetchTimeout, 5_000)
  }
}

/** How a stream of a group is served. Throws {@link FunctionFailed}. */
export const streamOptions = (
  settings: Settings,
  group: string,
  { protocol, typeUrl }: Pick<ServerTransport.Method, "protocol" | "typeUrl">,
  clientFeatures: ReadonlyArray<string>
): StreamOptions => ({
  protocol,
  typeUrl,
  ttl: Heartbeat.isGiven(settings.ttl(group), protocol, clientFeatures),
  bodylessHeartbeats: settings.bodylessHeartbeats,
  wildcardOff: settings.wildcardOff(group),
  makeBeforeBreak: settings.makeBeforeBreak(group),
  phaseDeadline: settings.phaseDeadline,
  maxNames: settings.maxNames,
  maxNameLength: settings.maxNameLength,
  maxTypes: settings.maxTypes
})
