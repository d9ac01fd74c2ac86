/**
 * What one check finds, and what it knows on its way through a message.
 */
import type { DescMessage } from "@bufbuild/protobuf"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as Redaction from "@effect-xds/proto/Redaction"
import type { Fault } from "../Fault.js"

/** A fault whose path still grows: what is found inside learns on the way out where that was. */
interface Found {
  readonly segments: Array<string>
  readonly rule: string
  readonly problem: string
  readonly value: string | undefined
}

/** What is looked up for an `Any`; `undefined`: its type is not known here, so it is not entered. */
export type TypeOf = (typeUrl: string) => DescMessage | undefined

/**
 * Nobody nests messages deeper to be read, and `fromBinary` reads no deeper. It counts through `Any`s: their bytes are decoded
 * at every level, so this also bounds what one byte can cost.
 */
export const maxDepth = 100

/** Messages that one check enters. A message object that holds others twice, which hold others twice, would have no end. */
const maxMessages = 4_194_304

export class Report {
  readonly found: Array<Found> = []
  /** Messages that were entered: what the check costs. */
  messages = 0
  depth = 0
  /** How many of the fields around are sensitive. */
  sensitive = 0
  /** `Any`s that Envoy never opens. */
  unopened: Set<unknown> | undefined
  /** Whether there is one fault more than were asked for; nothing further is checked then. */
  isFull = false

  constructor(
    readonly most: number,
    readonly typeOf: TypeOf,
    /** Milliseconds since 1970, for rules relative to now; without it those are not checked. */
    readonly now: number | undefined,
    /** Rules that may be broken. */
    readonly off: ReadonlySet<string> | undefined
  ) {}

  /** Goes into a message; `false`: not any more, which is a fault unless there are enough. */
  enter(): boolean {
    if (this.isFull) return false
    this.messages++
    if (this.depth >= maxDepth) {
      this.add("depth", `must not be nested more than ${maxDepth} messages deep`)
      return false
    }
    if (this.messages > maxMessages) {
      this.add("size", `must not have more than ${maxMessages} messages around it`)
      this.isFull = true
      return false
    }
    this.depth++
    return true
  }

  add(rule: string, problem: string, value?: string): void {
    if (this.off?.has(rule) === true) return
    if (this.found.length >= this.most) {
      this.isFull = true
      return
    }
    this.found.push({
      segments: [],
      rule,
      problem,
      value: value !== undefined && this.sensitive > 0 ? Redaction.redacted : value
    })
  }

  /** What was found since there were `before` faults is inside of this. */
  inside(before: number, segment: string): void {
    for (let index = before; index < this.found.length; index++) this.found[index]?.segments.push(segment)
  }

  faults(): ReadonlyArray<Fault> {
    return this.found.map(({ problem, rule, segments, value }) => {
      let path = ""
      for (const segment of segments.reverse()) path += path === "" || segment.startsWith("[") ? segment : `.${segment}`
      return { path, rule, problem, value }
    })
  }
}

/** UTF-16 code units of a text that a fault shows. */
const mostShown = 64

/** What is looked through for secrets before it is cut: one that is cut is not known any more. */
const mostSearched = 4096

/** A text as a fault shows it: quoted, without what looks like a secret, and cut when it is long. */
export const shownText = (text: string): string => {
  const clean = Redaction.text(text.slice(0, mostSearched))
  if (text.length <= mostSearched && clean.length <= mostShown) return JSON.stringify(clean)
  // Not in the middle of a surrogate pair.
  const end = (clean.codePointAt(mostShown - 1) ?? 0) > 0xffff ? mostShown - 1 : mostShown
  return `${JSON.stringify(clean.slice(0, end))}… (${text.length} UTF-16 code units)`
}

/** `1 item`, `2 items`. */
export const counted = (count: number | bigint, what: string): string =>
  `${count} ${what}${Number(count) === 1 ? "" : "s"}`

/** Checks one value; adds its faults. */
export interface Check {
  (value: unknown, report: Report): void
  /** The same in steps, of what is large. Absent: there is nothing in it that is long. */
  readonly inSteps?: (value: unknown, report: Report, large: MessageSteps.Large) => MessageSteps.Steps<void>
}

/** A check that can be done in steps, too. */
export const withSteps = (check: (value: unknown, report: Report) => void, inSteps: Check["inSteps"]): Check =>
  inSteps === undefined ? check : Object.assign(check, { inSteps })

/** In steps if the value is large, else at once. */
export const run = function* (
  check: Check | undefined,
  value: unknown,
  report: Report,
  large: MessageSteps.Large
): MessageSteps.Steps<void> {
  if (check?.inSteps === undefined || typeof value !== "object" || value === null || !large.has(value))
    check?.(value, report)
  else yield* check.inSteps(value, report, large)
}

/** What a rule says of a value that is not of its type: such a message was made without the help of its type. */
export const notA = (report: Report, type: string, value: unknown): void =>
  report.add("type", `must be ${type}, is ${typeof value}`)

/** An option that is set; protobuf-es has the defaults of others on the prototype. */
export const given = <Rules extends object, Key extends keyof Rules>(rules: Rules, key: Key): Rules[Key] | undefined =>
  Object.hasOwn(rules, key) ? rules[key] : undefined
