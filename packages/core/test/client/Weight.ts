/** How much a state holds: every object, entry and byte that can be reached from it. */
export const weigh = (root: unknown): number => {
  const seen = new Set<object>()
  const open: Array<unknown> = [root]
  let weight = 0
  for (let value = open.pop(); open.length > 0 || value !== undefined; value = open.pop()) {
    if (typeof value === "string") weight += value.length
    if (typeof value !== "object" || value === null || seen.has(value)) {
      weight++
      continue
    }
    seen.add(value)
    if (ArrayBuffer.isView(value)) weight += value.byteLength
    else if (value instanceof Map) for (const entry of value) open.push(...entry)
    else if (value instanceof Set) open.push(...value)
    else for (const key of Reflect.ownKeys(value)) open.push(Reflect.get(value, key))
    weight++
  }
  return weight
}
