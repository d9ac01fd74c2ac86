/**
 * Texts of IP addresses. Pure: a name is never resolved.
 *
 * @since 0.1.0
 */
const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const v4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)
const group = /^[\da-fA-F]{1,4}$/

/** The eight groups of an IPv6 address; `undefined`: it is none. */
const groupsOf = (text: string): ReadonlyArray<number> | undefined => {
  if (text.length > 45) return undefined
  const halves = text.split("::")
  if (halves.length > 2) return undefined
  const groups: Array<number> = []
  let gap: number | undefined
  for (const [at, half] of halves.entries()) {
    if (at === 1) gap = groups.length
    if (half === "") continue
    const parts = half.split(":")
    for (const [index, part] of parts.entries()) {
      const isLast = at === halves.length - 1 && index === parts.length - 1
      if (isLast && v4.test(part)) {
        const [a = 0, b = 0, c = 0, d = 0] = part.split(".").map(Number)
        groups.push(a * 256 + b, c * 256 + d)
      } else if (group.test(part)) groups.push(Number.parseInt(part, 16))
      else return undefined
    }
  }
  if (gap === undefined) return groups.length === 8 ? groups : undefined
  if (groups.length >= 8) return undefined
  return [...groups.slice(0, gap), ...Array<number>(8 - groups.length).fill(0), ...groups.slice(gap)]
}

/** ★ One text for one address, whatever its spelling (RFC 5952). */
const textOf = (groups: ReadonlyArray<number>): string => {
  let [start, end] = [0, 0]
  for (let from = 0; from < groups.length; from++) {
    let to = from
    while (groups[to] === 0) to++
    // A group alone is written; of gaps that are as long the first counts.
    if (to - from > Math.max(1, end - start)) [start, end] = [from, to]
    from = Math.max(from, to)
  }
  const hex = (from: number, to?: number): string =>
    groups
      .slice(from, to)
      .map((each) => each.toString(16))
      .join(":")
  if (start === 0 && end === 5 && groups[5] === 0xffff) {
    const bytes = groups.slice(6).flatMap((each) => [each >> 8, each & 255])
    return `::ffff:${bytes.join(".")}`
  }
  return end === 0 ? hex(0) : `${hex(0, start)}::${hex(end)}`
}

/**
 * Whether a text is an IPv4 or IPv6 address.
 *
 * @since 0.1.0
 */
export const isValid = (text: string): boolean => v4.test(text) || groupsOf(text) !== undefined

/**
 * The one text of an address, whatever its spelling (RFC 5952): `2001:db8::1`; `undefined` if it is no address.
 *
 * @since 0.1.0
 */
export const normalize = (address: string): string | undefined => {
  if (v4.test(address)) return address
  const groups = groupsOf(address)
  return groups && textOf(groups)
}

/**
 * An address and a port as one text: `10.0.0.1:80`, `[::1]:80`; `undefined` if it is no address. ★ All spellings of an IPv6
 * address give the same.
 *
 * @since 0.1.0
 */
export const withPort = (address: string, port: number): string | undefined => {
  const text = normalize(address)
  if (text === undefined) return undefined
  return text.includes(":") ? `[${text}]:${port}` : `${text}:${port}`
}
