/**
 * Where a call to a cluster of type ORIGINAL_DST goes: to where it went before it was redirected, if nothing else is said.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/other_features/original_dst
 * @since 0.1.0
 */
import type { Call, Pick } from "./ClusterType.js"
import * as IpAddress from "./IpAddress.js"

/**
 * `original_dst_lb_config`, and how often hosts that are not used are looked for.
 *
 * @since 0.1.0
 */
export interface Settings {
  /** The header that names the address; `undefined`: ★ none does, for it opens every address to clients. */
  readonly header: string | undefined
  /** Where metadata names it; `undefined`: nowhere. */
  readonly metadataKey: { readonly key: string; readonly path: ReadonlyArray<string> } | undefined
  /** The port of whatever address; `undefined`: its own. */
  readonly portOverride: number | undefined
  /** In milliseconds. */
  readonly cleanupInterval: number
}

const form = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/

/** An address and a port; `undefined`: it is none. */
const parse = (text: unknown): readonly [host: string, port: number] | undefined => {
  const match = typeof text === "string" ? form.exec(text.trim()) : null
  if (match === null) return undefined
  const host = match[1] ?? match[2] ?? ""
  const port = Number(match[3])
  return IpAddress.isValid(host) && port <= 65_535 ? [host, port] : undefined
}

/**
 * The address for a call: the first that is there of filter state, metadata of the request, then of the connection, the
 * header, and what was restored. ★ One that is no address is counted and passed over.
 *
 * @since 0.1.0
 */
export const pick = ({ header, metadataKey, portOverride }: Settings, call: Call): Pick => {
  const metadata = (of: Call["requestMetadata"]): unknown => {
    if (metadataKey === undefined) return undefined
    const found = of(metadataKey.key, metadataKey.path)
    return Array.isArray(found) ? found[0] : found
  }
  const said: ReadonlyArray<() => unknown> = [
    () => call.filterState,
    () => metadata(call.requestMetadata) ?? metadata(call.connectionMetadata),
    () => (header === undefined ? undefined : call.header(header)),
    () => call.restored
  ]
  let ignored = 0
  for (const say of said) {
    const text = say()
    if (text === undefined || text === null) continue
    const parsed = parse(text)
    if (parsed === undefined) {
      ignored++
      continue
    }
    const [host, port] = parsed
    return { address: IpAddress.withPort(host, portOverride ?? port), ignored }
  }
  return { address: undefined, ignored }
}
