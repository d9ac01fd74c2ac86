/**
 * What was there before a change of a resource set, under each name that the change touched.
 *
 * @since 0.1.0
 */
import type { Resource } from "./Resource.js"

/**
 * Names, each with the resource that it had; `undefined`: none. A `Map` is one.
 *
 * @since 0.1.0
 */
export interface Before extends Iterable<[string, Resource | undefined]> {
  readonly size: number
  readonly has: (name: string) => boolean
  readonly get: (name: string) => Resource | undefined
  readonly keys: () => Iterable<string>
}

/**
 * One that grows. ★ A change of one name takes no map: most are such, a log keeps thousands of them, and an empty map is 200 bytes, which
 * V8's collector copies twice.
 *
 * @since 0.1.0
 */
export class BeforeDraft implements Before {
  private name: string | undefined
  private resource: Resource | undefined
  private many: Map<string, Resource | undefined> | undefined

  get size(): number {
    return this.many?.size ?? (this.name === undefined ? 0 : 1)
  }

  has(name: string): boolean {
    return this.many?.has(name) ?? name === this.name
  }

  get(name: string): Resource | undefined {
    if (this.many !== undefined) return this.many.get(name)
    return name === this.name ? this.resource : undefined
  }

  set(name: string, resource: Resource | undefined): void {
    if (this.many !== undefined) {
      this.many.set(name, resource)
    } else if (this.name === undefined || this.name === name) {
      this.name = name
      this.resource = resource
    } else {
      this.many = new Map([
        [this.name, this.resource],
        [name, resource]
      ])
      this.name = undefined
      this.resource = undefined
    }
  }

  keys(): Iterable<string> {
    return this.many?.keys() ?? (this.name === undefined ? [] : [this.name])
  }

  [Symbol.iterator](): Iterator<[string, Resource | undefined]> {
    const entries = this.many ?? this.alone()
    return entries[Symbol.iterator]()
  }

  private alone(): Array<[string, Resource | undefined]> {
    return this.name === undefined ? [] : [[this.name, this.resource]]
  }
}
