/**
 * What the stores of the servers hold at each moment of a trace.
 *
 * @since 0.1.0
 */
import type * as ReferenceModel from "../../reference/ReferenceModel.js"
import type { Event, StreamName } from "../Trace.js"
import { Table, keyOf } from "./TraceInvariant.js"

interface StoredResource extends ReferenceModel.Named {
  readonly fingerprint: string
  readonly refersTo: ReadonlyArray<string>
}

/**
 * What the servers hold, as far as a trace is read.
 *
 * @since 0.1.0
 */
export class Stores {
  /** By server and group, by type and name. */
  readonly #groups = new Map<string, Map<string, Map<string, StoredResource>>>()
  /** By server, group and key: everything it was since the server started; `undefined`: it was not there. */
  readonly #history = new Table<string, Array<string | undefined>>(() => [])
  /** When a key was changed last. */
  readonly #changed = new Map<string, number>()
  readonly #groupOf = new Map<string, string>()
  /** By stream: the groups that it was in, where clients are moved. */
  readonly #joined = new Map<number, ReadonlyArray<string>>()
  readonly #withTtl = new Set<string>()

  /** Whether it ever had a TTL where the stream was. */
  hadTtl(stream: StreamName, key: string): boolean {
    return this.#groupsOf(stream).some((group) => this.#withTtl.has(`${stream.server} ${group} ${key}`))
  }

  groupOf(stream: StreamName): string {
    return this.#groupsOf(stream).at(-1) ?? ""
  }

  /** The groups that a stream was in, the present one last. */
  #groupsOf({ client, id }: StreamName): ReadonlyArray<string> {
    return this.#joined.get(id) ?? [this.#groupOf.get(client) ?? ""]
  }

  /** `undefined`: the group is not set. */
  held(server: string, group: string) {
    return this.#groups.get(server)?.get(group)
  }

  history(server: string, group: string, key: string): ReadonlyArray<string | undefined> {
    return this.#history.get(`${server} ${group} ${key}`) ?? []
  }

  /** When it was changed last where the stream was. */
  changedAt(stream: StreamName, key: string): number {
    const times = this.#groupsOf(stream).map((group) => this.#changed.get(`${stream.server} ${group} ${key}`))
    return Math.max(...times.map((time) => time ?? Number.NEGATIVE_INFINITY))
  }

  read(event: Event): void {
    if (event._tag === "Started") {
      if (event.group !== undefined) this.#groupOf.set(event.host, event.group)
      else {
        this.#groups.set(event.host, new Map())
        for (const key of Array.from(this.#history.keys())) {
          if (key.startsWith(`${event.host} `)) this.#history.delete(key)
        }
      }
    }
    if (event._tag === "Joined") {
      const { group, stream } = event
      this.#joined.set(stream.id, [...(this.#joined.get(stream.id) ?? []), group])
    }
    if (event._tag !== "Stored") return
    const { cleared, group, removed, server, upserted } = event
    const groups = this.#groups.get(server) ?? new Map<string, never>()
    this.#groups.set(server, groups)
    const note = (key: string, fingerprint: string | undefined) => {
      this.#history.of(`${server} ${group} ${key}`).push(fingerprint)
      this.#changed.set(`${server} ${group} ${key}`, event.at)
    }
    if (cleared) {
      for (const key of groups.get(group)?.keys() ?? []) note(key, undefined)
      groups.delete(group)
      return
    }
    const held = groups.get(group) ?? new Map<string, StoredResource>()
    groups.set(group, held)
    for (const [typeUrl, resources] of Object.entries(upserted)) {
      for (const { aliases = [], fingerprint, name, refersTo, ttl } of resources) {
        if (ttl !== undefined) this.#withTtl.add(`${server} ${group} ${keyOf(typeUrl, name)}`)
        held.set(keyOf(typeUrl, name), { typeUrl, name, aliases, fingerprint, refersTo })
        note(keyOf(typeUrl, name), fingerprint)
      }
    }
    for (const [typeUrl, names] of Object.entries(removed)) {
      for (const name of names) {
        held.delete(keyOf(typeUrl, name))
        note(keyOf(typeUrl, name), undefined)
      }
    }
  }
}
