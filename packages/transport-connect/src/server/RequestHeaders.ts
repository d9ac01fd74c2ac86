/** The headers of a request. */
import type { IncomingHttpHeaders } from "node:http"

/** The single value of a header; repeated values joined. */
export const only = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : value.join(", ")

/** The headers in the form of the port. */
export const plain = (headers: IncomingHttpHeaders): Record<string, string> => {
  const plain: Record<string, string> = {}
  const authority = only(headers[":authority"])
  if (authority !== undefined && headers.host === undefined) plain["host"] = authority
  Object.keys(headers).forEach((name) => {
    const text = only(headers[name])
    if (text !== undefined && !name.startsWith(":")) plain[name] = text
  })
  return plain
}
