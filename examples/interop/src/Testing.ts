/**
 * The services and messages of gRPC's interop tests (`grpc.testing`): the fields that its clients and servers of xDS use, by
 * their numbers. Declared here as data, for they are no part of the API that `@effect-xds/proto` generates.
 */
import type { Message, MessageInitShape } from "@bufbuild/protobuf"
import { create, toBinary } from "@bufbuild/protobuf"
import type { GenMessage, GenService } from "@bufbuild/protobuf/codegenv2"
import { fileDesc, messageDesc, serviceDesc } from "@bufbuild/protobuf/codegenv2"
import type { DescriptorProtoSchema } from "@bufbuild/protobuf/wkt"
import {
  FieldDescriptorProto_Label as Label,
  FieldDescriptorProto_Type as Type,
  FileDescriptorProtoSchema
} from "@bufbuild/protobuf/wkt"
import { base64Encode } from "@bufbuild/protobuf/wire"

type MessageInit = MessageInitShape<typeof DescriptorProtoSchema>
type Field = (name: string) => { readonly field: FieldInit; readonly entry?: MessageInit }
type FieldInit = NonNullable<Exclude<MessageInit, Message>["field"]>[number]

const field =
  (number: number, type: Type, typeName = "", label = Label.OPTIONAL): Field =>
  (name) => ({
    field: { name, number, type, label, ...(typeName === "" ? {} : { typeName: `.grpc.testing.${typeName}` }) }
  })

const text = (number: number): Field => field(number, Type.STRING)
const texts = (number: number): Field => field(number, Type.STRING, "", Label.REPEATED)
const int32 = (number: number): Field => field(number, Type.INT32)
const bool = (number: number): Field => field(number, Type.BOOL)
const bytes = (number: number): Field => field(number, Type.BYTES)
const message = (number: number, of: string): Field => field(number, Type.MESSAGE, of)
const messages = (number: number, of: string): Field => field(number, Type.MESSAGE, of, Label.REPEATED)

/** A map is a list of entries, whose message is within the one that has the map. */
const map =
  (number: number, owner: string, key: Type, value: (number: number) => Field): Field =>
  (name) => {
    const entry = `${name.replace(/(?:^|_)([a-z])/g, (_, first: string) => first.toUpperCase())}Entry`
    return {
      field: messages(number, `${owner}.${entry}`)(name).field,
      entry: { name: entry, options: { mapEntry: true }, ...fieldsOf({ key: field(1, key), value: value(2) }) }
    }
  }

const fieldsOf = (fields: Readonly<Record<string, Field>>, nested: ReadonlyArray<MessageInit> = []) => {
  const made = Object.entries(fields).map(([name, of]) => of(name))
  const entries = made.flatMap(({ entry }) => (entry === undefined ? [] : [entry]))
  // Messages that are named by their place come first.
  return { field: made.map((each) => each.field), nestedType: [...nested, ...entries] }
}

const method = (name: string, input: string, output: string) => ({
  name,
  inputType: `.grpc.testing.${input}`,
  outputType: `.grpc.testing.${output}`
})

const stats = "LoadBalancerStatsResponse"
const accumulated = "LoadBalancerAccumulatedStatsResponse"
const configure = "ClientConfigureRequest"
const counts = (number: number, owner: string) => map(number, owner, Type.STRING, int32)

const file = fileDesc(
  base64Encode(
    toBinary(
      FileDescriptorProtoSchema,
      create(FileDescriptorProtoSchema, {
        name: "grpc/testing/interop.proto",
        package: "grpc.testing",
        syntax: "proto3",
        messageType: [
          { name: "Empty" },
          { name: "Payload", ...fieldsOf({ body: bytes(2) }) },
          {
            name: "SimpleRequest",
            ...fieldsOf({ response_size: int32(2), payload: message(3, "Payload"), fill_server_id: bool(9) })
          },
          {
            name: "SimpleResponse",
            ...fieldsOf({ payload: message(1, "Payload"), server_id: text(4), hostname: text(6) })
          },
          {
            name: "LoadBalancerStatsRequest",
            ...fieldsOf({ num_rpcs: int32(1), timeout_sec: int32(2), metadata_keys: texts(3) })
          },
          {
            name: stats,
            ...fieldsOf(
              {
                rpcs_by_peer: counts(1, stats),
                num_failures: int32(2),
                rpcs_by_method: map(3, stats, Type.STRING, (number) => message(number, `${stats}.RpcsByPeer`)),
                metadatas_by_peer: map(4, stats, Type.STRING, (number) => message(number, `${stats}.MetadataByPeer`))
              },
              [
                { name: "RpcsByPeer", ...fieldsOf({ rpcs_by_peer: counts(1, `${stats}.RpcsByPeer`) }) },
                {
                  name: "MetadataEntry",
                  ...fieldsOf({ key: text(1), value: text(2), type: field(3, Type.ENUM, `${stats}.MetadataType`) })
                },
                { name: "RpcMetadata", ...fieldsOf({ metadata: messages(1, `${stats}.MetadataEntry`) }) },
                { name: "MetadataByPeer", ...fieldsOf({ rpc_metadata: messages(1, `${stats}.RpcMetadata`) }) }
              ]
            ),
            enumType: [
              {
                name: "MetadataType",
                value: [
                  { name: "UNKNOWN", number: 0 },
                  { name: "INITIAL", number: 1 },
                  { name: "TRAILING", number: 2 }
                ]
              }
            ]
          },
          { name: "LoadBalancerAccumulatedStatsRequest" },
          {
            name: accumulated,
            ...fieldsOf(
              {
                num_rpcs_started_by_method: counts(1, accumulated),
                num_rpcs_succeeded_by_method: counts(2, accumulated),
                num_rpcs_failed_by_method: counts(3, accumulated),
                stats_per_method: map(4, accumulated, Type.STRING, (number) =>
                  message(number, `${accumulated}.MethodStats`)
                )
              },
              [
                {
                  name: "MethodStats",
                  ...fieldsOf({
                    rpcs_started: int32(1),
                    result: map(2, `${accumulated}.MethodStats`, Type.INT32, int32)
                  })
                }
              ]
            )
          },
          {
            name: configure,
            ...fieldsOf(
              {
                types: field(1, Type.ENUM, `${configure}.RpcType`, Label.REPEATED),
                metadata: messages(2, `${configure}.Metadata`),
                timeout_sec: int32(3)
              },
              [
                {
                  name: "Metadata",
                  ...fieldsOf({ type: field(1, Type.ENUM, `${configure}.RpcType`), key: text(2), value: text(3) })
                }
              ]
            ),
            enumType: [
              {
                name: "RpcType",
                value: [
                  { name: "EMPTY_CALL", number: 0 },
                  { name: "UNARY_CALL", number: 1 }
                ]
              }
            ]
          },
          { name: "ClientConfigureResponse" }
        ],
        service: [
          {
            name: "TestService",
            method: [method("EmptyCall", "Empty", "Empty"), method("UnaryCall", "SimpleRequest", "SimpleResponse")]
          },
          {
            name: "LoadBalancerStatsService",
            method: [
              method("GetClientStats", "LoadBalancerStatsRequest", stats),
              method("GetClientAccumulatedStats", "LoadBalancerAccumulatedStatsRequest", accumulated)
            ]
          },
          {
            name: "XdsUpdateClientConfigureService",
            method: [method("Configure", configure, "ClientConfigureResponse")]
          }
        ]
      })
    )
  )
)

interface Counts {
  [name: string]: number
}

type Empty = Message<"grpc.testing.Empty">
type Payload = Message<"grpc.testing.Payload"> & { body: Uint8Array }
type SimpleRequest = Message<"grpc.testing.SimpleRequest"> & {
  responseSize: number
  payload?: Payload
  fillServerId: boolean
}
type SimpleResponse = Message<"grpc.testing.SimpleResponse"> & {
  payload?: Payload
  serverId: string
  hostname: string
}

type LoadBalancerStatsRequest = Message<"grpc.testing.LoadBalancerStatsRequest"> & {
  numRpcs: number
  timeoutSec: number
  metadataKeys: Array<string>
}
type RpcsByPeer = Message<"grpc.testing.LoadBalancerStatsResponse.RpcsByPeer"> & { rpcsByPeer: Counts }
type MetadataEntry = Message<"grpc.testing.LoadBalancerStatsResponse.MetadataEntry"> & {
  key: string
  value: string
  /** `MetadataType`. */
  type: number
}
type RpcMetadata = Message<"grpc.testing.LoadBalancerStatsResponse.RpcMetadata"> & { metadata: Array<MetadataEntry> }
type MetadataByPeer = Message<"grpc.testing.LoadBalancerStatsResponse.MetadataByPeer"> & {
  rpcMetadata: Array<RpcMetadata>
}
/** Who answered calls; methods are `EmptyCall` and `UnaryCall`. */
export type LoadBalancerStatsResponse = Message<"grpc.testing.LoadBalancerStatsResponse"> & {
  rpcsByPeer: Counts
  numFailures: number
  rpcsByMethod: { [method: string]: RpcsByPeer }
  metadatasByPeer: { [peer: string]: MetadataByPeer }
}

/** `LoadBalancerStatsResponse.MetadataType`: of the headers of an answer, or of its trailers. */
export const MetadataType = { Initial: 1, Trailing: 2 } as const

type LoadBalancerAccumulatedStatsRequest = Message<"grpc.testing.LoadBalancerAccumulatedStatsRequest">
type MethodStats = Message<"grpc.testing.LoadBalancerAccumulatedStatsResponse.MethodStats"> & {
  rpcsStarted: number
  /** By status. */
  result: { [status: number]: number }
}
/** Since the client's start; methods are `EMPTY_CALL` and `UNARY_CALL`. */
export type LoadBalancerAccumulatedStatsResponse = Message<"grpc.testing.LoadBalancerAccumulatedStatsResponse"> & {
  numRpcsStartedByMethod: Counts
  numRpcsSucceededByMethod: Counts
  numRpcsFailedByMethod: Counts
  statsPerMethod: { [method: string]: MethodStats }
}

/** `ClientConfigureRequest.RpcType`. */
export const RpcType = { EmptyCall: 0, UnaryCall: 1 } as const
/** The method of a call. */
export type Method = keyof typeof RpcType
/** What statistics that are accumulated call a method. */
export const nameOf = { EmptyCall: "EMPTY_CALL", UnaryCall: "UNARY_CALL" } as const satisfies Record<Method, string>

type ConfigureMetadata = Message<"grpc.testing.ClientConfigureRequest.Metadata"> & {
  type: number
  key: string
  value: string
}
export type ClientConfigureRequest = Message<"grpc.testing.ClientConfigureRequest"> & {
  types: Array<number>
  metadata: Array<ConfigureMetadata>
  timeoutSec: number
}
type ClientConfigureResponse = Message<"grpc.testing.ClientConfigureResponse">

const schema = <A extends Message>(index: number): GenMessage<A> => messageDesc<A>(file, index)

interface Unary<I extends Message, O extends Message> {
  readonly methodKind: "unary"
  readonly input: GenMessage<I>
  readonly output: GenMessage<O>
}

export const LoadBalancerStatsResponseSchema = schema<LoadBalancerStatsResponse>(5)
export const LoadBalancerAccumulatedStatsResponseSchema = schema<LoadBalancerAccumulatedStatsResponse>(7)

/** What servers serve. */
export const TestService: GenService<{
  emptyCall: Unary<Empty, Empty>
  unaryCall: Unary<SimpleRequest, SimpleResponse>
}> = serviceDesc(file, 0)

/** What a client tells of its calls. */
export const LoadBalancerStatsService: GenService<{
  getClientStats: Unary<LoadBalancerStatsRequest, LoadBalancerStatsResponse>
  getClientAccumulatedStats: Unary<LoadBalancerAccumulatedStatsRequest, LoadBalancerAccumulatedStatsResponse>
}> = serviceDesc(file, 1)

/** What a client is told to call. */
export const XdsUpdateClientConfigureService: GenService<{
  configure: Unary<ClientConfigureRequest, ClientConfigureResponse>
}> = serviceDesc(file, 2)
