/**
 * The held versions of all clients, each pair once. After a restart of the server every client sends them within
 * seconds; then none does for a long time.
 */
import { VersionInterner } from "./VersionInterner.js"

/** Milliseconds after the last request with held versions when the interner is dropped. */
const rest = 10_000

/** The interner of a server, dropped when unused; bounded in bytes. */
export class SharedVersions {
  #interner: VersionInterner | undefined
  #timer: NodeJS.Timeout | undefined

  /** `limit`: bytes of interned pairs. */
  constructor(private readonly limit: number) {}

  /** The interner for the next request. */
  interner(): VersionInterner {
    if (this.#interner === undefined || this.#interner.isFull) this.#interner = new VersionInterner(this.limit)
    if (this.#timer === undefined) this.#timer = setTimeout(this.clear, rest).unref()
    else this.#timer.refresh()
    return this.#interner
  }

  /** Drops the interner. Unanswered requests keep their references. */
  readonly clear = (): void => {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#interner = undefined
  }
}
