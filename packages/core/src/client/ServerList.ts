/**
 * The servers of an authority by rank, and the active one. Unit of fallback: all resources of the authority, or those of one
 * type if types have streams of their own.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/grpc/proposal/blob/master/A71-xds-fallback.md
 * @since 0.1.0
 */
import * as Authority from "../protocol/Authority.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { Server } from "./ClientOptions.js"

/**
 * A server list. Only the fields marked "changes" change.
 *
 * @since 0.1.0
 */
export interface ServerList {
  /** `undefined`: for names without an authority. */
  readonly authority: string | undefined
  /** The type, if it has streams of its own; `undefined`: all types share a stream. */
  readonly typeUrl: string | undefined
  readonly servers: ReadonlyArray<Server>
  /** Changes. Rank of the active server. The client subscribes at this one and all of higher rank. */
  readonly active: number
  /** Changes. The connectivity error that watchers have now. */
  readonly reported: ErrorDetail | undefined
  /** Changes. Whether a watch started since that report, so that its watcher lacks the error. */
  readonly hasNewWatch: boolean
}

/**
 * The initial list for an authority and a type. A server counts once: as one of lower rank, its only stream would be closed at
 * the return to it.
 *
 * @since 0.1.0
 */
export const make = (
  authority: string | undefined,
  typeUrl: string,
  given: ReadonlyArray<Server>
): readonly [name: string, list: ServerList] => {
  const servers = given.filter(({ id }, rank) => given.findIndex((each) => each.id === id) === rank)
  const isSeparate = servers.some((server) => server.isAggregated === false)
  const name = JSON.stringify([authority ?? null, isSeparate ? typeUrl : null])
  const separateType = isSeparate ? typeUrl : undefined
  return [name, { authority, typeUrl: separateType, servers, active: 0, reported: undefined, hasNewWatch: false }]
}

/**
 * The key of the stream to the server of a rank: lists that name the same server share its stream. Empty if the rank does not
 * exist.
 *
 * @since 0.1.0
 */
export const streamKey = (self: ServerList, rank: number, typeUrl = self.typeUrl): string => {
  const server = self.servers[rank]
  if (server === undefined) return ""
  return server.isAggregated === false ? `${server.id} ${typeUrl ?? ""}` : server.id
}

/**
 * The rank of a stream's server, if it is the active one or above.
 *
 * @since 0.1.0
 */
export const rankOf = (self: ServerList, key: string): number | undefined => {
  for (let rank = 0; rank <= self.active; rank++) if (streamKey(self, rank) === key) return rank
  return undefined
}

/**
 * Whether a resource belongs to this list.
 *
 * @since 0.1.0
 */
export const includes = (self: ServerList, typeUrl: string, name: string): boolean =>
  (self.typeUrl === undefined || self.typeUrl === typeUrl) && Authority.ofName(name) === self.authority

/**
 * Whether there is a server of lower rank.
 *
 * @since 0.1.0
 */
export const hasNext = (self: ServerList): boolean => self.active + 1 < self.servers.length
