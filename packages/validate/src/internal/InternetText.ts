/**
 * Whether a text is an IP address, a host name, an e-mail address or a URI: as Go's `net`, `net/mail` and `net/url` have it,
 * which protoc-gen-validate asks.
 */

const zero = 0x30
const dot = 0x2e

/**
 * Four numbers to 255 without zeros before them, as one number; -1: it is no such address. Without a regular expression, and of bytes
 * without a text: every endpoint of every assignment is asked.
 *
 * @param codeAt the character at a place before `length`
 */
export const ipv4 = (length: number, codeAt: (index: number) => number): number => {
  let address = 0
  let dots = 0
  let digits = 0
  let value = 0
  for (let index = 0; index < length; index++) {
    const code = codeAt(index)
    if (code === dot) {
      if (digits === 0) return -1
      address = address * 256 + value
      dots++
      digits = 0
      value = 0
      continue
    }
    const digit = code - zero
    if (digit < 0 || digit > 9 || (digits > 0 && value === 0)) return -1
    digits++
    value = value * 10 + digit
    if (value > 255) return -1
  }
  return dots === 3 && digits > 0 ? address * 256 + value : -1
}

const isIpv4 = (text: string): boolean => ipv4(text.length, (index) => text.charCodeAt(index)) >= 0

const ipv6Group = /^[0-9a-fA-F]{1,4}$/

/** How many of the eight groups a list of them has, the last perhaps an IPv4 address; `undefined`: it is none. */
const groupsIn = (text: string, mayEndInIpv4: boolean): number | undefined => {
  if (text === "") return 0
  const groups = text.split(":")
  const last = groups.at(-1) ?? ""
  const isIpv4Last = mayEndInIpv4 && isIpv4(last)
  const plain = isIpv4Last ? groups.slice(0, -1) : groups
  return plain.every((group) => ipv6Group.test(group)) ? plain.length + (isIpv4Last ? 2 : 0) : undefined
}

/** RFC 4291, without a zone. */
const isColonText = (text: string): boolean => {
  const gap = text.indexOf("::")
  if (gap < 0) return groupsIn(text, true) === 8
  const before = groupsIn(text.slice(0, gap), false)
  const after = groupsIn(text.slice(gap + 2), true)
  return before !== undefined && after !== undefined && before + after < 8
}

/** `::ffff:192.0.2.1` in any of its forms: Go takes it for an IPv4 address. */
const isMapped = (text: string): boolean => {
  const match = /^(.*:)ffff:(?:[0-9.]+|[0-9a-f]{1,4}:[0-9a-f]{1,4})$/i.exec(text)
  return match?.[1] !== undefined && /^[0:]+$/.test(match[1])
}

export const isIp = (text: string): boolean => isIpv4(text) || isColonText(text)

/** With what is mapped into IPv6. */
export const isIpv4Like = (text: string): boolean => isIpv4(text) || (isColonText(text) && isMapped(text))

export const isIpv6 = (text: string): boolean => isColonText(text) && !isMapped(text)

const mappedPrefix = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]

export const isIpBytes = (bytes: Uint8Array): boolean => bytes.byteLength === 4 || bytes.byteLength === 16

export const isIpv4Bytes = (bytes: Uint8Array): boolean =>
  bytes.byteLength === 4 || (bytes.byteLength === 16 && mappedPrefix.every((byte, index) => bytes[index] === byte))

const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/

/** RFC 1034, section 3.5; digits may come first, and a last dot is ignored. */
export const isHostname = (text: string): boolean =>
  text.length <= 253 &&
  text
    .toLowerCase()
    .replace(/\.$/, "")
    .split(".")
    .every((part) => label.test(part))

// RFC 5322: a dot-atom or a quoted string.
const localPart = /^(?:[^\s()<>[\]:;@\\,."]+(?:\.[^\s()<>[\]:;@\\,."]+)*|"(?:[^"\\\r\n]|\\.)*")$/u

/** An address of RFC 5322, also with a name before it; comments are not taken. */
export const isEmail = (text: string): boolean => {
  const trimmed = text.trim()
  const address = trimmed.endsWith(">") ? trimmed.slice(trimmed.lastIndexOf("<") + 1, -1) : trimmed
  if (
    trimmed.endsWith(">") &&
    !/^(?:[^<>"()]*|"(?:[^"\\]|\\.)*"\s*)$/.test(trimmed.slice(0, trimmed.lastIndexOf("<")))
  ) {
    return false
  }
  const at = address.lastIndexOf("@")
  const local = address.slice(0, Math.max(at, 0))
  const isShort = address.length <= 254 && local.length <= 64
  return at > 0 && isShort && localPart.test(local) && isHostname(address.slice(at + 1))
}

const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/
const badEscape = /%(?![0-9a-fA-F]{2})/
const control = /[\0-\x1f\x7f]/

const isAuthority = (text: string): boolean => {
  const at = text.lastIndexOf("@")
  const user = text.slice(0, Math.max(at, 0))
  const host = text.slice(at + 1)
  if (!/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(user) || badEscape.test(user)) return false
  if (host.startsWith("[")) {
    const end = host.lastIndexOf("]")
    return end > 0 && /^(:\d*)?$/.test(host.slice(end + 1)) && !/[\s\\^`{|}]/.test(host) && !badEscape.test(host)
  }
  const colon = host.lastIndexOf(":")
  if (colon >= 0 && !/^\d*$/.test(host.slice(colon + 1))) return false
  // Of a name only what is not ASCII is escaped.
  return !/[\s\\^`{|}/?#@]/.test(host) && !/%(?![89a-fA-F][0-9a-fA-F])/.test(host)
}

/** RFC 3986, as lenient as Go: absolute or not. */
export const isUriReference = (text: string): boolean => {
  if (control.test(text)) return false
  const hash = text.indexOf("#")
  if (hash >= 0 && badEscape.test(text.slice(hash))) return false
  const whole = hash < 0 ? text : text.slice(0, hash)
  if (whole.startsWith(":")) return false
  const start = scheme.exec(whole)?.[0].length ?? 0
  const rest = whole.slice(start).split("?", 1)[0] ?? ""
  if (!rest.startsWith("/")) {
    // Behind a scheme it is opaque.
    return start > 0 || !(badEscape.test(rest) || (rest.split("/", 1)[0] ?? "").includes(":"))
  }
  if (!rest.startsWith("//") || (start === 0 && rest.startsWith("///"))) return !badEscape.test(rest)
  const slash = rest.indexOf("/", 2)
  const authority = slash < 0 ? rest.slice(2) : rest.slice(2, slash)
  return isAuthority(authority) && (slash < 0 || !badEscape.test(rest.slice(slash)))
}

export const isUri = (text: string): boolean => scheme.test(text) && isUriReference(text)
