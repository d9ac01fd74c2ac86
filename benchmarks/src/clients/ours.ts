/**
 * Our client without a connection: its reducer, driven as `XdsClient` drives it, from the bytes of a response to the
 * bytes of the ACK.
 */
import { WatchableType } from "@effect-xds/client"
import * as Client from "@effect-xds/core/client/Client"
import * as ClientRequest from "@effect-xds/core/wire/ClientRequest"
import * as ClientResponse from "@effect-xds/core/wire/ClientResponse"
import type { Protocol } from "@effect-xds/core/wire/Request"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as Either from "effect/Either"
import { performance } from "node:perf_hooks"
import * as Responses from "./Responses.js"

const clusters = WatchableType.fromSchema(ClusterSchema)

Responses.serve(({ incremental, typeUrl }) => {
  const protocol: Protocol = incremental ? "Incremental" : "StateOfTheWorld"
  let state = Client.make({ servers: [{ id: "bench", protocol }], decoders: [clusters.decoder] })
  const inputs: Array<Client.Input> = []
  let stream = ""
  let notified: Array<Client.Output & { readonly _tag: "Notify" }> = []
  let acks = 0
  const encoder = new ClientRequest.Encoder()

  const handle = (output: Client.Output): void => {
    switch (output._tag) {
      case "Connect":
        stream = output.stream
        inputs.push({ _tag: "Connected", stream })
        return
      case "Send":
        if (output.request.responseNonce !== "" && output.request.errorDetail === undefined) acks++
        encoder.encode(output.request)
        inputs.push({ _tag: "Written", stream })
        return
      case "Notify":
        notified.push(output)
        return
      case "Received":
        inputs.push({ _tag: "Processed", stream, typeUrl: output.typeUrl, nonce: output.nonce })
        return
      default:
        throw new Error(`the client says ${JSON.stringify(output)}`)
    }
  }
  const run = (first: Client.Input): void => {
    inputs.push(first)
    for (let input = inputs.shift(); input !== undefined; input = inputs.shift()) {
      const [next, outputs] = Client.step(state, input, performance.now())
      state = next
      for (const output of outputs) handle(output)
    }
  }
  run({ _tag: "Watch", watcher: 1, typeUrl, name: "*" })

  return {
    receive: (bytes) => {
      notified = []
      acks = 0
      run({ _tag: "Response", stream, response: Either.getOrThrow(ClientResponse.decode(protocol, bytes)) })
    },
    check: (changed) => {
      if (acks !== 1) throw new Error(`${acks} ACKs to one response`)
      if (notified.length !== changed.length) {
        throw new Error(`the watcher was told ${notified.length} times, of ${changed.length} changes`)
      }
      changed.forEach(({ mark, name }, index) => {
        const notice = notified[index]
        const value = notice?.result._tag === "Updated" ? clusters.open(notice.result.value)?.value : undefined
        if (notice?.name !== name || value?.altStatName !== mark) {
          throw new Error(`the watcher was not told of ${mark} of ${name}`)
        }
      })
    }
  }
})
