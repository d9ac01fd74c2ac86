/** Messages for a client from what is known of a file. */
import { toBinary } from "@bufbuild/protobuf"
import { fieldOf, sizeOfVarint, utf8, Writer } from "@effect-xds/core/wire/Wire"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import * as Status from "@effect-xds/transport/Status"
import { createHash } from "node:crypto"
import type { Response } from "../ResourceFile.js"

/** The fields of envoy.service.discovery.v3.DiscoveryResponse, and of what is in its errors. */
const field = { typeUrl: 4, nonce: 5, errors: 7 } as const
const errorField = { resource: 1, status: 2 } as const
const nameField = { name: 1 } as const
const statusField = { code: 1, message: 2 } as const

/** What a file holds. A version that it does not give is made of its content. */
export const ofResponse = ({ message, version }: Response, nonce: string): Uint8Array => {
  const bytes = toBinary(DiscoveryResponseSchema, { ...message, nonce: "" })
  const versionInfo = version === "" ? createHash("sha256").update(bytes).digest("hex").slice(0, 16) : version
  return toBinary(DiscoveryResponseSchema, { ...message, nonce, versionInfo })
}

const statusOf = (message: string): Uint8Array => {
  const code = Status.codes.INVALID_ARGUMENT
  const writer = new Writer(new Uint8Array(1 + sizeOfVarint(code)))
  writer.varint(statusField.code * 8)
  writer.varint(code)
  return Buffer.concat([writer.bytes, fieldOf(statusField.message, utf8(message))])
}

/** That resources cannot be had because of a file (`resource_errors`, which the generated types do not have). */
export const ofErrors = (typeUrl: string, names: ReadonlyArray<string>, message: string, nonce: string): Uint8Array => {
  const status = fieldOf(errorField.status, statusOf(message))
  return Buffer.concat([
    fieldOf(1, utf8("none")),
    fieldOf(field.typeUrl, utf8(typeUrl)),
    fieldOf(field.nonce, utf8(nonce)),
    ...names.map((name) => {
      const resource = fieldOf(errorField.resource, fieldOf(nameField.name, utf8(name)))
      return fieldOf(field.errors, Buffer.concat([resource, status]))
    })
  ])
}
