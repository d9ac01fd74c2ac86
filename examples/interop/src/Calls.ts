/** Calls without an end: each channel makes so many of each method a second, as it is configured. */
import type { CallOptions, Transport } from "@connectrpc/connect"
import { ConnectError, createClient } from "@connectrpc/connect"
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import { performance } from "node:perf_hooks"
import type { Statistics } from "./Statistics.js"
import type { Method } from "./Testing.js"
import { TestService } from "./Testing.js"

export interface Metadata {
  readonly method: Method
  readonly key: string
  readonly value: string
}

/** What calls are like. */
export interface Configuration {
  readonly methods: ReadonlyArray<Method>
  readonly metadata: ReadonlyArray<Metadata>
  readonly timeoutMillis: number
}

export interface Options {
  readonly channels: ReadonlyArray<Transport>
  /** Calls of each method that a channel makes in a second. */
  readonly qps: number
  /** Asked before each call. */
  readonly configuration: () => Configuration
  readonly statistics: Statistics
  /** The status of a call that succeeded. */
  readonly expectedStatus: number
  readonly requestSize: number
  readonly responseSize: number
  /** Told how each call ended. */
  readonly onEnd: (method: Method, outcome: Outcome) => void
}

export interface Outcome {
  readonly status: number
  readonly isSuccess: boolean
  readonly hostname: string
  /** Why it failed. */
  readonly reason: string
}

/** Milliseconds between two looks at whether calls are due. */
const every = 2

/** Makes calls until the scope closes. A client that was held up makes up for a tenth of a second at most. */
export const make = (options: Options): Effect.Effect<void, never, Scope.Scope> => {
  const { channels, configuration, expectedStatus, onEnd, qps, requestSize, responseSize, statistics } = options
  const clients = channels.map((channel) => createClient(TestService, channel))
  const request = {
    fillServerId: true,
    responseSize,
    ...(requestSize === 0 ? {} : { payload: { body: new Uint8Array(requestSize) } })
  }
  const call = async (client: (typeof clients)[number], method: Method): Promise<void> => {
    const { metadata, timeoutMillis } = configuration()
    const headers = new Headers()
    for (const each of metadata) if (each.method === method) headers.append(each.key, each.value)
    let hostname = ""
    let header = new Headers()
    let trailer = new Headers()
    const callOptions: CallOptions = {
      headers,
      timeoutMs: timeoutMillis,
      onHeader: (answered) => {
        header = answered
        hostname = answered.get("hostname") ?? ""
      },
      onTrailer: (answered) => {
        trailer = answered
      }
    }
    const end = statistics.begin(method)
    let status = 0
    let reason = ""
    try {
      if (method === "EmptyCall") await client.emptyCall({}, callOptions)
      else {
        const response = await client.unaryCall(request, callOptions)
        // A server that sends no header says it there.
        if (hostname === "") ({ hostname } = response)
      }
    } catch (cause) {
      const error = ConnectError.from(cause)
      status = error.code
      reason = error.rawMessage
    }
    const isSuccess = status === expectedStatus
    end({ status, isSuccess, hostname, header, trailer })
    onEnd(method, { status, isSuccess, hostname, reason })
  }
  const begin = performance.now()
  const rate = (qps * clients.length) / 1_000
  let made = 0
  const makeThoseDue = (): void => {
    const due = Math.floor((performance.now() - begin) * rate)
    made = Math.max(made, due - Math.ceil(rate * 100))
    for (; made < due; made++) {
      const client = clients[made % clients.length]
      if (client !== undefined) for (const method of configuration().methods) void call(client, method)
    }
  }
  return Effect.acquireRelease(
    Effect.sync(() => setInterval(makeThoseDue, every)),
    (timer) => Effect.sync(() => clearInterval(timer))
  )
}
