/** The path to a field as text, as protobuf writes it: `endpoints[0].metadata.filter_metadata["a"]`. */

/** A name of a field, an index of a list, or a {@link key}. */
export type Segment = string | number

/** UTF-16 code units of a key that are shown. */
const mostKey = 64

/** Segments that are shown. */
const mostSegments = 24

/** The key of a map as a segment. */
export const key = (text: string): Segment =>
  `[${JSON.stringify(text.length > mostKey ? `${text.slice(0, mostKey)}…` : text)}]`

export const of = (segments: ReadonlyArray<Segment>): string => {
  let path = ""
  for (const segment of segments.slice(0, mostSegments)) {
    if (typeof segment === "number") path += `[${segment}]`
    else path += path === "" || segment.startsWith("[") ? segment : `.${segment}`
  }
  return segments.length > mostSegments ? `${path}… (${segments.length} levels)` : path
}
