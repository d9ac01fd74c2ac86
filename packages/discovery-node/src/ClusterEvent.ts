/**
 * What happens to the hosts of a cluster, as it is told to those who listen. Hosts are told by their `id`.
 *
 * @since 0.1.0
 */
import type * as DnsTarget from "@effect-xds/discovery/DnsTarget"
import type * as HealthCheck from "@effect-xds/discovery/HealthCheck"
import type * as Outlier from "@effect-xds/discovery/Outlier"

/**
 * An event.
 *
 * @since 0.1.0
 */
export type ClusterEvent =
  | { readonly _tag: "Added" | "Removed"; readonly host: string }
  /** No new streams to it, idle connections close, running streams finish; `isCut`: connections are closed at once. */
  | { readonly _tag: "Drain"; readonly host: string; readonly isCut: boolean }
  /** An event of a health check. */
  | {
      readonly _tag: "Checked"
      readonly host: string
      readonly checker: string
      readonly event: Extract<HealthCheck.Output, { readonly _tag: "Event" }>
    }
  /** Of outlier detection: who is ejected, who would be, who is back. */
  | Outlier.Output
  /** A query failed: who is known stays. */
  | {
      readonly _tag: "Unresolved"
      readonly name: string
      readonly family: DnsTarget.Family
      readonly message: string
    }
  /** An address that was picked is no host: the cluster has as many as it may have. Said once until a host has gone. */
  | { readonly _tag: "Refused"; readonly address: string }
  /** The watch of an assignment has died: nothing more is heard of it. */
  | { readonly _tag: "Unwatched"; readonly assignment: string; readonly message: string }
