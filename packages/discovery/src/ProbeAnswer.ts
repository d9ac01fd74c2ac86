/**
 * What the answer to a probe means. Pure: who asked has read it from a socket.
 *
 * @see https://www.envoyproxy.io/docs/envoy/latest/configuration/http/http_filters/health_check_filter
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 * @since 0.1.0
 */
import { fromBinary } from "@bufbuild/protobuf"
import * as LengthPrefix from "@effect-xds/core/wire/LengthPrefix"
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
  if (!isReceived) return { _tag: "Immediate", isExcluded, closes, why: "what receive wants is not in the body" }
  // ★ What is expected goes before what may be tried again. The header that excludes means nothing where all is well.
  if (!isIn(probe.expected, status)) {
    const why = `status ${status}`
    return isIn(probe.retriable, status)
      ? { _tag: "Retriable", closes, why }
      : { _tag: "Immediate", isExcluded, closes, why }
  }
  const name = header("x-envoy-upstream-healthchecked-cluster") ?? ""
  const isVerified = probe.serviceName === undefined ? undefined : true
  if (probe.serviceName !== undefined && !StringMatchers.matches(probe.serviceName, name)) {
    const why =
      "x-envoy-upstream-healthchecked-cluster is " +
      (name === "" ? "missing" : "not the service that service_name_matcher wants")
    return { _tag: "Immediate", closes, isVerified, why }
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

/** ★ One message, not compressed: anything else is no answer to a unary call. `undefined`: it is none. */
const statusOf = (body: Uint8Array): ServingStatus | undefined => {
  const message = LengthPrefix.only(body)
  if (message === undefined) return undefined
  try {
    return fromBinary(HealthCheckResponseSchema, message).status
  } catch {
    return undefined
  }
}

/** Why it is no answer that says SERVING, in words; `undefined`: it is one. */
const refusalOf = ({ body, grpcStatus, ...beginning }: Omit<GrpcAnswer, "closes">): string | undefined => {
  if (!isGrpc(beginning)) return `the answer is not one of gRPC: status ${beginning.status} of HTTP`
  // ★ It is said by a stranger: no more of it than a number is told.
  if (grpcStatus !== "0")
    return /^\d{1,3}$/.test(grpcStatus ?? "") ? `grpc-status ${grpcStatus}` : "there is no grpc-status"
  const status = statusOf(body)
  if (status === undefined) return "the answer is not one HealthCheckResponse"
  // One that is newer than we are has no name.
  const names: Readonly<Record<number, string | undefined>> = ServingStatus
  return status === ServingStatus.SERVING ? undefined : `the service is ${names[status] ?? status}`
}

/**
 * What the answer to `grpc.health.v1.Health/Check` means.
 *
 * @since 0.1.0
 */
export const ofGrpc = ({ closes, ...answer }: GrpcAnswer): Result => {
  const why = refusalOf(answer)
  return why === undefined ? { _tag: "Success", closes } : { _tag: "Immediate", closes, why }
}
