import { fromJson, type JsonObject, toBinary } from "@bufbuild/protobuf"
import { ClusterLoadAssignmentSchema } from "@effect-xds/proto/envoy/config/endpoint/v3/endpoint"
import { expect, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as ClusterResource from "../src/internal/ClusterResource.js"

it.each(["grpc", "envoy"] as const)(
  "an assignment that goes stale is told again when it comes again: %s",
  (profile) => {
    const { decode, tellsAgain } = ClusterResource.assignments(profile)
    const isToldAgain = (policy: JsonObject) => {
      const message = fromJson(ClusterLoadAssignmentSchema, { clusterName: "c", policy })
      return tellsAgain(Either.getOrThrow(decode(toBinary(ClusterLoadAssignmentSchema, message))))
    }
    expect([isToldAgain({}), isToldAgain({ endpointStaleAfter: "10s" })]).toEqual([false, true])
  }
)
