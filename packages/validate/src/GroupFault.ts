/**
 * A broken rule of {@link GroupRule}.
 *
 * @since 0.1.0
 */
import * as ResourceType from "@effect-xds/proto/ResourceType"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import type { GroupRule } from "./GroupRule.js"

/**
 * A rule that a resource breaks.
 *
 * @since 0.1.0
 */
export interface GroupFault {
  /** Its name in `GroupRule.all`. */
  readonly rule: string
  readonly severity: GroupRule["severity"]
  readonly typeUrl: string
  /** Of the resource. */
  readonly name: string
  /** Inside of the resource, as that of a `Fault`. */
  readonly path: string
  /** What is wrong, with the value, as the rest of a sentence that begins with the path: `must be 1 to 9, is 12`. */
  readonly problem: string
  /** Of a reference: the resource that is not there. */
  readonly to?: { readonly typeUrl: string; readonly name: string } | undefined
}

/**
 * In words: `clusters "web": eds_cluster_config.eds_config must say where the endpoints come from`.
 *
 * @since 0.1.0
 */
export const toText = ({
  name,
  path,
  problem,
  typeUrl
}: Pick<GroupFault, "typeUrl" | "name" | "path" | "problem">): string => {
  const kind = ResourceType.byTypeUrl(typeUrl)?.restPath?.replace(/^.*:/, "") ?? TypeRegistry.typeName(typeUrl)
  return `${kind} ${JSON.stringify(name)}: ${path === "" ? "" : `${path} `}${problem}`
}
