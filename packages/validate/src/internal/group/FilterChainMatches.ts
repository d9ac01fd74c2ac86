/** Whether a connection can match two filter chains of a listener: Envoy refuses that. */
import type { CidrRange } from "@effect-xds/proto/envoy/config/core/v3/address"
import type { FilterChainMatch } from "@effect-xds/proto/envoy/config/listener/v3/listener_components"
import * as AsciiText from "./AsciiText.js"
import * as Addresses from "./Addresses.js"
import type { Site } from "./Facts.js"

/**
 * Combinations that are compared of one listener. Envoy has all of them in memory, so nobody comes near; what is beyond is not
 * looked at.
 */
const maxCombinations = 65_536

/** What is left of an address under its mask. */
const rangeKey = ({ addressPrefix, prefixLen }: CidrRange): string => {
  const bits = Addresses.bitsOf(addressPrefix)
  return `${bits.length}/${bits.slice(0, Math.min(prefixLen ?? 0, bits.length))}`
}

const orAny = (texts: ReadonlyArray<string>): ReadonlyArray<string> => (texts.length === 0 ? [""] : texts)

/** ★ Envoy asks for each of these in turn, so a chain is there once for each combination. */
const partsOf = (match: FilterChainMatch | undefined): ReadonlyArray<ReadonlyArray<string>> =>
  match === undefined
    ? [[""], [""], [""], [""], [""], [""], ["0"], [""], [""]]
    : [
        [String(match.destinationPort ?? "")],
        orAny(match.prefixRanges.map(rangeKey)),
        orAny(match.serverNames.map(AsciiText.lower)),
        [match.transportProtocol],
        orAny(match.applicationProtocols),
        orAny(match.directSourcePrefixRanges.map(rangeKey)),
        [String(match.sourceType)],
        orAny(match.sourcePrefixRanges.map(rangeKey)),
        orAny(match.sourcePorts.map(String))
      ]

/** A chain that another one of its listener takes connections from, or that names something twice. */
export const check = (site: Site, matches: ReadonlyArray<FilterChainMatch | undefined>): void => {
  const owners = new Map<string, number>()
  let left = maxCombinations
  for (const [index, match] of matches.entries()) {
    const parts = partsOf(match)
    const count = parts.reduce((product, part) => product * part.length, 1)
    if ((left -= count) < 0) return
    let keys: ReadonlyArray<string> = [""]
    for (const part of parts) keys = keys.flatMap((key) => part.map((each) => `${key}\0${each}`))
    const taken = keys.find((key) => owners.has(key))
    const before = taken === undefined ? undefined : owners.get(taken)
    for (const key of keys) owners.set(key, index)
    const isTwice = new Set(keys).size < keys.length
    if (before === undefined && !isTwice) continue
    const problem =
      before === undefined
        ? "must not name one thing twice"
        : `must not match what filter_chains[${before}] matches already`
    site.fault("filter-chain-match-unique", problem, ["filter_chains", index, "filter_chain_match"])
  }
}
