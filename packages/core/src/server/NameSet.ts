/**
 * Name set: an immutable set of names, for the state of a stream.
 *
 * @since 0.1.0
 */
import { atOnce, type Steps, toEnd } from "../Steps.js"
import * as NameTable from "./NameTable.js"

/**
 * The set.
 *
 * @since 0.1.0
 */
export class NameSet implements Iterable<string> {
  /** @param table the names are those that it has, under any values */
  constructor(readonly table: NameTable.NameTable<unknown>) {}

  get size(): number {
    return this.table.size
  }

  has(name: string): boolean {
    return this.table.has(name)
  }

  [Symbol.iterator](): Iterator<string> {
    return this.table.keys()
  }

  /** The names. */
  toJSON(): ReadonlyArray<string> {
    return Array.from(this)
  }
}

/**
 * A set without names.
 *
 * @since 0.1.0
 */
export const empty: NameSet = new NameSet(NameTable.empty())

/**
 * The set of the names of a table, which it shares.
 *
 * @since 0.1.0
 */
export const ofTable = (table: NameTable.NameTable<unknown>): NameSet => (table.size === 0 ? empty : new NameSet(table))

/**
 * A set of these names.
 *
 * @since 0.1.0
 */
export const fromIterable = (names: Iterable<string>): NameSet => addAll(empty, names)

/**
 * The set with one more name.
 *
 * @since 0.1.0
 */
export const add = (self: NameSet, name: string): NameSet =>
  self.has(name) ? self : new NameSet(NameTable.set(self.table, name, ""))

/**
 * The set with more names.
 *
 * @since 0.1.0
 */
export const addAll = (self: NameSet, names: Iterable<string>): NameSet => toEnd(addAllInSteps(self, names))

/**
 * {@link addAll} in steps. The set is copied once: a copy per name would make hundreds of megabytes of garbage for 100 000 names.
 *
 * @since 0.1.0
 */
export const addAllInSteps = function* (self: NameSet, names: Iterable<string>): Steps<NameSet> {
  const draft = new NameTable.NameTableDraft(self.table)
  let count = 0
  for (const name of names) {
    draft.setNew(name, "")
    if (++count % atOnce === 0) yield
  }
  return changed(self, draft)
}

/**
 * The set without a name.
 *
 * @since 0.1.0
 */
export const remove = (self: NameSet, name: string): NameSet => (self.has(name) ? removeAll(self, [name]) : self)

/**
 * The set without names.
 *
 * @since 0.1.0
 */
export const removeAll = (self: NameSet, names: Iterable<string>): NameSet => toEnd(removeAllInSteps(self, names))

/**
 * {@link removeAll} in steps.
 *
 * @since 0.1.0
 */
export const removeAllInSteps = function* (self: NameSet, names: Iterable<string>): Steps<NameSet> {
  const draft = new NameTable.NameTableDraft(self.table)
  let count = 0
  for (const name of names) {
    draft.delete(name)
    if (++count % atOnce === 0) yield
  }
  return changed(self, draft)
}

const changed = (self: NameSet, draft: NameTable.NameTableDraft<unknown>): NameSet => {
  const table = draft.end()
  return table === self.table ? self : ofTable(table)
}

/**
 * The names for which `is` holds.
 *
 * @since 0.1.0
 */
export const filter = (self: NameSet, is: (name: string) => boolean): NameSet => {
  if (self.size === 0) return self
  const left = Array.from(self).filter(is)
  return left.length === self.size ? self : fromIterable(left)
}
