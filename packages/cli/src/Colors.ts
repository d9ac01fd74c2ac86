/**
 * Whether colours are seen: not in files and pipes, and not where `NO_COLOR` is set.
 *
 * @see https://no-color.org
 * @since 0.1.0
 */

/**
 * Whether what is written to a stream may have colours.
 *
 * @since 0.1.0
 */
export const hasColors = (stream: { readonly isTTY?: boolean | undefined }): boolean =>
  stream.isTTY === true && (process.env["NO_COLOR"] ?? "") === ""
