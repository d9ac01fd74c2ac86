/**
 * The subscriptions of a stream at each moment of a trace.
 *
 * @since 0.1.0
 */
import * as ReferenceModel from "../../reference/ReferenceModel.js"
import type { StreamName } from "../Trace.js"
import type { Request } from "./TraceInvariant.js"

/**
 * The subscription of one type on one stream, as the server knows it.
 *
 * @since 0.1.0
 */
export class Asked {
  isWildcard = false
  names = new Set<string>()
  /** Names requested since the last response of the type. */
  readonly recent = new Set<string>()
  #isFirst = true

  read(request: Request, protocol: StreamName["protocol"]): void {
    if (protocol === "StateOfTheWorld") {
      const names = new Set(request.names)
      for (const name of names) if (!this.names.has(name)) this.recent.add(name)
      if (this.#isFirst && names.size === 0) this.recent.add("*")
      this.isWildcard =
        names.has("*") || (names.size === 0 && (this.#isFirst || (this.isWildcard && this.names.size === 0)))
      this.names = names
    } else {
      for (const name of request.names) {
        this.names.add(name)
        this.recent.add(name)
      }
      for (const name of request.unsubscribe) this.names.delete(name)
      if (this.#isFirst && request.names.length === 0) {
        this.names.add("*")
        this.recent.add("*")
      }
      this.isWildcard = this.names.has("*")
    }
    this.#isFirst = false
  }

  wants(name: string): boolean {
    return this.isWildcard || ReferenceModel.isNamed(this.names, name)
  }

  isRecent(name: string): boolean {
    return this.recent.has("*") || ReferenceModel.isNamed(this.recent, name)
  }
}
