/**
 * Which virtual host an authority belongs to.
 *
 * Exact domains come first, then suffixes `*x`, then prefixes `x*`, then `*`; within a kind the longest, then the first.
 * Letters are compared without their case; ★ the port belongs to the host. ★ The star of a suffix or prefix stands for at
 * least one character.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/api-v3/config/route/v3/route_components.proto "VirtualHost.domains"
 * @since 0.1.0
 */
import * as Ascii from "@effect-xds/discovery/Ascii"
import type { Collector } from "./RouteError.js"

interface Parts {
  readonly length: number
  readonly byText: ReadonlyMap<string, number>
}

/**
 * The domains of several virtual hosts. The look-up costs what the lengths of the wildcards are that differ, however
 * many domains there are.
 *
 * @since 0.1.0
 */
export interface Domains {
  readonly exact: ReadonlyMap<string, number>
  /** Longest first. */
  readonly suffixes: ReadonlyArray<Parts>
  /** Longest first. */
  readonly prefixes: ReadonlyArray<Parts>
  readonly any: number | undefined
}

const partsOf = (byText: ReadonlyMap<string, number>): ReadonlyArray<Parts> => {
  const byLength = new Map<number, Map<string, number>>()
  for (const [text, index] of byText) {
    const same = byLength.get(text.length) ?? new Map<string, number>()
    same.set(text, index)
    byLength.set(text.length, same)
  }
  return Array.from(byLength, ([length, same]) => ({ length, byText: same })).sort((a, b) => b.length - a.length)
}

/**
 * Collects the domains of virtual hosts, a list for each. Mistakes are with `errors`; of a domain that is there twice the
 * first wins, with a warning.
 *
 * @since 0.1.0
 */
export const make = (
  lists: ReadonlyArray<ReadonlyArray<string>>,
  errors: Collector,
  warnings: Array<string>
): Domains => {
  const exact = new Map<string, number>()
  const suffixes = new Map<string, number>()
  const prefixes = new Map<string, number>()
  const any = new Map<string, number>()
  for (const [index, domains] of lists.entries()) {
    const path = `virtual_hosts[${index}].domains`
    if (domains.length === 0) errors.add(path, "NoDomains", "there are no domains; name at least one, or *")
    for (const [at, domain] of domains.entries()) {
      const where = `${path}[${at}]`
      const star = domain.indexOf("*")
      const isWild = star >= 0
      const inTheMiddle = star > 0 && star < domain.length - 1
      if (domain === "") {
        errors.add(where, "InvalidDomain", "the domain is empty; use * to match every host")
        continue
      }
      if (inTheMiddle || (isWild && domain.includes("*", star + 1))) {
        errors.add(where, "InvalidDomain", `${JSON.stringify(domain)}: one * is allowed, at the start or at the end`)
        continue
      }
      const folded = Ascii.fold(domain)
      const [kind, text] = !isWild
        ? [exact, folded]
        : domain === "*"
          ? [any, ""]
          : star === 0
            ? [suffixes, folded.slice(1)]
            : [prefixes, folded.slice(0, -1)]
      const first = kind.get(text)
      if (first === undefined) kind.set(text, index)
      else if (warnings.length < maxWarnings) {
        warnings.push(`${where}: ${JSON.stringify(domain)} belongs to virtual_hosts[${first}] already, which is used`)
      }
    }
  }
  return { exact: together(exact), suffixes: partsOf(suffixes), prefixes: partsOf(prefixes), any: any.get("") }
}

const maxWarnings = 100

/**
 * The same map, its texts made anew, one after the other. As they were read they lie among all that was read with them: a
 * look-up among ten thousand waits twice as long for its text.
 */
const together = (texts: ReadonlyMap<string, number>): ReadonlyMap<string, number> => {
  const copies: unknown = JSON.parse(JSON.stringify(Array.from(texts.keys())))
  if (!Array.isArray(copies)) return texts
  const places = Array.from(texts.values())
  return new Map(copies.map((text, at) => [String(text), places[at] ?? 0]))
}

/**
 * The place of the virtual host that an authority belongs to; `undefined` if there is none.
 *
 * @since 0.1.0
 */
export const find = (self: Domains, host: string): number | undefined => {
  // What is found as it is needs no folding: the domains of the table are folded.
  const exact = self.exact.get(host)
  if (exact !== undefined) return exact
  const folded = Ascii.fold(host)
  const another = folded === host ? undefined : self.exact.get(folded)
  if (another !== undefined) return another
  for (const { byText, length } of self.suffixes) {
    if (length >= folded.length) continue
    const found = byText.get(folded.slice(-length))
    if (found !== undefined) return found
  }
  for (const { byText, length } of self.prefixes) {
    if (length >= folded.length) continue
    const found = byText.get(folded.slice(0, length))
    if (found !== undefined) return found
  }
  return self.any
}
