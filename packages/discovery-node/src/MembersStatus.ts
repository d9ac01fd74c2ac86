/**
 * What is known of the members of a cluster, for people. Times are milliseconds since 1970.
 *
 * @since 0.1.0
 */
/**
 * A host.
 *
 * @since 0.1.0
 */
export interface HostStatus {
  /** What tells it from others. */
  readonly host: string
  readonly address: string
  readonly addresses: ReadonlyArray<string>
  readonly hostname: string
  readonly weight: number
  readonly priority: number
  readonly locality: string
  /** It runs what is being tried out. */
  readonly isCanary: boolean
  readonly health: "healthy" | "degraded" | "unhealthy"
  /** By the names of Envoy's admin interface. */
  readonly flags: ReadonlyArray<string>
  /** Whether calls go to it where there is no panic. */
  readonly isRouted: boolean
  /** Since when its flags are as they are. */
  readonly since: number
  /**
   * Its checks: the last result of each (`undefined`: there was none), why it was a failure (in words, empty if there are
   * none), and when the next probe is due or this one too long.
   */
  readonly checks: ReadonlyArray<{
    readonly checker: string
    readonly last: { readonly at: number; readonly result: string; readonly why: string } | undefined
    readonly isProbing: boolean
    readonly next: number
  }>
  /** How often it was ejected. */
  readonly ejections: number
  /** `undefined`: it is not. */
  readonly ejected: { readonly at: number; readonly detector: string } | undefined
}

/**
 * The hosts of a set.
 *
 * @since 0.1.0
 */
export interface SetStatus {
  /** In the order in which they came. */
  readonly hosts: ReadonlyArray<HostStatus>
  /** What the code of its type did wrong last; `undefined`: nothing. */
  readonly fault: string | undefined
  /** Why its endpoints cannot be watched; `undefined`: they are. */
  readonly unwatched: string | undefined
}

/**
 * What a set waits for that is to follow. ★ However many hosts there are, it is told without looking at them.
 *
 * @since 0.1.0
 */
export interface Warming {
  /** The addresses of hosts that have no first result of their checks; none: its hosts are not found yet. */
  readonly unchecked: Iterable<string>
}

/**
 * A cluster.
 *
 * @since 0.1.0
 */
export interface Status {
  readonly cluster: string
  readonly state: "Warming" | "Ready" | "Failed"
  /** Why it failed; empty: it did not. */
  readonly message: string
  /** `undefined`: there is none. */
  readonly inUse: SetStatus | undefined
  /** The set that is to follow. */
  readonly warming: SetStatus | undefined
}
