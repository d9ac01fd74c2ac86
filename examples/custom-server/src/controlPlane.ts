/**
 * A control plane of one's own: the protocol is the core's step function, everything around it is plain Node. Here the
 * transport is `@grpc/grpc-js`; any other that moves bytes would do.
 */
import { Request, type Resource, ResourceGroup, Response, ServerStream } from "@effect-xds/core"
import { ResourceType } from "@effect-xds/proto"
import * as grpc from "@grpc/grpc-js"
import { Either } from "effect"

type Decoded = ReturnType<typeof Request.decode>
type Call = grpc.ServerDuplexStream<Decoded, Uint8Array>

export class ControlPlane {
  private group: ResourceGroup.ResourceGroup = ResourceGroup.empty
  private readonly streams = new Set<(input: ServerStream.Input) => void>()
  private readonly server = new grpc.Server()

  constructor(private readonly log: (line: string) => void) {
    const { delta, service, stream } = ResourceType.aggregated
    this.server.addService(
      { sotw: method(service, stream, "StateOfTheWorld"), delta: method(service, delta, "Incremental") },
      {
        sotw: (call: Call) => this.serve("StateOfTheWorld", call),
        delta: (call: Call) => this.serve("Incremental", call)
      }
    )
  }

  /** Puts resources in and takes others out; every stream is sent what it must have. */
  update(upsert: Iterable<Resource.Resource>, remove: Iterable<ResourceGroup.ResourceKey> = []): void {
    this.group = Either.getOrThrow(ResourceGroup.update(this.group, { upsert, remove }))
    for (const dispatch of this.streams) dispatch({ _tag: "Changed", group: this.group })
  }

  /** Listens on 127.0.0.1; gives the port. */
  listen(port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      this.server.bindAsync(`127.0.0.1:${port}`, grpc.ServerCredentials.createInsecure(), (error, bound) => {
        if (error === null) resolve(bound)
        else reject(error)
      })
    })
  }

  close(): void {
    this.server.forceShutdown()
  }

  /** One stream: inputs go into the step function, outputs are done, and one timer waits for the deadline. */
  private serve(protocol: Request.Protocol, call: Call): void {
    let state = ServerStream.make({ protocol, typeUrl: undefined })
    let timer: NodeJS.Timeout | undefined

    const dispatch = (input: ServerStream.Input): void => {
      const [next, outputs] = ServerStream.step(state, input, performance.now())
      state = next
      clearTimeout(timer)
      const wait = ServerStream.deadline(state) - performance.now()
      if (wait < Infinity) timer = setTimeout(dispatch, Math.max(0, wait), { _tag: "Deadline" })
      for (const output of outputs) act(output)
    }
    const act = (output: ServerStream.Output): void => {
      switch (output._tag) {
        case "Send":
          // A full buffer takes the credit away until it drains: nothing piles up behind a slow client.
          if (call.write(Response.encode(output.response, output.nonce))) dispatch({ _tag: "Writable" })
          else call.once("drain", () => dispatch({ _tag: "Writable" }))
          break
        case "Nacked":
          this.log(`rejected ${output.typeUrl} ${output.version}: ${output.error.message}`)
          break
        case "Violation":
          fail(output.message)
          break
        default:
          // Subscribed, Acked, Ignored, Waiting: for who wants to know.
          break
      }
    }
    const fail = (details: string): void => {
      end()
      call.emit("error", { code: grpc.status.INVALID_ARGUMENT, details })
    }
    const end = (): void => {
      clearTimeout(timer)
      this.streams.delete(dispatch)
    }

    this.streams.add(dispatch)
    call.on("data", (request: Decoded) =>
      Either.match(request, {
        onLeft: (malformed) => fail(malformed.message),
        onRight: (request) => dispatch({ _tag: "Request", request })
      })
    )
    call.on("cancelled", end)
    call.on("end", () => {
      end()
      call.end()
    })
    dispatch({ _tag: "Changed", group: this.group })
    dispatch({ _tag: "Writable" })
  }
}

const method = (
  service: string,
  name: string,
  protocol: Request.Protocol
): grpc.MethodDefinition<Decoded, Uint8Array> => ({
  path: `/${service}/${name}`,
  requestStream: true,
  responseStream: true,
  requestDeserialize: (bytes) => Request.decode(protocol, bytes),
  requestSerialize: () => Buffer.alloc(0),
  responseSerialize: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  responseDeserialize: (bytes) => bytes
})
