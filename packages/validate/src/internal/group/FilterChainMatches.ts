/** Whether a connection can match two filter chains of a listener: Envoy refuses that. */
import type { CidrRange } from "@effect-xds/proto/envoy/config/core/v3/address"
import type { FilterChainMatch } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import type * as MessageSteps from "@effect-xds/proto/MessageSteps"
import * as AsciiText from "./AsciiText.js"
import * as Addresses from "./Addresses.js"
import type { Site } from "./Facts.js"

/**
 * Combinations that are compared of one listener. Envoy has all of them in memory, so nobody comes near; what is beyond is not
 * looked at.
 */
const maxCombinations = 65_536

/** Combinations of one step, or ranges: some µs each with what is done for a chain. */
const atOnce = 64

/** What is left of an address under its mask. */
const rangeKey = ({ addressPrefix, prefixLen }: CidrRange): string => {
  const bits = Addresses.bitsOf(addressPrefix)
  return `${bits.length}/${bits.slice(0, Math.min(prefixLen ?? 0, bits.length))}`
}

const textsOf = function* <A>(
  values: ReadonlyArray<A>,
  toText: (value: A) => string
): MessageSteps.Steps<ReadonlyArray<string>> {
  if (values.length === 0) return [""]
  const texts: Array<string> = []
  for (const value of values) if (texts.push(toText(value)) % atOnce === 0) yield
  return texts
}

/** ★ Envoy asks for each of these in turn, so a chain is there once for each combination. */
const partsOf = function* (
  match: FilterChainMatch | undefined
): MessageSteps.Steps<ReadonlyArray<ReadonlyArray<string>>> {
  if (match === undefined) return [[""], [""], [""], [""], [""], [""], ["0"], [""], [""]]
  return [
    [String(match.destinationPort ?? "")],
    yield* textsOf(match.prefixRanges, rangeKey),
    yield* textsOf(match.serverNames, AsciiText.lower),
    [match.transportProtocol],
    yield* textsOf(match.applicationProtocols, String),
    yield* textsOf(match.directSourcePrefixRanges, rangeKey),
    [String(match.sourceType)],
    yield* textsOf(match.sourcePrefixRanges, rangeKey),
    yield* textsOf(match.sourcePorts, String)
  ]
}

/**
 * A text for each combination. Most parts are one text, which is added together with the next: a listener of ten kilobytes is read
 * at once, and may have all the combinations.
 */
const keysOf = function* (parts: ReadonlyArray<ReadonlyArray<string>>): MessageSteps.Steps<ReadonlyArray<string>> {
  let keys: ReadonlyArray<string> = [""]
  let between = ""
  for (const part of parts) {
    const [only = ""] = part
    if (part.length === 1) {
      between += `\0${only}`
      continue
    }
    const longer: Array<string> = []
    for (const key of keys) {
      for (const each of part) if (longer.push(`${key}${between}\0${each}`) % atOnce === 0) yield
    }
    keys = longer
    between = ""
  }
  return keys.length === 1 ? [between] : keys.map((key) => key + between)
}

/** A chain that another one of its listener takes connections from, or that names something twice. */
export const check = function* (
  site: Site,
  matches: ReadonlyArray<FilterChainMatch | undefined>
): MessageSteps.Steps<void> {
  const owners = new Map<string, number>()
  let left = maxCombinations
  let looked = 0
  for (const [index, match] of matches.entries()) {
    const parts = yield* partsOf(match)
    const count = parts.reduce((product, part) => product * part.length, 1)
    if ((left -= count) < 0) return
    let before: number | undefined
    let isTwice = false
    for (const key of yield* keysOf(parts)) {
      if (++looked % atOnce === 0) yield
      const owner = owners.get(key)
      if (owner === index) isTwice = true
      else before ??= owner
      owners.set(key, index)
    }
    if (before === undefined && !isTwice) continue
    const problem =
      before === undefined
        ? "must not name one thing twice"
        : `must not match what filter_chains[${before}] matches already`
    site.fault("filter-chain-match-unique", problem, ["filter_chains", index, "filter_chain_match"])
  }
}
