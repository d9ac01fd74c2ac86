/** The headers of a request. */
import type { IncomingHttpHeaders } from "node:http"

/** The values of a header in one. */
export const only = (value: string | ReadonlyArray<string> | undefined): string | undefined =>
  value === undefined || typeof value === "string" ? value : value.join(", ")

/** The headers as the port wants them. */
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
