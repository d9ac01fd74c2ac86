/** The services that an application adds, on Connect's router. Their calls count like those of xDS. */
import type { DescService } from "@bufbuild/protobuf"
import type { ConnectRouter, Interceptor } from "@connectrpc/connect"
import { createConnectRouter } from "@connectrpc/connect"
import { compressionGzip } from "@connectrpc/connect-node"
import type { UniversalHandler } from "@connectrpc/connect/protocol"
import * as Given from "@effect-xds/transport/Given"
import * as BuiltInCall from "../grpc/BuiltInCall.js"
import * as BuiltInServices from "../grpc/BuiltInServices.js"
import * as MethodTable from "../grpc/MethodTable.js"
import * as CallContext from "./CallContext.js"
import type { Shared } from "./GrpcStream.js"

export interface FurtherServices {
  readonly services: ReadonlyArray<DescService>
  /** Whether the method with this path is unary; `undefined` if it belongs to none of these services. */
  readonly isUnary: (path: string) => boolean | undefined
  /** Handlers by path. */
  readonly handlers: ReadonlyMap<string, UniversalHandler>
}

/** Calls are admitted, counted and ended like those of xDS. */
const counted =
  (shared: Shared): Interceptor =>
  (next) =>
  async (request) => {
    const call = BuiltInCall.open(shared, CallContext.callOf(request.contextValues), request.signal)
    try {
      const response = await next(request)
      if (!response.stream) {
        call.close()
        return response
      }
      return { ...response, message: BuiltInCall.closing(response.message, call) }
    } catch (cause) {
      call.close()
      throw call.shutdown() ?? cause
    }
  }

const none: FurtherServices = { services: [], isUnary: () => undefined, handlers: new Map() }

/** Throws what `add` throws, and for a service that is already served. */
export const make = (shared: Shared, add: ((router: ConnectRouter) => void) | undefined): FurtherServices => {
  if (add === undefined) return none
  const router = createConnectRouter({
    readMaxBytes: Math.min(shared.maxRequestBytes, shared.maxWholeRequestBytes),
    acceptCompression: [compressionGzip],
    interceptors: [counted(shared)]
  })
  const given: unknown = Reflect.apply(add, undefined, [router])
  // What it would add later is served by nobody.
  if (given instanceof Promise)
    throw new TypeError(`\`services\` gave ${Given.kindOf(given)}; services are added before it returns`)
  const handlers = new Map(router.handlers.map((handler) => [handler.requestPath, handler]))
  for (const path of handlers.keys()) {
    if (MethodTable.find(path) !== undefined || BuiltInServices.isUnary(path, shared.reflection) !== undefined) {
      throw new Error(`${path} is served by the transport itself; leave its service out of \`services\``)
    }
  }
  return {
    services: [...new Set(Array.from(handlers.values(), ({ service }) => service))],
    isUnary: (path) => {
      const handler = handlers.get(path)
      return handler && handler.method.methodKind === "unary"
    },
    handlers
  }
}
