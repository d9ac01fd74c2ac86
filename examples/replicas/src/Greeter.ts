/** The service that is called: it answers with the version of who answers. */
import { create, fromBinary, toBinary } from "@bufbuild/protobuf"
import { StringValueSchema } from "@bufbuild/protobuf/wkt"

const serialize = (value: string): Buffer =>
  Buffer.from(toBinary(StringValueSchema, create(StringValueSchema, { value })))

const deserialize = (bytes: Buffer): string => fromBinary(StringValueSchema, bytes).value

/** `rpc Greet(google.protobuf.StringValue) returns (google.protobuf.StringValue)` */
export const definition = {
  greet: {
    path: "/example.Greeter/Greet",
    requestStream: false,
    responseStream: false,
    requestSerialize: serialize,
    requestDeserialize: deserialize,
    responseSerialize: serialize,
    responseDeserialize: deserialize
  }
} as const
