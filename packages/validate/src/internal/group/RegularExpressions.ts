/** Regular expressions, which are RE2's at Envoy and gRPC. */
import type { RegexMatcher } from "@effect-xds/proto/envoy/type/matcher/v3/regex"
import * as Reason from "@effect-xds/proto/Reason"
import { RE2JS } from "re2js"
import { shownText } from "../Report.js"
import type { Site } from "./Facts.js"
import * as Reading from "./Reading.js"

/** UTF-16 code units. Nobody writes more, and to compile takes longer than all else. */
const maxLength = 65_536

/** What Envoy takes unless its runtime says another number. */
const maxProgramSize = 100

const ofRegex = ({ regex }: RegexMatcher, site: Site): void => {
  // Empty: the rules of the field tell it.
  if (regex === "") return
  if (regex.length > maxLength) {
    return site.fault("regular-expression-size", `must have at most ${maxLength} characters`, ["regex"])
  }
  try {
    const size = RE2JS.compile(regex).programSize()
    // ★ Envoy's are a little larger, never smaller: what is over the bound here is over it there.
    if (size > maxProgramSize) {
      const problem = `must have at most ${maxProgramSize} instructions once compiled, has ${size} or more`
      site.fault("regular-expression-size", problem, ["regex"])
    }
  } catch (cause) {
    // ★ `\C`, a byte, is RE2's; strings here have none.
    if (regex.includes("\\C")) return
    site.fault("regular-expression", `must be an expression of RE2, is ${shownText(regex)}: ${Reason.of(cause)}`, [
      "regex"
    ])
  }
}

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of<RegexMatcher>("envoy.type.matcher.v3.RegexMatcher", ofRegex)
]
