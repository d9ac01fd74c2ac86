/** A step of a server's stream, taken both ways: a short one is what the same in steps is. */
import * as ServerStream from "@effect-xds/core/server/ServerStream"
import * as Steps from "@effect-xds/core/Steps"
import * as Equal from "effect/Equal"
import { NameSet } from "@effect-xds/core/server/NameSet"
import * as NameTrie from "@effect-xds/core/resource/NameTrie"
import { NameTable } from "@effect-xds/core/server/NameTable"
import * as HashMap from "effect/HashMap"
import * as HashSet from "effect/HashSet"

export const step = (stream: ServerStream.ServerStream, input: ServerStream.Input, now: number): ServerStream.Step => {
  const short = ServerStream.short(stream, input, now)
  const whole = Steps.toEnd(ServerStream.stepping(stream, input, now))
  if (short !== undefined) {
    const place = different(short, whole, "")
    if (place !== undefined) throw new Error(`a short step at ${input._tag} is not what it is in steps: ${place}`)
  }
  return short ?? whole
}

/** Where two values are different, and how. */
export const different = (one: unknown, other: unknown, place: string): string | undefined => {
  if (Object.is(one, other)) return undefined
  // Only where they differ: writing a state takes longer than comparing two.
  const told = () => `${place} is ${show(one)} instead of ${show(other)}`
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null) return told()
  // How often it was copied makes no difference.
  if (HashSet.isHashSet(one) || HashMap.isHashMap(one)) {
    if (Equal.equals(one, other)) return undefined
    if (!HashMap.isHashMap(one) || !HashMap.isHashMap(other)) return told()
    return different(inOrder(one), inOrder(other), place)
  }
  const [entries, others] = [entriesOf(one), entriesOf(other)]
  if (entries.length !== others.length) return told()
  for (const [index, [key, value]] of entries.entries()) {
    const [otherKey, otherValue] = others[index] ?? []
    if (key !== otherKey) return told()
    const found = different(value, otherValue, `${place}.${String(key)}`)
    if (found !== undefined) return found
  }
  return undefined
}

/** Equal maps may have their keys in another order. */
const inOrder = (map: HashMap.HashMap<unknown, unknown>): ReadonlyMap<unknown, unknown> =>
  new Map(Array.from(map).sort(([one], [other]) => (String(one) < String(other) ? -1 : 1)))

const entriesOf = (value: object): Array<[unknown, unknown]> =>
  value instanceof Map
    ? Array.from(value)
    : value instanceof NameTrie.NameTrie
      ? Array.from<readonly [unknown, unknown], [unknown, unknown]>(value, ([name, each]) => [name, each])
      : value instanceof NameTable
        ? Array.from<readonly [unknown, unknown], [unknown, unknown]>(value, ([name, each]) => [name, each])
        : value instanceof NameSet
          ? // Also their order: what is set aside for a later answer, and put back, comes last.
            Array.from(value)
              .sort()
              .map((each): [unknown, unknown] => [each, each])
          : value instanceof Set
            ? Array.from(value, (each): [unknown, unknown] => [each, each])
            : Object.entries(value)

const show = (value: unknown): string => JSON.stringify(value)
