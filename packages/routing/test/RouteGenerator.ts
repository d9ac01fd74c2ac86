/** RouteConfigurations from a seed, and requests that come near to what they match. */
import { create } from "@bufbuild/protobuf"
import type { RouteConfiguration } from "@effect-xds/proto/envoy/config/route/v3/route"
import { RouteConfigurationSchema } from "@effect-xds/proto/envoy/config/route/v3/route"
import { FractionalPercent_DenominatorType as Denominator } from "@effect-xds/proto/envoy/type/v3/percent"
import type { ActionInit, MatchInit, RouteInit, VirtualHostInit } from "./Routes.js"

export interface Request {
  readonly authority: string
  readonly path: string
  readonly headers: ReadonlyArray<readonly [name: string, value: string]>
}

/** Every cluster that a configuration names. */
export const clusters = ["c0", "c1", "c2", "c3"]

/** Named by routes with `cluster_header`. */
export const clusterHeader = "x-cluster"

const domains = [
  "a.test",
  "A.test:80",
  "b.test",
  "*.test",
  "*.a.test",
  "*-a.test",
  "*t",
  "a.*",
  "A.te*",
  "a.test*",
  "b*",
  "*"
]
const authorities = [
  "a.test",
  "A.TEST",
  "b.test",
  "a.test:80",
  "b.test:80",
  "x.a.test",
  "X-a.test",
  "x.test",
  "t",
  "at",
  "a.",
  "a.org",
  "a.testing",
  "b",
  "zz.org"
]
const paths = ["/s.S/a", "/s.S/b", "/s.S/ab", "/S.s/A", "/s.s/a", "/t.T/a", "/t.T/", "/"]
const exactPaths = [...paths, "/none", "s.S/a", "/s.S"]
const prefixes = ["", "/", "/s", "/s.S", "/s.S/", "/s.S/a", "/S.s/", "/t", "s.S/"]
const regexes = [
  "/s\\.S/.*",
  "/s.S/(a|b)",
  "/s.S/a|/t.T/a",
  "(?i)/s.s/A",
  "[^/]*/a",
  "/.*",
  "^/s.S/a$",
  "/s.S/a?b",
  "/\\w\\.\\w/[[:alpha:]]{2}",
  "(/[sS]\\.){1,2}.*",
  "a",
  "\\Q/s.S/\\E\\pL",
  ".*b"
]
const names = ["k", "m", "Upper", "content-type"]
const values = ["", "a", "b", "ab", "A", "a,b", "b,a", "5", "-3", "+7", "007", "10.9", "0x5", "1e1", "--1", "-"]
const numbers = ["9223372036854775807", "9223372036854775808", "-9223372036854775808", "10", "-10", "0"]
const patterns = ["a", "b", "ab", "A", "B", ",", "5", "application/"]
const valueRegexes = ["a", "a|b", ".*", ".+", "(?i)A.?", "[0-9]+", "-?\\d+", "^a", "b$", "(a|ab)(c|bcd)?"]
const bounds = [-9_223_372_036_854_775_808n, -10n, -3n, 0n, 5n, 7n, 8n, 11n, 9_223_372_036_854_775_807n]

/** What is in a configuration that routing and Envoy do not see alike. */
const differing = ["n-bin", ":method", "grpc-timeout", "te", "user-agent"]

export class Generator {
  constructor(private readonly draw: () => number) {}

  private is(probability: number): boolean {
    return this.draw() < probability
  }

  private below(n: number): number {
    return Math.floor(this.draw() * n)
  }

  private of<A>(list: readonly [A, ...ReadonlyArray<A>] | ReadonlyArray<A>): A {
    const chosen = list[this.below(list.length)]
    if (chosen === undefined) throw new RangeError("nothing to choose from")
    return chosen
  }

  private some<A>(list: ReadonlyArray<A>, probability: number): ReadonlyArray<A> {
    return list.filter(() => this.is(probability))
  }

  private headerMatcher(): NonNullable<MatchInit["headers"]>[number] {
    const name = this.is(0.05) ? this.of(differing) : this.of(names)
    const invertMatch = this.is(0.25)
    const treatMissingHeaderAsEmpty = this.is(0.03)
    const common = { name, invertMatch, treatMissingHeaderAsEmpty }
    if (this.is(0.4)) {
      const ignoreCase = this.is(0.4)
      const matchPattern = this.of([
        { case: "exact", value: this.of(values) },
        { case: "prefix", value: this.of(patterns) },
        { case: "suffix", value: this.of(patterns) },
        { case: "contains", value: this.of(patterns) },
        { case: "safeRegex", value: { regex: this.of(valueRegexes) } }
      ] as const)
      return {
        ...common,
        headerMatchSpecifier: {
          case: "stringMatch",
          // Envoy takes no regular expression without its case.
          value: { ignoreCase: ignoreCase && matchPattern.case !== "safeRegex", matchPattern }
        }
      }
    }
    const [a, b] = [this.of(bounds), this.of(bounds)]
    const specifier = this.of([
      { case: "exactMatch", value: this.of(values) },
      { case: "prefixMatch", value: this.of(patterns) },
      { case: "suffixMatch", value: this.of(patterns) },
      { case: "containsMatch", value: this.of(patterns) },
      { case: "safeRegexMatch", value: { regex: this.of(valueRegexes) } },
      { case: "presentMatch", value: this.is(0.6) },
      { case: "rangeMatch", value: { start: a < b ? a : b, end: a < b ? b : a } },
      { case: "rangeMatch", value: { start: a < b ? a : b, end: a < b ? b : a } }
    ] as const)
    return { ...common, headerMatchSpecifier: specifier }
  }

  private match(): MatchInit {
    const path = this.of([
      { case: "path", value: this.of(exactPaths) },
      { case: "path", value: this.of(paths) },
      { case: "prefix", value: this.of(prefixes) },
      { case: "prefix", value: this.of(prefixes) },
      { case: "safeRegex", value: { regex: this.of(regexes) } }
    ] as const)
    const headers = Array.from({ length: this.of([0, 0, 0, 0, 1, 1, 1, 2]) }, () => this.headerMatcher())
    const defaultValue = this.of([
      { numerator: 0, denominator: Denominator.HUNDRED },
      { numerator: 0, denominator: Denominator.MILLION },
      { numerator: 100, denominator: Denominator.HUNDRED },
      { numerator: 10_000, denominator: Denominator.TEN_THOUSAND },
      { numerator: 1_000_000, denominator: Denominator.MILLION },
      { numerator: 429_497, denominator: Denominator.HUNDRED }
    ])
    return {
      pathSpecifier: path,
      headers,
      ...(this.is(0.2) ? { caseSensitive: this.is(0.3) } : {}),
      ...(this.is(0.15) ? { runtimeFraction: { defaultValue, runtimeKey: "no.such.key" } } : {}),
      ...(this.is(0.03)
        ? {
            queryParameters: [
              { name: "q", queryParameterMatchSpecifier: { case: "presentMatch", value: this.is(0.5) } }
            ]
          }
        : {}),
      ...(this.is(0.05) ? { grpc: {} } : {}),
      ...(this.is(0.02) ? { tlsContext: { presented: true } } : {}),
      ...(this.is(0.02)
        ? {
            dynamicMetadata: [
              {
                filter: "f",
                path: [{ segment: { case: "key", value: "k" } }],
                value: { matchPattern: { case: "presentMatch", value: true } }
              }
            ]
          }
        : {})
    }
  }

  private action(): ActionInit {
    const weights = this.some(clusters, 0.6).map((name) => ({ name, weight: this.below(4) }))
    const kind = this.draw()
    if (kind < 0.1) return { case: "directResponse", value: { status: 200 } }
    if (kind < 0.13) {
      return { case: "route", value: { clusterSpecifier: { case: "clusterHeader", value: clusterHeader } } }
    }
    if (kind < 0.4 && weights.some(({ weight }) => weight > 0)) {
      return { case: "route", value: { clusterSpecifier: { case: "weightedClusters", value: { clusters: weights } } } }
    }
    return { case: "route", value: { clusterSpecifier: { case: "cluster", value: this.of(clusters) } } }
  }

  /** The name of a route is its place; Envoy says it in the response header `x-route`. */
  configuration(name: string): RouteConfiguration {
    const left = new Set(domains)
    const virtualHosts: Array<VirtualHostInit> = []
    for (let host = 0, hosts = 1 + this.below(4); host < hosts && left.size > 0; host++) {
      const own = this.some([...left], 0.3)
      const chosen = own.length === 0 ? [this.of([...left])] : own
      for (const domain of chosen) left.delete(domain)
      const routes = Array.from({ length: 1 + this.below(8) }, (_, route): RouteInit => {
        const place = `${host}.${route}`
        return {
          name: place,
          match: this.match(),
          action: this.action(),
          responseHeadersToAdd: [{ header: { key: "x-route", value: place } }]
        }
      })
      virtualHosts.push({ name: `host-${host}`, domains: [...chosen], routes })
    }
    return create(RouteConfigurationSchema, { name, virtualHosts })
  }

  request(): Request {
    const headers: Array<readonly [string, string]> = []
    for (const name of ["k", "m", "upper"]) {
      for (let count = this.of([0, 0, 1, 1, 1, 2]); count > 0; count--) {
        headers.push([name, this.of(this.is(0.2) ? numbers : values)])
      }
    }
    for (const name of ["n-bin", "te"]) if (this.is(0.3)) headers.push([name, name === "te" ? "trailers" : "a"])
    return { authority: this.of(authorities), path: this.of(paths), headers }
  }
}
