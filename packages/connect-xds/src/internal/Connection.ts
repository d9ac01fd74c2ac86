import type { Cluster } from "@effect-xds/routing/Cluster"

/** A connection to an address: what a channel knows of it. */
export interface Connection {
  /** An answer came on it. */
  readonly hasAnswered: boolean
  /** No new calls: it ends when the last call has ended. */
  readonly drain: () => void
  /** Ends it, and its calls with it. */
  readonly close: (reason: string) => void
}

/** What a connection tells. */
export interface Events {
  /** Calls can be sent. */
  readonly ready: () => void
  /** It could not be made, takes no new calls (GOAWAY), or was lost. Once at most. */
  readonly gone: (reason: string) => void
  /** Nothing is left of it. Once. */
  readonly ended: () => void
}

/** Begins to connect, secured as a cluster says. It tells nothing before it returns. */
export type Connect<C extends Connection> = (address: string, events: Events, cluster: Cluster) => C
