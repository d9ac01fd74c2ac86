/**
 * The formats of files that are read and written. As in Envoy, the file name's extension decides.
 *
 * @since 0.1.0
 */

/**
 * - `binary`: `.pb`, `.bin`
 * - `json`: `.json`, proto3 JSON
 * - `yaml`: `.yaml`, `.yml`, proto3 JSON written as YAML
 * - `text`: `.pb_text`, `.txtpb`, `.textproto`, the protobuf text format
 *
 * @see https://protobuf.dev/programming-guides/json/
 * @see https://protobuf.dev/reference/protobuf/textformat-spec/
 * @since 0.1.0
 */
export type FileFormat = "binary" | "json" | "yaml" | "text"

const formats: ReadonlyMap<string, FileFormat> = new Map([
  ["pb", "binary"],
  ["bin", "binary"],
  ["json", "json"],
  ["yaml", "yaml"],
  ["yml", "yaml"],
  ["pb_text", "text"],
  ["txtpb", "text"],
  ["textproto", "text"]
])

/**
 * Every extension with a format, without the dot.
 *
 * @since 0.1.0
 */
export const extensions: ReadonlyArray<string> = Array.from(formats.keys())

/**
 * The format of a file by its name or path, case-insensitively; `undefined` for an extension without a format.
 *
 * @since 0.1.0
 */
export const ofPath = (path: string): FileFormat | undefined => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  const dot = name.lastIndexOf(".")
  return dot < 0 ? undefined : formats.get(name.slice(dot + 1).toLowerCase())
}

/**
 * The extension for written files of a format, without the dot; Envoy knows it.
 *
 * @since 0.1.0
 */
export const extensionOf = (format: FileFormat): string =>
  format === "binary" ? "pb" : format === "text" ? "pb_text" : format
