/**
 * Naming rules of the virtual host discovery service (VHDS).
 *
 * A virtual host is asked for as `<route configuration>/<host>`. It is kept under a name of the same form, with one
 * alias for each of its domains, so that a subscription by host finds it. A domain may stand for many hosts: `*.example.com`,
 * `*-x`, `x.*`, `*`. A host is answered by the virtual host whose domain matches it best: the host itself, then the longest
 * suffix, then the longest prefix, then `*`.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_conn_man/vhds
 * @since 0.1.0
 */
import { WireType } from "@bufbuild/protobuf/wire"
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import { fields } from "../wire/Wire.js"

/** envoy.config.route.v3.RouteConfiguration */
const VHDS = 9

/**
 * Splits a virtual host's resource name at the *last* slash: a host cannot hold one, a route configuration's name can.
 * `undefined` if there is no slash.
 *
 * @since 0.1.0
 */
export const split = (
  resourceName: string
): { readonly routeConfiguration: string; readonly host: string } | undefined => {
  const at = resourceName.lastIndexOf("/")
  return at < 0 ? undefined : { routeConfiguration: resourceName.slice(0, at), host: resourceName.slice(at + 1) }
}

/**
 * The resource name of a virtual host, or the alias for one of its domains.
 *
 * @since 0.1.0
 */
export const nameOf = (routeConfiguration: string, host: string): string => `${routeConfiguration}/${host}`

/**
 * The name of the body-less resource that opens a listener whose route configuration fetches its virtual hosts by VHDS
 * from a server that has no VHDS wildcard: Envoy watches that prefix and waits for any answer under it.
 *
 * @since 0.1.0
 */
export const openerOf = (routeConfiguration: string): string => `${routeConfiguration}/`

/**
 * Whether a name is one of {@link openerOf}: that of no host.
 *
 * @since 0.1.0
 */
export const isOpener = (name: string): boolean => name.endsWith("/")

/**
 * Whether an encoded RouteConfiguration asks for its virtual hosts by VHDS. `false` for bytes that are no such message.
 *
 * @since 0.1.0
 */
export const isRequestedBy = (routeConfiguration: Uint8Array): boolean => {
  let found = false
  try {
    fields(routeConfiguration, (_reader, field, type) => {
      if (field === VHDS && type === WireType.LengthDelimited) found = true
      return false
    })
  } catch {
    return false
  }
  return found
}

/**
 * Whether a name or alias ends in a domain that stands for many hosts: with one `*`, at its beginning or end.
 *
 * @since 0.1.0
 */
export const isWildcard = (name: string): boolean => {
  const at = name.indexOf("*", name.lastIndexOf("/") + 1)
  if (at < 0 || name.indexOf("*", at + 1) >= 0) return false
  return at === name.length - 1 || at === name.lastIndexOf("/") + 1
}

/**
 * Whether a name or alias ends in a domain that stands for the host that another name ends in. ★ A `*` beside other
 * characters stands for at least one.
 *
 * @since 0.1.0
 */
export const matches = (wildcard: string, name: string): boolean => {
  const host = name.lastIndexOf("/") + 1
  const start = wildcard.lastIndexOf("/") + 1
  if (host !== start || host === name.length || !name.startsWith(wildcard.slice(0, start))) return false
  const domain = wildcard.slice(start)
  if (domain === "*") return true
  if (name.length - host < domain.length) return false
  return domain.startsWith("*") ? name.endsWith(domain.slice(1)) : name.startsWith(domain.slice(0, -1), host)
}

/** How long texts beside a `*` are, the longest first, and how many domains have each length. */
type Lengths = ReadonlyArray<readonly [length: number, domains: number]>

/**
 * The domains of one route configuration that stand for many hosts, as far as it takes to find the best for a host in
 * one look-up for each length that there is.
 *
 * @since 0.1.0
 */
export interface Domains {
  readonly suffixes: Lengths
  readonly prefixes: Lengths
}

/**
 * {@link Domains} by route configuration.
 *
 * @since 0.1.0
 */
export type DomainIndex = HashMap.HashMap<string, Domains>

/**
 * No domain stands for many hosts.
 *
 * @since 0.1.0
 */
export const noDomains: DomainIndex = HashMap.empty()

const counted = (lengths: Lengths, length: number, change: 1 | -1): Lengths => {
  const before = lengths.find(([each]) => each === length)?.[1] ?? 0
  const others = lengths.filter(([each]) => each !== length)
  if (before + change === 0) return others
  return [...others, [length, before + change] as const].sort(([one], [other]) => other - one)
}

const count = (self: DomainIndex, name: string, change: 1 | -1): DomainIndex => {
  const parts = split(name)
  if (parts === undefined || !isWildcard(name)) return self
  const { host, routeConfiguration } = parts
  const { prefixes, suffixes } = Option.getOrElse(HashMap.get(self, routeConfiguration), (): Domains => ({
    suffixes: [],
    prefixes: []
  }))
  // `*` is a suffix of length 0: the last resort, and not before prefixes.
  const next = host.startsWith("*")
    ? { suffixes: counted(suffixes, host.length - 1, change), prefixes }
    : { suffixes, prefixes: counted(prefixes, host.length - 1, change) }
  return next.suffixes.length + next.prefixes.length === 0
    ? HashMap.remove(self, routeConfiguration)
    : HashMap.set(self, routeConfiguration, next)
}

/**
 * The index with a name or alias, if that stands for many hosts.
 *
 * @since 0.1.0
 */
export const withDomain = (self: DomainIndex, name: string): DomainIndex => count(self, name, 1)

/**
 * The index without a name or alias that was put in.
 *
 * @since 0.1.0
 */
export const withoutDomain = (self: DomainIndex, name: string): DomainIndex => count(self, name, -1)

/**
 * What `find` has of the domain that matches the host of a name best, if that stands for many hosts.
 *
 * @since 0.1.0
 */
export const best = <A>(self: DomainIndex, name: string, find: (domain: string) => A | undefined): A | undefined => {
  if (HashMap.isEmpty(self)) return undefined
  const parts = split(name)
  // The opener of a route configuration is no host.
  if (parts === undefined || parts.host === "") return undefined
  const { host, routeConfiguration } = parts
  const domains = Option.getOrUndefined(HashMap.get(self, routeConfiguration))
  if (domains === undefined) return undefined
  for (const [length] of domains.suffixes) {
    if (length === 0 || length >= host.length) continue
    const found = find(nameOf(routeConfiguration, `*${host.slice(-length)}`))
    if (found !== undefined) return found
  }
  for (const [length] of domains.prefixes) {
    if (length >= host.length) continue
    const found = find(nameOf(routeConfiguration, `${host.slice(0, length)}*`))
    if (found !== undefined) return found
  }
  return find(nameOf(routeConfiguration, "*"))
}
