/**
 * Decodes everything as the xDS client of `@grpc/grpc-js-xds` does, with the function that it calls for each resource.
 * What that client does besides is left out: it also writes each one as JSON for a trace that is most often off, and
 * compares it with the last.
 */
import { CDS_TYPE_URL, decodeSingleResource } from "@grpc/grpc-js-xds/build/src/resources.js"
import * as DecodeAll from "./DecodeAll.js"

DecodeAll.serve({
  decode: (value) => decodeSingleResource(CDS_TYPE_URL, Buffer.from(value.buffer, value.byteOffset, value.byteLength)),
  read: ({ alt_stat_name, name }) => ({ name, mark: alt_stat_name })
})
