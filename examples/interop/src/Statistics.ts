/** What became of calls, as `LoadBalancerStatsService` tells it. */
import type { MessageInitShape } from "@bufbuild/protobuf"
import type { LoadBalancerAccumulatedStatsResponseSchema, LoadBalancerStatsResponseSchema, Method } from "./Testing.js"
import { MetadataType, nameOf } from "./Testing.js"

/** How a call ended. */
export interface Ended {
  readonly method: Method
  /** Of gRPC; 0 is OK. */
  readonly status: number
  readonly isSuccess: boolean
  /** Who answered. */
  readonly hostname: string
  readonly header: Headers
  readonly trailer: Headers
}

interface Watcher {
  /** Calls from this number on, and before that one. */
  readonly from: number
  readonly before: number
  readonly hear: (ended: Ended) => void
}

type Stats = MessageInitShape<typeof LoadBalancerStatsResponseSchema>
type AccumulatedStats = MessageInitShape<typeof LoadBalancerAccumulatedStatsResponseSchema>

const add = (counts: Partial<Record<string | number, number>>, key: string | number): void => {
  counts[key] = (counts[key] ?? 0) + 1
}

/** The metadata of an answer that is asked for by these keys, in any case; `*`: all. */
const metadataOf = ({ header, trailer }: Ended, keys: ReadonlySet<string>) => {
  const of = (headers: Headers, type: number) =>
    Array.from(headers).flatMap(([key, value]) => (keys.has("*") || keys.has(key) ? [{ key, value, type }] : []))
  return { metadata: [...of(header, MetadataType.Initial), ...of(trailer, MetadataType.Trailing)] }
}

/** Of all calls of a client. */
export class Statistics {
  #next = 0
  readonly #watchers = new Set<Watcher>()
  readonly #started: Record<string, number> = {}
  readonly #succeeded: Record<string, number> = {}
  readonly #failed: Record<string, number> = {}
  readonly #results: Record<string, Record<number, number>> = {}

  /** A call begins; its end is told to the result. */
  begin(method: Method): (ended: Omit<Ended, "method">) => void {
    const number = this.#next++
    const name = nameOf[method]
    add(this.#started, name)
    return (ended) => {
      add(ended.isSuccess ? this.#succeeded : this.#failed, name)
      add((this.#results[name] ??= {}), ended.status)
      for (const { before, from, hear } of this.#watchers) {
        if (number >= from && number < before) hear({ ...ended, method })
      }
    }
  }

  /**
   * Who answers the next so many calls. Those that do not end in time count as failures. With keys, the metadata of each answer
   * is told, too.
   */
  next(
    count: number,
    timeoutMillis: number,
    signal: AbortSignal,
    metadataKeys: ReadonlyArray<string> = []
  ): Promise<Stats> {
    return new Promise((resolve) => {
      const keys = new Set(metadataKeys.map((key) => key.toLowerCase()))
      const metadata: Record<string, { rpcMetadata: Array<ReturnType<typeof metadataOf>> }> = {}
      const byPeer: Record<string, number> = {}
      const byMethod: Record<string, { rpcsByPeer: Record<string, number> }> = {}
      let left = count
      let failures = 0
      const watcher: Watcher = {
        from: this.#next,
        before: this.#next + count,
        hear: (ended) => {
          const { hostname, isSuccess, method } = ended
          left--
          if (isSuccess) {
            if (keys.size > 0) (metadata[hostname] ??= { rpcMetadata: [] }).rpcMetadata.push(metadataOf(ended, keys))
            add(byPeer, hostname)
            add((byMethod[method] ??= { rpcsByPeer: {} }).rpcsByPeer, hostname)
          } else failures++
          if (left === 0) finish()
        }
      }
      const finish = () => {
        clearTimeout(timer)
        signal.removeEventListener("abort", finish)
        this.#watchers.delete(watcher)
        resolve({
          rpcsByPeer: byPeer,
          rpcsByMethod: byMethod,
          numFailures: failures + left,
          metadatasByPeer: metadata
        })
      }
      const timer = setTimeout(finish, timeoutMillis)
      signal.addEventListener("abort", finish)
      this.#watchers.add(watcher)
      if (count === 0) finish()
    })
  }

  /** Since the start. */
  accumulated(): AccumulatedStats {
    return {
      numRpcsStartedByMethod: this.#started,
      numRpcsSucceededByMethod: this.#succeeded,
      numRpcsFailedByMethod: this.#failed,
      statsPerMethod: Object.fromEntries(
        Object.entries(this.#started).map(([name, rpcsStarted]) => [
          name,
          { rpcsStarted, result: this.#results[name] ?? {} }
        ])
      )
    }
  }
}
