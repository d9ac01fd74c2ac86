/** Encodes messages to a client from the state of a file. */
import { create, toBinary } from "@bufbuild/protobuf"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Status from "@effect-xds/transport/Status"
import { createHash } from "node:crypto"
import type { Response } from "../ResourceFile.js"

/**
 * The response of a file. If the file has no version, it is a hash of the content; and the type, which a file may leave out, is that
 * of its resources: a client of many types takes no other.
 */
export const ofResponse = ({ message, typeUrl, version }: Response, nonce: string): Uint8Array => {
  const bytes = toBinary(DiscoveryResponseSchema, { ...message, nonce: "" })
  const versionInfo = version === "" ? createHash("sha256").update(bytes).digest("hex").slice(0, 16) : version
  return toBinary(DiscoveryResponseSchema, { ...message, typeUrl: message.typeUrl || typeUrl, nonce, versionInfo })
}

/** Resource errors for a file that was rejected. */
export const ofErrors = (typeUrl: string, names: ReadonlyArray<string>, message: string, nonce: string): Uint8Array => {
  const errorDetail = { code: Status.codes.INVALID_ARGUMENT, message }
  const resourceErrors = names.map((name) => ({ resourceName: { name }, errorDetail }))
  return toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, { versionInfo: "none", typeUrl, nonce, resourceErrors })
  )
}
