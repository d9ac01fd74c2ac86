/**
 * `xds_override_host_experimental`: calls of a session go to the endpoint that the session names, all others as the child
 * says.
 *
 * An endpoint that is DRAINING gets no other calls, and one of a priority that is not in use has no connection of the
 * child's. So the policy wants connections itself: from the first call of a session until none has come for a while. A
 * connection that the child has, too, is the same.
 *
 * @see https://github.com/grpc/proposal/blob/master/A55-xds-stateful-session-affinity.md
 * @see https://github.com/grpc/proposal/blob/master/A75-xds-aggregate-cluster-behavior-fixes.md
 * @since 0.1.0
 */
import * as Backoff from "../Backoff.js"
import * as Draws from "../Draw.js"
import type { Address, Endpoint, Health } from "../Endpoint.js"
import type { SessionHost } from "../Picker.js"
import type { Configured, Context, Output } from "../Policy.js"
import { define } from "../Policy.js"
import * as OneChild from "./OneChild.js"

/**
 * What a cluster says of sessions.
 *
 * @since 0.1.0
 */
export interface Settings {
  /** Endpoints that sessions may go on with. Default: UNKNOWN and HEALTHY. */
  readonly statuses: ReadonlySet<Health>
  /** Milliseconds without a call of a session until the connection is given up. */
  readonly idleTimeout: number
}

/**
 * What holds for a cluster that says nothing.
 *
 * @since 0.1.0
 */
export const standard: Settings = { statuses: new Set<Health>(["UNKNOWN", "HEALTHY"]), idleTimeout: 3_600_000 }

/**
 * A cluster.
 *
 * @since 0.1.0
 */
export interface Config extends Settings {
  /** All that sessions may name, of all priorities, those that are DRAINING, too. */
  readonly endpoints: ReadonlyArray<Endpoint>
  readonly child: Configured
}

/** An address that a session names. */
interface Host extends SessionHost {
  /** When a call of a session came last, in milliseconds. */
  readonly usedAt: number
  /** Failures in a row. */
  readonly failures: number
  /** When a failed one may be tried again, in milliseconds. */
  readonly retryAt: number
}

/**
 * Its state.
 *
 * @since 0.1.0
 */
export interface State extends OneChild.Hearing {
  readonly node: string
  readonly hasChild: boolean
  readonly idleTimeout: number
  /** Endpoints that sessions may go on with, by each of their addresses. */
  readonly endpoints: ReadonlyMap<Address, Endpoint>
  /** Those that sessions named lately. */
  readonly hosts: ReadonlyMap<Address, Host>
  /** When it was last looked for connections that no session uses, in milliseconds. */
  readonly sweptAt: number
}

const never = Number.POSITIVE_INFINITY
const nothing: ReadonlyArray<Output> = []
const name = "child"

/** Milliseconds between two sweeps at least. */
const sweepInterval = 5_000

const isWanted = ({ state }: Host): boolean => state === "Connecting" || state === "Ready"

const tell = ({ endpoints, heard, hosts, node, updating }: State): ReadonlyArray<Output> =>
  updating || heard === undefined
    ? nothing
    : [{ _tag: "State", state: heard.state, picker: { _tag: "Session", node, endpoints, hosts, child: heard.picker } }]

/** Without the hosts that are not kept. */
const keep = (
  self: State,
  isKept: (address: Address, host: Host) => boolean
): readonly [State, ReadonlyArray<Output>] => {
  const hosts = new Map<Address, Host>()
  const outputs: Array<Output> = []
  for (const [address, host] of self.hosts) {
    if (isKept(address, host)) hosts.set(address, host)
    else if (isWanted(host)) outputs.push({ _tag: "Disconnect", address })
  }
  return hosts.size === self.hosts.size ? [self, nothing] : [{ ...self, hosts }, outputs]
}

const put = (self: State, address: Address, host: Host): State => ({
  ...self,
  hosts: new Map(self.hosts).set(address, host)
})

const onConfig = (self: State, { child, endpoints, idleTimeout, statuses }: Config): ReturnType<typeof keep> => {
  const usable = new Map<Address, Endpoint>()
  for (const endpoint of endpoints) {
    if (!statuses.has(endpoint.health ?? "UNKNOWN")) continue
    for (const address of endpoint.addresses) if (!usable.has(address)) usable.set(address, endpoint)
  }
  const [kept, outputs] = keep(self, (address) => usable.has(address))
  const _tag = self.hasChild ? "Update" : "Create"
  return [
    { ...kept, endpoints: usable, idleTimeout, hasChild: true, updating: true },
    [...outputs, { _tag, name, child, endpoints: [] }]
  ]
}

/** A call came for an address: if nothing of its endpoint is tried, the best of its addresses is. */
const onUse = (
  self: State,
  address: Address,
  usedAt: number,
  { isConnected = () => false }: Context
): readonly [State, ReadonlyArray<Output>] => {
  const endpoint = self.endpoints.get(address)
  if (endpoint === undefined) return [self, nothing]
  const { addresses } = endpoint
  const inUse = addresses.find((each) => {
    const host = self.hosts.get(each)
    return host !== undefined && isWanted(host)
  })
  const known = inUse === undefined ? undefined : self.hosts.get(inUse)
  if (inUse !== undefined && known !== undefined) {
    return [put(self, inUse, { ...known, usedAt: Math.max(known.usedAt, usedAt) }), nothing]
  }
  const free = [address, ...addresses].filter((each) => self.hosts.get(each)?.state !== "Failed")
  // ★ One that the child is connected to needs no attempt.
  const best = free.find(isConnected) ?? free[0]
  if (best === undefined) return [self, nothing]
  const failures = self.hosts.get(best)?.failures ?? 0
  return [put(self, best, { state: "Connecting", usedAt, failures, retryAt: 0 }), [{ _tag: "Connect", address: best }]]
}

const onSweep = (self: State, now: number): readonly [State, ReadonlyArray<Output>] => {
  let next = self
  for (const [address, host] of self.hosts) {
    if (host.state === "Failed" && now >= host.retryAt) next = put(next, address, { ...host, state: "Idle" })
  }
  if (now < sweepAt(self)) return [next, nothing]
  return keep({ ...next, sweptAt: now }, (_, { usedAt }) => now < usedAt + self.idleTimeout)
}

const sweepAt = ({ hosts, idleTimeout, sweptAt }: State): number => {
  let least = never
  for (const { usedAt } of hosts.values()) least = Math.min(least, usedAt + idleTimeout)
  return Math.max(least, sweptAt + sweepInterval)
}

/**
 * The policy. Its state is that of the child.
 *
 * @since 0.1.0
 */
export const policy = define<Config, State>({
  name: "xds_override_host_experimental",
  make: (node) => ({
    node,
    hasChild: false,
    idleTimeout: never,
    endpoints: new Map(),
    hosts: new Map(),
    sweptAt: Number.NEGATIVE_INFINITY,
    heard: undefined,
    updating: false
  }),
  step: (self, input, context) => {
    switch (input._tag) {
      case "Config":
        return onConfig(self, input.config)
      case "Configured":
      case "ChildState":
        return OneChild.hear(self, input, tell)
      case "Sessions": {
        let next = self
        let outputs = nothing
        for (const [address, usedAt] of input.used) {
          const [used, more] = onUse(next, address, usedAt, context)
          next = used
          if (more.length > 0) outputs = [...outputs, ...more]
        }
        return [next, outputs.length === 0 ? outputs : [...outputs, ...tell(next)]]
      }
      case "Connection": {
        const { address, state } = input
        const host = self.hosts.get(address)
        if (host === undefined || state === "CONNECTING") return [self, nothing]
        if (state === "READY") {
          const next = put(self, address, { ...host, state: "Ready", failures: 0 })
          return [next, tell(next)]
        }
        const disconnect: Output = { _tag: "Disconnect", address }
        if (state === "IDLE") {
          const next = put(self, address, { ...host, state: "Idle" })
          return [next, [disconnect, ...tell(next)]]
        }
        const failures = host.failures + 1
        const retryAt = context.now + Backoff.after(failures, Draws.at(context.draw, 0))
        const next = put(self, address, { ...host, state: "Failed", failures, retryAt })
        return [next, [disconnect, ...tell(next)]]
      }
      case "Deadline": {
        const [next, outputs] = onSweep(self, context.now)
        return [next, next.hosts === self.hosts ? outputs : [...outputs, ...tell(next)]]
      }
      case "ExitIdle":
        return [self, [{ _tag: "ExitIdle", name }]]
      case "Outcomes":
        return [self, nothing]
    }
  },
  deadline: (self) => {
    let least = self.hosts.size === 0 ? never : sweepAt(self)
    for (const { retryAt, state } of self.hosts.values()) if (state === "Failed") least = Math.min(least, retryAt)
    return least
  }
})
