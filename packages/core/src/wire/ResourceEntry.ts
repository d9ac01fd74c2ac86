/**
 * A resource as responses carry it, encoded once when it enters a store: a response with ten thousand of them is a row of copies
 * then, also the first one of a process.
 *
 * @since 0.1.0
 */
import { Any, DeltaDiscoveryResponse, Resource } from "./Fields.js"
import { encodedTypeUrl } from "./TypeUrlBytes.js"
import { sizeOfField, sizeOfText, Writer } from "./Wire.js"

/**
 * The entry of a resource that has a name, a version and a content, and nothing else. Do not write into it.
 *
 * @since 0.1.0
 */
export interface ResourceEntry {
  /** The field `resources` of a `DeltaDiscoveryResponse`. */
  readonly bytes: Uint8Array
  /** The number of these bytes: the length of an array takes longer to read, in code that is not compiled yet much longer. */
  readonly size: number
  /**
   * Where the `Any` lies in it, with a tag and a length: the field `resource` of a `Resource` has the number of the field
   * `resources` of a `DiscoveryResponse`, so these bytes are either of them.
   */
  readonly anyFrom: number
  readonly anyBefore: number
  /** The content: a view. */
  readonly value: Uint8Array
}

/**
 * Encodes a resource. The content is copied.
 *
 * @since 0.1.0
 */
export const make = (typeUrl: string, name: string, version: string, content: Uint8Array): ResourceEntry => {
  const type = encodedTypeUrl(typeUrl)
  const [nameSize, versionSize] = [sizeOfText(name), sizeOfText(version)]
  const valueSize = content.byteLength === 0 ? 0 : sizeOfField(Any.value, content.byteLength)
  const any = sizeOfField(Any.typeUrl, type.byteLength) + valueSize
  const inner =
    sizeOfField(Resource.version, versionSize) +
    sizeOfField(Resource.resource, any) +
    sizeOfField(Resource.name, nameSize)
  const size = sizeOfField(DeltaDiscoveryResponse.resources, inner)
  const bytes = new Uint8Array(size)
  const writer = new Writer(bytes)
  writer.head(DeltaDiscoveryResponse.resources, inner)
  writer.head(Resource.version, versionSize)
  writer.text(version, versionSize)
  const anyFrom = writer.written
  writer.head(Resource.resource, any)
  writer.field(Any.typeUrl, type)
  if (valueSize > 0) writer.field(Any.value, content)
  const anyBefore = writer.written
  writer.head(Resource.name, nameSize)
  writer.text(name, nameSize)
  return { bytes, size, anyFrom, anyBefore, value: bytes.subarray(anyBefore - content.byteLength, anyBefore) }
}
