/**
 * Held names: requested name → fingerprint of what the client has under it.
 *
 * @since 0.1.0
 */
import type { Resource } from "../resource/Resource.js"
import * as Steps from "../Steps.js"
import { noAliases } from "./AskedAliases.js"
import * as NameTables from "./NameTable.js"
import { type NameTable, NameTableDraft } from "./NameTable.js"
import type { PendingRemoval } from "./Subscription.js"

/**
 * A draft of changes. The table is copied on the first change; further changes are made in place.
 *
 * @since 0.1.0
 */
export class HeldNamesDraft {
  readonly #names: NameTableDraft<string>

  constructor(names: NameTable<string>) {
    this.#names = new NameTableDraft(names)
  }

  set(name: string, fingerprint: string): void {
    this.#names.set(name, fingerprint)
  }

  /** Adds a name without content; an existing entry stays. */
  setNew(name: string): void {
    this.#names.setNew(name, "")
  }

  delete(name: string): void {
    this.#names.delete(name)
  }

  /** {@link set} for requested names only. */
  setKnown(name: string, fingerprint: string): void {
    const held = this.#names.get(name)
    if (held !== undefined && held !== fingerprint) this.#names.set(name, fingerprint)
  }

  /** The table with the changes; the same one if there were none. */
  end(): NameTable<string> {
    return this.#names.end()
  }
}

/**
 * Records the fingerprints of sent resources under every name by which they were requested.
 *
 * @param aliasesOf incremental: {@link AskedAliases}
 * @since 0.1.0
 */
export const hold = function* (
  names: NameTable<string>,
  resources: Iterable<Resource>,
  aliasesOf: (resource: Resource) => ReadonlyArray<string> = () => noAliases
): Steps.Steps<NameTable<string>> {
  const next = new HeldNamesDraft(names)
  let count = 0
  for (const resource of resources) {
    if (++count % Steps.atOnce === 0) yield
    next.setKnown(resource.name, resource.fingerprint)
    for (const alias of aliasesOf(resource)) {
      if (++count % Steps.atOnce === 0) yield
      next.set(alias, resource.fingerprint)
    }
  }
  return next.end()
}

/**
 * {@link hold} for the resources of all requested names, each by its own name, in steps: the table is made anew.
 *
 * @since 0.1.0
 */
export const holdAll = function* (resources: Iterable<Resource>): Steps.Steps<NameTable<string>> {
  const next = new NameTableDraft<string>(NameTables.empty())
  let count = 0
  for (const { fingerprint, name } of resources) {
    if (++count % Steps.atOnce === 0) yield
    next.set(name, fingerprint)
  }
  return next.end()
}

/**
 * {@link hold} for few resources that were requested by their own names only.
 *
 * @since 0.1.0
 */
export const holdFew = (names: NameTable<string>, resources: ReadonlyArray<Resource>): NameTable<string> => {
  const next = new HeldNamesDraft(names)
  for (const { fingerprint, name } of resources) next.set(name, fingerprint)
  return next.end()
}

/**
 * Records that resources with a pending removal under these names are back unchanged.
 *
 * @since 0.1.0
 */
export const holdAgain = function* (
  names: NameTable<string>,
  returned: Iterable<string>,
  pendingRemovals: ReadonlyMap<string, PendingRemoval>
): Steps.Steps<NameTable<string>> {
  const next = new HeldNamesDraft(names)
  let count = 0
  for (const name of returned) {
    const resource = pendingRemovals.get(name)?.resource
    if (resource !== undefined) next.setKnown(name, resource.fingerprint)
    if (++count % Steps.atOnce === 0) yield
  }
  return next.end()
}

/**
 * Records that the client has nothing under these names.
 *
 * @since 0.1.0
 */
export const release = function* (
  names: NameTable<string>,
  released: Iterable<string>
): Steps.Steps<NameTable<string>> {
  const next = new HeldNamesDraft(names)
  let count = 0
  for (const name of released) {
    next.setKnown(name, "")
    if (++count % Steps.atOnce === 0) yield
  }
  return next.end()
}
