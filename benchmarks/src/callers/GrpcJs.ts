/** A unary call of grpc-js with the messages of protobuf-es, as the other clients have them. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { HealthCheckRequestSchema, HealthCheckResponseSchema } from "@effect-xds/proto/grpc/health/v1/health"
import * as Grpc from "@grpc/grpc-js"
import type { Call } from "./Caller.js"

export const calling = (target: string): Call => {
  const client = new Grpc.Client(target, Grpc.credentials.createInsecure())
  const request = create(HealthCheckRequestSchema, {})
  return () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(
        "/grpc.health.v1.Health/Check",
        (message: typeof request) => Buffer.from(toBinary(HealthCheckRequestSchema, message)),
        (bytes) => fromBinary(HealthCheckResponseSchema, bytes),
        request,
        (error, answer) => (error === null ? resolve(answer) : reject(error))
      )
    })
}
