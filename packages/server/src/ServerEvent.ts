/**
 * The events of a server's clients.
 *
 * @since 0.1.0
 */
import type { Request } from "@effect-xds/core"
import type { ConnectedClient } from "./ConnectedClient.js"

/**
 * An event of one client's stream, or of a group.
 *
 * @since 0.1.0
 */
export type ServerEvent =
  /** The first request was accepted and the group is known. */
  | { readonly _tag: "Connected"; readonly client: ConnectedClient }
  /** The client was moved to the group in `client`; `from` is the group before. */
  | { readonly _tag: "Moved"; readonly client: ConnectedClient; readonly from: string }
  /** The subscription changed. */
  | {
      readonly _tag: "Subscribed"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly wildcard: boolean
      readonly names: number
    }
  /**
   * The names of one request that were subscribed to and unsubscribed from, without `*`. Each list has at most
   * `maxEventNames` names, each cut to 256 characters.
   */
  | {
      readonly _tag: "Named"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly subscribed: ReadonlyArray<string>
      readonly unsubscribed: ReadonlyArray<string>
      /** The number of names left out: a list was full, or 16 384 names were visited. */
      readonly omitted: number
    }
  | {
      readonly _tag: "Sent"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
      readonly resources: number
      readonly removed: number
      readonly bytes: number
    }
  /** A response larger than `maxResponseBytes` was sent, which a gRPC client may refuse. */
  | {
      readonly _tag: "Oversized"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly nonce: string
      readonly bytes: number
      readonly maximum: number
    }
  | {
      readonly _tag: "Acked"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly nonce: string
      readonly version: string
    }
  /** The client rejected a response: the last one, or an older one, whose NACK has no further effect. */
  | {
      readonly _tag: "Nacked"
      readonly client: ConnectedClient
      readonly typeUrl: string
      /** Empty if the client named no response. */
      readonly nonce: string
      /** The rejected version; empty if it is unknown. */
      readonly version: string
      /** The client's error. */
      readonly error: Request.ErrorDetail
    }
  /** The client subscribed to a type while its group is not set: it never was, or was cleared. */
  | { readonly _tag: "Waiting"; readonly client: ConnectedClient; readonly typeUrl: string; readonly group: string }
  /**
   * `onMissing` is not called for names of the group because of a limit. The list has at most `maxEventNames` names,
   * each cut to 256 characters.
   */
  | {
      readonly _tag: "MissingRefused"
      readonly group: string
      readonly typeUrl: string
      readonly names: ReadonlyArray<string>
      /** The number of names left out. */
      readonly omitted: number
    }
  | { readonly _tag: "Ended"; readonly client: ConnectedClient; readonly reason: string }
  /** This subscriber was too slow and missed this many events. */
  | { readonly _tag: "Lost"; readonly count: number }
