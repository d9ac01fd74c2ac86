import { create, createFileRegistry, fromBinary, toBinary } from "@bufbuild/protobuf"
import type { FileDescriptorProto } from "@bufbuild/protobuf/wkt"
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt"
import { ResourceType } from "@effect-xds/proto"
import {
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
  HealthCheckResponseSchema
} from "@effect-xds/proto/grpc/health/v1/health"
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  ServerReflectionResponseSchema
} from "@effect-xds/proto/grpc/reflection/v1/reflection"
import { eventually } from "@effect-xds/testing/Waiting"
import { describe, expect, it } from "@effect/vitest"
import * as Grpc from "@grpc/grpc-js"
import { Effect, Exit, Scope } from "effect"
import * as GrpcClient from "./GrpcClient.js"
import { serve } from "./RecordingServer.js"

const wait = <A>(promise: Promise<A>) => Effect.promise(() => promise)

const check = (client: Grpc.Client, service: string) => {
  const request = Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service })))
  return Effect.tryPromise({
    try: () => GrpcClient.unary(client, "/grpc.health.v1.Health/Check", request),
    catch: (error) => (error instanceof Error ? error.message : String(error))
  }).pipe(Effect.map((bytes) => fromBinary(HealthCheckResponseSchema, bytes).status))
}

const watch = (client: Grpc.Client, service: string) => {
  const call = GrpcClient.open(client, "/grpc.health.v1.Health/Watch")
  call.stream.write(Buffer.from(toBinary(HealthCheckRequestSchema, create(HealthCheckRequestSchema, { service }))))
  call.stream.end()
  return { ...call, statuses: () => call.messages.map((bytes) => fromBinary(HealthCheckResponseSchema, bytes).status) }
}

const reflect = (client: Grpc.Client, version = "v1") => {
  const call = GrpcClient.open(client, `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`)
  return {
    ...call,
    ask: (messageRequest: ServerReflectionRequest["messageRequest"]) =>
      Effect.gen(function* () {
        const before = call.messages.length
        const request = create(ServerReflectionRequestSchema, { host: "h", messageRequest })
        call.stream.write(Buffer.from(toBinary(ServerReflectionRequestSchema, request)))
        yield* eventually(() => expect(call.messages.length).toBe(before + 1))
        const response = fromBinary(ServerReflectionResponseSchema, call.messages[before] ?? new Uint8Array())
        expect(response.validHost).toBe("h")
        expect(response.originalRequest).toEqual(request)
        return response.messageResponse
      })
  }
}

/** The files of an answer. */
const filesOf = (
  answer: Effect.Effect.Success<ReturnType<ReturnType<typeof reflect>["ask"]>>
): ReadonlyArray<FileDescriptorProto> => {
  expect(answer.case).toBe("fileDescriptorResponse")
  if (answer.case !== "fileDescriptorResponse") return []
  return answer.value.fileDescriptorProto.map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes))
}

/** Throws if an import is missing. */
const registryOf = (files: ReadonlyArray<FileDescriptorProto>) => {
  const byName = new Map(files.map((each) => [each.name, each]))
  const sorted = new Set<FileDescriptorProto>()
  const add = (file: FileDescriptorProto | undefined): void => {
    if (file === undefined || sorted.has(file)) return
    for (const name of file.dependency) add(byName.get(name))
    sorted.add(file)
  }
  files.forEach(add)
  return createFileRegistry(create(FileDescriptorSetSchema, { file: Array.from(sorted) }))
}

const ads = ResourceType.aggregated.service

describe("health checking", () => {
  it.scopedLive("says that the server and each of its services serve, and knows no others", () =>
    Effect.gen(function* () {
      const { address, streams } = yield* serve()
      const client = yield* GrpcClient.connect(address)
      for (const name of ["", ads, ResourceType.Cluster.service ?? "no service", "grpc.health.v1.Health"]) {
        expect(yield* check(client, name)).toBe(ServingStatus.SERVING)
      }
      expect(yield* Effect.flip(check(client, "a.B"))).toBe("5 NOT_FOUND: this server has no service a.B")
      expect(streams).toEqual([])
    })
  )

  it.scopedLive("tells who watches that the server shuts down, and ends with it", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { address } = yield* serve().pipe(Scope.extend(scope))
      const client = yield* GrpcClient.connect(address)
      const known = watch(client, ads)
      const unknown = watch(client, "a.B")
      yield* eventually(() => expect(known.statuses()).toEqual([ServingStatus.SERVING]))
      yield* eventually(() => expect(unknown.statuses()).toEqual([ServingStatus.SERVICE_UNKNOWN]))
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(known.status)).code).toBe(Grpc.status.UNAVAILABLE)
      expect((yield* wait(unknown.status)).code).toBe(Grpc.status.UNAVAILABLE)
      expect(known.statuses()).toEqual([ServingStatus.SERVING, ServingStatus.NOT_SERVING])
      expect(unknown.statuses()).toEqual([ServingStatus.SERVICE_UNKNOWN])
    })
  )

  it.scopedLive("counts towards the bound of streams, until the client is gone", () =>
    Effect.gen(function* () {
      const { address } = yield* serve({ maxStreams: 1 })
      const client = yield* GrpcClient.connect(address)
      const first = watch(client, "")
      yield* eventually(() => expect(first.statuses()).toEqual([ServingStatus.SERVING]))
      expect(yield* Effect.flip(check(client, ""))).toContain("RESOURCE_EXHAUSTED")
      expect((yield* wait(watch(client, "").status)).code).toBe(Grpc.status.RESOURCE_EXHAUSTED)
      first.stream.cancel()
      yield* Effect.eventually(check(client, "")).pipe(Effect.timeout("30 seconds"))
    })
  )

  it.scopedLive("answers plain HTTP with JSON, for probes", () =>
    Effect.gen(function* () {
      const { address } = yield* serve()
      const post = { method: "POST", headers: { "content-type": "application/json" }, body: "{}" }
      const response = yield* wait(fetch(`http://${address}/grpc.health.v1.Health/Check`, post))
      expect(yield* wait(response.json())).toEqual({ status: "SERVING" })
    })
  )
})

describe("server reflection", () => {
  for (const version of ["v1", "v1alpha"]) {
    it.scopedLive(`${version} lists the services`, () =>
      Effect.gen(function* () {
        const { address } = yield* serve()
        const call = reflect(yield* GrpcClient.connect(address), version)
        const answer = yield* call.ask({ case: "listServices", value: "" })
        expect(answer.case).toBe("listServicesResponse")
        const names = answer.case === "listServicesResponse" ? answer.value.service.map(({ name }) => name) : []
        expect(new Set(names)).toEqual(
          new Set([
            ads,
            ...ResourceType.all.flatMap(({ service }) => service ?? []),
            "grpc.health.v1.Health",
            "grpc.reflection.v1.ServerReflection",
            "grpc.reflection.v1alpha.ServerReflection"
          ])
        )
        call.stream.end()
        expect((yield* wait(call.status)).code).toBe(0)
      })
    )
  }

  it.scopedLive("gives files with all that they import, each once on a stream", () =>
    Effect.gen(function* () {
      const { address } = yield* serve()
      const call = reflect(yield* GrpcClient.connect(address))
      const ofService = filesOf(yield* call.ask({ case: "fileContainingSymbol", value: ads }))
      // A message that no service refers to: it stands in an Any.
      const ofMessage = filesOf(
        yield* call.ask({ case: "fileContainingSymbol", value: "envoy.config.listener.v3.Listener" })
      )
      const file = [...ofService, ...ofMessage]
      expect(new Set(file.map(({ name }) => name)).size).toBe(file.length)
      const registry = registryOf(file)
      expect(registry.getService(ads)?.methods.map(({ name }) => name)).toEqual([
        "StreamAggregatedResources",
        "DeltaAggregatedResources"
      ])
      expect(registry.getMessage("envoy.config.listener.v3.Listener")?.fields.length).toBeGreaterThan(20)
      const again = filesOf(
        yield* call.ask({ case: "fileByFilename", value: "envoy/config/listener/v3/listener.proto" })
      )
      expect(again.map(({ name }) => name)).toEqual(["envoy/config/listener/v3/listener.proto"])
    })
  )

  it.scopedLive("finds methods, fields and enums, and says what it does not know", () =>
    Effect.gen(function* () {
      const { address } = yield* serve()
      const call = reflect(yield* GrpcClient.connect(address))
      const firstOf = (value: string) =>
        Effect.map(call.ask({ case: "fileContainingSymbol", value }), (answer) => filesOf(answer)[0]?.name)
      expect(yield* firstOf(`${ads}.StreamAggregatedResources`)).toBe("envoy/service/discovery/v3/ads.proto")
      expect(yield* firstOf("envoy.config.cluster.v3.Cluster.lb_policy")).toBe("envoy/config/cluster/v3/cluster.proto")
      expect(yield* firstOf("envoy.config.cluster.v3.Cluster.LbPolicy")).toBe("envoy/config/cluster/v3/cluster.proto")
      const codeOf = (request: ServerReflectionRequest["messageRequest"]) =>
        Effect.map(call.ask(request), (answer) =>
          answer.case === "errorResponse" ? answer.value.errorCode : answer.case
        )
      expect(yield* codeOf({ case: "fileContainingSymbol", value: "a.B" })).toBe(Grpc.status.NOT_FOUND)
      expect(yield* codeOf({ case: "fileContainingSymbol", value: "" })).toBe(Grpc.status.NOT_FOUND)
      expect(yield* codeOf({ case: "fileByFilename", value: "../../etc/passwd" })).toBe(Grpc.status.NOT_FOUND)
      expect(yield* codeOf({ case: "allExtensionNumbersOfType", value: "a.B" })).toBe(Grpc.status.UNIMPLEMENTED)
      expect(yield* codeOf({ case: undefined })).toBe(Grpc.status.INVALID_ARGUMENT)
    })
  )

  it.scopedLive("ends with the server, though its client waits", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const { address } = yield* serve().pipe(Scope.extend(scope))
      const call = reflect(yield* GrpcClient.connect(address))
      yield* call.ask({ case: "listServices", value: "" })
      yield* Scope.close(scope, Exit.void)
      expect((yield* wait(call.status)).code).toBe(Grpc.status.UNAVAILABLE)
    })
  )

  it.scopedLive("can be switched off, and health checking stays", () =>
    Effect.gen(function* () {
      const { address } = yield* serve({ reflection: false })
      const client = yield* GrpcClient.connect(address)
      const { status } = reflect(client)
      expect((yield* wait(status)).code).toBe(Grpc.status.UNIMPLEMENTED)
      expect(yield* check(client, "")).toBe(ServingStatus.SERVING)
      expect(yield* Effect.flip(check(client, "grpc.reflection.v1.ServerReflection"))).toContain("NOT_FOUND")
    })
  )
})
