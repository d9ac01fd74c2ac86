/**
 * What clients say that they hold, kept once for all of them. After a restart of the server every client says it, within
 * seconds; after that nobody does for a long time.
 */
import { VersionInterner } from "./VersionInterner.js"

/** Milliseconds without a request that says what its client holds, after which all is let go. */
const rest = 10_000

/** The interner of a server, as long as it is of use: a bounded number of bytes. */
export class SharedVersions {
  #interner: VersionInterner | undefined
  #timer: NodeJS.Timeout | undefined

  /** `limit`: bytes that are kept. */
  constructor(private readonly limit: number) {}

  /** For the next request. */
  interner(): VersionInterner {
    if (this.#interner === undefined || this.#interner.isFull) this.#interner = new VersionInterner(this.limit)
    if (this.#timer === undefined) this.#timer = setTimeout(this.clear, rest).unref()
    else this.#timer.refresh()
    return this.#interner
  }

  /** Lets go of all. Requests that are not answered yet keep what they need. */
  readonly clear = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#interner = undefined
  }
}
