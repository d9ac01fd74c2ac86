/**
 * gRPC's standard services, which tools and load balancers expect of every server: health checking and reflection.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 * @see https://github.com/grpc/grpc/blob/master/doc/server-reflection.md
 */
import type { DescService } from "@bufbuild/protobuf"
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect"
import { Status } from "@effect-xds/transport"
import type { BuiltInCall } from "./BuiltInCall.js"
import { aborted, until } from "./BuiltInCall.js"
import { toError } from "../server/ConnectStream.js"
import * as Reflection from "./Reflection.js"

const health: ReadonlyMap<string, boolean> = new Map([
  ["/grpc.health.v1.Health/Check", true],
  ["/grpc.health.v1.Health/Watch", false]
])

const reflection: ReadonlySet<string> = new Set([
  "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
  "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"
])

/** Whether the method with this path is unary; `undefined` if it belongs to none of these services. */
export const isUnary = (path: string, hasReflection: boolean): boolean | undefined =>
  health.get(path) ?? (hasReflection && reflection.has(path) ? false : undefined)

/** `others`: the other services, for reflection and health. `open` begins a call, and throws if there is no room. */
export const add = async (
  router: ConnectRouter,
  others: ReadonlyArray<DescService>,
  hasReflection: boolean,
  open: (context: HandlerContext) => BuiltInCall
): Promise<void> => {
  const [{ Health, HealthCheckResponse_ServingStatus: ServingStatus }, v1, v1alpha] = await Promise.all([
    import("@effect-xds/proto/grpc/health/v1/health"),
    import("@effect-xds/proto/grpc/reflection/v1/reflection"),
    import("@effect-xds/proto/grpc/reflection/v1alpha/reflection")
  ])
  const services = [...others, Health, ...(hasReflection ? [v1.ServerReflection, v1alpha.ServerReflection] : [])]
  const names = new Set(["", ...services.map(({ typeName }) => typeName)])

  router.service(Health, {
    check: ({ service }, context) => {
      const call = open(context)
      call.close()
      if (names.has(service)) return { status: ServingStatus.SERVING }
      throw toError(Status.make("NOT_FOUND", `this server has no service ${service}`))
    },
    async *watch({ service }, context) {
      const call = open(context)
      try {
        const isKnown = names.has(service)
        yield { status: isKnown ? ServingStatus.SERVING : ServingStatus.SERVICE_UNKNOWN }
        await aborted(call.signal)
        const error = call.shutdown()
        if (error === undefined) return
        if (isKnown) yield { status: ServingStatus.NOT_SERVING }
        throw error
      } finally {
        call.close()
      }
    }
  })

  if (!hasReflection) return
  const index = new Reflection.Index(services)
  async function* answer<Request extends Reflection.Request>(
    requests: AsyncIterable<Request>,
    context: HandlerContext
  ) {
    const call = open(context)
    try {
      const stream = index.stream()
      for await (const request of until(requests, call)) {
        const messageResponse = await stream(request.messageRequest)
        yield { validHost: request.host, originalRequest: request, messageResponse }
      }
    } finally {
      call.close()
    }
  }
  router.service(v1.ServerReflection, { serverReflectionInfo: (requests, context) => answer(requests, context) })
  router.service(v1alpha.ServerReflection, { serverReflectionInfo: (requests, context) => answer(requests, context) })
}
