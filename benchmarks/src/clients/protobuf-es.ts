/** Decodes everything with protobuf-es, as our client decodes what changed. */
import { fromBinary } from "@bufbuild/protobuf"
import { ClusterSchema } from "@effect-xds/proto/envoy/config/cluster/v3/cluster"
import * as DecodeAll from "./DecodeAll.js"

DecodeAll.serve({
  decode: (value) => fromBinary(ClusterSchema, value),
  read: ({ altStatName, name }) => ({ name, mark: altStatName })
})
