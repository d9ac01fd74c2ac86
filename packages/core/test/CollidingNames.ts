/** Names that were made to have one hash. */

import * as Hash from "effect/Hash"

/** Three characters before a text, for each of which `Hash.string` is the same. */
export const ofOneHash = (count: number): ReadonlyArray<string> => {
  const text = "name"
  const mixed = (from: number, name: string) => {
    let hash = from
    for (let at = name.length; at > 0; at--) hash = Math.imul(hash, 33) ^ name.charCodeAt(at - 1)
    return hash
  }
  // What 33 times it is 1.
  let inverse = 1
  for (let round = 0; round < 6; round++) inverse = Math.imul(inverse, 2 - Math.imul(33, inverse))
  const wanted = mixed(5381, `\u5e00\u5e00\u5e00${text}`)
  const before = Math.imul(mixed(5381, text), 33)
  const found: Array<string> = []
  for (let first = 0x4e00; found.length < count; first++) {
    for (let second = 0x4e00; second < 0x9e00 && found.length < count; second++) {
      const third = (before ^ Math.imul(Math.imul(wanted ^ first, inverse) ^ second, inverse)) >>> 0
      if (third >= 0x4e00 && third < 0xd000) found.push(String.fromCharCode(first, second, third) + text)
    }
  }
  return found
}

/** Pairs of names whose hashes differ in the highest two bits only. */
export const nearlyOfOneHash = (pairs: number): ReadonlyArray<string> => {
  const known = new Map<number, string>()
  const found: Array<string> = []
  for (let number = 0; found.length < 2 * pairs; number++) {
    const name = `name-${((number * 2654435761) % 2 ** 32).toString(36)}`
    const low = Hash.string(name) << 2
    const other = known.get(low)
    if (other === undefined) known.set(low, name)
    else if (Hash.string(other) !== Hash.string(name)) found.push(other, name)
  }
  return found
}
