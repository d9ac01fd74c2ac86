/**
 * The search for the group of one stream: the requests that wait for it, and the bytes that they hold. After the first name it
 * goes on, since later names move the stream.
 */
import type * as Request from "@effect-xds/core/wire/Request"
import type { Holder } from "@effect-xds/transport-node/ByteBudget"
import * as Exit from "effect/Exit"
import type { Environment, Work } from "./Environment.js"
import type * as GroupNames from "./GroupNames.js"

/** Who searches. */
export interface Searcher {
  /** The first name, and the requests that waited for it. */
  readonly found: (name: unknown, requests: ReadonlyArray<Request.Request>) => void
  /** Later names: of several in one turn the last. */
  readonly foundLater: (name: unknown) => void
  /** It failed, or ended without a name. */
  readonly ended: (exit: Exit.Exit<void, unknown>) => void
  /** The first request alone exceeds the budget. */
  readonly evicted: () => void
}

/** The search of one stream. */
export class GroupSearch implements Holder {
  /** Those that wait; `undefined` when the first name was found. */
  private requests: Array<Request.Request> | undefined
  private stopSearch: (() => void) | undefined
  private isStopped = false

  constructor(
    private readonly environment: Pick<Environment<never>, "admitting" | "refusing" | "settings" | "later">,
    private readonly searcher: Searcher
  ) {}

  /** Counts the bytes held until the group is known. `false`: there is no room. */
  hold(bytes: number): boolean {
    const { admitting, refusing } = this.environment
    const hasRoom = admitting.size === 0 || admitting.hasRoom(bytes)
    if (hasRoom) admitting.set(this, bytes)
    else refusing.set(true)
    return hasRoom
  }

  /** Called only if this request alone exceeds the budget. */
  evict(): void {
    this.searcher.evicted()
  }

  /** Begins. Nothing here keeps the node in memory. */
  start(search: GroupNames.Search, first: Request.Request): void {
    this.requests = [first]
    let last: unknown
    const moving: Work = {
      queued: false,
      isLong: false,
      run: () => {
        if (!this.isStopped) this.searcher.foundLater(last)
      }
    }
    const stop = search(
      (name) => {
        last = name
        const { requests } = this
        if (this.isStopped) return
        if (requests === undefined) return this.environment.later(moving)
        this.release()
        this.searcher.found(name, requests)
      },
      (exit) => {
        this.stopSearch = undefined
        const isFound = this.requests === undefined
        if (this.isStopped || (isFound && Exit.isSuccess(exit))) return
        if (!isFound) this.release()
        this.searcher.ended(exit)
      }
    )
    if (this.isStopped) stop?.()
    else this.stopSearch = stop
  }

  /** One more request that waits. `false`: too many do. */
  add(request: Request.Request): boolean {
    if (this.requests === undefined || this.requests.length >= this.environment.settings.maxEarlyRequests) return false
    this.requests.push(request)
    return true
  }

  /** The stream has ended. */
  stop(): void {
    this.isStopped = true
    this.environment.admitting.delete(this)
    this.stopSearch?.()
    this.stopSearch = undefined
  }

  private release(): void {
    this.requests = undefined
    this.environment.admitting.delete(this)
    this.environment.refusing.set(false)
  }
}
