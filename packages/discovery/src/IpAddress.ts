/**
 * Texts of IP addresses. Pure: a name is never resolved.
 *
 * @since 0.1.0
 */
const octet = "(?:25[0-5]|2[0-4]\\d|1\\d\\d|[1-9]?\\d)"
const v4 = new RegExp(`^${octet}(?:\\.${octet}){3}$`)
const group = /^[\da-fA-F]{1,4}$/

const isV6 = (text: string): boolean => {
  if (text.length > 45) return false
  const halves = text.split("::")
  if (halves.length > 2) return false
  let groups = 0
  for (const [at, half] of halves.entries()) {
    if (half === "") continue
    const parts = half.split(":")
    for (const [index, part] of parts.entries()) {
      const isLast = at === halves.length - 1 && index === parts.length - 1
      if (isLast && v4.test(part)) groups += 2
      else if (group.test(part)) groups++
      else return false
    }
  }
  return halves.length === 2 ? groups < 8 : groups === 8
}

/**
 * Whether a text is an IPv4 or IPv6 address.
 *
 * @since 0.1.0
 */
export const isValid = (text: string): boolean => v4.test(text) || isV6(text)

/**
 * An address and a port as one text: `10.0.0.1:80`, `[::1]:80`; `undefined` if it is no address.
 *
 * @since 0.1.0
 */
export const withPort = (address: string, port: number): string | undefined => {
  if (v4.test(address)) return `${address}:${port}`
  return isV6(address) ? `[${address.toLowerCase()}]:${port}` : undefined
}
