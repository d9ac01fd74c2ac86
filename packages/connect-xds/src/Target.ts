/**
 * What is called: `xds:///service`, or `xds://authority/service` for an authority of the bootstrap.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @since 0.1.0
 */
import type { Bootstrap } from "@effect-xds/client/Bootstrap"
import * as Data from "effect/Data"
import * as Either from "effect/Either"

/**
 * A target that cannot be used.
 *
 * @since 0.1.0
 */
export class TargetError extends Data.TaggedError("TargetError")<{
  readonly target: string
  readonly reason: string
}> {
  override get message(): string {
    return `target ${JSON.stringify(this.target)}: ${this.reason}`
  }
}

/**
 * A target.
 *
 * @since 0.1.0
 */
export interface Target {
  /** The name of the listener. */
  readonly listener: string
  /** What virtual hosts are chosen by, and `:authority` of calls: the name of the service, `/` in it as `%2F`. */
  readonly authority: string
}

const decode = (escape: string): string => decodeURIComponent(escape)

/** As RFC 3986 allows them in a path. */
const encoded = (text: string): string => encodeURIComponent(text).replace(/%(24|26|2B|2C|3A|3B|3D|40|2F)/g, decode)

/** As RFC 3986 allows them in an authority: servers refuse one with a slash. As in grpc-go. */
const authorityOf = (text: string): string =>
  encodeURIComponent(text).replace(/%(24|26|2B|2C|3A|3B|3D|40|5B|5D)/g, decode)

const expand = (template: string, name: string): string =>
  template.replaceAll("%s", () => (template.startsWith("xdstp:") ? encoded(name) : name))

/**
 * Reads a target. The name of the listener is made by the templates of the bootstrap: without one it is the name of the
 * service, and `xdstp://AUTHORITY/envoy.config.listener.v3.Listener/SERVICE` for an authority.
 *
 * @since 0.1.0
 */
export const make = (target: string, bootstrap?: Bootstrap): Either.Either<Target, TargetError> => {
  const fail = (reason: string) => Either.left(new TargetError({ target, reason }))
  if (/\p{Surrogate}/u.test(target)) return fail("it has a surrogate that stands alone; write all of the character")
  const found = /^xds:(?:\/\/([^/]*)\/)?([^/].*)$/.exec(target)
  const [, authority = "", name] = found ?? []
  if (name === undefined) return fail("write it as xds:///service")
  if (authority === "") {
    const template = bootstrap?.clientDefaultListenerResourceNameTemplate ?? "%s"
    return Either.right({ listener: expand(template, name), authority: authorityOf(name) })
  }
  const known = bootstrap?.authorities.get(authority)
  if (known === undefined) return fail(`the bootstrap has no authority ${JSON.stringify(authority)}`)
  const template =
    known.clientListenerResourceNameTemplate ?? `xdstp://${encoded(authority)}/envoy.config.listener.v3.Listener/%s`
  return Either.right({ listener: expand(template, name), authority: authorityOf(name) })
}
