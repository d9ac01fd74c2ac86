/**
 * What is broken in a group: the rules over its resources together, of `GroupRule` in `@effect-xds/validate`.
 *
 * @since 0.1.0
 */
import type { GroupFault } from "@effect-xds/validate/GroupFault"

/**
 * A group rule that a resource breaks, alone or together with others.
 *
 * @since 0.1.0
 */
export interface BrokenRule extends GroupFault {
  /** Where the resource comes from, if that was given: `clusters.yaml:3`. */
  readonly place: string | undefined
  /** In words: `routes.yaml:3: routes "public": … names cluster "kart", which is not there (cluster-reference)`. */
  readonly message: string
}

/**
 * Broken group rules.
 *
 * @since 0.1.0
 */
export interface Broken {
  readonly rules: ReadonlyArray<BrokenRule>
  /** The number of those beside them. */
  readonly omitted: number
}

/**
 * What is broken in a group, when that has changed.
 *
 * @since 0.1.0
 */
export interface GroupReport {
  readonly group: string
  /** All that is broken. */
  readonly broken: Broken
  /** What was not broken before. */
  readonly fresh: Broken
}
