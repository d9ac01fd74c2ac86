/**
 * What happens to the clients of a server, as it happens.
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
  /** Its first request was accepted; its group is known. */
  | { readonly _tag: "Connected"; readonly client: ConnectedClient }
  /** It belongs to another group from now on, that of `client`; `from`: the one before. */
  | { readonly _tag: "Moved"; readonly client: ConnectedClient; readonly from: string }
  /** It changed what it asks for. */
  | {
      readonly _tag: "Subscribed"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly wildcard: boolean
      readonly names: number
    }
  /**
   * Which names it subscribed to and unsubscribed from by one request; without `*`. Each list has `maxEventNames` names at most, of
   * which 256 characters are shown.
   */
  | {
      readonly _tag: "Named"
      readonly client: ConnectedClient
      readonly typeUrl: string
      readonly subscribed: ReadonlyArray<string>
      readonly unsubscribed: ReadonlyArray<string>
      /** Names of the request that were not looked at, because a list was full or 16 384 were looked at. */
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
  /** It was sent a response larger than `maxResponseBytes`, which a client of gRPC may refuse. */
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
  /** It rejected a response: the last one, or an older one, of which nothing comes but the words. */
  | {
      readonly _tag: "Nacked"
      readonly client: ConnectedClient
      readonly typeUrl: string
      /** Empty if the client did not say of what. */
      readonly nonce: string
      /** The version that was rejected; empty if it is not known which. */
      readonly version: string
      /** The client's words. */
      readonly error: Request.ErrorDetail
    }
  /** It asked for something of a type, and its group is not set: it never was, or it was cleared. */
  | { readonly _tag: "Waiting"; readonly client: ConnectedClient; readonly typeUrl: string; readonly group: string }
  /**
   * There was no room for names that clients of the group asked for: `onMissing` is not called for them. The list has
   * `maxEventNames` names at most, of which 256 characters are shown.
   */
  | {
      readonly _tag: "MissingRefused"
      readonly group: string
      readonly typeUrl: string
      readonly names: ReadonlyArray<string>
      /** How many names are left out. */
      readonly omitted: number
    }
  | { readonly _tag: "Ended"; readonly client: ConnectedClient; readonly reason: string }
  /** The subscriber was too slow: this many events are missing here. */
  | { readonly _tag: "Lost"; readonly count: number }
