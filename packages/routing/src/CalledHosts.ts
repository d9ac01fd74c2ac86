/**
 * Outcomes that virtual host and path alone decide, of the virtual hosts of a table that were called.
 *
 * A call to a host that was not called lately waits for memory: for each object that names the next. Here a virtual host is
 * two numbers, those of many lie together, and so do the outcomes of those that were called.
 *
 * @since 0.1.0
 */
import type { Match, VirtualHost } from "./VirtualHost.js"

/**
 * The outcomes.
 *
 * @since 0.1.0
 */
export class CalledHosts {
  readonly #virtualHosts: ReadonlyArray<VirtualHost | undefined>
  /** Two numbers for each virtual host: its place in `#paths`, -1 if it was not called, and where its outcomes begin. */
  readonly #hosts: Int32Array
  /** The places of paths among the outcomes of a virtual host. */
  readonly #paths: Array<ReadonlyMap<string, number>> = []
  readonly #numbers = new Map<ReadonlyMap<string, number>, number>()
  readonly #outcomes: Array<Match> = []

  constructor(virtualHosts: ReadonlyArray<VirtualHost | undefined>) {
    this.#virtualHosts = virtualHosts
    this.#hosts = new Int32Array(2 * virtualHosts.length).fill(-1)
  }

  /** The outcome of a call to the virtual host at this place in the table; `undefined`: ask the virtual host. */
  find(virtualHost: number, path: string): Match | undefined {
    if ((this.#hosts[2 * virtualHost] ?? 0) < 0) this.#add(virtualHost)
    const place = this.#paths[this.#hosts[2 * virtualHost] ?? -1]?.get(path)
    return place === undefined ? undefined : this.#outcomes[(this.#hosts[2 * virtualHost + 1] ?? 0) + place]
  }

  #add(virtualHost: number): void {
    const index = this.#virtualHosts[virtualHost]?.index.get()
    const certain = index?.certain ?? none
    const number = this.#numbers.get(certain) ?? this.#paths.push(certain) - 1
    this.#numbers.set(certain, number)
    this.#hosts.set([number, this.#outcomes.length], 2 * virtualHost)
    for (const outcome of index?.outcomes ?? []) this.#outcomes.push(outcome)
  }
}

const none: ReadonlyMap<string, number> = new Map<string, number>()
