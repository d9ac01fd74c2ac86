/**
 * Glob collections of xdstp names: `xdstp://<authority>/<type>/<path>/*?<context parameters>` is subscribed like a name and
 * stands for all resources directly below that path.
 *
 * What `*` covers: the proposal appends `/*` to the path that the resources of a collection share, so it stands for the last
 * path segment alone, not for several. Context parameters must be the same; their order does not matter.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP1-xds-transport-next.md "Glob"
 * @since 0.1.0
 */
import { normalize } from "./Authority.js"

const SCHEME = "xdstp:"

/** Authority, type and all path segments but the last; the last segment; context parameters. No processing directives. */
const pattern = /^(xdstp:\/\/[^/?#]*\/[^/?#]+\/(?:[^?#]*\/)?)([^/?#]*)(\?[^#]*)?$/

/**
 * Whether a name is a glob collection.
 *
 * @since 0.1.0
 */
export const isGlob = (name: string): boolean => name.startsWith(SCHEME) && pattern.exec(name)?.[2] === "*"

/**
 * The one glob collection that a resource of this name is a member of, in canonical form; `undefined` for old names, for names
 * with processing directives, and for collections themselves.
 *
 * @example
 * import { Collection } from "@effect-xds/core"
 *
 * Collection.of("xdstp://a/envoy.config.listener.v3.Listener/foo/bar?y=2&x=1")
 * // "xdstp://a/envoy.config.listener.v3.Listener/foo/*?x=1&y=2"
 *
 * @since 0.1.0
 */
export const of = (name: string): string | undefined => {
  if (!name.startsWith(SCHEME)) return undefined
  const match = pattern.exec(name)
  if (match === null || match[2] === "*") return undefined
  const [, path = "", , parameters = ""] = match
  return parameters === "" ? `${path}*` : normalize(`${path}*${parameters}`)
}

/**
 * The canonical form of a glob collection; any other name as it is.
 *
 * @since 0.1.0
 */
export const canonical = (name: string): string => (isGlob(name) ? normalize(name) : name)
