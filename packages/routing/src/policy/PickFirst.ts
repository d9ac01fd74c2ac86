/**
 * `pick_first`: a connection to the first address that can be reached.
 *
 * Attempts are started 250 ms apart, or as soon as the one before failed, without giving the earlier ones up (happy
 * eyeballs). When all have failed the policy has failed until one is READY; each address is tried again after its backoff,
 * and a new list is gone through from its beginning. A connection that is lost soon, and was of no use, is told as a failure.
 *
 * @see https://github.com/grpc/proposal/blob/master/A61-IPv4-IPv6-dualstack-backends.md
 * @see https://github.com/grpc/proposal/blob/master/A62-pick-first.md
 * @since 0.1.0
 */
import * as Backoff from "../Backoff.js"
import type { Connectivity } from "../Connectivity.js"
import * as Draws from "../Draw.js"
import type { Address, Endpoint } from "../Endpoint.js"
import type { Picker } from "../Picker.js"
import * as Pickers from "../Picker.js"
import type { Context, Input, Output } from "../Policy.js"
import { define } from "../Policy.js"

/**
 * How it connects.
 *
 * @since 0.1.0
 */
export interface Config {
  /** The order of the endpoints is drawn, heavier ones earlier. Default: false. */
  readonly shuffle?: boolean | undefined
  /** It waits for `ExitIdle` before it connects for the first time. Default: false. */
  readonly lazy?: boolean | undefined
  /** Milliseconds between attempts, 100 to 2 000. Default: 250. */
  readonly attemptDelay?: number | undefined
  /** A connection to an endpoint that is ejected counts as failed, and stays. Default: false: it serves on. */
  readonly heedsEjection?: boolean | undefined
}

/** An address, and what became of attempts to connect to it. */
interface Attempt {
  readonly endpoint: Endpoint
  /** `Held`: wanted, but nothing says how to connect to it; it is connected to when something does. */
  readonly state: "Idle" | "Connecting" | "Failed" | "Held"
  /** Failures in a row. */
  readonly failures: number
  /** Connections in a row that were lost before they were of use. */
  readonly losses: number
  /** When it may be tried again, in milliseconds. */
  readonly retryAt: number
}

/**
 * Its state.
 *
 * @since 0.1.0
 */
export interface State {
  readonly node: string
  readonly attemptDelay: number
  readonly heedsEjection: boolean
  /** In the order in which they are tried. */
  readonly attempts: ReadonlyMap<Address, Attempt>
  /** The address it is connected to. */
  readonly connected: Address | undefined
  readonly said: Connectivity | undefined
  /** When the next address is tried, in milliseconds; Infinity if none is. */
  readonly nextAt: number
  /** Addresses tried in this pass, from the first on. */
  readonly started: number
  /** Whether it is not said yet that all of this pass have failed. */
  readonly isPassing: boolean
  /** Failures since the last request to resolve again. */
  readonly failures: number
  readonly message: string
}

const never = Number.POSITIVE_INFINITY
const nothing: ReadonlyArray<Output> = []

const isIPv6 = (address: Address): boolean => address.startsWith("[")

/** ★ Families in turn, that of the first address first, each in its order. */
const interleave = (addresses: ReadonlyArray<Address>): ReadonlyArray<Address> => {
  const [first] = addresses
  if (first === undefined) return addresses
  const same = addresses.filter((address) => isIPv6(address) === isIPv6(first))
  const other = addresses.filter((address) => isIPv6(address) !== isIPv6(first))
  if (other.length === 0) return addresses
  const all: Array<Address> = []
  for (let index = 0; index < Math.max(same.length, other.length); index++) {
    for (const list of [same, other]) {
      const address = list[index]
      if (address !== undefined) all.push(address)
    }
  }
  return all
}

/** A113: keys u^(1/weight), in descending order. */
const shuffled = (endpoints: ReadonlyArray<Endpoint>, draw: Draws.Draw): ReadonlyArray<Endpoint> =>
  endpoints
    .map((endpoint, index) => ({ endpoint, key: Draws.at(draw, index) ** (1 / endpoint.weight) }))
    .sort((a, b) => b.key - a.key)
    .map(({ endpoint }) => endpoint)

const orderOf = (endpoints: ReadonlyArray<Endpoint>): ReadonlyMap<Address, Endpoint> => {
  const byAddress = new Map<Address, Endpoint>()
  for (const endpoint of endpoints) {
    for (const address of endpoint.addresses) if (!byAddress.has(address)) byAddress.set(address, endpoint)
  }
  const ordered = new Map<Address, Endpoint>()
  for (const address of interleave(Array.from(byAddress.keys()))) {
    const endpoint = byAddress.get(address)
    if (endpoint !== undefined) ordered.set(address, endpoint)
  }
  return ordered
}

const pickerOf = (self: State, state: Connectivity): Picker => {
  switch (state) {
    case "READY": {
      const endpoint = self.connected === undefined ? undefined : self.attempts.get(self.connected)?.endpoint
      return self.connected === undefined || endpoint === undefined
        ? Pickers.queue
        : { _tag: "Connected", address: self.connected, endpoint }
    }
    case "IDLE":
      return { _tag: "Idle", node: self.node }
    case "CONNECTING":
      return Pickers.queue
    case "TRANSIENT_FAILURE":
      return Pickers.fail(self.attempts.size === 0 ? "NoEndpoint" : "ConnectionFailed", self.message)
  }
}

const say = (self: State, state: Connectivity): readonly [State, ReadonlyArray<Output>] => {
  const next = { ...self, said: state }
  const endpoint = self.connected === undefined ? undefined : self.attempts.get(self.connected)?.endpoint
  if (state !== "READY" || !self.heedsEjection || endpoint?.isEjected !== true) {
    return [next, [{ _tag: "State", state, picker: pickerOf(self, state) }]]
  }
  // ★ It is told as a failure, but the connection is kept for when the endpoint comes back.
  const picker = Pickers.fail(
    "Ejected",
    `${endpoint.addresses.join(", ")} fails too often: outlier detection ejected it`
  )
  return [next, [{ _tag: "State", state: "TRANSIENT_FAILURE", picker }]]
}

const withAttempt = (self: State, address: Address, attempt: Attempt): State => ({
  ...self,
  attempts: new Map(self.attempts).set(address, attempt)
})

/** Starts the next attempts of this pass that may be started. */
const advance = (self: State, context: Context): readonly [State, ReadonlyArray<Output>] => {
  const addresses = Array.from(self.attempts)
  let next: State = self
  for (let index = self.started; index < addresses.length; index++) {
    const [address, attempt] = addresses[index] ?? []
    if (address === undefined || attempt === undefined) break
    next = { ...next, started: index + 1 }
    // In backoff it counts as failed.
    if (attempt.state === "Held" || (attempt.state === "Failed" && context.now < attempt.retryAt)) continue
    next = withAttempt(next, address, { ...attempt, state: "Connecting" })
    const isLast = index + 1 === addresses.length
    return [{ ...next, nextAt: isLast ? never : context.now + self.attemptDelay }, [{ _tag: "Connect", address }]]
  }
  return [{ ...next, nextAt: never }, nothing]
}

/** Begins at the first address. */
const begin = (self: State, context: Context): readonly [State, ReadonlyArray<Output>] => {
  if (self.attempts.size === 0 || self.connected !== undefined) return [self, nothing]
  const [next, connects] = advance({ ...self, started: 0, isPassing: true }, context)
  if (connects.length === 0) return concluded(next, nothing)
  // ★ Sticky: after a failure CONNECTING is not said.
  if (next.said === "TRANSIENT_FAILURE" || next.said === "CONNECTING") return [next, connects]
  const [said, outputs] = say(next, "CONNECTING")
  return [said, [...connects, ...outputs]]
}

/** Says that all have failed, when they have; once for a pass. */
const concluded = (self: State, before: ReadonlyArray<Output>): readonly [State, ReadonlyArray<Output>] => {
  const isOver =
    self.isPassing &&
    self.started >= self.attempts.size &&
    Array.from(self.attempts.values()).every(({ state }) => state === "Failed" || state === "Held")
  if (!isOver) return [self, before]
  const [said, outputs] = say({ ...self, isPassing: false }, "TRANSIENT_FAILURE")
  return [said, [...before, ...outputs]]
}

const onConfig = (
  self: State,
  { attemptDelay = 250, heedsEjection = false, lazy = false, shuffle = false }: Config,
  endpoints: ReadonlyArray<Endpoint>,
  context: Context
): readonly [State, ReadonlyArray<Output>] => {
  const ordered = orderOf(shuffle ? shuffled(endpoints, context.draw) : endpoints)
  const attempts = new Map<Address, Attempt>()
  for (const [address, endpoint] of ordered) {
    const before = self.attempts.get(address)
    attempts.set(
      address,
      before === undefined ? { endpoint, state: "Idle", failures: 0, losses: 0, retryAt: 0 } : { ...before, endpoint }
    )
  }
  const outputs: Array<Output> = []
  for (const [address, { state }] of self.attempts) {
    if (attempts.has(address) || (state === "Idle" && address !== self.connected)) continue
    outputs.push({ _tag: "Disconnect", address })
  }
  const delay = Math.min(2_000, Math.max(100, attemptDelay))
  const next: State = { ...self, attempts, attemptDelay: delay, heedsEjection }
  if (attempts.size === 0) {
    const empty = { ...next, connected: undefined, nextAt: never, started: 0, message: "there are no endpoints" }
    const [said, states] = say(empty, "TRANSIENT_FAILURE")
    return [said, [...outputs, ...states, { _tag: "ReResolve" }]]
  }
  // ★ The connection is kept if its address is in the new list.
  if (self.connected !== undefined && attempts.has(self.connected)) {
    const [said, states] = say(next, "READY")
    return [said, [...outputs, ...states]]
  }
  if (self.connected !== undefined) {
    // What was connected is gone: idle, until a call comes.
    const [said, states] = say({ ...next, connected: undefined, nextAt: never, started: 0 }, "IDLE")
    return [said, [...outputs, ...states]]
  }
  if (self.said === "IDLE") return [next, outputs]
  if (self.said === undefined && lazy) return say(next, "IDLE")
  const [begun, states] = begin(next, context)
  return [begun, [...outputs, ...states]]
}

/**
 * The connection is gone: the next pick starts at the first. ★ One that was of no use is made again once at once, then after a
 * backoff: a server that closes each of them would be connected to without end.
 */
const onLost = (
  self: State,
  address: Address,
  attempt: Attempt,
  message: string | undefined,
  context: Context
): readonly [State, ReadonlyArray<Output>] => {
  const losses = message === undefined ? 0 : attempt.losses + 1
  const lost = {
    ...withAttempt(self, address, { ...attempt, losses }),
    connected: undefined,
    started: 0,
    nextAt: never
  }
  if (message === undefined || losses < 2) {
    const [said, states] = say(lost, "IDLE")
    return [said, [{ _tag: "Disconnect", address }, ...states, { _tag: "ReResolve" }]]
  }
  const retryAt = context.now + Backoff.after(losses - 1, Draws.at(context.draw, 0))
  const failed: State = {
    ...withAttempt(lost, address, { ...attempt, state: "Failed", losses, retryAt }),
    message: `connection to ${address} was lost: ${message}`
  }
  const [begun, states] = begin(failed, context)
  return [begun, [{ _tag: "Disconnect", address }, ...states, { _tag: "ReResolve" }]]
}

const onConnection = (
  self: State,
  { address, isHeld = false, message, state }: Input<never> & { readonly _tag: "Connection" },
  context: Context
): readonly [State, ReadonlyArray<Output>] => {
  const attempt = self.attempts.get(address)
  if (attempt === undefined) return [self, nothing]
  if (state === "READY") {
    // The others are closed.
    const outputs: Array<Output> = []
    const attempts = new Map<Address, Attempt>()
    for (const [other, each] of self.attempts) {
      const isWanted = each.state === "Connecting" || each.state === "Held" || other === self.connected
      if (other !== address && isWanted) {
        outputs.push({ _tag: "Disconnect", address: other })
      }
      attempts.set(other, { ...each, state: "Idle", failures: 0, retryAt: 0 })
    }
    const next: State = { ...self, attempts, connected: address, nextAt: never, started: 0, failures: 0 }
    const [said, states] = say(next, "READY")
    return [said, [...outputs, ...states]]
  }
  if (self.connected === address) {
    return onLost(self, address, attempt, state === "TRANSIENT_FAILURE" ? message : undefined, context)
  }
  if (state === "CONNECTING" && attempt.state === "Held") {
    return [withAttempt(self, address, { ...attempt, state: "Connecting" }), nothing]
  }
  if (state !== "TRANSIENT_FAILURE" || attempt.state !== "Connecting") return [self, nothing]
  if (isHeld) {
    const held = {
      ...withAttempt(self, address, { ...attempt, state: "Held" }),
      message: `no connection to ${address}: ${message}`
    }
    const [advanced, connects] = advance(held, context)
    return concluded(advanced, connects)
  }
  const failures = attempt.failures + 1
  const retryAt = context.now + Backoff.after(failures, Draws.at(context.draw, 0))
  const failed: State = {
    ...withAttempt(self, address, { ...attempt, state: "Failed", failures, retryAt }),
    message: `connection to ${address} failed: ${message}`,
    failures: self.failures + 1
  }
  const outputs: Array<Output> = [{ _tag: "Disconnect", address }]
  const resolves = failed.failures >= failed.attempts.size
  if (resolves) outputs.push({ _tag: "ReResolve" })
  const counted: State = resolves ? { ...failed, failures: 0 } : failed
  const [advanced, connects] = advance(counted, context)
  return concluded(advanced, [...outputs, ...connects])
}

/** After a failure each address is tried again when its backoff is over. */
const retries = (self: State, context: Context): readonly [State, ReadonlyArray<Output>] => {
  let next = self
  const outputs: Array<Output> = []
  for (const [address, attempt] of self.attempts) {
    if (attempt.state !== "Failed" || context.now < attempt.retryAt) continue
    next = withAttempt(next, address, { ...attempt, state: "Connecting" })
    outputs.push({ _tag: "Connect", address })
  }
  return [next, outputs]
}

/**
 * The policy.
 *
 * @since 0.1.0
 */
export const policy = define<Config, State>({
  name: "pick_first",
  make: (node) => ({
    node,
    attemptDelay: 250,
    heedsEjection: false,
    attempts: new Map(),
    connected: undefined,
    said: undefined,
    nextAt: never,
    started: 0,
    isPassing: false,
    failures: 0,
    message: ""
  }),
  step: (self, input, context) => {
    switch (input._tag) {
      case "Config":
        return onConfig(self, input.config, input.endpoints, context)
      case "Connection":
        return onConnection(self, input, context)
      case "ExitIdle":
        return self.said === "IDLE" ? begin(self, context) : [self, nothing]
      case "Deadline": {
        const [next, connects] = self.said === "TRANSIENT_FAILURE" ? retries(self, context) : [self, nothing]
        if (context.now < next.nextAt) return [next, connects]
        const [advanced, more] = advance(next, context)
        return [advanced, [...connects, ...more]]
      }
      case "Configured":
      case "ChildState":
      case "Outcomes":
      case "Sessions":
        return [self, nothing]
    }
  },
  deadline: ({ attempts, nextAt, said }) => {
    if (said !== "TRANSIENT_FAILURE") return nextAt
    // ★ A list that came after the failure may not be gone through yet.
    let least = nextAt
    for (const { retryAt, state } of attempts.values()) if (state === "Failed") least = Math.min(least, retryAt)
    return least
  }
})
