/**
 * What the answer to a probe means. Pure: who asked has read it from a socket.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/health_check_filter
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import {
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema
} from "@effect-xds/proto/grpc/health/v1/health"
import type { Result } from "./HealthCheck.js"
import type { Http, StatusRange } from "./Probe.js"
import * as StringMatchers from "./StringMatcher.js"

/**
 * The answer to a request over HTTP, which is whole.
 *
 * @since 0.1.0
 */
export interface HttpAnswer {
  readonly status: number
  /** The value of a header, by its name in lower case; `undefined` if it is absent. */
  readonly header: (name: string) => string | undefined
  /** Whether all of `receive` is in the body. */
  readonly isReceived: boolean
  /** The connection is not to be used again. */
  readonly closes: boolean
}

const isIn = (ranges: ReadonlyArray<StatusRange>, status: number): boolean =>
  ranges.some(({ end, start }) => start <= status && status < end)

/**
 * What an answer over HTTP means.
 *
 * @since 0.1.0
 */
export const ofHttp = (probe: Http, { closes, header, isReceived, status }: HttpAnswer): Result => {
  const isExcluded = header("x-envoy-immediate-health-check-fail") !== undefined
  // ★ The body before the status: with a status that may be tried again, the wrong body is believed at once.
  if (!isReceived) return { _tag: "Immediate", isExcluded, closes }
  // ★ What is expected goes before what may be tried again. The header that excludes means nothing where all is well.
  if (!isIn(probe.expected, status)) {
    return isIn(probe.retriable, status) ? { _tag: "Retriable", closes } : { _tag: "Immediate", isExcluded, closes }
  }
  const name = header("x-envoy-upstream-healthchecked-cluster") ?? ""
  const isVerified = probe.serviceName === undefined ? undefined : true
  if (probe.serviceName !== undefined && !StringMatchers.matches(probe.serviceName, name)) {
    return { _tag: "Immediate", closes, isVerified }
  }
  return { _tag: "Success", isDegraded: header("x-envoy-degraded") !== undefined, closes, isVerified }
}

/**
 * How the answer to a call begins.
 *
 * @since 0.1.0
 */
export interface GrpcBeginning {
  /** That of HTTP. */
  readonly status: number
  readonly contentType: string | undefined
}

/**
 * Whether an answer begins as gRPC does. If not, it means {@link Result | Immediate}, and its end is not waited for.
 *
 * @since 0.1.0
 */
export const isGrpc = ({ contentType, status }: GrpcBeginning): boolean =>
  status === 200 && contentType !== undefined && /^application\/grpc(?:[+;]|$)/i.test(contentType)

/**
 * The answer to a call, which is whole.
 *
 * @since 0.1.0
 */
export interface GrpcAnswer extends GrpcBeginning {
  /** `grpc-status` of the trailers, or of the headers if there is nothing else; `undefined` if it is absent. */
  readonly grpcStatus: string | undefined
  readonly body: Uint8Array
  readonly closes: boolean
}

/** ★ One message, not compressed: anything else is no answer to a unary call. */
const isServing = (body: Uint8Array): boolean => {
  if (body.length < 5 || body[0] !== 0) return false
  const length = new DataView(body.buffer, body.byteOffset).getUint32(1)
  if (body.length !== 5 + length) return false
  try {
    return fromBinary(HealthCheckResponseSchema, body.subarray(5)).status === ServingStatus.SERVING
  } catch {
    return false
  }
}

/**
 * What the answer to `grpc.health.v1.Health/Check` means.
 *
 * @since 0.1.0
 */
export const ofGrpc = ({ body, closes, grpcStatus, ...beginning }: GrpcAnswer): Result => ({
  _tag: isGrpc(beginning) && grpcStatus === "0" && isServing(body) ? "Success" : "Immediate",
  closes
})
