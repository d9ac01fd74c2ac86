/**
 * Naming rules of the virtual host discovery service (VHDS).
 *
 * A client requests a virtual host as `<route configuration>/<host>`. The store keeps it under a name of the same form, with
 * one alias per domain, so that a subscription by host finds it. A wildcard domain matches many hosts: `*.example.com`, `*-x`,
 * `x.*`, `*`. The best match for a host is the exact domain, then the longest suffix, then the longest prefix, then `*`.
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
/** envoy.config.route.v3.VirtualHost */
const DOMAINS = 2

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
 * The opener of a route configuration: the name of a resource without a body that lets Envoy open a listener with VHDS, if the
 * server has no VHDS wildcard. Envoy watches this prefix and waits for any answer under it.
 *
 * @since 0.1.0
 */
export const openerOf = (routeConfiguration: string): string => `${routeConfiguration}/`

/**
 * Whether a name is an opener, see {@link openerOf}.
 *
 * @since 0.1.0
 */
export const isOpener = (name: string): boolean => name.endsWith("/")

/**
 * Whether an encoded RouteConfiguration fetches its virtual hosts by VHDS. `false` for malformed bytes.
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
 * The domains of an encoded virtual host as `<route configuration>/<domain>`, in lower case, each once. Throws for malformed
 * bytes.
 *
 * @param name the name of its resource
 * @since 0.1.0
 */
export const domainsOf = (virtualHost: Uint8Array, name: string): ReadonlyArray<string> => {
  const domains = new Set<string>()
  const routeConfiguration = split(name)?.routeConfiguration ?? ""
  fields(virtualHost, (reader, field, type) => {
    if (field !== DOMAINS || type !== WireType.LengthDelimited) return false
    domains.add(nameOf(routeConfiguration, reader.string().toLowerCase()))
    return true
  })
  return Array.from(domains)
}

/**
 * Whether a name or alias ends in a wildcard domain: one `*`, at its beginning or end.
 *
 * @since 0.1.0
 */
export const isWildcard = (name: string): boolean => {
  const at = name.indexOf("*", name.lastIndexOf("/") + 1)
  if (at < 0 || name.indexOf("*", at + 1) >= 0) return false
  return at === name.length - 1 || at === name.lastIndexOf("/") + 1
}

/**
 * Whether the wildcard domain of one name matches the host of another name. ★ A `*` beside other characters matches at least
 * one character.
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

/** Lengths of the texts beside a `*`, longest first, each with its number of domains. */
type Lengths = ReadonlyArray<readonly [length: number, domains: number]>

/**
 * Index of the wildcard domains of one route configuration: the best match for a host takes one look-up per length.
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
 * The index without wildcard domains.
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
  // `*` is a suffix of length 0: the last resort, after the prefixes.
  const next = host.startsWith("*")
    ? { suffixes: counted(suffixes, host.length - 1, change), prefixes }
    : { suffixes, prefixes: counted(prefixes, host.length - 1, change) }
  return next.suffixes.length + next.prefixes.length === 0
    ? HashMap.remove(self, routeConfiguration)
    : HashMap.set(self, routeConfiguration, next)
}

/**
 * The index with a name or alias; unchanged if that has no wildcard domain.
 *
 * @since 0.1.0
 */
export const withDomain = (self: DomainIndex, name: string): DomainIndex => count(self, name, 1)

/**
 * The index without a name or alias that was added before.
 *
 * @since 0.1.0
 */
export const withoutDomain = (self: DomainIndex, name: string): DomainIndex => count(self, name, -1)

/**
 * The result of `find` for the wildcard domain that matches the host of a name best.
 *
 * @since 0.1.0
 */
export const best = <A>(self: DomainIndex, name: string, find: (domain: string) => A | undefined): A | undefined => {
  if (HashMap.isEmpty(self)) return undefined
  const parts = split(name)
  // An opener has no host.
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
