/**
 * The faults of a simulated network, as plain values: a plan of faults can be drawn at random, printed and shrunk. Times are
 * milliseconds; every fault ends.
 *
 * @since 0.1.0
 */

/**
 * A fault of the network.
 *
 * @since 0.1.0
 */
export type NetworkFault =
  /** Messages from and to a client are slower by a random time, so that those of different streams overtake one another. */
  | {
      readonly _tag: "Slow"
      readonly client: string
      readonly latency: number
      readonly jitter: number
      readonly for: number
    }
  /** The connections of a client to a server break. `before`: messages on their way are lost; `after`: they arrive first. */
  | {
      readonly _tag: "Reset"
      readonly client: string
      readonly server: string
      readonly delivery: "before" | "after"
    }
  /** One side loses the connection. The other side notices only by keepalive. */
  | {
      readonly _tag: "HalfOpen"
      readonly client: string
      readonly server: string
      /** The side that still believes in the connection. */
      readonly believes: "client" | "server"
    }
  /** A client does not read, so the server gets no credit. */
  | { readonly _tag: "SlowReader"; readonly client: string; readonly for: number }
  /** Nothing gets through between clients and a server. Messages on their way arrive afterwards, if both sides wait so long. */
  | {
      readonly _tag: "Partition"
      readonly clients: ReadonlyArray<string>
      readonly server: string
      readonly for: number
    }

/**
 * A fault of the network or of a machine.
 *
 * @since 0.1.0
 */
export type Fault =
  | NetworkFault
  /** A server dies and restarts. `lost`: its store is empty then, until its publisher fills it. */
  | { readonly _tag: "Crash"; readonly server: string; readonly state: "kept" | "lost"; readonly for: number }
  /** A client dies with all that it holds, and restarts with the same watches. */
  | { readonly _tag: "ClientCrash"; readonly client: string; readonly for: number }
  /** The clock of a client or server jumps forward, or (only the wall clock) backward. */
  | { readonly _tag: "ClockJump"; readonly host: string; readonly by: number }

/**
 * A fault and its time.
 *
 * @since 0.1.0
 */
export type PlannedFault = Fault & {
  /** Milliseconds from the start. */
  readonly at: number
}

/**
 * How long a fault lasts, in milliseconds.
 *
 * @since 0.1.0
 */
export const duration = (fault: Fault): number => ("for" in fault ? fault.for : 0)

/**
 * The clients and servers that a fault names.
 *
 * @since 0.1.0
 */
export const hosts = (
  fault: Fault
): { readonly clients: ReadonlyArray<string>; readonly servers: ReadonlyArray<string> } => {
  switch (fault._tag) {
    case "Slow":
    case "SlowReader":
    case "ClientCrash":
      return { clients: [fault.client], servers: [] }
    case "Reset":
    case "HalfOpen":
      return { clients: [fault.client], servers: [fault.server] }
    case "Partition":
      return { clients: fault.clients, servers: [fault.server] }
    case "Crash":
      return { clients: [], servers: [fault.server] }
    case "ClockJump":
      return { clients: [], servers: [] }
  }
}

const seconds = (milliseconds: number): string => `${milliseconds / 1000} s`

/**
 * A fault in words.
 *
 * @since 0.1.0
 */
export const format = (fault: Fault): string => {
  switch (fault._tag) {
    case "Slow":
      return `messages of ${fault.client} take ${fault.latency} to ${fault.latency + fault.jitter} ms for ${seconds(fault.for)}`
    case "Reset":
      return `${fault.client} and ${fault.server} lose their connection, ${
        fault.delivery === "before" ? "and what is on its way" : "after what is on its way arrived"
      }`
    case "HalfOpen":
      return `${fault.client} and ${fault.server} lose their connection, and only the ${
        fault.believes === "client" ? "server" : "client"
      } hears of it`
    case "SlowReader":
      return `${fault.client} does not read for ${seconds(fault.for)}`
    case "Partition":
      return `nothing gets through between ${fault.clients.join(", ")} and ${fault.server} for ${seconds(fault.for)}`
    case "Crash":
      return `${fault.server} dies for ${seconds(fault.for)}, and its state is ${fault.state}`
    case "ClientCrash":
      return `${fault.client} dies for ${seconds(fault.for)}, and what it held is lost`
    case "ClockJump":
      return `the clock of ${fault.host} jumps by ${seconds(fault.by)}`
  }
}
