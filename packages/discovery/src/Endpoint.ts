/**
 * An endpoint as a cluster or an assignment writes it: what makes a host of an address.
 *
 * @since 0.1.0
 */
import * as Hosts from "./Host.js"
import * as IpAddress from "./IpAddress.js"

/**
 * An endpoint.
 *
 * @since 0.1.0
 */
export interface Endpoint {
  /** An IP address or a name, and a port; or the path of a pipe. */
  readonly address: { readonly host: string; readonly port: number } | { readonly pipe: string }
  /** `additional_addresses`: texts such as `[::1]:80`. */
  readonly additionalAddresses: ReadonlyArray<string>
  /** `health_check_config.address`, without a port; empty: that of the endpoint. */
  readonly checkHost: string
  /** `health_check_config.port_value`; 0: that of the endpoint. */
  readonly checkPort: number
  /** What a host of it has besides. */
  readonly host: Partial<Omit<Hosts.Host, "id" | "address" | "addresses" | "checkAddress">>
}

/**
 * An endpoint with defaults.
 *
 * @since 0.1.0
 */
export const make = (address: Endpoint["address"], given: Partial<Omit<Endpoint, "address">> = {}): Endpoint => ({
  address,
  additionalAddresses: [],
  checkHost: "",
  checkPort: 0,
  host: {},
  ...given
})

const withPort = (host: string, port: number): string => IpAddress.withPort(host, port) ?? `${host}:${port}`

/**
 * Its host at addresses without port, the first first; at its own if none are given.
 *
 * @param entry what tells it from other entries with the same address
 * @since 0.1.0
 */
export const hostOf = (
  { additionalAddresses, address, checkHost, checkPort, host: given }: Endpoint,
  entry: string | number,
  addresses: ReadonlyArray<string> = []
): Hosts.Host => {
  if ("pipe" in address) {
    return Hosts.make(address.pipe, { id: JSON.stringify([entry, address.pipe]), ...given })
  }
  const { host, port } = address
  const [first = host] = addresses
  const text = withPort(first, port)
  const checkAddress = withPort(checkHost === "" ? first : checkHost, checkPort === 0 ? port : checkPort)
  return Hosts.make(text, {
    id: JSON.stringify([entry, text, checkAddress]),
    addresses: addresses.length > 1 ? addresses.map((each) => withPort(each, port)) : [text, ...additionalAddresses],
    checkAddress,
    ...given
  })
}

/**
 * Whether it is at an address, and not at a name.
 *
 * @since 0.1.0
 */
export const isLiteral = ({ address }: Endpoint): boolean => "pipe" in address || IpAddress.isValid(address.host)
