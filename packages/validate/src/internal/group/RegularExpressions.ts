/** Regular expressions, which are RE2's at Envoy and gRPC. */
import type { RegexMatcher } from "@effect-xds/proto/envoy/type/matcher/v3/regex"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import type { RegexMatcher as XdsRegexMatcher } from "@effect-xds/proto/xds/type/matcher/v3/regex"
import * as ByteExpression from "@effect-xds/re2/ByteExpression"
import * as Either from "effect/Either"
import { Buffer } from "node:buffer"
import { shownText } from "../Report.js"
import type { Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/** UTF-16 code units. Nobody writes more, and to compile takes longer than all else. */
const maxLength = 65_536

/** What Envoy takes unless its runtime, or the matcher, says another number. */
const maxProgramSize = 100

const reader = new ByteExpression.Reader()

/** The same text as Envoy's RE2 reads it: each byte of UTF-8 is a character. */
const inBytes = (regex: string): string => Buffer.from(regex, "utf8").toString("latin1")

const check = function* (regex: string, most: number, site: Site): MessageSteps.Steps<void> {
  // Empty: the rules of the field tell it.
  if (regex === "") return
  if (regex.length > maxLength) {
    return site.fault("regular-expression-size", `must have at most ${maxLength} characters`, ["regex"])
  }
  const expression = yield* reader.readInSteps(inBytes(regex))
  if (Either.isLeft(expression)) {
    const problem = `must be an expression of RE2, is ${shownText(regex)}: ${expression.left}`
    return site.fault("regular-expression", problem, ["regex"])
  }
  const { bounds, measure } = expression.right
  // Most are seen to be small enough, or too large, without being compiled.
  const size = bounds.least <= most && bounds.most > most ? measure(site.measuring) : bounds
  if (size.least <= most) return
  const count = size.least === size.most ? `${size.least}` : `${size.least} or more`
  site.fault("regular-expression-size", `must have at most ${most} instructions once compiled, has ${count}`, ["regex"])
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.inSteps<RegexMatcher>("envoy.type.matcher.v3.RegexMatcher", ({ engineType, regex }, site) => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- Envoy still reads it
    const most = engineType.case === "googleRe2" ? engineType.value.maxProgramSize : undefined
    return check(regex, most ?? maxProgramSize, site)
  }),
  // ★ Of these Envoy asks no size.
  Reading.inSteps<XdsRegexMatcher>("xds.type.matcher.v3.RegexMatcher", ({ regex }, site) =>
    check(regex, Infinity, site)
  )
]
