/** The headers of a request. */
import type { IncomingHttpHeaders } from "node:http"

/** The single value of a header; repeated values joined. */
export const only = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : value.join(", ")

/** The headers in the form of the port. */
export const plain = (headers: IncomingHttpHeaders): Record<string, string> => {
  const entries: Array<readonly [string, string]> = []
  const authority = only(headers[":authority"])
  if (authority !== undefined && headers.host === undefined) entries.push(["host", authority])
  for (const [name, value] of Object.entries(headers)) {
    const text = only(value)
    if (text !== undefined && !name.startsWith(":")) entries.push([name, text])
  }
  return Object.fromEntries(entries)
}
