/**
 * Held names: requested name → fingerprint of what the client has under it.
 *
 * @since 0.1.0
 */
import * as HashMap from "effect/HashMap"
import * as Option from "effect/Option"
import type { Resource } from "../resource/Resource.js"
import * as Steps from "../Steps.js"
import { noAliases } from "./AskedAliases.js"
import type { PendingRemoval } from "./Subscription.js"

const nothing = Option.some("")

const orNothing = (held: Option.Option<string>): Option.Option<string> => (Option.isSome(held) ? held : nothing)

/**
 * A draft of changes. The map is copied on the first change; further changes are made in place.
 *
 * @since 0.1.0
 */
export class HeldNamesDraft {
  private copy: HashMap.HashMap<string, string> | undefined

  constructor(private readonly names: HashMap.HashMap<string, string>) {}

  set(name: string, fingerprint: string): void {
    this.copy ??= HashMap.beginMutation(this.names)
    HashMap.set(this.copy, name, fingerprint)
  }

  /** Adds a name without content; an existing entry stays. */
  setNew(name: string): void {
    // One look at a copy, which may become the map: many clients begin with many names.
    if (this.copy !== undefined) HashMap.modifyAt(this.copy, name, orNothing)
    else if (!HashMap.has(this.names, name)) this.set(name, "")
  }

  delete(name: string): void {
    if (!HashMap.has(this.copy ?? this.names, name)) return
    this.copy ??= HashMap.beginMutation(this.names)
    HashMap.remove(this.copy, name)
  }

  /** {@link set} for requested names only. */
  setKnown(name: string, fingerprint: string): void {
    if (this.copy !== undefined) {
      HashMap.modifyAt(this.copy, name, (held) => (Option.isSome(held) ? Option.some(fingerprint) : held))
    } else if (HashMap.has(this.names, name)) this.set(name, fingerprint)
  }

  /** The map with the changes; the same one if there were none. */
  end(): HashMap.HashMap<string, string> {
    return this.copy === undefined ? this.names : HashMap.endMutation(this.copy)
  }
}

/**
 * Records the fingerprints of sent resources under every name by which they were requested.
 *
 * @param aliasesOf incremental: {@link askedAliases}
 * @since 0.1.0
 */
export const hold = function* (
  names: HashMap.HashMap<string, string>,
  resources: Iterable<Resource>,
  aliasesOf: (resource: Resource) => ReadonlyArray<string> = () => noAliases
): Steps.Steps<HashMap.HashMap<string, string>> {
  const next = new HeldNamesDraft(names)
  let count = 0
  for (const resource of resources) {
    if (++count % Steps.atOnce === 0) yield
    next.setKnown(resource.name, resource.fingerprint)
    for (const alias of aliasesOf(resource)) next.set(alias, resource.fingerprint)
  }
  return next.end()
}

/**
 * {@link hold} for few resources that were requested by their own names only.
 *
 * @since 0.1.0
 */
export const holdFew = (
  names: HashMap.HashMap<string, string>,
  resources: ReadonlyArray<Resource>
): HashMap.HashMap<string, string> => {
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
  names: HashMap.HashMap<string, string>,
  returned: Iterable<string>,
  pendingRemovals: ReadonlyMap<string, PendingRemoval>
): Steps.Steps<HashMap.HashMap<string, string>> {
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
  names: HashMap.HashMap<string, string>,
  released: Iterable<string>
): Steps.Steps<HashMap.HashMap<string, string>> {
  const next = new HeldNamesDraft(names)
  let count = 0
  for (const name of released) {
    next.setKnown(name, "")
    if (++count % Steps.atOnce === 0) yield
  }
  return next.end()
}
