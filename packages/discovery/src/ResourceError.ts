/**
 * Why a resource cannot be used: each mistake with its place in the message.
 *
 * @since 0.1.0
 */

/**
 * One mistake in a message: where, of what kind, and what to do.
 *
 * @since 0.1.0
 */
export interface ResourceError<out Reason extends string = string> {
  /** Path of fields from the resource on, as in the proto: `virtual_hosts[2].routes[0].match.headers[1]`. */
  readonly path: string
  readonly reason: Reason
  /** For people: what is wrong and what to do. */
  readonly message: string
}

/**
 * Most mistakes that are kept for one resource. All are counted.
 *
 * @since 0.1.0
 */
export const maxErrors = 100

/**
 * Collects the mistakes of one resource. Owned by the function that made it.
 *
 * @since 0.1.0
 */
export class Collector<Reason extends string> {
  private readonly kept: Array<ResourceError<Reason>> = []
  private found = 0

  /** Number of mistakes found so far. */
  get count(): number {
    return this.found
  }

  add(path: string, reason: Reason, message: string): void {
    this.found++
    if (this.kept.length < maxErrors) this.kept.push({ path, reason, message })
  }

  get errors(): ReadonlyArray<ResourceError<Reason>> {
    return this.kept
  }
}

/**
 * Mistakes as one line of text, for a NACK.
 *
 * @since 0.1.0
 */
export const format = (errors: ReadonlyArray<ResourceError>): string =>
  errors.map(({ message, path }) => `${path}: ${message}`).join("; ")
