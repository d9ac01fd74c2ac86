import { create, toBinary } from "@bufbuild/protobuf"
import * as Request from "@effect-xds/core/wire/Request"
import { ResourceType } from "@effect-xds/proto"
import { NodeSchema } from "@effect-xds/proto/envoy/config/core/v3/base"
import { SnapshotStore, XdsServer } from "@effect-xds/server"
import { MemoryClient, MemoryTransport } from "@effect-xds/testing"
import { Status } from "@effect-xds/transport"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger } from "effect"
import * as Admission from "../src/internal/Admission.js"

const refusal = new XdsServer.Refusal({ code: "UNAUTHENTICATED", reason: "who is it?" })

describe("a refusal", () => {
  it("is that of a client that may not, unless it says another status", () => {
    expect(new XdsServer.Refusal({ reason: "no" }).code).toBe("PERMISSION_DENIED")
    expect(refusal.message).toBe("UNAUTHENTICATED: who is it?")
  })

  it("is plain data: it goes over JSON and back", () => {
    const encoded = JSON.stringify(refusal)
    expect(JSON.parse(encoded)).toEqual({ _tag: "Refusal", code: "UNAUTHENTICATED", reason: "who is it?" })
    const { code, reason } = refusal
    expect(new XdsServer.Refusal({ code, reason })).toEqual(refusal)
  })

  it("has the status of an error: else it is a mistake of the function that gave it", () => {
    for (const code of ["OK", "toString", "", 7]) {
      const given = new XdsServer.Refusal({ reason: "" })
      Object.defineProperty(given, "code", { value: code })
      const denial = Admission.refusal(given, "group")
      expect(denial._tag === "Failed" ? `${denial.what}: ${String(denial.cause)}` : denial._tag).toBe(
        `group: TypeError: it gave a Refusal whose code is ${JSON.stringify(code)}, not that of a gRPC status that is an error`
      )
    }
  })

  it.scopedLive("is what `group` may give at once", () =>
    Effect.gen(function* () {
      const client = yield* MemoryClient.open()
      const node = toBinary(NodeSchema, create(NodeSchema, { id: "n" }))
      client.send(Request.incremental({ typeUrl: ResourceType.Cluster.typeUrl, node }))
      expect(yield* client.ended).toEqual(Status.make("UNAUTHENTICATED", "who is it?"))
    }).pipe(
      Effect.provide(
        XdsServer.layer({ group: () => refusal }).pipe(
          Layer.provideMerge(Layer.merge(SnapshotStore.layerMemory(), MemoryTransport.layer)),
          Layer.provide(Logger.remove(Logger.defaultLogger))
        )
      )
    )
  )
})
