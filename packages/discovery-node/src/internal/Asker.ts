/** What asks one target over sockets, in callbacks: thousands of them run at once. */
import type { Result } from "@effect-xds/discovery/HealthCheck"
import * as Net from "node:net"

export interface Asker {
  /** Begins a probe; `done` is called once. What comes back aborts it, and then `done` is not called. Neither throws. */
  readonly ask: (isFresh: boolean, done: (result: Result) => void) => () => void
  readonly close: () => void
}

export const connect = (endpoint: Net.NetConnectOpts): Net.Socket => {
  const socket = Net.connect(endpoint)
  socket.setNoDelay(true)
  return socket
}

/** A text as Node takes it for headers: each byte of UTF-8 as a character. */
export const headerText = (text: string): string => Buffer.from(text, "utf8").toString("latin1")

/** There is no answer; why, in words. */
export const network = (why: string): Result => ({ _tag: "Network", why })

/** The host's name has what no header can hold. */
export const unwritable = network(
  "the question cannot be written: a name or a header has a character that it cannot have"
)

/** Why a connection is gone, where there is no error. */
export const hasEnded = "the host closed the connection"
export const isClosed = "the connection was closed"
