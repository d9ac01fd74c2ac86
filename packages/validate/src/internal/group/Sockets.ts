/** The transport sockets of clusters: some stand around another one, and pass on what it can. */
import type { TransportSocket } from "@effect-xds/proto/envoy/config/core/v3/base"
import { FieldScan } from "@effect-xds/proto/FieldScan"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { delimited, tagOf } from "./Tag.js"

const prefix = "envoy.extensions.transport_sockets."

/** A socket as far as rules ask. */
interface Socket {
  readonly name: string
  readonly typeName: string
  /** What is in its `typed_config`. */
  readonly value: Uint8Array
}

const of = ({ configType, name }: TransportSocket): Socket =>
  configType.case === "typedConfig"
    ? { name, typeName: TypeRegistry.typeName(configType.value.typeUrl), value: configType.value.value }
    : { name, typeName: "", value: new Uint8Array() }

/** The type of a socket; empty: it has none. */
export const typeOf = (socket: TransportSocket | undefined): string => (socket === undefined ? "" : of(socket).typeName)

const http11Proxy = `${prefix}http_11_proxy.v3.Http11ProxyUpstreamTransport`

/** The field that has the socket inside, by the type of the one around it. */
const insides: ReadonlyMap<string, number> = new Map([
  [http11Proxy, 1],
  [`${prefix}internal_upstream.v3.InternalUpstreamTransport`, 3],
  [`${prefix}proxy_protocol.v3.ProxyProtocolUpstreamTransport`, 2],
  [`${prefix}tap.v3.Tap`, 2],
  [`${prefix}tcp_stats.v3.Config`, 1]
])

/** The message in a field that is there once; `undefined`: it is not, or that is not known. */
const messageIn = (bytes: Uint8Array, field: number): Uint8Array | undefined => {
  const scan = new FieldScan(bytes)
  let found: Uint8Array | undefined
  while (scan.next()) {
    if (scan.number !== field) continue
    // One that comes again is merged.
    if (found !== undefined || scan.tag !== tagOf(field, delimited)) return undefined
    found = bytes.subarray(scan.begin, scan.end)
  }
  return scan.isSure ? found : undefined
}

/** The text in a field; `undefined`: it is not known. */
const textIn = (bytes: Uint8Array, field: number): string | undefined => {
  const scan = new FieldScan(bytes)
  let text: string | undefined = ""
  while (scan.next()) if (scan.tag === tagOf(field, delimited)) text = scan.text()
  return scan.isSure ? text : undefined
}

/** The socket inside of another one; `undefined`: there is none, or it is not known. */
const insideOf = ({ typeName, value }: Socket): Socket | undefined => {
  const field = insides.get(typeName)
  const bytes = field === undefined ? undefined : messageIn(value, field)
  const config = bytes && messageIn(bytes, 3)
  if (bytes === undefined || config === undefined) return undefined
  const name = textIn(bytes, 1)
  const typeUrl = textIn(config, 1)
  if (name === undefined || typeUrl === undefined) return undefined
  return { name, typeName: TypeRegistry.typeName(typeUrl), value: messageIn(config, 2) ?? new Uint8Array() }
}

const withoutAlpn: ReadonlySet<string> = new Set([
  `${prefix}alts.v3.Alts`,
  `${prefix}raw_buffer.v3.RawBuffer`,
  // ★ Not even for the TLS that it starts.
  `${prefix}starttls.v3.UpstreamStartTlsConfig`
])

/** Whether it is known that no protocol is negotiated by ALPN. A cluster without a socket has one in clear text. */
export const hasNoAlpn = (socket: TransportSocket | undefined): boolean => {
  if (socket === undefined) return true
  let innermost: Socket | undefined
  // Each is shorter than the one around it.
  for (let each: Socket | undefined = of(socket); each !== undefined; each = insideOf(each)) innermost = each
  return innermost !== undefined && withoutAlpn.has(innermost.typeName)
}

const quicName = "envoy.transport_sockets.quic"

/** ★ Envoy asks for its name, not for its type; inside of a proxy by CONNECT it may be, too, if that has its own name. */
export const isNotQuic = (socket: TransportSocket | undefined): boolean => {
  if (socket === undefined) return true
  if (socket.name === quicName) return false
  if (socket.name !== "envoy.transport_sockets.http_11_proxy") return true
  const outer = of(socket)
  const inner = outer.typeName === http11Proxy ? insideOf(outer) : undefined
  return inner !== undefined && inner.name !== quicName
}
