/** Messages for a client from what is known of a file. */
import { create, toBinary } from "@bufbuild/protobuf"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Status from "@effect-xds/transport/Status"
import { createHash } from "node:crypto"
import type { Response } from "../ResourceFile.js"

/** What a file holds. A version that it does not give is made of its content. */
export const ofResponse = ({ message, version }: Response, nonce: string): Uint8Array => {
  const bytes = toBinary(DiscoveryResponseSchema, { ...message, nonce: "" })
  const versionInfo = version === "" ? createHash("sha256").update(bytes).digest("hex").slice(0, 16) : version
  return toBinary(DiscoveryResponseSchema, { ...message, nonce, versionInfo })
}

/** That resources cannot be had because of a file. */
export const ofErrors = (typeUrl: string, names: ReadonlyArray<string>, message: string, nonce: string): Uint8Array => {
  const errorDetail = { code: Status.codes.INVALID_ARGUMENT, message }
  const resourceErrors = names.map((name) => ({ resourceName: { name }, errorDetail }))
  return toBinary(
    DiscoveryResponseSchema,
    create(DiscoveryResponseSchema, { versionInfo: "none", typeUrl, nonce, resourceErrors })
  )
}
