/**
 * A name that is resolved again and again: answers and time go in; when to ask for which family, and what the name now
 * stands for, comes out.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery
 * @since 0.1.0
 */
import * as IpAddress from "./IpAddress.js"

/**
 * Which addresses are asked for; of "AUTO" and "V4_PREFERRED" the second family only if the first has none.
 *
 * @since 0.1.0
 */
export type LookupFamily = "AUTO" | "V4_ONLY" | "V6_ONLY" | "V4_PREFERRED" | "ALL"

/**
 * A family of addresses.
 *
 * @since 0.1.0
 */
export type Family = 4 | 6

/**
 * How a name is resolved. Durations are in milliseconds.
 *
 * @since 0.1.0
 */
export interface Settings {
  readonly family: LookupFamily
  /** From an answer to the next query. */
  readonly refreshRate: number
  /** From a failure, drawn: below `base` first, then below ever more, up to `max`. Default: `refreshRate`, not drawn. */
  readonly failureRefreshRate: { readonly base: number; readonly max: number } | undefined
  /** What records say goes before `refreshRate`, */
  readonly respectTtl: boolean
  /** but is no less than this. */
  readonly minRefreshRate: number
  /** After an answer, later by less than this, drawn. */
  readonly jitter: number
  /** "all": each address is a host, and none is an answer. "first": one host; ★ none is a failure. */
  readonly uses: "all" | "first"
}

/**
 * An address that a name stands for.
 *
 * @since 0.1.0
 */
export interface Answer {
  /** Without a port. */
  readonly address: string
  /** Seconds; `undefined`: not known. */
  readonly ttl: number | undefined
}

/**
 * How a query ended. No addresses, of `Resolved`: the name has none.
 *
 * @since 0.1.0
 */
export type Ended =
  { readonly _tag: "Resolved"; readonly addresses: ReadonlyArray<Answer> } | { readonly _tag: "Unresolved" }

/**
 * The state.
 *
 * @since 0.1.0
 */
export interface DnsTarget {
  readonly settings: Settings
  readonly name: string
  /** The addresses it stands for, in order; each once. */
  readonly held: ReadonlyArray<string>
  /** Whether a first answer or failure was there. */
  readonly hasAnswered: boolean
  /** The attempt that runs, or ran last. Late answers name an earlier one. */
  readonly attempt: number
  /** Below what the wait after the next failure is drawn, in milliseconds. */
  readonly failureWait: number
  /** What each family gave last. */
  readonly byFamily: Readonly<Record<Family, ReadonlyArray<Answer>>>
  readonly phase:
    | { readonly _tag: "New" | "Literal" }
    | { readonly _tag: "Waiting"; readonly until: number }
    | { readonly _tag: "Asking"; readonly families: ReadonlyArray<Family>; readonly ended: ReadonlyMap<Family, Ended> }
}

/**
 * A step: the next state, the families to ask for now, and whether there was an answer or a failure.
 *
 * @since 0.1.0
 */
export interface Step {
  readonly self: DnsTarget
  readonly ask: ReadonlyArray<Family>
  readonly outcome: "Answered" | "Failed" | undefined
}

const order: Readonly<Record<LookupFamily, ReadonlyArray<Family>>> = {
  AUTO: [6, 4],
  V4_PREFERRED: [4, 6],
  V4_ONLY: [4],
  V6_ONLY: [6],
  ALL: [6, 4]
}

/**
 * A name that was not asked for.
 *
 * @since 0.1.0
 */
export const make = (name: string, settings: Settings): DnsTarget => ({
  settings,
  name,
  held: [],
  hasAnswered: false,
  attempt: 0,
  failureWait: settings.failureRefreshRate?.base ?? 0,
  byFamily: { 4: [], 6: [] },
  phase: { _tag: "New" }
})

/**
 * When it is to be asked again, in milliseconds; Infinity while it is asked, or if never.
 *
 * @since 0.1.0
 */
export const deadline = ({ phase }: DnsTarget): number =>
  phase._tag === "Waiting" ? phase.until : Number.POSITIVE_INFINITY

/**
 * Asks. ★ A literal is its own answer, and is never asked for.
 *
 * @since 0.1.0
 */
export const ask = (self: DnsTarget): Step => {
  if (IpAddress.isValid(self.name)) {
    return {
      self: { ...self, held: [self.name], hasAnswered: true, phase: { _tag: "Literal" } },
      ask: [],
      outcome: "Answered"
    }
  }
  const all = order[self.settings.family]
  const families = self.settings.family === "ALL" ? all : all.slice(0, 1)
  const phase: DnsTarget["phase"] = { _tag: "Asking", families, ended: new Map() }
  return { self: { ...self, attempt: self.attempt + 1, phase }, ask: families, outcome: undefined }
}

const hasAny = (ended: Ended | undefined): boolean => ended?._tag === "Resolved" && ended.addresses.length > 0

/**
 * A query has ended. What nobody waits for is ignored.
 *
 * @param random in [0, 1)
 * @since 0.1.0
 */
export const end = (
  self: DnsTarget,
  attempt: number,
  family: Family,
  ended: Ended,
  now: number,
  random: number
): Step => {
  const { phase, settings } = self
  const ignored: Step = { self, ask: [], outcome: undefined }
  if (phase._tag !== "Asking" || attempt !== self.attempt) return ignored
  if (!phase.families.includes(family) || phase.ended.has(family)) return ignored
  const all = new Map(phase.ended).set(family, ended)
  const byFamily = ended._tag === "Resolved" ? { ...self.byFamily, [family]: ended.addresses } : self.byFamily
  const next: DnsTarget = { ...self, byFamily, phase: { ...phase, ended: all } }
  if (all.size < phase.families.length) return { self: next, ask: [], outcome: undefined }
  if (!hasAny(ended) && settings.family !== "ALL") {
    const [other] = order[settings.family].slice(all.size)
    if (other !== undefined) {
      const asking = { _tag: "Asking", families: [...phase.families, other], ended: all } as const
      return { self: { ...next, phase: asking }, ask: [other], outcome: undefined }
    }
  }
  const results = Array.from(all.values())
  const isAny = results.some(hasAny)
  // ★ Only if each query says that there is none there is none.
  const isNone = results.every(({ _tag }) => _tag === "Resolved") && !isAny
  if (!isAny && !(isNone && settings.uses === "all")) return fail(next, now, random)
  const answers = isAny ? answersOf(next, all) : []
  const until = now + waitOf(settings, answers) + Math.floor(random * settings.jitter)
  return {
    self: {
      ...next,
      held: Array.from(new Set(answers.map(({ address }) => address))),
      hasAnswered: true,
      failureWait: settings.failureRefreshRate?.base ?? 0,
      phase: { _tag: "Waiting", until }
    },
    ask: [],
    outcome: "Answered"
  }
}

/** Of both families in turn, from IPv6. ★ One that failed gives what it gave last. */
const answersOf = ({ byFamily, settings }: DnsTarget, ended: ReadonlyMap<Family, Ended>): ReadonlyArray<Answer> => {
  if (settings.family === "ALL") {
    const length = Math.max(byFamily[4].length, byFamily[6].length)
    return Array.from({ length }, (_, index) => [byFamily[6][index], byFamily[4][index]])
      .flat()
      .filter((each) => each !== undefined)
  }
  return Array.from(ended.values()).flatMap((each) => (each._tag === "Resolved" ? each.addresses : []))
}

const waitOf = (
  { minRefreshRate, refreshRate, respectTtl, uses }: Settings,
  answers: ReadonlyArray<Answer>
): number => {
  if (!respectTtl) return refreshRate
  const considered = uses === "all" ? answers : answers.slice(0, 1)
  const least = considered.reduce(
    (less, { ttl = Number.POSITIVE_INFINITY }) => Math.min(less, ttl),
    Number.POSITIVE_INFINITY
  )
  // ★ 0 does not mean at once.
  return least > 0 && Number.isFinite(least) ? Math.max(minRefreshRate, least * 1_000) : refreshRate
}

/** Nothing is said of its addresses. */
const fail = (self: DnsTarget, now: number, random: number): Step => {
  const { failureRefreshRate, refreshRate } = self.settings
  const wait =
    failureRefreshRate === undefined
      ? refreshRate
      : // ★ Never at once, whatever is drawn.
        Math.max(Math.min(100, failureRefreshRate.base), Math.floor(random * self.failureWait))
  const { max } = failureRefreshRate ?? { max: 0 }
  const failureWait = self.failureWait < max / 2 ? 2 * self.failureWait : max
  return {
    self: { ...self, hasAnswered: true, failureWait, phase: { _tag: "Waiting", until: now + wait } },
    ask: [],
    outcome: "Failed"
  }
}
