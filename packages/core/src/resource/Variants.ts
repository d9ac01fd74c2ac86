/**
 * Variants of a resource (TP2): one name, several contents, each with constraints on the dynamic parameters of a client. A set holds them
 * as one resource; see `ClientView` for what a client gets.
 *
 * @see https://github.com/cncf/xds/blob/main/proposals/TP2-dynamically-generated-cacheable-xds-resources.md
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { Constraints } from "../protocol/DynamicParameters.js"
import * as DynamicParameters from "../protocol/DynamicParameters.js"
import type * as Digest from "./Digest.js"
import type { Options, Resource, Variant } from "./Resource.js"
import * as Resources from "./Resource.js"

/**
 * The content of a variant.
 *
 * @since 0.1.0
 */
export interface Input extends Pick<Options, "version" | "ttl"> {
  readonly constraints: Constraints
  readonly value: Uint8Array
}

/**
 * Makes a resource of variants. Fails with `InvalidResource`, also if there are parameters that match two of them.
 *
 * @since 0.1.0
 */
export const make = (
  { name, typeUrl }: { readonly typeUrl: string; readonly name: string },
  inputs: ReadonlyArray<Input>,
  hasher?: Digest.Hasher
): Either.Either<Resource, Resources.InvalidResource> => {
  const invalid = (reason: string) => Either.left(new Resources.InvalidResource({ typeUrl, name, reason }))
  if (inputs.length === 0) return invalid("it has no variants; give at least one")
  const fault = DynamicParameters.overlap(inputs.map(({ constraints }) => constraints))
  if (fault !== undefined) return invalid(`its variants do not exclude each other: ${fault}`)
  const variants: Array<Variant> = []
  const identities: Array<string> = []
  for (const { constraints, ttl, value, version } of inputs) {
    const made = Resources.make({ typeUrl, name, value, version, ttl }, hasher)
    if (Either.isLeft(made)) return Either.left(made.left)
    const plain = made.right
    const bytes = DynamicParameters.encode(constraints)
    const identity = `${plain.fingerprint} ${plain.version} ${Array.from(bytes).join()}`
    // Constraints are a part of what a client holds.
    const marked = Resources.make({ typeUrl, name, value: new TextEncoder().encode(identity), keepBytes: true }, hasher)
    if (Either.isLeft(marked)) return Either.left(marked.left)
    const { digest, fingerprint } = marked.right
    // ★ A client that returns quotes the version: it must not be that of the same content with other constraints, or without.
    const quoted = version === undefined ? marked.right.version : plain.version
    const constrained = { ...plain, version: quoted, digest, fingerprint, constraints: bytes }
    variants.push({ constraints, plain, constrained })
    identities.push(identity)
  }
  // The whole of one variant is another resource than the variant.
  const value = new TextEncoder().encode(["variants", ...identities].join("\n"))
  const whole = Resources.make({ typeUrl, name, value, keepBytes: true }, hasher)
  return Either.map(whole, (resource) => ({ ...resource, value: new Uint8Array(), variants }))
}
