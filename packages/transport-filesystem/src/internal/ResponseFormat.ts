/** Encodes a DiscoveryResponse in any format; equal content gives equal bytes. */
import { toBinary, toJson } from "@bufbuild/protobuf"
import { toText } from "@bufbuild/protobuf/txtpb"
import type { DiscoveryResponse } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as TypeRegistry from "@effect-xds/proto/TypeRegistry"
import { stringify } from "yaml"
import type { FileFormat } from "../FileFormat.js"

const utf8 = new TextEncoder()

/** Throws for unknown types and malformed bytes, except in binary. */
export const encode = async (message: DiscoveryResponse, format: FileFormat): Promise<Uint8Array> => {
  if (format === "binary") return toBinary(DiscoveryResponseSchema, message)
  const registry = await TypeRegistry.forMessage(DiscoveryResponseSchema, message)
  if (format === "text") return utf8.encode(toText(DiscoveryResponseSchema, message, { registry }))
  // Field names as in Envoy's documentation.
  const json = toJson(DiscoveryResponseSchema, message, { registry, useProtoFieldName: true })
  return utf8.encode(
    format === "json"
      ? `${JSON.stringify(json, undefined, 2)}\n`
      : stringify(json, {
          // Envoy's YAML reader takes an unquoted `on` for a boolean. Lines are not folded, and there are no anchors.
          defaultStringType: "QUOTE_DOUBLE",
          defaultKeyType: "PLAIN",
          doubleQuotedMinMultiLineLength: Number.MAX_SAFE_INTEGER,
          lineWidth: 0,
          aliasDuplicateObjects: false
        })
  )
}
