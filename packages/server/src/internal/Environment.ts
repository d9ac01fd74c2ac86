/** What the streams of a server use of it. */
import type { FanOut } from "@effect-xds/core/server/FanOut"
import type { GroupStream } from "@effect-xds/core/server/GroupStream"
import type { PhaseOptions } from "@effect-xds/core/server/StreamState"
import type * as Steps from "@effect-xds/core/Steps"
import type * as Response from "@effect-xds/core/wire/Response"
import type { Node } from "@effect-xds/proto/envoy/config/core/v3/base"
import type { ByteBudget } from "@effect-xds/transport-node/ByteBudget"
import type * as Status from "@effect-xds/transport/Status"
import type { Refusing } from "@effect-xds/transport/TransportMetrics"
import type * as Client from "../ConnectedClient.js"
import type { ChangeTimes } from "./ChangeTimes.js"
import type * as GroupNames from "./GroupNames.js"
import type { MissingResources } from "./MissingResources.js"
import type * as Secrets from "./Secrets.js"
import type * as Settings from "./Settings.js"
import type * as StreamReport from "./StreamReport.js"
import type * as StreamSpan from "./StreamSpan.js"

/** The streams of one group, and the times of its changes. */
export interface Group {
  readonly name: string
  readonly fanOut: FanOut<Work>
  readonly changes: ChangeTimes
}

/** An item of the server's work queue. */
export interface Work {
  /** Whether it is in the queue. */
  queued: boolean
  /** Whether it is a part of long work, which others go before. */
  readonly isLong: boolean
  readonly run: (now: number) => void
}

/** What a connection uses of its server. `C`: a connection. */
export interface Environment<in C> extends StreamReport.Report {
  readonly settings: Settings.Settings
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
  readonly deadline: (connection: C, at: number) => void
  /** Runs some steps of the work; returns its result, or `undefined` if a turn ends before. */
  readonly some: <A extends object>(work: Steps.Steps<A>) => A | undefined
  readonly bodies: Response.Bodies
  /** Runs the work again in a later turn. */
  readonly later: (work: Work) => void
  /** The group of that name, even if it has no streams yet. */
  readonly group: (name: string) => Group
  /** The stream ended; `stream` is set if it was served. */
  readonly leave: (connection: C, group: Group | undefined, stream: GroupStream<Work> | undefined) => void
  /** Moves the stream to another group. */
  readonly move: (from: Group, stream: GroupStream<Work>, to: Group, phases: PhaseOptions) => void
  readonly span: StreamSpan.StreamSpan
  readonly secrets: Secrets.Secrets
  /** Gets every subscribed name without a resource; `undefined` if there is no hook. */
  readonly missing: MissingResources | undefined
  /** The bytes held for clients whose group is not known yet. */
  readonly admitting: ByteBudget
  /** Whether clients are refused for lack of room. */
  readonly refusing: Refusing
  /**
   * Why a client may no longer read a group; `undefined` if it may. Called when it is served, and after every
   * revocation.
   */
  readonly revoked: (origin: () => Client.Origin, group: string) => Status.Status | undefined
  /** Calls the application's `group` function; throws what it throws. */
  readonly nameOf: (node: Node, origin: Client.Origin) => GroupNames.Given
}
