/**
 * The formats that files are read and written in, told apart by the ending of the file's name as Envoy does.
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
 * Every ending that has a format, without the dot.
 *
 * @since 0.1.0
 */
export const extensions: ReadonlyArray<string> = Array.from(formats.keys())

/**
 * The format of a file by its name or path; `undefined` for an ending that has none. Upper and lower case are the same.
 *
 * @since 0.1.0
 */
export const ofPath = (path: string): FileFormat | undefined => {
  const name = path.slice(path.lastIndexOf("/") + 1)
  const dot = name.lastIndexOf(".")
  return dot < 0 ? undefined : formats.get(name.slice(dot + 1).toLowerCase())
}

/**
 * The ending that files of a format are written with, without the dot: one that Envoy knows.
 *
 * @since 0.1.0
 */
export const extensionOf = (format: FileFormat): string =>
  format === "binary" ? "pb" : format === "text" ? "pb_text" : format
