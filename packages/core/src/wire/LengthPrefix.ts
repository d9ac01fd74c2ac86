/**
 * The prefix of a gRPC message: one byte that says whether it is compressed, and four bytes with its length, the highest first.
 *
 * @see https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md#requests
 * @since 0.1.0
 */

/**
 * The bytes of a prefix.
 *
 * @since 0.1.0
 */
export const size = 5

/**
 * Writes the prefix of a message of `length` bytes to the start of a buffer.
 *
 * @since 0.1.0
 */
export const write = (to: Uint8Array, length: number, isCompressed = false): void => {
  to[0] = isCompressed ? 1 : 0
  to[1] = length >>> 24
  to[2] = length >>> 16
  to[3] = length >>> 8
  to[4] = length
}

/**
 * An uncompressed message with its prefix.
 *
 * @since 0.1.0
 */
export const prefixed = (message: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(size + message.length)
  write(bytes, message.length)
  bytes.set(message, size)
  return bytes
}

/**
 * The message of a body that is one uncompressed message with its prefix, as a view; `undefined` if it is not.
 *
 * @since 0.1.0
 */
export const only = (body: Uint8Array): Uint8Array | undefined => {
  const [flag, a = 0, b = 0, c = 0, d = 0] = body
  if (body.length < size || flag !== 0) return undefined
  const length = a * 2 ** 24 + (b << 16) + (c << 8) + d
  return body.length === size + length ? body.subarray(size) : undefined
}
