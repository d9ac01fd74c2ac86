/**
 * The servers of an authority in the order of their rank, and which of them is asked now. It is what falls back as one: all
 * resources of the authority, or those of one type if types have streams of their own.
 *
 * @see https://github.com/grpc/proposal/blob/master/A47-xds-federation.md
 * @see https://github.com/grpc/proposal/blob/master/A71-xds-fallback.md
 * @since 0.1.0
 */
import * as Authority from "../protocol/Authority.js"
import type { ErrorDetail } from "../wire/Request.js"
import type { Server } from "./ClientOptions.js"

/**
 * A server list. Its fields do not change except those that say so.
 *
 * @since 0.1.0
 */
export interface ServerList {
  /** `undefined`: of the names without an authority. */
  readonly authority: string | undefined
  /** The type whose streams are its own; `undefined`: all types share a stream. */
  readonly typeUrl: string | undefined
  readonly servers: ReadonlyArray<Server>
  /** Changes. The rank of the last server that is asked: it and all above it are. */
  readonly active: number
  /** Changes. The connectivity error that watchers have, and that is not over. */
  readonly reported: ErrorDetail | undefined
  /** Changes. Whether a watch began since the last report: its watcher does not have that error. */
  readonly hasNewWatch: boolean
}

/**
 * The list for the resources of an authority and a type, before any of them failed.
 *
 * @since 0.1.0
 */
export const make = (
  authority: string | undefined,
  typeUrl: string,
  servers: ReadonlyArray<Server>
): readonly [name: string, list: ServerList] => {
  const isSeparate = servers.some((server) => server.isAggregated === false)
  const name = JSON.stringify([authority ?? null, isSeparate ? typeUrl : null])
  const separateType = isSeparate ? typeUrl : undefined
  return [name, { authority, typeUrl: separateType, servers, active: 0, reported: undefined, hasNewWatch: false }]
}

/**
 * The key of the stream to the server of a rank: two lists that name the same server share its stream. Empty if there is no
 * such rank.
 *
 * @since 0.1.0
 */
export const streamKey = (self: ServerList, rank: number, typeUrl = self.typeUrl): string => {
  const server = self.servers[rank]
  if (server === undefined) return ""
  return server.isAggregated === false ? `${server.id} ${typeUrl ?? ""}` : server.id
}

/**
 * The rank of a stream's server among those that are asked.
 *
 * @since 0.1.0
 */
export const rankOf = (self: ServerList, key: string): number | undefined => {
  for (let rank = 0; rank <= self.active; rank++) if (streamKey(self, rank) === key) return rank
  return undefined
}

/**
 * Whether a resource is asked of these servers.
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
