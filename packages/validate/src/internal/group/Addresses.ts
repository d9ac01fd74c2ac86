/** IP addresses, ports and sockets. */
import type { Address, BindConfig, CidrRange, SocketAddress } from "@effect-xds/proto/envoy/config/core/v3/address"
import * as InternetText from "../InternetText.js"
import { shownText } from "../Report.js"
import type { Segment, Site } from "./Facts.js"
import * as Reading from "./Reading.js"

const ipv4Bits = (text: string): string =>
  text
    .split(".")
    .map((part) => Number(part).toString(2).padStart(8, "0"))
    .join("")

const groupsOf = (part: string): ReadonlyArray<string> => (part === "" ? [] : part.split(":"))

const ipv6Bits = (text: string): string => {
  // The last groups may be written as an IPv4 address.
  const plain = text.replace(/\d+\.\d+\.\d+\.\d+$/, (v4) =>
    [ipv4Bits(v4).slice(0, 16), ipv4Bits(v4).slice(16)].map((bits) => parseInt(bits, 2).toString(16)).join(":")
  )
  const [before = "", after = ""] = plain.split("::")
  const head = groupsOf(before)
  const tail = groupsOf(after)
  const gap = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0")
  return [...head, ...gap, ...tail].map((group) => parseInt(group, 16).toString(2).padStart(16, "0")).join("")
}

/** The zone of an IPv6 address with the percent sign before it, `%eth0` of `fe80::1%eth0`; empty: it has none. */
const zoneOf = (text: string): string => {
  const at = text.indexOf("%")
  return at > 0 && text.lastIndexOf(":", at) >= 0 ? text.slice(at) : ""
}

/** The 32 or 128 bits of an IP address, however it is written; of what is none nothing that means something. */
export const bitsOf = (text: string): string =>
  text.includes(":") ? ipv6Bits(text.slice(0, text.length - zoneOf(text).length)) : ipv4Bits(text)

/** In bits: `fe80::/10`, and the groups of one interface or link. Only these can have a zone with a name. */
const isOfLink = (text: string): boolean => /^(?:1111111010|1{8}.{4}00(?:01|10))/.test(bitsOf(text))

/** What Linux takes for the name of an interface. */
const interfaceName = /^%[^\s/:]{1,15}$/

const maxUint32 = 0xffff_ffff

/** Whether a zone is a number, or the name of an interface of the peer, which may be any. */
const isZone = (zone: string, text: string): boolean =>
  (/^%\d+$/.test(zone) && Number(zone.slice(1)) <= maxUint32) || (interfaceName.test(zone) && isOfLink(text))

/** ★ Envoy reads the zone of an IPv6 address, too. */
export const isIp = (text: string): boolean => {
  const zone = zoneOf(text)
  if (zone === "") return InternetText.isIp(text)
  return InternetText.isIp(text.slice(0, -zone.length)) && isZone(zone, text)
}

/** What is the same of two IP addresses that are one to Envoy. No zone is zone 0. */
const ipKey = (text: string): string => {
  const zone = zoneOf(text).slice(1)
  const number = Number(zone)
  return `${bitsOf(text)}%${Number.isNaN(number) ? zone : number}`
}

const ipProblem = (text: string): string => `must be an IP address, is ${shownText(text)}`

/** The socket address, in a field, of a place where no name is looked up. */
const checkNumeric = (
  site: Site,
  self: SocketAddress | undefined,
  inside: ReadonlyArray<Segment>,
  field: string
): void => {
  if (self === undefined || self.resolverName !== "") return
  // Empty: the rules of the field tell it.
  if (self.address !== "" && !isIp(self.address))
    site.fault("ip-address", ipProblem(self.address), [...inside, field, "address"])
  if (self.portSpecifier.case === "namedPort") {
    site.fault("named-port", "must be a port_value: no name is looked up here", [...inside, field, "named_port"])
  }
}

/** Bytes that `sun_path` of Linux has, and a NUL. */
const maxPipePath = 107

/** An address that is bound or connected to as it is. */
export const check = (site: Site, self: Address, inside: ReadonlyArray<Segment> = []): void => {
  const { case: kind, value } = self.address
  if (kind === "socketAddress") checkNumeric(site, value, inside, "socket_address")
  if (kind !== "pipe") return
  const path = [...inside, "pipe", "path"]
  if (Buffer.byteLength(value.path) > maxPipePath) {
    site.fault("pipe-path", `must have at most ${maxPipePath} bytes, has ${Buffer.byteLength(value.path)}`, path)
  }
  if (value.path.startsWith("@") && value.mode !== 0) {
    site.fault("pipe-path", "must not be abstract, or have no mode", path)
  }
}

/** Whether an address is one of UDP. */
export const isUdp = ({ address }: Address): boolean => {
  const protocol: number | undefined = address.case === "socketAddress" ? address.value.protocol : undefined
  return protocol === udp
}

/** `UDP` of the protocols. */
const udp: number = 1

/**
 * What two addresses have in common that listeners cannot both have; `undefined`: any number can. ★ Port 0 is another one each
 * time, but for a listener that does not bind.
 */
export const boundTo = (self: Address, isBound: boolean): string | undefined => {
  const { address } = self
  if (address.case === "pipe") return `pipe ${address.value.path}`
  if (address.case !== "socketAddress") return undefined
  const { address: host, networkNamespaceFilepath: namespace, portSpecifier } = address.value
  const port = portSpecifier.case === "portValue" ? portSpecifier.value : 0
  if (port === 0 && isBound) return undefined
  return JSON.stringify([isUdp(self), namespace, isIp(host) ? ipKey(host) : host, port])
}

const xffName = "envoy.extensions.http.original_ip_detection.xff.v3.XffConfig"

export const readings: ReadonlyArray<Reading.Reading> = [
  Reading.of(xffName, () => undefined),
  Reading.of<CidrRange>("envoy.config.core.v3.CidrRange", ({ addressPrefix }, site) => {
    // Of its trusted ones Envoy leaves out those that are none.
    if (addressPrefix !== "" && !isIp(addressPrefix) && site.inside(xffName) === undefined) {
      site.fault("ip-address", ipProblem(addressPrefix), ["address_prefix"])
    }
  }),
  Reading.of<BindConfig>("envoy.config.core.v3.BindConfig", (self, site) => {
    checkNumeric(site, self.sourceAddress, [], "source_address")
    for (const [index, { address }] of self.extraSourceAddresses.entries()) {
      checkNumeric(site, address, ["extra_source_addresses", index], "address")
    }
  })
]
