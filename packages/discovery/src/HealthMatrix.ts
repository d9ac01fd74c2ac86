/**
 * What discovery and health together make of a host: the matrix of Envoy's service discovery, as one table.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/intro/arch_overview/upstream/service_discovery#on-eventually-consistent-service-discovery
 * @since 0.1.0
 */

/**
 * A cell.
 *
 * @since 0.1.0
 */
export interface Cell {
  /** Whether calls may go to the host. */
  readonly isRouted: boolean
  /** Whether the host is forgotten. */
  readonly isPurged: boolean
}

/**
 * Whether discovery lists the host.
 *
 * @since 0.1.0
 */
export type Discovered = "listed" | "absent"

/**
 * Whether the host passes.
 *
 * @since 0.1.0
 */
export type Passing = "ok" | "failing"

/**
 * The table. ★ A host is purged in one cell alone; discovery may fail at any time, and what passes is still routed to.
 *
 * @since 0.1.0
 */
export const table: Readonly<Record<Discovered, Readonly<Record<Passing, Cell>>>> = {
  listed: {
    ok: { isRouted: true, isPurged: false },
    failing: { isRouted: false, isPurged: false }
  },
  absent: {
    ok: { isRouted: true, isPurged: false },
    failing: { isRouted: false, isPurged: true }
  }
}
