/**
 * The names in random scripts: a small alphabet, so that scripts meet the same name again and again.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"

/**
 * Names of resources.
 *
 * @since 0.1.0
 */
export const names = ["a", "b", "c", "d", "e"] as const

/**
 * The alias of a resource name, if it has one.
 *
 * @since 0.1.0
 */
export const aliasOf = (name: string): string | undefined =>
  name === "a" || name === "c" ? `${name}-alias` : undefined

/**
 * Names and aliases for scripts in which aliases move between resources, come and go, and equal other names.
 *
 * @since 0.1.0
 */
export interface Naming {
  readonly names: ReadonlyArray<string>
  /** Possible aliases, beside the names. */
  readonly aliases: ReadonlyArray<string>
  /** Names that clients request. */
  readonly asked: ReadonlyArray<string>
}

/**
 * For any type: an alias may be a former name of another resource.
 *
 * @since 0.1.0
 */
export const moving: Naming = { names, aliases: ["x", "y", "d", "e"], asked: [...names, "x", "y"] }

/**
 * Virtual hosts that are renamed, get and lose domains, with some wildcard domains.
 *
 * @since 0.1.0
 */
export const hosts: Naming = {
  names: ["r/a", "r/b", "r/c"],
  aliases: ["r/a.com", "r/*.com", "r/*", "r/a.*", "r/c"],
  asked: ["r/a", "r/b", "r/c", "r/a.com", "r/b.com", "r/b.org"]
}

const collectionsIn = (typeName: string): Naming => {
  const path = `xdstp://x/${typeName}/a`
  return {
    names: [`${path}/1`, `${path}/2`, `${path}/b/1`, `${path}/1?k=v&l=w`, "old"],
    aliases: [],
    asked: [`${path}/*`, `${path}/*`, `${path}/b/*`, `${path}/*?k=v&l=w`, `${path}/1`, `${path}/2`, "old"]
  }
}

/**
 * Names in glob collections: two members of one, one of a deeper path, and the same with context parameters. An old name beside
 * them.
 *
 * @since 0.1.0
 */
export const collections: Naming = collectionsIn("t")

/**
 * The same for a type: its name is in the names, so that clients take them.
 *
 * @since 0.1.0
 */
export const collectionsOf = (typeUrl: string): Naming => collectionsIn(typeUrl.slice(typeUrl.lastIndexOf("/") + 1))

/**
 * Route configurations of {@link hosts}.
 *
 * @since 0.1.0
 */
export const routeConfigurations = ["r"]

/**
 * The names of the resources of a type.
 *
 * @since 0.1.0
 */
export const namesOf = (typeUrl: string, naming: Naming | undefined): ReadonlyArray<string> =>
  naming === hosts && typeUrl === ResourceType.RouteConfiguration.typeUrl
    ? routeConfigurations
    : (naming?.names ?? names)
