/** Reads a file in binary. */
import { fromBinary } from "@bufbuild/protobuf"
import { WireType } from "@bufbuild/protobuf/wire"
import { AnySchema } from "@bufbuild/protobuf/wkt"
import { FieldScan } from "@effect-xds/proto/FieldScan"
import * as Reason from "@effect-xds/proto/Reason"
import type { DiscoveryResponse } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { DiscoveryResponseSchema } from "@effect-xds/proto/envoy/service/discovery/v3/discovery"
import { Buffer } from "node:buffer"
import type { Encoded } from "./MessageEncoder.js"
import { nothing, problem } from "./Problems.js"
import type { Reading } from "./Reading.js"
import * as ResponseFields from "./ResponseFields.js"

const noBytes: Uint8Array = new Uint8Array(0)

const delimited: number = WireType.LengthDelimited

/** Decodes an `Any`, whose type is probably that of the one before; `undefined`: protobuf-es must decode it. */
const anyOf = (bytes: Uint8Array, probable: string): Encoded | undefined => {
  const scan = new FieldScan(bytes)
  let typeUrl: string | undefined = ""
  let value = noBytes
  while (scan.next()) {
    if (scan.wireType !== delimited) return undefined
    if (scan.number === 1) typeUrl = scan.text(probable)
    else if (scan.number === 2) value = bytes.subarray(scan.begin, scan.end)
    else return undefined
  }
  return scan.isSure && typeUrl !== undefined ? { typeUrl, value } : undefined
}

/**
 * Garbage seldom parses, but the start of a response does, and so does an empty file. `type_url` follows the resources:
 * if it is missing, the end of the file is missing.
 */
export const response = async (bytes: Uint8Array, reading: Reading): Promise<DiscoveryResponse | undefined> => {
  const { problems } = reading
  if (bytes.byteLength === 0) return problems.take<never>(nothing(""))
  const others: Array<Uint8Array> = []
  let typeUrl = ""
  try {
    // Views of a Buffer are several times slower to create.
    for (const field of ResponseFields.of(new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength))) {
      if (problems.isFull) return undefined
      if (!field.isResource) {
        others.push(field.bytes)
        continue
      }
      const wait = reading.pause()
      if (wait !== undefined) await wait
      const any: Encoded = anyOf(field.bytes, typeUrl) ?? fromBinary(AnySchema, field.bytes)
      typeUrl = any.typeUrl
      const isOpen = reading.addUnread(any)
      if (isOpen !== undefined) await isOpen
    }
    const message = fromBinary(DiscoveryResponseSchema, Buffer.concat(others))
    if (message.typeUrl !== "") return message
  } catch (cause) {
    const what = `its ${bytes.byteLength} bytes are not a DiscoveryResponse in binary`
    return problems.take<never>(problem("Syntax", `${what}: ${Reason.of(cause)}; write the file again`))
  }
  const detail = "it has no type_url, so its end is missing or it is no DiscoveryResponse; write the file again"
  return problems.take<never>(problem("Syntax", detail))
}
