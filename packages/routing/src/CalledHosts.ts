/**
 * What calls to the virtual hosts of a table look at first, of those that were called, in the order in which they were.
 *
 * A call to a host that was not called lately waits for memory: for each object that names the next. Here an authority is a
 * number, a virtual host is two, and those that are called lie together, however many others there are.
 *
 * @since 0.1.0
 */
import * as Domains from "./Domains.js"
import type { Match, VirtualHost } from "./VirtualHost.js"

/**
 * The virtual hosts that were called.
 *
 * @since 0.1.0
 */
export class CalledHosts {
  readonly #domains: Domains.Domains
  readonly #virtualHosts: ReadonlyArray<VirtualHost | undefined>
  /** Numbers of virtual hosts by authorities that were called. */
  readonly #byAuthority = new Map<string, number>()
  /** Numbers of virtual hosts by their places in the table; -1: it was not called. */
  readonly #byPlace: Int32Array
  /** By number: the virtual host. */
  readonly #called: Array<VirtualHost | undefined> = []
  /** By number, two each: a place in `#paths`, and where the outcomes begin. */
  readonly #indexes: Array<number> = []
  /** The places of paths among the outcomes of a virtual host. */
  readonly #paths: Array<ReadonlyMap<string, number>> = []
  readonly #placesOfPaths = new Map<ReadonlyMap<string, number>, number>()
  readonly #outcomes: Array<Match> = []

  constructor(domains: Domains.Domains, virtualHosts: ReadonlyArray<VirtualHost | undefined>) {
    this.#domains = domains
    this.#virtualHosts = virtualHosts
    this.#byPlace = new Int32Array(virtualHosts.length).fill(-1)
  }

  /** The number of the virtual host of an authority; `undefined`: there is none. */
  numberOf(authority: string): number | undefined {
    return this.#byAuthority.get(authority) ?? this.#find(authority)
  }

  /** The virtual host of this number; `undefined`: one that could not be used. */
  at(number: number): VirtualHost | undefined {
    return this.#called[number]
  }

  /** The outcome of a call to the virtual host of this number; `undefined`: ask the virtual host. */
  find(number: number, path: string): Match | undefined {
    const place = this.#paths[this.#indexes[2 * number] ?? -1]?.get(path)
    return place === undefined ? undefined : this.#outcomes[(this.#indexes[2 * number + 1] ?? 0) + place]
  }

  /** How many authorities are remembered: 4 096 at most, of 256 characters. */
  get authorities(): number {
    return this.#byAuthority.size
  }

  #find(authority: string): number | undefined {
    const place = Domains.find(this.#domains, authority)
    if (place === undefined) return undefined
    let number = this.#byPlace[place] ?? -1
    if (number < 0) number = this.#add(place)
    if (this.#byAuthority.size < maxAuthorities && authority.length <= maxLength) {
      this.#byAuthority.set(copyOf(authority), number)
    }
    return number
  }

  #add(place: number): number {
    const virtualHost = this.#virtualHosts[place]
    const index = virtualHost?.index.get()
    const certain = index?.certain ?? none
    const paths = this.#placesOfPaths.get(certain) ?? this.#paths.push(certain) - 1
    this.#placesOfPaths.set(certain, paths)
    this.#indexes.push(paths, this.#outcomes.length)
    for (const outcome of index?.outcomes ?? []) this.#outcomes.push(outcome)
    return (this.#byPlace[place] = this.#called.push(virtualHost) - 1)
  }
}

/** Authorities that are remembered, the first ones. With a wildcard a stranger can make up any number. */
const maxAuthorities = 4_096
/** Characters. */
const maxLength = 256

/** Text of its own: what it was cut from is not kept. */
const copyOf = (text: string): string => {
  const copy: unknown = JSON.parse(JSON.stringify(text))
  return typeof copy === "string" ? copy : text
}

const none: ReadonlyMap<string, number> = new Map<string, number>()
