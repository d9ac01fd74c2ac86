/** Probes over TCP. */
import type { Result } from "@effect-xds/discovery/HealthCheck"
import * as Payload from "@effect-xds/discovery/Payload"
import type { Tcp } from "@effect-xds/discovery/Probe"
import type * as Net from "node:net"
import * as SocketAddress from "../SocketAddress.js"
import { type Asker, connect, hasEnded, isClosed, network } from "./Asker.js"

export const make = (address: string, { receive, send }: Tcp, reuseConnection: boolean): Asker => {
  const endpoint = SocketAddress.make(address)
  let socket: Net.Socket | undefined
  let running: { payload: Payload.Payload; readonly done: (result: Result) => void } | undefined

  const close = (): void => {
    running = undefined
    socket?.destroy()
    socket = undefined
  }

  const finish = (result: Result): void => {
    const ended = running
    running = undefined
    // ★ Where a connection is all that is wanted, it is for one probe.
    if (result._tag === "Network" || !reuseConnection || receive.length === 0) close()
    ended?.done(result)
  }

  const open = (): Net.Socket => {
    const opened = connect(endpoint)
    const lost = (why: string): void => {
      if (socket === opened) finish(network(why))
    }
    opened.once("connect", () => {
      if (socket === opened && receive.length === 0) finish({ _tag: "Success", closes: true })
    })
    opened.on("data", (bytes) => {
      // What comes when nobody has asked is not for the next probe.
      if (socket !== opened || running === undefined) return
      running.payload = Payload.push(running.payload, bytes)
      if (Payload.isFound(running.payload)) finish({ _tag: "Success", closes: !reuseConnection })
    })
    opened.on("error", (error) => lost(error.message))
    opened.on("end", () => lost(hasEnded))
    opened.on("close", () => lost(isClosed))
    return opened
  }

  return {
    ask: (isFresh, done) => {
      if (isFresh || socket === undefined) {
        close()
        socket = open()
      }
      running = { payload: Payload.make(receive), done }
      if (send.length > 0) socket.write(send)
      return close
    },
    close
  }
}
