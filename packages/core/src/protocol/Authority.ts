/**
 * Federation: the authority of a resource name. Old names have none; new names carry it:
 * `xdstp://<authority>/<type>/<id>?<context parameters>`.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/cncf/xds/blob/main/proposals/TP1-xds-transport-next.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"

const SCHEME = "xdstp:"

/**
 * The authority of a name: `undefined` for an old name, empty for an xdstp name without one.
 *
 * @since 0.1.0
 */
export const ofName = (name: string): string | undefined =>
  name.startsWith(SCHEME) ? (/^xdstp:\/\/([^/?#]*)/.exec(name)?.[1] ?? "") : undefined

/**
 * Whether a wildcard subscription covers this name: it covers old names only.
 *
 * @since 0.1.0
 */
export const isInWildcard = (name: string): boolean => ofName(name) === undefined

/**
 * The canonical form of a name, under which a resource is stored and requested: context parameters of an xdstp name are sorted
 * by key, and of several with one key the last counts.
 *
 * @since 0.1.0
 */
export const normalize = (name: string): string => {
  if (!name.startsWith(SCHEME)) return name
  const at = name.indexOf("?")
  if (at < 0) return name
  const end = name.indexOf("#", at)
  const query = end < 0 ? name.slice(at + 1) : name.slice(at + 1, end)
  const parameters = new Map<string, string>()
  for (const parameter of query.split("&")) {
    if (parameter !== "") parameters.set(parameter.replace(/=.*$/s, ""), parameter)
  }
  const sorted = Array.from(parameters).sort(([one], [other]) => (one < other ? -1 : 1))
  const normal = sorted.map(([, parameter]) => parameter).join("&")
  return name.slice(0, at) + (normal === "" ? "" : `?${normal}`) + (end < 0 ? "" : name.slice(end))
}

/**
 * Checks a name that a client requests for a type. Right: its canonical form. Left: what is wrong with it.
 *
 * @since 0.1.0
 */
export const parse = (typeUrl: string, name: string): Either.Either<string, string> => {
  if (name === "") return Either.left("a resource name is empty")
  if (!name.startsWith(SCHEME)) return Either.right(name)
  const match = /^xdstp:\/\/[^/?#]*\/([^/?#]+)\/[^?#]/.exec(name)
  if (match === null) return Either.left(`${name} is not of the form xdstp://<authority>/<type>/<id>`)
  const typeName = typeUrl.slice(typeUrl.lastIndexOf("/") + 1)
  if (match[1] !== typeName) return Either.left(`${name} is the name of a ${match[1] ?? ""}, not of a ${typeName}`)
  return Either.right(normalize(name))
}
